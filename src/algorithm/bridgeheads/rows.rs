//! The algorithms of a collective: CIRCGOS, HIGH-DIM-GOS, TORGOS and CUBGOS.

use super::choice::{
    A, A_ON_DIAGONALS, A2, A3, B, B2, B3, COLOURS, Choice, GROWTH, GROWTH_ON_DIAGONALS, Order, PORTS, PORTS_IN_A_ROW,
    extents,
};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Parameter, translated_tree};
use crate::vocabulary::{Ports, Problem};

/// The requirements of an algorithm, and its order of the axes.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithm) struct Form {
    name: &'static str,
    source: &'static str,
    pub(in crate::algorithm) order: Order,
    pub(in crate::algorithm) parameters: &'static [Parameter],
    /// Returns whether the algorithm fits these extents.
    right: fn(&[usize]) -> bool,
    needs: &'static str,
    /// The requirements on a problem, without and with a reduction.
    described: [&'static str; 2],
    claims: &'static str,
}

pub(in crate::algorithm) const CIRC_GOS: Form = Form {
    name: "circgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 4",
    order: Order::ByAxis,
    parameters: &[A, B, GROWTH, PORTS_IN_A_ROW],
    right: |extents| extents.len() < 2,
    needs: "a ring or a line",
    described: [
        "a ring or a line of at most 4096 nodes, with rank i on node i",
        "a ring or a line of at most 4096 nodes, with rank i on node i, and an operation that commutes",
    ],
    claims: "on rings about log_3(n / a) + a / 2 + b log_a(n / a) start-ups, with ports=one log_2 and a - 1, and n / (2a) + n / 2 + log_a(n / a) b n / (2b - a + 2) blocks over a channel; up to twice as many on lines; contention-free",
};

pub(in crate::algorithm) const HIGH_DIM_GOS: Form = Form {
    name: "high-dim-gos",
    source: "Juurlink, Sibeyn & Rao 1998, section 4.3",
    order: Order::ByAxis,
    parameters: &[A, B, A2, B2, A3, B3, GROWTH, COLOURS, PORTS],
    right: |extents| extents.len() > 1,
    needs: "a product of two or more rings or lines",
    described: [
        "a product of two or more rings or lines whose extents add up to at most 4096, with rank i on node i",
        "a product of two or more rings or lines whose extents add up to at most 4096, with rank i on node i, and an operation that commutes",
    ],
    claims: "the start-ups of circgos along each dimension, and its blocks, those of whole rows after the first; contention-free",
};

pub(in crate::algorithm) const TOR_GOS: Form = Form {
    name: "torgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 5.2",
    order: Order::Diagonals,
    parameters: &[A_ON_DIAGONALS, B, GROWTH_ON_DIAGONALS, COLOURS, PORTS],
    right: |extents| extents.len() == 2 && equal(extents),
    needs: "two rings or lines of the same extent",
    described: [
        "a product of two rings or lines of the same extent, with rank i on node i",
        "a product of two rings or lines of the same extent, with rank i on node i, and an operation that commutes",
    ],
    claims: "about log_3(n / a) + a (log_a n + 1) / 2 + b log_a(n / a) start-ups on tori, up to twice as many on meshes; contention-free",
};

pub(in crate::algorithm) const CUB_GOS: Form = Form {
    name: "cubgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 6.2",
    order: Order::Diagonals,
    parameters: &[A_ON_DIAGONALS, B, GROWTH_ON_DIAGONALS, COLOURS, PORTS],
    right: |extents| extents.len() > 2 && equal(extents),
    needs: "three or more rings or lines of the same extent",
    described: [
        "a product of three or more rings or lines of the same extent, with rank i on node i",
        "a product of three or more rings or lines of the same extent, with rank i on node i, and an operation that commutes",
    ],
    claims: "about log_3(n / a) + a ((d - 1) log_a n + 1) / 2 + b log_a(n / a) start-ups on tori, up to twice as many on meshes; contention-free",
};

fn equal(extents: &[usize]) -> bool {
    extents.windows(2).all(|pair| pair[0] == pair[1])
}

impl Form {
    /// Returns what a problem lacks, whatever the parameters are.
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, course: Course) -> Option<String> {
        if let Some(needs) = course.lacks_order(problem) {
            return Some(needs);
        }
        let found = match extents(problem) {
            Some(extents) if (self.right)(&extents) => return None,
            Some(extents) if extents.is_empty() => "the network is one node".to_owned(),
            Some(extents) => {
                let use_instead = self.instead(problem, &extents).map_or(String::new(), |name| format!("; use {name}"));
                let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
                format!("the extents are {}{use_instead}", extents.join("x"))
            }
            None => {
                let use_instead = match translated_tree::lacks(problem) {
                    None => "; use balanced-trees",
                    Some(_) if problem.ranks() == problem.topology().nodes().min(1 << 10) => "; use tree-packing",
                    Some(_) => "",
                };
                let text = problem.topology().text();
                format!("{text} is not a product of rings and lines with rank i on node i{use_instead}")
            }
        };
        Some(format!("it needs {}; {found}", self.needs))
    }

    /// Returns the algorithm that fits the problem, of these extents, instead: on diagonals if this
    /// one is and there is one.
    fn instead(self, problem: &Problem, extents: &[usize]) -> Option<&'static str> {
        let on_diagonals = [TOR_GOS, CUB_GOS].into_iter().filter(|_| self.order == Order::Diagonals);
        let mut forms = on_diagonals.chain([CIRC_GOS, HIGH_DIM_GOS]);
        let fits = |form: &Form| (form.right)(extents) && Choice::default().lacks(problem, form.order).is_none();
        forms.find(fits).map(|form| form.name)
    }
}

/// Returns the description of an algorithm for a collective.
pub(in crate::algorithm) const fn about(
    collective: &'static str,
    form: Form,
    course: Course,
    summary: &'static str,
    ports: Ports,
) -> About {
    let about = About::new(collective, form.name, ports).summary(summary);
    let reduces = !matches!(course, Course::Down);
    let claims = if matches!(course, Course::UpAndDown) { TWICE } else { form.claims };
    about.source(form.source).needs(form.described[reduces as usize]).claims(claims)
}

/// What an allreduce claims: a part of the vector for each rank goes the way of a block twice.
pub(in crate::algorithm) const TWICE: &str = "twice the start-ups and blocks of the allgather by this algorithm, for blocks of 1 / N of the vector; contention-free";

/// Defines an algorithm of a collective.
macro_rules! gossip {
    ($(#[$doc:meta])* $algorithm:ident, $collective:literal, $form:expr, $course:expr, $summary:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $algorithm(Choice);

        impl Algorithm for $algorithm {
            fn about(&self) -> &About {
                static ALL: About = about($collective, $form, $course, $summary, Ports::All);
                static ONE: About = about($collective, $form, $course, $summary, Ports::One);
                if self.0.is_one_port() { &ONE } else { &ALL }
            }

            fn parameters(&self) -> &'static [Parameter] {
                $form.parameters
            }

            fn settings(&self) -> Settings {
                self.0.settings()
            }

            fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
                Some(Arc::new(Self(Choice::of(settings))))
            }

            fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                let few = few(problem, Subject::Gossip($form, $course)).into_iter();
                few.map(|choice| Arc::new(Self(choice)) as Arc<dyn Algorithm>).collect()
            }

            fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                let best = best(problem, Subject::Gossip($form, $course), self.0).into_iter();
                best.map(|choice| Arc::new(Self(choice)) as Arc<dyn Algorithm>).collect()
            }

            fn lacks(&self, problem: &Problem) -> Option<String> {
                $form.lacks(problem, $course).or_else(|| self.0.lacks(problem, $form.order))
            }

            fn claims(&self, problem: &Problem) -> Claims {
                claims(problem, $form.order, self.0, $course)
            }

            fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
                Plan::new(problem, $form.order, self.0).share(rank, $course)
            }

            fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
                Plan::new(problem, $form.order, self.0).amounts(rank, $course)
            }
        }
    };
}

/// Defines an algorithm of a collective with a root.
macro_rules! rooted {
    ($(#[$doc:meta])* $algorithm:ident, $call:expr, $summary:literal, [$($parameter:ident),*]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $algorithm(Choice);

        impl Algorithm for $algorithm {
            fn about(&self) -> &About {
                static ALL: About = $call.about($summary, Ports::All);
                static ONE: About = $call.about($summary, Ports::One);
                if self.0.is_one_port() { &ONE } else { &ALL }
            }

            fn parameters(&self) -> &'static [Parameter] {
                &[$($parameter),*]
            }

            fn settings(&self) -> Settings {
                self.0.settings()
            }

            fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
                Some(Arc::new(Self(Choice::of(settings))))
            }

            fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                let few = few(problem, Subject::Rooted($call)).into_iter();
                few.map(|choice| Arc::new(Self(choice)) as Arc<dyn Algorithm>).collect()
            }

            fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                let best = best(problem, Subject::Rooted($call), self.0).into_iter();
                best.map(|choice| Arc::new(Self(choice)) as Arc<dyn Algorithm>).collect()
            }

            fn lacks(&self, problem: &Problem) -> Option<String> {
                $call.lacks(problem, self.0)
            }

            fn claims(&self, problem: &Problem) -> Claims {
                rooted_claims(problem, $call, self.0)
            }

            fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
                RootedPlan::new(problem, $call, self.0).share(rank)
            }

            fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
                RootedPlan::new(problem, $call, self.0).amounts(rank)
            }
        }
    };
}

pub(in crate::algorithm) use gossip;
pub(in crate::algorithm) use rooted;

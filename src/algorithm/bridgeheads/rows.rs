//! The algorithms of a collective: CIRCGOS, HIGH-DIM-GOS, TORGOS and CUBGOS.

use super::choice::{Order, extents};
use super::plan::Course;
use crate::algorithm::About;
use crate::vocabulary::{Ports, Problem};

/// What an algorithm needs, and how it goes through the axes.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithm) struct Form {
    name: &'static str,
    source: &'static str,
    pub(in crate::algorithm) order: Order,
    /// Whether extents are right.
    right: fn(&[usize]) -> bool,
    needs: &'static str,
    claims: &'static str,
}

pub(in crate::algorithm) const CIRC_GOS: Form = Form {
    name: "circgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 4",
    order: Order::ByAxis,
    right: |extents| extents.len() < 2,
    needs: "a ring or a line",
    claims: "about log_3(n / a) + a / 2 + b log_a(n / a) start-ups; contention-free",
};

pub(in crate::algorithm) const HIGH_DIM_GOS: Form = Form {
    name: "high-dim-gos",
    source: "Juurlink, Sibeyn & Rao 1998, section 4.3",
    order: Order::ByAxis,
    right: |extents| extents.len() > 1,
    needs: "a product of two or more rings or lines",
    claims: "the start-ups of circgos along each dimension; contention-free",
};

pub(in crate::algorithm) const TOR_GOS: Form = Form {
    name: "torgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 5.2",
    order: Order::Diagonals,
    right: |extents| extents.len() == 2 && equal(extents),
    needs: "two rings or lines of the same extent",
    claims: "about log_3(n / a) + a (log_a n + 1) / 2 + b log_a(n / a) start-ups; contention-free",
};

pub(in crate::algorithm) const CUB_GOS: Form = Form {
    name: "cubgos",
    source: "Juurlink, Sibeyn & Rao 1998, section 6.2",
    order: Order::Diagonals,
    right: |extents| extents.len() > 2 && equal(extents),
    needs: "three or more rings or lines of the same extent",
    claims: "about log_3(n / a) + a ((d - 1) log_a n + 1) / 2 + b log_a(n / a) start-ups; contention-free",
};

fn equal(extents: &[usize]) -> bool {
    extents.windows(2).all(|pair| pair[0] == pair[1])
}

impl Form {
    /// Returns what a problem lacks, apart from the parameters. What is no product of rings and lines
    /// is told by [`Choice::lacks`](super::Choice::lacks).
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, course: Course) -> Option<String> {
        if course != Course::Down && !problem.commutative() && problem.ranks() > 2 {
            return Some("it needs an operation that commutes, since contributions meet at bridgeheads".to_owned());
        }
        let extents = extents(problem).filter(|extents| !(self.right)(extents))?;
        let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
        let found = if extents.is_empty() { "1".to_owned() } else { extents.join("x") };
        Some(format!("it needs {}; the extents are {found}", self.needs))
    }
}

/// Returns the description of an algorithm for a collective.
pub(in crate::algorithm) const fn about(
    collective: &'static str,
    form: Form,
    summary: &'static str,
    needs: &'static str,
) -> About {
    let about = About::new(collective, form.name, Ports::All);
    about.summary(summary).source(form.source).needs(needs).claims(form.claims)
}

/// Defines an algorithm of a collective.
macro_rules! gossip {
    ($algorithm:ident, $about:ident, $form:expr, $course:expr) => {
        impl Algorithm for $algorithm {
            fn about(&self) -> &About {
                &$about
            }

            fn parameters(&self) -> &'static [Parameter] {
                &[A, B, COLOURS]
            }

            fn settings(&self) -> Settings {
                self.0.settings()
            }

            fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
                Some(Arc::new(Self(Choice::of(settings))))
            }

            fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                Choice::variants(problem, $form.order, |choice| Arc::new(Self(choice)))
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

pub(in crate::algorithm) use gossip;

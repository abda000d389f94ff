//! The parameters of a gossip from bridgeheads, and the problems that they fit.

use crate::algorithm::loads::in_order;
use crate::algorithm::translated_tree;
use crate::algorithm::{Parameter, Settings, Values};
use crate::topology::{Axis, Kind};
use crate::vocabulary::Problem;

/// Returns a parameter for a number that 0 leaves open.
const fn number(key: &'static str, summary: &'static str) -> Parameter {
    Parameter::new(key, summary, Values::Number { least: 0, most: 1 << 16 }, 0)
}

/// Returns a parameter that is all at once, or one at a time.
const fn all_or_one(key: &'static str, summary: &'static str) -> Parameter {
    Parameter::new(key, summary, Values::Words(&["all", "one"]), 0)
}

/// The number of bridgeheads.
pub(super) const A: Parameter = number(
    "a",
    "number of bridgeheads in a row, and the factor by which it grows in a round (1 grows threefold, with one port twofold); 0 takes the best by price, without prices 3",
);

/// The number of bridgeheads on diagonals.
pub(super) const A_ON_DIAGONALS: Parameter = number(
    "a",
    "about the number of bridgeheads in a row, at least 2: they are s = n / a nodes apart, rounded down, so there are n / s, rounded up; a round multiplies it by the largest divisor of s up to a, or else the least; 0 takes the best by price; without prices, 2 if n is even, else 3, with one port or more than 4096 ranks the least divisor of n above 1",
);

/// The factor of a round of a broadcast.
pub(in crate::algorithm) const A_FROM_ONE: Parameter = number(
    "a",
    "factor by which the number of bridgeheads in a row grows in a round, from one (1 takes 3, with one port 2); 0 takes nearly the best by price, without prices 3",
);

/// The steps of a round.
pub(super) const B: Parameter = number(
    "b",
    "number of steps in a round in which the number of bridgeheads grows by a factor f, at least f / 2 rounded down, with one port f - 1, and at most the number of ranks and 4 times the nodes of the longest row; 0 takes the best by price; without prices, the larger of 1.1 (f - 2) and f / 2, with one port f",
);

/// The steps of a round of a broadcast.
pub(in crate::algorithm) const B_FROM_ONE: Parameter = number(
    "b",
    "number of steps in a round in which the number of bridgeheads grows by a factor f, at least f / 2 rounded down, with one port f - 1, and at most 8192; 0 takes nearly the best by price; without prices, the larger of 1.1 (f - 2) and f / 2, with one port f",
);

/// The factor of a round.
pub(super) const GROWTH: Parameter = number(
    "growth",
    "factor by which the number of bridgeheads grows in a round; 0 takes that of a, or, if a or b is 0 too, the best by price",
);

/// The factor of a round on diagonals.
pub(super) const GROWTH_ON_DIAGONALS: Parameter = number(
    "growth",
    "replaces a in the factor of a round, the largest divisor of the distance of bridgeheads up to it; 0 takes a, or, if a or b is 0 too, the best by price",
);

/// The number of bridgeheads in the second phase and, unless those have their own, in the others.
pub(super) const A2: Parameter = number(
    "a2",
    "number of bridgeheads in a row in the second phase, in which blocks of whole rows are sent; 0 takes a, or, if that is 0 too, the best by price",
);

/// The steps of a round in these phases.
pub(super) const B2: Parameter = number("b2", "number of steps in a round in the second phase, if a2 is given; like b");

/// The number of bridgeheads in the phases after the second.
pub(super) const A3: Parameter = number(
    "a3",
    "number of bridgeheads in a row in the phases after the second, in which blocks of whole planes and more are sent; 0 takes a2, or a if that is 0, or, if both are 0, the best by price",
);

/// The steps of a round in these phases.
pub(super) const B3: Parameter =
    number("b3", "number of steps in a round in the phases after the second, if a3 is given; like b");

/// The phases that may have parameters of their own. Those after the last are like it.
pub(super) const PHASES: usize = 3;

/// Whether parts of a block take the axes in different orders.
pub(in crate::algorithm) const COLOURS: Parameter = all_or_one(
    "colours",
    "whether all axes are used at once, each by a part of every block; one is often cheaper for short blocks, and on unequal extents",
);

/// Whether a rank sends one message and receives one at a time.
pub(in crate::algorithm) const PORTS: Parameter = all_or_one(
    "ports",
    "whether a node uses all its channels at once; with one, on rings and products of rings, blocks go round in one direction, along one axis at a time whatever colours is",
);

/// Whether a rank of a row sends one message and receives one at a time.
pub(super) const PORTS_IN_A_ROW: Parameter = all_or_one(
    "ports",
    "whether a node uses both its channels at once; with one, on rings, blocks go round in one direction",
);

/// The most ranks for which a plan is made, and the most nodes that its claims visit.
const MAX_RANKS: usize = 1 << 20;
const MAX_VISITED: usize = 1 << 12;

/// How a gossip goes through the axes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Order {
    /// A gossip along one axis after the other: CIRCGOS, HIGH-DIM-GOS.
    ByAxis,
    /// Bridgeheads on generalized diagonals: TORGOS, CUBGOS.
    Diagonals,
}

/// The values of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::algorithm) struct Choice {
    pub(super) a: usize,
    pub(super) b: usize,
    /// Those of the second phase and of the phases after it; 0 if they are those of the phase before.
    later: [(usize, usize); PHASES - 1],
    growth: usize,
    /// An index among the words of [`COLOURS`], 0 with one port, which implies one colour.
    colours: usize,
    /// An index among the words of [`PORTS`].
    ports: usize,
}

impl Choice {
    pub(in crate::algorithm) fn of(settings: &Settings) -> Self {
        let ports = settings.of(&PORTS);
        Self {
            a: settings.of(&A),
            b: settings.of(&B),
            later: [(settings.of(&A2), settings.of(&B2)), (settings.of(&A3), settings.of(&B3))],
            growth: settings.of(&GROWTH),
            colours: if ports == 1 { 0 } else { settings.of(&COLOURS) },
            ports,
        }
    }

    /// Returns the choice for a phase.
    pub(super) fn phase(self, phase: usize) -> Self {
        let given = self.later.iter().take(phase).rfind(|(a, _)| *a > 0);
        let (a, b) = *given.unwrap_or(&(self.a, self.b));
        Self { later: Default::default(), ..self.with(a, b) }
    }

    /// Returns this choice with that of another for the phases from `phase` on. The one that has
    /// rounds says by which factor both grow.
    pub(super) fn then(self, phase: usize, later: Self) -> Self {
        let before = self.phase(phase - 1);
        let mut both = self.growing(self.growth.max(later.growth));
        both.later[phase - 1..].fill((0, 0));
        if (before.a, before.b) != (later.a, later.b) {
            both.later[phase - 1] = (later.a, later.b);
        }
        both
    }

    /// Returns whether a phase has numbers of its own, or may have them: if nothing is given for it
    /// and the phases before.
    pub(super) fn is_apart(self, phase: usize) -> bool {
        let (given, before) = (self.later[phase - 1].0, self.phase(phase - 1).a);
        given > 0 || before == 0
    }

    /// Returns the number of phases after the first that have numbers of their own.
    pub(super) fn given_phases(self) -> usize {
        self.later.iter().filter(|(a, _)| *a > 0).count()
    }

    /// Returns the most bridgeheads of a phase.
    pub(super) fn most_heads(self) -> usize {
        self.later.iter().fold(self.a, |most, (a, _)| most.max(*a))
    }

    /// Returns the choice that uses one axis at a time.
    pub(super) fn in_one_colour(self) -> Self {
        Self { colours: 1, ..self }
    }

    /// Returns the choice of these numbers, with the same colours and ports.
    pub(super) fn with(self, a: usize, b: usize) -> Self {
        Self { a, b, ..self }
    }

    /// Returns the choice by which a node sends one message and receives one at a time.
    pub(super) fn by_one_port(self) -> Self {
        Self { ports: 1, colours: 0, ..self }
    }

    /// Returns this choice with a factor of a round.
    pub(super) fn growing(self, growth: usize) -> Self {
        Self { growth, ..self }
    }

    /// Returns the factor of a round; 0 if it is not given.
    pub(super) fn growth(self) -> usize {
        self.growth
    }

    pub(in crate::algorithm) fn settings(self) -> Settings {
        let [(a2, b2), (a3, b3)] = self.later;
        let keys = [(&A, self.a), (&B, self.b), (&A2, a2), (&B2, b2), (&A3, a3), (&B3, b3)];
        let numbers = keys.into_iter().fold(Settings::default(), |settings, (key, value)| settings.with(key, value));
        numbers.with(&GROWTH, self.growth).with(&COLOURS, self.colours).with(&PORTS, self.ports)
    }

    /// Returns whether a rank sends one message and receives one at a time.
    pub(in crate::algorithm) fn is_one_port(self) -> bool {
        self.ports == 1
    }

    /// Returns what a problem lacks for these parameters. More steps than there are blocks are of no
    /// use; many more than a row has nodes save next to no transmission, and take long to count.
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, order: Order) -> Option<String> {
        let extents = extents(problem).unwrap_or_default();
        let most = problem.ranks().min(4 * extents.into_iter().max().unwrap_or(1));
        let many = |(key, b): (&str, usize)| (b > most).then(|| format!("{key}={b}: it needs at most {most}"));
        let [(_, b2), (_, b3)] = self.later;
        let steps = [("b", self.b), ("b2", b2), ("b3", b3)];
        self.lacks_but_steps(problem, order).or_else(|| steps.into_iter().find_map(many))
    }

    /// Returns what a problem lacks for these parameters, with any number of steps.
    pub(super) fn lacks_but_steps(self, problem: &Problem, order: Order) -> Option<String> {
        let ranks = problem.ranks();
        let Some(axes) = row_axes(problem) else {
            let text = problem.topology().text();
            return Some(format!(
                "it needs a ring, a line or a product of them, with rank i on node i; this is {text}"
            ));
        };
        if let Some(needs) = self.lacks_regularity(&axes, order) {
            return Some(needs);
        }
        if ranks > MAX_RANKS {
            return Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}"));
        }
        if self.is_one_port() && axes.iter().any(|&(extent, ring)| !ring && extent > 2) {
            return Some(
                "ports=one: blocks go round in one direction; it needs a ring or a product of rings".to_owned(),
            );
        }
        let longest = axes.iter().map(|(extent, _)| *extent).max().unwrap_or(1);
        if order == Order::Diagonals && self.a == 1 && longest > 1 {
            return Some("a=1: on diagonals it needs at least 2".to_owned());
        }
        if order == Order::Diagonals && self.a > 0 && self.is_one_port() && longest % self.a > 0 {
            return Some(format!(
                "a={}: with ports=one blocks go round equally spaced bridgeheads; it needs {}",
                self.a,
                divisors(longest)
            ));
        }
        if self.growth > 0 {
            let is_alone = (0..PHASES).any(|phase| self.phase(phase).a == 1) && !self.is_one_port();
            // A single bridgehead sends both ways, but a row of two has one other node.
            let (least, why) = if is_alone && longest > 2 { (3, " with a single bridgehead") } else { (2, "") };
            let most = longest.max(least);
            if !(least..=most).contains(&self.growth) {
                let up_to = if most > least { format!(" to {most}") } else { String::new() };
                return Some(format!("growth={}:{why} it needs {least}{up_to}", self.growth));
            }
        }
        let [second, third] = self.later;
        let too_many =
            [("a3", third.0), ("b3", third.1)].into_iter().find(|(_, given)| *given > 0 && axes.len() < PHASES);
        if let Some((key, given)) = too_many {
            return Some(format!("{key}={given}: it needs three or more rings or lines; there are {}", axes.len()));
        }
        let numbers = [((self.a, self.b), ["a", "b"]), (second, ["a2", "b2"]), (third, ["a3", "b3"])];
        let least = if order == Order::Diagonals { 2 } else { 1 };
        numbers.into_iter().find_map(|((a, b), keys)| self.with(a, b).lacks_numbers(least, longest, keys))
    }

    /// Returns what rows of up to `longest` nodes lack for the numbers with these keys, of which the
    /// first is at least `least`.
    fn lacks_numbers(self, least: usize, longest: usize, [a, b]: [&str; 2]) -> Option<String> {
        if self.a > longest.max(1) {
            let range = if least < longest { format!("{least} to {longest}") } else { format!("at most {longest}") };
            return Some(format!("{a}={}: it needs {range}, the nodes of a row", self.a));
        }
        if self.b > 0 && self.a == 0 {
            return Some(format!("{b}={}: it needs {a} too, which says how large {b} must be", self.b));
        }
        let least = || self.least_steps(self.factor());
        let is_few = self.b > 0 && self.b < least();
        let with = if self.growth > 0 { ("growth", self.growth) } else { (a, self.a) };
        is_few.then(|| format!("{b}={}: with {}={} it needs at least {}", self.b, with.0, with.1, least()))
    }

    /// Returns the initial number of bridgeheads of a row that is long enough.
    pub(super) fn heads(self, axes: &[(usize, bool)], order: Order) -> usize {
        let least = |extent: usize| (2..=extent).find(|factor| extent.is_multiple_of(*factor)).unwrap_or(1);
        match (self.a, order) {
            (0, Order::ByAxis) => 3,
            (0, Order::Diagonals) => {
                let least = axes.first().map_or(1, |(extent, _)| least(*extent));
                let nodes: usize = axes.iter().map(|(extent, _)| extent).product();
                if self.is_one_port() || nodes > MAX_VISITED { least } else { least.min(3) }
            }
            (a, _) => a,
        }
    }

    /// Returns whether the side of a torus is a multiple of that of the diagonals' cubes.
    pub(super) fn is_regular(self, axes: &[(usize, bool)]) -> bool {
        let heads = self.heads(axes, Order::Diagonals);
        axes.iter().all(|&(extent, ring)| ring && extent.is_multiple_of((extent / heads).max(1)))
    }

    /// Returns the number of nodes that stand for all when messages are counted.
    pub(super) fn visited(self, axes: &[(usize, bool)], order: Order) -> usize {
        let extents = axes.iter().map(|(extent, _)| extent);
        match order {
            Order::ByAxis => extents.sum(),
            Order::Diagonals if self.is_regular(axes) => *extents.max().unwrap_or(&1),
            Order::Diagonals => extents.product(),
        }
    }

    /// Returns what a large network lacks so that few nodes stand for all.
    fn lacks_regularity(self, axes: &[(usize, bool)], order: Order) -> Option<String> {
        if self.visited(axes, order) <= MAX_VISITED {
            return None;
        }
        let ranks: usize = axes.iter().map(|(extent, _)| extent).product();
        Some(match order {
            Order::ByAxis => {
                let together = self.visited(axes, order);
                let fits_trees = ranks <= translated_tree::MAX_RANKS && axes.iter().all(|(_, ring)| *ring);
                let alike = if fits_trees { "; use balanced-trees" } else { "" };
                format!("it needs extents of at most {MAX_VISITED} together; they are {together}{alike}")
            }
            Order::Diagonals if axes.iter().any(|(_, ring)| !ring) => {
                format!("on lines it needs at most {MAX_VISITED} ranks; there are {ranks}; use high-dim-gos")
            }
            Order::Diagonals => {
                let side = axes.first().map_or(1, |(extent, _)| *extent);
                format!("a={}: for more than {MAX_VISITED} ranks it needs {}", self.a, divisors(side))
            }
        })
    }

    /// Returns the number of colours for a number of axes.
    pub(super) fn colours(self, axes: usize) -> usize {
        if self.colours == 0 && !self.is_one_port() { axes } else { axes.min(1) }
    }

    /// Returns the number of steps of a round in which the number of bridgeheads grows by a factor.
    pub(super) fn steps(self, growth: usize) -> usize {
        match self.b {
            0 if self.is_one_port() => growth,
            0 => (growth / 2).max(11 * (growth - 2) / 10),
            b => self.least_steps(growth) + b - self.least_steps(self.factor()),
        }
    }

    /// Returns the least number of steps of a round in which the number of bridgeheads grows by a
    /// factor: new ones are reached from both sides, or from one.
    pub(super) fn least_steps(self, growth: usize) -> usize {
        if self.is_one_port() { growth - 1 } else { growth / 2 }
    }

    /// Returns the factor by which the number of bridgeheads grows in a round: from one bridgehead,
    /// as many new ones as it can send to at once.
    pub(super) fn factor(self) -> usize {
        match (self.growth, self.a) {
            (0, 1) if self.is_one_port() => 2,
            (0, 1) => 3,
            (0, a) => a,
            (growth, _) => growth,
        }
    }
}

/// Returns the text of the divisors of a row's nodes.
fn divisors(nodes: usize) -> String {
    let all: Vec<String> = (2..=nodes).filter(|a| nodes.is_multiple_of(*a)).map(|a| a.to_string()).collect();
    format!("a divisor of {nodes}, the nodes of a row: {}", all.join(", "))
}

/// Returns a number of bridgeheads for a row. Three in a ring of four would be half a ring apart,
/// where routes do not go down.
pub(super) fn at_most(heads: usize, nodes: usize) -> usize {
    if (heads, nodes) == (3, 4) { 4 } else { heads.min(nodes) }
}

/// Returns the extents, and whether they are rings, of a product of rings and lines.
pub(in crate::algorithm) fn row_axes(problem: &Problem) -> Option<Vec<(usize, bool)>> {
    let axes = in_order(problem)?;
    let row = |axis: &Axis| match axis.kind {
        Kind::Complete if axis.extent > 2 => None,
        kind => Some((axis.extent as usize, kind == Kind::Ring)),
    };
    axes.iter().map(row).collect()
}

/// Returns the extents of a product of rings and lines.
pub(super) fn extents(problem: &Problem) -> Option<Vec<usize>> {
    Some(row_axes(problem)?.into_iter().map(|(extent, _)| extent).collect())
}

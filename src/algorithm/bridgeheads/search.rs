//! The search for the best number of bridgeheads `a` and of steps in a round `b`.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), sections 4 to 6: more bridgeheads take more start-ups and
//! less transmission, and the price of a start-up decides which are best. The search leaves out
//! parameters if others take neither more start-ups nor more transmission, and among many ranks
//! some that are best for no price of a start-up: see [`best`]. Machines have other prices too: of
//! messages, hops and ports. For each of a few relations between these, the search adds parameters
//! than which all others are dearer. Phases of HIGH-DIM-GOS take what they take whatever the other
//! phases are, so the best parameters of the first phase, of the second and of the others are found
//! one by one (section 4.3).

use std::collections::BTreeSet;
use std::iter::once;
use std::ops::Range;

use super::choice::{Choice, Order, PHASES, row_axes};
use super::estimate::Estimate;
use super::front::{Found, Scale, corners, cover, front, sparse};
use super::plan::Plan;
use super::rooted::{MAX_STEPS, Rooted, RootedPlan};
use super::rows::Form;
use crate::algorithm::arborescences;
use crate::algorithm::course::Course;
use crate::algorithm::kept::Kept;
use crate::algorithm::parameters::spaced;
use crate::vocabulary::Problem;

/// The most bridgeheads of a row times nodes that are visited, which is about the time to count the
/// claims of a gossip. By name, as many bridgeheads as nodes are considered too.
const MAX_WORK: usize = 1 << 18;

/// The nodes of a row beyond which fewer factors of a round are tried.
const MANY_NODES: usize = 1 << 7;

/// The algorithm whose parameters are searched.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithm) enum Subject {
    Gossip(Form, Course),
    Rooted(Rooted),
}

impl Subject {
    /// Returns what a problem lacks for a choice.
    fn lacks(self, problem: &Problem, choice: Choice) -> Option<String> {
        match self {
            Self::Gossip(form, course) => form.lacks(problem, course).or_else(|| choice.lacks(problem, form.order)),
            Self::Rooted(call) => call.lacks(problem, choice),
        }
    }

    /// Returns what each phase takes, about, with sizes that compare with those of other choices.
    /// With a root it is that from root 0, so that all roots have the same choices.
    fn estimate(self, problem: &Problem, axes: &[(usize, bool)], choice: Choice) -> [Estimate; PHASES] {
        // Colours divide the block.
        let share = axes.len().max(1) / choice.colours(axes.len()).max(1);
        let phases = match self {
            Self::Gossip(form, _) => Plan::new(problem, form.order, choice).estimate(),
            Self::Rooted(call) => {
                let [second, third] = [Estimate::default(); PHASES - 1];
                [RootedPlan::of(axes, 0, call, choice).estimate(), second, third]
            }
        };
        phases.map(|phase| phase.times(share))
    }

    /// Returns the number of nodes that are visited to count the messages of a choice, or 0 if none
    /// is.
    fn visited(self, axes: &[(usize, bool)], choice: Choice) -> usize {
        match self {
            Self::Gossip(form, _) => choice.visited(axes, form.order),
            Self::Rooted(_) => 0,
        }
    }

    /// Returns whether there are rounds, whose factor and steps are parameters.
    fn has_steps(self) -> bool {
        match self {
            Self::Gossip(..) => true,
            Self::Rooted(call) => call.is_spread(),
        }
    }

    /// Returns the number of phases that may have parameters of their own.
    fn phases(self, axes: usize) -> usize {
        let has_phases = matches!(self, Self::Gossip(form, _) if form.order == Order::ByAxis);
        if has_phases { axes.clamp(1, PHASES) } else { 1 }
    }

    /// Returns the choices that agree with a given one, for rows of up to this many nodes: about
    /// all a and b, and fewer of them with a growth that differs from a.
    fn open(self, given: Choice, nodes: usize) -> Vec<Choice> {
        let of_a = |a| self.with_steps(given, a, nodes, 32);
        let mut open: Vec<Choice> = self.heads(given, nodes, 32).into_iter().flat_map(of_a).collect();
        let Self::Gossip(form, _) = self else { return open };
        if given.growth() > 0 || given.a > 0 && given.b > 0 {
            return open;
        }
        for a in self.heads(given, nodes, 8).into_iter().filter(|a| *a < nodes) {
            // On diagonals the distance of bridgeheads is divided.
            let growths = match form.order {
                Order::ByAxis => spaced(2, nodes.max(2), if nodes <= MANY_NODES { 8 } else { 2 }),
                Order::Diagonals => (2..=nodes / a).filter(|growth| (nodes / a).is_multiple_of(*growth)).collect(),
            };
            open.extend(growths.into_iter().flat_map(|growth| self.with_steps(given.growing(growth), a, nodes, 8)));
        }
        open
    }

    /// Returns the numbers of bridgeheads that agree with a given choice: all up to `all`, and
    /// about every `all`-th after it.
    fn heads(self, given: Choice, nodes: usize, all: usize) -> Vec<usize> {
        if given.a > 0 {
            return vec![given.a];
        }
        let Self::Gossip(form, _) = self else { return spaced(2.min(nodes), nodes, 8) };
        let mut heads = spaced(1, nodes, all);
        if form.order == Order::Diagonals {
            heads.extend((2..nodes).filter(|a| nodes.is_multiple_of(*a)));
            heads.sort_unstable();
            heads.dedup();
        }
        // On diagonals the space between bridgeheads counts, which is rounded down.
        let is_most = |a: usize| form.order == Order::ByAxis || given.is_one_port() || nodes / (nodes / a) == a;
        heads.retain(|a| is_most(*a));
        heads
    }

    /// Returns the choices of a number of bridgeheads, with all numbers of steps up to `all`, and
    /// about every `all`-th after it.
    fn with_steps(self, given: Choice, a: usize, nodes: usize, all: usize) -> impl Iterator<Item = Choice> {
        let factor = given.with(a, 0).factor();
        let least = given.least_steps(factor);
        let steps = match self {
            _ if given.a > 0 && given.b > 0 => vec![given.b],
            // All nodes are bridgeheads from the beginning: there are no steps to choose.
            Self::Gossip(..) if a >= nodes => vec![0],
            Self::Gossip(..) => spaced(least, least + (3 * factor).div_ceil(2), all),
            // A pipeline of any number of parts.
            Self::Rooted(_) => {
                let least = least.max(1);
                let beyond = spaced(MANY_PARTS, MAX_STEPS.saturating_sub(least).max(MANY_PARTS), 2);
                spaced(0, MANY_PARTS - 1, 8).into_iter().chain(beyond).map(|more| least + more).collect()
            }
        };
        steps.into_iter().map(move |b| given.with(a, b))
    }
}

/// Returns the choices that agree with a given one, of which each takes less transmission than any
/// with fewer start-ups, or is the best for other prices. Returns nothing if the given one has all
/// parameters. If 64 nodes or more are visited to count its messages, which takes long, leaves out
/// a choice with nearly the transmission of another: a sixty-fourth more for each 64 nodes, up to a
/// quarter, but no [corner](corners). Of pipelines, which there are many of, it returns only those
/// that are the best for some prices.
pub(in crate::algorithm) fn best(problem: &Problem, subject: Subject, given: Choice) -> Vec<Choice> {
    choices(found(problem, subject, given).best)
}

/// Returns a few of the [best] choices: with all axes at once, with one at a time, which sends
/// fewer messages and does not wait for the longest row, and by one port. Of a collective with a
/// root on a product of rows where edge-disjoint trees fit, only those of the fewest start-ups:
/// pipelines along one axis after the other take more transmission than those trees.
pub(in crate::algorithm) fn few(problem: &Problem, subject: Subject) -> Vec<Choice> {
    let axes = row_axes(problem).unwrap_or_default();
    let is_product = axes.iter().filter(|(extent, _)| *extent > 1).count() > 1;
    let has_trees = is_product && arborescences::lacks(problem).is_none();
    let all = Choice::default();
    if !subject.has_steps() {
        return if is_product { vec![all.in_one_colour()] } else { vec![] };
    }
    let by_axis = is_product.then(|| all.in_one_colour());
    let ways = once(all).chain(by_axis).chain(once(all.by_one_port()));
    let few_of = |given: Choice| {
        let mut found = found(problem, subject, given).front;
        match subject {
            Subject::Gossip(..) => {
                let most = |found: &Found| found.choice.most_heads().max(found.estimate.startups);
                found.retain(|found| most(found) * subject.visited(&axes, found.choice) <= MAX_WORK);
                sparse(found, |_| 16)
            }
            Subject::Rooted(_) => {
                found.retain(|found| found.estimate.startups <= FEW_STARTUPS.max(2 * problem.ranks()));
                found.truncate(if has_trees { 1 } else { usize::MAX });
                sparse(found, |_| 32)
            }
        }
    };
    choices(ways.flat_map(few_of).collect())
}

/// The most start-ups of a few choices for a collective with a root among few ranks. What ranks do
/// on the cores of a host is counted round by round, and more start-ups are for blocks of many
/// megabytes.
const FEW_STARTUPS: usize = 1 << 7;

fn choices(found: Vec<Found>) -> Vec<Choice> {
    found.into_iter().map(|found| found.choice).collect()
}

/// The number of parts of a pipeline beyond which fewer are tried: they save little transmission.
const MANY_PARTS: usize = 1 << 8;

/// The choices of a search.
#[derive(Clone, Debug, Default)]
struct Choices {
    /// Those of which each takes less transmission than any with fewer start-ups.
    front: Vec<Found>,
    /// Those that are priced: many of these, and the best for other prices.
    best: Vec<Found>,
}

/// What a search depends on: the order of a gossip, the extents, and whether they are rings.
type Key = (Option<Order>, Vec<(usize, bool)>, Choice);

fn found(problem: &Problem, subject: Subject, given: Choice) -> Choices {
    static FOUND: Kept<Key, Choices> = Kept::new(32);
    let Some(axes) = row_axes(problem) else { return Choices::default() };
    if !subject.has_steps() || subject.lacks(problem, given).is_some() {
        return Choices::default();
    }
    let order = match subject {
        Subject::Gossip(form, _) => Some(form.order),
        Subject::Rooted(_) => None,
    };
    FOUND.get((order, axes.clone(), given), || search(problem, subject, &axes, given))
}

fn search(problem: &Problem, subject: Subject, axes: &[(usize, bool)], given: Choice) -> Choices {
    let groups = Groups::of(problem, subject, axes, given);
    let front = groups.all(&front);
    let of_startups = corners(&front, Scale::OF_STARTUPS);
    let is_corner = |found: &Found| of_startups.iter().any(|corner| corner.choice == found.choice);
    let crowd = |found: &Found| subject.visited(axes, found.choice) / 64;
    let mut best = match subject {
        Subject::Gossip(..) => sparse(front.clone(), |found| if is_corner(found) { 0 } else { crowd(found).min(16) }),
        Subject::Rooted(_) => vec![],
    };
    for scale in Scale::OTHERS {
        let corners = groups.all(&|all| corners(all, scale));
        let percent = 2 + corners.first().map_or(0, crowd).min(3);
        cover(&mut best, &corners, scale, percent);
    }
    cover(&mut best, &of_startups, Scale::OF_STARTUPS, 2);
    Choices { front, best }
}

/// The choices that a search compares.
struct Groups {
    given: Choice,
    /// The choices for phases that have numbers of their own and those after them, with the first
    /// of these phases, by the factor of a round.
    by_growth: Vec<Vec<(usize, Vec<Found>)>>,
    /// The choices with the same numbers for all phases.
    alike: Vec<Found>,
}

/// A function that keeps the best of some choices.
type Keep<'a> = &'a dyn Fn(&[Found]) -> Vec<Found>;

impl Groups {
    fn of(problem: &Problem, subject: Subject, axes: &[(usize, bool)], given: Choice) -> Self {
        let longest = axes.iter().map(|(extent, _)| *extent).max().unwrap_or(1);
        let is_cheap = |choice: &Choice| choice.a >= longest || choice.a * subject.visited(axes, *choice) <= MAX_WORK;
        let fits = |choice: &Choice| is_cheap(choice) && subject.lacks(problem, *choice).is_none();
        let measured = |choice: Choice| {
            let phases = subject.estimate(problem, axes, choice);
            phases.map(|estimate| Found { estimate, choice })
        };
        let measured = |given: Choice| -> Vec<[Found; PHASES]> {
            subject.open(given, longest).into_iter().filter(fits).map(measured).collect()
        };
        let first = measured(given.phase(0));
        // The phases of a range, all with the same numbers.
        let alike = |phases: Range<usize>| -> Vec<Found> {
            let own = given.phase(phases.start);
            let found = if own == given.phase(0) { first.clone() } else { measured(own) };
            found.into_iter().filter_map(|found| found[phases.clone()].iter().copied().reduce(Found::with)).collect()
        };
        let apart = (1..subject.phases(axes.len())).filter(|phase| given.is_apart(*phase));
        let begins: Vec<usize> = once(0).chain(apart).chain(once(PHASES)).collect();
        let groups: Vec<_> = begins.windows(2).map(|pair| (pair[0], alike(pair[0]..pair[1]))).collect();
        let alike = if given.given_phases() == 0 && groups.len() > 1 { alike(0..PHASES) } else { vec![] };
        // All phases grow by the same factor, those without rounds by any.
        let growths: BTreeSet<usize> = first.iter().map(|[found, ..]| found.choice.growth()).collect();
        let of_growth = |growth: usize| {
            let grows = |found: &&Found| found.choice.growth() == growth || found.choice.a >= longest;
            let group = |(phase, found): &(usize, Vec<Found>)| (*phase, found.iter().filter(grows).copied().collect());
            groups.iter().map(group).collect()
        };
        Self { given, by_growth: growths.into_iter().map(of_growth).collect(), alike }
    }

    /// Returns the best of all.
    fn all(&self, keep: Keep<'_>) -> Vec<Found> {
        let by_growth = self.by_growth.iter().flat_map(|groups| one_by_one(groups, keep));
        let mut all: Vec<Found> = by_growth.chain(keep(&self.alike)).collect();
        // If all parameters are given, there is nothing to choose.
        all.retain(|found| found.choice != self.given);
        keep(&all)
    }
}

/// Returns the best for groups of phases, by the first phase of each.
fn one_by_one(groups: &[(usize, Vec<Found>)], keep: Keep<'_>) -> Vec<Found> {
    let mut best: Option<Vec<Found>> = None;
    for (phase, found) in groups {
        let later = keep(found);
        let all = best.take().map_or(later.clone(), |before| {
            let both = before.iter().flat_map(|before| later.iter().map(|later| before.then(*phase, *later)));
            keep(&both.collect::<Vec<_>>())
        });
        best = Some(all);
    }
    best.unwrap_or_default()
}

//! Trees on products of lines, rings, windows and complete networks, one dimension after the other:
//! in each round along a dimension, the nodes of each range are halved, and the node that has the
//! data of the range hands over to one in the other half.
//!
//! The halves of a range are ranges, and messages stay within theirs, so none contend. The ranks of
//! a range are consecutive: a result that is combined in the reverse order is combined in rank
//! order.

use std::ops::Range;

use crate::algorithm::counted::Counted;
use crate::algorithm::counts::Most;
use crate::algorithm::loads::{Pattern, factors_in_order, with_loads};
use crate::algorithm::{doublings, is_complete};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Claims, Problem};

/// The properties of a problem that algorithms on these trees need.
pub(super) const NEEDS: &str = "a product of lines, rings, windows and complete networks, with rank i on node i";

/// The largest extent for which claims are computed: they take time in proportion to it.
const MAX_EXTENT: usize = 1 << 16;

/// Returns the unmet requirement, if there is one.
pub(super) fn lacks(problem: &Problem) -> Option<String> {
    factors_in_order(problem).is_none().then(|| format!("it needs {NEEDS}; this is {}", problem.topology().text()))
}

/// A rank hands over to another, in the order from the root to the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handover {
    pub(super) from: Rank,
    pub(super) to: Rank,
    /// The ranks that are below `to` in the tree, with `to` itself. They are consecutive.
    pub(super) below: Range<usize>,
}

impl Handover {
    /// Returns whether the ranks below follow those that stay with `from`.
    pub(super) fn is_upwards(&self) -> bool {
        self.to > self.from
    }
}

/// Returns the number of rounds.
pub(super) fn rounds(rows: &[Factor]) -> u32 {
    rows.iter().map(|row| doublings(row.extent())).sum()
}

/// Returns for each round the handover that a rank takes part in, from the root to the leaves.
pub(super) fn handovers(problem: &Problem, rank: Rank) -> Vec<Option<Handover>> {
    let rows = factors_in_order(problem).unwrap_or_default();
    let root = problem.collective().root().unwrap_or_default().index();
    let (mut all, mut stride) = (Vec::with_capacity(rounds(&rows) as usize), problem.ranks());
    for row in &rows {
        let extent = row.extent();
        stride /= extent;
        // Until a dimension's turn, only nodes with the root's coordinate have anything.
        let takes_part = rank.index() % stride == root % stride;
        all.extend(along(extent, stride, root / stride % extent, rank).map(|step| step.filter(|_| takes_part)));
    }
    all
}

/// Returns for each round along a rank's row the handover that it takes part in, from the node with
/// the root's coordinate on.
pub(super) fn along(
    extent: usize,
    stride: usize,
    root: usize,
    rank: Rank,
) -> impl DoubleEndedIterator<Item = Option<Handover>> {
    let whole = rank.index() / (stride * extent) * (stride * extent);
    let at = move |x: usize| Rank::new(whole + x * stride + rank.index() % stride);
    let steps: Vec<_> = line(extent, root, rank.index() / stride % extent).collect();
    steps.into_iter().map(move |step| {
        let (from, to, other) = step?;
        let below = whole + other.start * stride..whole + other.end * stride;
        Some(Handover { from: at(from), to: at(to), below })
    })
}

/// Returns for each round along a line the handover that the node `me` takes part in: the giver,
/// the receiver, and the receiver's half.
fn line(extent: usize, root: usize, me: usize) -> impl Iterator<Item = Option<(usize, usize, Range<usize>)>> {
    let (mut range, mut holder) = (0..extent, root);
    (0..doublings(extent)).map(move |_| {
        if range.len() == 1 {
            return None;
        }
        let Halves { own, other, receiver } = Halves::of(&range, holder);
        let step = (me == holder || me == receiver).then(|| (holder, receiver, other.clone()));
        (range, holder) = if other.contains(&me) { (other, receiver) } else { (own, holder) };
        step
    })
}

/// The halves of a range. The lower one is longer if they differ.
struct Halves {
    /// The half that contains the holder.
    own: Range<usize>,
    other: Range<usize>,
    /// The node in the other half that gets it: as far from its begin as the holder is, if there is
    /// one.
    receiver: usize,
}

impl Halves {
    fn of(range: &Range<usize>, holder: usize) -> Self {
        let middle = range.start + range.len().div_ceil(2);
        let (lower, upper) = (range.start..middle, middle..range.end);
        if holder < middle {
            let receiver = (middle + holder - range.start).min(range.end - 1);
            Self { own: lower, other: upper, receiver }
        } else {
            let receiver = range.start + holder - middle;
            Self { own: upper, other: lower, receiver }
        }
    }
}

/// The costs of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeCosts {
    pub(super) rounds: u64,
    /// The sum over rounds of the longest route.
    pub(super) hops: u64,
    /// The sum over rounds of the first and the last channel of the longest route.
    pub(super) ends: u64,
    /// The sum over rounds of the most ranks that are handed over, and the most in any round.
    pub(super) handed: u64,
    pub(super) most_handed: u64,
    /// The sum over rounds of the largest product of the ranks handed over and the channels, and
    /// with the first and the last of these channels alone.
    pub(super) forwarded: u64,
    pub(super) forwarded_at_ends: u64,
    /// The most handovers by one rank.
    pub(super) sends: u64,
}

impl TreeCosts {
    /// Computes the costs for a problem. `None` if an extent is too large for that.
    pub(super) fn of(problem: &Problem) -> Option<Self> {
        let rows = factors_in_order(problem)?;
        if rows.iter().any(|row| row.extent() > MAX_EXTENT) {
            return None;
        }
        let root = problem.collective().root().unwrap_or_default().index() as u64;
        let (mut all, mut stride, mut of_root) = (Self::default(), 1, 0);
        for row in rows.iter().rev() {
            let extent = row.extent() as u64;
            let (along, sends) = Sends::along(*row, (root / stride % extent) as usize);
            all.rounds += along.len() as u64;
            for Most { longest, largest, forwarded: (forwarded, at_ends), .. } in along {
                all.hops += longest;
                all.ends += longest.min(2);
                all.handed += largest * stride;
                all.most_handed = all.most_handed.max(largest * stride);
                all.forwarded += forwarded * stride;
                all.forwarded_at_ends += at_ends * stride;
            }
            // A rank that gets it along this dimension hands over along the later ones as the root
            // does.
            all.sends = all.sends.max(sends.most + of_root);
            of_root += sends.holder;
            stride *= extent;
        }
        Some(all)
    }

    /// Returns the claims of a tree whose messages are one block each, unless `of_one` says
    /// otherwise.
    pub(super) fn claims(problem: &Problem, of_one: impl FnOnce(Self) -> Claims) -> Claims {
        let Some(costs) = Self::of(problem) else {
            let rounds = Some(u64::from(factors_in_order(problem).map_or(0, |rows| rounds(&rows))));
            return Claims { startups: rounds, rearrangements: Some(0), contention_free: true, ..Claims::default() };
        };
        Claims {
            startups: Some(costs.rounds),
            hops: Some(costs.hops),
            rearrangements: Some(0),
            contention_free: true,
            ..of_one(costs)
        }
    }
}

/// Returns for each round along a row the longest route and the most nodes handed over, and the
/// handovers by one rank. None if the extent is too large for that.
pub(super) fn handed_along(row: Factor, root: usize) -> Option<(Vec<Most>, Sends)> {
    let small = row.extent() <= MAX_EXTENT;
    small.then(|| Sends::along(row, root))
}

/// Returns for each round along a row the longest route from the first node on. None if the extent
/// is too large for that.
pub(super) fn routes_along(row: Factor) -> Option<Vec<u64>> {
    let small = row.extent() <= MAX_EXTENT;
    small.then(|| Sends::along(row, 0).0.into_iter().map(|round| round.longest).collect())
}

/// Returns the claims of a tree over the ranks as one row, on any network. Each message is one
/// block, and they go from the root to the leaves or the other way.
pub(super) fn claims_of_ranks(problem: &Problem, from_root: bool) -> Claims {
    let (ranks, root) = (problem.ranks(), problem.collective().root().unwrap_or_default().index());
    let rounds = u64::from(doublings(ranks));
    let row = Factor::Line(ranks);
    // On the way to the root, a rank sends once.
    let most = handed_along(row, root).map(|(_, sends)| if from_root { sends.most } else { sends.most.min(1) });
    let apart = is_complete(problem);
    let claims = Claims { messages: most, volume: most.map(Volume::from), ..Claims::of_single_blocks(rounds, apart) };
    let along = |row: Factor| {
        let routes = handed_along(row, root)?.0;
        Some(routes.into_iter().map(|round| Pattern { load: 1, hops: round.longest }).collect::<Vec<_>>())
    };
    let counted = || {
        Counted::fits(problem, ranks as u128).then_some(())?;
        let mut all = vec![vec![]; rounds as usize];
        collect(&(0..ranks), root, &mut all);
        for (from, to) in all.iter_mut().flatten().filter(|_| !from_root) {
            std::mem::swap(from, to);
        }
        all.into_iter().map(|round| Pattern::of(problem, round)).collect::<Option<Vec<_>>>()
    };
    // As in a binomial tree, ranks differ in one bit, and share the lower ones with the root.
    let bits = || Some(Pattern::bits(problem)?.into_iter().map(|bit| Pattern { load: 1, ..bit }).collect());
    let patterns = match factors_in_order(problem).as_deref() {
        _ if ranks < 2 || apart => None,
        Some([row]) => along(*row),
        Some(_) => bits().or_else(counted),
        None => counted(),
    };
    with_loads(claims, patterns.map(|patterns| patterns.into_iter().map(|pattern| (pattern, Volume::from(1)))))
}

/// Collects the handovers of each round in a range.
fn collect(range: &Range<usize>, holder: usize, rounds: &mut [Vec<(usize, usize)>]) {
    let (Some((now, later)), true) = (rounds.split_first_mut(), range.len() > 1) else { return };
    let Halves { own, other, receiver } = Halves::of(range, holder);
    now.push((holder, receiver));
    collect(&own, holder, later);
    collect(&other, receiver, later);
}

/// Handovers by one rank, along a line.
#[derive(Clone, Copy)]
pub(super) struct Sends {
    /// By the root.
    pub(super) holder: u64,
    pub(super) most: u64,
}

impl Sends {
    /// Counts them along a row, and returns for each round the longest route and the most nodes
    /// handed over.
    fn along(row: Factor, holder: usize) -> (Vec<Most>, Self) {
        let extent = row.extent();
        let mut rounds = vec![Most::default(); doublings(extent) as usize];
        let sends = Self::count(row, &(0..extent), holder, &mut rounds);
        (rounds, sends)
    }

    /// Counts them in a range, and collects for each round the longest route and the most nodes
    /// handed over.
    fn count(row: Factor, range: &Range<usize>, holder: usize, rounds: &mut [Most]) -> Self {
        let (Some((now, later)), true) = (rounds.split_first_mut(), range.len() > 1) else {
            return Self { holder: 0, most: 0 };
        };
        let Halves { own, other, receiver } = Halves::of(range, holder);
        let hops = row.distance(holder, receiver) as u64;
        *now = now.with(other.len() as u64, hops);
        let (first, second) = (Self::count(row, &own, holder, later), Self::count(row, &other, receiver, later));
        let holder = first.holder + 1;
        Self { holder, most: holder.max(first.most).max(second.most) }
    }
}

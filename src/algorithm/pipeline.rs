//! Pipelines: a block is cut into chunks, which follow each other along the edges of a chain or of
//! a binary tree of ranks.
//!
//! An [`Edge`] carries one chunk every [`period`](Pipeline::period) rounds. Along a chain that is
//! every round. In a tree a rank sends each chunk to two children, one after the other, so it is
//! every second round.
//!
//! # Trees
//!
//! The children of a rank represent ranges of consecutive ranks, so a result that is combined
//! towards the root is combined in rank order. The root's children have the ranks below it and
//! those above it, or both have parts of these if the root is the first or the last rank. Any other
//! rank is the end of its range next to the root, and its children have the *near* and the *far*
//! part of the rest.
//!
//! A message to the near part goes a round later than the one to the far part. So the near part
//! should be less deep by one. Let F(D) be the most ranks of a tree of depth D, in rounds: a rank,
//! a far part of depth D - 1, and a near part of depth D - 2. So F(0) = 1, F(1) = 2, and each
//! further one is the sum of the two before it and 1: the Fibonacci numbers, less 1. Of n ranks,
//! with the least D such that n <= F(D), the near part gets F(D - 2) and the far part the others.

use std::collections::BTreeMap;
use std::iter::{once, successors};
use std::ops::Range;
use std::sync::Arc;

use super::counted::Counted;
use super::loads::{Pattern, in_order, with_repeated};
use super::{Algorithm, Parameter, Values, is_complete};
use crate::block::{Block, Volume};
use crate::hash::Map;
use crate::ids::{Node, Rank};
use crate::vocabulary::{Claims, Combine, End, LocalStep, Problem, RankRound, Share};

/// The number of chunks, unless given.
pub(super) const DEFAULT_CHUNKS: usize = 16;

pub(super) const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "number of chunks that the block is cut into",
    values: Values::Number { least: 1, most: 1 << 16 },
    default: DEFAULT_CHUNKS,
};

/// The most chunks that `auto` considers.
const MAX_CHUNKS: usize = 1 << 12;

/// Returns the variants for `auto` of a pipeline of this depth, with `period` rounds from one chunk
/// to the next.
///
/// With the best number of chunks, start-ups and transmission of the chunks cost the same; half or
/// twice that number costs a quarter more. With k chunks, the transmission of a long block is up to
/// 1 + depth / (k period) times the least. So with k = 8 depth / period, more chunks save an eighth
/// at most.
pub(super) fn variants(
    problem: &Problem,
    depth: usize,
    period: usize,
    with: impl Fn(usize) -> Arc<dyn Algorithm>,
) -> Vec<Arc<dyn Algorithm>> {
    // Two ranks have nothing to forward.
    if problem.ranks() <= 2 {
        return vec![];
    }
    let enough = (8 * depth).div_ceil(period).min(MAX_CHUNKS);
    let many = successors(Some(256), |chunks| Some(4 * chunks)).take_while(|chunks| chunks / 4 < enough);
    [4, 64].into_iter().chain(many).map(with).collect()
}

/// Like [`variants`], with a block in one piece: for short blocks, and ranks that share cores.
pub(super) fn variants_from_one(
    problem: &Problem,
    depth: usize,
    with: impl Fn(usize) -> Arc<dyn Algorithm>,
) -> Vec<Arc<dyn Algorithm>> {
    let one = with(1);
    once(one).chain(variants(problem, depth, 1, with)).collect()
}

/// A message of each chunk, from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) combine: Combine,
    /// The round of the first chunk.
    pub(super) first: usize,
}

impl Edge {
    /// Returns the edge from a rank to the next one, in a chain in rank order.
    pub(super) fn upwards(rank: usize, combine: Combine) -> Self {
        Self { from: Rank::new(rank), to: Rank::new(rank + 1), combine, first: rank }
    }

    /// Returns the edges of such a chain at which a rank is.
    pub(super) fn beside(problem: &Problem, rank: Rank, combine: Combine) -> Vec<Self> {
        let rank = rank.index();
        let froms = [rank.checked_sub(1), Some(rank).filter(|rank| rank + 1 < problem.ranks())];
        froms.into_iter().flatten().map(|from| Self::upwards(from, combine)).collect()
    }
}

/// The rounds of a pipeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipeline {
    pub(super) chunks: usize,
    /// The number of rounds from one chunk to the next.
    pub(super) period: usize,
    /// The number of rounds in which any edge carries its first chunk.
    pub(super) depth: usize,
}

impl Pipeline {
    /// Returns the pipeline of a chain with this many edges.
    pub(super) fn of_chain(chunks: usize, edges: usize) -> Self {
        Self { chunks, period: 1, depth: edges }
    }

    /// Returns the number of rounds in which anything is sent.
    pub(super) fn rounds(self) -> u64 {
        if self.depth == 0 { 0 } else { (self.depth + self.period * (self.chunks - 1)) as u64 }
    }

    /// Returns a round without messages, in which a rank copies a block to another name.
    pub(super) fn copy(self, from: Block, into: Block) -> RankRound {
        let cut = |block: Block| block.chunks(0, self.chunks as u32, self.chunks as u32).unwrap_or(block);
        RankRound::default().with_local(vec![LocalStep::new(cut(from), cut(into), Combine::Replace)])
    }

    /// Returns the rounds of a rank that has these edges.
    pub(super) fn share(self, rank: Rank, block: Block, edges: Vec<Edge>) -> Share {
        let Self { chunks, period, .. } = self;
        Box::new((0..self.rounds() as usize).map(move |round| {
            let mut all = RankRound::default();
            for edge in &edges {
                let since = round.checked_sub(edge.first).filter(|since| since.is_multiple_of(period));
                let Some(chunk) = since.map(|since| since / period).filter(|&chunk| chunk < chunks) else { continue };
                let blocks = block.chunks(chunk as u32, chunks as u32, 1).into_iter().collect();
                let end = |peer| End::new(peer, blocks).combined(edge.combine);
                if edge.from == rank { all.sends.push(end(edge.to)) } else { all.receives.push(end(edge.from)) }
            }
            all
        }))
    }

    /// Returns the claims of a pipeline, in which the busiest rank sends each chunk `sends` times.
    pub(super) fn claims(self, problem: &Problem, sends: usize, edges: impl FnOnce() -> Vec<Edge>) -> Claims {
        let (rounds, size) = (self.rounds(), Volume::new(1, self.chunks as u64));
        let sends = if rounds == 0 { 0 } else { (sends * self.chunks) as u64 };
        let claims = Claims {
            transmission: Some(size * rounds),
            messages: Some(sends),
            volume: Some(size * sends),
            ..Claims::of_single_blocks(rounds, is_complete(problem))
        };
        let loads = if is_complete(problem) {
            Some(BTreeMap::from([((1, 1), rounds)]))
        } else if in_order(problem).is_some() && problem.ranks() <= MAX_RANKS
            || Counted::fits(problem, problem.ranks() as u128)
        {
            Some(self.loads(problem, &edges()))
        } else {
            None
        };
        let repeated = |loads: &BTreeMap<(u64, u64), u64>| -> Vec<_> {
            loads.iter().map(|(&(load, hops), &times)| ((Pattern { load, hops }, size), times)).collect()
        };
        let claims = with_repeated(claims, loads.as_ref().map(repeated));
        // Between two ranks, one rank sends to the same rank in all rounds, and no message depends
        // on another.
        let single = loads.filter(|_| problem.ranks() == 2).and_then(|loads| loads.keys().map(|&(_, hops)| hops).max());
        Claims {
            chained_hops: single,
            chained_forwarded: single.map(|hops| size * (hops + self.chunks as u64 - 1)),
            ..claims
        }
    }

    /// Counts for each load of the busiest channel and each longest route the rounds that have
    /// them.
    ///
    /// The route of an edge is found once, and its channels are counted when it begins and when it
    /// ends. Rounds in which none does are like the one before.
    fn loads(self, problem: &Problem, edges: &[Edge]) -> BTreeMap<(u64, u64), u64> {
        let node = |rank: Rank| problem.placement().node(rank);
        let (mut rounds, mut edges) = (BTreeMap::new(), edges.to_vec());
        edges.sort_unstable_by_key(|edge| edge.first);
        for offset in 0..self.period {
            let routes = edges.iter().filter(|edge| edge.first % self.period == offset).map(|edge| {
                let route = problem.topology().route(node(edge.from), node(edge.to));
                let key = |hop: &[Node]| (hop[0].index() as u64) << 32 | hop[1].index() as u64;
                (edge.first / self.period, route.windows(2).map(key).collect::<Vec<_>>())
            });
            let routes: Vec<_> = routes.collect();
            let (mut begun, mut ended) = (0, 0);
            let mut active = Active::default();
            let mut now = 0;
            while ended < routes.len() {
                while routes.get(begun).is_some_and(|(first, _)| *first == now) {
                    active.add(&routes[begun].1);
                    begun += 1;
                }
                while routes.get(ended).is_some_and(|(first, _)| first + self.chunks == now) {
                    active.remove(&routes[ended].1);
                    ended += 1;
                }
                let begins = routes.get(begun).map(|(first, _)| *first);
                let ends = routes.get(ended).map(|(first, _)| first + self.chunks);
                let next = begins.into_iter().chain(ends).min().unwrap_or(now);
                if ended < begun {
                    *rounds.entry((active.loads.most(), active.hops.most())).or_default() += (next - now) as u64;
                }
                now = next;
            }
        }
        rounds
    }
}

/// The most ranks of a product whose messages are counted. This takes a few milliseconds.
const MAX_RANKS: usize = 1 << 12;

/// The messages under way.
#[derive(Default)]
struct Active {
    channels: Map<u64>,
    loads: Numbers,
    hops: Numbers,
}

impl Active {
    fn add(&mut self, route: &[u64]) {
        self.hops.add(route.len() as u64);
        for &channel in route {
            let load = self.channels.entry(channel).or_default();
            self.loads.remove(*load);
            *load += 1;
            self.loads.add(*load);
        }
    }

    fn remove(&mut self, route: &[u64]) {
        self.hops.remove(route.len() as u64);
        for &channel in route {
            let load = self.channels.entry(channel).or_default();
            self.loads.remove(*load);
            *load -= 1;
            self.loads.add(*load);
        }
    }
}

/// A multiset of numbers. Zeros do not count.
#[derive(Default)]
struct Numbers(BTreeMap<u64, u64>);

impl Numbers {
    fn add(&mut self, number: u64) {
        if number > 0 {
            *self.0.entry(number).or_default() += 1;
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(times) = self.0.get_mut(&number) {
            *times -= 1;
            if *times == 0 {
                self.0.remove(&number);
            }
        }
    }

    fn most(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(&number, _)| number)
    }
}

/// A binary tree of all ranks for chunks that follow each other every second round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    size: usize,
    root: usize,
}

/// A rank of a tree, and the ranks below it with itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Branch {
    rank: usize,
    below: Range<usize>,
    /// The number of rounds after which the first chunk has arrived here from the root.
    delay: usize,
}

impl Tree {
    pub(super) fn new(problem: &Problem) -> Self {
        Self { size: problem.ranks(), root: problem.collective().root().unwrap_or_default().index() }
    }

    /// Returns the pipeline of this many chunks.
    pub(super) fn pipeline(self, chunks: usize) -> Pipeline {
        // Two ranks are a chain.
        Pipeline { chunks, period: if self.size > 2 { 2 } else { 1 }, depth: self.depth() }
    }

    /// Returns the [`variants`] for `auto`.
    pub(super) fn variants(problem: &Problem, with: impl Fn(usize) -> Arc<dyn Algorithm>) -> Vec<Arc<dyn Algorithm>> {
        let Pipeline { depth, period, .. } = Self::new(problem).pipeline(1);
        variants(problem, depth, period, with)
    }

    /// Returns the most children of a rank.
    pub(super) fn children(self) -> usize {
        if self.size > 2 { 2 } else { 1 }
    }

    /// Returns the delay of the last rank.
    fn depth(self) -> usize {
        let deepest = |child: Branch| child.delay + depth(child.below.len());
        self.children_of(&self.whole()).map(deepest).max().unwrap_or(0)
    }

    fn whole(self) -> Branch {
        Branch { rank: self.root, below: 0..self.size, delay: 0 }
    }

    /// Returns the children of a rank, the one that is sent to first at first.
    fn children_of(self, branch: &Branch) -> impl Iterator<Item = Branch> + use<> {
        let Branch { rank, below, delay } = branch;
        let (lower, upper) = (below.start..*rank, *rank + 1..below.end);
        let (first, second) = if lower.is_empty() {
            let middle = upper.start + near(below.len());
            (middle..upper.end, upper.start..middle)
        } else if upper.is_empty() {
            let middle = lower.end - near(below.len());
            (lower.start..middle, middle..lower.end)
        } else if lower.len() > upper.len() {
            (lower, upper)
        } else {
            (upper, lower)
        };
        let (rank, delay) = (*rank, *delay);
        let child = move |(below, later): (Range<usize>, usize)| Branch {
            rank: if below.start > rank { below.start } else { below.end.saturating_sub(1) },
            below,
            delay: delay + later,
        };
        [(first, 1), (second, 2)].into_iter().filter(|(below, _)| !below.is_empty()).map(child)
    }

    /// Returns the edges of a rank on the way from the root, the one to its parent first.
    pub(super) fn edges_from_root(self, rank: Rank) -> Vec<Edge> {
        let mut edges = vec![];
        let mut branch = self.whole();
        while branch.rank != rank.index() {
            let mut children = self.children_of(&branch);
            let Some(child) = children.find(|child| child.below.contains(&rank.index())) else { return edges };
            edges = vec![edge(&branch, &child)];
            branch = child;
        }
        edges.extend(self.children_of(&branch).map(|child| edge(&branch, &child)));
        edges
    }

    /// Returns the edges of a rank on the way to the root, which combine in rank order.
    pub(super) fn edges_to_root(self, rank: Rank) -> Vec<Edge> {
        self.turned(self.edges_from_root(rank))
    }

    /// Turns edges round: what is sent last is received first, so near parts are combined before
    /// far ones.
    pub(super) fn turned(self, edges: Vec<Edge>) -> Vec<Edge> {
        let depth = self.depth();
        let turn = |Edge { from, to, first, .. }: Edge| {
            // The ranks below `to` in the tree are on its side of `from`.
            let combine = if to < from { Combine::Left } else { Combine::Right };
            Edge { from: to, to: from, combine, first: depth - 1 - first }
        };
        edges.into_iter().map(turn).collect()
    }

    /// Returns all edges on the way from the root.
    pub(super) fn edges(self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.size - 1);
        let mut open = vec![self.whole()];
        while let Some(branch) = open.pop() {
            for child in self.children_of(&branch) {
                edges.push(edge(&branch, &child));
                open.push(child);
            }
        }
        edges
    }
}

fn edge(parent: &Branch, child: &Branch) -> Edge {
    let (from, to) = (Rank::new(parent.rank), Rank::new(child.rank));
    Edge { from, to, combine: Combine::Replace, first: child.delay - 1 }
}

/// Returns the most ranks of trees of depth 0, 1, 2 and so on, each with that of the depth before
/// it and of the one before that.
fn sizes() -> impl Iterator<Item = [usize; 3]> {
    successors(Some([1, 0, 0]), |&[size, before, _]| Some([1 + size + before, size, before]))
}

/// Returns the depth of a tree of this many ranks, in rounds.
fn depth(ranks: usize) -> usize {
    sizes().take_while(|[size, ..]| *size < ranks).count()
}

/// Returns the number of ranks of the near part, in a tree of this many ranks.
fn near(ranks: usize) -> usize {
    sizes().find(|[size, ..]| *size >= ranks).map_or(0, |[.., near]| near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_as_deep_as_the_least_that_fits() {
        let depths = [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (7, 3), (8, 4), (12, 4), (13, 5), (20, 5), (21, 6)];
        for (ranks, expected) in depths {
            assert_eq!(depth(ranks), expected, "{ranks} ranks");
        }
        assert_eq!([1, 2, 3, 4, 5, 7, 8, 12, 13].map(near), [0, 0, 1, 1, 2, 2, 4, 4, 7]);
        assert_eq!(depth(crate::ids::MAX_NODES), 44);
    }

    #[test]
    fn every_rank_but_the_root_has_one_parent() {
        for size in 1..60 {
            for root in 0..size {
                let tree = Tree { size, root };
                let edges = tree.edges();
                let mut children: Vec<_> = edges.iter().map(|edge| edge.to.index()).collect();
                children.sort_unstable();
                assert!(children.into_iter().eq((0..size).filter(|&rank| rank != root)));
                assert_eq!(edges.iter().map(|edge| edge.first + 1).max().unwrap_or(0), tree.depth());
                // The root's position costs a round more at most.
                assert!(tree.depth() <= depth(size) + 1, "{size} ranks, root {root}");
                for rank in (0..size).map(Rank::new) {
                    let mut own = tree.edges_from_root(rank);
                    let mut of_all: Vec<_> = edges.iter().copied().filter(|e| e.from == rank || e.to == rank).collect();
                    own.sort_by_key(|edge| (edge.from, edge.to));
                    of_all.sort_by_key(|edge| (edge.from, edge.to));
                    assert_eq!(own, of_all);
                }
            }
        }
    }
}

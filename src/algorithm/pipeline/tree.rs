//! Binary trees of ranks.
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

use std::iter::successors;
use std::ops::Range;

use super::chunks::{Filling, number};
use super::{Edge, Pipeline};
use crate::ids::Rank;
use crate::vocabulary::{Combine, Problem};

/// A binary tree of all ranks for chunks that follow each other every second round.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithm) struct Tree {
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
    pub(in crate::algorithm) fn new(problem: &Problem) -> Self {
        Self { size: problem.ranks(), root: problem.collective().root().unwrap_or_default().index() }
    }

    /// Returns the pipeline of this many chunks.
    pub(in crate::algorithm) fn pipeline(self, chunks: usize) -> Pipeline {
        // Two ranks are a chain.
        Pipeline { chunks: number(chunks), period: if self.size > 2 { 2 } else { 1 }, depth: self.depth() }
    }

    /// Returns how long it takes to fill.
    pub(in crate::algorithm) fn filling(problem: &Problem) -> Filling {
        let Pipeline { depth, period, .. } = Self::new(problem).pipeline(1);
        Filling { depth, period }
    }

    /// Returns the most children of a rank.
    pub(in crate::algorithm) fn children(self) -> usize {
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

    /// Returns the children of a rank, in the order of sending.
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
    pub(in crate::algorithm) fn edges_from_root(self, rank: Rank) -> Vec<Edge> {
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
    pub(in crate::algorithm) fn edges_to_root(self, rank: Rank) -> Vec<Edge> {
        self.turned(self.edges_from_root(rank))
    }

    /// Turns edges round: what is sent last is received first, so near parts are combined before
    /// far ones.
    pub(in crate::algorithm) fn turned(self, edges: Vec<Edge>) -> Vec<Edge> {
        let depth = self.depth();
        let turn = |Edge { from, to, first, .. }: Edge| {
            // The ranks below `to` in the tree are on its side of `from`.
            let combine = if to < from { Combine::Left } else { Combine::Right };
            Edge { from: to, to: from, combine, first: depth - 1 - first }
        };
        edges.into_iter().map(turn).collect()
    }

    /// Returns all edges on the way from the root.
    pub(in crate::algorithm) fn edges(self) -> Vec<Edge> {
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

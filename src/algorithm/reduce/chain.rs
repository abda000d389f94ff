//! Reduce along a chain of all ranks: chunks follow each other, and every rank adds its
//! contribution to what it passes on.
//!
//! Source: J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel & J. J. Dongarra,
//! *Performance analysis of MPI collective operations*, Cluster Computing 10(2), 2007 (pipeline: a
//! chain with segments). Needs: nothing; made for rings, and for long blocks. Model: one-port.
//! Combines in rank order where the operation does not commute.
//!
//! With k chunks, for two or more ranks:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N + k - 2; in rank order N + k - 1 to any root but the first and the last rank |
//! | blocks sent | as many as start-ups, divided by k; 1 by each rank |
//! | blocks combined | (N + k - 2) / k |
//! | hops on a ring | N + k - 2 to the first or the last rank, or if the operation commutes |
//!
//! A rank takes time in proportion to N + k, and memory O(1).
//!
//! # Idea
//!
//! The ranks are in descending circular order, from the rank before the root down to the root: the
//! [broadcast](crate::algorithm::broadcast::Chain) backwards. If the root is the first or the last
//! rank, this is rank order.
//!
//! To another root, what a rank passes on must be the result of consecutive ranks. So the chain
//! starts at the root, with its contribution; goes up to the last rank; continues from the rank
//! before the root down to the first one; and returns to the root with the complete result. That is
//! one message more for each chunk. Two chains that meet at the root would need no such message,
//! but the block would pass the root's port twice.
//!
//! ```text
//! 6 ranks, root 2      2 -> 3 -> 4 -> 5 -> 1 -> 0 -> 2
//! ```

use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Edge, Filling, Pipeline, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, Ports, Problem, Share};

/// A pipelined chain to the root.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "reduce",
    name: "chain",
    summary: "chunks of the result follow each other from rank to rank; each rank adds its contribution",
    source: "Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for rings",
    claims: "with k chunks N + k - 2 start-ups, (N + k - 2) / k blocks, on a ring N + k - 2 hops, in rank order one more start-up if the root is neither the first nor the last rank; contention-free on complete networks; combines in rank order if it must",
    ports: Ports::One,
};

impl Algorithm for Chain {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Filling::of_chain(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let way = Way::of(problem);
        let all = || (0..way.edges()).map(|place| way.edge(place)).collect();
        let claims = Pipeline::of_chain(self.chunks, way.edges()).claims(problem, 1, all);
        // Nothing is combined where the complete result arrives.
        let combined = Pipeline::of_chain(self.chunks, way.size - 1).transmission();
        Claims { combined: Some(combined), ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (way, root) = (Way::of(problem), problem.collective().root().unwrap_or_default());
        let edges = way.places(rank).into_iter().flatten().map(|place| way.edge(place)).collect();
        Pipeline::of_chain(self.chunks, way.edges()).share(rank, Block::result(root), edges)
    }
}

/// The order of the ranks.
#[derive(Clone, Copy, Debug)]
struct Way {
    size: usize,
    root: usize,
    /// Whether the chain also starts at the root.
    round_trip: bool,
}

impl Way {
    fn of(problem: &Problem) -> Self {
        let (size, root) = (problem.ranks(), problem.collective().root().unwrap_or_default().index());
        Self { size, root, round_trip: !problem.commutative() && root > 0 && root + 1 < size }
    }

    fn edges(self) -> usize {
        self.size - 1 + usize::from(self.round_trip)
    }

    /// Returns the rank at a place of the chain. The root is at the last place.
    fn at(self, place: usize) -> Rank {
        let Self { size, root, round_trip } = self;
        Rank::new(match place {
            _ if !round_trip => (root + size - 1 - place) % size,
            _ if place == size => root,
            _ if root + place < size => root + place,
            _ => size - 1 - place,
        })
    }

    /// Returns the edges on which a rank receives and sends.
    fn places(self, rank: Rank) -> [Option<usize>; 2] {
        let Self { size, root, round_trip } = self;
        let place = match rank.index() {
            rank if !round_trip => (root + size - 1 - rank) % size,
            rank if rank == root => return [Some(size - 1), Some(0)],
            rank if rank > root => rank - root,
            rank => size - 1 - rank,
        };
        [place.checked_sub(1), Some(place).filter(|&place| place < self.edges())]
    }

    /// Returns the edge from a place to the next one.
    fn edge(self, place: usize) -> Edge {
        let (from, to) = (self.at(place), self.at(place + 1));
        let combine = match from < to {
            _ if place + 1 == self.size => Combine::Replace,
            true => Combine::Left,
            false => Combine::Right,
        };
        Edge { from, to, combine, first: place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_in_rank_order_starts_and_ends_at_an_inner_root() {
        let stops = |root, round_trip| {
            let way = Way { size: 6, root, round_trip };
            (0..=way.edges()).map(|place| way.at(place).index()).collect::<Vec<_>>()
        };
        assert_eq!(stops(2, true), [2, 3, 4, 5, 1, 0, 2]);
        assert_eq!(stops(2, false), [1, 0, 5, 4, 3, 2]);
        assert_eq!(stops(0, false), [5, 4, 3, 2, 1, 0]);
        assert_eq!(stops(5, false), [4, 3, 2, 1, 0, 5]);
    }
}

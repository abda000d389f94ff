//! Allreduce of long vectors around a ring: the ranks reduce and scatter parts of the vector, and
//! then gather the results.
//!
//! Source: P. Patarasuk & X. Yuan, *Bandwidth optimal all-reduce algorithms for clusters of
//! workstations*, Journal of Parallel and Distributed Computing 69(2), 2009. Needs: an operation
//! that commutes, for more than two ranks; made for rings. Model: one-port. All ranks get the same
//! bits.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 (N - 1) |
//! | blocks sent | 2 (N - 1) / N, the one-port lower bound |
//! | hops on a ring | 2 (N - 1) |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! The vector is cut into N parts. The first half is the [reduce-scatter around the
//! ring](crate::algorithm::reduce_scatter::Ring), after which rank i has part i of the result. The
//! second half is the [allgather around the ring](crate::algorithm::allgather::Ring) of these
//! parts. Unlike [`Rabenseifner`](super::Rabenseifner), it sends the least for any number of ranks,
//! and unlike [`ReduceScatterAllgather`](super::ReduceScatterAllgather) on any network.
//!
//! There is no parameter for more chunks. Every rank sends and receives in every round, so no port
//! waits for a message that shorter chunks would bring earlier. Chunks would let a rank combine one
//! while the next one moves, but the backends here combine after each round or, among threads,
//! while they read: nothing would overlap.

use crate::algorithm::alltoall::claims_around_a_ring;
use crate::algorithm::loads::Circle;
use crate::algorithm::{About, Algorithm, Claims, allgather, no_free_order, reduce_scatter};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Reduce-scatter and allgather of parts, in one direction around the ring of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "allreduce",
    name: "ring",
    summary: "around the ring of ranks, parts of the vector are combined, and then passed to all",
    source: "Patarasuk & Yuan 2009",
    needs: "an operation that commutes, for more than two ranks; made for rings",
    claims: "2 (N - 1) start-ups, 2 (N - 1) / N blocks, on a ring 2 (N - 1) hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_free_order(problem, problem.ranks())
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let (rounds, part) = (2 * (ranks - 1), Volume::new(1, ranks));
        let chain = if rounds == 0 { Some(0) } else { Circle::chain(problem, rounds) };
        let claims = claims_around_a_ring(problem, rounds, part * rounds, |_| chain.map(|hops| (hops, part * hops)));
        Claims { combined: Some(part * (ranks - 1)), ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let part = move |of: Rank| Block::RESULT.chunks(of.index() as u32, size as u32, 1).into_iter().collect();
        Box::new(reduce_scatter::around(size, rank, part).chain(allgather::around(size, rank, part)))
    }
}

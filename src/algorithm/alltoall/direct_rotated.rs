//! Alltoall by rotation: in round i, every rank sends to the rank i further on.
//!
//! Source: Grama et al., §4.6 (the circular shifts that make up the exchange); "pairwise" in MPI
//! libraries. Needs: nothing. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N - 1, the one-port lower bound |
//! | messages a rank | N - 1 |
//!
//! | blocks of the busiest channel, summed over rounds | on a ring or line fl(N^2/4): in round i it carries min(i, N - i) |
//!
//! A rank takes time and memory in proportion to N. Contention-free on complete networks and, by
//! default routes, on cubes (Grama et al., §4.6.2). Elsewhere the transfers of a round share
//! channels: on products of lines and rings, as many as the largest digit of i in the shorter
//! direction, plus one for a carry.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Rotation: in round i, every rank sends to the rank i further on.
///
/// On a mesh, messages share channels; the first three rounds of eleven:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/direct-rotated.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct DirectRotated;

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct-rotated",
    summary: "round i: each rank sends directly to the rank i above it (modulo N)",
    source: "Grama et al., 4.6",
    needs: "nothing",
    claims: "N - 1 start-ups, N - 1 blocks; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for DirectRotated {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let claims = Claims::of_single_blocks(problem.ranks() as u64 - 1, is_complete(problem));
        let block = Volume::from(1);
        with_loads(
            claims,
            Pattern::rotations(problem).map(|rounds| rounds.into_iter().map(move |round| (round, block))),
        )
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        Box::new((1..size).map(move |i| {
            let to = Rank::new((rank.index() + i) % size);
            let from = Rank::new((rank.index() + size - i) % size);
            RankRound {
                sends: vec![End::new(to, vec![Block::new(rank, to)])],
                receives: vec![End::new(from, vec![Block::new(from, rank)])],
                ..RankRound::default()
            }
        }))
    }
}

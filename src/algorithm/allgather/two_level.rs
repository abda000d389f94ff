//! Allgather on two levels: within each host, among the hosts, and within each host again.
//!
//! Source: T. Kielmann et al., *MagPIe: MPI's collective communication operations for clustered
//! wide area systems*, PPoPP 1999, whose clusters are hosts here and whose coordinators are
//! leaders. Needs: ranks on two hosts or more that are known, and a host with two ranks. Model:
//! one-port.
//!
//! Let H be the number of hosts, and M the ranks of the largest one:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 ceil(log M) + ceil(log H) |
//! | blocks sent | N - n to the leaders of hosts of n ranks, and fewer than N in each round within hosts |
//!
//! A rank takes time and memory in proportion to N times its rounds.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The ranks of a host send their blocks up a binomial tree to its first rank, the leader. The
//! leaders exchange the blocks of whole hosts by doubling, as [`Bruck`](super::Bruck) does those of
//! ranks. Then all blocks go down the same trees; none goes back to where it came from. So each
//! block enters each host once.

use crate::algorithm::levels::{Levels, NEEDS, lacks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Binomial trees within hosts, and doubling among a leader of each.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "allgather",
    name: "two-level",
    summary: "the blocks of each host go up a binomial tree to a leader, leaders exchange those of whole hosts, and all blocks go down the trees",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "2 ceil(log M) + ceil(log H) start-ups, for H hosts of up to M ranks; each block enters each host once; contention-free on complete networks",
    ports: Ports::One,
};

impl Algorithm for TwoLevel {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Levels::of(problem).allgather_claims(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Levels::of(problem).allgather(rank)
    }
}

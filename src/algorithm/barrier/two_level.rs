//! Barrier on two levels: within each host, among the hosts, and within each host again.
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
//!
//! A rank takes time and memory in proportion to N times its rounds. Its blocks are listed for
//! verification. Without contention on complete networks.
//!
//! # Idea
//!
//! The ranks of a host tell its first rank, the leader, along a binomial tree. The leaders tell
//! each other by dissemination, and then their hosts. As an allgather of empty blocks it is the
//! [allgather on two levels](crate::algorithm::allgather::TwoLevel).

use crate::algorithm::levels::{Levels, NEEDS, lacks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Binomial trees within hosts, and doubling among a leader of each.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "barrier",
    name: "two-level",
    summary: "the ranks of each host tell a leader, along a binomial tree, the leaders tell each other, and then their hosts",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "2 ceil(log M) + ceil(log H) start-ups, for H hosts of up to M ranks; blocks of no bytes; contention-free on complete networks",
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

//! Scatter on two levels: among the hosts, then within each host. The reverse of a gather.
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
//! | startups | ceil(log H) + ceil(log M) |
//! | blocks sent | the sum over rounds of the largest subtree, in ranks; N - 1 by the root |
//!
//! A rank takes time and memory in proportion to H, and to the blocks that pass through it.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The root is the leader of its host, and the first rank of each other host that of its own. The
//! blocks of whole hosts go down a binomial tree of the leaders, and then those of single ranks
//! down one within each host. So few messages cross between hosts: one to each host but the root's.

use crate::algorithm::levels::{Levels, NEEDS, lacks, scatter_sends};
use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Binomial trees: one of a leader on each host, and one within each host.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "scatter",
    name: "two-level",
    summary: "the blocks of whole hosts go down a binomial tree of leaders, and those of ranks down a tree within each host",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "ceil(log H) + ceil(log M) start-ups, for H hosts of up to M ranks; contention-free on complete networks",
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
        let levels = Levels::of(problem);
        let (root, count) = (levels.host_of_root(), levels.count());
        let claims = Claims {
            transmission: Some(levels.gathered().map(Volume::from).sum()),
            messages: Some(levels.most_sends(|host| scatter_sends(host, root, count))),
            volume: Some(Volume::from(problem.ranks() as u64 - 1)),
            ..Claims::of_single_blocks(u64::from(levels.among() + levels.within()), is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        Levels::of(problem).scatter(rank, move |rank| Block::new(root, rank))
    }
}

//! Gather on two levels: within each host, then among the hosts.
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
//! | blocks sent | the sum over rounds of the largest subtree, in ranks |
//!
//! A rank takes time and memory in proportion to H, and to the blocks that pass through it.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The ranks of a host send their blocks up a binomial tree to its leader: the root on the root's
//! host, the first rank elsewhere. Then the blocks of whole hosts go up a tree of the leaders. So
//! few messages cross between hosts: one from each host but the root's.

use crate::algorithm::levels::{Levels, NEEDS, lacks};
use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Binomial trees: one within each host, and one of a leader on each host.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "gather",
    name: "two-level",
    summary: "the blocks of each host go up a binomial tree to a leader, and those of all hosts up a tree of leaders",
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
        // Each rank but the root sends one message.
        let claims = Claims {
            transmission: Some(levels.gathered().map(Volume::from).sum()),
            messages: Some(1),
            volume: levels.gathered().max().map(Volume::from),
            ..Claims::of_single_blocks(u64::from(levels.among() + levels.within()), is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        Levels::of(problem).gather(rank, move |rank| Block::new(rank, root))
    }
}

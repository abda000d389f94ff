//! Reduce on two levels: within each host, then among the hosts.
//!
//! Source: T. Kielmann et al., *MagPIe: MPI's collective communication operations for clustered
//! wide area systems*, PPoPP 1999, whose clusters are hosts here and whose coordinators are
//! leaders. Needs: ranks on two hosts or more that are known, and a host with two ranks; hosts of
//! consecutive ranks, or an operation that commutes. Model: one-port.
//!
//! Let H be the number of hosts, and M the ranks of the largest one:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log M) + ceil(log H) |
//! | blocks sent | as many as start-ups, 1 by each rank but the root |
//! | blocks that leave a host | 1, none by the root's |
//!
//! A rank takes time and memory in proportion to H, and to its host's ranks.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The ranks of a host combine their contributions at its leader: the root on the root's host, the
//! first rank elsewhere. Then the leaders combine theirs at the root. So one partial result leaves
//! each host. Both trees combine neighbouring ranges, so that the result is combined in rank order
//! where hosts are ranges of ranks.

use crate::algorithm::levels::{Levels, NEEDS, lacks_for_reduction};
use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, RankRound, Share};

/// Binomial trees in rank order: one within each host, and one of a leader on each host.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "reduce",
    name: "two-level",
    summary: "the ranks of each host combine at a leader, along a binomial tree, and the leaders at the root",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "ceil(log M) + ceil(log H) start-ups and blocks, for H hosts of up to M ranks; one block leaves each host; contention-free on complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for TwoLevel {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks_for_reduction(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let levels = Levels::of(problem);
        let rounds = u64::from(levels.within() + levels.among());
        let claims = Claims {
            messages: Some(1),
            volume: Some(Volume::from(1)),
            combined: Some(Volume::from(rounds)),
            ..Claims::of_single_blocks(rounds, is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let levels = Levels::of(problem);
        let (host, leaders) = (levels.host(rank), levels.leaders(rank));
        let block = Block::result(problem.collective().root().unwrap_or_default());
        let among = (0..levels.among())
            .map(move |k| leaders.as_ref().map_or_else(RankRound::default, |leaders| leaders.reduce(k, block)));
        Box::new((0..levels.within()).map(move |k| host.reduce(k, block)).chain(among))
    }
}

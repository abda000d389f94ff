//! Allreduce on two levels: within each host, among the hosts, and within each host again.
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
//! | startups | 2 ceil(log M) + floor(log H), and 2 more unless H is a power of two |
//! | blocks sent | as many as start-ups |
//! | blocks that a host sends | floor(log H), and 1 more unless H is a power of two |
//!
//! A rank takes time and memory in proportion to H, and to its host's ranks.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The ranks of a host combine their contributions at its first rank, the leader. The leaders
//! combine theirs by recursive doubling, and send the result down the trees within their hosts. So
//! each host sends and receives log H blocks, whatever the number of its ranks. All trees combine
//! neighbouring ranges, so that the result is combined in rank order where hosts are ranges of
//! ranks. All ranks get the same bits.

use crate::algorithm::fold::Fold;
use crate::algorithm::levels::{Levels, NEEDS, among, lacks_for_reduction};
use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Binomial trees within hosts, and recursive doubling among a leader of each.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "allreduce",
    name: "two-level",
    summary: "the ranks of each host combine at a leader, the leaders by recursive doubling, and the result goes back down the trees",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "2 ceil(log M) + floor(log H) start-ups and blocks, for H hosts of up to M ranks, and 2 more unless H is a power of two; contention-free on complete networks; combines in rank order",
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
        let fold = Fold::new(levels.count());
        let (within, folds) = (u64::from(levels.within()), if levels.count().is_power_of_two() { 0 } else { 2 });
        let among = u64::from(fold.doublings) + folds;
        let sends = levels.most_sends(|host| fold.sends(Rank::new(host)));
        let claims = Claims {
            messages: Some(sends),
            volume: Some(Volume::from(sends)),
            // The result is not combined on its way back.
            combined: Some(Volume::from(within + among - folds / 2)),
            ..Claims::of_single_blocks(2 * within + among, is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let levels = Levels::of(problem);
        let (host, leaders) = (levels.host(rank), levels.leaders(rank));
        let (fold, result, within) = (Fold::new(levels.count()), Block::RESULT, levels.within());
        let (up, down) = (host.clone(), host);
        let folding = fold.rounds(result).map(move |round| among(leaders.as_ref(), round));
        let up = (0..within).map(move |k| up.reduce(k, result));
        Box::new(up.chain(folding).chain((0..within).map(move |k| down.broadcast(k, result))))
    }
}

//! Broadcast on two levels: among the hosts, then within each host.
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
//! | blocks sent | as many as start-ups |
//! | blocks that enter a host | 1 |
//!
//! A rank takes time and memory in proportion to H, and to its host's ranks.
//! Without contention on complete networks.
//!
//! # Idea
//!
//! The root is the leader of its host, and the first rank of each other host that of its own. The
//! block goes down a binomial tree of the leaders, and then down one within each host. So it enters
//! each host once; in a tree of all ranks it may enter as often as the host has ranks.

use crate::algorithm::levels::{Levels, NEEDS, broadcast_sends, lacks};
use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, RankRound, Share};

/// Binomial trees: one of a leader on each host, and one within each host.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel;

static ABOUT: About = About {
    collective: "broadcast",
    name: "two-level",
    summary: "the root sends to a leader on each host, along a binomial tree, and the leaders along a tree within their host",
    source: "Kielmann et al. 1999",
    needs: NEEDS,
    claims: "ceil(log H) + ceil(log M) start-ups and blocks, for H hosts of up to M ranks; one block enters each host; contention-free on complete networks",
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
        let sends = levels.most_sends(|host| broadcast_sends(host, root, count));
        let claims = Claims {
            messages: Some(sends),
            volume: Some(Volume::from(sends)),
            ..Claims::of_single_blocks(u64::from(levels.among() + levels.within()), is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let levels = Levels::of(problem);
        let (host, leaders) = (levels.host(rank), levels.leaders(rank));
        let block = Block::from(problem.collective().root().unwrap_or_default());
        let among = (0..levels.among())
            .map(move |k| leaders.as_ref().map_or_else(RankRound::default, |leaders| leaders.broadcast(k, block)));
        Box::new(among.chain((0..levels.within()).map(move |k| host.broadcast(k, block))))
    }
}

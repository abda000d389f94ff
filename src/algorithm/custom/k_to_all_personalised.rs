//! K-to-all personalised exchange: k ranks send a block to every rank.
//!
//! Source: Grama et al., problem 4.20. Needs: a [`Custom::k_to_all_personalised`] among 2^d ranks,
//! from 2^i sources that differ modulo their number. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | log(N/k) + k - 1 |
//! | blocks sent | N - 1 |
//!
//! A rank takes time and memory in proportion to the blocks that pass through it. Without
//! contention on cubes and complete networks.
//!
//! # Idea
//!
//! The ranks that are equal modulo k are a team with one source. The source scatters its blocks
//! among them: each rank gets those for the k ranks of its own sub-cube. In the sub-cubes, each two
//! ranks then exchange: in round j, those whose numbers differ by exclusive or with j.

use super::{Handing, Teams, is_other};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::collective::Custom;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Scatter within teams, and exchange within sub-cubes.
#[derive(Clone, Copy, Debug)]
pub struct KToAllPersonalised;

static ABOUT: About = About {
    collective: "custom",
    name: "k-to-all-personalised",
    summary: "each source scatters its blocks among the ranks equal to it modulo k, and the ranks of sub-cubes exchange in pairs",
    source: "Grama et al., problem 4.20",
    needs: "a k-to-all personalised exchange among 2^d ranks from 2^i sources that differ modulo their number",
    claims: "log(N/k) + k - 1 start-ups, N - 1 blocks; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for KToAllPersonalised {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        is_other(problem, "k-to-all personalised exchange", Custom::k_to_all_personalised)
            .or_else(|| Teams::lacks(problem))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Teams { low, high, .. } = Teams::of(problem);
        let (k, all) = (1_u64 << low, problem.ranks() as u64 - 1);
        let rounds = u64::from(high) + k - 1;
        let apart = is_complete(problem) || is_cube(problem);
        let hops = if is_complete(problem) { rounds } else { u64::from(high) + u64::from(low) * k / 2 };
        let forwarded = |longest: u64| {
            let exchanged = (1..k).map(|j| u64::from(j.count_ones()).min(longest)).sum::<u64>();
            let exchanged = if is_complete(problem) { k - 1 } else { exchanged };
            Some(Volume::from((all + 1 - k) + exchanged)).filter(|_| apart)
        };
        Claims {
            transmission: Some(Volume::from(all)),
            hops: Some(hops).filter(|_| apart),
            forwarded_transmission: forwarded(u64::MAX),
            end_transmission: forwarded(2),
            // The sources.
            messages: Some(rounds),
            volume: Some(Volume::from(all)),
            ..Claims::of_single_blocks(rounds, apart)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (teams, me) = (Teams::of(problem), rank.index());
        let k = 1_usize << teams.low;
        let scatter = |b: u32| {
            let Some(Handing { sends, peer, members }) = teams.scatter(me, b) else { return RankRound::default() };
            let source = teams.source(me);
            let blocks = (members.start * k..members.end * k).map(|to| Block::new(source, Rank::new(to))).collect();
            let end = vec![End::new(peer, blocks)];
            if sends { RankRound::new(end, vec![]) } else { RankRound::new(vec![], end) }
        };
        let exchange = |j: usize| {
            let peer = me ^ j;
            let end = |sender: usize, receiver: usize| {
                vec![End::new(Rank::new(peer), vec![Block::new(teams.source(sender), Rank::new(receiver))])]
            };
            RankRound::new(end(me, peer), end(peer, me))
        };
        let rounds: Vec<RankRound> = (0..teams.high).rev().map(scatter).chain((1..k).map(exchange)).collect();
        Box::new(rounds.into_iter())
    }
}

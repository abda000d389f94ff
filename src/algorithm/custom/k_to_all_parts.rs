//! K-to-all broadcast of long blocks: the sources scatter parts of their blocks, and all ranks
//! gather all parts.
//!
//! Source: Grama et al., problem 4.18. Needs: a [`Custom::k_to_all_broadcast_in_parts`] among 2^d
//! ranks, from k = 2^i sources that differ modulo k, in N/k parts. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | log N + log(N/k) |
//! | blocks sent | k + 1 - 2 k/N |
//! | hops on a cube | as many as start-ups |
//!
//! A rank takes time and memory in proportion to N. Without contention on cubes and complete
//! networks.
//!
//! # Idea
//!
//! The ranks that are equal modulo k are a team with one source, which scatters its block among
//! them, in N/k parts. Then sub-cubes exchange what their ranks have, first across the teams. Parts
//! that a rank has had for others are not sent to it again.

use super::{Handing, Teams, is_other};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::collective::Custom;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Scatter and allgather of parts.
#[derive(Clone, Copy, Debug)]
pub struct KToAllParts;

static ABOUT: About = About {
    collective: "custom",
    name: "k-to-all-parts",
    summary: "each source scatters parts among the ranks equal to it modulo k, and sub-cubes exchange what they have",
    source: "Grama et al., problem 4.18",
    needs: "a k-to-all broadcast in N/k parts among 2^d ranks from k = 2^i sources that differ modulo their number",
    claims: "log N + log(N/k) start-ups, k + 1 - 2 k/N blocks; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for KToAllParts {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let parts = |ranks: usize, sources: &[Rank]| {
            let parts = ranks / sources.len().max(1);
            let cut = Custom::k_to_all_broadcast_in_parts(ranks, sources, parts as u32);
            cut.unwrap_or_else(|| Custom::k_to_all_broadcast(ranks, sources))
        };
        is_other(problem, "k-to-all broadcast in N/k parts", parts).or_else(|| Teams::lacks(problem))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Teams { low, high, .. } = Teams::of(problem);
        let parts = 1_u64 << high;
        let apart = is_complete(problem) || is_cube(problem);
        let sent = (parts - 1) + (problem.ranks() as u64 - 1);
        Claims {
            transmission: Some(Volume::new(sent, parts)),
            messages: None,
            volume: None,
            ..Claims::of_single_blocks(u64::from(low + 2 * high), apart)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (teams, me) = (Teams::of(problem), rank.index());
        let parts = 1_u32 << teams.high;
        let cut = move |source: Rank, first: usize, count: usize| {
            Block::from(source).chunks(first as u32, parts, count as u32)
        };
        let scatter = |b: u32| {
            let Some(Handing { sends, peer, members }) = teams.scatter(me, b) else { return RankRound::default() };
            let blocks = cut(teams.source(me), members.start, members.len()).into_iter().collect();
            let end = vec![End::new(peer, blocks)];
            if sends { RankRound::new(end, vec![]) } else { RankRound::new(vec![], end) }
        };
        // Across the teams: one part of each source of a sub-cube.
        let across = |i: u32| {
            let peer = me ^ 1 << i;
            let end = |sender: usize| {
                let known = (0..1 << i).map(|low| teams.source((sender >> i << i | low) & ((1 << teams.low) - 1)));
                let blocks = known.filter_map(|source| cut(source, me >> teams.low, 1)).collect();
                vec![End::new(Rank::new(peer), blocks)]
            };
            RankRound::new(end(me), end(peer))
        };
        // Within the teams: some parts of all sources.
        let within = |b: u32| {
            let peer = me ^ 1 << (b + teams.low);
            let end = |sender: usize, receiver: usize| {
                let first = sender >> teams.low >> b << b;
                // In the scatter, the receiver has had as many parts as its place is divisible by.
                let had_them = teams.place(receiver).is_multiple_of(2 << b).then(|| teams.source(receiver));
                let missing = teams.sources.iter().filter(|source| Some(**source) != had_them);
                let blocks: Vec<Block> = missing.filter_map(|&source| cut(source, first, 1 << b)).collect();
                if blocks.is_empty() { vec![] } else { vec![End::new(Rank::new(peer), blocks)] }
            };
            RankRound::new(end(me, peer), end(peer, me))
        };
        let rounds: Vec<RankRound> = (0..teams.high)
            .rev()
            .map(scatter)
            .chain((0..teams.low).map(across))
            .chain((0..teams.high).map(within))
            .collect();
        Box::new(rounds.into_iter())
    }
}

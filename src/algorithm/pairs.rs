//! Rounds in which every rank sends to every other rank.

use super::loads::at_once;
use super::{Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Problem, RankRound};

/// Returns the claims of `rounds` rounds in which each rank sends one of `parts` parts of a block
/// to each other rank.
pub(super) fn claims(problem: &Problem, rounds: u64, parts: u64) -> Claims {
    let size = Volume::new(1, parts);
    let peers = problem.ranks() as u64 - 1;
    let rounds = rounds * peers.min(1);
    let volume = Some(size * (peers * rounds));
    let at_once = at_once(problem);
    let complete = is_complete(problem);
    let hops = at_once.map(|(_, hops)| hops).or(complete.then_some(1));
    Claims {
        startups: Some(rounds),
        transmission: Some(size * rounds),
        port_transmission: volume,
        channel_transmission: at_once.map(|(load, _)| load.part(parts) * rounds),
        forwarded_transmission: hops.map(|hops| size * (hops * rounds)),
        end_transmission: hops.map(|hops| size * (hops.min(2) * rounds)),
        hops: hops.map(|hops| hops * rounds),
        rearrangements: Some(0),
        handled: Some(2 * peers * rounds),
        messages: Some(peers * rounds),
        volume,
        contention_free: complete,
        ..Claims::default()
    }
}

/// Returns the ranks that a rank sends to, of this many. It begins with the next one, which spreads
/// the destinations if sends are executed one after the other.
pub(super) fn peers(ranks: usize, rank: Rank) -> impl Iterator<Item = Rank> + use<> {
    (1..ranks).map(move |i| Rank::new((rank.index() + i) % ranks))
}

/// Returns the round in which a rank sends to each other rank the block that `sent` returns for it,
/// and receives `received` from each; no round if there are no other ranks. The round is long, so
/// it is made only when it is needed.
pub(super) fn round(
    ranks: usize,
    rank: Rank,
    sent: impl Fn(Rank) -> Block,
    received: impl Fn(Rank) -> Block,
) -> impl Iterator<Item = RankRound> {
    let rounds = ranks.min(2) - 1;
    (0..rounds).map(move |_| {
        let sends = peers(ranks, rank).map(|peer| End::new(peer, vec![sent(peer)])).collect();
        RankRound::new(sends, peers(ranks, rank).map(|peer| End::new(peer, vec![received(peer)])).collect())
    })
}

/// Returns the round in which a rank sends to each other rank its contribution to the block that
/// `of` returns for that rank, and combines those that it receives with its own: in rank order,
/// from its own outwards. No round if there are no other ranks.
pub(super) fn combining_round(ranks: usize, rank: Rank, of: impl Fn(Rank) -> Block) -> impl Iterator<Item = RankRound> {
    let rounds = ranks.min(2) - 1;
    (0..rounds).map(move |_| {
        let end = |peer, sender: Rank, receiver: Rank| {
            let combine = Combine::in_rank_order(sender, receiver);
            End::new(peer, vec![of(receiver)]).combined(combine)
        };
        let sends = peers(ranks, rank).map(|peer| end(peer, rank, peer)).collect();
        RankRound::new(sends, outwards(ranks, rank).map(|peer| end(peer, peer, rank)).collect())
    })
}

/// Returns the other ranks from this one outwards: those below from the nearest down, then those
/// above.
pub(super) fn outwards(ranks: usize, rank: Rank) -> impl Iterator<Item = Rank> + use<> {
    (0..rank.index()).rev().chain(rank.index() + 1..ranks).map(Rank::new)
}

/// Returns the function from a rank to its part of a block, which is cut into a part for each rank.
pub(super) fn part(ranks: usize, block: Block) -> impl Fn(Rank) -> Block + Copy + use<> {
    let parts = ranks as u32;
    move |rank| block.chunks(rank.index() as u32, parts, 1).unwrap_or(block)
}

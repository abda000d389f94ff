//! What a rank does in an exchange within its cube, or sub-cube.
//!
//! 1. A block of relative address r has crossed the dimensions `done` before a round, a part of the bits of r: it is at source xor
//!    `done`. So rank u has it from the source u xor `done`, for the destination u xor `done` xor r.
//! 2. An address crosses each of its bits once, so it arrives.
//! 3. No address crosses twice in a round, so what a rank sends it has held before.

use super::Crossing;
use crate::ids::Rank;
use crate::schedule::{Block, End, RankRound, Share};

/// The rounds of a rank, in each of which these cross. Dimension k of the exchange is bit `bits[k]` of the ranks' numbers; a
/// sub-cube is made of the ranks that agree in all others. A source has a block for a destination.
pub(crate) fn share(rounds: Vec<Vec<Crossing>>, bits: Vec<usize>, rank: Rank) -> Share {
    share_of(rounds, bits, rank, |(source, destination), into| into.push(Block::new(source, destination)))
}

/// The same where a source has for a destination what is added to a list.
pub(crate) fn share_of(
    rounds: Vec<Vec<Crossing>>,
    bits: Vec<usize>,
    rank: Rank,
    has: impl Fn((Rank, Rank), &mut Vec<Block>) + Send + 'static,
) -> Share {
    // What each relative address has crossed.
    let mut done = vec![0; 1 << bits.len()];
    Box::new(rounds.into_iter().map(move |crossings| {
        let round = round(rank, &bits, &crossings, &done, &has);
        for Crossing { address, dimension } in crossings {
            done[address] |= 1 << dimension;
        }
        round
    }))
}

fn round(
    rank: Rank,
    bits: &[usize],
    crossings: &[Crossing],
    done: &[usize],
    has: &impl Fn((Rank, Rank), &mut Vec<Block>),
) -> RankRound {
    let mut by_dimension: Vec<Vec<usize>> = vec![vec![]; bits.len()];
    for &Crossing { address, dimension } in crossings {
        by_dimension[dimension].push(address);
    }
    let used = || bits.iter().zip(&by_dimension).filter(|(_, addresses)| !addresses.is_empty());
    let peer = |bit: usize| Rank::new(rank.index() ^ (1 << bit));
    let blocks = |from: Rank, addresses: &[usize]| {
        let mut blocks = Vec::with_capacity(addresses.len());
        for (destination, source) in sent(from, bits, addresses, done) {
            has((Rank::new(source), Rank::new(destination)), &mut blocks);
        }
        blocks
    };
    RankRound {
        sends: used().map(|(&bit, addresses)| End::new(peer(bit), blocks(rank, addresses))).collect(),
        receives: used().map(|(&bit, addresses)| End::new(peer(bit), blocks(peer(bit), addresses))).collect(),
        ..RankRound::default()
    }
}

/// What a rank sends of these relative addresses: by destinations, and for one destination by sources, so that neighbours in
/// its memory are neighbours in the message.
fn sent(from: Rank, bits: &[usize], addresses: &[usize], done: &[usize]) -> Vec<(usize, usize)> {
    let spread = |word: usize| bits.iter().enumerate().fold(0, |sum, (k, bit)| sum | (word >> k & 1) << bit);
    let ends = |&address: &usize| {
        let source = from.index() ^ spread(done[address]);
        (source ^ spread(address), source)
    };
    let mut ends: Vec<(usize, usize)> = addresses.iter().map(ends).collect();
    ends.sort_unstable();
    ends
}

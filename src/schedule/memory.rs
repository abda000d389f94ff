//! How much memory a proof takes.
//
// The constants are upper ones, of what the system counts as the process's, measured over the algorithms of this crate on
// some 30 networks: more than is allocated at once, since what a round leaves free lies in pieces among what stays.

use crate::algorithm::Algorithm;
use crate::block::Volume;
use crate::collective::{Collective, Holding};
use crate::ids::Rank;
use crate::topology::{Axis, axes};
use crate::vocabulary::{BuildError, Problem};

/// Bytes of a block that a rank holds, where the table of these is as empty as it may be.
const HELD: u128 = 80;

/// Bytes of a block of a round's messages: at both ends, joined, and on its way.
const MOVED: u128 = 160;

/// Bytes of a message of a round besides.
const MESSAGE: u128 = 420;

/// Bytes of a channel.
const CHANNEL: u128 = 130;

/// Bytes of a rank, with its share.
const RANK: u128 = 1000;

/// Bytes of what says of [`PAGED`] blocks whether they were named whole.
const PAGE: u128 = 170;

/// How many destinations a page is of.
const PAGED: u128 = 512;

/// Where ranks hold more bytes, rounds are not looked at: one rank's alone may be more than memory holds.
const HOPELESS: u128 = 1 << 40;

/// About how many bytes it takes to [prove](super::verify_shares) the schedule that an algorithm makes of a problem: an estimate, rather too
/// high than too low.
///
/// It goes by what ranks hold and, unless that is more than a TiB, by the largest round of a few of them. Takes the time to count
/// their messages.
///
/// # Errors
///
/// Where the algorithm does not fit the problem.
pub fn memory_to_verify(algorithm: &dyn Algorithm, problem: &Problem) -> Result<u128, BuildError> {
    crate::algorithm::scheduled(algorithm, problem)?;
    let ranks = problem.ranks() as u128;
    let held = held(problem.collective(), ranks, ranks);
    let least = sum(&[(held, HELD), (pages(problem).min(held), PAGE), (ranks, RANK)]);
    if least > HOPELESS {
        return Ok(least);
    }
    let Busiest { messages, blocks, sent, received, .. } = Busiest::of(algorithm, problem);
    // A round has at most as many blocks as are held where each is in one place at a time.
    // What all send together all receive together, also where one rank sends much more than others.
    let channels = channels(problem, ranks.saturating_mul(sent.min(received)));
    let moved = ranks.saturating_mul(blocks);
    Ok(least.saturating_add(sum(&[(moved, MOVED), (ranks.saturating_mul(messages), MESSAGE), (channels, CHANNEL)])))
}

/// About how many bytes it takes to [verify the parts](super::verify_sample) of that many ranks, in the same way as
/// [`memory_to_verify`]. Where these ranks hold more than `enough` bytes before and after, it is those alone: one round of one
/// rank, which is made to count its messages, may take as many.
///
/// # Errors
///
/// Where the algorithm does not fit the problem.
pub fn memory_to_sample(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    sampled: usize,
    enough: u128,
) -> Result<u128, BuildError> {
    crate::algorithm::scheduled(algorithm, problem)?;
    let ranks = problem.ranks() as u128;
    let sampled = (sampled as u128).min(ranks);
    let held = held(problem.collective(), sampled, ranks);
    // The table of one rank is there twice while it grows.
    let least = sum(&[(held, HELD * 3 / 2), (sampled, RANK)]);
    if least > enough {
        return Ok(least);
    }
    let Busiest { messages, blocks, sent, sent_blocks, received } = Busiest::of(algorithm, problem);
    // Sends and receives; those of one peer besides.
    let of_sample = |of_one: u128| of_one.saturating_mul(2 * sampled);
    let with_peer = |of_one: u128| of_one.saturating_mul(2 * sampled + 2);
    let pages = of_sample(sent_blocks).min(pages(problem));
    let all = sampled.saturating_mul(sent.saturating_add(received));
    let (others, channels) = (all.min(ranks - sampled), channels(problem, all));
    let parts = [
        (with_peer(blocks), MOVED),
        (with_peer(messages), MESSAGE),
        (pages, PAGE),
        (others, RANK),
        (channels, CHANNEL),
    ];
    Ok(least.saturating_add(sum(&parts)))
}

/// The most that one of a few ranks does.
#[derive(Default)]
struct Busiest {
    /// Messages that it sends, or receives, in a round.
    messages: u128,
    /// Blocks that it sends in a round.
    blocks: u128,
    /// Messages that it sends in all.
    sent: u128,
    /// Blocks that it sends in all.
    sent_blocks: u128,
    /// Messages that it receives in all.
    received: u128,
}

impl Busiest {
    fn of(algorithm: &dyn Algorithm, problem: &Problem) -> Self {
        let ranks = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let some = [0, ranks / 2, ranks - 1].map(Rank::new).into_iter().chain([root]);
        let mut most = Self::default();
        for rank in some {
            let (mut sent, mut sent_blocks, mut received) = (0, 0_u128, 0);
            for round in algorithm.amounts(problem, rank) {
                let sends = round.sends.len() as u128;
                let blocks = round.sends.iter().map(|amount| amount.volume).sum::<Volume>().bytes(1);
                sent += sends;
                received += round.receives as u128;
                sent_blocks = sent_blocks.saturating_add(blocks);
                most.messages = most.messages.max(sends).max(round.receives as u128);
                most.blocks = most.blocks.max(blocks);
            }
            most.sent = most.sent.max(sent);
            most.sent_blocks = most.sent_blocks.max(sent_blocks);
            most.received = most.received.max(received);
        }
        most
    }
}

/// How many pages there are, at most: blocks of a source lie in a row, by their destinations.
fn pages(problem: &Problem) -> u128 {
    let ranks = problem.ranks() as u128;
    if problem.collective().is_personalised() { ranks * ranks.div_ceil(PAGED) } else { ranks + 1 }
}

/// How many channels that many messages use, at most.
fn channels(problem: &Problem, messages: u128) -> u128 {
    let topology = problem.topology();
    let longest = axes(&**topology).map(|axes| axes.into_iter().map(Axis::diameter).sum::<u64>());
    let used = longest.map_or(u128::MAX, |longest| messages.saturating_mul(longest.into()));
    used.min(topology.channels() as u128)
}

/// The bytes of things of which there are so many, each of so many bytes.
fn sum(parts: &[(u128, u128)]) -> u128 {
    parts.iter().fold(0, |sum, (many, bytes)| sum.saturating_add(many.saturating_mul(*bytes)))
}

/// How many blocks that many of the ranks together hold, at most.
fn held(collective: &Collective, some: u128, all: u128) -> u128 {
    let (before, after) = match collective {
        Collective::Custom(custom) => {
            let blocks = |sides: &[Holding]| sides.iter().map(|side| side.len() as u128).sum::<u128>();
            (blocks(&custom.pre), blocks(&custom.post))
        }
        collective => {
            let (before, after) = collective.buffers();
            (before.together(some, all), after.together(some, all))
        }
    };
    // Where results are made of contributions both may be there.
    if collective.is_reduction() { before + after } else { before.max(after) }
}

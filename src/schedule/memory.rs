//! How much memory a proof takes.
//
// The constants are upper ones, of what the system counts as the process's, measured over the algorithms of this crate on
// some 30 networks: more than is allocated at once, since what a round leaves free lies in pieces among what stays.

use crate::algorithm::Algorithm;
use crate::block::Volume;
use crate::collective::{Collective, Holding};
use crate::ids::Rank;
use crate::topology::{Axis, axes};
use crate::vocabulary::{Amount, BuildError, Problem, Route};

/// Bytes of a block that a rank holds, where the table of these is as empty as it may be.
const HELD: u128 = 96;

/// Bytes of a block of a round's messages: at both ends, joined, and on its way.
const MOVED: u128 = 160;

/// Bytes of a message of a round besides.
const MESSAGE: u128 = 420;

/// Bytes of a step within a rank, besides what comes of it.
const STEP: u128 = 48;

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
    let (ranks, collective) = (problem.ranks() as u128, problem.collective());
    let held = held(collective, ranks, ranks);
    let least = sum(&[(held, HELD), (pages(problem).min(held), PAGE), (ranks, RANK)]);
    if least > HOPELESS {
        return Ok(least);
    }
    let Busiest { sends, receives, blocks, sent, hops, received, steps, .. } = Busiest::of(algorithm, problem);
    // What all send together all receive together, also where one rank sends much more than others.
    let channels = channels(problem, ranks.saturating_mul(sent.min(received))).min(ranks.saturating_mul(hops));
    let messages = ranks.saturating_mul(sends.min(receives));
    let moved = ranks.saturating_mul(blocks);
    // Each is in one place at a time.
    let moved = if collective.is_personalised() { moved.min(held) } else { moved };
    let passing = passing(problem, ranks).saturating_sub(held);
    let parts = [
        (passing, HELD),
        (moved, MOVED),
        (messages, MESSAGE),
        (ranks.saturating_mul(steps), HELD + STEP),
        (channels, CHANNEL),
    ];
    Ok(least.saturating_add(sum(&parts)))
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
    let (ranks, collective) = (problem.ranks() as u128, problem.collective());
    let sampled = (sampled as u128).min(ranks);
    let held = held(collective, sampled, ranks);
    // The table of one rank is there twice while it grows.
    let least = sum(&[(held, HELD * 2), (sampled, RANK)]);
    if least > enough {
        return Ok(least);
    }
    let Busiest { sends, receives, blocks, sent, sent_blocks, received, .. } = Busiest::of(algorithm, problem);
    // Sends and receives; those of one peer besides.
    let of_sample = |of_one: u128| of_one.saturating_mul(2 * sampled);
    let with_peer = |of_one: u128| of_one.saturating_mul(2 * sampled + 2);
    let pages = of_sample(sent_blocks).min(pages(problem));
    // All ranks together do no more, whatever the busiest does.
    let of_all = |of_one: u128| ranks.saturating_mul(of_one.saturating_mul(2));
    let all = sampled.saturating_mul(sent.saturating_add(received)).min(of_all(sent.min(received)));
    let messages = with_peer(sends.max(receives)).min(of_all(sends.min(receives)));
    let moved = with_peer(blocks);
    let moved = if collective.is_personalised() { moved.min(2 * self::held(collective, ranks, ranks)) } else { moved };
    let passing = passing(problem, sampled).min(sampled.saturating_mul(sent_blocks)).saturating_sub(held);
    let (others, channels) = (all.min(ranks - sampled), channels(problem, all));
    let parts =
        [(passing, HELD * 2), (moved, MOVED), (messages, MESSAGE), (pages, PAGE), (others, RANK), (channels, CHANNEL)];
    Ok(least.saturating_add(sum(&parts)))
}

/// The most that one of a few ranks does.
#[derive(Default)]
struct Busiest {
    /// Messages that it sends in a round.
    sends: u128,
    /// Messages that it receives in a round.
    receives: u128,
    /// Blocks that it sends in a round.
    blocks: u128,
    /// Messages that it sends in all.
    sent: u128,
    /// Blocks that it sends in all.
    sent_blocks: u128,
    /// Channels on the ways of what it sends in all, where its network is a product.
    hops: u128,
    /// Messages that it receives in all.
    received: u128,
    /// Steps within it: the mean of these ranks, and of reductions only, where results are made of temporaries.
    steps: u128,
}

impl Busiest {
    fn of(algorithm: &dyn Algorithm, problem: &Problem) -> Self {
        let ranks = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let some = [0, ranks / 2, ranks - 1].map(Rank::new);
        // In a tree, the largest part but the root's.
        let part = Rank::new((root.index() + ranks.next_power_of_two() / 2) % ranks);
        let known = axes(&**problem.topology()).is_some();
        let mut most = Self::default();
        for rank in some.into_iter().chain([root, part]) {
            let (mut sent, mut sent_blocks, mut hops, mut received) = (0, 0_u128, 0, 0);
            for round in algorithm.amounts(problem, rank) {
                let (sends, receives) = (round.sends.len() as u128, round.receives as u128);
                let blocks = round.sends.iter().map(|amount| amount.volume).sum::<Volume>().bytes(1);
                sent += sends;
                if known {
                    hops += round.sends.iter().map(|amount| length(problem, rank, amount)).sum::<u128>();
                }
                received += receives;
                sent_blocks = sent_blocks.saturating_add(blocks);
                most.sends = most.sends.max(sends);
                most.receives = most.receives.max(receives);
                most.blocks = most.blocks.max(blocks);
            }
            most.sent = most.sent.max(sent);
            most.sent_blocks = most.sent_blocks.max(sent_blocks);
            most.hops = most.hops.max(if known { hops } else { u128::MAX });
            most.received = most.received.max(received);
        }
        if problem.collective().is_reduction() {
            let steps = |rank| algorithm.rounds(problem, rank).map(|round| round.local.len() as u128).sum::<u128>();
            most.steps = some.map(steps).into_iter().sum::<u128>().div_ceil(some.len() as u128);
        }
        most
    }
}

/// How many pages there are, at most: blocks of a source lie in a row, by their destinations.
fn pages(problem: &Problem) -> u128 {
    let (ranks, collective) = (problem.ranks(), problem.collective());
    if !collective.is_personalised() {
        return ranks as u128 + 1;
    }
    let (before, _) = collective.buffers();
    let root = collective.root().unwrap_or_default();
    let other = Rank::new((root.index() + 1) % ranks);
    let of = |rank| (before.at(collective.seat(ranks, rank)) as u128).div_ceil(PAGED);
    of(root) + (ranks as u128 - 1) * of(other)
}

/// How many places that many ranks have for blocks that pass through them on their way from a root or to it: those of the largest
/// parts of a tree whose parts halve from level to level.
fn passing(problem: &Problem, some: u128) -> u128 {
    let (ranks, collective) = (problem.ranks() as u128, problem.collective());
    let tree = collective.is_personalised() && collective.root().is_some();
    if tree { ranks * u128::from(some.max(1).ilog2() + 2) / 2 } else { 0 }
}

/// How many channels are on the way of a message.
fn length(problem: &Problem, from: Rank, Amount { peer, route, .. }: &Amount) -> u128 {
    let [from, to] = [from, *peer].map(|rank| problem.placement().node(rank));
    match route {
        Route::Default => problem.topology().distance(from, to) as u128,
        Route::Via(nodes) => nodes.len().saturating_sub(1) as u128,
    }
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

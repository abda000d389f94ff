//! Estimates of the memory that verification takes.
//
// The constants are upper limits of the resident memory, measured for the algorithms of this crate
// on some 30 networks. Resident memory exceeds what is allocated at once, because the memory that a
// round frees is fragmented.

use crate::algorithm::Algorithm;
use crate::block::Volume;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::topology::{Axis, axes};
use crate::vocabulary::{Amount, BuildError, Problem, Route};

/// Bytes for each block that a rank holds, in a hash table at its lowest load.
const HELD: u128 = 96;

/// Bytes for each block in the messages of a round: in both shares, in the joined round, and in
/// transit.
const MOVED: u128 = 160;

/// Further bytes for each message of a round.
const MESSAGE: u128 = 420;

/// Bytes for each local step, without its result.
const STEP: u128 = 48;

/// Bytes for each channel.
const CHANNEL: u128 = 130;

/// Bytes for each rank, with its share.
const RANK: u128 = 1000;

/// Bytes of a page of [`PAGED`] bits, which say whether a block was named whole.
const PAGE: u128 = 170;

/// The number of destinations in a page.
const PAGED: u128 = 512;

/// If ranks hold more bytes than this, rounds are not examined: the rounds of a single rank may
/// exceed the memory.
const HOPELESS: u128 = 1 << 40;

/// Estimates the bytes of memory that [`verify_shares`](super::verify_shares) needs for the
/// schedule that an algorithm makes for a problem. The estimate is rather too high than too low.
///
/// It depends on the blocks that ranks hold and, if these take less than 1 TiB, on the largest
/// round of up to five ranks. Takes the time to count the messages of these ranks.
///
/// # Errors
///
/// [`BuildError`] if the algorithm does not fit the problem.
pub fn memory_to_verify(algorithm: &dyn Algorithm, problem: &Problem) -> Result<u128, BuildError> {
    crate::algorithm::scheduled(algorithm, problem)?;
    let (ranks, collective) = (problem.ranks() as u128, problem.collective());
    let held = held(collective, ranks, ranks);
    let least = sum(&[(held, HELD), (pages(problem).min(held), PAGE), (ranks, RANK)]);
    if least > HOPELESS {
        return Ok(least);
    }
    let Busiest { sends, receives, blocks, sent, hops, received, steps, .. } = Busiest::of(algorithm, problem);
    // All ranks together send as many messages as they receive, even if one rank sends far more
    // than the others.
    let channels = channels(problem, ranks.saturating_mul(sent.min(received))).min(ranks.saturating_mul(hops));
    let messages = ranks.saturating_mul(sends.min(receives));
    let moved = ranks.saturating_mul(blocks);
    // A personalised block is in one place at a time.
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

/// Estimates the bytes of memory that [`verify_sample`](super::verify_sample) needs for `sampled`
/// ranks, as [`memory_to_verify`] does.
///
/// If these ranks hold more than `enough` bytes, returns that number without counting messages:
/// building one round of one rank, which counting needs, may take as much memory.
///
/// # Errors
///
/// [`BuildError`] if the algorithm does not fit the problem.
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
    // A hash table exists twice while it grows.
    let least = sum(&[(held, HELD * 2), (sampled, RANK)]);
    if least > enough {
        return Ok(least);
    }
    let Busiest { sends, receives, blocks, sent, sent_blocks, received, .. } = Busiest::of(algorithm, problem);
    // The sends and receives of the sample, and those of one peer.
    let of_sample = |of_one: u128| of_one.saturating_mul(2 * sampled);
    let with_peer = |of_one: u128| of_one.saturating_mul(2 * sampled + 2);
    let pages = of_sample(sent_blocks).min(pages(problem));
    // An upper limit: the messages of all ranks.
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

/// The maxima over a few ranks.
#[derive(Default)]
struct Busiest {
    /// Messages that a rank sends in a round.
    sends: u128,
    /// Messages that a rank receives in a round.
    receives: u128,
    /// Blocks that a rank sends in a round.
    blocks: u128,
    /// Messages that a rank sends in all rounds.
    sent: u128,
    /// Blocks that a rank sends in all rounds.
    sent_blocks: u128,
    /// Channels on the routes of all messages that a rank sends, if the network is a product.
    hops: u128,
    /// Messages that a rank receives in all rounds.
    received: u128,
    /// Mean number of local steps of a rank. Counted for reductions only, which combine in
    /// temporaries.
    steps: u128,
}

impl Busiest {
    fn of(algorithm: &dyn Algorithm, problem: &Problem) -> Self {
        // Verification reads no further.
        let limit = problem.max_rounds();
        let ranks = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let some = [0, ranks / 2, ranks - 1].map(Rank::new);
        // In a tree, the child of the root with the largest subtree.
        let part = Rank::new((root.index() + ranks.next_power_of_two() / 2) % ranks);
        let known = axes(&**problem.topology()).is_some();
        let mut most = Self::default();
        for rank in some.into_iter().chain([root, part]) {
            let (mut sent, mut sent_blocks, mut hops, mut received) = (0, 0_u128, 0, 0);
            for round in algorithm.amounts(problem, rank).take(limit) {
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
            let steps = |rank| {
                let rounds = algorithm.rounds(problem, rank).take(limit);
                rounds.map(|round| round.local.len() as u128).sum::<u128>()
            };
            most.steps = some.map(steps).into_iter().sum::<u128>().div_ceil(some.len() as u128);
        }
        most
    }
}

/// Returns the maximum number of pages. The blocks of one source are consecutive, by destination.
fn pages(problem: &Problem) -> u128 {
    let (ranks, collective) = (problem.ranks(), problem.collective());
    if !collective.is_personalised() {
        return ranks as u128 + 1;
    }
    let (before, _) = collective.buffers();
    let root = collective.root().unwrap_or_default();
    let other = Rank::new((root.index() + 1) % ranks);
    let of = |rank| (before.at(collective.role(ranks, rank)) as u128).div_ceil(PAGED);
    of(root) + (ranks as u128 - 1) * of(other)
}

/// Returns the number of blocks that pass through `some` ranks on their way to or from a root, at
/// most: those of the largest subtrees of a tree whose subtrees halve from level to level.
fn passing(problem: &Problem, some: u128) -> u128 {
    let (ranks, collective) = (problem.ranks() as u128, problem.collective());
    let tree = collective.is_personalised() && collective.root().is_some();
    if tree { ranks * u128::from(some.max(1).ilog2() + 2) / 2 } else { 0 }
}

/// Returns the number of channels that a message crosses.
fn length(problem: &Problem, from: Rank, Amount { peer, route, .. }: &Amount) -> u128 {
    let [from, to] = [from, *peer].map(|rank| problem.placement().node(rank));
    match route {
        Route::Default => problem.topology().distance(from, to) as u128,
        Route::Via(nodes) => nodes.len().saturating_sub(1) as u128,
    }
}

/// Returns the maximum number of channels that `messages` messages use.
fn channels(problem: &Problem, messages: u128) -> u128 {
    let topology = problem.topology();
    let longest = axes(&**topology).map(|axes| axes.into_iter().map(Axis::diameter).sum::<u64>());
    let used = longest.map_or(u128::MAX, |longest| messages.saturating_mul(longest.into()));
    used.min(topology.channels() as u128)
}

/// Returns the sum of the products of count and bytes.
fn sum(parts: &[(u128, u128)]) -> u128 {
    parts.iter().fold(0, |sum, (many, bytes)| sum.saturating_add(many.saturating_mul(*bytes)))
}

/// Returns the maximum number of blocks that `some` of `all` ranks hold together.
fn held(collective: &Collective, some: u128, all: u128) -> u128 {
    let (before, after) = collective.together(some, all);
    // In a reduction, contributions and results may exist at the same time.
    if collective.is_reduction() { before + after } else { before.max(after) }
}

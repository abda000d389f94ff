//! How much memory a proof takes.

use crate::algorithm::Algorithm;
use crate::block::Volume;
use crate::collective::{Collective, Holding};
use crate::ids::Rank;
use crate::topology::{Axis, axes};
use crate::vocabulary::BuildError;
use crate::vocabulary::Problem;

/// Bytes of a block that a rank holds, where the table of these is as empty as it may be.
const HELD: u128 = 80;

/// Bytes of a block of a round's messages: at both ends, joined, and on its way.
const MOVED: u128 = 80;

/// Bytes of a message of a round besides.
const MESSAGE: u128 = 420;

/// Bytes of a channel.
const CHANNEL: u128 = 130;

/// Bytes of a rank, with its share.
const RANK: u128 = 1000;

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
    let ranks = problem.ranks();
    let least = (held(problem.collective(), ranks as u128) * HELD).saturating_add(ranks as u128 * RANK);
    if least > HOPELESS {
        return Ok(least);
    }
    let root = problem.collective().root().unwrap_or_default();
    let some = [0, ranks / 2, ranks - 1].map(Rank::new).into_iter().chain([root]);
    let (mut messages, mut blocks, mut sent) = (0, Volume::ZERO, 0);
    for rank in some {
        let mut own = 0;
        for round in algorithm.amounts(problem, rank) {
            own += round.sends.len() as u128;
            sent = sent.max(own);
            messages = messages.max(round.sends.len() as u128).max(round.receives as u128);
            blocks = blocks.max(round.sends.iter().map(|amount| amount.volume).sum());
        }
    }
    let ranks = ranks as u128;
    let of_all = |of_one: u128, each: u128| of_one.saturating_mul(ranks).saturating_mul(each);
    // A round has at most as many blocks as are held where each is in one place at a time.
    let moved = of_all(blocks.bytes(1), MOVED);
    // Those that are used: no more than all messages together take.
    let topology = problem.topology();
    let longest = axes(&**topology).map(|axes| axes.into_iter().map(Axis::diameter).sum::<u64>());
    let used = longest.map_or(u128::MAX, |longest| of_all(sent, longest.into()));
    let channels = used.min(topology.channels() as u128).saturating_mul(CHANNEL);
    let parts = [moved, of_all(messages, MESSAGE), channels];
    Ok(parts.into_iter().fold(least, u128::saturating_add))
}

/// How many blocks all ranks together hold, at most.
fn held(collective: &Collective, ranks: u128) -> u128 {
    let all = |sides: &[Holding]| sides.iter().map(|side| side.len() as u128).sum::<u128>();
    match collective {
        Collective::Alltoall | Collective::Allgather | Collective::ReduceScatter | Collective::Barrier => ranks * ranks,
        Collective::Custom(custom) => all(&custom.pre).max(all(&custom.post)),
        _ => 2 * ranks,
    }
}

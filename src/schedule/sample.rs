//! Proves the part that some ranks have in a schedule.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use super::{Verifier, Violations};
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::vocabulary::{BuildError, End, Problem, RankRound, Share, join};

/// What was checked of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// How many ranks' parts.
    pub ranks: usize,
    /// Of how many ranks.
    pub of: usize,
    /// Their rounds.
    pub rounds: usize,
    /// The messages that they send and receive.
    pub messages: u64,
    /// The blocks of these messages.
    pub blocks: u64,
}

/// Verifies what some ranks do, for schedules that are too large to be [proved](super::verify_shares) as a whole.
///
/// Checks for each of these ranks that it holds what it sends, that the peer of each message in its share lists the same
/// message, that its ports are not over-used, and that it ends with what the collective promises. Assumes that other ranks
/// hold what they send to these.
///
/// This is not a proof. A message from a rank outside the sample that its receiver does not list is found only if some rank of
/// the sample lists another message with that sender, in any round. [Contention](super::Outline::contention_free) is checked
/// only among the messages of these ranks.
///
/// Takes the time to make the shares of these ranks and of all their peers. Takes memory for the blocks of these ranks, for
/// their messages of one round, and for one round of one peer: [`memory_to_sample`](super::memory_to_sample) estimates it.
///
/// # Errors
///
/// [`SampleError`].
pub fn verify_sample(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    ranks: impl IntoIterator<Item = Rank>,
    mut progress: impl FnMut(u64),
) -> Result<Sample, SampleError> {
    let outline = algorithm.outline(problem)?;
    if !can_be_sampled(problem.collective()) {
        return Err(SampleError::Contributors { collective: problem.collective().to_string() });
    }
    let all = ranks.into_iter().collect::<BTreeSet<Rank>>();
    let mut own =
        all.iter().map(|&rank| Ok((rank, algorithm.share(problem, rank)?))).collect::<Result<Vec<_>, BuildError>>()?;
    // Those that ranks of the sample talk to, until their shares end. A round of theirs is made, looked at and dropped: there
    // may be as many of them as ranks.
    let mut others: BTreeMap<Rank, Option<Share>> = BTreeMap::new();
    let mut verifier = Verifier::of_some(&outline, all.clone());
    let mut sample = Sample { ranks: all.len(), of: problem.ranks(), rounds: 0, messages: 0, blocks: 0 };
    for number in 0.. {
        let rounds: Vec<(Rank, Option<RankRound>)> =
            own.iter_mut().map(|(rank, share)| (*rank, share.next())).collect();
        let lasts = rounds.iter().any(|(_, round)| round.is_some());
        let mut rounds: BTreeMap<Rank, RankRound> =
            rounds.into_iter().map(|(rank, round)| (rank, round.unwrap_or_default())).collect();
        let ends = rounds.values().flat_map(|round| round.sends.iter().chain(&round.receives));
        let peers: BTreeSet<Rank> = ends.map(|end| end.peer).filter(|peer| !all.contains(peer)).collect();
        for peer in peers.into_iter().filter(|peer| peer.index() < problem.ranks()) {
            if let Entry::Vacant(new) = others.entry(peer) {
                let mut share = algorithm.share(problem, peer)?;
                // Up to here no rank of the sample has listed a message with it.
                for (earlier, round) in share.by_ref().take(number).enumerate() {
                    for mismatch in join([(peer, part(&round, &all))]).mismatches {
                        verifier.mismatch_in(earlier, mismatch);
                    }
                }
                new.insert(Some(share));
            }
        }
        for (&peer, share) in &mut others {
            match share.as_mut().and_then(Iterator::next).map(|round| part(&round, &all)) {
                Some(part) if part.sends.is_empty() && part.receives.is_empty() => {}
                Some(part) => drop(rounds.insert(peer, part)),
                None => *share = None,
            }
        }
        if !lasts && others.values().all(Option::is_none) {
            break;
        }
        let joined = join(rounds);
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        verifier.round(&joined.round);
        sample.rounds += usize::from(lasts);
        sample.messages += joined.round.transfers.len() as u64;
        sample.blocks += joined.round.transfers.iter().map(|transfer| transfer.blocks.len() as u64).sum::<u64>();
        progress(number as u64 + 1);
    }
    verifier.finish().map_or_else(|violations| Err(violations.into()), |_| Ok(sample))
}

/// Whether a block's name tells whose contributions it holds, so that what comes from ranks outside a sample can be
/// [checked](verify_sample): not in reductions and custom collectives.
#[must_use]
pub fn can_be_sampled(collective: &Collective) -> bool {
    !collective.is_reduction() && !matches!(collective, Collective::Custom(_))
}

/// What a round of a rank outside the sample has to do with it. A copy: what is kept of a long list would hold on to its memory.
fn part(round: &RankRound, sample: &BTreeSet<Rank>) -> RankRound {
    let of_sample = |ends: &[End]| ends.iter().filter(|end| sample.contains(&end.peer)).cloned().collect();
    RankRound {
        phase: round.phase,
        sends: of_sample(&round.sends),
        receives: of_sample(&round.receives),
        local: Vec::new(),
    }
}

/// Why a sample was not verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// There is no such schedule, or no such rank.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A block's name does not tell whose contributions it holds, as in reductions and custom collectives.
    #[error("whose contributions a block of {collective} holds only the proof of the whole schedule tells")]
    Contributors {
        /// The collective.
        collective: String,
    },
    /// What is wrong.
    #[error(transparent)]
    Violated(#[from] Violations),
}

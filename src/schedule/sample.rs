//! Verification of some ranks' parts of a schedule.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use super::{Verifier, Violations};
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::quote::debug_as_text;
use crate::vocabulary::{BuildError, End, Problem, RankRound, Share, join};

/// The extent of a verification by [`verify_sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Ranks whose parts were checked.
    pub ranks: usize,
    /// Ranks in total.
    pub of: usize,
    /// Rounds of the checked ranks.
    pub rounds: usize,
    /// Messages that the checked ranks send and receive.
    pub messages: u64,
    /// Blocks in these messages.
    pub blocks: u64,
}

/// Verifies the parts of some ranks of a schedule that is too large to be
/// [proved](super::verify_shares) as a whole.
///
/// For each of these ranks, checks that it holds the blocks that it sends, that the share of its
/// peer lists each of its messages too, that it keeps to the port model, and that it ends with the
/// blocks that the collective promises. Assumes that all other ranks hold the blocks that they send
/// to these ranks. `progress` is called with the number of rounds done.
///
/// This is not a proof. A message from a rank outside the sample that its receiver does not list is
/// found only if a rank of the sample lists another message with that sender, in any round.
/// [Contention](super::Outline::contention_free) is checked among the messages of these ranks only.
///
/// Takes the time to build the shares of these ranks and of all their peers. Takes memory for the
/// blocks of these ranks, for their messages of one round, and for one round of one peer;
/// [`memory_to_sample`](super::memory_to_sample) estimates it.
///
/// # Errors
///
/// [`SampleError`] with all violations, or with the reason why the sample cannot be verified.
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
    // The peers of the sample, until their shares end. Each of their rounds is built, examined and
    // dropped: all ranks may be peers.
    let mut others: BTreeMap<Rank, Option<Share>> = BTreeMap::new();
    let mut verifier = Verifier::for_sample(&outline, all.clone());
    let mut sample = Sample { ranks: all.len(), of: problem.ranks(), rounds: 0, messages: 0, blocks: 0 };
    // The verifier refuses one round too many.
    for number in 0..=problem.max_rounds() {
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
                // In the rounds before this one, no rank of the sample has listed a message with
                // this peer.
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

/// Returns whether [`verify_sample`] supports a collective: all but reductions and custom
/// collectives.
///
/// In those two, the name of a block does not tell which contributions the block holds, so that
/// messages from ranks outside the sample cannot be checked.
#[must_use]
pub fn can_be_sampled(collective: &Collective) -> bool {
    collective.blocks_name_their_contents()
}

/// Returns the part of a peer's round that concerns the sample. Copies it, since a retained part of
/// a long list would keep the memory of the whole list.
fn part(round: &RankRound, sample: &BTreeSet<Rank>) -> RankRound {
    let of_sample = |ends: &[End]| ends.iter().filter(|end| sample.contains(&end.peer)).cloned().collect();
    RankRound {
        phase: round.phase,
        sends: of_sample(&round.sends),
        receives: of_sample(&round.receives),
        local: Vec::new(),
    }
}

/// The reason why a sample was not verified.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The algorithm has no schedule for the problem, or a rank does not exist.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The collective is a reduction or a custom one; see [`can_be_sampled`].
    #[error(
        "{collective} cannot be verified by a sample: the name of a block does not tell whose contributions it holds"
    )]
    #[non_exhaustive]
    Contributors {
        /// The collective.
        collective: String,
    },
    /// The sample violates its specification.
    #[error(transparent)]
    Violated(#[from] Violations),
}

debug_as_text!(SampleError);

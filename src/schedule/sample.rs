//! Proves the part that some ranks have in a schedule.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verifier, Violations};
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::vocabulary::BuildError;
use crate::vocabulary::Problem;
use crate::vocabulary::join;
use crate::vocabulary::{RankRound, Share};

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
/// the sample lists another message with that sender in the same round. [Contention](super::Outline::contention_free) is checked
/// only among the messages of these ranks.
///
/// Takes the time to make the shares of these ranks and of all their peers. Takes memory for the blocks of these ranks and
/// for a round of their peers, which is much where every rank is a peer. Memory is not checked beforehand.
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
    if problem.collective().is_reduction() || matches!(problem.collective(), Collective::Custom(_)) {
        return Err(SampleError::Contributors { collective: problem.collective().to_string() });
    }
    let all = ranks.into_iter().collect::<BTreeSet<Rank>>();
    let mut own =
        all.iter().map(|&rank| Ok((rank, algorithm.share(problem, rank)?))).collect::<Result<Vec<_>, BuildError>>()?;
    let mut others = Others { algorithm, problem, shares: BTreeMap::new() };
    let mut verifier = Verifier::of_some(&outline, all.clone());
    let mut sample = Sample { ranks: all.len(), of: problem.ranks(), rounds: 0, messages: 0, blocks: 0 };
    loop {
        let rounds: Vec<(Rank, Option<RankRound>)> =
            own.iter_mut().map(|(rank, share)| (*rank, share.next())).collect();
        if rounds.iter().all(|(_, round)| round.is_none()) {
            break;
        }
        let mut rounds: BTreeMap<Rank, RankRound> =
            rounds.into_iter().map(|(rank, round)| (rank, round.unwrap_or_default())).collect();
        let ends = rounds.values().flat_map(|round| round.sends.iter().chain(&round.receives));
        let peers: BTreeSet<Rank> = ends.map(|end| end.peer).filter(|peer| !all.contains(peer)).collect();
        for peer in peers.into_iter().filter(|peer| peer.index() < problem.ranks()) {
            let mut round = others.round(peer, sample.rounds)?;
            round.sends.retain(|end| all.contains(&end.peer));
            round.receives.retain(|end| all.contains(&end.peer));
            // What is left is little, and there may be as many peers as ranks.
            round.sends.shrink_to_fit();
            round.receives.shrink_to_fit();
            round.local.clear();
            rounds.insert(peer, round);
        }
        let joined = join(rounds);
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        verifier.round(&joined.round);
        sample.rounds += 1;
        sample.messages += joined.round.transfers.len() as u64;
        sample.blocks += joined.round.transfers.iter().map(|transfer| transfer.blocks.len() as u64).sum::<u64>();
        progress(sample.rounds as u64);
    }
    verifier.finish().map_or_else(|violations| Err(violations.into()), |_| Ok(sample))
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

/// The shares of ranks that those of the sample talk to, made when they are first asked for.
struct Others<'a> {
    algorithm: &'a dyn Algorithm,
    problem: &'a Problem,
    /// With how many rounds of them were made.
    shares: BTreeMap<Rank, (Share, usize)>,
}

impl Others<'_> {
    /// A round of a rank, by its number. Numbers do not fall.
    fn round(&mut self, rank: Rank, number: usize) -> Result<RankRound, BuildError> {
        let (share, made) = match self.shares.entry(rank) {
            std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
            std::collections::btree_map::Entry::Vacant(none) => {
                none.insert((self.algorithm.share(self.problem, rank)?, 0))
            }
        };
        let skipped = number - *made;
        *made = number + 1;
        Ok(share.nth(skipped).unwrap_or_default())
    }
}

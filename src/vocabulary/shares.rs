//! Joining the shares of all ranks into whole rounds.

use std::collections::HashMap;

use super::{BuildError, End, Mismatch, Outline, RankRound, Round, Schedule, Share, Transfer};
use crate::ids::Rank;

/// An iterator over the whole rounds of a schedule, joined from the shares of all ranks.
pub struct Shares {
    outline: Outline,
    shares: Vec<Share>,
}

/// A whole round, and the transfers that the ranks disagree on.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Joined {
    /// The transfers whose ends match, and the local steps.
    pub round: Round,
    /// The transfers with one end only, or with ends that differ.
    pub mismatches: Vec<Mismatch>,
}

impl Shares {
    /// Joins the shares of all ranks, in rank order.
    /// [`Algorithm::shares`](crate::algorithm::Algorithm::shares) does this for an algorithm.
    #[must_use]
    pub fn new(outline: Outline, shares: Vec<Share>) -> Self {
        Self { outline, shares }
    }

    /// Returns the schedule's problem and promises.
    #[must_use]
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Collects the whole schedule in memory.
    ///
    /// # Errors
    ///
    /// [`BuildError::Disagree`] if the shares of two ranks do not match, [`BuildError::Rounds`] if
    /// one has more than [`Problem::max_rounds`](super::Problem::max_rounds) rounds.
    pub fn collect(self) -> Result<Schedule, BuildError> {
        let outline = self.outline.clone();
        Ok(Schedule { outline, rounds: self.matched().collect::<Result<_, _>>()? })
    }

    /// Returns the rounds in which all ends match. The last item is an error, as that of
    /// [`collect`](Self::collect), if there are others.
    pub(crate) fn matched(mut self) -> impl Iterator<Item = Result<Round, BuildError>> {
        let (mut number, mut failed) = (0, false);
        let limit = self.outline.problem.max_rounds();
        std::iter::from_fn(move || {
            if failed {
                return None;
            }
            if number == limit {
                let rank = Rank::new(self.shares.iter_mut().position(|share| share.next().is_some())?);
                failed = true;
                return Some(Err(BuildError::Rounds { algorithm: self.outline.algorithm.clone(), rank, limit }));
            }
            let Joined { round, mismatches } = self.next()?;
            let first = mismatches.into_iter().next().map(Box::new);
            let error = first.map(|mismatch| BuildError::Disagree {
                algorithm: self.outline.algorithm.clone(),
                round: number,
                mismatch,
            });
            failed = error.is_some();
            number += 1;
            Some(error.map_or(Ok(round), Err))
        })
    }
}

impl Iterator for Shares {
    type Item = Joined;

    fn next(&mut self) -> Option<Joined> {
        let rounds: Vec<Option<RankRound>> = self.shares.iter_mut().map(Iterator::next).collect();
        let ranks = (0..).map(Rank::new);
        rounds.iter().any(Option::is_some).then(|| join(ranks.zip(rounds.into_iter().map(Option::unwrap_or_default))))
    }

    /// The bounds of the longest share.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let longest = |(least, most): (usize, Option<usize>), share: &Share| {
            let (low, high) = share.size_hint();
            (least.max(low), most.zip(high).map(|(most, high)| most.max(high)))
        };
        self.shares.iter().fold((0, Some(0)), longest)
    }
}

/// Matches the i-th send from one rank to another with the i-th receive there. Ranks must be in
/// ascending order.
pub(crate) fn join(rounds: impl IntoIterator<Item = (Rank, RankRound)>) -> Joined {
    let mut joined = Joined::default();
    let mut sent: HashMap<(Rank, Rank), std::collections::VecDeque<End>> = HashMap::new();
    let mut receives = Vec::new();
    for (rank, RankRound { phase, sends, receives: awaited, local }) in rounds {
        joined.round.phase = joined.round.phase.max(phase);
        for end in sends {
            sent.entry((rank, end.peer)).or_default().push_back(end);
        }
        joined.round.local.extend(local.into_iter().map(|step| (rank, step)));
        receives.push((rank, awaited));
    }
    for (destination, awaited) in receives {
        for end in awaited {
            let source = end.peer;
            match sent.get_mut(&(source, destination)).and_then(std::collections::VecDeque::pop_front) {
                Some(End { blocks, combine, route, .. }) if blocks == end.blocks && combine == end.combine => {
                    joined.round.transfers.push(Transfer { source, destination, blocks, combine, route });
                }
                sent => joined.mismatches.push(Mismatch { source, destination, sent, awaited: Some(end) }),
            }
        }
    }
    let mut unheard: Vec<_> = sent.into_iter().filter(|(_, ends)| !ends.is_empty()).collect();
    unheard.sort_by_key(|(pair, _)| *pair);
    joined.mismatches.extend(unheard.into_iter().flat_map(|((source, destination), ends)| {
        ends.into_iter().map(move |end| Mismatch { source, destination, sent: Some(end), awaited: None })
    }));
    joined
}

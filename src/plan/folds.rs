//! Combinations that a transport may do while it moves a round: of a message's bytes, straight from
//! the sender's memory, with bytes that this rank has.
//!
//! Otherwise the message goes to scratch, and the execution combines it after the round. Both have
//! the same result, since combinations are done in the same order.

use super::local_work::Local;
use super::program::Piece;
use super::{Buffer, Program, Run};

/// A step of such combinations. A transport takes the steps in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// The message of this index goes to its own place, before the next step combines another with
    /// it.
    Store { message: u32 },
    /// The message of this index is combined with `held`. Its own place is not written.
    Combine {
        message: u32,
        /// The result's place, as long as the message.
        into: Run,
        held: Run,
        /// Whether the message is the left operand.
        is_left: bool,
    },
    /// Combines two values that this rank holds, between two messages.
    Merge { into: Run, left: Run, right: Run },
}

impl Fold {
    /// Returns the index of the message among those that the round receives.
    pub(crate) fn message(&self) -> Option<u32> {
        match *self {
            Self::Store { message } | Self::Combine { message, .. } => Some(message),
            Self::Merge { .. } => None,
        }
    }

    /// Whether it does a piece of local work.
    pub(crate) fn is_work(&self) -> bool {
        !matches!(self, Self::Store { .. })
    }
}

/// Finds the first pieces of local work after a round that a transport may do. `last_reads` says of
/// each whether it is the last to read its left and right operand.
///
/// No result goes to memory that the round sends, or that a later message is received into.
pub(super) fn find(program: &Program, round: usize, locals: &[Local], last_reads: &[[bool; 2]]) -> Box<[Fold]> {
    let mut folds: Vec<Fold> = Vec::new();
    if !matches!(locals.first(), Some(Local::Merge { .. })) {
        return Box::default();
    }
    let Some(pieces) = program.in_pieces(&program.rounds()[round]) else { return Box::default() };
    let mut taken = vec![false; pieces.receives.len()];
    for (local, &[left_last, right_last]) in locals.iter().zip(last_reads) {
        let Local::Merge { into, left, right } = *local else { break };
        let awaited: Vec<usize> = (0..taken.len()).filter(|&at| !taken[at]).collect();
        let message = |run: &Run| awaited.iter().copied().find(|&at| is(&pieces.receives[at], run));
        let (combined, held, is_left) = match (message(&left), message(&right)) {
            (_, Some(arrived)) if right_last => (Some(arrived), left, false),
            (Some(arrived), _) if left_last => (Some(arrived), right, true),
            _ => (None, left, false),
        };
        let stored = message(&held);
        let waits = |run: &Run| {
            let mut others = awaited.iter().filter(|&&at| Some(at) != combined && Some(at) != stored);
            others.any(|&at| overlap(&pieces.receives[at], run))
        };
        let is_sent = pieces.sends.iter().any(|piece| overlap(piece, &into));
        if is_sent || waits(&into) || waits(&held) || combined.is_none() && waits(&right) {
            break;
        }
        stored.into_iter().chain(combined).for_each(|at| taken[at] = true);
        folds.extend(stored.map(|at| Fold::Store { message: at as u32 }));
        folds.push(match combined {
            Some(at) => Fold::Combine { message: at as u32, into, held, is_left },
            None => Fold::Merge { into, left, right },
        });
    }
    // The steps after the last message are left to the execution.
    folds.truncate(folds.iter().rposition(|fold| fold.message().is_some()).map_or(0, |last| last + 1));
    folds.into()
}

fn is(piece: &Piece, run: &Run) -> bool {
    run.count == 1 && (piece.buffer, piece.offset as u64, piece.bytes as u64) == (run.buffer, run.offset, run.len)
}

fn overlap(piece: &Piece, run: &Run) -> bool {
    let (begin, end) = (piece.offset as u64, (piece.offset + piece.bytes) as u64);
    piece.buffer == run.buffer && run.buffer != Buffer::Input && begin < run.offset + run.len && run.offset < end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::find;
    use crate::block::Block;
    use crate::collective::Collective;
    use crate::ids::Rank;
    use crate::plan::{Layout, Plan, compile};
    use crate::topology::parse;
    use crate::vocabulary::Problem;

    /// Returns the plan of a rank among four, with blocks of eight bytes.
    fn plan(collective: &Collective, algorithm: &str, rank: usize, in_place: bool) -> Plan {
        let problem = Problem::new(parse("complete:4").unwrap(), collective.clone()).unwrap();
        let rank = Rank::new(rank);
        let blocks =
            |held: crate::collective::Holding| held.into_iter().map(|(block, _)| block).collect::<Vec<Block>>();
        let (before, after) = (blocks(collective.before(4, rank)), blocks(collective.after(4, rank)));
        let layout = Layout::consecutive(1, 8, &before, &after).unwrap();
        let layout = if in_place { layout.in_place(|block| block) } else { layout };
        compile(find(collective, algorithm).unwrap().rounds(&problem, rank), &layout).unwrap()
    }

    /// Returns for each round the peers whose messages are combined, in order.
    fn combined(plan: &Plan) -> Vec<Vec<usize>> {
        let rounds = plan.program().rounds().iter().enumerate();
        let peers = |(at, round): (usize, &crate::plan::ProgramRound)| {
            let folds = plan.folds(at).iter();
            let messages = folds.filter_map(Fold::message);
            messages.map(|message| round.receives[message as usize].peer.index()).collect()
        };
        rounds.map(peers).collect()
    }

    #[test]
    fn arrivals_are_combined_from_the_rank_outwards() {
        let of = |rank| combined(&plan(&Collective::ReduceScatter, "direct", rank, false));
        assert_eq!([of(0), of(2)], [vec![vec![1, 2, 3]], vec![vec![1, 0, 3]]]);
        // A part is combined, and then passed on.
        assert_eq!(combined(&plan(&Collective::Allreduce, "direct-parts", 1, false)), [vec![0, 2, 3], vec![]]);
        assert_eq!(combined(&plan(&Collective::Allreduce, "direct-parts", 1, true)), [vec![0, 2, 3], vec![]]);
    }

    #[test]
    fn the_first_of_two_arrivals_is_stored() {
        for rank in 0..4 {
            let plan = plan(&Collective::Allreduce, "direct", rank, false);
            // All contributions in rank order.
            let others: Vec<usize> = (0..4).filter(|&other| other != rank).collect();
            assert_eq!(combined(&plan), [others]);
            let stored = plan.folds(0).iter().filter(|fold| !fold.is_work()).count();
            assert_eq!(stored, usize::from(rank > 1), "rank {rank}");
        }
    }

    fn result(fold: &Fold) -> Option<&Run> {
        match fold {
            Fold::Combine { into, .. } | Fold::Merge { into, .. } => Some(into),
            Fold::Store { .. } => None,
        }
    }

    #[test]
    fn nothing_is_combined_into_memory_that_is_sent() {
        // In place, rank 0 sends its contribution from where the result goes.
        let plan = plan(&Collective::Allreduce, "direct", 0, true);
        let (round, folds) = (&plan.program().rounds()[0], plan.folds(0));
        let sent: Vec<Run> = round.sends.iter().flat_map(|m| plan.program().runs(m)).copied().collect();
        assert!(folds.iter().all(|fold| result(fold).is_none_or(|into| !sent.contains(into))), "{folds:?}");
        // By recursive doubling, both partners send what they combine.
        let doubling = self::plan(&Collective::Allreduce, "recursive-doubling", 0, true);
        let rounds = doubling.program().rounds().iter().enumerate();
        for (at, round) in rounds {
            let sent: Vec<Run> = round.sends.iter().flat_map(|m| doubling.program().runs(m)).copied().collect();
            assert!(doubling.folds(at).iter().all(|fold| result(fold).is_none_or(|into| !sent.contains(into))));
        }
    }

    #[test]
    fn moves_have_no_combinations() {
        assert_eq!(combined(&plan(&Collective::Allgather, "ring", 0, false)), vec![Vec::<usize>::new(); 3]);
    }
}

//! Combinations that a transport may do while it moves a round: of a message's bytes, straight from
//! the sender's memory, with bytes that this rank has.
//!
//! Otherwise the message goes to scratch, and the execution combines it after the round. Both have
//! the same result, since combinations are done in the same order.

use super::execute::Local;
use super::program::Piece;
use super::{Buffer, Program, Run};

/// A combination of an arriving message, whose own place is then not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    /// The index of the message among those that the round receives.
    pub(crate) message: u32,
    /// The result's place, as long as the message. No message of the round that arrives later goes
    /// there, and none is sent from there.
    pub(crate) into: Run,
    /// What the message is combined with.
    pub(crate) held: Run,
    /// Whether the message is the left operand.
    pub(crate) is_left: bool,
}

/// Finds the first pieces of local work after a round that are such combinations. `last_reads` says
/// of each whether it is the last to read its left and right operand.
pub(super) fn find(program: &Program, round: usize, locals: &[Local], last_reads: &[[bool; 2]]) -> Box<[Fold]> {
    let mut folds: Vec<Fold> = Vec::new();
    if !matches!(locals.first(), Some(Local::Merge { .. })) {
        return Box::default();
    }
    let Some(pieces) = program.in_pieces(&program.rounds()[round]) else { return Box::default() };
    for (local, &[left_last, right_last]) in locals.iter().zip(last_reads) {
        let Local::Merge { into, left, right } = *local else { break };
        let is_folded = |at: usize| folds.iter().any(|fold| fold.message as usize == at);
        let awaited = || pieces.receives.iter().enumerate().filter(|(at, _)| !is_folded(*at));
        let message = |run: &Run| awaited().find(|(_, piece)| is(piece, run)).map(|(at, _)| at);
        let (message, held, is_left) = match (message(&right), message(&left)) {
            (Some(message), _) if right_last => (message, left, false),
            (_, Some(message)) if left_last => (message, right, true),
            _ => break,
        };
        let waits = |run: &Run| awaited().any(|(at, piece)| at != message && overlap(piece, run));
        let is_sent = pieces.sends.iter().any(|piece| overlap(piece, &into));
        if is_sent || waits(&into) || waits(&held) || is(&pieces.receives[message], &held) {
            break;
        }
        folds.push(Fold { message: message as u32, into, held, is_left });
    }
    folds.into()
}

fn is(piece: &Piece, run: &Run) -> bool {
    run.count == 1 && (piece.buffer, piece.offset as u64, piece.bytes as u64) == (run.buffer, run.offset, run.len)
}

fn overlap(piece: &Piece, run: &Run) -> bool {
    let (begin, end) = (piece.offset as u64, (piece.offset + piece.bytes) as u64);
    piece.buffer == run.buffer && run.buffer != Buffer::Input && begin < run.offset + run.len && run.offset < end
}

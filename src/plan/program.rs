//! Programs: rounds as byte ranges, which a transport moves.

use std::ops::Range;
use std::sync::LazyLock;

use super::overlap;
use super::runs::Access;
use super::{Buffer, Buffers, Run};
use crate::ids::Rank;
use crate::quote::debug_as_text;

/// A message between this rank and another in a round: the bytes of some runs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank at the other end.
    pub peer: Rank,
    /// Zero-based number of the message among those between the two ranks, in this direction and
    /// round.
    pub index: u32,
    /// Length in bytes, the sum over its runs. A message of 0 bytes is sent too.
    pub bytes: u64,
    /// Its runs, as a range of the program's runs.
    pub runs: Range<u32>,
}

/// One round of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRound {
    /// Number of the round in the schedule, the same at both ends of a message.
    pub number: u32,
    /// Messages to send, sorted by peer and index.
    pub sends: Vec<Message>,
    /// Messages to receive, sorted by peer and index.
    pub receives: Vec<Message>,
}

/// A message that is the only one between two ranks in its round and direction, and lies in one
/// piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) buffer: Buffer,
    /// The rank at the other end.
    pub(crate) peer: Rank,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A round all of whose messages are such pieces, as in most programs. A transport finds all that
/// it needs of a message in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// In the order of the round's sends.
    pub(crate) sends: Box<[Piece]>,
    pub(crate) receives: Box<[Piece]>,
    /// Bytes of the longest piece.
    pub(crate) longest: usize,
}

/// Minimum lengths of the buffers, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Length of the input; 0 in place.
    pub input: u64,
    /// Length of the output.
    pub output: u64,
    /// Length of the scratch buffer.
    pub scratch: u64,
}

impl Sizes {
    /// Returns whether buffers are long enough.
    #[inline]
    pub(crate) fn fit(&self, buffers: &Buffers<'_>) -> bool {
        buffers.input.len() as u64 >= self.input
            && buffers.output.len() as u64 >= self.output
            && buffers.scratch.len() as u64 >= self.scratch
    }
}

/// The rounds of one rank as byte ranges, checked once.
///
/// Every run lies inside its buffer. In a round, no byte is received that is also sent or received
/// twice, and the input is not written. Messages are sorted.
///
/// Transports rely on this: they need not check a run before they access memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    sizes: Sizes,
    /// The pieces of each round, if all its messages are pieces.
    pieces: Vec<Option<Pieces>>,
}

/// The reason why rounds are not a valid program.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A run is empty, exceeds its buffer, or its pieces overlap.
    #[error("round {round}: {run:?} does not fit its buffer of {size} bytes, or is empty")]
    #[non_exhaustive]
    Bounds {
        /// The number of the round.
        round: u32,
        /// The run.
        run: Run,
        /// Bytes of its buffer.
        size: u64,
    },
    /// The numbers of the rounds do not increase.
    #[error("round {round} comes after round {before}")]
    #[non_exhaustive]
    Order {
        /// The number of the round.
        round: u32,
        /// The number of the preceding round.
        before: u32,
    },
    /// A message is out of order, or its runs do not match its length.
    #[error("round {round}: the message {index} with rank {peer} is out of order, or not of {bytes} bytes")]
    #[non_exhaustive]
    Message {
        /// The number of the round.
        round: u32,
        /// The rank at the other end.
        peer: Rank,
        /// The index of the message.
        index: u32,
        /// Its declared length.
        bytes: u64,
    },
    /// A byte is received twice in a round, or received and also sent.
    #[error("round {round}: byte {offset} of {buffer:?} is received {}", if *sent { "and also sent" } else { "twice" })]
    #[non_exhaustive]
    Overlap {
        /// The number of the round.
        round: u32,
        /// The buffer.
        buffer: Buffer,
        /// The offset of the byte.
        offset: u64,
        /// Whether the byte is also sent; otherwise it is received twice.
        sent: bool,
    },
    /// A message is received into the input.
    #[error("round {round}: {run:?} of the input would be written")]
    #[non_exhaustive]
    WritesInput {
        /// The number of the round.
        round: u32,
        /// The run.
        run: Run,
    },
}

debug_as_text!(ProgramError);

impl Program {
    /// Returns a program of one round without messages.
    pub(crate) fn idle() -> &'static Self {
        static IDLE: LazyLock<Program> = LazyLock::new(|| Program {
            rounds: vec![ProgramRound::default()],
            pieces: vec![Some(Pieces::default())],
            ..Program::default()
        });
        &IDLE
    }

    /// Checks rounds and returns them as a program.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] with the first fault.
    pub fn new(runs: Vec<Run>, rounds: Vec<ProgramRound>, sizes: Sizes) -> Result<Self, ProgramError> {
        let mut program = Self { runs, rounds, sizes, pieces: Vec::new() };
        if let Some([before, round]) = program
            .rounds
            .windows(2)
            .find_map(|pair| (pair[0].number >= pair[1].number).then_some([pair[0].number, pair[1].number]))
        {
            return Err(ProgramError::Order { round, before });
        }
        program.rounds.iter().try_for_each(|round| program.check(round))?;
        program.pieces = program.rounds.iter().map(|round| program.in_pieces(round)).collect();
        Ok(program)
    }

    /// Returns the rounds.
    #[must_use]
    #[inline]
    pub fn rounds(&self) -> &[ProgramRound] {
        &self.rounds
    }

    /// Returns the messages of a round by its index, if each is a [`Piece`].
    #[cfg(feature = "local")]
    #[inline]
    pub(crate) fn pieces(&self, round: usize) -> Option<&Pieces> {
        self.pieces.get(round)?.as_ref()
    }

    /// Returns the runs of a message.
    #[must_use]
    #[inline]
    pub fn runs(&self, message: &Message) -> &[Run] {
        self.runs.get(message.runs.start as usize..message.runs.end as usize).unwrap_or_default()
    }

    /// Returns the minimum lengths of the buffers.
    #[must_use]
    #[inline]
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the bytes of memory that the program takes.
    #[must_use]
    pub(crate) fn footprint(&self) -> usize {
        let messages: usize = self.rounds.iter().map(|r| r.sends.len() + r.receives.len()).sum();
        let pieces: usize = self.pieces.iter().flatten().map(|p| p.sends.len() + p.receives.len()).sum();
        self.runs.len() * size_of::<Run>()
            + self.rounds.len() * (size_of::<ProgramRound>() + size_of::<Option<Pieces>>())
            + messages * size_of::<Message>()
            + pieces * size_of::<Piece>()
    }

    /// Returns the pieces of a checked round.
    pub(super) fn in_pieces(&self, round: &ProgramRound) -> Option<Pieces> {
        let piece = |message: &Message| {
            let (buffer, offset) = match self.runs(message) {
                [] => (Buffer::Scratch, 0),
                [run] if run.count == 1 => (run.buffer, run.offset),
                _ => return None,
            };
            let (offset, bytes) = (usize::try_from(offset).ok()?, usize::try_from(message.bytes).ok()?);
            (message.index == 0).then_some(Piece { buffer, peer: message.peer, offset, bytes })
        };
        let all = |messages: &[Message]| messages.iter().map(piece).collect::<Option<Box<[Piece]>>>();
        let (sends, receives) = (all(&round.sends)?, all(&round.receives)?);
        let longest = sends.iter().chain(&receives).map(|piece| piece.bytes).max().unwrap_or(0);
        Some(Pieces { sends, receives, longest })
    }

    fn size_of(&self, buffer: Buffer) -> u64 {
        match buffer {
            Buffer::Input => self.sizes.input,
            Buffer::Output => self.sizes.output,
            Buffer::Scratch => self.sizes.scratch,
        }
    }

    fn check(&self, round: &ProgramRound) -> Result<(), ProgramError> {
        let number = round.number;
        for messages in [&round.sends, &round.receives] {
            let first = (Rank::new(0), 0);
            let mut next = first;
            for message in messages {
                let Message { peer, index, bytes, .. } = *message;
                let fault = ProgramError::Message { round: number, peer, index, bytes };
                let in_order = (peer, index) == next || (peer > next.0 || next == first) && index == 0;
                let exists = message.runs.start <= message.runs.end && message.runs.end as usize <= self.runs.len();
                let total = self
                    .runs(message)
                    .iter()
                    .try_fold(0_u64, |sum, run| self.bounds(number, run).map(|()| sum.saturating_add(run.bytes())))?;
                if !exists || !in_order || total != bytes {
                    return Err(fault);
                }
                next = (peer, index + 1);
            }
        }
        self.disjoint(round)
    }

    fn bounds(&self, round: u32, run: &Run) -> Result<(), ProgramError> {
        let size = self.size_of(run.buffer);
        if run.end().is_some_and(|end| end <= size) {
            Ok(())
        } else {
            Err(ProgramError::Bounds { round, run: *run, size })
        }
    }

    /// Checks that no byte that is received is also sent or received twice.
    fn disjoint(&self, round: &ProgramRound) -> Result<(), ProgramError> {
        let number = round.number;
        let runs = |messages: &[Message], write| {
            let runs = messages.iter().flat_map(|m| self.runs(m)).copied();
            runs.map(move |run| Access { run, write }).collect::<Vec<_>>()
        };
        let mut all = runs(&round.receives, true);
        if let Some(access) = all.iter().find(|access| access.run.buffer == Buffer::Input) {
            return Err(ProgramError::WritesInput { round: number, run: access.run });
        }
        all.extend(runs(&round.sends, false).into_iter().filter(|access| access.run.buffer != Buffer::Input));
        overlap::find(all).map_or(Ok(()), |overlap::Overlap { buffer, offset, sent }| {
            Err(ProgramError::Overlap { round: number, buffer, offset, sent })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_round(sends: &[Run], receives: &[Run]) -> Result<Program, ProgramError> {
        let runs: Vec<Run> = sends.iter().chain(receives).copied().collect();
        let message = |runs: Range<usize>, all: &[Run]| Message {
            peer: Rank::new(1),
            index: 0,
            bytes: all.iter().map(Run::bytes).sum(),
            runs: runs.start as u32..runs.end as u32,
        };
        let round = ProgramRound {
            number: 0,
            sends: vec![message(0..sends.len(), sends)],
            receives: vec![message(sends.len()..runs.len(), receives)],
        };
        Program::new(runs, vec![round], Sizes { input: 16, output: 16, scratch: 16 })
    }

    fn strided(offset: u64, len: u64, stride: u64, count: u64) -> Run {
        Run { buffer: Buffer::Output, offset, len, stride, count }
    }

    #[test]
    fn runs_outside_their_buffers_are_refused() {
        assert!(one_round(&[Run::new(Buffer::Input, 8, 8)], &[strided(0, 2, 4, 4)]).is_ok());
        let beyond =
            [strided(9, 2, 4, 3), strided(0, 4, 2, 2), strided(0, u64::MAX, u64::MAX, 2), strided(16, 1, 1, 1)];
        for run in beyond.into_iter().chain([strided(0, 0, 0, 1), strided(0, 0, 0, u64::MAX), strided(0, 1, 1, 0)]) {
            let found = one_round(&[], &[run]);
            assert!(matches!(found, Err(ProgramError::Bounds { .. })), "{run:?}: {found:?}");
        }
    }

    #[test]
    fn overlapping_receives_and_sends_are_refused() {
        let overlap = |found| matches!(found, Err(ProgramError::Overlap { .. }));
        assert!(overlap(one_round(&[strided(0, 4, 4, 1)], &[strided(3, 2, 2, 1)])));
        assert!(overlap(one_round(&[strided(3, 2, 2, 1)], &[strided(0, 4, 4, 1)])));
        assert!(overlap(one_round(&[], &[strided(0, 4, 4, 1), strided(2, 4, 4, 1)])));
        assert!(overlap(one_round(&[strided(0, 16, 16, 1)], &[strided(8, 1, 1, 1)])));
        assert!(one_round(&[strided(0, 2, 4, 4), strided(0, 2, 2, 1)], &[strided(2, 2, 4, 3)]).is_ok());
    }

    #[test]
    fn round_numbers_must_increase() {
        let program = |numbers: &[u32]| {
            let round = |&number: &u32| ProgramRound { number, ..ProgramRound::default() };
            Program::new(vec![], numbers.iter().map(round).collect(), Sizes::default())
        };
        assert!(program(&[0, 1, 7]).is_ok());
        assert_eq!(program(&[0, 3, 3]), Err(ProgramError::Order { round: 3, before: 3 }));
    }

    #[test]
    fn receiving_into_the_input_is_refused() {
        let found = one_round(&[], &[Run::new(Buffer::Input, 0, 1)]);
        assert!(matches!(found, Err(ProgramError::WritesInput { .. })), "{found:?}");
    }

    #[test]
    fn messages_must_be_sorted_and_match_their_lengths() {
        let message = |peer, index, bytes| Message { peer: Rank::new(peer), index, bytes, runs: 0..1 };
        let program = |sends| {
            let rounds = vec![ProgramRound { number: 0, sends, receives: vec![] }];
            Program::new(vec![Run::new(Buffer::Input, 0, 4)], rounds, Sizes { input: 4, output: 0, scratch: 0 })
        };
        assert!(program(vec![message(0, 0, 4), message(0, 1, 4), message(3, 0, 4)]).is_ok());
        for bad in [
            vec![message(1, 0, 3)],
            vec![message(1, 1, 4)],
            vec![message(2, 0, 4), message(1, 0, 4)],
            vec![message(1, 0, 4), message(1, 0, 4)],
            vec![Message { runs: 0..2, ..message(1, 0, 0) }],
            vec![Message { runs: Range { start: 1, end: 0 }, ..message(1, 0, 0) }],
        ] {
            assert!(matches!(program(bad), Err(ProgramError::Message { .. })));
        }
    }
}

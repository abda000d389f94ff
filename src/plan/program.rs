//! Rounds as byte ranges: what a transport moves.

use std::ops::Range;

use super::overlap;
use super::runs::Access;
use super::{Buffer, Buffers, Run};
use crate::ids::Rank;

/// What travels between this rank and one other in a round: some runs, in order, as one string of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank at the other end.
    pub peer: Rank,
    /// The how-manieth message between the two, in this direction, in this round.
    pub index: u32,
    /// Its length in bytes: that of all its runs together. May be 0; it is sent all the same.
    pub bytes: u64,
    /// Its runs, as a range of the program's.
    pub runs: Range<u32>,
}

/// One round of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRound {
    /// The number of the round in the schedule: both ends of a message have the same.
    pub number: u32,
    /// What is sent, by (peer, index).
    pub sends: Vec<Message>,
    /// What is received, by (peer, index).
    pub receives: Vec<Message>,
}

/// A message that is the only one between two ranks in its round and direction, and lies in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) buffer: Buffer,
    /// The rank at the other end.
    pub(crate) peer: Rank,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A round all of whose messages are such pieces, as most rounds of most programs are: a transport that knows finds what it
/// needs of a message side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// In the order of the round's.
    pub(crate) sends: Box<[Piece]>,
    pub(crate) receives: Box<[Piece]>,
    /// The bytes of the longest.
    pub(crate) longest: usize,
}

/// How long the buffers must be, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The input's length; 0 in place.
    pub input: u64,
    /// The output's length.
    pub output: u64,
    /// The scratch's length.
    pub scratch: u64,
}

impl Sizes {
    /// Whether buffers are as long.
    #[inline]
    pub(crate) fn fit(&self, buffers: &Buffers<'_>) -> bool {
        buffers.input.len() as u64 >= self.input
            && buffers.output.len() as u64 >= self.output
            && buffers.scratch.len() as u64 >= self.scratch
    }
}

/// The rounds of one rank as byte ranges, checked once: every run lies inside its buffer; in one round no byte is
/// written that is also sent, none is written twice, and the input is not written at all; messages are in order.
///
/// Transports rely on it: they need not check a run before they touch memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    sizes: Sizes,
    /// For each round, if it has such.
    pieces: Vec<Option<Pieces>>,
}

/// Why rounds are no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A run is empty, reaches past its buffer, or its pieces overlap.
    #[error("round {round}: {run:?} does not fit its buffer of {size} bytes, or is empty")]
    Bounds {
        /// Which round.
        round: u32,
        /// Which run.
        run: Run,
        /// How long its buffer is.
        size: u64,
    },
    /// The rounds' numbers do not rise.
    #[error("round {round} comes after round {before}")]
    Order {
        /// Its number.
        round: u32,
        /// That of the round before.
        before: u32,
    },
    /// A message's runs are not what it says.
    #[error("round {round}: the message {index} with rank {peer} is out of order, or not of {bytes} bytes")]
    Message {
        /// Which round.
        round: u32,
        /// With whom.
        peer: Rank,
        /// The how-manieth.
        index: u32,
        /// Its length as declared.
        bytes: u64,
    },
    /// A byte is written twice in a round, or written and also sent.
    #[error("round {round}: byte {offset} of {buffer:?} is received {}", if *sent { "and also sent" } else { "twice" })]
    Overlap {
        /// Which round.
        round: u32,
        /// In which buffer.
        buffer: Buffer,
        /// Which byte.
        offset: u64,
        /// Whether it is sent; else it is received twice.
        sent: bool,
    },
    /// Something is received into the input.
    #[error("round {round}: {run:?} would write the input")]
    WritesInput {
        /// Which round.
        round: u32,
        /// Which run.
        run: Run,
    },
}

impl Program {
    /// Checks rounds and makes them a program.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
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

    /// Its rounds.
    #[must_use]
    #[inline]
    pub fn rounds(&self) -> &[ProgramRound] {
        &self.rounds
    }

    /// The messages of the round of that index, where each is in one piece and between two ranks alone.
    #[cfg(feature = "local")]
    #[inline]
    pub(crate) fn pieces(&self, round: usize) -> Option<&Pieces> {
        self.pieces.get(round)?.as_ref()
    }

    /// The runs of a message.
    #[must_use]
    #[inline]
    pub fn runs(&self, message: &Message) -> &[Run] {
        self.runs.get(message.runs.start as usize..message.runs.end as usize).unwrap_or_default()
    }

    /// How long the buffers must be.
    #[must_use]
    #[inline]
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Bytes of memory that the program itself takes.
    #[must_use]
    pub(crate) fn footprint(&self) -> usize {
        let messages: usize = self.rounds.iter().map(|r| r.sends.len() + r.receives.len()).sum();
        let pieces: usize = self.pieces.iter().flatten().map(|p| p.sends.len() + p.receives.len()).sum();
        self.runs.len() * size_of::<Run>()
            + self.rounds.len() * (size_of::<ProgramRound>() + size_of::<Option<Pieces>>())
            + messages * size_of::<Message>()
            + pieces * size_of::<Piece>()
    }

    /// A round that has been checked.
    fn in_pieces(&self, round: &ProgramRound) -> Option<Pieces> {
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

    /// No byte received is also sent or received twice.
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
    fn runs_stay_inside_their_buffers() {
        assert!(one_round(&[Run::new(Buffer::Input, 8, 8)], &[strided(0, 2, 4, 4)]).is_ok());
        let beyond =
            [strided(9, 2, 4, 3), strided(0, 4, 2, 2), strided(0, u64::MAX, u64::MAX, 2), strided(16, 1, 1, 1)];
        for run in beyond.into_iter().chain([strided(0, 0, 0, 1), strided(0, 0, 0, u64::MAX), strided(0, 1, 1, 0)]) {
            let found = one_round(&[], &[run]);
            assert!(matches!(found, Err(ProgramError::Bounds { .. })), "{run:?}: {found:?}");
        }
    }

    #[test]
    fn nothing_is_received_where_something_is_sent_or_received() {
        let overlap = |found| matches!(found, Err(ProgramError::Overlap { .. }));
        assert!(overlap(one_round(&[strided(0, 4, 4, 1)], &[strided(3, 2, 2, 1)])));
        assert!(overlap(one_round(&[strided(3, 2, 2, 1)], &[strided(0, 4, 4, 1)])));
        assert!(overlap(one_round(&[], &[strided(0, 4, 4, 1), strided(2, 4, 4, 1)])));
        assert!(overlap(one_round(&[strided(0, 16, 16, 1)], &[strided(8, 1, 1, 1)])));
        assert!(one_round(&[strided(0, 2, 4, 4), strided(0, 2, 2, 1)], &[strided(2, 2, 4, 3)]).is_ok());
    }

    #[test]
    fn rounds_rise() {
        let program = |numbers: &[u32]| {
            let round = |&number: &u32| ProgramRound { number, ..ProgramRound::default() };
            Program::new(vec![], numbers.iter().map(round).collect(), Sizes::default())
        };
        assert!(program(&[0, 1, 7]).is_ok());
        assert_eq!(program(&[0, 3, 3]), Err(ProgramError::Order { round: 3, before: 3 }));
    }

    #[test]
    fn the_input_is_not_written() {
        let found = one_round(&[], &[Run::new(Buffer::Input, 0, 1)]);
        assert!(matches!(found, Err(ProgramError::WritesInput { .. })), "{found:?}");
    }

    #[test]
    fn messages_are_in_order_and_as_long_as_they_say() {
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

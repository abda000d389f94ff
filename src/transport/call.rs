//! A call, as a transport is given it.

use std::fmt;
use std::sync::Arc;

use super::timeouts::Timeouts;
use crate::plan::{Buffers, Message, Program, ProgramRound, Run};

/// Which context: equal on all members, and of no other context of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// That of the whole job.
    pub const WORLD: Self = Self(0);

    /// That of the `part`-th part made by the `sequence`-th split of this one.
    #[must_use]
    pub fn child(self, sequence: u64, part: u64) -> Self {
        let mixed = [sequence, part].into_iter().fold(self.0, |seed, value| {
            // The finaliser of SplitMix64: distinct paths collide with probability 2^-64.
            let mut z = (seed ^ value.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self(mixed)
    }

    /// That of this [number](Self::number), which came by a wire.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self(number)
    }

    /// Its number, for a wire.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::WORLD { f.write_str("world") } else { write!(f, "{:016x}", self.0) }
    }
}

/// What all members of a call must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// A hash of collective, algorithm with parameters, sizes, root, operation.
    pub fingerprint: u64,
    /// The same in words, for the error: `alltoall, 64 bytes a block, by torus-exchange`.
    pub description: Arc<str>,
}

/// One round, as a transport is given it.
#[derive(Debug)]
pub struct RoundIo<'a> {
    program: &'a Program,
    round: usize,
    buffers: Buffers<'a>,
    /// Number of the call within the context. Numbers rise from call to call.
    pub call: u64,
    /// What all members must agree on.
    pub signature: &'a Signature,
    /// How long the round may wait.
    pub timeouts: Timeouts,
}

impl<'a> RoundIo<'a> {
    /// The `round`-th round of `program` on these buffers; `None` if there is no such round or a
    /// buffer is shorter than the program needs.
    #[must_use]
    #[inline]
    pub fn new(
        program: &'a Program,
        round: usize,
        buffers: Buffers<'a>,
        call: u64,
        signature: &'a Signature,
        timeouts: impl Into<Timeouts>,
    ) -> Option<Self> {
        let fits = program.sizes().fit(&buffers) && round < program.rounds().len();
        let timeouts = timeouts.into();
        // No `then_some`, for which it would be put together elsewhere first.
        if fits { Some(Self { program, round, buffers, call, signature, timeouts }) } else { None }
    }

    /// The round: its number and its messages.
    #[must_use]
    pub fn round(&self) -> &'a ProgramRound {
        &self.program.rounds()[self.round]
    }

    /// Which of the program's rounds it is.
    #[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
    pub(crate) fn index(&self) -> usize {
        self.round
    }

    /// The round's number in the schedule.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.round().number
    }

    /// What to send, by (peer, index).
    #[must_use]
    pub fn sends(&self) -> &'a [Message] {
        &self.round().sends
    }

    /// What to receive, by (peer, index).
    #[must_use]
    pub fn receives(&self) -> &'a [Message] {
        &self.round().receives
    }

    /// The program whose round it is.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The same round, for a wrapper that looks at the buffers once it is done.
    #[must_use]
    pub fn reborrow(&mut self) -> RoundIo<'_> {
        RoundIo { buffers: self.buffers.reborrow(), ..*self }
    }

    /// The same call on the same buffers, with the `round`-th round of another program in place of
    /// this one: for wrappers that change what is sent. `None` as for [`new`](Self::new).
    #[must_use]
    pub fn replaced<'b>(self, program: &'b Program, round: usize) -> Option<RoundIo<'b>>
    where
        'a: 'b,
    {
        RoundIo::new(program, round, self.buffers, self.call, self.signature, self.timeouts)
    }

    /// The runs of a message.
    #[must_use]
    pub fn runs(&self, message: &Message) -> &'a [Run] {
        self.program.runs(message)
    }

    /// The buffers that the runs are of. Every run lies inside its buffer; what is received
    /// overlaps nothing that is sent or received.
    ///
    /// Their contents may be changed, but they cannot be exchanged for others, which might be
    /// shorter:
    ///
    /// ```compile_fail,E0308
    /// fn exchange<'a>(io: &mut necklace::transport::RoundIo<'a>) {
    ///     let _: &mut necklace::plan::Buffers<'a> = io.buffers();
    /// }
    /// ```
    pub fn buffers(&mut self) -> Buffers<'_> {
        self.buffers.reborrow()
    }
}

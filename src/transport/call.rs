//! The information that a transport is given for a call: context, signature, round.

use std::fmt;
use std::sync::Arc;

use super::timeouts::Timeouts;
use crate::plan::{Buffers, Fold, Message, Program, ProgramRound, Reduction, Run};

/// Identity of a context: equal on all its members, and different from all other contexts of the
/// job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// The context of the whole job.
    pub const WORLD: Self = Self(0);

    /// Returns the id of part `part` of split number `sequence` of this context.
    ///
    /// It is a hash, equal on all ranks without communication.
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

    /// Returns the id of the context in which a communicator makes the calls that are
    /// [started](crate::Communicator::start). A backend that fails this context because it is
    /// [aborted](super::Cause::Aborted) fails that one too, so that a call under way there ends.
    #[must_use]
    pub fn of_started_calls(self) -> Self {
        self.child(u64::MAX, 0)
    }

    /// Returns the id with this [number](Self::number), as received over a wire.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of this id, to send over a wire.
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

/// The description of a call that all members must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// Hash of collective, algorithm with parameters, sizes, root and operation. Members whose
    /// fingerprints are equal make the same call.
    pub fingerprint: u64,
    /// Description of the call for error messages: `alltoall, 64 bytes a block, by
    /// torus-exchange`. Not compared.
    pub description: Arc<str>,
}

impl Signature {
    /// Describes calls with this fingerprint.
    #[must_use]
    pub fn new(fingerprint: u64, description: impl Into<Arc<str>>) -> Self {
        Self { fingerprint, description: description.into() }
    }
}

/// The call that a round, or a call of the backend's library, belongs to.
#[derive(Clone, Copy, Debug)]
pub struct CallInfo<'a> {
    number: u64,
    signature: &'a Signature,
    timeouts: Timeouts,
}

impl<'a> CallInfo<'a> {
    /// Describes call `number` of the context: what all members must agree on, and how long to
    /// wait.
    #[must_use]
    #[inline]
    pub fn new(number: u64, signature: &'a Signature, timeouts: impl Into<Timeouts>) -> Self {
        Self { number, signature, timeouts: timeouts.into() }
    }

    /// Returns number, signature and timeouts.
    #[inline]
    pub(super) fn parts(self) -> (u64, &'a Signature, Timeouts) {
        (self.number, self.signature, self.timeouts)
    }
}

/// One round of a call: what to send and receive, on which buffers, and how long it may wait.
#[derive(Debug)]
pub struct RoundIo<'a> {
    program: &'a Program,
    round: usize,
    buffers: Buffers<'a>,
    /// Number of the call within the context. It rises from call to call.
    pub call: u64,
    /// The signature, on which all members must agree.
    pub signature: &'a Signature,
    /// Maximum times to wait.
    pub timeouts: Timeouts,
    /// The combinations that the transport may do as messages arrive.
    #[cfg_attr(not(feature = "local"), expect(dead_code, reason = "only threads combine what arrives"))]
    folding: Option<Folding<'a>>,
}

/// Combinations that a transport may do in a round, all or none. Unless it does, their messages go
/// to their own places.
#[cfg_attr(not(feature = "local"), expect(dead_code, reason = "only threads combine what arrives"))]
pub(crate) struct Folding<'a> {
    pub(crate) reduction: &'a dyn Reduction,
    /// In the order in which they are to be done.
    pub(crate) folds: &'a [Fold],
    /// Set by the transport once they are done.
    pub(crate) done: &'a mut bool,
}

impl fmt::Debug for Folding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folding").field("folds", &self.folds).finish_non_exhaustive()
    }
}

impl<'a> RoundIo<'a> {
    /// Creates round number `round` of `program`, counted from 0, on these buffers.
    ///
    /// Returns `None` if there is no such round, or a buffer is shorter than the program needs.
    #[must_use]
    #[inline]
    pub fn new(program: &'a Program, round: usize, buffers: Buffers<'a>, call: CallInfo<'a>) -> Option<Self> {
        let fits = program.sizes().fit(&buffers) && round < program.rounds().len();
        let (call, signature, timeouts) = call.parts();
        // Not `then_some`, which builds the value in another place first and then moves it.
        if fits { Some(Self { program, round, buffers, call, signature, timeouts, folding: None }) } else { None }
    }

    /// Allows the transport to do combinations in the round.
    #[inline]
    pub(crate) fn combining(self, folding: Option<Folding<'a>>) -> Self {
        Self { folding, ..self }
    }

    /// Returns the combinations that the transport may do.
    #[cfg(feature = "local")]
    #[inline]
    pub(crate) fn folding(&mut self) -> Option<Folding<'a>> {
        self.folding.take()
    }

    /// Returns the round: its number and its messages.
    #[must_use]
    pub fn round(&self) -> &'a ProgramRound {
        &self.program.rounds()[self.round]
    }

    /// Returns the index of the round within the program.
    pub(crate) fn index(&self) -> usize {
        self.round
    }

    /// Returns the round's number in the schedule.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.round().number
    }

    /// Returns the messages to send, in order of (peer, index).
    #[must_use]
    pub fn sends(&self) -> &'a [Message] {
        &self.round().sends
    }

    /// Returns the messages to receive, in order of (peer, index).
    #[must_use]
    pub fn receives(&self) -> &'a [Message] {
        &self.round().receives
    }

    /// Returns the program that the round belongs to.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the same round with a shorter borrow, for wrappers that read the buffers after it.
    #[must_use]
    pub fn reborrow(&mut self) -> RoundIo<'_> {
        RoundIo { buffers: self.buffers.reborrow(), folding: None, ..*self }
    }

    /// Returns the same call on the same buffers with a round of another program, for wrappers that
    /// change what is sent. Returns `None` as [`new`](Self::new) does.
    #[must_use]
    pub fn replaced<'b>(self, program: &'b Program, round: usize) -> Option<RoundIo<'b>>
    where
        'a: 'b,
    {
        RoundIo::new(program, round, self.buffers, CallInfo::new(self.call, self.signature, self.timeouts))
    }

    /// Returns the runs of a message: the byte ranges that it consists of, in order.
    #[must_use]
    pub fn runs(&self, message: &Message) -> &'a [Run] {
        self.program.runs(message)
    }

    /// Returns the buffers that the runs refer to.
    ///
    /// Every run lies inside its buffer. A received run overlaps no other run that is sent or
    /// received in the round.
    ///
    /// The backend may change the contents. It cannot replace the buffers by others, which might be
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

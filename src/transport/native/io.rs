//! One member's part of a native call.

use std::fmt;
use std::sync::Arc;

use super::call::NativeCall;
use crate::ids::Rank;
use crate::plan::Reduction;
use crate::transport::{CallInfo, Cause, Failure, Signature, Timeouts};

/// The buffers of a rank in a native call, and how contributions are combined.
pub(crate) struct NativeData<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) output: &'a mut [u8],
    pub(crate) reduction: Option<&'a dyn Reduction>,
}

/// One rank's part of a native call: what to do, on which buffers, and how long it may wait.
pub struct NativeIo<'a> {
    what: &'a NativeCall,
    rank: Rank,
    ranks: usize,
    input: &'a [u8],
    output: &'a mut [u8],
    reduction: Option<&'a dyn Reduction>,
    /// Number of the call within the context, from the same sequence as in
    /// [`RoundIo`](crate::transport::RoundIo).
    pub call: u64,
    /// The signature, on which all members must agree.
    pub signature: &'a Signature,
    /// Maximum times to wait.
    pub timeouts: Timeouts,
}

impl<'a> NativeIo<'a> {
    /// Creates a rank's part of a call, from (rank, number of ranks).
    ///
    /// Returns `None` if the call is invalid among this number of ranks, if a buffer is too short
    /// or not aligned, or if the call combines contributions and `reduction` is `None`.
    #[must_use]
    #[inline]
    pub(crate) fn new(
        what: &'a NativeCall,
        (rank, ranks): (Rank, usize),
        data: NativeData<'a>,
        call: CallInfo<'a>,
    ) -> Option<Self> {
        let (call, signature, timeouts) = call.parts();
        let NativeData { input, output, reduction } = data;
        let (sent, received) = what.lengths(rank, ranks)?;
        let fits = input.len() as u64 >= sent && output.len() as u64 >= received;
        let fits = fits && reduction.is_some() >= what.reduces();
        // Empty buffers need no alignment.
        let align = if sent > 0 || received > 0 { what.alignment() } else { 1 };
        let fits = fits && input.as_ptr().addr().is_multiple_of(align) && output.as_ptr().addr().is_multiple_of(align);
        // Not `then_some`, which builds the value in another place first and then moves it.
        if fits { Some(Self { what, rank, ranks, input, output, reduction, call, signature, timeouts }) } else { None }
    }

    /// Returns the call.
    #[must_use]
    pub fn what(&self) -> &'a NativeCall {
        self.what
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the input, which is empty for a call in place, and the output. They have at least
    /// the length that the call needs, and the alignment of a predefined operation's numbers.
    pub fn buffers(&mut self) -> (&'a [u8], &mut [u8]) {
        (self.input, &mut *self.output)
    }

    /// Returns how contributions are combined, also by a [`Predefined`](super::Predefined)
    /// operation. It is present for every call that combines.
    #[must_use]
    pub fn reduction(&self) -> Option<&'a dyn Reduction> {
        self.reduction
    }

    /// Returns the failure of a rank that gives up in this call.
    pub(in crate::transport) fn gave_up(&self, rank: Rank, reason: Arc<str>) -> Failure {
        Failure {
            call: self.call,
            description: self.signature.description.clone(),
            round: 0,
            observer: rank,
            culprit: Some(rank),
            cause: Cause::Aborted { rank, reason },
        }
    }

    /// Returns the number of bytes that this rank contributes to the call.
    pub(in crate::transport) fn given(&self) -> u64 {
        match self.what {
            NativeCall::Varying(varying) => varying.send.bytes(),
            NativeCall::Regular(regular) => {
                let (before, _) = regular.collective.buffers();
                let blocks = before.at(regular.collective.role(self.ranks, self.rank)) as u64;
                regular.block().unwrap_or(0).saturating_mul(blocks)
            }
        }
    }
}

impl fmt::Debug for NativeIo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, input, output, call, signature, timeouts, .. } = self;
        f.debug_struct("NativeIo")
            .field("what", what)
            .field("input", &input.len())
            .field("output", &output.len())
            .field("call", call)
            .field("signature", signature)
            .field("timeouts", timeouts)
            .finish_non_exhaustive()
    }
}

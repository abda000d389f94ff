//! A context, and how calls go over it.

use std::fmt;
use std::sync::Arc;

use super::agreement::Agreed;
use super::prepared::{Native, Prepared, Way};
use crate::error::Error;
use crate::ids::Rank;
use crate::plan::{Buffers, Execution, Plan, Reduction};
use crate::transport::native::NativeIo;
use crate::transport::{ContextId, Failure, History, RoundIo, Signature, Timeouts, Transport, call_native, renumbered};

/// A context, and how calls go over it.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) transport: Box<dyn Transport>,
    pub(super) context: ContextId,
    /// Which communicator of this process it is; plans are for the one that made them.
    pub(super) identity: u64,
    /// The members by their ranks in the job.
    pub(super) members: Arc<[Rank]>,
    /// What it has called.
    pub(super) history: History,
    /// Whether the backend has collectives of its own.
    pub(super) native: bool,
    pub(super) agreed: Agreed,
    pub(super) timeouts: Timeouts,
    /// Whether the user knows that the context has failed.
    pub(super) told: bool,
}

impl Wire {
    /// Makes a call on buffers that are as long as it needs.
    pub(super) fn execute(
        &mut self,
        prepared: &mut Prepared,
        input: &[u8],
        output: &mut [u8],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        self.alive()?;
        let Prepared { signature, way } = prepared;
        match way {
            Way::Plan { plan, scratch } => {
                let buffers = Buffers { input, output, scratch: bytemuck::cast_slice_mut(scratch) };
                self.run(plan, buffers, signature, reduction)
            }
            Way::Native(native) => self.call_native(native, signature, (input, output), reduction),
        }
    }

    /// Executes a plan: a call.
    // In one piece with its caller, of which it is almost all; left to itself the compiler makes two of it.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        plan: &Plan,
        buffers: Buffers<'_>,
        signature: &Signature,
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        if !plan.fits(&buffers) {
            return Err(short());
        }
        let call = self.history.calls;
        self.history.add(signature.fingerprint);
        self.rounds(plan, buffers, call, signature, reduction)
    }

    /// Executes the rounds of a plan, as part of that call.
    #[inline(always)]
    fn rounds(
        &mut self,
        plan: &Plan,
        mut buffers: Buffers<'_>,
        call: u64,
        signature: &Signature,
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let mut execution = Execution::new(plan);
        while let Some(round) = execution.advance(&mut buffers, reduction) {
            let io = RoundIo::new(plan.program(), round, buffers.reborrow(), call, signature, self.timeouts);
            let Some(io) = io else { return Err(short()) };
            self.transport.round(io).map_err(|failure| self.failed(failure))?;
        }
        Ok(())
    }

    pub(super) fn alive(&mut self) -> Result<(), Error> {
        self.transport.failure().map_or(Ok(()), |failure| Err(self.failed(failure)))
    }

    /// For whom a plan is made.
    pub(super) fn maker(&self) -> Maker {
        let Self { transport, context, identity, .. } = self;
        Maker { identity: *identity, context: *context, rank: transport.rank(), size: transport.size() }
    }

    /// That the context has failed; once the user knows, that it had failed before.
    pub(super) fn failed(&mut self, failure: Failure) -> Error {
        let (rank, failure, members) = (self.transport.rank(), Box::new(failure), renumbered(&self.members));
        if std::mem::replace(&mut self.told, true) {
            Error::Dead { rank, failure, members }
        } else {
            Error::Failed { rank, failure, members }
        }
    }
}

impl Wire {
    /// Has the backend do a call.
    pub(super) fn call_native(
        &mut self,
        native: &mut Native,
        signature: &Signature,
        (input, output): (&[u8], &mut [u8]),
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let Native { call, barrier, agreed } = native;
        let ((rank, size), timeouts) = ((self.transport.rank(), self.transport.size()), self.timeouts);
        // Before anything moves.
        let io = NativeIo::new(call, (rank, size), (input, output), reduction, self.history.calls, signature, timeouts);
        let Some(io) = io else {
            let words = "a buffer is shorter than the library's call needs, or not aligned as its elements are";
            return Err(Error::Argument(words.to_owned()));
        };
        self.agree(barrier, signature, agreed)?;
        self.history.add(signature.fingerprint);
        call_native(&mut *self.transport, io).map_err(|failure| self.failed(failure))
    }

    /// Makes sure that all members make this call: by rounds that have its number, unless they have agreed
    /// on it before.
    fn agree(&mut self, barrier: &Plan, signature: &Signature, agreed: &mut Option<u64>) -> Result<(), Error> {
        if agreed.is_none_or(|number| !self.agreed.has(number)) {
            *agreed = self.agreed.find(signature.fingerprint);
        }
        if agreed.is_none() {
            let buffers = Buffers { input: &[], output: &mut [], scratch: &mut [] };
            self.rounds(barrier, buffers, self.history.calls, signature, None)?;
            *agreed = Some(self.agreed.add(signature.fingerprint));
        }
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.transport.conclude(self.history);
    }
}

/// A communicator of this process. Its context alone would not do: ranks that are threads share it, and other jobs have
/// one of the same name, while a plan fits none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    pub(super) identity: u64,
    pub(super) context: ContextId,
    pub(super) rank: Rank,
    pub(super) size: usize,
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, context, rank, size } = self;
        write!(f, "communicator {context} (rank {rank} of {size}, the {identity}-th of its process)")
    }
}

fn short() -> Error {
    Error::Argument("a buffer is shorter than its plan needs".to_owned())
}

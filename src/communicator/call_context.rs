//! The execution of calls in a context.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::agreement::Agreed;
use super::planned_call::{Executor, LibraryCall, PlannedCall};
use crate::error::{CallError, Error};
use crate::ids::Rank;
use crate::plan::{Buffers, Execution, Plan, Program, Reduction};
use crate::transport::native::{NativeData, NativeIo};
use crate::transport::{
    CallInfo, ContextId, Failure, Folding, History, RoundIo, Signature, Timeouts, Transport, call_native, renumbered,
};

/// A context of this process, in which it executes calls.
#[derive(Debug)]
pub(super) struct CallContext {
    pub(super) transport: Box<dyn Transport>,
    pub(super) id: ContextId,
    /// The number of this communicator in the process. A plan is for the communicator that made it.
    pub(super) identity: u64,
    /// The ranks of the members in the job.
    pub(super) members: Arc<[Rank]>,
    /// The calls so far: their number and a digest.
    pub(super) history: History,
    /// Whether the backend has collectives of its own.
    pub(super) native: bool,
    pub(super) agreed: Agreed,
    pub(super) timeouts: Timeouts,
    /// Whether the failure of the context has been reported to the user.
    pub(super) told: bool,
}

impl CallContext {
    /// Executes a call on buffers of the lengths that it needs.
    pub(super) fn execute(
        &mut self,
        planned: &mut PlannedCall,
        input: &[u8],
        output: &mut [u8],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        self.alive()?;
        let PlannedCall { signature, executor, result, timing, .. } = planned;
        let start = timing.start();
        match executor {
            Executor::Plan { plan, scratch } => {
                let buffers = Buffers { input, output: &mut *output, scratch: bytemuck::cast_slice_mut(scratch) };
                self.run(plan, buffers, signature, reduction)?;
            }
            Executor::Library(native) => self.call_native(native, signature, (input, &mut *output), reduction)?,
        }
        if let (Some(reduction), Some(result)) = (reduction, result) {
            reduction.finish(output.get_mut(..result.bytes).ok_or_else(short)?, result.contributions);
        }
        timing.end(start);
        Ok(())
    }

    /// Executes a plan, as one call.
    // This is most of its caller. Without the attribute, the compiler does not inline it.
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
        let call = CallInfo::new(self.history.calls, signature, self.timeouts);
        self.history.add(signature.fingerprint);
        if plan.program().rounds().is_empty() && self.members.len() > 1 {
            self.idle(call)?;
        }
        self.rounds(plan, buffers, call, reduction)
    }

    /// Tells the transport of a call in which this rank has no round, so that others which disagree
    /// about it learn what this rank called.
    #[cold]
    fn idle(&mut self, call: CallInfo<'_>) -> Result<(), Error> {
        let buffers = Buffers { input: &[], output: &mut [], scratch: &mut [] };
        let io = RoundIo::new(Program::idle(), 0, buffers, call).ok_or_else(short)?;
        self.transport.round(io).map_err(|failure| self.failed(failure))
    }

    /// Executes the rounds of a plan, as part of that call.
    #[inline(always)]
    fn rounds(
        &mut self,
        plan: &Plan,
        mut buffers: Buffers<'_>,
        call: CallInfo<'_>,
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let mut execution = Execution::new(plan);
        while let Some(round) = execution.advance(&mut buffers, reduction) {
            let io = RoundIo::new(plan.program(), round, buffers.reborrow(), call);
            let Some(io) = io else { return Err(short()) };
            let (folds, mut done) = (plan.folds(round), false);
            let folding = reduction.filter(|_| !folds.is_empty());
            let folding = folding.map(|reduction| Folding { reduction, folds, done: &mut done });
            self.transport.round(io.combining(folding)).map_err(|failure| self.failed(failure))?;
            if done {
                execution.combined(folds.iter().filter(|fold| fold.is_work()).count());
            }
        }
        Ok(())
    }

    /// Fails if the context has failed.
    pub(super) fn alive(&mut self) -> Result<(), Error> {
        self.transport.failure().map_or(Ok(()), |failure| Err(self.failed(failure)))
    }

    /// Returns a function that makes the public error of a method. The place is that of the
    /// method's caller.
    #[track_caller]
    pub(super) fn error_of<E: Into<CallError>>(&self, call: &'static str) -> impl Fn(E) -> Error {
        let at = Location::caller();
        move |error| error.into().at(call, at, || self.part())
    }

    /// Returns this rank, and the ranks of the members in the job, unless both numbers are always
    /// equal.
    fn part(&self) -> Option<(Rank, Arc<[Rank]>)> {
        let members = renumbered(&self.members);
        (!members.is_empty()).then(|| (self.transport.rank(), members))
    }

    /// Returns the identity of the communicator, which its plans carry.
    pub(super) fn communicator(&self) -> CommunicatorId {
        let Self { transport, id, identity, .. } = self;
        CommunicatorId { identity: *identity, context: *id, rank: transport.rank(), size: transport.size() }
    }

    /// Makes the error for a failure: [`Error::Failed`] the first time, [`Error::Dead`] afterwards.
    pub(super) fn failed(&mut self, failure: Failure) -> Error {
        let (rank, failure, members) = (self.transport.rank(), Box::new(failure), renumbered(&self.members));
        if std::mem::replace(&mut self.told, true) {
            Error::Dead { rank, failure, members }
        } else {
            Error::Failed { rank, failure, members }
        }
    }
}

impl CallContext {
    /// Executes a call of the backend's own library.
    pub(super) fn call_native(
        &mut self,
        native: &mut LibraryCall,
        signature: &Signature,
        (input, output): (&[u8], &mut [u8]),
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let LibraryCall { call, barrier, agreed } = native;
        let ((rank, size), timeouts) = ((self.transport.rank(), self.transport.size()), self.timeouts);
        // Checks the buffers before anything moves.
        let data = NativeData { input, output, reduction };
        let io = NativeIo::new(call, (rank, size), data, CallInfo::new(self.history.calls, signature, timeouts));
        let Some(io) = io else {
            return Err(Error::Internal(
                "a buffer is shorter than the library's call needs, or not aligned as its elements are".into(),
            ));
        };
        self.agree(barrier, signature, agreed)?;
        self.history.add(signature.fingerprint);
        call_native(&mut *self.transport, io).map_err(|failure| self.failed(failure))
    }

    /// Makes sure that all members make this call: by rounds that have its number, unless they have
    /// agreed on it before.
    fn agree(&mut self, barrier: &Plan, signature: &Signature, agreed: &mut Option<u64>) -> Result<(), Error> {
        if agreed.is_none_or(|number| !self.agreed.has(number)) {
            *agreed = self.agreed.find(signature.fingerprint);
        }
        if agreed.is_none() {
            let buffers = Buffers { input: &[], output: &mut [], scratch: &mut [] };
            let call = CallInfo::new(self.history.calls, signature, self.timeouts);
            self.rounds(barrier, buffers, call, None)?;
            *agreed = Some(self.agreed.add(signature.fingerprint));
        }
        Ok(())
    }
}

impl Drop for CallContext {
    fn drop(&mut self) {
        self.transport.conclude(self.history);
    }
}

/// The identity of a communicator.
///
/// The context alone would not suffice: ranks that are threads share it, and so do the first
/// communicators of all jobs, but a plan fits only one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommunicatorId {
    pub(super) identity: u64,
    pub(super) context: ContextId,
    pub(super) rank: Rank,
    pub(super) size: usize,
}

impl fmt::Display for CommunicatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, context, rank, size } = self;
        write!(f, "communicator {context} (rank {rank} of {size}, number {identity} in its process)")
    }
}

/// Makes the error for a buffer that is too short.
fn short() -> Error {
    Error::Internal("a buffer is shorter than its plan needs".into())
}

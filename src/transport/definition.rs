//! The traits of a backend.

use std::fmt;

use super::native::{NativeCollectives, NativeIo};
use super::{ContextId, Failure, History, OpenError, RoundIo};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::vocabulary::Hosts;

/// A process's access to the job: its rank, and the contexts that it opens.
///
/// Implementors may be called from several threads at once.
pub trait Endpoint: Send + Sync + fmt::Debug {
    /// Returns the rank of this process in the job.
    fn rank(&self) -> Rank;

    /// Returns the number of processes of the job.
    fn size(&self) -> usize;

    /// Opens a context among `members`, ranks of the job in the order of their ranks in the
    /// context.
    ///
    /// Every member opens it with the same identity and the same members. `open` does not wait for
    /// the other members.
    ///
    /// # Errors
    ///
    /// [`OpenError`], if this process is not a member, a member is out of range or named twice, or
    /// the identity is in use here.
    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError>;

    /// Returns the prices of messages, as far as they are known in advance. By default they are
    /// those of threads.
    ///
    /// A communicator chooses algorithms by these prices, unless its
    /// [options](crate::Options::machine) have others.
    fn machine(&self) -> Machine {
        Machine::THREADS
    }

    /// Returns which ranks of the job share a host, if that is known. By default it is not.
    ///
    /// It is the same on every process of the job. A communicator compares it when it starts.
    fn hosts(&self) -> Option<Hosts> {
        None
    }
}

/// One context of an endpoint: moves messages among its members. The [module](super) has the
/// contract.
pub trait Transport: Send + fmt::Debug {
    /// Returns the rank of this process in the context.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks of the context.
    fn size(&self) -> usize;

    /// Sends and receives all messages of one round. Blocks until all are complete, the context has
    /// failed, or a deadline has passed.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member.
    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure>;

    /// Fails the context for all members, with this failure unless it has failed before.
    ///
    /// [`failure`](Self::failure) and the next round return the first failure. Does not block.
    fn abort(&mut self, failure: Failure);

    /// Returns the first failure of the context, if it has failed. Does not block.
    fn failure(&self) -> Option<Failure>;

    /// Records the calls of this member. The caller does this once, just before it drops the
    /// transport. By default it does nothing.
    ///
    /// Members that leave a context after different calls have disagreed, even if no message showed
    /// that. A backend may compare these records. [`launch`](crate::launch()) and `local::run`
    /// return a difference as an error.
    fn conclude(&mut self, history: History) {
        let _ = history;
    }

    /// Returns the [native collectives](super::native) of this context, or `None`, the default.
    ///
    /// Whether there are any is the same on every member and never changes.
    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        None
    }
}

/// Returns the rank of `process` among the members of a context, in a job of `size` processes.
/// Every [`Endpoint::open`] begins with this check.
///
/// # Errors
///
/// If `process` is not a member, or a member is out of range or named twice.
pub fn position(process: Rank, size: usize, members: &[Rank]) -> Result<usize, OpenError> {
    if let Some(member) = members.iter().find(|member| member.index() >= size) {
        return Err(OpenError::Member { member: *member, size });
    }
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(OpenError::Twice(twice[0]));
    }
    members.iter().position(|member| *member == process).ok_or(OpenError::Outside(process))
}

/// Executes a call by the native collectives of a transport. Fails if the transport, against the
/// contract, has none.
#[inline]
pub(crate) fn call_native(transport: &mut dyn Transport, io: NativeIo<'_>) -> Result<(), Failure> {
    match transport.native() {
        Some(native) => native.call(io),
        None => Err(no_collectives(transport, &io)),
    }
}

#[cold]
fn no_collectives(transport: &mut dyn Transport, io: &NativeIo<'_>) -> Failure {
    let failure = io.gave_up(transport.rank(), "the backend no longer has native collectives".into());
    transport.abort(failure.clone());
    transport.failure().unwrap_or(failure)
}

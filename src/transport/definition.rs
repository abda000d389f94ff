//! The traits of a backend.

use std::fmt;

use super::native::{Native, NativeIo};
use super::{ContextId, Failure, History, OpenError, RoundIo};
use crate::ids::Rank;
use crate::machine::Machine;

/// A process's access to the job.
pub trait Endpoint: Send + Sync + fmt::Debug {
    /// Returns the rank of this process in the job.
    fn rank(&self) -> Rank;

    /// Returns the number of processes of the job.
    fn size(&self) -> usize;

    /// Opens a context among `members`, ranks of the job in the order of their ranks in the
    /// context.
    ///
    /// Every member opens it with the same identity and the same members. None waits for another.
    ///
    /// # Errors
    ///
    /// If this process is not a member, a member is out of range or named twice, or the identity is
    /// in use here.
    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError>;

    /// Returns the prices of messages, as far as they are known beforehand.
    ///
    /// A communicator chooses by them unless it is [given](crate::Options::machine) others.
    fn machine(&self) -> Machine {
        Machine::THREADS
    }
}

/// One context of an endpoint. See the [module](super) for what it promises.
pub trait Transport: Send + fmt::Debug {
    /// Returns the rank of this process in the context.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks of the context.
    fn size(&self) -> usize;

    /// Moves the messages of one round.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member.
    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure>;

    /// Fails the context for all members, with this failure unless there is an earlier one.
    ///
    /// [`failure`](Self::failure) and the next round return the one that counts. Does not block.
    fn abort(&mut self, failure: Failure);

    /// Returns the failure of the context, if it has failed.
    fn failure(&self) -> Option<Failure>;

    /// Records the calls of this member, just before the transport is dropped. By default it does
    /// nothing.
    ///
    /// Members that leave a context after different calls have disagreed, even if no message showed
    /// it. A backend may compare these records. [`launch`](crate::launch()) and `local::run` return
    /// a difference as an error.
    fn conclude(&mut self, history: History) {
        let _ = history;
    }

    /// Returns the [native collectives](super::native), or `None`, the default. The answer is the
    /// same on every member and never changes.
    fn native(&mut self) -> Option<&mut dyn Native> {
        None
    }
}

/// Checks the members of a context of a job of `size` processes, and returns the rank of `process`
/// among them. Every [`Endpoint::open`] begins with this check.
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

/// Has a transport do a call of its own. One that has none, against the contract, fails.
#[inline]
pub(crate) fn call_native(transport: &mut dyn Transport, io: NativeIo<'_>) -> Result<(), Failure> {
    match transport.native() {
        Some(native) => native.call(io),
        None => Err(not_any_more(transport, &io)),
    }
}

#[cold]
fn not_any_more(transport: &mut dyn Transport, io: &NativeIo<'_>) -> Failure {
    let failure = io.gave_up(transport.rank(), "the backend has no collectives of its own any more".into());
    transport.abort(failure.clone());
    transport.failure().unwrap_or(failure)
}

//! What a backend is.

use std::fmt;

use super::native::{Native, NativeIo};
use super::{ContextId, Failure, History, OpenError, RoundIo};
use crate::ids::Rank;
use crate::machine::Machine;

/// A process's hold on the wire.
pub trait Endpoint: Send + Sync + fmt::Debug {
    /// Which of the job's processes this is.
    fn rank(&self) -> Rank;

    /// How many processes the job has.
    fn size(&self) -> usize;

    /// Opens a context among `members`, ranks of the job in the order of their ranks in the context. Every member opens
    /// it, with the same identity and the same members; none need wait for another.
    ///
    /// # Errors
    ///
    /// Where this process is no member, a member is out of range or named twice, or the identity is in use here.
    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError>;

    /// What its messages cost, as far as that is known beforehand: the prices by which a communicator chooses unless it is
    /// [told](crate::Options::machine) others.
    fn machine(&self) -> Machine {
        Machine::THREADS
    }
}

/// One context of an endpoint. See the [module](super) for what it promises.
pub trait Transport: Send + fmt::Debug {
    /// This process's rank in the context.
    fn rank(&self) -> Rank;

    /// How many ranks the context has.
    fn size(&self) -> usize;

    /// Moves the messages of one round.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member.
    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure>;

    /// Fails the context on everybody's behalf. What it failed of is this, unless something else came before:
    /// [`failure`](Self::failure) and the next round say. Does not block.
    fn abort(&mut self, failure: Failure);

    /// The context's failure, if it has one.
    fn failure(&self) -> Option<Failure>;

    /// Notes what this member has called, just before it is dropped. Members that leave a context after other calls than each
    /// other have disagreed, though no message may have told them. A backend that compares what they say as they leave has its
    /// launcher report that ([`launch`](crate::launch()) and `local::run` return it as an error). Ignored unless overridden.
    fn conclude(&mut self, history: History) {
        let _ = history;
    }

    /// The [collectives of its own](super::native), if it has any: on every member or on none, and at any time. None unless
    /// overridden.
    fn native(&mut self) -> Option<&mut dyn Native> {
        None
    }
}

/// The rank of `process` among `members`, if they can be the members of a context of a job of `size` processes: the check
/// that every [`Endpoint::open`] begins with.
///
/// # Errors
///
/// Where `process` is no member, or a member is out of range or named twice.
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

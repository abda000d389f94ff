//! The interface between the engine and a library that executes calls of a context.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::lane::Left;
use crate::ids::Rank;
use crate::transport::{Failure, RankStatus, Signature};

/// The calls of a context that a library executes. The engine moves nothing for them, and cannot end
/// them.
pub(crate) trait LibraryCalls: fmt::Debug + Send {
    /// Returns the call under way, if there is one.
    fn current(&self) -> Option<u64>;

    /// Returns the call under way, or the last one.
    fn latest(&self) -> Option<u64>;

    /// Records the signature of a call, whether the library or the engine executes it.
    fn record(&self, call: u64, signature: &Signature);

    /// Returns what was called in a call, if that is still recorded.
    fn called(&self, call: u64) -> Option<Signature>;

    /// Returns the last changes of what was called: the number of the first call, and the
    /// fingerprint.
    fn changes(&self) -> Vec<(u64, u64)>;

    /// Examines the call under way. The engine calls this at every tick.
    fn watch(&mut self, context: &ContextView<'_>) -> Verdict;

    /// Records the reply of a rank to a status request.
    fn answered(&mut self, from: Rank, request: u64, status: &RankStatus);
}

/// The state of a context at one moment, as its library's calls may examine it.
pub(crate) struct ContextView<'a> {
    pub(crate) now: Instant,
    /// The rank of this process, and the process of each rank.
    pub(crate) me: Rank,
    pub(crate) members: &'a [Rank],
    pub(crate) failure: Option<&'a Failure>,
    /// Returns how a rank has left the context, if it has.
    pub(crate) left: &'a dyn Fn(Rank) -> Option<&'a Left>,
    /// Returns how a rank has gone without its part of a call, if it has.
    pub(crate) gone: &'a dyn Fn(Rank, u64) -> Option<Arc<str>>,
    /// The number of the next status request.
    pub(crate) next_request: u64,
}

/// What follows from an examination of the call under way.
#[derive(Debug)]
pub(crate) enum Verdict {
    Nothing,
    /// All members are to be asked what they know of this call.
    Ask(u64),
    /// The call cannot end. The failure is to be proposed for the context.
    Failed(Failure),
    /// The context has failed, and the call does not return: the job has to end.
    Stuck(Failure),
}

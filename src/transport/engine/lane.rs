//! A lane: the messages between two processes in one context, as one of them sees it.
//!
//! Messages arrive in the order of their ids, so matching needs no search. The next message to
//! arrive is the next awaited one, an unexpected one, which is queued, or a mistake.

use std::sync::Arc;

use super::receiving::Incoming;
use super::sending::Outgoing;
use crate::transport::History;

/// The two directions of a lane; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) into: Incoming,
    pub(crate) out: Outgoing,
    /// The peer's departure from the context, if it has left.
    pub(crate) left: Option<Left>,
}

/// The departure of a process from a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// The last call that it was in.
    pub(crate) call: Option<u64>,
    /// The reason, if it did not simply return; for example a panic.
    pub(crate) how: Option<Arc<str>>,
    /// Fingerprint and description of that call.
    pub(crate) signature: Option<(u64, Arc<str>)>,
    /// The digest of all its calls, unless something has failed.
    pub(crate) history: Option<History>,
    /// The last changes of what it called: the number of the first call, and the fingerprint.
    pub(crate) changes: Vec<(u64, u64)>,
}

impl Left {
    /// Returns what it called in that call, if that was its last.
    pub(crate) fn called(&self, call: u64) -> Option<&(u64, Arc<str>)> {
        self.signature.as_ref().filter(|_| self.call == Some(call))
    }

    /// Returns the fingerprint of what it called in that call, if it made the call and says so.
    pub(crate) fn fingerprint(&self, call: u64) -> Option<u64> {
        if let Some((fingerprint, _)) = self.called(call) {
            return Some(*fingerprint);
        }
        let changes = self.changes.iter().filter(|(first, _)| self.call >= Some(call) && *first <= call);
        changes.max_by_key(|(first, _)| *first).map(|(_, fingerprint)| *fingerprint)
    }

    /// Describes how it left, for a process that is in call `during`.
    pub(crate) fn describe(&self, during: u64) -> Arc<str> {
        match &self.how {
            Some(how) => how.clone(),
            None if self.call.is_some_and(|call| call >= during) => "returned in the middle of the call".into(),
            None => "returned before the call".into(),
        }
    }
}

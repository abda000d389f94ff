//! A lane: the messages between two processes in one context, as one of them sees it.
//!
//! Messages arrive in the order of their ids, so matching needs no search. The next message to
//! arrive is the next awaited one, an unexpected one, which is queued, or a mistake.

use std::ops::Range;
use std::sync::Arc;

use super::cursor::MessageCursor;
use super::flow_control::{Credit, ReceiveWindow, SendWindow};
use super::frame::Header;
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

/// The receiving direction.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The messages of the round that are still to arrive.
    pub(crate) awaited: Range<u32>,
    /// Progress within the first of them: the bytes received, and the position of the rest.
    pub(crate) received: u64,
    pub(crate) to: MessageCursor,
    pub(crate) unexpected: UnexpectedQueue,
    pub(crate) window: ReceiveWindow,
}

/// The sending direction.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// The messages of the round that are still to be sent.
    pub(crate) waiting: Range<u32>,
    /// Progress within the first of them: the bytes written, and the position of the rest.
    pub(crate) written: u64,
    pub(crate) from: MessageCursor,
    /// Whether the last of them is with the connection, but not written yet; and the connection's
    /// count of written bytes when it will be.
    pub(crate) settling: bool,
    pub(crate) end: u64,
    pub(crate) window: SendWindow,
}

/// The unexpected-message queue: messages that arrived before a round awaited them. It holds their
/// frames one after the other; the last may be incomplete.
#[derive(Debug, Default)]
pub(crate) struct UnexpectedQueue {
    /// The frames, from `begin` on.
    bytes: Vec<u8>,
    begin: usize,
}

impl UnexpectedQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.begin == self.bytes.len()
    }

    /// Returns the number of bytes in the queue.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.begin
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reserves room for twice the credit, so that consumed frames make room for new ones without
    /// many moves. Only the part that is used takes memory.
    pub(crate) fn make_room(&mut self, credit: Credit) {
        let most = 2 * credit.lane as usize;
        if self.bytes.capacity() < most {
            self.bytes.reserve_exact(most - self.bytes.len());
        }
    }

    /// Appends bytes of a frame.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        // If the sender is always ahead, the queue is never empty.
        if self.bytes.len() + bytes.len() > self.bytes.capacity() && self.begin >= self.bytes.len() / 2 {
            self.bytes.drain(..self.begin);
            self.begin = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the header of the first message, and what has arrived of its text.
    pub(crate) fn first(&self) -> Option<(Header, &[u8])> {
        let (header, rest) = self.bytes.get(self.begin..)?.split_first_chunk::<{ Header::BYTES }>()?;
        let header = Header::decode(header).ok()?;
        Some((header, &rest[..rest.len().min(header.text as usize)]))
    }

    /// Drops the first message, of which `text` bytes of text have arrived.
    pub(crate) fn pop(&mut self, text: usize) {
        self.begin += Header::BYTES + text;
        if self.is_empty() {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        (self.begin, _) = (0, self.bytes.clear());
    }
}

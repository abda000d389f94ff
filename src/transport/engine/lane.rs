//! A lane: one pair of processes in one context, as one of the two sees it.
//!
//! What goes from one to the other is in the order of its stamps, so nothing is searched for: the
//! next message that comes is the next one awaited, or one that is early and is kept, or a mistake.
//!
//! **Credit.** A short message, and the head of a long one, is sent without being asked for, as
//! long as what its receiver has not taken yet stays within the [`Credit`]; so what is kept for a
//! context that nobody drives is bounded. The rest, and what there is no credit for, waits until
//! its receiver says that it is ready, and goes straight to where it belongs.

use std::ops::Range;
use std::sync::Arc;

use super::cursor::Cursor;
use super::frame::{Header, MessageId};
use crate::transport::History;

/// How much goes without being asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    /// Bytes of one message, at most: its head.
    pub(crate) message: u64,
    /// Bytes of all that is not taken yet, headers counted.
    pub(crate) lane: u64,
}

impl Credit {
    /// In a job of so many ranks: of what a context keeps at most, 64 MiB, each of them gets its
    /// part.
    pub(crate) fn among(ranks: usize) -> Self {
        let lane = ((64 << 20) / ranks.max(1) as u64).clamp(16 << 10, 256 << 10);
        Self { message: lane / 4, lane }
    }

    /// How much of a message goes without being asked for.
    pub(crate) fn head(self, bytes: u64) -> u64 {
        bytes.min(self.message)
    }

    /// What a message costs.
    pub(crate) fn cost(bytes: u64) -> u64 {
        Header::BYTES as u64 + bytes
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) into: Incoming,
    pub(crate) out: Outgoing,
    /// How the other has left the context, if it has.
    pub(crate) left: Option<Left>,
}

/// How somebody left a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// The last call it was in.
    pub(crate) call: Option<u64>,
    /// What it says of it: nothing, unless it panicked.
    pub(crate) how: Option<Arc<str>>,
    /// What that call was: fingerprint, words.
    pub(crate) signature: Option<(u64, Arc<str>)>,
    /// What it has called in all, unless something has failed.
    pub(crate) history: Option<History>,
    /// The last changes of what it called: from which call on, and the fingerprint.
    pub(crate) changes: Vec<(u64, u64)>,
}

impl Left {
    /// What it called in that call, if it was its last.
    pub(crate) fn called(&self, call: u64) -> Option<&(u64, Arc<str>)> {
        self.signature.as_ref().filter(|_| self.call == Some(call))
    }

    /// How it left, for somebody in that call.
    pub(crate) fn describe(&self, during: u64) -> Arc<str> {
        match &self.how {
            Some(how) => how.clone(),
            None if self.call.is_some_and(|call| call >= during) => "returned in the middle of the call".into(),
            None => "returned before the call".into(),
        }
    }
}

/// What comes.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// Those of the round's messages that are still to come.
    pub(crate) awaited: Range<u32>,
    /// How much of the first of them is there, and where the rest goes.
    pub(crate) received: u64,
    pub(crate) to: Cursor,
    pub(crate) unexpected: UnexpectedQueue,
    /// Bytes that came without being asked for; of those, how many have been taken; and of how many
    /// the sender knows.
    pub(crate) arrived: u64,
    pub(crate) consumed: u64,
    pub(crate) reported: u64,
    /// A message that waits at its sender.
    pub(crate) rts: Option<Header>,
}

/// What goes.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Those of the round's messages that are still to go.
    pub(crate) waiting: Range<u32>,
    /// How much of the first of them has gone, and where the rest is.
    pub(crate) written: u64,
    pub(crate) from: Cursor,
    /// Whether the last of them is with the connection, which has not got rid of it; and how many
    /// bytes of all that goes over the connection have gone when it has.
    pub(crate) settling: bool,
    pub(crate) end: u64,
    /// Bytes sent without being asked for, and how many of those the receiver has taken as far as
    /// is known.
    pub(crate) sent: u64,
    pub(crate) consumed: u64,
    /// The last call and round whose messages the receiver awaits.
    pub(crate) cts: Option<(u64, u32)>,
    /// What was offered last.
    pub(crate) rts_sent: Option<MessageId>,
}

impl Outgoing {
    /// Whether a message may go, and if so, whether on credit.
    pub(crate) fn may_go(&self, message_id: MessageId, bytes: u64, credit: Credit) -> Option<bool> {
        if self.cts.is_some_and(|cts| cts >= (message_id.call, message_id.round)) {
            return Some(false);
        }
        let open = self.sent - self.consumed;
        (self.written == 0 && open + Credit::cost(credit.head(bytes)) <= credit.lane).then_some(true)
    }
}

/// Messages that came before anybody awaited them: their frames, one after the other, the last
/// perhaps not whole yet.
#[derive(Debug, Default)]
pub(crate) struct UnexpectedQueue {
    /// Those from `begin` on.
    bytes: Vec<u8>,
    begin: usize,
}

impl UnexpectedQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.begin == self.bytes.len()
    }

    /// How many bytes are kept, and how many there is room for.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.begin
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Makes room for all that may come within that credit, and as much again, so that what is
    /// taken leaves its place to what comes without moving it often. Of memory, it costs what is
    /// used.
    pub(crate) fn make_room(&mut self, credit: Credit) {
        let most = 2 * credit.lane as usize;
        if self.bytes.capacity() < most {
            self.bytes.reserve_exact(most - self.bytes.len());
        }
    }

    /// Keeps what comes.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        // A sender that is always ahead never leaves it empty.
        if self.bytes.len() + bytes.len() > self.bytes.capacity() && self.begin >= self.bytes.len() / 2 {
            self.bytes.drain(..self.begin);
            self.begin = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The header of the first message, and as much of its text as is there.
    pub(crate) fn first(&self) -> Option<(Header, &[u8])> {
        let (header, rest) = self.bytes.get(self.begin..)?.split_first_chunk::<{ Header::BYTES }>()?;
        let header = Header::decode(header).ok()?;
        Some((header, &rest[..rest.len().min(header.text as usize)]))
    }

    /// Drops the first message, of which so many bytes of text are there.
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

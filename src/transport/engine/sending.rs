//! The sending direction of a lane: the messages that the round sends.
#![allow(unsafe_code)]

use std::ops::Range;

use super::cursor::MessageCursor;
use super::flow_control::SendWindow;
use crate::plan::Run;
use crate::transport::bases::Bases;

/// The sending direction; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// The messages of the round that are still to be sent, by index.
    waiting: Range<u32>,
    /// Progress within the first of them: the bytes written, and the position of the rest.
    written: u64,
    from: MessageCursor,
    /// The connection's count of written bytes when the last of them will be written, if the
    /// connection has it.
    settles_at: Option<u64>,
    pub(crate) window: SendWindow,
}

impl Outgoing {
    /// Begins to send the messages of a round.
    pub(crate) fn begin(&mut self, messages: Range<u32>) {
        (self.waiting, self.written, self.from) = (messages, 0, MessageCursor::default());
    }

    /// Sends nothing more of the round. Returns whether a message has begun.
    pub(crate) fn withdraw(&mut self) -> bool {
        (self.waiting, self.settles_at) = (0..0, None);
        std::mem::take(&mut self.written) > 0
    }

    /// Returns the index of the next message.
    pub(crate) fn next(&self) -> Option<u32> {
        self.is_waiting().then_some(self.waiting.start)
    }

    /// Returns whether messages are still to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether messages are still to be sent, or to be written by the connection.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_waiting() || self.settles_at.is_some()
    }

    /// Returns how many bytes of the next message have been written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Returns where the rest of the next message is.
    pub(crate) fn place(&self) -> MessageCursor {
        self.from
    }

    /// Counts bytes of the next message that were written from their place.
    pub(crate) fn advance(&mut self, runs: &[Run], bytes: usize) {
        self.from.advance(runs, bytes);
        self.written += bytes as u64;
    }

    /// Appends bytes of the next message to `into`.
    ///
    /// # Safety
    ///
    /// As for [`MessageCursor::take`].
    pub(crate) unsafe fn take(&mut self, runs: &[Run], bases: &Bases, bytes: usize, into: &mut Vec<u8>) {
        // SAFETY: the caller promises it.
        unsafe { self.from.take(runs, bases, bytes, into) };
        self.written += bytes as u64;
    }

    /// Completes the next message, which is written once the connection has written `end` bytes.
    pub(crate) fn complete(&mut self, end: u64) {
        self.waiting.start += 1;
        (self.written, self.from) = (0, MessageCursor::default());
        self.settles_at = self.waiting.is_empty().then_some(end);
    }

    /// Returns whether the last message has just been written, by a connection that has written
    /// this many bytes.
    pub(crate) fn settle(&mut self, bytes_written: u64) -> bool {
        self.settles_at.take_if(|end| *end <= bytes_written).is_some()
    }
}

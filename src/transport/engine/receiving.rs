//! The receiving direction of a lane: the messages that the round awaits, and those that came early.
#![allow(unsafe_code)]

use std::ops::Range;

use super::cursor::MessageCursor;
use super::flow_control::{Credit, ReceiveWindow};
use super::frame::Header;
use crate::plan::Run;
use crate::transport::bases::Bases;

/// The receiving direction; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The messages of the round that are still to arrive, by index.
    awaited: Range<u32>,
    /// Progress within the first of them: the bytes received, and the position of the rest.
    received: u64,
    to: MessageCursor,
    pub(crate) unexpected: UnexpectedQueue,
    pub(crate) window: ReceiveWindow,
}

impl Incoming {
    /// Begins to await the messages of a round.
    pub(crate) fn begin(&mut self, messages: Range<u32>, credit: Credit) {
        self.unexpected.make_room(credit);
        (self.awaited, self.received, self.to) = (messages, 0, MessageCursor::default());
    }

    /// Awaits nothing more of the round.
    pub(crate) fn withdraw(&mut self) {
        self.awaited = 0..0;
    }

    /// Returns the index of the next awaited message.
    pub(crate) fn next(&self) -> Option<u32> {
        self.is_awaited().then_some(self.awaited.start)
    }

    pub(crate) fn is_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns how many bytes of the next message have been received.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Returns where the rest of the next message goes.
    pub(crate) fn place(&self) -> MessageCursor {
        self.to
    }

    /// Counts bytes of the next message that are in their place already.
    pub(crate) fn advance(&mut self, runs: &[Run], bytes: usize) {
        self.to.advance(runs, bytes);
        self.received += bytes as u64;
    }

    /// Copies bytes of the next message into their place.
    ///
    /// # Safety
    ///
    /// As for [`MessageCursor::put`].
    pub(crate) unsafe fn put(&mut self, runs: &[Run], bases: &Bases, bytes: &[u8]) {
        // SAFETY: the caller promises it.
        unsafe { self.to.put(runs, bases, bytes) };
        self.received += bytes.len() as u64;
    }

    /// Copies what has arrived of the first unexpected message into the place of the next message,
    /// and drops it from the queue. Returns the number of bytes.
    ///
    /// # Safety
    ///
    /// As for [`MessageCursor::put`].
    pub(crate) unsafe fn put_unexpected(&mut self, runs: &[Run], bases: &Bases) -> usize {
        let text = self.unexpected.first().map_or(&[][..], |(_, text)| text);
        // SAFETY: the caller promises it; the queue is no buffer of a round.
        unsafe { self.to.put(runs, bases, text) };
        let count = text.len();
        self.received += count as u64;
        self.unexpected.pop(count);
        count
    }

    /// Completes the next message. Returns whether it was the last.
    pub(crate) fn complete(&mut self) -> bool {
        self.awaited.start += 1;
        (self.received, self.to) = (0, MessageCursor::default());
        self.awaited.is_empty()
    }
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

//! The interface to the library below a wire: a path for long texts, which lends memory to the
//! library, and the end of the job if that memory does not come back.
//!
//! This stays within the crate. An event that reports too early that a text was sent would let the
//! library use memory that is free again.

use std::fmt;
use std::sync::Arc;

use super::Failure;

/// A library below a wire that takes the job with it when a process ends before all others have
/// acknowledged that.
pub trait Library: fmt::Debug {
    /// Ends the job, because memory that was lent to the library does not come back. The engine
    /// calls this until it does.
    fn abort(&mut self, why: &Failure);
}

/// An out-of-band path, straight from memory to memory, as a network with remote memory access has.
/// It carries one text at a time to and from each process, each announced in the stream.
/// [Events](super::wire::WireEvent) report what is complete.
#[allow(unsafe_code)]
pub trait OutOfBand {
    /// Returns the minimum length of a text, in bytes, for which this path pays off.
    fn least(&self) -> usize;

    /// Begins to send a text.
    ///
    /// # Errors
    ///
    /// Why nothing can be sent, as in [`Transferred::Closed`](super::wire::Transferred::Closed).
    ///
    /// # Safety
    ///
    /// The memory must stay valid and unmodified until an event reports that it was sent.
    unsafe fn send(&mut self, to: usize, from: *const u8, bytes: usize) -> Result<(), Arc<str>>;

    /// Begins to receive a text, into `into` or else into a bounce buffer.
    ///
    /// # Errors
    ///
    /// Why nothing can be received, as in [`Transferred::Closed`](super::wire::Transferred::Closed).
    ///
    /// # Safety
    ///
    /// There must be room for the text, and nothing else may access this memory until it has arrived
    /// or the receive was called back.
    unsafe fn receive(&mut self, from: usize, into: Option<*mut u8>, bytes: usize) -> Result<(), Arc<str>>;

    /// Redirects a receive under way to a bounce buffer. Returns whether the memory is free again,
    /// because the receive was redirected or is complete. Otherwise it is just completing, and the
    /// engine calls this again.
    fn call_back(&mut self, from: usize) -> bool;

    /// Takes the bounce buffer of a completed receive, with the whole text; `None` if the text went
    /// straight into its place. The engine returns the buffer by [`put_back`](Self::put_back).
    fn bounce_buffer(&mut self, from: usize) -> Option<Vec<u8>>;

    /// Returns a bounce buffer.
    fn put_back(&mut self, buffer: Vec<u8>);
}

//! The wire: what carries the engine's bytes. It offers a byte stream to and from each other
//! process, and something to sleep on.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Machine;
use crate::transport::Failure;

/// Carries bytes between processes, behind the engine's lock.
pub(crate) trait Wire: fmt::Debug + Send {
    /// Reads once from a process.
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Went;

    /// Writes once to a process. If it does not accept everything, a [`WireEvent`] reports when
    /// there is room.
    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Went;

    /// Called when nothing is left to be written to a process. Returns why nothing can be written
    /// any more, if so.
    fn rest(&mut self, to: usize) -> Option<Arc<str>> {
        let _ = to;
        None
    }

    /// Collects events, on wires without a [`Sleeper`].
    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        let _ = events;
    }

    /// Returns the out-of-band path for long texts, if there is one.
    fn out_of_band(&mut self) -> Option<&mut dyn OutOfBand> {
        None
    }

    /// Returns the number of writes that are not complete and would be lost if the process ended.
    fn under_way(&self) -> usize {
        0
    }

    /// Closes the connection with a process: nothing is read or written any more.
    fn close(&mut self, process: usize);

    /// Called at the end of the process: nothing is read or written any more. `well` says that all
    /// others have acknowledged this process's FIN, and that it has read those acknowledgements.
    fn end(&mut self, well: bool) {
        let _ = well;
    }

    /// Ends the job, because memory that was lent to the layer below does not come back.
    fn abort(&mut self, why: &Failure) {
        let _ = why;
    }

    /// Returns the costs of messages over this wire.
    fn machine(&self) -> Machine;
}

/// An out-of-band path, straight from memory to memory. It carries one text at a time to and from
/// each process, each announced in the stream. [`WireEvent`]s report what is complete.
#[allow(unsafe_code)]
pub(crate) trait OutOfBand {
    /// Returns the minimum length of a text for which this path pays off.
    fn least(&self) -> usize;

    /// Begins to send `bytes` bytes.
    ///
    /// # Safety
    ///
    /// The memory must stay valid and unmodified until an event reports that it was sent.
    unsafe fn send(&mut self, to: usize, from: *const u8, bytes: usize) -> Result<(), Arc<str>>;

    /// Begins to receive `bytes` bytes, into `into` or else into a bounce buffer.
    ///
    /// # Safety
    ///
    /// There must be room for them, and nothing else may access this memory until they have arrived
    /// or the receive was called back.
    unsafe fn receive(&mut self, from: usize, into: Option<*mut u8>, bytes: usize) -> Result<(), Arc<str>>;

    /// Redirects a receive under way to a bounce buffer. Returns whether the memory is free again,
    /// because the receive was redirected or is complete. Otherwise it is just completing; call
    /// this again.
    fn call_back(&mut self, from: usize) -> bool;

    /// Takes the bounce buffer of a completed receive; `None` if it went straight into its place.
    /// The buffer is to be returned by [`put_back`](Self::put_back).
    fn bounce_buffer(&mut self, from: usize) -> Option<Vec<u8>>;

    /// Returns a bounce buffer.
    fn put_back(&mut self, buffer: Vec<u8>);
}

/// The result of one read or write.
#[derive(Debug)]
pub(crate) enum Went {
    /// Moved this many bytes. There may be more, or room for more.
    On(usize),
    /// Moved this many bytes. There is no more, or no room, for now.
    Stuck(usize),
    /// The connection has ended.
    Ended(Arc<str>),
}

/// An event on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireEvent {
    pub(crate) process: usize,
    /// Bytes have arrived.
    pub(crate) readable: bool,
    /// There is room for writing.
    pub(crate) writable: bool,
    /// The other end is closed. Bytes that it sent may still be unread.
    pub(crate) ended: bool,
    /// An out-of-band send, or receive, is complete.
    pub(crate) sent: bool,
    pub(crate) received: bool,
    /// Whether to read at once, awaited or not, because unread bytes hold up others.
    pub(crate) urgent: bool,
}

/// The object that a thread sleeps on, without the engine's lock, until an event or a limit. A wire
/// without a sleeper is polled: a waiting thread yields, and later sleeps for increasing times.
pub(crate) trait Sleeper: fmt::Debug + Send {
    /// Sleeps; returns at once if the limit is zero.
    fn sleep(&mut self, limit: Duration, events: &mut Vec<WireEvent>);
}

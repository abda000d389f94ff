//! What an engine needs of whatever carries its bytes: a stream of them to and from each of the
//! other processes, and something to sleep with.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Machine;
use crate::transport::Failure;

/// What carries the bytes. It is behind the engine's lock.
pub(crate) trait Wire: fmt::Debug + Send {
    /// Reads once what has come from a process.
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Went;

    /// Writes these once. Where not all of it could go, an [`Event`] tells when there is room.
    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Went;

    /// Nothing waits to be written to a process any more. Returns why nothing can be.
    fn rest(&mut self, to: usize) -> Option<Arc<str>> {
        let _ = to;
        None
    }

    /// Looks what has happened, for wires of which no [`Sleeper`] tells.
    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        let _ = events;
    }

    /// What carries long texts apart from the stream, if something does.
    fn out_of_band(&mut self) -> Option<&mut dyn OutOfBand> {
        None
    }

    /// How much was written that has not gone yet, where that is lost if the process ends.
    fn under_way(&self) -> usize {
        0
    }

    /// Nothing comes from a process, or goes there, any more.
    fn close(&mut self, process: usize);

    /// The process is at its end: nothing more is to be read or written. `well` if all the others
    /// have heard all that it had to say, and it has heard that.
    fn end(&mut self, well: bool) {
        let _ = well;
    }

    /// Ends the job, for this reason: what is lent to something beneath does not come back.
    fn abort(&mut self, why: &Failure) {
        let _ = why;
    }

    /// What messages cost over it.
    fn machine(&self) -> Machine;
}

/// Texts that go apart from the stream, straight from memory to memory: one at a time to and from
/// each process, each announced in the stream. [`Event`]s tell what is done.
#[allow(unsafe_code)]
pub(crate) trait OutOfBand {
    /// From how many bytes on that is worth its while.
    fn least(&self) -> usize;

    /// Begins to send so many bytes.
    ///
    /// # Safety
    ///
    /// They are there, and nobody writes them, until they have gone.
    unsafe fn send(&mut self, to: usize, from: *const u8, bytes: usize) -> Result<(), Arc<str>>;

    /// Begins to receive so many bytes: there, or if nowhere is said, on a desk.
    ///
    /// # Safety
    ///
    /// There is room for them, and nobody else touches it, until they have come or are called back.
    unsafe fn receive(&mut self, from: usize, into: Option<*mut u8>, bytes: usize) -> Result<(), Arc<str>>;

    /// Has what is being received come on a desk after all. Whether it does, or has come; if not,
    /// it is just coming, and is to be called back again.
    fn call_back(&mut self, from: usize) -> bool;

    /// The desk on which something has come; none if it went straight to its place. To be put back.
    fn bounce_buffer(&mut self, from: usize) -> Option<Vec<u8>>;

    /// Puts back a desk.
    fn put_back(&mut self, buffer: Vec<u8>);
}

/// What came of reading or writing once.
#[derive(Debug)]
pub(crate) enum Went {
    /// So many bytes; there may be more, or room for more.
    On(usize),
    /// So many bytes, and there is no more, or no room, for now.
    Stuck(usize),
    /// The connection is at its end.
    Ended(Arc<str>),
}

/// Something happened on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireEvent {
    pub(crate) process: usize,
    /// Something has come.
    pub(crate) readable: bool,
    /// There is room for what is to go.
    pub(crate) writable: bool,
    /// The other end is closed; what it has sent may still be there.
    pub(crate) ended: bool,
    /// What went apart from the stream has gone, or come.
    pub(crate) sent: bool,
    pub(crate) received: bool,
    /// It is read at once, whether somebody waits for it or not: what lies unread is in the way of
    /// others.
    pub(crate) urgent: bool,
}

/// What a thread sleeps with, without the engine's lock, until something happens or time is up. A
/// wire that has none is polled: who waits lets others run, and then sleeps, a little longer each
/// time.
pub(crate) trait Sleeper: fmt::Debug + Send {
    /// Sleeps; returns at once if the limit is zero.
    fn sleep(&mut self, limit: Duration, events: &mut Vec<WireEvent>);
}

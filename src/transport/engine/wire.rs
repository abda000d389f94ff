//! What an engine needs of whatever carries its bytes: a stream of them to and from each of the other processes, and
//! something to sleep with.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Machine;

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
    fn poll(&mut self, events: &mut Vec<Event>) {
        let _ = events;
    }

    /// How much was written that has not gone yet, where that is lost if the process ends.
    fn under_way(&self) -> usize {
        0
    }

    /// Nothing comes from a process, or goes there, any more.
    fn close(&mut self, process: usize);

    /// The process is at its end: nothing more is to be read or written. `well` if all the others have heard all that it had
    /// to say, and it has heard that.
    fn end(&mut self, well: bool) {
        let _ = well;
    }

    /// What messages cost over it.
    fn machine(&self) -> Machine;
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
pub(crate) struct Event {
    pub(crate) process: usize,
    /// Something has come.
    pub(crate) readable: bool,
    /// There is room for what is to go.
    pub(crate) writable: bool,
    /// The other end is closed; what it has sent may still be there.
    pub(crate) ended: bool,
    /// It is read at once, whether somebody waits for it or not: what lies unread is in the way of others.
    pub(crate) urgent: bool,
}

/// What a thread sleeps with, without the engine's lock, until something happens or time is up. A wire that has none is
/// polled: who waits lets others run, and then sleeps, a little longer each time.
pub(crate) trait Sleeper: fmt::Debug + Send {
    /// Sleeps; returns at once if the limit is zero.
    fn sleep(&mut self, limit: Duration, events: &mut Vec<Event>);
}

//! Wires carry the bytes between processes, for backends that are built on the progress engine of
//! this crate.
//!
//! This module is of the [lower tier](crate#stability) of stability.
//!
//! A [`Wire`] is a stream of bytes to and from each other process, and little more. The engine does
//! the rest of what a [transport](super) promises: it frames, matches and delivers messages, limits
//! what an idle context keeps, detects lost and silent processes, follows the wait-for graph, and
//! agrees on one failure. The backends over TCP and MPI are wires. [`WireJoin`](super::WireJoin)
//! makes an endpoint of a wire.
//!
//! # The contract of a wire
//!
//! - **Streams.** The bytes between two processes arrive in order, each once. If a connection is
//!   lost, what has arrived is read first, then the reads say [`Transferred::Closed`].
//! - **One caller.** The engine calls a wire behind its lock, so from one thread at a time. No
//!   method waits or panics.
//! - **Events** are reported once for each change. A read that says [`Transferred::Blocked`] is
//!   followed by a [`readable`](WireEvent::readable) event when more has arrived, and a write by a
//!   [`writable`](WireEvent::writable) event when there is room. The end of a stream is reported by
//!   an [`ended`](WireEvent::ended) event, even if bytes before it are unread. Events without cause
//!   do no harm. At the start, every stream counts as readable and writable. The engine may also
//!   read and write without an event.
//! - **Events come from** the [`Sleeper`], if there is one, and otherwise from [`Wire::poll`]. A
//!   thread that waits then polls: at first it yields between two polls, and later it sleeps for up
//!   to a millisecond.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;

use super::out_of_band::{Library, OutOfBand};
use crate::machine::Machine;

/// Carries bytes between the processes of a job. The [module](self) has the contract.
///
/// A process is identified by its rank in the job. The engine names only other processes than this
/// one.
pub trait Wire: fmt::Debug + Send {
    /// Reads once from a process, into these slices in order.
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred;

    /// Writes once to a process, from these slices in order.
    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred;

    /// Called when nothing is left to be written to a process. By default it does nothing.
    ///
    /// # Errors
    ///
    /// Why nothing can be written any more, as in [`Transferred::Closed`].
    fn flush(&mut self, to: usize) -> Result<(), Arc<str>> {
        let _ = to;
        Ok(())
    }

    /// Appends the events since the last poll, if no [`Sleeper`] reports them. By default there are
    /// none.
    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        let _ = events;
    }

    /// Returns the number of writes that are not complete and would be lost if the process ended.
    /// By default it is 0.
    fn under_way(&self) -> usize {
        0
    }

    /// Closes the connection with a process, in both directions. Nothing is read or written any
    /// more. The process reads what was written before, and then [`Transferred::Closed`].
    fn close(&mut self, process: usize);

    /// Called at the end of this process. Nothing is read or written any more. `well` says that all
    /// others have read what this process has written. By default it does nothing.
    fn end(&mut self, well: bool) {
        let _ = well;
    }

    /// Returns the prices of messages over this wire. By default they are those of TCP.
    fn machine(&self) -> Machine {
        Machine::TCP
    }

    // For wires of this crate only: other crates cannot name these types.

    /// Returns the out-of-band path for long texts, if there is one.
    #[doc(hidden)]
    fn out_of_band(&mut self) -> Option<&mut dyn OutOfBand> {
        None
    }

    /// Returns the library below, if it takes the job with it when this process ends before all
    /// others have acknowledged that.
    #[doc(hidden)]
    fn library(&mut self) -> Option<&mut dyn Library> {
        None
    }
}

/// The result of one read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transferred {
    /// This number of bytes was transferred, and there may be more, or room for more.
    More(usize),
    /// This number of bytes was transferred, and there is no more, or no room, for now.
    Blocked(usize),
    /// The connection has ended. The text continues a sentence about the rank, such as "its
    /// connection is closed": failures say "rank 3 is gone: its connection is closed".
    Closed(Arc<str>),
}

/// An event on the connection with a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireEvent {
    /// The process, by its rank in the job. Events of other numbers are ignored.
    pub process: usize,
    /// Bytes have arrived, or the stream has ended.
    pub readable: bool,
    /// There is room for writing.
    pub writable: bool,
    /// The other end is closed. Bytes that it sent may still be unread.
    pub ended: bool,
    /// The out-of-band send to the process is complete.
    pub(crate) sent: bool,
    /// The out-of-band receive from the process is complete.
    pub(crate) received: bool,
    /// The engine is to read at once, even what no round awaits, because unread bytes hold up
    /// others, or because the stream has ended.
    pub urgent: bool,
}

/// The object that a thread sleeps on, without the engine's lock.
pub trait Sleeper: fmt::Debug + Send {
    /// Sleeps until there is an event, or for this limit, and appends the events. Returns at once
    /// if the limit is zero.
    fn sleep(&mut self, limit: Duration, events: &mut Vec<WireEvent>);
}

impl Transferred {
    /// Returns this result of a read or write of slices of `room` bytes in all. A wire that reports
    /// more cannot be relied on.
    pub(crate) fn within(self, room: usize) -> Self {
        match self {
            Self::More(count) | Self::Blocked(count) if count > room => {
                Self::Closed(format!("its wire transfers {count} bytes of {room}").into())
            }
            transferred => transferred,
        }
    }
}

impl WireEvent {
    /// Returns the event that bytes have arrived from a process.
    #[must_use]
    pub fn readable(process: usize) -> Self {
        Self { process, readable: true, ..Self::default() }
    }

    /// Returns the event that there is room for writing to a process.
    #[must_use]
    pub fn writable(process: usize) -> Self {
        Self { process, writable: true, ..Self::default() }
    }

    /// Returns the event that a process has closed its end.
    #[must_use]
    pub fn ended(process: usize) -> Self {
        Self { process, readable: true, ended: true, urgent: true, ..Self::default() }
    }
}

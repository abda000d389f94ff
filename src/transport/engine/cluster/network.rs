//! The wires between simulated processes: a stream of bytes in each direction between every two.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::Failure;
use crate::transport::out_of_band::Library;
use crate::transport::wire::{Transferred, Wire, WireEvent};

/// The streams between all processes, and the events that each has not taken yet.
#[derive(Debug)]
pub(super) struct Network {
    size: usize,
    /// Maximum number of bytes of a stream that are written and not read.
    capacity: usize,
    streams: Vec<Stream>,
    events: Vec<Vec<WireEvent>>,
}

/// The bytes from one process to another.
#[derive(Debug, Default)]
struct Stream {
    /// Bytes that were written and have not arrived, and bytes that have arrived and were not read.
    in_flight: VecDeque<u8>,
    arrived: VecDeque<u8>,
    /// Whether a write was refused because there was no room.
    awaits_room: bool,
    /// Whether the sender has closed its end, and whether that has arrived.
    closed: bool,
    end_arrived: bool,
    /// Whether the receiver has closed its end.
    refused: bool,
}

impl Stream {
    fn is_pending(&self) -> bool {
        !self.refused && (!self.in_flight.is_empty() || self.closed && !self.end_arrived)
    }

    /// Closes the receiver's end.
    fn refuse(&mut self) {
        self.refused = true;
        self.in_flight.clear();
        self.arrived.clear();
    }
}

impl Network {
    pub(super) fn new(size: usize, capacity: usize) -> Self {
        let streams = (0..size * size).map(|_| Stream::default()).collect();
        Self { size, capacity, streams, events: vec![Vec::new(); size] }
    }

    fn stream(&mut self, from: usize, to: usize) -> &mut Stream {
        &mut self.streams[from * self.size + to]
    }

    /// Adds an event to those of a process.
    fn report(&mut self, to: usize, event: WireEvent) {
        let events = &mut self.events[to];
        match events.iter_mut().find(|known| known.process == event.process) {
            Some(known) => {
                known.readable |= event.readable;
                known.writable |= event.writable;
                known.ended |= event.ended;
                known.urgent |= event.urgent;
            }
            None => events.push(event),
        }
    }

    /// Returns whether a process has events that it has not taken.
    pub(super) fn has_events(&self, process: usize) -> bool {
        !self.events[process].is_empty()
    }

    /// Lists the streams on which something can arrive.
    pub(super) fn pending(&self, into: &mut Vec<(usize, usize)>) {
        let pending = self.streams.iter().enumerate().filter(|(_, stream)| stream.is_pending());
        into.extend(pending.map(|(at, _)| (at / self.size, at % self.size)));
    }

    /// Lets up to `count` bytes arrive, and after the last one the end, if the stream has ended.
    pub(super) fn arrive(&mut self, (from, to): (usize, usize), count: usize) {
        let stream = self.stream(from, to);
        let count = count.min(stream.in_flight.len());
        stream.arrived.extend(stream.in_flight.drain(..count));
        let ended = stream.closed && stream.in_flight.is_empty();
        stream.end_arrived |= ended;
        self.report(to, WireEvent { process: from, readable: true, ended, urgent: ended, ..WireEvent::default() });
    }

    /// Closes both directions between two processes at once. Of what is in flight, `kept` bytes
    /// still arrive.
    pub(super) fn cut(&mut self, one: usize, other: usize, kept: usize) {
        for (from, to) in [(one, other), (other, one)] {
            let stream = self.stream(from, to);
            stream.in_flight.truncate(kept);
            stream.closed = true;
        }
    }

    /// Closes all connections of a process that ends or was killed. Of what it has in flight to each
    /// other, `kept` bytes still arrive.
    pub(super) fn end(&mut self, process: usize, kept: usize) {
        for other in (0..self.size).filter(|other| *other != process) {
            let out = self.stream(process, other);
            out.in_flight.truncate(kept);
            out.closed = true;
            self.stream(other, process).refuse();
        }
    }
}

/// A process's end of the network.
#[derive(Debug)]
pub(super) struct SimulatedWire {
    pub(super) me: usize,
    pub(super) network: Arc<Mutex<Network>>,
    /// Whether it has a library, as MPI's wire, which takes the job with it.
    pub(super) takes_the_job: bool,
}

pub(super) fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire for SimulatedWire {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred {
        let mut network = lock(&self.network);
        let stream = network.stream(from, self.me);
        if stream.arrived.is_empty() {
            return if stream.end_arrived {
                Transferred::Closed("its connection is closed".into())
            } else {
                Transferred::Blocked(0)
            };
        }
        let (mut count, mut full) = (0, true);
        for slice in into {
            let (first, _) = stream.arrived.as_slices();
            // The rest of a ring buffer counts as not yet there.
            let here = slice.len().min(first.len());
            slice[..here].copy_from_slice(&first[..here]);
            stream.arrived.drain(..here);
            (count, full) = (count + here, full && here == slice.len());
        }
        let more = !stream.arrived.is_empty();
        if count > 0 && take(&mut stream.awaits_room) {
            network.report(from, WireEvent { process: self.me, writable: true, ..WireEvent::default() });
        }
        if full || more { Transferred::More(count) } else { Transferred::Blocked(count) }
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred {
        let mut network = lock(&self.network);
        let capacity = network.capacity;
        let stream = network.stream(self.me, to);
        if stream.closed || stream.refused {
            return Transferred::Closed("its connection failed: broken pipe".into());
        }
        let mut count = 0;
        for slice in from {
            let room = capacity.saturating_sub(stream.in_flight.len() + stream.arrived.len());
            let here = slice.len().min(room);
            stream.in_flight.extend(&slice[..here]);
            count += here;
            if here < slice.len() {
                stream.awaits_room = true;
                return Transferred::Blocked(count);
            }
        }
        Transferred::More(count)
    }

    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        events.append(&mut lock(&self.network).events[self.me]);
    }

    fn close(&mut self, process: usize) {
        let mut network = lock(&self.network);
        network.stream(self.me, process).closed = true;
        network.stream(process, self.me).refuse();
    }

    fn end(&mut self, _: bool) {
        lock(&self.network).end(self.me, usize::MAX);
    }

    fn library(&mut self) -> Option<&mut dyn Library> {
        self.takes_the_job.then_some(self)
    }
}

impl Library for SimulatedWire {
    fn abort(&mut self, why: &Failure) {
        panic!("no memory is lent: {why}");
    }
}

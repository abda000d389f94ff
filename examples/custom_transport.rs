//! A user-defined backend: threads that send bytes to each other through queues in memory.
//!
//! The backend has only a [`Wire`] of its own: a stream of bytes between every two ranks. The
//! progress engine of the crate makes a transport of it, which keeps the whole contract of
//! [`necklace::transport`]: messages, deadlines, lost ranks, and one failure for all. The
//! conformance suite for transports checks that.
//!
//! The wire is slow: all ranks share one lock and one condition variable.
//! [`necklace::transport::local`] is the fast backend among threads.
//!
//! ```text
//! cargo run --release --example custom_transport
//! ```
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::error::Error;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::take;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use necklace::Communicator;
use necklace::machine::Machine;
use necklace::topology::Grid;
use necklace::transport::conformance::{self, Fixture};
use necklace::transport::wire::{Sleeper, Transferred, Wire, WireEvent};
use necklace::transport::{Endpoint, WireJoin};

/// Maximum number of bytes of a stream that are written and not read.
const CAPACITY: usize = 256 << 10;

/// The queues between all ranks of a job.
#[derive(Debug)]
struct Queues {
    state: Mutex<State>,
    /// Notified after every event.
    happened: Condvar,
}

#[derive(Debug)]
struct State {
    /// The stream from each rank to each other.
    streams: Vec<Vec<Stream>>,
    /// The events that each rank has not taken yet.
    events: Vec<Vec<WireEvent>>,
}

/// The bytes from one rank to another.
#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: VecDeque<u8>,
    /// Whether a write has found no room.
    awaits_room: bool,
    /// Whether one of the ranks has closed the connection.
    closed: bool,
}

/// A rank's end of the queues. One copy reads and writes, another sleeps.
#[derive(Clone, Debug)]
struct Mailbox {
    queues: Arc<Queues>,
    rank: usize,
}

/// Creates the endpoints of a new job.
fn job(size: usize) -> Result<Vec<Arc<dyn Endpoint>>, std::io::Error> {
    let state = State { streams: vec![vec![Stream::default(); size]; size], events: vec![Vec::new(); size] };
    let queues = Arc::new(Queues { state: Mutex::new(state), happened: Condvar::new() });
    let endpoint = |rank| {
        let mailbox = Mailbox { queues: Arc::clone(&queues), rank };
        WireJoin::new(rank, size).endpoint(Box::new(mailbox.clone()), Some(Box::new(mailbox)))
    };
    (0..size).map(endpoint).collect()
}

impl Mailbox {
    /// Locks the state. A poisoned lock is fine, because no panic leaves the state half written.
    fn state(&self) -> MutexGuard<'_, State> {
        self.queues.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports an event to another rank.
    fn report(&self, state: &mut State, to: usize, event: WireEvent) {
        if !state.events[to].contains(&event) {
            state.events[to].push(event);
            self.queues.happened.notify_all();
        }
    }
}

impl Wire for Mailbox {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred {
        let mut state = self.state();
        let stream = &mut state.streams[from][self.rank];
        if stream.bytes.is_empty() && stream.closed {
            return Transferred::Closed("its queue is closed".into());
        }
        let mut count = 0;
        for slice in into {
            // A ring buffer has two parts, and no errors.
            let first = stream.bytes.read(slice).unwrap_or(0);
            count += first + stream.bytes.read(&mut slice[first..]).unwrap_or(0);
        }
        let more = !stream.bytes.is_empty();
        if take(&mut stream.awaits_room) {
            self.report(&mut state, from, WireEvent::writable(self.rank));
        }
        if more { Transferred::More(count) } else { Transferred::Blocked(count) }
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred {
        let mut state = self.state();
        let stream = &mut state.streams[self.rank][to];
        if stream.closed {
            return Transferred::Closed("its queue is closed".into());
        }
        let mut count = 0;
        for slice in from {
            let fits = slice.len().min(CAPACITY - stream.bytes.len());
            count += stream.bytes.write(&slice[..fits]).unwrap_or(0);
            stream.awaits_room |= fits < slice.len();
        }
        let is_full = stream.awaits_room;
        if count > 0 {
            self.report(&mut state, to, WireEvent::readable(self.rank));
        }
        if is_full { Transferred::Blocked(count) } else { Transferred::More(count) }
    }

    fn close(&mut self, rank: usize) {
        let mut state = self.state();
        state.streams[self.rank][rank].closed = true;
        state.streams[rank][self.rank].closed = true;
        self.report(&mut state, rank, WireEvent::ended(self.rank));
    }

    fn end(&mut self, _: bool) {
        let size = self.state().events.len();
        (0..size).for_each(|rank| self.close(rank));
    }

    fn machine(&self) -> Machine {
        Machine::THREADS
    }
}

impl Sleeper for Mailbox {
    fn sleep(&mut self, limit: Duration, events: &mut Vec<WireEvent>) {
        let is_quiet = |state: &mut State| state.events[self.rank].is_empty();
        let slept = self.queues.happened.wait_timeout_while(self.state(), limit, is_quiet);
        let (mut state, _) = slept.unwrap_or_else(PoisonError::into_inner);
        events.append(&mut state.events[self.rank]);
    }
}

/// Creates jobs for the conformance suite.
#[derive(Debug)]
struct PostOffice;

impl Fixture for PostOffice {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        job(size).map_err(|error| error.to_string())
    }

    fn short_timeout(&self) -> Duration {
        // Ranks may take a tenth of a second to answer a status request.
        Duration::from_secs(1)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    conformance::run_all(&PostOffice)?;
    println!("The mailbox transport keeps the {} promises of a transport", conformance::CHECKS.len());

    let torus = Arc::new(Grid::torus(&[4, 4])?);
    let exchange = |endpoint| {
        let mut comm = Communicator::new(endpoint, torus.clone())?;
        comm.choose("alltoall", "torus-exchange")?;
        let (rank, ranks) = (comm.rank(), comm.size());
        let send: Vec<usize> = (0..ranks).map(|to| 100 * rank + to).collect();
        let mut receive = vec![0; ranks];
        comm.alltoall(&send, &mut receive)?;
        Ok(receive.into_iter().eq((0..ranks).map(|from| 100 * from + rank)))
    };
    let endpoints = job(16)?;
    let outcomes: Vec<Result<bool, necklace::Error>> = thread::scope(|scope| {
        let threads: Vec<_> = endpoints.into_iter().map(|endpoint| scope.spawn(|| exchange(endpoint))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let right = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    if right != [true; 16] {
        return Err(format!("which ranks received what they should: {right:?}").into());
    }
    println!("All blocks of an alltoall by torus-exchange among 16 ranks have arrived");
    Ok(())
}

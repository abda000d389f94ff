//! Backends on a wire of the user's: a polled one, and wires with faults.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use necklace::schedule::Hosts;
use necklace::topology::parse;
use necklace::transport::conformance::{self, Fixture};
use necklace::transport::wire::{Transferred, Wire, WireEvent};
use necklace::transport::{Cause, Endpoint, WireJoin};
use necklace::{Communicator, Error};

/// What a wire does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mischief {
    Nothing,
    /// It reports events that have not occurred, also of processes that do not exist.
    InventsEvents,
    /// From the tenth transfer on, it reports one byte more than there is room for.
    ReadsTooMuch,
    WritesTooMuch,
}

/// Sockets that do not block. Nothing reports their events, so they are polled.
#[derive(Debug)]
struct PolledSockets {
    streams: Vec<Option<TcpStream>>,
    does: Mischief,
    transfers: u32,
}

impl PolledSockets {
    fn transferred(&mut self, result: io::Result<usize>, room: usize, exaggerates: bool) -> Transferred {
        self.transfers += 1;
        match result {
            _ if exaggerates && self.transfers >= 10 => Transferred::More(room + 1),
            Ok(0) => Transferred::Closed("its socket is closed".into()),
            Ok(count) => Transferred::More(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Transferred::Blocked(0),
            Err(error) => Transferred::Closed(error.to_string().into()),
        }
    }
}

impl Wire for PolledSockets {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred {
        let result = self.streams[from].as_mut().unwrap().read_vectored(into);
        let room = into.iter().map(|slice| slice.len()).sum();
        self.transferred(result, room, self.does == Mischief::ReadsTooMuch)
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred {
        let result = self.streams[to].as_mut().unwrap().write_vectored(from);
        let room = from.iter().map(|slice| slice.len()).sum();
        self.transferred(result, room, self.does == Mischief::WritesTooMuch)
    }

    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        for process in 0..self.streams.len() {
            events.extend([WireEvent::readable(process), WireEvent::writable(process)]);
        }
        if self.does == Mischief::InventsEvents {
            events.extend((0..=self.streams.len()).map(WireEvent::ended));
            events.push(WireEvent::ended(usize::MAX));
        }
    }

    fn close(&mut self, process: usize) {
        let _ = self.streams[process].as_ref().unwrap().shutdown(Shutdown::Both);
    }
}

/// The sockets of each rank of a job, by the rank at the other end.
fn sockets(size: usize) -> io::Result<Vec<Vec<Option<TcpStream>>>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut streams: Vec<Vec<_>> = (0..size).map(|_| (0..size).map(|_| None).collect()).collect();
    for (a, b) in (0..size).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let one = TcpStream::connect(listener.local_addr()?)?;
        let other = listener.accept()?.0;
        for stream in [&one, &other] {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
        }
        (streams[a][b], streams[b][a]) = (Some(one), Some(other));
    }
    Ok(streams)
}

/// A job whose rank 0 has a wire with this fault.
fn job(size: usize, does: Mischief) -> io::Result<Vec<Arc<dyn Endpoint>>> {
    let endpoint = |(rank, streams)| {
        let does = if rank == 0 { does } else { Mischief::Nothing };
        WireJoin::new(rank, size).endpoint(Box::new(PolledSockets { streams, does, transfers: 0 }), None)
    };
    sockets(size)?.into_iter().enumerate().map(endpoint).collect()
}

#[derive(Debug)]
struct Polled(Mischief);

impl Fixture for Polled {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        job(size, self.0).map_err(|error| error.to_string())
    }

    fn short_timeout(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn jobs_at_once(&self) -> usize {
        4
    }
}

#[test]
fn polled_wire_passes_conformance() {
    conformance::run_all(&Polled(Mischief::Nothing)).unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn invented_events_do_no_harm() {
    let harmless = ["random_programs", "large_messages", "empty_messages", "departure_spares", "first_failure"];
    let is_here = |name: &str| harmless.iter().any(|beginning| name.starts_with(beginning));
    let checks = conformance::CHECKS.iter().filter(|(name, _)| is_here(name));
    let checked = checks
        .map(|(name, check)| check(&Polled(Mischief::InventsEvents)).unwrap_or_else(|why| panic!("{name}: {why}")));
    assert_eq!(checked.count(), harmless.len());
}

/// Calls on three ranks until one fails. Returns the failure of each, within a deadline.
fn failures(does: Mischief) -> Vec<Error> {
    let calls = |endpoint| {
        let begin = Instant::now();
        let mut comm = match Communicator::new(endpoint, parse("ring:3").unwrap()) {
            Ok(comm) => comm,
            Err(error) => return error,
        };
        loop {
            let mut receive = vec![0_u64; 3000];
            if let Err(error) = comm.alltoall(&vec![7_u64; 3000], &mut receive) {
                return error;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{does:?} does no harm");
        }
    };
    thread::scope(|scope| {
        let ranks: Vec<_> = job(3, does).unwrap().into_iter().map(|endpoint| scope.spawn(|| calls(endpoint))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn wire_that_transfers_too_much_is_given_up() {
    for does in [Mischief::ReadsTooMuch, Mischief::WritesTooMuch] {
        // Another rank may report the closed connection first, and all ranks agree on that report.
        let says_why = (0..20).any(|_| {
            let failures = failures(does);
            for error in &failures {
                let Error::Failed { failure, .. } = error else { panic!("{does:?}: {error}") };
                assert!(matches!(failure.cause, Cause::Gone { .. }), "{does:?}: {error}");
            }
            failures.iter().any(|error| error.to_string().contains("its wire transfers"))
        });
        assert!(says_why, "{does:?}");
    }
}

#[test]
fn rank_and_hosts_that_do_not_fit_are_refused() {
    let wire = || Box::new(PolledSockets { streams: Vec::new(), does: Mischief::Nothing, transfers: 0 });
    let hosts = Hosts::of_consecutive(3, 1);
    let cases = [
        (WireJoin::new(4, 4), "rank 4 of a job of 4 ranks; ranks count from 0"),
        (WireJoin::new(0, 0), "rank 0 of a job of 0 ranks; ranks count from 0"),
        (WireJoin::new(0, 4).hosts(hosts), "hosts of 3 ranks for a job of 4"),
    ];
    for (join, text) in cases {
        let error = join.endpoint(wire(), None).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::InvalidInput, text));
    }
}

//! The wire over sockets: a TCP connection to each other process, and the poller that reports their
//! events.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};

use crate::machine::Machine;
use crate::transport::wire::{Sleeper, Transferred, Wire, WireEvent};

/// The wire over sockets; see the [module](self).
#[derive(Debug)]
pub(super) struct Sockets {
    /// The socket of each process; `None` for this one.
    sockets: Box<[Option<Socket>]>,
    registry: Registry,
}

#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    token: Token,
    /// Whether the poller reports room for writing.
    watched: bool,
}

/// Reports the events of the sockets.
#[derive(Debug)]
pub(super) struct Poller {
    poll: Poll,
    events: Events,
}

impl Sockets {
    /// Takes the connections, by process.
    pub(super) fn new(streams: Vec<Option<std::net::TcpStream>>) -> io::Result<(Self, Poller)> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let events = Events::with_capacity(streams.len().clamp(16, 1024));
        let socket = |(process, stream): (usize, std::net::TcpStream)| {
            stream.set_nonblocking(true)?;
            let (mut stream, token) = (TcpStream::from_std(stream), Token(process));
            registry.register(&mut stream, token, Interest::READABLE)?;
            Ok(Socket { stream, token, watched: false })
        };
        let sockets = streams.into_iter().enumerate();
        let sockets = sockets
            .map(|(process, stream)| stream.map(|stream| socket((process, stream))).transpose())
            .collect::<io::Result<_>>()?;
        Ok((Self { sockets, registry }, Poller { poll, events }))
    }
}

impl Wire for Sockets {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred {
        let Some(Socket { stream, .. }) = &mut self.sockets[from] else { return Transferred::Blocked(0) };
        let room: usize = into.iter().map(|slice| slice.len()).sum();
        loop {
            return match stream.read_vectored(into) {
                Ok(0) => Transferred::Closed("its connection is closed".into()),
                // The socket is empty; a new event reports what comes later.
                Ok(count) if count < room => Transferred::Blocked(count),
                Ok(count) => Transferred::More(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Transferred::Blocked(0),
                Err(error) => Transferred::Closed(format!("its connection failed: {error}").into()),
            };
        }
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred {
        let Self { sockets, registry } = self;
        let Some(socket) = &mut sockets[to] else { return Transferred::Blocked(0) };
        let all: usize = from.iter().map(|slice| slice.len()).sum();
        let written = loop {
            break match socket.stream.write_vectored(from) {
                Ok(count) if count < all => Transferred::Blocked(count),
                Ok(count) => Transferred::More(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Transferred::Blocked(0),
                Err(error) => Transferred::Closed(format!("its connection failed: {error}").into()),
            };
        };
        match written {
            Transferred::Blocked(_) => socket.watch(true, registry).map_or_else(Transferred::Closed, |()| written),
            _ => written,
        }
    }

    /// Stops watching for room. Otherwise every arrival would be reported twice.
    fn flush(&mut self, to: usize) -> Result<(), Arc<str>> {
        let Self { sockets, registry } = self;
        sockets[to].as_mut().map_or(Ok(()), |socket| socket.watch(false, registry))
    }

    fn close(&mut self, process: usize) {
        let Self { sockets, registry } = self;
        if let Some(Socket { stream, .. }) = &mut sockets[process] {
            // The peer may have closed it already.
            let _ = registry.deregister(stream);
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn machine(&self) -> Machine {
        Machine::TCP
    }
}

impl Socket {
    /// Sets whether the poller reports room for writing. Fails if it cannot.
    fn watch(&mut self, room: bool, registry: &Registry) -> Result<(), Arc<str>> {
        if std::mem::replace(&mut self.watched, room) == room {
            return Ok(());
        }
        let what = if room { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let done = registry.reregister(&mut self.stream, self.token, what);
        done.map_err(|error| format!("its connection cannot be watched: {error}").into())
    }
}

impl Sleeper for Poller {
    fn sleep(&mut self, limit: Duration, events: &mut Vec<WireEvent>) {
        let Self { poll, events: polled } = self;
        if poll.poll(polled, Some(limit)).is_err() {
            // A signal has interrupted it, perhaps after this process was suspended for long, so
            // what has arrived is not known yet. It does not fail otherwise; if it does, there are
            // no events.
            let _ = poll.poll(polled, Some(Duration::ZERO));
        }
        events.extend(polled.iter().map(|event| {
            let ended = event.is_read_closed() || event.is_error();
            WireEvent {
                process: event.token().0,
                readable: event.is_readable() || ended,
                writable: event.is_writable(),
                ended,
                urgent: ended,
                ..WireEvent::default()
            }
        }));
    }
}

/// Selects Reno for a connection within a host, if each of its processes has a core. Between them
/// nothing is lost and nothing competes. So what the system does for networks only takes time, such
/// as pacing to a measured rate (BBR). Every Linux has Reno, which does not pace. Where it is not
/// permitted, the setting stays. (If many processes share a core, pacing limits how much lies
/// unread, and is faster.)
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn hurry_within_a_host(stream: &std::net::TcpStream) {
    if let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr())
        && (here.ip() == there.ip() || there.ip().is_loopback())
    {
        let _ = socket2::SockRef::from(stream).set_tcp_congestion(b"reno");
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn hurry_within_a_host(_: &std::net::TcpStream) {}

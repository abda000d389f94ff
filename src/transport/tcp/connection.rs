//! A connection with one other process: its socket, and what is halfway through it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::frame::Header;
use super::outbound::STAGE;
use crate::transport::ContextId;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    token: Token,
    pub(super) state: State,
    /// Whether something may have come that was not read.
    pub(super) readable: bool,
    /// Whether the other has closed it: then what is read last is not the end.
    pub(super) closing: bool,
    /// How often something was read.
    pub(super) reads: u64,
    /// Whether the socket takes no more for now.
    pub(super) blocked: bool,
    /// Whether it is told when it does.
    watched: bool,
    /// Why nothing can be written any more. What has come is to be read first: it may say why.
    pub(super) broken: Option<Arc<str>>,
    /// How many bytes have gone.
    pub(super) gone: u64,
    /// What is to go before anything else, but for the rest of a frame that is under way.
    pub(super) queue: Vec<u8>,
    pub(super) sending: Option<Sending>,
    /// The beginning of a header.
    pub(super) part: Part,
    pub(super) receiving: Receiving,
    /// The contexts that the other had open when it said that it opens no more.
    pub(super) goodbye: Option<Vec<ContextId>>,
    /// Whether the other has said that nothing follows but answers.
    pub(super) farewell: bool,
    /// Whether it has read everything that this process had to say.
    pub(super) heard: bool,
}

/// Whether there is somebody at the other end.
#[derive(Clone, Debug)]
pub(super) enum State {
    Open,
    /// It is gone, as it said it would be.
    Ended,
    /// It is gone without a word.
    Lost(Arc<str>),
}

/// A frame of a message that goes straight from the memory of a round.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) context: ContextId,
    pub(super) header: [u8; Header::BYTES],
    /// How much of the header has gone.
    pub(super) headed: usize,
    /// How much of the text has not.
    pub(super) left: usize,
}

/// The bytes of a header that have come so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) bytes: [u8; Header::BYTES],
    pub(super) len: usize,
}

/// What the next bytes are.
#[derive(Debug)]
pub(super) enum Receiving {
    Header,
    /// So many bytes more of a message, for where its round wants it.
    Placed(ContextId, usize),
    /// So many bytes more of a message that is kept.
    Kept(ContextId, usize),
    /// So many bytes that nobody wants any more.
    Dropped(usize),
    /// So many bytes more of what is said in words, and what there is of it.
    Said(Header, Vec<u8>, usize),
}

/// What came of reading or writing once.
#[derive(Debug)]
pub(super) enum Went {
    /// So many bytes; there may be more, or room for more.
    On(usize),
    /// So many bytes, and there is no more, or no room, for now.
    Stuck(usize),
    /// The connection is at its end.
    Ended(Arc<str>),
}

impl Connection {
    pub(super) fn new(stream: std::net::TcpStream, process: usize, registry: &Registry) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (mut stream, token) = (TcpStream::from_std(stream), Token(process));
        registry.register(&mut stream, token, Interest::READABLE)?;
        Ok(Self {
            stream,
            token,
            state: State::Open,
            readable: true,
            closing: false,
            reads: 0,
            blocked: false,
            watched: false,
            broken: None,
            // What the socket does not take is put back here, at any time; it is not touched before.
            queue: Vec::with_capacity(2 * STAGE),
            gone: 0,
            sending: None,
            part: Part { bytes: [0; Header::BYTES], len: 0 },
            receiving: Receiving::Header,
            goodbye: None,
            farewell: false,
            heard: false,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Reads once into these.
    pub(super) fn read(&mut self, into: &mut [IoSliceMut<'_>]) -> Went {
        let went = self.read_once(into);
        self.reads += u64::from(matches!(went, Went::On(_) | Went::Stuck(1..)));
        went
    }

    fn read_once(&mut self, into: &mut [IoSliceMut<'_>]) -> Went {
        let room: usize = into.iter().map(|slice| slice.len()).sum();
        loop {
            return match self.stream.read_vectored(into) {
                Ok(0) => Went::Ended("its connection is closed".into()),
                // The socket is empty; what comes later is told again, but an end that came with the bytes is not.
                Ok(count) if count < room && !self.closing => Went::Stuck(count),
                Ok(count) => Went::On(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Went::Stuck(0),
                Err(error) => Went::Ended(format!("its connection failed: {error}").into()),
            };
        }
    }

    /// Writes these once; what makes room later is told.
    pub(super) fn write(&mut self, from: &[IoSlice<'_>], registry: &Registry) -> Went {
        let all: usize = from.iter().map(|slice| slice.len()).sum();
        let went = loop {
            break match self.stream.write_vectored(from) {
                Ok(count) if count < all => Went::Stuck(count),
                Ok(count) => Went::On(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Went::Stuck(0),
                Err(error) => Went::Ended(format!("its connection failed: {error}").into()),
            };
        };
        if matches!(went, Went::Stuck(_)) {
            self.blocked = true;
            return self.watch(true, registry).map_or(went, Went::Ended);
        }
        went
    }

    /// Nothing waits to be written any more: it need not be told when there is room. Otherwise everything that comes would
    /// be told twice.
    pub(super) fn is_through(&mut self, registry: &Registry) -> Option<Arc<str>> {
        self.watch(false, registry)
    }

    /// Returns why it cannot.
    fn watch(&mut self, room: bool, registry: &Registry) -> Option<Arc<str>> {
        if std::mem::replace(&mut self.watched, room) == room {
            return None;
        }
        let what = if room { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let done = registry.reregister(&mut self.stream, self.token, what);
        done.err().map(|error| format!("its connection cannot be watched: {error}").into())
    }

    /// Closes it: nothing comes or goes any more.
    pub(super) fn close(&mut self, state: State, registry: &Registry) {
        self.state = state;
        self.queue = Vec::new();
        (self.sending, self.readable, self.blocked) = (None, false, false);
        // It may be closed at the other end already.
        let _ = registry.deregister(&mut self.stream);
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Where two processes of one host have a core each, nothing is lost between them, and nobody is in the way: what the system
/// does for networks, to send at the pace that it has measured for example (BBR), only takes time. Reno, which does
/// not, is there on every Linux; where it is not allowed, all stays as it is. (Where many share a core, the pace keeps
/// down what lies about unread, and it is faster so.)
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

//! A connection with another process during the bootstrap: a blocking socket whose reads and writes
//! have deadlines.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::message::{BootstrapMessage, HEADER, RankLocation};
use super::system::canonical;

/// Maximum number of bytes that are discarded while the peer reads its last message.
const MAX_DISCARDED: u64 = 16 << 10;
/// Maximum time in one system call. Some systems reject long timeouts; on some, a blocked call does
/// not notice a shutdown.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A connection with another process.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// The address of this end.
    pub(super) local: SocketAddr,
    is_shut_down: AtomicBool,
}

/// A rank at the end of the bootstrap.
pub(super) struct ConnectedRank {
    pub(super) location: RankLocation,
    /// The connection to it; `None` for this rank itself.
    pub(super) connection: Option<Arc<Connection>>,
}

/// The reason why no message was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveError {
    /// The connection has ended, or the deadline has passed.
    Ended,
    /// The received bytes are not a valid message, for this reason.
    Malformed(&'static str),
}

impl Connection {
    /// Takes a connection that was accepted.
    pub(super) fn accepted(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        Self::new(stream, peer)
    }

    /// Connects to that address.
    pub(super) fn connect(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let connection = Self::new(TcpStream::connect_timeout(&address, patience)?, address)?;
        // Where nothing listens on a port, the system may choose it as the local port of the very
        // socket that connects to it.
        if connection.local == connection.peer {
            return Err(io::Error::other("nothing listens there"));
        }
        Ok(connection)
    }

    fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let local = canonical(stream.local_addr()?);
        Ok(Self { stream, peer: canonical(peer), local, is_shut_down: AtomicBool::new(false) })
    }

    /// Returns a stream whose reads and writes fail after the deadline.
    pub(super) fn until(&self, deadline: Instant) -> impl Read + Write {
        Deadlined { connection: self, deadline }
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &BootstrapMessage, deadline: Instant) -> io::Result<()> {
        self.until(deadline).write_all(&message.encode())
    }

    /// Receives a message in a job of that size, and not one byte after it.
    pub(super) fn receive(&self, size: usize, deadline: Instant) -> Result<BootstrapMessage, ReceiveError> {
        let mut stream = self.until(deadline);
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).map_err(|_| ReceiveError::Ended)?;
        let length = BootstrapMessage::length(&header, size)
            .ok_or(ReceiveError::Malformed("a bootstrap message with an unknown kind or an invalid length"))?;
        // Memory is allocated as the bytes come.
        let mut body = Vec::new();
        stream.take(length as u64).read_to_end(&mut body).map_err(|_| ReceiveError::Ended)?;
        if body.len() < length {
            return Err(ReceiveError::Ended);
        }
        let malformed = ReceiveError::Malformed("a bootstrap message that cannot be decoded");
        BootstrapMessage::decode(&header, &body).ok_or(malformed)
    }

    /// Waits until the peer has closed the connection. If this process closed it while received
    /// bytes are unread, the system would reset it, and the peer could lose what it was sent.
    pub(super) fn finish(&self, deadline: Instant) {
        self.end_sending();
        // A peer that sends more than this does not read what it is sent.
        let _ = io::copy(&mut self.until(deadline).take(MAX_DISCARDED), &mut io::sink());
    }

    /// Tells the peer that nothing more comes.
    pub(super) fn end_sending(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the connection, and with it what another thread reads or writes.
    pub(super) fn shut_down(&self) {
        self.is_shut_down.store(true, Ordering::Release);
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Returns the stream, without deadlines.
    pub(super) fn into_stream(self) -> TcpStream {
        // On some systems this fails for a connection that its peer has reset, which the next read
        // finds anyway.
        let _ = self.stream.set_read_timeout(None);
        let _ = self.stream.set_write_timeout(None);
        self.stream
    }
}

fn is_temporary(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

struct Deadlined<'a> {
    connection: &'a Connection,
    deadline: Instant,
}

impl Deadlined<'_> {
    /// Transfers what can be transferred before the deadline.
    fn transfer(
        &self,
        set_timeout: fn(&TcpStream, Option<Duration>) -> io::Result<()>,
        mut transfer: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let Connection { stream, is_shut_down, .. } = self.connection;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            if is_shut_down.load(Ordering::Acquire) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            set_timeout(stream, Some(left.min(MAX_WAIT)))?;
            match transfer(stream) {
                Err(error) if is_temporary(error.kind()) => {}
                other => return other,
            }
        }
    }
}

impl Read for Deadlined<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.transfer(TcpStream::set_read_timeout, |mut stream| stream.read(into))
    }
}

impl Write for Deadlined<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.transfer(TcpStream::set_write_timeout, |mut stream| stream.write(from))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Connection, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = Connection::connect(listener.local_addr().unwrap(), Duration::from_secs(10)).unwrap();
        let (stream, peer) = listener.accept().unwrap();
        (one, Connection::accepted(stream, peer).unwrap())
    }

    #[test]
    fn message_is_received_without_what_follows_it() {
        let (one, other) = pair();
        let deadline = Instant::now() + Duration::from_secs(60);
        let messages = [BootstrapMessage::Unconnected(3), BootstrapMessage::Go];
        messages.iter().for_each(|message| one.send(message, deadline).unwrap());
        one.until(deadline).write_all(b"data").unwrap();
        for message in messages {
            assert_eq!(other.receive(8, deadline), Ok(message));
        }
        let mut stream = other.into_stream();
        assert!(stream.read_timeout().unwrap().is_none() && stream.write_timeout().unwrap().is_none());
        let mut data = [0; 4];
        stream.read_exact(&mut data).unwrap();
        assert_eq!(data, *b"data");
    }

    #[test]
    fn peer_that_sends_slowly_or_not_at_all_meets_the_deadline() {
        let (one, other) = pair();
        let soon = || Instant::now() + Duration::from_millis(30);
        assert_eq!(other.receive(8, soon()), Err(ReceiveError::Ended));
        // Each byte comes in time, the message does not.
        std::thread::scope(|scope| {
            let drip = scope.spawn(|| {
                let mut stream = one.until(Instant::now() + Duration::from_secs(60));
                // A header that announces more than comes.
                stream.write_all(&[6, 0, 16, 0, 0]).unwrap();
                while stream.write_all(&[8]).is_ok() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            assert_eq!(other.receive(8, soon()), Err(ReceiveError::Ended));
            other.shut_down();
            drip.join().unwrap();
        });
        let (one, other) = pair();
        let late = Instant::now() + Duration::from_secs(60);
        one.until(late).write_all(&[9; HEADER]).unwrap();
        assert!(matches!(other.receive(8, late), Err(ReceiveError::Malformed(_))));
        // The peer does not read.
        assert_eq!(one.until(soon()).write_all(&vec![0; 64 << 20]).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}

//! One connection: its stage, what has been read, and what is to be written.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Instant;

use mio::net::TcpStream;

use super::event::{ConnectionEvent, ConnectionId};
use crate::transport::tcp::bootstrap::handshake::{HandshakeError, HandshakeStep, Initiator, Responder};
use crate::transport::tcp::bootstrap::hello::Purpose;
use crate::transport::tcp::bootstrap::message::{BootstrapMessage, HEADER};
use crate::transport::tcp::bootstrap::system::canonical;

/// Maximum number of unwanted bytes that are read before the other connections are served again.
const DISCARD_LIMIT: usize = 16 << 10;

/// A connection with another process, nonblocking.
pub(super) struct PeerConnection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) stage: Stage,
    /// The part that has come of the bytes that the stage needs next.
    inbox: Vec<u8>,
    pub(super) outbox: Vec<u8>,
    /// Bytes of the outbox that the system has taken.
    pub(super) sent: usize,
    /// The time when the handshake expires. For an incoming connection, that includes its first
    /// message.
    pub(super) expires: Option<Instant>,
}

/// The stage of a connection.
pub(super) enum Stage {
    /// The system connects.
    Connecting(Initiator),
    /// This process has connected and runs the handshake.
    Initiating(Initiator),
    /// This process has accepted and runs the handshake.
    Responding(Responder),
    /// The peer holds the key. Holds the header of the message that comes, once that is here.
    Authenticated(Option<[u8; HEADER]>),
    /// Nothing is read: what comes is not, or no longer, for the bootstrap.
    NotReading,
    /// The last message is on its way. Incoming bytes are discarded until the peer closes.
    Closing { shut_down: bool },
}

/// The next action of a connection.
pub(super) enum ConnectionState {
    /// It waits for the peer.
    Waiting,
    /// It is to be removed.
    Ended,
}

impl PeerConnection {
    pub(super) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        stage: Stage,
        outbox: Vec<u8>,
        expires: Option<Instant>,
    ) -> Self {
        Self { stream, peer, stage, inbox: Vec::new(), outbox, sent: 0, expires }
    }

    /// Whether the peer has connected and not proved that it holds the key.
    pub(super) fn is_unauthenticated(&self) -> bool {
        self.expires.is_some() && matches!(self.stage, Stage::Responding(_) | Stage::Closing { .. })
    }

    /// Whether the peer has sent its hello, and no proof yet.
    pub(super) fn has_sent_hello(&self) -> bool {
        matches!(&self.stage, Stage::Responding(responder) if responder.has_hello())
    }

    /// Whether the peer has connected and authenticated, and sent nothing since.
    pub(super) fn is_silent(&self) -> bool {
        self.expires.is_some() && matches!(self.stage, Stage::Authenticated(_))
    }

    /// Whether the system has taken the whole outbox.
    pub(super) fn is_flushed(&self) -> bool {
        self.sent == self.outbox.len()
    }

    /// Writes what can be written, reads the bytes that the stage needs, and processes them.
    pub(super) fn drive(
        &mut self,
        id: ConnectionId,
        size: usize,
        events: &mut VecDeque<ConnectionEvent>,
    ) -> Result<ConnectionState, HandshakeError> {
        if let Stage::Connecting(_) = self.stage {
            if !self.is_connected()? {
                return Ok(ConnectionState::Waiting);
            }
            if let Stage::Connecting(initiator) = std::mem::replace(&mut self.stage, Stage::NotReading) {
                self.stage = Stage::Initiating(initiator);
            }
        }
        loop {
            self.flush()?;
            let wanted = match &self.stage {
                Stage::Initiating(initiator) => initiator.wanted(),
                Stage::Responding(responder) => responder.wanted(),
                Stage::Authenticated(None) => HEADER,
                // The length was checked when the header came.
                Stage::Authenticated(Some(header)) => BootstrapMessage::length(header, size).unwrap_or(0),
                Stage::Connecting(_) | Stage::NotReading => return Ok(ConnectionState::Waiting),
                Stage::Closing { .. } => return self.discard(),
            };
            if !self.fill(wanted)? {
                return Ok(ConnectionState::Waiting);
            }
            let bytes = std::mem::take(&mut self.inbox);
            self.process(&bytes, id, size, events)?;
        }
    }

    /// Processes the bytes that the stage needed.
    fn process(
        &mut self,
        bytes: &[u8],
        id: ConnectionId,
        size: usize,
        events: &mut VecDeque<ConnectionEvent>,
    ) -> Result<(), HandshakeError> {
        let step = match &mut self.stage {
            Stage::Initiating(initiator) => initiator.take(bytes),
            Stage::Responding(responder) => responder.take(bytes),
            Stage::Authenticated(header) => {
                let Some(first) = header.take() else {
                    if BootstrapMessage::length(bytes, size).is_none() {
                        self.malformed(id, "a bootstrap message with an unknown kind or an invalid length", events);
                        return Ok(());
                    }
                    let mut kept = [0; HEADER];
                    kept.copy_from_slice(bytes);
                    *header = Some(kept);
                    return Ok(());
                };
                let Some(message) = BootstrapMessage::decode(&first, bytes) else {
                    self.malformed(id, "a bootstrap message that cannot be decoded", events);
                    return Ok(());
                };
                self.expires = None;
                // The bytes after these messages are not for the bootstrap.
                if matches!(message, BootstrapMessage::Go | BootstrapMessage::Selected) {
                    self.stage = Stage::NotReading;
                }
                events.push_back(ConnectionEvent::Received(id, message));
                return Ok(());
            }
            Stage::Connecting(_) | Stage::NotReading | Stage::Closing { .. } => return Ok(()),
        };
        match step {
            HandshakeStep::Send(bytes) => self.outbox.extend(bytes),
            HandshakeStep::Authenticated(hello, bytes) => {
                self.outbox.extend(bytes);
                // Over a connection of the mesh, its initiator receives nothing more for the
                // bootstrap. A peer that has connected must send a message soon.
                let initiated = matches!(self.stage, Stage::Initiating(_));
                let done = initiated && hello.purpose == Purpose::Mesh;
                self.stage = if done { Stage::NotReading } else { Stage::Authenticated(None) };
                if initiated {
                    self.expires = None;
                }
                events.push_back(ConnectionEvent::Authenticated(id, hello, canonical(self.peer)));
            }
            HandshakeStep::Failed(error, bytes) => {
                self.outbox.extend(bytes);
                return Err(error);
            }
        }
        Ok(())
    }

    fn malformed(&mut self, id: ConnectionId, what: &'static str, events: &mut VecDeque<ConnectionEvent>) {
        self.stage = Stage::NotReading;
        events.push_back(ConnectionEvent::Malformed(id, what));
    }

    /// Whether the system has connected.
    fn is_connected(&mut self) -> Result<bool, HandshakeError> {
        let io = |error: io::Error| HandshakeError::Io(error.to_string());
        if let Some(error) = self.stream.take_error().map_err(io)? {
            return Err(io(error));
        }
        match self.stream.peer_addr() {
            // Where nothing listens on a port, the system may choose it as the local port of the
            // very socket that connects to it.
            Ok(peer) if self.stream.local_addr().is_ok_and(|local| local == peer) => {
                Err(HandshakeError::Io("nothing listens there".to_owned()))
            }
            Ok(_) => {
                let _ = self.stream.set_nodelay(true);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::WouldBlock) => Ok(false),
            Err(error) => Err(io(error)),
        }
    }

    fn flush(&mut self) -> Result<(), HandshakeError> {
        while self.sent < self.outbox.len() {
            match self.stream.write(&self.outbox[self.sent..]) {
                Ok(0) => return Err(HandshakeError::Io("the connection was closed".to_owned())),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(HandshakeError::Io(error.to_string())),
            }
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads until the inbox has that many bytes, and not one more. Returns whether it has.
    fn fill(&mut self, wanted: usize) -> Result<bool, HandshakeError> {
        // Memory grows with the bytes that come, not with the length that a header announces.
        let mut piece = [0; 4096];
        while self.inbox.len() < wanted {
            let most = (wanted - self.inbox.len()).min(piece.len());
            match self.stream.read(&mut piece[..most]) {
                Ok(0) => return Err(HandshakeError::Io("the connection was closed".to_owned())),
                Ok(count) => self.inbox.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(HandshakeError::Io(error.to_string())),
            }
        }
        Ok(true)
    }

    /// Waits for the peer to close. If this process closed while received bytes are unread, the
    /// system would reset the connection, and the peer could lose the last message.
    fn discard(&mut self) -> Result<ConnectionState, HandshakeError> {
        if let Stage::Closing { shut_down: false } = self.stage
            && self.is_flushed()
        {
            let _ = self.stream.shutdown(Shutdown::Write);
            self.stage = Stage::Closing { shut_down: true };
        }
        let mut piece = [0; 1024];
        for _ in 0..DISCARD_LIMIT / piece.len() {
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(ConnectionState::Ended),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(ConnectionState::Waiting),
                Err(_) => return Ok(ConnectionState::Ended),
            }
        }
        // A peer that sends this much does not read what it is sent.
        Ok(ConnectionState::Ended)
    }
}

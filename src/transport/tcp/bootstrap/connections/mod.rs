//! The connection set: all connections of a process during the bootstrap. One thread drives them
//! and waits for all of them at once.
//!
//! A peer that connects costs one descriptor and a few hundred bytes until it has proved that it
//! holds the key, for a few seconds at most. The number of such peers is bounded: when the set is
//! full, each new one displaces another ([`unauthenticated`]). A rank that holds the key and was
//! displaced tries again.

mod admission;
mod connection;
mod event;
mod unauthenticated;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream as StdStream};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use self::connection::{ConnectionState, PeerConnection, Stage};
pub(super) use self::event::{ConnectionEvent, ConnectionId};
use self::unauthenticated::UnauthenticatedPeers;
use super::error::JoinError;
use super::handshake::{HandshakeError, Identity, Initiator};
use super::hello::Purpose;
use super::key::random;
use super::message::BootstrapMessage;
use super::system::{self, canonical};

/// Maximum duration of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Tokens from here on are connections; those below are listeners.
const FIRST_CONNECTION: usize = 16;

/// All connections of a process.
pub(super) struct ConnectionSet {
    poll: Poll,
    poll_events: Events,
    pub(super) identity: Identity,
    /// The number of descriptors that the bootstrap needs, for the error.
    required_descriptors: usize,
    /// The purpose for which incoming connections are accepted.
    purpose: Purpose,
    listeners: Vec<TcpListener>,
    /// For each listener, whether connections may still be waiting to be accepted.
    acceptable: Vec<bool>,
    connections: BTreeMap<ConnectionId, PeerConnection>,
    unauthenticated: UnauthenticatedPeers,
    /// A time before which no handshake expires, if there is one.
    first_expiry: Option<Instant>,
    next_id: ConnectionId,
    events: VecDeque<ConnectionEvent>,
    rejected: usize,
    last_rejected: String,
}

impl ConnectionSet {
    pub(super) fn new(identity: Identity, purpose: Purpose, required_descriptors: usize) -> Result<Self, JoinError> {
        let failed = |error: io::Error| {
            system::system_error(identity.rank, required_descriptors, "no events can be waited for", &error)
        };
        let poll = Poll::new().map_err(failed)?;
        Ok(Self {
            poll,
            poll_events: Events::with_capacity(256),
            identity,
            required_descriptors,
            purpose,
            listeners: Vec::new(),
            acceptable: Vec::new(),
            connections: BTreeMap::new(),
            unauthenticated: UnauthenticatedPeers::default(),
            first_expiry: None,
            next_id: FIRST_CONNECTION,
            events: VecDeque::new(),
            rejected: 0,
            last_rejected: String::new(),
        })
    }

    /// Accepts connections from a listener.
    pub(super) fn listen(&mut self, listener: std::net::TcpListener) -> Result<(), JoinError> {
        let (rank, need) = (self.identity.rank, self.required_descriptors);
        let failed =
            |error: io::Error| system::system_error(rank, need, "a listening socket cannot be waited for", &error);
        listener.set_nonblocking(true).map_err(failed)?;
        let mut listener = TcpListener::from_std(listener);
        self.poll
            .registry()
            .register(&mut listener, Token(self.listeners.len()), Interest::READABLE)
            .map_err(failed)?;
        self.listeners.push(listener);
        self.acceptable.push(true);
        Ok(())
    }

    /// Closes all listeners, and the incoming connections that are not authenticated.
    pub(super) fn stop_listening(&mut self) {
        self.listeners.clear();
        self.acceptable.clear();
        let unauthenticated = &mut self.unauthenticated;
        self.connections.retain(|id, connection| {
            let responding = matches!(connection.stage, Stage::Responding(_));
            if responding {
                unauthenticated.remove(*id);
            }
            !responding
        });
    }

    /// Begins to connect to a rank. An event tells the outcome.
    pub(super) fn connect(
        &mut self,
        address: SocketAddr,
        purpose: Purpose,
        rank: usize,
    ) -> Result<ConnectionId, JoinError> {
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let (initiator, hello) = Initiator::new(&self.identity, purpose, rank, nonce);
        let id = self.next_id;
        self.next_id += 1;
        let connected = loop {
            let connected = TcpStream::connect(address).and_then(|mut stream| {
                let interest = Interest::READABLE | Interest::WRITABLE;
                self.poll.registry().register(&mut stream, Token(id), interest).map(|()| stream)
            });
            match connected {
                // Unauthenticated peers give up their descriptors first.
                Err(error) if system::is_out_of_descriptors(&error) && self.make_room()? => {}
                connected => break connected,
            }
        };
        match connected {
            Ok(stream) => {
                let expires = self.handshake_deadline();
                let connection = PeerConnection::new(stream, address, Stage::Connecting(initiator), hello, expires);
                self.connections.insert(id, connection);
            }
            Err(error) if system::is_out_of_descriptors(&error) => {
                return Err(self.system_error("no connection can be made", &error));
            }
            Err(error) => {
                self.events.push_back(ConnectionEvent::Failed(id, HandshakeError::Io(error.to_string())));
            }
        }
        Ok(id)
    }

    /// Sends a message over a connection.
    pub(super) fn send(&mut self, id: ConnectionId, message: &BootstrapMessage) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.outbox.extend(message.encode());
        self.drive(id);
    }

    /// Sends the last message over a connection, which is closed when the peer has closed it.
    pub(super) fn send_last(&mut self, id: ConnectionId, message: &BootstrapMessage) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.stage = Stage::Closing { shut_down: false };
        connection.expires = None;
        self.send(id, message);
    }

    /// Stops reading a connection. If it ends, no event tells so.
    pub(super) fn stop_reading(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stage = Stage::NotReading;
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
    }

    /// Removes a connection from the set and returns it as a blocking stream.
    pub(super) fn take_stream(&mut self, id: ConnectionId) -> Result<StdStream, JoinError> {
        let (rank, need) = (self.identity.rank, self.required_descriptors);
        let failed = |error: io::Error| system::system_error(rank, need, "a connection cannot be handed over", &error);
        let stream = self.connections.remove(&id).map(|connection| connection.stream);
        let mut stream = stream.ok_or_else(|| failed(ErrorKind::NotConnected.into()))?;
        self.poll.registry().deregister(&mut stream).map_err(failed)?;
        let stream = StdStream::from(stream);
        stream.set_nonblocking(false).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(stream)
    }

    /// Returns the local address of a connection, if it still exists.
    pub(super) fn local_address(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.connections.get(&id).and_then(|connection| connection.stream.local_addr().ok()).map(canonical)
    }

    /// Whether the system has taken everything that was sent over these connections. One that has
    /// ended counts as well.
    pub(super) fn is_flushed(&self, ids: impl IntoIterator<Item = ConnectionId>) -> bool {
        ids.into_iter().all(|id| self.connections.get(&id).is_none_or(PeerConnection::is_flushed))
    }

    /// Whether a peer may not have read its last message yet.
    pub(super) fn is_closing(&self) -> bool {
        self.connections
            .values()
            .any(|connection| connection.expires.is_none() && matches!(connection.stage, Stage::Closing { .. }))
    }

    /// Returns the authenticated connections.
    pub(super) fn authenticated(&self) -> Vec<ConnectionId> {
        let authenticated = |connection: &PeerConnection| matches!(connection.stage, Stage::Authenticated(_));
        self.connections.iter().filter(|(_, connection)| authenticated(connection)).map(|(id, _)| *id).collect()
    }

    /// Returns the next event, or `None` if nothing has happened by that time.
    pub(super) fn next_event(&mut self, until: Instant) -> Result<Option<ConnectionEvent>, JoinError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let now = Instant::now();
            let first_expiry = self.expire(now);
            if !self.events.is_empty() {
                continue;
            }
            if now >= until {
                return Ok(None);
            }
            let wake = first_expiry.map_or(until, |first| first.min(until));
            let busy = self.acceptable.iter().any(|acceptable| *acceptable);
            let timeout = if busy { Duration::ZERO } else { wake.saturating_duration_since(now) };
            match self.poll.poll(&mut self.poll_events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.system_error("events cannot be waited for", &error)),
            }
            let ready: Vec<usize> = self.poll_events.iter().map(|event| event.token().0).collect();
            for token in ready {
                if token < FIRST_CONNECTION {
                    if let Some(acceptable) = self.acceptable.get_mut(token) {
                        *acceptable = true;
                    }
                } else {
                    self.drive(token);
                }
            }
            for listener in 0..self.listeners.len() {
                if self.acceptable[listener] {
                    self.accept(listener)?;
                }
            }
        }
    }

    /// Ends the handshakes that have taken too long. Returns when the next one will have.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        if self.first_expiry.is_none_or(|first| first > now) {
            return self.first_expiry;
        }
        let late: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.expires.is_some_and(|expires| expires <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let connecting = matches!(self.connections[&id].stage, Stage::Connecting(_));
            let why = if connecting { "no answer" } else { "no data" };
            self.end(id, HandshakeError::Io(format!("{why} within {HANDSHAKE_TIMEOUT:?}")));
            self.update_unauthenticated(id);
        }
        self.first_expiry = self.connections.values().filter_map(|connection| connection.expires).min();
        self.first_expiry
    }

    /// Returns the deadline of a handshake that begins now.
    fn handshake_deadline(&mut self) -> Option<Instant> {
        let expires = Instant::now() + HANDSHAKE_TIMEOUT;
        // An earlier one stays: it is the first.
        self.first_expiry.get_or_insert(expires);
        Some(expires)
    }

    fn system_error(&self, what: &str, error: &io::Error) -> JoinError {
        system::system_error(self.identity.rank, self.required_descriptors, what, error)
    }

    /// Does everything that a connection can do without waiting.
    fn drive(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let unauthenticated = connection.is_unauthenticated();
        match connection.drive(id, self.identity.size, &mut self.events) {
            Ok(ConnectionState::Waiting) => {}
            Ok(ConnectionState::Ended) => self.end(id, HandshakeError::Io("the connection was closed".to_owned())),
            Err(error) => self.end(id, error),
        }
        if unauthenticated {
            self.update_unauthenticated(id);
        }
    }

    /// Ends a connection, and reports it where its stage requires that.
    fn end(&mut self, id: ConnectionId, error: HandshakeError) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        match connection.stage {
            Stage::Connecting(_) | Stage::Initiating(_) => {
                self.events.push_back(ConnectionEvent::Failed(id, error));
            }
            Stage::Authenticated(_) => self.events.push_back(ConnectionEvent::Closed(id)),
            Stage::Responding(_) => {
                self.record_rejection(&connection, &error.description());
                // The peer is sent the reason and has to read it. Then it closes the connection.
                if !matches!(error, HandshakeError::Io(_)) {
                    connection.stage = Stage::Closing { shut_down: false };
                    self.connections.insert(id, connection);
                    self.drive(id);
                }
            }
            // The rest of the outbox cannot be sent. The progress engine, which takes the
            // connection, finds that it has ended.
            Stage::NotReading => {
                connection.sent = connection.outbox.len();
                self.connections.insert(id, connection);
            }
            Stage::Closing { .. } if connection.expires.is_none() => {
                self.events.push_back(ConnectionEvent::Closed(id));
            }
            Stage::Closing { .. } => {}
        }
    }
}

//! Accepts connections, and limits those whose peers are not authenticated.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Token};

use super::connection::{PeerConnection, Stage};
use super::{ConnectionId, ConnectionSet};
use crate::transport::tcp::bootstrap::error::JoinError;
use crate::transport::tcp::bootstrap::handshake::Responder;
use crate::transport::tcp::bootstrap::key::random;
use crate::transport::tcp::bootstrap::system;
use crate::transport::tcp::bootstrap::system::canonical;

/// Maximum number of unauthenticated peers, besides one for each rank: all ranks may connect at
/// once.
const MAX_UNAUTHENTICATED: usize = 512;
/// Connections accepted before the existing ones are served again.
const ACCEPT_BATCH: usize = 64;
/// Pause after the system could not accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

impl ConnectionSet {
    /// Accepts some of the connections that wait at a listener.
    pub(super) fn accept(&mut self, listener: usize) -> Result<(), JoinError> {
        for _ in 0..ACCEPT_BATCH {
            match self.listeners[listener].accept() {
                Ok((stream, peer)) => self.admit(stream, peer)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.acceptable[listener] = false;
                    return Ok(());
                }
                Err(error) if system::is_out_of_descriptors(&error) => return self.free_descriptor(&error),
                // Either this connection ended before it was accepted, and the next may succeed;
                // or the system has no memory for it.
                Err(error) => {
                    log::debug!("rank {} cannot accept a connection: {error}", self.identity.rank);
                    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
                        std::thread::sleep(ACCEPT_PAUSE);
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Frees a descriptor so that another connection can be accepted. Fails if none can be freed.
    fn free_descriptor(&mut self, error: &io::Error) -> Result<(), JoinError> {
        // Pending events are handled first: they may close connections that have authenticated.
        if !self.events.is_empty() || self.make_room()? {
            return Ok(());
        }
        // Peers that have read their last message close soon.
        if self.is_closing() {
            std::thread::sleep(ACCEPT_PAUSE);
            return Ok(());
        }
        Err(self.system_error("no connection can be accepted", error))
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), JoinError> {
        if self.unauthenticated.len() >= MAX_UNAUTHENTICATED + self.identity.size {
            self.make_room()?;
        }
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let id = self.next_id;
        self.next_id += 1;
        let stage = Stage::Responding(Responder::new(&self.identity, self.purpose, nonce));
        let expires = self.handshake_deadline();
        self.connections.insert(id, PeerConnection::new(stream, peer, stage, Vec::new(), expires));
        self.unauthenticated.add(id);
        // In a flood, most peers have already closed, or have sent all that they will send. The
        // system need not watch those.
        self.drive(id);
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut connection.stream, Token(id), interest) {
            log::debug!("rank {} cannot wait for {peer}: {error}", self.identity.rank);
            self.connections.remove(&id);
            self.unauthenticated.remove(id);
        }
        Ok(())
    }

    /// Drops an unauthenticated peer. If there is none, drops the oldest connection whose peer has
    /// sent nothing since it authenticated. Returns whether one was dropped.
    pub(super) fn make_room(&mut self) -> Result<bool, JoinError> {
        let silent = || self.connections.iter().find(|(_, connection)| connection.is_silent()).map(|(id, _)| *id);
        let Some(id) = self.unauthenticated.evict()?.or_else(silent) else { return Ok(false) };
        if let Some(connection) = self.connections.remove(&id) {
            self.record_rejection(&connection, "it sent nothing while others were waiting");
        }
        Ok(true)
    }

    /// Updates the list of unauthenticated peers for a connection that was in it.
    pub(super) fn update_unauthenticated(&mut self, id: ConnectionId) {
        match self.connections.get(&id).filter(|connection| connection.is_unauthenticated()) {
            Some(connection) => self.unauthenticated.set(id, connection.has_sent_hello()),
            None => self.unauthenticated.remove(id),
        }
    }

    pub(super) fn record_rejection(&mut self, connection: &PeerConnection, why: &str) {
        self.rejected += 1;
        self.last_rejected = format!("{}, {why}", canonical(connection.peer));
        log::debug!("rank {} turns away {}", self.identity.rank, self.last_rejected);
    }

    /// Describes the connections that were rejected; empty if there were none.
    pub(in crate::transport::tcp::bootstrap) fn rejections(&self) -> String {
        match self.rejected {
            0 => String::new(),
            1 => format!("one connection was turned away: {}", self.last_rejected),
            many => format!("{many} connections were turned away, the last: {}", self.last_rejected),
        }
    }
}

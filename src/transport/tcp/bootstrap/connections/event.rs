//! The events on the connections of a set.

use std::net::SocketAddr;

use crate::transport::tcp::bootstrap::handshake::HandshakeError;
use crate::transport::tcp::bootstrap::hello::Hello;
use crate::transport::tcp::bootstrap::message::BootstrapMessage;

/// Identifies a connection of a set.
pub(in crate::transport::tcp::bootstrap) type ConnectionId = usize;

/// Something happened on a connection.
#[derive(Debug)]
pub(in crate::transport::tcp::bootstrap) enum ConnectionEvent {
    /// The peer has proved that it holds the key, and has sent its hello from this address.
    Authenticated(ConnectionId, Hello, SocketAddr),
    /// The peer has sent a message.
    Received(ConnectionId, BootstrapMessage),
    /// An attempt to connect has failed.
    Failed(ConnectionId, HandshakeError),
    /// An authenticated connection has ended, or the peer has read the last message of one that
    /// this process ends.
    Closed(ConnectionId),
    /// The bytes that come over an authenticated connection are invalid.
    Malformed(ConnectionId, &'static str),
}

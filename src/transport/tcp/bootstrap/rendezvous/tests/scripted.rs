//! Ranks whose part of the bootstrap a test scripts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use super::super::super::connections::{ConnectionEvent, ConnectionId, ConnectionSet};
use super::super::super::hello::{Build, Hello, Purpose};
use super::super::super::message::{BootstrapMessage, RankLocation};
use super::super::super::{Join, system};
use super::super::root_connection::connect_to_root;
use super::super::timing::{FILE_INTERVAL, after, identity};
use super::Port;

/// Listens as rank 0 with that build.
pub(super) fn root(port: &Port, size: usize, build: Build) -> ConnectionSet {
    let mut connections = ConnectionSet::new(identity(&port.join(0, size), 5), Purpose::Rendezvous, 0).unwrap();
    connections.identity.build = build;
    connections.listen(system::listen(port.address(), size, true).unwrap()).unwrap();
    connections
}

/// Connects to rank 0 with that build. If `arrives`, announces an address on which it does not
/// listen. It stays until the returned set is dropped.
pub(super) fn client(join: &Join, build: Build, arrives: bool) -> (ConnectionSet, ConnectionId, Hello) {
    let mut connections = ConnectionSet::new(identity(join, 0), Purpose::Mesh, 0).unwrap();
    connections.identity.build = build;
    let (id, hello, _) = connect_to_root(join, &mut connections).unwrap();
    if arrives {
        announce(&mut connections, id, "127.0.0.1:1".parse().unwrap());
    }
    (connections, id, hello)
}

/// Connects to rank 0 and announces that address.
pub(super) fn client_at(join: &Join, address: SocketAddr) -> (ConnectionSet, ConnectionId, Hello) {
    let (mut connections, id, hello) = client(join, Build::own(), false);
    announce(&mut connections, id, address);
    (connections, id, hello)
}

fn announce(connections: &mut ConnectionSet, id: ConnectionId, address: SocketAddr) {
    let host = system::host_id(Ipv4Addr::LOCALHOST.into());
    let location = RankLocation { address, host, counts_as: host };
    connections.send(id, &BootstrapMessage::Arrived(location));
    while !connections.is_flushed([id]) {
        connections.next_event(after(Instant::now(), FILE_INTERVAL)).unwrap();
    }
}

/// Returns the next event, which has to come.
pub(super) fn next_event(connections: &mut ConnectionSet) -> ConnectionEvent {
    connections.next_event(after(Instant::now(), Duration::from_secs(120))).unwrap().unwrap()
}

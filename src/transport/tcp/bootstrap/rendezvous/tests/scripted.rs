//! Ranks whose part of the bootstrap a test scripts.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::super::connection::Connection;
use super::super::super::handshake::{Identity, respond};
use super::super::super::hello::{Build, Hello, Purpose};
use super::super::super::message::{BootstrapMessage, RankLocation};
use super::super::super::registry::Registry;
use super::super::super::{Join, system};
use super::super::reach_root::reach_root;
use super::Port;

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// A connection to a rank, which closes when this is dropped.
pub(super) struct Scripted {
    pub(super) connection: Arc<Connection>,
    /// The hello of the rank.
    pub(super) hello: Hello,
}

impl Scripted {
    pub(super) fn send(&self, message: &BootstrapMessage) {
        self.connection.send(message, deadline()).unwrap();
    }

    pub(super) fn announce(&self, address: SocketAddr) {
        let host = system::host_id(Ipv4Addr::LOCALHOST.into());
        self.send(&BootstrapMessage::Arrived(RankLocation { address, host, counts_as: host }));
    }

    /// Returns the next message, which has to come.
    pub(super) fn receive(&self) -> BootstrapMessage {
        self.connection.receive(self.hello.size, deadline()).unwrap()
    }
}

/// A rank 0 that only authenticates.
pub(super) struct ScriptedRoot {
    identity: Identity,
    listener: TcpListener,
}

impl ScriptedRoot {
    pub(super) fn new(join: &Join, build: Build, listener: TcpListener) -> Self {
        Self { identity: Identity { build, ..join.identity(5) }, listener }
    }

    /// Returns the next connection whose peer authenticates.
    pub(super) fn accept(&self) -> Scripted {
        loop {
            let (stream, peer) = self.listener.accept().unwrap();
            let connection = Arc::new(Connection::accepted(stream, peer).unwrap());
            let mut stream = connection.until(deadline());
            let hello = respond(&mut stream, &self.identity, Purpose::Rendezvous, [8; 32], |_| {});
            drop(stream);
            if let Ok(hello) = hello {
                return Scripted { connection, hello };
            }
        }
    }
}

/// Listens as rank 0 with that build.
pub(super) fn root(port: &Port, size: usize, build: Build) -> ScriptedRoot {
    ScriptedRoot::new(&port.join(0, size), build, system::listen(port.address(), size, true).unwrap())
}

/// Connects to rank 0 with that build. If `arrives`, announces an address on which it does not
/// listen.
pub(super) fn client(join: &Join, build: Build, arrives: bool) -> Scripted {
    let (registry, identity) = (Registry::default(), Identity { build, ..join.identity(0) });
    let (entry, hello) = reach_root(join, &identity, &registry).unwrap();
    let rank = Scripted { connection: entry.release(), hello };
    if arrives {
        rank.announce("127.0.0.1:1".parse().unwrap());
    }
    rank
}

/// Connects to rank 0 and announces that address.
pub(super) fn client_at(join: &Join, address: SocketAddr) -> Scripted {
    let rank = client(join, Build::own(), false);
    rank.announce(address);
    rank
}

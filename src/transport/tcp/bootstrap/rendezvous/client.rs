//! The bootstrap on all ranks but rank 0.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::super::connections::{ConnectionEvent, ConnectionId, ConnectionSet};
use super::super::error::JoinError;
use super::super::handshake::HandshakeError;
use super::super::hello::{Build, Hello, Purpose};
use super::super::message::{BootstrapMessage, RankLocation};
use super::super::{Join, system};
use super::address;
use super::attempts::Attempts;
use super::root_connection::connect_to_root;
use super::timing::{LINGER, LOG_INTERVAL, after, grace, identity, rounded};
use crate::transport::tcp::mesh::Mesh;
use crate::vocabulary::Hosts;

/// Maximum time to connect to another rank, which listens already.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of ranks to which it connects at a time.
const CONCURRENT_CONNECTS: usize = 32;

/// Runs the bootstrap as another rank than rank 0.
pub(super) fn run(join: &Join) -> Result<Mesh, JoinError> {
    if let Some(ip) = join.address.filter(|ip| !ip.is_unspecified()) {
        address::check_may_listen(join, ip)?;
    }
    let need = system::required_descriptors(join.rank, join.size);
    let descriptors = need.clone().unwrap_or(join.size);
    let mut connections = ConnectionSet::new(identity(join, 0), Purpose::Mesh, descriptors)?;
    let (root, hello, root_address) = connect_to_root(join, &mut connections)?;
    let mut client = ClientBootstrap {
        join,
        connections,
        root,
        root_address,
        root_knows: false,
        ids: vec![None; join.size],
        connected: 0,
        incoming: HashMap::new(),
        outgoing: BTreeMap::new(),
    };
    // From here on, rank 0 can be told of an error.
    match need.and_then(|_| client.join_mesh(&hello)) {
        Ok(locations) => client.into_mesh(&locations),
        Err(error) => {
            client.report_failure(&error);
            Err(error)
        }
    }
}

/// The state of the bootstrap on another rank than rank 0.
struct ClientBootstrap<'a> {
    join: &'a Join,
    connections: ConnectionSet,
    /// The connection to rank 0.
    root: ConnectionId,
    root_address: SocketAddr,
    /// Whether rank 0 knows that the bootstrap has failed.
    root_knows: bool,
    /// The connections to the others, by rank.
    ids: Vec<Option<ConnectionId>>,
    /// The number of these connections.
    connected: usize,
    /// Incoming connections of authenticated ranks that are not selected yet.
    incoming: HashMap<ConnectionId, usize>,
    /// The ranks to which this one still has to connect.
    outgoing: BTreeMap<usize, PendingPeer>,
}

/// A rank to which this one connects.
struct PendingPeer {
    address: SocketAddr,
    attempts: Attempts,
    /// The time of the first attempt.
    since: Option<Instant>,
    last_error: String,
}

impl PendingPeer {
    fn unreachable(&self, rank: usize, other: usize, tried: Duration) -> JoinError {
        let (address, why) = (self.address.to_string(), self.last_error.clone());
        JoinError::Unreachable { rank, other, address, why, waited: rounded(tried) }
    }
}

impl ClientBootstrap<'_> {
    /// Arrives at rank 0 and connects to the others. Returns the locations of all ranks.
    fn join_mesh(&mut self, hello: &Hello) -> Result<Vec<RankLocation>, JoinError> {
        let Join { rank, size, timeout, .. } = *self.join;
        let own = Build::own();
        if let Some((what, value_a, value_b)) = hello.build.difference(&own) {
            // Rank 0 finds this by itself.
            self.root_knows = true;
            return Err(JoinError::BuildMismatch { what: what.to_owned(), rank_a: 0, value_a, rank_b: rank, value_b });
        }
        self.connections.identity.job = hello.job;
        let Some(local) = self.connections.local_address(self.root) else {
            // Rank 0 has closed the connection already. Either it has sent its reason, or it died.
            let last = self.next_message(Duration::ZERO, |_| Ok(Instant::now()))?;
            return Err(self.violation(&format!("{last:?} as the last message")));
        };
        let (listener, address, why) = address::listen_as_client(self.join, local)?;
        log::info!("rank {rank} of {size} listens on {address}, the address {why}; rank 0 is at {}", self.root_address);
        self.connections.listen(listener)?;
        let location = self.join.location(address);
        self.connections.send(self.root, &BootstrapMessage::Arrived(location));

        let patience = timeout.saturating_add(grace(timeout));
        let message = self.next_message(patience, |_| Ok(after(Instant::now(), LOG_INTERVAL)))?;
        let BootstrapMessage::Table(locations) = message else {
            return Err(self.violation("an unexpected bootstrap message"));
        };
        log::debug!("rank {rank} knows where all {size} ranks are");
        let now = Instant::now();
        for (other, location) in locations.iter().enumerate().take(rank).skip(1) {
            let mut address = location.address;
            // The scope of a link-local address is the number of an interface, which differs
            // between hosts.
            if let (SocketAddr::V6(to), SocketAddr::V6(local)) = (&mut address, local)
                && to.ip().is_unicast_link_local()
            {
                to.set_scope_id(local.scope_id());
            }
            let (attempts, last_error) = (Attempts::new(now), "no answer".to_owned());
            self.outgoing.insert(other, PendingPeer { address, attempts, since: None, last_error });
        }
        if size == 2 {
            self.ready();
        }
        let patience = timeout.saturating_add(2 * grace(timeout));
        match self.next_message(patience, Self::connect)? {
            BootstrapMessage::Go => Ok(locations),
            _ => Err(self.violation("an unexpected bootstrap message")),
        }
    }

    /// Returns the next message of rank 0. Until it comes, calls `meanwhile`, which returns when it
    /// has to be called again.
    fn next_message(
        &mut self,
        patience: Duration,
        mut meanwhile: impl FnMut(&mut Self) -> Result<Instant, JoinError>,
    ) -> Result<BootstrapMessage, JoinError> {
        let until = after(Instant::now(), patience);
        loop {
            let wake = meanwhile(self)?.min(until);
            match self.connections.next_event(wake)? {
                Some(event) => {
                    if let Some(message) = self.handle(event)? {
                        return Ok(message);
                    }
                }
                None if Instant::now() >= until => {
                    return Err(JoinError::Silent { address: self.root_address, waited: rounded(patience) });
                }
                None => {}
            }
        }
    }

    /// Makes the attempts to connect that are due. Returns when the next one is.
    fn connect(&mut self) -> Result<Instant, JoinError> {
        let now = Instant::now();
        // If no rank reaches a rank, rank 0 names it first, unless its timeout is long.
        let Join { timeout, .. } = *self.join;
        let limit = timeout.saturating_add(2 * grace(timeout)).min(CONNECT_TIMEOUT);
        let mut wake = after(now, LOG_INTERVAL);
        let mut busy = self.outgoing.values().filter(|peer| peer.since.is_some()).count();
        for (&other, peer) in &mut self.outgoing {
            if peer.since.is_none() && busy >= CONCURRENT_CONNECTS {
                continue;
            }
            let since = *peer.since.get_or_insert_with(|| {
                busy += 1;
                now
            });
            let tried = now.saturating_duration_since(since);
            if tried >= limit {
                return Err(peer.unreachable(self.join.rank, other, tried));
            }
            if peer.attempts.next() <= now {
                let id = self.connections.connect(peer.address, Purpose::Mesh, other)?;
                if let Some(oldest) = peer.attempts.made(id, peer.address, now)? {
                    self.connections.close(oldest);
                }
            }
            wake = wake.min(peer.attempts.next()).min(after(since, limit));
        }
        Ok(wake)
    }

    /// Handles an event. Returns a message of rank 0 that is for the caller.
    fn handle(&mut self, event: ConnectionEvent) -> Result<Option<BootstrapMessage>, JoinError> {
        match event {
            ConnectionEvent::Received(id, BootstrapMessage::Failed(error)) if id == self.root => {
                self.root_knows = true;
                return Err(error);
            }
            ConnectionEvent::Received(id, BootstrapMessage::CountUnconnected) if id == self.root => {
                let unconnected = (self.join.size - 2).saturating_sub(self.connected);
                self.connections.send(id, &BootstrapMessage::Unconnected(unconnected));
            }
            ConnectionEvent::Received(id, message) if id == self.root => return Ok(Some(message)),
            ConnectionEvent::Closed(id) if id == self.root => {
                self.root_knows = true;
                return Err(JoinError::Lost { rank: 0, address: self.root_address });
            }
            ConnectionEvent::Malformed(id, what) if id == self.root => return Err(self.violation(what)),
            ConnectionEvent::Authenticated(id, hello, _) => self.authenticated(id, &hello),
            ConnectionEvent::Received(id, message) => match self.incoming.remove(&id) {
                Some(rank) if message == BootstrapMessage::Selected && self.ids[rank].is_none() => {
                    self.use_connection(rank, id);
                }
                _ => self.connections.close(id),
            },
            ConnectionEvent::Failed(id, error) => self.attempt_failed(id, &error)?,
            ConnectionEvent::Closed(id) | ConnectionEvent::Malformed(id, _) => {
                self.incoming.remove(&id);
                self.connections.close(id);
            }
        }
        Ok(None)
    }

    fn violation(&self, what: &str) -> JoinError {
        JoinError::ProtocolViolation { rank: 0, address: self.root_address, what: what.to_owned() }
    }

    /// Uses an outgoing connection whose peer is authenticated, or notes an incoming one.
    fn authenticated(&mut self, id: ConnectionId, hello: &Hello) {
        let Join { rank, size, .. } = *self.join;
        let outgoing = self.outgoing.get(&hello.rank).is_some_and(|peer| peer.attempts.has(id));
        if let Some(peer) = outgoing.then(|| self.outgoing.remove(&hello.rank)).flatten() {
            peer.attempts.others(Some(id)).for_each(|other| self.connections.close(other));
            self.connections.send(id, &BootstrapMessage::Selected);
            self.use_connection(hello.rank, id);
        } else if hello.size == size && hello.rank > rank && hello.rank < size {
            self.incoming.insert(id, hello.rank);
        } else {
            self.connections.close(id);
        }
    }

    fn use_connection(&mut self, rank: usize, id: ConnectionId) {
        self.ids[rank] = Some(id);
        self.connected += 1;
        log::debug!("rank {} is connected to rank {rank}", self.join.rank);
        if self.connected + 2 == self.join.size {
            self.ready();
        }
    }

    /// Stops listening and tells rank 0 that this rank is connected to all others.
    fn ready(&mut self) {
        self.connections.stop_listening();
        self.connections.send(self.root, &BootstrapMessage::Ready);
    }

    fn attempt_failed(&mut self, id: ConnectionId, error: &HandshakeError) -> Result<(), JoinError> {
        for (&other, peer) in &mut self.outgoing {
            let Some(address) = peer.attempts.failed(id) else { continue };
            if !matches!(error, HandshakeError::Io(_)) {
                return Err(JoinError::WrongPeer { address, other, why: error.description() });
            }
            peer.last_error = error.description();
            let now = Instant::now();
            let tried = peer.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
            if tried >= self.join.timeout.min(CONNECT_TIMEOUT) {
                return Err(peer.unreachable(self.join.rank, other, tried));
            }
            return peer.attempts.pause(now);
        }
        Ok(())
    }

    /// Tells rank 0 why this rank fails, unless it knows.
    fn report_failure(&mut self, error: &JoinError) {
        if self.root_knows {
            return;
        }
        self.connections.stop_listening();
        self.connections.send_last(self.root, &BootstrapMessage::failed(self.join.rank, error));
        let until = after(Instant::now(), LINGER);
        while self.connections.is_closing() {
            match self.connections.next_event(until) {
                Ok(Some(_)) => {}
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn into_mesh(mut self, locations: &[RankLocation]) -> Result<Mesh, JoinError> {
        let rank = self.join.rank;
        let own = locations.get(rank).map(|location| location.host);
        let neighbours = locations.iter().filter(|location| Some(location.host) == own).count();
        let hosts = Hosts::of_names(locations.iter().map(|location| location.counts_as));
        self.ids[0] = Some(self.root);
        let connections = &mut self.connections;
        let streams = self.ids.iter().map(|id| id.map(|id| connections.take_stream(id)).transpose());
        let streams = streams.collect::<Result<_, _>>()?;
        Ok(Mesh { rank, streams, neighbours, hosts: Some(hosts) })
    }
}

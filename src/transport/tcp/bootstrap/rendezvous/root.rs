//! The bootstrap on rank 0, which coordinates it.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::super::connections::{ConnectionEvent, ConnectionId, ConnectionSet};
use super::super::error::JoinError;
use super::super::hello::{Hello, Purpose};
use super::super::key::random;
use super::super::message::{BootstrapMessage, RankLocation};
use super::super::system::canonical;
use super::super::{Join, system};
use super::address::{self, RendezvousFile};
use super::timing::{
    FILE_INTERVAL, FLUSH_INTERVAL, LINGER, LOG_INTERVAL, WATCH_INTERVAL, after, grace, identity, rounded,
};
use crate::transport::tcp::mesh::Mesh;
use crate::vocabulary::Hosts;

/// Runs the bootstrap as rank 0.
pub(super) fn run(join: &Join) -> Result<Mesh, JoinError> {
    let mut job = [0; 8];
    random(&mut job)?;
    let need = system::required_descriptors(0, join.size);
    // To tell the others why it cannot serve them, rank 0 has to listen nevertheless.
    let ((listeners, file), need, refusal) = match (address::listen(join), need) {
        (Ok(listening), Ok(need)) => (listening, need, None),
        (Ok(listening), Err(refusal)) => (listening, join.size, Some(refusal)),
        (Err(error), need) => {
            let refusal = need.err().unwrap_or(error);
            let Some(listening) = address::listen_elsewhere(join) else { return Err(refusal) };
            (listening, join.size, Some(refusal))
        }
    };
    let mut addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let address = addresses.next().map_or(SocketAddr::from(([0; 4], 0)), canonical);
    let identity = identity(join, u64::from_le_bytes(job));
    let mut connections = ConnectionSet::new(identity, Purpose::Rendezvous, need)?;
    for listener in listeners {
        connections.listen(listener)?;
    }
    let location = join.location(address);
    let mut root = RootBootstrap {
        join,
        connections,
        file,
        location,
        claimed: HashMap::new(),
        arrived: (0..join.size).map(|_| None).collect(),
        ready: 0,
    };
    let (result, patience) = match refusal {
        // Ranks may be started by hand, one after the other, so rank 0 waits longer for them.
        Some(refusal) => {
            log::error!("rank 0 tells the ranks that come within {:?}: {refusal}", grace(join.timeout));
            (Err(refusal), grace(join.timeout))
        }
        None => (root.coordinate(), LINGER),
    };
    match result {
        Ok(()) => root.into_mesh(),
        Err(error) => {
            root.report_failure(&error, patience);
            Err(error)
        }
    }
}

/// The state of the bootstrap on rank 0.
struct RootBootstrap<'a> {
    join: &'a Join,
    connections: ConnectionSet,
    file: Option<RendezvousFile>,
    /// The location of rank 0 itself.
    location: RankLocation,
    /// The rank that each authenticated peer claims to be, and the peer's address.
    claimed: HashMap<ConnectionId, (usize, SocketAddr)>,
    /// The ranks that have arrived, by rank.
    arrived: Vec<Option<ArrivedRank>>,
    /// The number of ranks that are connected to all others.
    ready: usize,
}

/// A rank that has arrived.
struct ArrivedRank {
    id: ConnectionId,
    peer: SocketAddr,
    location: RankLocation,
    ready: bool,
    /// The number of ranks to which it is not connected, if it was asked and has answered.
    unconnected: Option<usize>,
}

impl RootBootstrap<'_> {
    fn coordinate(&mut self) -> Result<(), JoinError> {
        let (size, timeout) = (self.join.size, self.join.timeout);
        let waited = rounded(timeout);
        self.wait("here", timeout, |root| root.arrived.iter().flatten().count() + 1 == size).map_err(|error| {
            error.unwrap_or_else(|| {
                let missing = (1..size).filter(|rank| self.arrived[*rank].is_none()).collect();
                JoinError::Missing { size, missing, waited, turned_away: self.connections.rejections() }
            })
        })?;
        self.check_reachable()?;
        let locations = self.arrived.iter().map(|rank| rank.as_ref().map_or(self.location, |rank| rank.location));
        let table = BootstrapMessage::Table(locations.collect());
        self.send_to_all(&table);
        self.wait_until_connected()?;
        self.connections.stop_listening();
        // The bytes that the ranks send from now on are for the progress engine.
        let ids: Vec<ConnectionId> = self.arrived.iter().flatten().map(|rank| rank.id).collect();
        ids.iter().for_each(|id| self.connections.stop_reading(*id));
        self.send_to_all(&BootstrapMessage::Go);
        let until = after(Instant::now(), grace(timeout));
        while !self.connections.is_flushed(ids.iter().copied()) {
            let now = Instant::now();
            if now >= until {
                break;
            }
            // No event tells that the messages are sent.
            self.connections.next_event(until.min(after(now, FLUSH_INTERVAL)))?;
        }
        Ok(())
    }

    /// Waits until all ranks are connected to all. If one rank does not answer the others, none of
    /// them becomes ready. So when the timeout is over, all are asked, and a rank that does not
    /// answer is the one that is late.
    fn wait_until_connected(&mut self) -> Result<(), JoinError> {
        let (size, timeout) = (self.join.size, self.join.timeout);
        let done = |root: &Self| root.ready + 1 == size;
        let what = "connected to all";
        match self.wait(what, timeout, done) {
            Err(None) => {}
            early => return early.map_err(|error| error.unwrap_or_else(|| self.late())),
        }
        let unready = self.arrived.iter().flatten().filter(|rank| !rank.ready);
        unready.for_each(|rank| self.connections.send(rank.id, &BootstrapMessage::CountUnconnected));
        self.wait(what, grace(timeout), done).map_err(|error| error.unwrap_or_else(|| self.late()))
    }

    /// Returns the error that names the ranks that delay the others: those that do not answer; if
    /// all answer, those that lack the most connections.
    fn late(&self) -> JoinError {
        let arrived = || self.arrived.iter().enumerate().filter_map(|(number, rank)| Some((number, rank.as_ref()?)));
        let unready = || arrived().filter(|(_, rank)| !rank.ready);
        let unconnected = |rank: &ArrivedRank| rank.unconnected.unwrap_or(usize::MAX);
        let most = unready().map(|(_, rank)| unconnected(rank)).max();
        let late = unready().filter(|(_, rank)| Some(unconnected(rank)) == most).map(|(number, _)| number).collect();
        let timeout = self.join.timeout;
        JoinError::Late { late, waited: rounded(timeout.saturating_add(grace(timeout))) }
    }

    /// Sends a message to every rank that has arrived.
    fn send_to_all(&mut self, message: &BootstrapMessage) {
        for rank in self.arrived.iter().flatten() {
            self.connections.send(rank.id, message);
        }
    }

    /// Handles events until `done`. Fails with `None` if that takes too long.
    fn wait(&mut self, what: &str, patience: Duration, done: impl Fn(&Self) -> bool) -> Result<(), Option<JoinError>> {
        let began = Instant::now();
        let until = after(began, patience);
        let mut next_log = after(began, LOG_INTERVAL);
        while !done(self) {
            let now = Instant::now();
            if now >= until {
                return Err(None);
            }
            if now >= next_log {
                log::info!("{}", self.progress(what));
                next_log = after(now, LOG_INTERVAL);
            }
            let mut wake = until.min(next_log);
            if let Some(file) = &self.file {
                file.check()?;
                wake = wake.min(after(now, FILE_INTERVAL));
            }
            if let Some(watch) = &self.join.watch {
                if let Some((rank, reason)) = (watch.0)() {
                    return Err(Some(JoinError::Abandoned { rank, reason }));
                }
                wake = wake.min(after(now, WATCH_INTERVAL));
            }
            if let Some(event) = self.connections.next_event(wake)? {
                self.handle(event)?;
                log::debug!("{}", self.progress(what));
            }
        }
        log::info!("{}", self.progress(what));
        Ok(())
    }

    /// Describes the progress of the bootstrap.
    fn progress(&self, what: &str) -> String {
        let size = self.join.size;
        let count = if self.ready > 0 { self.ready } else { self.arrived.iter().flatten().count() };
        format!("{} of {size} ranks are {what}", count + 1)
    }

    fn handle(&mut self, event: ConnectionEvent) -> Result<(), JoinError> {
        match event {
            ConnectionEvent::Authenticated(id, hello, peer) => self.authenticated(id, &hello, peer),
            ConnectionEvent::Received(id, message) => self.received(id, message),
            ConnectionEvent::Closed(id) => {
                let arrived = self.rank_of(id).is_some();
                match self.claimed.remove(&id) {
                    Some((rank, address)) if arrived => Err(JoinError::Lost { rank, address }),
                    // It had not arrived, and may connect again.
                    _ => Ok(()),
                }
            }
            ConnectionEvent::Malformed(id, what) => self.violation(id, what),
            ConnectionEvent::Failed(..) => Ok(()),
        }
    }

    /// Returns the rank that has arrived over a connection.
    fn rank_of(&self, id: ConnectionId) -> Option<&ArrivedRank> {
        let (rank, _) = self.claimed.get(&id)?;
        self.arrived.get(*rank)?.as_ref().filter(|rank| rank.id == id)
    }

    fn violation(&mut self, id: ConnectionId, what: &str) -> Result<(), JoinError> {
        let Some(&(rank, address)) = self.claimed.get(&id) else { return Ok(()) };
        self.connections.close(id);
        Err(JoinError::ProtocolViolation { rank, address, what: what.to_owned() })
    }

    /// Checks the hello of a peer that has proved that it holds the key.
    fn authenticated(&mut self, id: ConnectionId, hello: &Hello, address: SocketAddr) -> Result<(), JoinError> {
        let (rank, size) = (hello.rank, self.join.size);
        self.claimed.insert(id, (rank, address));
        if let Some((what, value_a, value_b)) = self.connections.identity.build.difference(&hello.build) {
            return Err(JoinError::BuildMismatch { what: what.to_owned(), rank_a: 0, value_a, rank_b: rank, value_b });
        }
        if hello.size != size {
            return Err(JoinError::SizeMismatch { size, rank, address, other_size: hello.size });
        }
        if rank == 0 {
            return Err(JoinError::DuplicateRank { rank, first: self.location.address, second: address });
        }
        Ok(())
    }

    fn received(&mut self, id: ConnectionId, message: BootstrapMessage) -> Result<(), JoinError> {
        let Some(&(rank, peer)) = self.claimed.get(&id) else { return Ok(()) };
        let Some(arrived) = self.arrived.get_mut(rank) else { return Ok(()) };
        match (message, arrived) {
            (BootstrapMessage::Failed(error), _) => {
                self.connections.close(id);
                Err(error)
            }
            (BootstrapMessage::Arrived(location), arrived @ None) => {
                log::debug!("rank {rank} is here from {peer}, and listens on {}", location.address);
                *arrived = Some(ArrivedRank { id, peer, location, ready: false, unconnected: None });
                Ok(())
            }
            (BootstrapMessage::Arrived(_), Some(first)) if first.id != id => {
                Err(JoinError::DuplicateRank { rank, first: first.peer, second: peer })
            }
            (BootstrapMessage::Ready, Some(arrived)) if arrived.id == id && !arrived.ready => {
                arrived.ready = true;
                self.ready += 1;
                Ok(())
            }
            (BootstrapMessage::Unconnected(count), Some(arrived)) if arrived.id == id => {
                arrived.unconnected = Some(count);
                Ok(())
            }
            _ => self.violation(id, "an unexpected bootstrap message"),
        }
    }

    /// Fails if a rank has announced a loopback address to a rank on another host.
    fn check_reachable(&self) -> Result<(), JoinError> {
        let arrived = || self.arrived.iter().enumerate().filter_map(|(number, rank)| Some((number, rank.as_ref()?)));
        for (number, rank) in arrived().filter(|(_, rank)| rank.location.address.ip().is_loopback()) {
            let elsewhere = arrived().find(|(other, one)| *other > number && one.location.host != rank.location.host);
            if let Some((other, _)) = elsewhere {
                return Err(JoinError::Loopback { rank: number, address: rank.location.address, other });
            }
        }
        Ok(())
    }

    /// Tells all ranks that have come, and those that come within `patience`, that the bootstrap
    /// has failed.
    fn report_failure(&mut self, error: &JoinError, patience: Duration) {
        let message = BootstrapMessage::failed(0, error);
        let mut told = vec![false; self.join.size];
        told[0] = true;
        // This rank knows the error already, or is gone.
        if let JoinError::Lost { rank, .. } | JoinError::Abandoned { rank, .. } = error
            && let Some(told) = told.get_mut(*rank)
        {
            *told = true;
        }
        for id in self.connections.authenticated() {
            if let Some(told) = self.claimed.get(&id).and_then(|(rank, _)| told.get_mut(*rank)) {
                *told = true;
            }
            self.connections.send_last(id, &message);
        }
        let until = after(Instant::now(), patience);
        while self.connections.is_closing() || told.contains(&false) {
            match self.connections.next_event(until) {
                Ok(Some(ConnectionEvent::Authenticated(id, hello, _))) => {
                    if let Some(told) = told.get_mut(hello.rank) {
                        *told = true;
                    }
                    self.connections.send_last(id, &message);
                }
                Ok(Some(_)) => {}
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn into_mesh(mut self) -> Result<Mesh, JoinError> {
        let own = self.location.host;
        let neighbours = self.arrived.iter().flatten().filter(|rank| rank.location.host == own).count() + 1;
        let locations = self.arrived.iter().map(|rank| rank.as_ref().map_or(&self.location, |rank| &rank.location));
        let hosts = Hosts::of_names(locations.map(|location| location.counts_as));
        let connections = &mut self.connections;
        let streams = self.arrived.iter().map(|rank| rank.as_ref().map(|rank| connections.take_stream(rank.id)));
        let streams: Vec<Option<TcpStream>> = streams.map(Option::transpose).collect::<Result<_, _>>()?;
        Ok(Mesh { rank: 0, streams, neighbours, hosts: Some(hosts) })
    }
}

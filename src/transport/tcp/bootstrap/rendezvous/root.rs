//! The bootstrap on rank 0, which coordinates it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::super::acceptor::{Acceptor, Peer};
use super::super::connection::{Connection, ReceiveError};
use super::super::error::JoinError;
use super::super::hello::{Build, Hello, Purpose};
use super::super::key::random;
use super::super::message::{BootstrapMessage, RankLocation};
use super::super::registry::Registry;
use super::super::system::canonical;
use super::super::timing::{FILE_INTERVAL, LINGER, LOG_INTERVAL, NEVER, WATCH_INTERVAL, after, grace, rounded};
use super::super::{Join, system};
use super::address::{self, RendezvousFile};
use super::mesh;
use crate::transport::tcp::mesh::Mesh;

/// Runs the bootstrap as rank 0.
pub(super) fn run(join: &Join) -> Result<Mesh, JoinError> {
    let mut job = [0; 8];
    random(&mut job)?;
    let checked = system::check_descriptors(0, join.size);
    // To tell the others why it cannot serve them, rank 0 has to listen nevertheless.
    let ((listeners, file), refusal) = match (address::listen(join), checked) {
        (Ok(listening), checked) => (listening, checked.err()),
        (Err(error), checked) => {
            let refusal = checked.err().unwrap_or(error);
            let Some(listening) = address::listen_elsewhere(join) else { return Err(refusal) };
            (listening, Some(refusal))
        }
    };
    let mut addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let address = addresses.next().map_or(SocketAddr::from(([0; 4], 0)), canonical);
    let (reports, from_threads) = mpsc::channel();
    let registry = Registry::default();
    let arrived = registry.with_threads(|scope| {
        let own = (&join.identity(u64::from_le_bytes(job)), Purpose::Rendezvous);
        let size = join.size;
        let acceptor = Acceptor::start(scope, listeners, own, &registry, move |peer| serve(size, peer, &reports))?;
        let mut root = RootBootstrap {
            join,
            acceptor,
            file,
            location: join.location(address),
            arrived: (0..join.size).map(|_| None).collect(),
            ready: 0,
            told: vec![false; join.size],
            refused: None,
            from_threads,
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
            Ok(()) => Ok((root.locations(), root.arrived)),
            Err(error) => {
                root.report_failure(&error, patience);
                Err(error)
            }
        }
    });
    let (locations, arrived) = arrived?;
    mesh(join, &locations, arrived.into_iter().map(|rank| rank.map(|rank| rank.connection)).collect())
}

/// What a thread reports of a rank that has connected and holds the key.
struct Report {
    rank: usize,
    connection: Arc<Connection>,
    what: ReportKind,
}

enum ReportKind {
    /// It has connected and said this.
    Authenticated(Hello),
    /// It has sent a message.
    Received(BootstrapMessage),
    /// No more messages come.
    Ended(ReceiveError),
}

/// Receives the messages of a rank until it is ready. From then on, what it sends is for the
/// progress engine.
fn serve(size: usize, peer: Peer<'_>, reports: &Sender<Report>) {
    let (rank, connection) = (peer.hello.rank, Arc::clone(peer.connection()));
    let report = |what| {
        let _ = reports.send(Report { rank, connection: Arc::clone(&connection), what });
    };
    report(ReportKind::Authenticated(peer.hello.clone()));
    let mut message = peer.first_message(size);
    loop {
        match message {
            Ok(BootstrapMessage::Ready) => {
                peer.release();
                return report(ReportKind::Received(BootstrapMessage::Ready));
            }
            Ok(message) => report(ReportKind::Received(message)),
            Err(error) => return report(ReportKind::Ended(error)),
        }
        message = connection.receive(size, after(Instant::now(), NEVER));
    }
}

/// The state of the bootstrap on rank 0.
struct RootBootstrap<'a> {
    join: &'a Join,
    acceptor: Acceptor,
    file: Option<RendezvousFile>,
    /// The location of rank 0 itself.
    location: RankLocation,
    /// The ranks that have arrived, by rank.
    arrived: Vec<Option<ArrivedRank>>,
    /// The number of ranks that are connected to all others.
    ready: usize,
    /// The ranks that know that the bootstrap has failed, or are gone.
    told: Vec<bool>,
    /// A connection that has made the bootstrap fail, if its peer is to be told.
    refused: Option<Arc<Connection>>,
    from_threads: Receiver<Report>,
}

/// A rank that has arrived.
struct ArrivedRank {
    connection: Arc<Connection>,
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
                JoinError::Missing { size, missing, waited, turned_away: self.acceptor.rejections() }
            })
        })?;
        self.check_reachable()?;
        self.send_to_all(&BootstrapMessage::Table(self.locations()));
        self.wait_until_connected()?;
        self.send_to_all(&BootstrapMessage::Go);
        Ok(())
    }

    fn locations(&self) -> Vec<RankLocation> {
        self.arrived.iter().map(|rank| rank.as_ref().map_or(self.location, |rank| rank.location)).collect()
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
        let until = after(Instant::now(), grace(timeout));
        unready.for_each(|rank| drop(rank.connection.send(&BootstrapMessage::CountUnconnected, until)));
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

    /// Sends a message to every rank that has arrived. One that does not read it will be late.
    fn send_to_all(&self, message: &BootstrapMessage) {
        let until = after(Instant::now(), grace(self.join.timeout));
        self.arrived.iter().flatten().for_each(|rank| drop(rank.connection.send(message, until)));
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
            if let Ok(report) = self.from_threads.recv_timeout(wake.saturating_duration_since(now)) {
                self.handle(report)?;
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

    fn handle(&mut self, Report { rank, connection, what }: Report) -> Result<(), JoinError> {
        let message = match what {
            ReportKind::Authenticated(hello) => return self.check(&hello, connection),
            ReportKind::Received(message) => message,
            ReportKind::Ended(ReceiveError::Malformed(what)) => return self.violation(rank, &connection, what),
            ReportKind::Ended(ReceiveError::Ended) if self.arrived_over(rank, &connection).is_some() => {
                self.told[rank] = true;
                return Err(JoinError::Lost { rank, address: connection.peer });
            }
            // It had not arrived, and may connect again.
            ReportKind::Ended(ReceiveError::Ended) => return Ok(()),
        };
        match (message, self.arrived_over(rank, &connection)) {
            (BootstrapMessage::Failed(error), _) => {
                self.told[rank] = true;
                connection.shut_down();
                return Err(error);
            }
            (BootstrapMessage::Arrived(location), None) => match &self.arrived[rank] {
                Some(first) => {
                    let (first, second) = (first.connection.peer, connection.peer);
                    self.refused = Some(connection);
                    return Err(JoinError::DuplicateRank { rank, first, second });
                }
                None => {
                    log::debug!("rank {rank} is here from {}, and listens on {}", connection.peer, location.address);
                    self.arrived[rank] = Some(ArrivedRank { connection, location, ready: false, unconnected: None });
                }
            },
            (BootstrapMessage::Ready, Some(arrived)) => {
                arrived.ready = true;
                self.ready += 1;
            }
            (BootstrapMessage::Unconnected(count), Some(arrived)) => arrived.unconnected = Some(count),
            _ => return self.violation(rank, &connection, "an unexpected bootstrap message"),
        }
        Ok(())
    }

    /// Fails if a rank that has connected cannot join.
    fn check(&mut self, hello: &Hello, connection: Arc<Connection>) -> Result<(), JoinError> {
        let (rank, size, address) = (hello.rank, self.join.size, connection.peer);
        let error = if let Some((what, value_a, value_b)) = Build::own().difference(&hello.build) {
            JoinError::BuildMismatch { what: what.to_owned(), rank_a: 0, value_a, rank_b: rank, value_b }
        } else if hello.size != size {
            JoinError::SizeMismatch { size, rank, address, other_size: hello.size }
        } else if rank == 0 {
            JoinError::DuplicateRank { rank, first: self.location.address, second: address }
        } else {
            return Ok(());
        };
        self.refused = Some(connection);
        Err(error)
    }

    /// Returns the rank, if it has arrived over that connection.
    fn arrived_over(&mut self, rank: usize, connection: &Arc<Connection>) -> Option<&mut ArrivedRank> {
        self.arrived[rank].as_mut().filter(|arrived| Arc::ptr_eq(&arrived.connection, connection))
    }

    fn violation(&mut self, rank: usize, connection: &Connection, what: &str) -> Result<(), JoinError> {
        connection.shut_down();
        self.told[rank] = true;
        Err(JoinError::ProtocolViolation { rank, address: connection.peer, what: what.to_owned() })
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
        self.told[0] = true;
        // This rank knows the error already, or is gone.
        if let JoinError::Lost { rank, .. } | JoinError::Abandoned { rank, .. } = error
            && let Some(told) = self.told.get_mut(*rank)
        {
            *told = true;
        }
        let message = BootstrapMessage::failed(0, error);
        // The connections whose peers have not closed them yet.
        let mut open: Vec<Arc<Connection>> = Vec::new();
        let tell = |connection: &Arc<Connection>, open: &mut Vec<_>| {
            let _ = connection.send(&message, after(Instant::now(), LINGER));
            connection.end_sending();
            open.push(Arc::clone(connection));
        };
        let until = after(Instant::now(), patience);
        for (rank, arrived) in self.arrived.iter().enumerate() {
            if let Some(arrived) = arrived.as_ref().filter(|_| !self.told[rank]) {
                tell(&arrived.connection, &mut open);
                self.told[rank] = true;
            }
        }
        self.refused.iter().for_each(|connection| tell(connection, &mut open));
        // No thread reads what comes from a rank that is ready.
        for ready in self.arrived.iter().flatten().filter(|rank| rank.ready) {
            ready.connection.finish(until.min(after(Instant::now(), LINGER)));
            open.retain(|connection| !Arc::ptr_eq(connection, &ready.connection));
        }
        while !open.is_empty() || self.told.contains(&false) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(Report { rank, connection, what }) = self.from_threads.recv_timeout(left) else { return };
            let at = open.iter().position(|one| Arc::ptr_eq(one, &connection));
            match (what, at) {
                (ReportKind::Authenticated(_) | ReportKind::Received(BootstrapMessage::Arrived(_)), None) => {
                    tell(&connection, &mut open);
                    if let Some(told) = self.told.get_mut(rank) {
                        *told = true;
                    }
                }
                (ReportKind::Ended(_), Some(at)) => drop(open.swap_remove(at)),
                _ => {}
            }
        }
    }
}

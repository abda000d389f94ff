//! The bootstrap on rank 0, which coordinates it.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::super::acceptor::{Acceptor, Peer};
use super::super::connection::{ConnectedRank, Connection, ReceiveError};
use super::super::error::JoinError;
use super::super::hello::{Build, Hello, Purpose};
use super::super::key::random;
use super::super::message::{BootstrapMessage, RankLocation};
use super::super::registry::Registry;
use super::super::system::canonical;
use super::super::timing::{
    FILE_INTERVAL, FLUSH_INTERVAL, LINGER, LOG_INTERVAL, NEVER, WATCH_INTERVAL, after, grace, rounded,
};
use super::super::{Join, system};
use super::address::{self, RendezvousFile};

/// Maximum time to send what can be sent at once.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Runs the bootstrap as rank 0. Returns all ranks.
pub(super) fn run(join: &Join) -> Result<Vec<ConnectedRank>, JoinError> {
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
    registry.with_threads(|scope| {
        let own = (&join.identity(u64::from_le_bytes(job)), Purpose::Rendezvous);
        let size = join.size;
        let acceptor = Acceptor::start(scope, listeners, own, &registry, move |peer| serve(size, peer, &reports))?;
        let mut root = RootBootstrap {
            join,
            acceptor,
            file,
            location: join.location(address),
            coming: Vec::new(),
            arrived: (0..join.size).map(|_| None).collect(),
            told: vec![false; join.size],
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
            Ok(()) => {
                let ranks = root.locations().into_iter().zip(root.arrived);
                let connection = |rank: Option<ArrivedRank>| rank.map(|rank| rank.peer.connection);
                Ok(ranks.map(|(location, rank)| ConnectedRank { location, connection: connection(rank) }).collect())
            }
            Err(error) => {
                root.report_failure(&error, patience);
                Err(error)
            }
        }
    })
}

/// A report of a thread about a rank that has connected and holds the key.
struct Report {
    rank: usize,
    connection: Arc<Connection>,
    what: ReportKind,
}

enum ReportKind {
    /// It holds the key; this is its hello.
    Authenticated(Hello),
    /// It has sent a message, or will send none.
    Received(Result<BootstrapMessage, ReceiveError>),
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
                return report(ReportKind::Received(message));
            }
            Err(ReceiveError::Ended) => return report(ReportKind::Received(message)),
            message => report(ReportKind::Received(message)),
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
    /// The processes that have connected and hold the key, but have not arrived, with the rank that
    /// each says it is.
    coming: Vec<(usize, Arc<Connection>)>,
    /// The ranks that have arrived, by rank.
    arrived: Vec<Option<ArrivedRank>>,
    /// The ranks that know that the bootstrap has failed, or are gone.
    told: Vec<bool>,
    from_threads: Receiver<Report>,
}

/// A rank that has arrived.
struct ArrivedRank {
    peer: Outgoing,
    location: RankLocation,
    ready: bool,
    /// The number of ranks to which it is not connected, if it was asked and has answered.
    unconnected: Option<usize>,
}

/// A connection, and the bytes still to be sent over it. A peer that does not read does not block the
/// others.
struct Outgoing {
    connection: Arc<Connection>,
    unsent: Vec<u8>,
    /// Whether to end sending when `unsent` is empty.
    last: bool,
}

impl Outgoing {
    fn new(connection: Arc<Connection>) -> Self {
        Self { connection, unsent: Vec::new(), last: false }
    }

    fn send(&mut self, message: &[u8]) {
        self.unsent.extend(message);
        self.flush();
    }

    fn send_last(&mut self, message: &[u8]) {
        self.last = true;
        self.send(message);
    }

    /// Sends what can be sent at once. Returns whether nothing is left.
    fn flush(&mut self) -> bool {
        let (mut stream, mut sent) = (self.connection.until(after(Instant::now(), AT_ONCE)), 0);
        while sent < self.unsent.len() {
            match stream.write(&self.unsent[sent..]) {
                Ok(count) if count > 0 => sent += count,
                Err(error) if error.kind() == ErrorKind::TimedOut => break,
                // The thread that reads the connection reports its end.
                _ => sent = self.unsent.len(),
            }
        }
        drop(stream);
        self.unsent.drain(..sent);
        if self.unsent.is_empty() && std::mem::take(&mut self.last) {
            self.connection.end_sending();
        }
        self.unsent.is_empty()
    }
}

/// Sends what can be sent at once. Returns whether nothing is left.
fn flush_all<'a>(peers: impl IntoIterator<Item = &'a mut Outgoing>) -> bool {
    peers.into_iter().map(Outgoing::flush).filter(|sent| !sent).count() == 0
}

impl RootBootstrap<'_> {
    fn coordinate(&mut self) -> Result<(), JoinError> {
        let (size, timeout) = (self.join.size, self.join.timeout);
        let waited = rounded(timeout);
        self.wait("here", timeout, |root| root.arrived_ranks().count() + 1 == size).map_err(|error| {
            error.unwrap_or_else(|| {
                let missing = (1..size).filter(|rank| self.arrived[*rank].is_none()).collect();
                JoinError::Missing { size, missing, waited, turned_away: self.acceptor.rejections() }
            })
        })?;
        self.check_reachable()?;
        self.send_to_all(&BootstrapMessage::Table(self.locations()));
        self.wait_until_connected()?;
        self.send_to_all(&BootstrapMessage::Go);
        let until = after(Instant::now(), grace(timeout));
        while !self.flush() && Instant::now() < until {
            std::thread::sleep(FLUSH_INTERVAL);
        }
        // The progress engine would read the rest of a message as a frame.
        let unsent = self.arrived.iter().flatten().filter(|rank| !rank.peer.unsent.is_empty());
        unsent.for_each(|rank| rank.peer.connection.shut_down());
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
        let done = |root: &Self| root.ready() + 1 == size;
        let what = "connected to all";
        match self.wait(what, timeout, done) {
            Err(None) => {}
            early => return early.map_err(|error| error.unwrap_or_else(|| self.late())),
        }
        let unready = self.arrived.iter_mut().flatten().filter(|rank| !rank.ready);
        let question = BootstrapMessage::CountUnconnected.encode();
        unready.for_each(|rank| rank.peer.send(&question));
        self.wait(what, grace(timeout), done).map_err(|error| error.unwrap_or_else(|| self.late()))
    }

    /// Returns the ranks that have arrived, with their numbers.
    fn arrived_ranks(&self) -> impl Iterator<Item = (usize, &ArrivedRank)> {
        self.arrived.iter().enumerate().filter_map(|(number, rank)| Some((number, rank.as_ref()?)))
    }

    /// Returns the number of ranks that are connected to all others.
    fn ready(&self) -> usize {
        self.arrived_ranks().filter(|(_, rank)| rank.ready).count()
    }

    /// Returns the error that names the ranks that delay the others: those that do not answer; if
    /// all answer, those that lack the most connections.
    fn late(&self) -> JoinError {
        let unready = || self.arrived_ranks().filter(|(_, rank)| !rank.ready);
        let unconnected = |rank: &ArrivedRank| rank.unconnected.unwrap_or(usize::MAX);
        let most = unready().map(|(_, rank)| unconnected(rank)).max();
        let late = unready().filter(|(_, rank)| Some(unconnected(rank)) == most).map(|(number, _)| number).collect();
        let timeout = self.join.timeout;
        JoinError::Late { late, waited: rounded(timeout.saturating_add(grace(timeout))) }
    }

    /// Sends a message to every rank that has arrived.
    fn send_to_all(&mut self, message: &BootstrapMessage) {
        let message = message.encode();
        self.arrived.iter_mut().flatten().for_each(|rank| rank.peer.send(&message));
    }

    /// Sends what could not be sent before. Returns whether nothing is left.
    fn flush(&mut self) -> bool {
        flush_all(self.arrived.iter_mut().flatten().map(|rank| &mut rank.peer))
    }

    /// Handles events until `done`. Fails with `None` if that takes too long.
    fn wait(&mut self, what: &str, patience: Duration, done: impl Fn(&Self) -> bool) -> Result<(), Option<JoinError>> {
        let began = Instant::now();
        let until = after(began, patience);
        let mut next_log = after(began, LOG_INTERVAL);
        let mut next_flush = began;
        while !done(self) {
            let now = Instant::now();
            if now >= until {
                return Err(None);
            }
            if now >= next_log {
                log::info!("{}", self.progress(what));
                next_log = after(now, LOG_INTERVAL);
            }
            if now >= next_flush {
                let interval = if self.flush() { NEVER } else { FLUSH_INTERVAL };
                next_flush = after(Instant::now(), interval);
            }
            let mut wake = until.min(next_log).min(next_flush);
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
        let count = match self.ready() {
            0 => self.arrived_ranks().count(),
            ready => ready,
        };
        format!("{} of {size} ranks are {what}", count + 1)
    }

    fn handle(&mut self, Report { rank, connection, what }: Report) -> Result<(), JoinError> {
        let received = match what {
            ReportKind::Authenticated(hello) => {
                let mismatch = self.mismatch(&hello, connection.peer);
                self.coming.push((rank, connection));
                return mismatch.map_or(Ok(()), Err);
            }
            ReportKind::Received(received) => received,
        };
        let message = match received {
            Ok(message) => message,
            Err(ReceiveError::Malformed(what)) => return self.violation(rank, &connection, what),
            Err(ReceiveError::Ended) => {
                let arrived = self.arrived_over(rank, &connection).is_some();
                self.forget(rank, &connection);
                // One that had not arrived may connect again.
                return if arrived { Err(JoinError::Lost { rank, address: connection.peer }) } else { Ok(()) };
            }
        };
        match (message, self.arrived_over(rank, &connection)) {
            (BootstrapMessage::Failed(error), _) => {
                connection.shut_down();
                self.forget(rank, &connection);
                self.told[rank] = true;
                return Err(error);
            }
            (BootstrapMessage::Arrived(location), None) => match &self.arrived[rank] {
                Some(first) => {
                    let (first, second) = (first.peer.connection.peer, connection.peer);
                    return Err(JoinError::DuplicateRank { rank, first, second });
                }
                None => {
                    log::debug!("rank {rank} is here from {}, and listens on {}", connection.peer, location.address);
                    self.forget(rank, &connection);
                    let peer = Outgoing::new(connection);
                    self.arrived[rank] = Some(ArrivedRank { peer, location, ready: false, unconnected: None });
                }
            },
            (BootstrapMessage::Ready, Some(arrived)) => {
                arrived.ready = true;
            }
            (BootstrapMessage::Unconnected(count), Some(arrived)) => arrived.unconnected = Some(count),
            _ => return self.violation(rank, &connection, "an unexpected bootstrap message"),
        }
        Ok(())
    }

    /// Returns why a rank that has connected cannot join, if it cannot.
    fn mismatch(&self, hello: &Hello, address: SocketAddr) -> Option<JoinError> {
        let (rank, size) = (hello.rank, self.join.size);
        if let Some((what, value_a, value_b)) = Build::own().difference(&hello.build) {
            return Some(JoinError::BuildMismatch { what: what.to_owned(), rank_a: 0, value_a, rank_b: rank, value_b });
        }
        if hello.size != size {
            return Some(JoinError::SizeMismatch { size, rank, address, other_size: hello.size });
        }
        (rank == 0).then_some(JoinError::DuplicateRank { rank, first: self.location.address, second: address })
    }

    /// Forgets a connection that has ended, or whose rank arrives.
    fn forget(&mut self, rank: usize, connection: &Arc<Connection>) {
        self.coming.retain(|(_, one)| !Arc::ptr_eq(one, connection));
        if self.arrived_over(rank, connection).is_some() {
            self.arrived[rank] = None;
        }
    }

    /// Returns the rank, if it has arrived over that connection.
    fn arrived_over(&mut self, rank: usize, connection: &Arc<Connection>) -> Option<&mut ArrivedRank> {
        self.arrived[rank].as_mut().filter(|arrived| Arc::ptr_eq(&arrived.peer.connection, connection))
    }

    fn violation(&mut self, rank: usize, connection: &Arc<Connection>, what: &str) -> Result<(), JoinError> {
        connection.shut_down();
        self.forget(rank, connection);
        self.told[rank] = true;
        Err(JoinError::ProtocolViolation { rank, address: connection.peer, what: what.to_owned() })
    }

    /// Fails if a rank has announced a loopback address to a rank on another host.
    fn check_reachable(&self) -> Result<(), JoinError> {
        for (number, rank) in self.arrived_ranks().filter(|(_, rank)| rank.location.address.ip().is_loopback()) {
            let elsewhere =
                self.arrived_ranks().find(|(other, one)| *other > number && one.location.host != rank.location.host);
            if let Some((other, _)) = elsewhere {
                return Err(JoinError::Loopback { rank: number, address: rank.location.address, other });
            }
        }
        Ok(())
    }

    /// Tells all ranks that have come, and those that come within `patience`, that the bootstrap
    /// has failed.
    fn report_failure(&mut self, error: &JoinError, patience: Duration) {
        let message = BootstrapMessage::failed(0, error).encode();
        // The connections whose peers have not closed them yet.
        let mut open: Vec<Outgoing> = Vec::new();
        let mut ready = Vec::new();
        for (rank, arrived) in std::mem::take(&mut self.arrived).into_iter().enumerate() {
            let Some(arrived) = arrived else { continue };
            self.told[rank] = true;
            if arrived.ready { &mut ready } else { &mut open }.push(arrived.peer);
        }
        for (rank, connection) in std::mem::take(&mut self.coming) {
            self.mark_told(rank);
            open.push(Outgoing::new(connection));
        }
        self.told[0] = true;
        if let JoinError::Lost { rank, .. } | JoinError::Abandoned { rank, .. } = error {
            self.mark_told(*rank);
        }
        let until = after(Instant::now(), patience);
        open.iter_mut().chain(&mut ready).for_each(|peer| peer.send_last(&message));
        loop {
            let now = Instant::now();
            if now >= until {
                break;
            }
            let done = open.is_empty() && !self.told.contains(&false);
            let sent = flush_all(open.iter_mut().chain(&mut ready));
            let wake = if sent { until } else { until.min(after(now, FLUSH_INTERVAL)) };
            let patience = if done { Duration::ZERO } else { wake.saturating_duration_since(now) };
            let report = match self.from_threads.recv_timeout(patience) {
                Ok(report) => report,
                Err(_) if done => break,
                Err(_) => continue,
            };
            let at = open.iter().position(|peer| Arc::ptr_eq(&peer.connection, &report.connection));
            match (report.what, at) {
                // This rank has connected after the failure.
                (ReportKind::Authenticated(_), _) => {
                    self.mark_told(report.rank);
                    let mut peer = Outgoing::new(report.connection);
                    peer.send_last(&message);
                    open.push(peer);
                }
                (ReportKind::Received(Ok(BootstrapMessage::Ready)), Some(at)) => ready.push(open.swap_remove(at)),
                (ReportKind::Received(Err(ReceiveError::Ended)), Some(at)) => drop(open.swap_remove(at)),
                (ReportKind::Received(_), _) => {}
            }
        }
        // The threads of ready ranks have ended, so their connections are drained here.
        let soon = after(Instant::now(), LINGER / 4);
        ready.iter().for_each(|peer| peer.connection.finish(soon));
    }

    /// Records that a rank is told of the failure, or need not be.
    fn mark_told(&mut self, rank: usize) {
        // A refused process may belong to a larger job; its rank may be out of range.
        if let Some(told) = self.told.get_mut(rank) {
            *told = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn peer_that_does_not_read_gets_everything_in_order_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let patience = Duration::from_secs(60);
        let connection = Arc::new(Connection::connect(listener.local_addr().unwrap(), patience).unwrap());
        let (stream, peer) = listener.accept().unwrap();
        let other = Connection::accepted(stream, peer).unwrap();
        let mut outgoing = Outgoing::new(connection);
        let message =
            |rank| BootstrapMessage::Failed(JoinError::Abandoned { rank, reason: format!("{rank:8}").repeat(1000) });
        let mut sent = 0;
        while outgoing.flush() {
            outgoing.send(&message(sent).encode());
            sent += 1;
        }
        outgoing.send_last(&BootstrapMessage::Go.encode());
        let deadline = after(Instant::now(), patience);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..sent).for_each(|rank| assert_eq!(other.receive(8, deadline), Ok(message(rank))));
                assert_eq!(other.receive(8, deadline), Ok(BootstrapMessage::Go));
                assert_eq!(other.receive(8, deadline), Err(ReceiveError::Ended));
            });
            while !outgoing.flush() {
                assert!(Instant::now() < deadline);
            }
        });
    }
}

//! The bootstrap on all ranks but rank 0.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::super::acceptor::{Acceptor, Peer};
use super::super::connection::{ConnectedRank, Connection, ReceiveError};
use super::super::error::JoinError;
use super::super::handshake::{HandshakeError, Identity};
use super::super::hello::{Build, Hello, Purpose};
use super::super::message::{BootstrapMessage, RankLocation};
use super::super::registry::{Entry, Registry};
use super::super::timing::{LINGER, NEVER, after, grace, rounded};
use super::super::{Join, system};
use super::address;
use super::attempts::Attempts;
use super::reach_root::reach_root;

/// Maximum time to connect to another rank, which listens already.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of ranks to which it connects at a time.
const CONCURRENT_CONNECTS: usize = 8;

/// Runs the bootstrap as another rank than rank 0. Returns all ranks.
pub(super) fn run(join: &Join) -> Result<Vec<ConnectedRank>, JoinError> {
    if let Some(ip) = join.address.filter(|ip| !ip.is_unspecified()) {
        address::check_may_listen(join, ip)?;
    }
    let checked = system::check_descriptors(join.rank, join.size);
    let registry = Registry::default();
    registry.with_threads(|scope| {
        let (root, hello) = reach_root(join, &join.identity(0), &registry)?;
        let connection = Arc::clone(&root.connection);
        let mut client = ClientBootstrap::start(join, scope, &registry, root, &hello).inspect_err(|error| {
            let _ = connection.send(&BootstrapMessage::failed(join.rank, error), after(Instant::now(), LINGER));
            connection.finish(after(Instant::now(), LINGER));
        })?;
        // From here on, the client tells rank 0 of an error.
        match checked.and_then(|()| client.join_mesh(&hello.build)) {
            Ok(locations) => {
                client.connections[0] = Some(client.root);
                let ranks = locations.into_iter().zip(client.connections);
                Ok(ranks.map(|(location, connection)| ConnectedRank { location, connection }).collect())
            }
            Err(error) => {
                client.report_failure(&error);
                Err(error)
            }
        }
    })
}

/// The state of the bootstrap on another rank than rank 0.
struct ClientBootstrap<'scope, 'env> {
    join: &'env Join,
    scope: &'scope Scope<'scope, 'env>,
    registry: &'env Registry,
    /// With the job's number.
    identity: Identity,
    root: Arc<Connection>,
    /// Whether rank 0 knows that the bootstrap has failed.
    root_knows: bool,
    /// The connections to the other ranks than rank 0, by rank.
    connections: Vec<Option<Arc<Connection>>>,
    /// Accepts connections while this rank listens.
    acceptor: Option<Acceptor>,
    /// Whether this rank has sent `Ready`, after which rank 0 reads nothing.
    ready: bool,
    reports: Sender<Report>,
    from_threads: Receiver<Report>,
}

/// A report of a thread.
enum Report {
    /// A message of rank 0, or the reason why none comes.
    Root(Result<BootstrapMessage, ReceiveError>),
    /// There is a connection to that rank.
    Connected(usize, Arc<Connection>),
    /// This rank has failed.
    Failed(JoinError),
}

impl<'scope, 'env> ClientBootstrap<'scope, 'env> {
    /// Starts to receive what rank 0 sends.
    fn start(
        join: &'env Join,
        scope: &'scope Scope<'scope, 'env>,
        registry: &'env Registry,
        root: Entry<'env>,
        hello: &Hello,
    ) -> Result<Self, JoinError> {
        let (reports, from_threads) = mpsc::channel();
        let connection = Arc::clone(&root.connection);
        let (size, received) = (join.size, reports.clone());
        system::spawn(scope, join.rank, move || {
            loop {
                let message = root.connection.receive(size, after(Instant::now(), NEVER));
                if !matches!(message, Ok(BootstrapMessage::Go) | Err(ReceiveError::Ended)) {
                    let _ = received.send(Report::Root(message));
                    continue;
                }
                // Bytes after the last message are for the progress engine.
                root.release();
                let _ = received.send(Report::Root(message));
                return;
            }
        })?;
        let identity = join.identity(hello.job);
        Ok(Self {
            join,
            scope,
            registry,
            identity,
            root: connection,
            root_knows: false,
            connections: vec![None; join.size],
            acceptor: None,
            ready: false,
            reports,
            from_threads,
        })
    }

    /// Arrives at rank 0 and connects to the others. Returns the locations of all ranks.
    fn join_mesh(&mut self, roots: &Build) -> Result<Vec<RankLocation>, JoinError> {
        let Join { rank, size, timeout, .. } = *self.join;
        if let Some((what, value_a, value_b)) = roots.difference(&Build::own()) {
            // Rank 0 finds this by itself.
            self.root_knows = true;
            return Err(JoinError::BuildMismatch { what: what.to_owned(), rank_a: 0, value_a, rank_b: rank, value_b });
        }
        let (listener, address, why) = address::listen_as_client(self.join, self.root.local)?;
        log::info!("rank {rank} of {size} listens on {address}, the address {why}; rank 0 is at {}", self.root.peer);
        let reports = self.reports.clone();
        let serve = move |peer: Peer<'_>| {
            let Hello { rank: other, size: their_size, .. } = peer.hello;
            if their_size == size && other > rank && peer.first_message(size) == Ok(BootstrapMessage::Selected) {
                let _ = reports.send(Report::Connected(other, peer.release()));
            }
        };
        let own = (&self.identity, Purpose::Mesh);
        self.acceptor = Some(Acceptor::start(self.scope, vec![listener], own, self.registry, serve)?);
        self.send(&BootstrapMessage::Arrived(self.join.location(address)));

        let patience = timeout.saturating_add(grace(timeout));
        let BootstrapMessage::Table(locations) = self.next_message(patience)? else {
            return Err(self.violation("an unexpected bootstrap message"));
        };
        log::debug!("rank {rank} knows where all {size} ranks are");
        self.connect_to_lower_ranks(&locations)?;
        self.tell_when_connected();
        let patience = timeout.saturating_add(2 * grace(timeout));
        match self.next_message(patience)? {
            BootstrapMessage::Go if self.ready => Ok(locations),
            _ => Err(self.violation("an unexpected bootstrap message")),
        }
    }

    /// Stops listening and tells rank 0, once this rank is connected to all others.
    fn tell_when_connected(&mut self) {
        if self.unconnected() == 0 && !self.ready {
            self.ready = true;
            self.acceptor = None;
            self.send(&BootstrapMessage::Ready);
        }
    }

    /// Starts to connect to the ranks with lower numbers.
    fn connect_to_lower_ranks(&self, locations: &[RankLocation]) -> Result<(), JoinError> {
        let now = Instant::now();
        let pending: VecDeque<Pending> = (1..self.join.rank)
            .zip(locations.iter().skip(1))
            .map(|(other, location)| {
                let mut address = location.address;
                // The scope of a link-local address is the number of an interface, which differs
                // between hosts.
                if let (SocketAddr::V6(to), SocketAddr::V6(local)) = (&mut address, self.root.local)
                    && to.ip().is_unicast_link_local()
                {
                    to.set_scope_id(local.scope_id());
                }
                Pending { other, address, began: None, attempts: Attempts::new(), due: now }
            })
            .collect();
        let count = pending.len();
        let pending = Arc::new(Mutex::new(pending));
        for started in 0..count.min(CONCURRENT_CONNECTS) {
            let (registry, reports) = (self.registry, self.reports.clone());
            let connector = Connector { join: self.join, registry, identity: self.identity.clone() };
            let pending = Arc::clone(&pending);
            let spawned = system::spawn(self.scope, self.join.rank, move || connector.run(&pending, &reports));
            match spawned {
                Err(error) if started == 0 => return Err(error),
                // One is enough.
                Err(_) => break,
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Returns the next message of rank 0 that is for the caller.
    fn next_message(&mut self, patience: Duration) -> Result<BootstrapMessage, JoinError> {
        let until = after(Instant::now(), patience);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(report) = self.from_threads.recv_timeout(left) else {
                return Err(JoinError::Silent { address: self.root.peer, waited: rounded(patience) });
            };
            match report {
                Report::Root(Ok(BootstrapMessage::Failed(error))) => {
                    self.root_knows = true;
                    return Err(error);
                }
                Report::Root(Ok(BootstrapMessage::CountUnconnected)) => {
                    if !self.ready {
                        self.send(&BootstrapMessage::Unconnected(self.unconnected()));
                    }
                }
                Report::Root(Ok(message)) => return Ok(message),
                Report::Root(Err(ReceiveError::Ended)) => {
                    self.root_knows = true;
                    return Err(JoinError::Lost { rank: 0, address: self.root.peer });
                }
                Report::Root(Err(ReceiveError::Malformed(what))) => return Err(self.violation(what)),
                Report::Connected(other, connection) => {
                    log::debug!("rank {} is connected to rank {other}", self.join.rank);
                    self.connections[other].get_or_insert(connection);
                    self.tell_when_connected();
                }
                Report::Failed(error) => return Err(error),
            }
        }
    }

    /// Returns the number of ranks to which this one is not connected.
    fn unconnected(&self) -> usize {
        self.join.size - 2 - self.connections.iter().flatten().count()
    }

    fn violation(&self, what: &str) -> JoinError {
        JoinError::ProtocolViolation { rank: 0, address: self.root.peer, what: what.to_owned() }
    }

    /// Sends a message to rank 0. If that fails, the connection has ended.
    fn send(&self, message: &BootstrapMessage) {
        if self.root.send(message, after(Instant::now(), LINGER)).is_err() {
            self.root.shut_down();
        }
    }

    /// Tells rank 0 why this rank fails, unless it knows or reads nothing more.
    fn report_failure(&mut self, error: &JoinError) {
        if self.root_knows || self.ready {
            return;
        }
        self.send(&BootstrapMessage::failed(self.join.rank, error));
        self.root.end_sending();
        let until = after(Instant::now(), LINGER);
        // Rank 0 closes the connection when it has read the message.
        while let Ok(report) = self.from_threads.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if let Report::Root(Err(ReceiveError::Ended)) = report {
                return;
            }
        }
    }
}

/// A rank to which this one is not connected yet.
struct Pending {
    other: usize,
    address: SocketAddr,
    /// The time of the first attempt.
    began: Option<Instant>,
    attempts: Attempts,
    /// The time of the next attempt.
    due: Instant,
}

/// Connects to ranks with lower numbers.
struct Connector<'env> {
    join: &'env Join,
    registry: &'env Registry,
    identity: Identity,
}

impl Connector<'_> {
    /// Connects to ranks, until none is left that no other thread tries. A rank that does not answer
    /// goes to the end of the queue, so that it does not delay those behind it.
    fn run(&self, pending: &Mutex<VecDeque<Pending>>, reports: &Sender<Report>) {
        let pending = || pending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // The queue is not locked during the attempt.
            let next = pending().pop_front();
            let Some(mut peer) = next else { return };
            if !self.registry.pause(peer.due.saturating_duration_since(Instant::now())) {
                return;
            }
            let report = match self.attempt(&mut peer) {
                Ok(Some(connection)) => Report::Connected(peer.other, connection),
                Ok(None) => {
                    pending().push_back(peer);
                    continue;
                }
                Err(error) => Report::Failed(error),
            };
            let _ = reports.send(report);
        }
    }

    /// Tries to connect to a rank. Returns `None` if it is to be tried again.
    fn attempt(&self, peer: &mut Pending) -> Result<Option<Arc<Connection>>, JoinError> {
        let Join { rank, timeout, .. } = *self.join;
        let (other, address, attempted) = (peer.other, peer.address, Instant::now());
        let began = *peer.began.get_or_insert(attempted);
        // Longer than rank 0 waits (unless its timeout is long), so that rank 0 is the first to name a
        // rank that does not answer.
        let without_answer = timeout.saturating_add(2 * grace(timeout)).min(CONNECT_TIMEOUT);
        let left = without_answer.saturating_sub(attempted - began);
        let connected = peer.attempts.connect(self.registry, &self.identity, (Purpose::Mesh, other, address), left);
        let selected = connected.and_then(|(entry, _)| {
            entry.connection.send(&BootstrapMessage::Selected, after(Instant::now(), LINGER))?;
            Ok(entry.release())
        });
        let (limit, why) = match selected {
            Ok(connection) => return Ok(Some(connection)),
            Err(HandshakeError::NoAnswer) => (without_answer, HandshakeError::NoAnswer.description()),
            Err(HandshakeError::Io(why)) => (timeout.min(CONNECT_TIMEOUT), why),
            Err(HandshakeError::Own(error)) => return Err(error),
            Err(error) => return Err(JoinError::WrongPeer { address, other, why: error.description() }),
        };
        let tried = began.elapsed();
        if tried >= limit {
            let address = address.to_string();
            return Err(JoinError::Unreachable { rank, other, address, why, waited: rounded(tried) });
        }
        peer.due = after(Instant::now(), peer.attempts.failed(attempted.elapsed())?);
        Ok(None)
    }
}

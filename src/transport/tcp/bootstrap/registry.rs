//! The connections on which threads of the bootstrap wait, and the stage that each has reached.
//!
//! The registry shuts connections down so that their threads end: one of an unauthenticated peer
//! when another peer comes and there are too many, and all of them when the bootstrap ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::key::random;

/// The time that a peer has before it may be evicted: enough for a rank to send its hello and its
/// proof.
const UNDISTURBED: Duration = Duration::from_millis(50);

/// The connections on which threads of the bootstrap wait.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
    /// A connection has left or changed its stage, or the registry is closed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    connections: Vec<Registered>,
    next_id: u64,
    closed: bool,
}

#[derive(Debug)]
struct Registered {
    id: u64,
    connection: Arc<Connection>,
    since: Instant,
    stage: Stage,
}

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The peer has connected.
    Connected,
    /// The peer has sent a hello, as a rank would.
    SentHello,
    /// The peer has proved that it holds the key, and sent no message yet.
    Authenticated,
    /// The peer is evicted, and its thread ends.
    Evicted,
    /// The peer has sent a message, or this process has connected to it.
    Serving,
}

impl Registry {
    /// Calls `body` with a scope for threads. When it returns, closes the registry and waits until
    /// the threads have ended.
    pub(super) fn with_threads<'env, T>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        struct Close<'a>(&'a Registry);
        impl Drop for Close<'_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        thread::scope(|scope| {
            let _close = Close(self);
            body(scope)
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. Returns `None` if the registry is closed.
    pub(super) fn add(&self, connection: Arc<Connection>, stage: Stage) -> Option<Entry<'_>> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        let since = Instant::now();
        state.connections.push(Registered { id, connection: Arc::clone(&connection), since, stage });
        Some(Entry { registry: self, id, connection })
    }

    /// Waits until fewer peers than that have connected without sending a message, and evicts some
    /// if they take too long. Returns whether the registry is open.
    pub(super) fn make_room(&self, limit: usize) -> bool {
        let mut state = self.state();
        while !state.closed && state.waiting() >= limit {
            state.evict(Instant::now());
            (state, _) = self.changed.wait_timeout(state, UNDISTURBED / 10).unwrap_or_else(PoisonError::into_inner);
        }
        !state.closed
    }

    /// Evicts an unauthenticated peer that has had its time, if there is one.
    pub(super) fn evict(&self) {
        self.state().evict(Instant::now());
    }

    /// Waits. Returns early, with `false`, if the registry is closed.
    pub(super) fn pause(&self, duration: Duration) -> bool {
        let (state, _) = self
            .changed
            .wait_timeout_while(self.state(), duration, |state| !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }

    /// Shuts down all connections, and takes no other.
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.connections.iter().for_each(|one| one.connection.shut_down());
        self.changed.notify_all();
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.connections.iter().filter(|one| one.stage != Stage::Serving).count()
    }

    /// Evicts an unauthenticated peer, if there is one that has had its time and no other is being
    /// evicted.
    ///
    /// Peers that have not sent a hello are evicted first, so a program that does not speak this
    /// protocol never displaces a rank. Among equals, one is drawn at random. If the oldest were
    /// evicted, a fast enough flood would always evict a rank first, because the rank has to
    /// receive and answer before it is authenticated.
    fn evict(&mut self, now: Instant) {
        if self.connections.iter().any(|one| one.stage == Stage::Evicted) {
            return;
        }
        let had_its_time = |one: &&mut Registered| now.duration_since(one.since) >= UNDISTURBED;
        for stage in [Stage::Connected, Stage::SentHello] {
            let peers = self.connections.iter_mut().filter(|one| one.stage == stage).filter(had_its_time);
            let mut peers: Vec<&mut Registered> = peers.collect();
            // If the system has no random numbers, no peer can authenticate, and any choice will do.
            let mut drawn = [0; 8];
            let _ = random(&mut drawn);
            if let Some(at) = u64::from_le_bytes(drawn).checked_rem(peers.len() as u64) {
                peers[at as usize].stage = Stage::Evicted;
                peers[at as usize].connection.shut_down();
                return;
            }
        }
    }
}

/// A registered connection. Dropping this removes it from the registry.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    registry: &'a Registry,
    id: u64,
    pub(super) connection: Arc<Connection>,
}

impl Entry<'_> {
    /// Records the stage.
    pub(super) fn set(&self, stage: Stage) {
        let mut state = self.registry.state();
        if let Some(one) = state.connections.iter_mut().find(|one| one.id == self.id)
            && one.stage != Stage::Evicted
        {
            one.stage = stage;
        }
        self.registry.changed.notify_all();
    }

    /// Whether the peer was evicted.
    pub(super) fn is_evicted(&self) -> bool {
        self.registry.state().connections.iter().any(|one| one.id == self.id && one.stage == Stage::Evicted)
    }

    /// Returns the connection, which the registry no longer shuts down.
    pub(super) fn release(self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.registry.state().connections.retain(|one| one.id != self.id);
        self.registry.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A connection whose other end is kept open.
    fn connection() -> (Arc<Connection>, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connection = Connection::connect(listener.local_addr().unwrap(), Duration::from_secs(60)).unwrap();
        (Arc::new(connection), listener.accept().unwrap().0)
    }

    /// Evicts one of them, and takes it out.
    fn evict(registry: &Registry, entries: &mut Vec<Entry<'_>>, now: Instant) -> Option<u64> {
        registry.state().evict(now);
        let at = entries.iter().position(Entry::is_evicted)?;
        Some(entries.swap_remove(at).id)
    }

    #[test]
    fn peers_without_a_hello_are_evicted_first_and_ranks_never() {
        let registry = Registry::default();
        let (one, _other) = connection();
        let began = Instant::now();
        let mut entries: Vec<Entry<'_>> =
            (0..20).map(|_| registry.add(Arc::clone(&one), Stage::Connected).unwrap()).collect();
        [3, 7, 19].iter().for_each(|id: &usize| entries[*id].set(Stage::SentHello));
        entries[0].set(Stage::Authenticated);
        entries[1].set(Stage::Serving);
        assert_eq!(evict(&registry, &mut entries, began), None, "a peer had no time to answer");
        let later = Instant::now() + UNDISTURBED;
        let gone: Vec<u64> = (0..15).map(|_| evict(&registry, &mut entries, later).unwrap()).collect();
        assert!(gone.iter().all(|id| ![0, 1, 3, 7, 19].contains(id)), "{gone:?}");
        assert_eq!(registry.state().waiting(), 4);
        let mut gone: Vec<u64> = (0..3).map(|_| evict(&registry, &mut entries, later).unwrap()).collect();
        gone.sort_unstable();
        assert_eq!(gone, [3, 7, 19]);
        assert_eq!(evict(&registry, &mut entries, later), None);
    }

    #[test]
    fn early_peer_sometimes_survives_a_flood() {
        // Once there is no room, twice as many peers come. The first is still there with a chance of
        // about one in seven.
        const ROOM: usize = 50;
        let (one, _other) = connection();
        let survives = || {
            let registry = Registry::default();
            let mut entries = Vec::new();
            for _ in 0..3 * ROOM {
                entries.push(registry.add(Arc::clone(&one), Stage::SentHello).unwrap());
                if entries.len() > ROOM {
                    evict(&registry, &mut entries, Instant::now() + UNDISTURBED).unwrap();
                }
            }
            entries.iter().any(|entry| entry.id == 0)
        };
        // Never in 400 trials is less likely than 1 in 10^24.
        assert!((0..400).any(|_| survives()));
    }

    #[test]
    fn room_is_made_by_the_peers_that_have_had_their_time() {
        let registry = Registry::default();
        let (one, mut other) = connection();
        let entry = registry.add(one, Stage::Connected).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| assert!(registry.make_room(1)));
            assert_eq!(other.read(&mut [0]).unwrap(), 0);
            assert!(entry.is_evicted());
            // A message that its thread has read does not undo the eviction.
            entry.set(Stage::Serving);
            assert!(entry.is_evicted());
            drop(entry);
        });
    }

    #[test]
    fn end_shuts_down_all_connections_but_those_that_are_released() {
        let registry = Registry::default();
        let [(kept, mut kept_other), (lost, mut lost_other)] = [connection(), connection()];
        let kept = registry.with_threads(|scope| {
            let kept = registry.add(kept, Stage::Serving).unwrap().release();
            let (registry, entry) = (&registry, registry.add(lost, Stage::Serving).unwrap());
            scope.spawn(move || {
                assert!(!registry.pause(Duration::from_secs(600)));
                drop(entry);
            });
            kept
        });
        assert_eq!(lost_other.read(&mut [0]).unwrap(), 0);
        assert!(registry.add(Arc::clone(&kept), Stage::Serving).is_none() && !registry.make_room(1));
        kept_other.set_nonblocking(true).unwrap();
        assert_eq!(kept_other.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

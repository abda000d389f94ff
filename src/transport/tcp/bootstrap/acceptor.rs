//! Accepts connections, and authenticates their peers, each on a thread of its own.
//!
//! Until a peer has sent its first message, for at most 10 seconds, it counts against a limit. When
//! there are too many, a new one displaces another ([`Registry::make_room`]). A rank that holds the
//! key and was displaced tries again.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use super::connection::{Connection, ReceiveError};
use super::error::JoinError;
use super::handshake::{self, HandshakeError, Identity, Reached};
use super::hello::{Hello, Purpose};
use super::key::random;
use super::message::BootstrapMessage;
use super::registry::{Entry, Registry, Stage};
use super::system;
use super::timing::{HANDSHAKE_TIMEOUT, LINGER, after};

/// Pause after the system could not accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// The token of all events. After any event, the thread checks all listeners.
const ANY: Token = Token(0);

/// Accepts connections until it is dropped.
pub(super) struct Acceptor {
    shared: Arc<Shared>,
}

struct Shared {
    identity: Identity,
    /// The purpose for which connections are accepted.
    purpose: Purpose,
    /// Maximum number of peers that have connected and not sent a message.
    limit: usize,
    rejections: Mutex<Rejections>,
    stopped: AtomicBool,
    /// Wakes the thread that accepts.
    waker: Waker,
}

#[derive(Default)]
struct Rejections {
    count: usize,
    last: String,
}

/// A peer that has connected and holds the key.
pub(super) struct Peer<'a> {
    pub(super) hello: Hello,
    entry: Entry<'a>,
    expires: Instant,
}

impl Peer<'_> {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.entry.connection
    }

    /// Receives the first message, which must come before `expires`.
    pub(super) fn first_message(&self, size: usize) -> Result<BootstrapMessage, ReceiveError> {
        let message = self.connection().receive(size, self.expires);
        self.entry.set(Stage::Serving);
        message
    }

    /// Returns the connection, which the registry no longer shuts down.
    pub(super) fn release(self) -> Arc<Connection> {
        self.entry.release()
    }
}

impl Acceptor {
    /// Starts to accept connections. Calls `serve` on a thread of its own for each peer that holds
    /// the key.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        listeners: Vec<std::net::TcpListener>,
        (identity, purpose): (&Identity, Purpose),
        registry: &'env Registry,
        serve: impl Fn(Peer<'_>) + Send + Sync + 'scope,
    ) -> Result<Self, JoinError> {
        let Identity { rank, size, .. } = *identity;
        let failed = |error: io::Error| system::system_error(rank, size, "connections cannot be waited for", &error);
        let poll = Poll::new().map_err(failed)?;
        let waker = Waker::new(poll.registry(), ANY).map_err(failed)?;
        let listen = |listener: std::net::TcpListener| {
            listener.set_nonblocking(true)?;
            let mut listener = TcpListener::from_std(listener);
            poll.registry().register(&mut listener, ANY, Interest::READABLE)?;
            Ok(listener)
        };
        let listeners = listeners.into_iter().map(listen).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let shared = Arc::new(Shared {
            identity: identity.clone(),
            purpose,
            limit: system::max_unauthenticated(size),
            rejections: Mutex::default(),
            stopped: false.into(),
            waker,
        });
        let serve = Arc::new(serve);
        let accepting = Arc::clone(&shared);
        system::spawn(scope, rank, move || {
            accepting.accept_all(poll, &listeners, registry, |connection| {
                let (shared, serve) = (Arc::clone(&accepting), Arc::clone(&serve));
                let peer = connection.peer;
                let Some(entry) = registry.add(connection, Stage::Connected) else { return };
                if let Err(error) = system::spawn(scope, rank, move || shared.authenticate(entry, &*serve)) {
                    accepting.reject(peer, &error.to_string());
                }
            });
        })?;
        Ok(Self { shared })
    }

    /// Describes the connections that were rejected; empty if there were none.
    pub(super) fn rejections(&self) -> String {
        let Rejections { count, last } = &*self.shared.rejections();
        match count {
            0 => String::new(),
            1 => format!("one connection was turned away: {last}"),
            many => format!("{many} connections were turned away, the last: {last}"),
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        let _ = self.shared.waker.wake();
    }
}

impl Shared {
    /// Accepts connections until the acceptor is dropped.
    fn accept_all(
        &self,
        mut poll: Poll,
        listeners: &[TcpListener],
        registry: &Registry,
        admit: impl Fn(Arc<Connection>),
    ) {
        let mut events = Events::with_capacity(16);
        while !self.is_stopped() {
            // In turn, so that a flood at one listener does not keep ranks from another. An event
            // comes again only after a listener had no connection left.
            let mut any = false;
            for listener in listeners {
                let Some(accepted) = self.accept(listener, registry) else { continue };
                any = true;
                let Some((stream, peer)) = accepted.filter(|_| registry.make_room(self.limit)) else { continue };
                match Connection::accepted(stream, peer) {
                    Ok(connection) => admit(Arc::new(connection)),
                    Err(error) => self.reject(peer, &error.to_string()),
                }
            }
            if !any && poll.poll(&mut events, None).is_err() {
                registry.pause(ACCEPT_PAUSE);
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Accepts a connection. Returns `None` if none is waiting, and `Some(None)` if the next attempt
    /// may succeed.
    fn accept(&self, listener: &TcpListener, registry: &Registry) -> Option<Option<(TcpStream, SocketAddr)>> {
        match listener.accept() {
            Ok((stream, peer)) => return Some(Some((stream.into(), peer))),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return None,
                // The connection ended before it was accepted.
                ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                // Out of descriptors or memory. Evicting an unauthenticated peer frees some.
                _ => {
                    self.reject_text(format!("one that cannot be accepted: {error}"));
                    registry.evict();
                    registry.pause(ACCEPT_PAUSE);
                }
            },
        }
        Some(None)
    }

    /// Authenticates a peer, and serves it.
    fn authenticate(&self, entry: Entry<'_>, serve: &impl Fn(Peer<'_>)) {
        let (peer, expires) = (entry.connection.peer, after(Instant::now(), HANDSHAKE_TIMEOUT));
        let mut nonce = [0; 32];
        let said_hello = Cell::new(false);
        let reached = |reached| {
            said_hello.set(true);
            entry.set(match reached {
                Reached::Hello => Stage::SentHello,
                Reached::Proof => Stage::Authenticated,
            });
        };
        let mut stream = entry.connection.until(expires);
        let hello = random(&mut nonce)
            .map_err(HandshakeError::from)
            .and_then(|()| handshake::respond(&mut stream, &self.identity, self.purpose, nonce, reached));
        drop(stream);
        match hello {
            Ok(hello) => serve(Peer { hello, entry, expires }),
            Err(_) if entry.is_evicted() => self.reject(peer, "it did not authenticate while others were waiting"),
            // The peer is a rank that gave up waiting and tries again.
            Err(error) if said_hello.get() && error.is_of_the_connection() => {
                log::debug!("rank {} has lost {peer}: {}", self.identity.rank, error.description());
            }
            Err(error) => {
                self.reject(peer, &error.description());
                // The peer was sent the reason and has to read it. Then it closes the connection.
                if matches!(error, HandshakeError::Protocol(_) | HandshakeError::Key | HandshakeError::Mismatch(_)) {
                    entry.connection.finish(after(Instant::now(), LINGER));
                }
            }
        }
    }

    fn rejections(&self) -> MutexGuard<'_, Rejections> {
        self.rejections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reject(&self, peer: SocketAddr, why: &str) {
        self.reject_text(format!("{}, {why}", system::canonical(peer)));
    }

    fn reject_text(&self, text: String) {
        log::debug!("rank {} turns away {text}", self.identity.rank);
        let mut rejections = self.rejections();
        rejections.count += 1;
        rejections.last = text;
    }
}

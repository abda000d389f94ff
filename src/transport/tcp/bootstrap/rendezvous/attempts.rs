//! Attempts to connect to a rank: one after the other, until one succeeds.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::error::JoinError;
use super::super::handshake::{HandshakeError, Identity, initiate};
use super::super::hello::{Hello, Purpose};
use super::super::key::random;
use super::super::registry::{Entry, Registry, Stage};
use super::super::system;
use super::super::timing::after;

/// Pause after a failed attempt, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// Time for an attempt to be answered, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// Maximum time for the system to connect. If the packet that opens a connection is lost, as in a
/// listener's full queue, the system sends it again after 1, 3 and 7 seconds. A new attempt is
/// sooner.
const CONNECT: Duration = Duration::from_secs(1);

/// The time limits of the attempts to connect to a rank.
#[derive(Debug)]
pub(super) struct Attempts {
    pause: Duration,
    patience: Duration,
}

impl Attempts {
    pub(super) fn new() -> Self {
        Self { pause: PAUSE.0, patience: PATIENCE.0 }
    }

    /// Connects to that rank at that address, within that time at most.
    pub(super) fn connect<'a>(
        &self,
        registry: &'a Registry,
        identity: &Identity,
        (purpose, rank, address): (Purpose, usize, SocketAddr),
        limit: Duration,
    ) -> Result<(Entry<'a>, Hello), HandshakeError> {
        // The system refuses to wait for no time at all.
        let patience = self.patience.min(limit).max(Duration::from_millis(1));
        let deadline = after(Instant::now(), patience);
        let connection = Connection::connect(address, patience.min(CONNECT)).inspect_err(|error| {
            // Evicting an unauthenticated peer frees one.
            if system::is_out_of_descriptors(error) {
                registry.evict();
            }
        })?;
        let closed = || HandshakeError::Io("the bootstrap has ended".to_owned());
        let entry = registry.add(Arc::new(connection), Stage::Serving).ok_or_else(closed)?;
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let hello = initiate(&mut entry.connection.until(deadline), identity, purpose, rank, nonce)?;
        Ok((entry, hello))
    }

    /// Records that an attempt has failed after that time. Returns the pause before the next one.
    pub(super) fn failed(&mut self, took: Duration) -> Result<Duration, JoinError> {
        if took >= self.patience {
            self.patience = (self.patience * 2).min(PATIENCE.1);
        }
        let pause = jittered(self.pause)?;
        self.pause = (self.pause * 2).min(PAUSE.1);
        Ok(pause)
    }
}

/// Returns a random duration between half of that and all of it, so that ranks that started
/// together do not retry together.
fn jittered(duration: Duration) -> Result<Duration, JoinError> {
    let mut drawn = [0; 2];
    random(&mut drawn)?;
    Ok(duration / 2 + duration / 2 * u32::from(u16::from_le_bytes(drawn)) / u32::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_are_repeated_ever_less_often() {
        let mut attempts = Attempts::new();
        let pauses: Vec<Duration> = (0..20).map(|_| attempts.failed(Duration::ZERO).unwrap()).collect();
        assert!(pauses[0] <= PAUSE.0 && pauses[19] >= PAUSE.1 / 2 && pauses[19] <= PAUSE.1, "{pauses:?}");
        // They were answered at once, so another one needs no more time.
        assert_eq!(attempts.patience, PATIENCE.0);
    }

    #[test]
    fn attempts_that_are_not_answered_get_more_time() {
        let mut attempts = Attempts::new();
        for _ in 0..20 {
            attempts.failed(attempts.patience).unwrap();
        }
        assert_eq!(attempts.patience, PATIENCE.1);
    }
}

//! Attempts to connect to one rank, several of which may be under way.
//!
//! If the packet that opens a connection is lost, as in a listener's full queue, the system sends
//! it again after 1, 3 and 7 seconds. So an attempt that is not answered soon is followed by
//! another, and the first that succeeds is used. Earlier ones stay for a while: the answer may only
//! be slow.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::super::connections::ConnectionId;
use super::super::error::JoinError;
use super::super::key::random;
use super::timing::after;

/// Pause after a failed attempt, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// Time to wait for an answer before another attempt, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// Maximum number of attempts under way. Another one replaces the oldest.
const MAX_ATTEMPTS: usize = 16;

/// The attempts to connect to one rank.
#[derive(Debug)]
pub(super) struct Attempts {
    /// The oldest first, with the address of each.
    under_way: VecDeque<(ConnectionId, SocketAddr)>,
    /// The time of the next attempt.
    next: Instant,
    pause: Duration,
    patience: Duration,
}

impl Attempts {
    /// Starts without attempts. The first is due at once.
    pub(super) fn new(now: Instant) -> Self {
        Self { under_way: VecDeque::new(), next: now, pause: PAUSE.0, patience: PATIENCE.0 }
    }

    /// Returns when the next attempt is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Whether a connection is one of the attempts.
    pub(super) fn has(&self, id: ConnectionId) -> bool {
        self.under_way.iter().any(|(one, _)| *one == id)
    }

    /// Adds an attempt that has just been made. If there are too many, removes the oldest and
    /// returns it.
    pub(super) fn made(
        &mut self,
        id: ConnectionId,
        address: SocketAddr,
        now: Instant,
    ) -> Result<Option<ConnectionId>, JoinError> {
        self.under_way.push_back((id, address));
        self.next = after(now, jittered(self.patience)?);
        self.patience = (self.patience * 2).min(PATIENCE.1);
        let oldest = (self.under_way.len() > MAX_ATTEMPTS).then(|| self.under_way.pop_front()).flatten();
        Ok(oldest.map(|(id, _)| id))
    }

    /// Removes an attempt that has failed. Returns its address, or `None` if it is not one of
    /// these.
    pub(super) fn failed(&mut self, id: ConnectionId) -> Option<SocketAddr> {
        let at = self.under_way.iter().position(|(one, _)| *one == id)?;
        self.under_way.remove(at).map(|(_, address)| address)
    }

    /// Delays the next attempt, longer each time.
    pub(super) fn pause(&mut self, now: Instant) -> Result<(), JoinError> {
        self.next = after(now, jittered(self.pause)?);
        self.pause = (self.pause * 2).min(PAUSE.1);
        Ok(())
    }

    /// Makes the next attempt due at once.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.next = now;
    }

    /// Returns the attempts under way, except for one.
    pub(super) fn others(self, id: Option<ConnectionId>) -> impl Iterator<Item = ConnectionId> {
        self.under_way.into_iter().map(|(one, _)| one).filter(move |one| Some(*one) != id)
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

    /// Minimum time before a system resends the packet that opens a connection (RFC 6298).
    const RESEND: Duration = Duration::from_secs(1);

    fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1))
    }

    #[test]
    fn unanswered_attempt_is_repeated_before_the_system_resends() {
        let mut now = Instant::now();
        let mut attempts = Attempts::new(now);
        for id in 0..100 {
            assert!(attempts.next() <= now + RESEND * 6 / 10, "attempt {id}");
            now = attempts.next();
            let given_up = attempts.made(id, address(), now).unwrap();
            assert_eq!(given_up, id.checked_sub(MAX_ATTEMPTS), "attempt {id}");
            assert!(attempts.has(id) && attempts.next() > now);
        }
        let others: Vec<ConnectionId> = attempts.others(Some(95)).collect();
        assert_eq!(others.len(), MAX_ATTEMPTS - 1);
        assert!(!others.contains(&95));
    }

    #[test]
    fn failed_attempts_are_repeated_ever_less_often() {
        let began = Instant::now();
        let mut now = began;
        let mut attempts = Attempts::new(now);
        for id in 0..20 {
            attempts.made(id, address(), now).unwrap();
            assert_eq!(attempts.failed(id), Some(address()));
            assert_eq!(attempts.failed(id), None);
            attempts.pause(now).unwrap();
            now = attempts.next();
        }
        assert!(now - began >= PAUSE.1 / 2 * 10 && now - began <= PAUSE.1 * 20);
    }
}

//! Attempts to reach one rank, several of which may be under way.
//!
//! What is lost on its way to a rank, as in a listener's full queue, the system sends again after
//! 1, 3 and 7 seconds. So an attempt that is not answered soon is joined by another, and the first
//! that is answered counts. The earlier ones stay for a while: an answer may be slow, too.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::super::error::JoinError;
use super::super::hall::Id;
use super::super::key::random;
use super::times::after;

/// How long to wait after an attempt that failed, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// How long to wait for an answer before another attempt is made, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// How many are under way at most: for another one the oldest is given up.
const MOST: usize = 16;

/// Attempts to reach one rank.
#[derive(Debug)]
pub(super) struct Attempts {
    /// The oldest first, with the address that was called.
    under_way: VecDeque<(Id, SocketAddr)>,
    /// When to make another.
    next: Instant,
    pause: Duration,
    patience: Duration,
}

impl Attempts {
    /// None yet; the first is to be made at once.
    pub(super) fn new(now: Instant) -> Self {
        Self { under_way: VecDeque::new(), next: now, pause: PAUSE.0, patience: PATIENCE.0 }
    }

    /// When another attempt is to be made.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Whether this is one of them.
    pub(super) fn has(&self, id: Id) -> bool {
        self.under_way.iter().any(|(one, _)| *one == id)
    }

    /// Adds an attempt that has just been made. Returns the one that is to be given up for it, if
    /// there are too many.
    pub(super) fn made(&mut self, id: Id, address: SocketAddr, now: Instant) -> Result<Option<Id>, JoinError> {
        self.under_way.push_back((id, address));
        self.next = after(now, jittered(self.patience)?);
        self.patience = (self.patience * 2).min(PATIENCE.1);
        let oldest = (self.under_way.len() > MOST).then(|| self.under_way.pop_front()).flatten();
        Ok(oldest.map(|(id, _)| id))
    }

    /// Removes an attempt that has failed. Returns the address that was called, if it is one of
    /// these.
    pub(super) fn failed(&mut self, id: Id) -> Option<SocketAddr> {
        let at = self.under_way.iter().position(|(one, _)| *one == id)?;
        self.under_way.remove(at).map(|(_, address)| address)
    }

    /// Waits a moment before the next, longer each time.
    pub(super) fn pause(&mut self, now: Instant) -> Result<(), JoinError> {
        self.next = after(now, jittered(self.pause)?);
        self.pause = (self.pause * 2).min(PAUSE.1);
        Ok(())
    }

    /// Makes the next at once.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.next = now;
    }

    /// Those under way but for this one.
    pub(super) fn besides(self, id: Option<Id>) -> impl Iterator<Item = Id> {
        self.under_way.into_iter().map(|(one, _)| one).filter(move |one| Some(*one) != id)
    }
}

/// Between half of that time and all of it, so that ranks which began together do not stay
/// together.
fn jittered(duration: Duration) -> Result<Duration, JoinError> {
    let mut drawn = [0; 2];
    random(&mut drawn)?;
    Ok(duration / 2 + duration / 2 * u32::from(u16::from_le_bytes(drawn)) / u32::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a system waits at least before it sends again what begins a connection (RFC 6298).
    const SYSTEM: Duration = Duration::from_secs(1);

    fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1))
    }

    #[test]
    fn unanswered_attempt_is_joined_before_the_system_resends() {
        let mut now = Instant::now();
        let mut attempts = Attempts::new(now);
        for id in 0..100 {
            assert!(attempts.next() <= now + SYSTEM * 6 / 10, "attempt {id}");
            now = attempts.next();
            let given_up = attempts.made(id, address(), now).unwrap();
            assert_eq!(given_up, id.checked_sub(MOST), "attempt {id}");
            assert!(attempts.has(id) && attempts.next() > now);
        }
        let others: Vec<Id> = attempts.besides(Some(95)).collect();
        assert_eq!(others.len(), MOST - 1);
        assert!(!others.contains(&95));
    }

    #[test]
    fn attempts_that_fail_are_made_again_less_and_less_often() {
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

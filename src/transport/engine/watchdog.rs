//! The watchdog of a call that a library executes.

use std::time::{Duration, Instant};

use super::codec::RankStatus;
use super::limits::{MAX_SUSPENSIONS, grace};
use crate::transport::Timeouts;

/// The watchdog of a library call under way.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pub(super) call: u64,
    pub(super) since: Instant,
    /// The time when all members last replied.
    pub(super) last_complete: Instant,
    /// The time since which no other member is in the call.
    pub(super) alone_since: Option<Instant>,
    /// The time when the call was found unable to end.
    pub(super) failed_since: Option<Instant>,
    /// The time after which to poll all members; and the poll under way.
    pub(super) next: Duration,
    pub(super) poll: Option<StatusPoll>,
    /// The time when the watchdog last ran, and the number of suspensions of the process before
    /// that.
    pub(super) looked: Instant,
    pub(super) suspensions: u32,
}

impl Watchdog {
    pub(super) fn begin(call: u64, now: Instant) -> Self {
        Self {
            call,
            since: now,
            last_complete: now,
            alone_since: None,
            failed_since: None,
            next: FIRST,
            poll: None,
            looked: now,
            suspensions: 0,
        }
    }

    /// Restarts after a suspension of this process or a lack of processor: replies that have
    /// arrived are from before. The number of restarts is limited.
    pub(super) fn account_for_suspension(&mut self, now: Instant, timeouts: Timeouts) {
        let suspended = now.duration_since(std::mem::replace(&mut self.looked, now));
        if suspended > grace(timeouts.shortest()) && self.suspensions < MAX_SUSPENSIONS {
            *self = Self {
                failed_since: self.failed_since,
                suspensions: self.suspensions + 1,
                ..Self::begin(self.call, now)
            };
        }
    }
}

/// A status request to all members.
#[derive(Debug)]
pub(super) struct StatusPoll {
    pub(super) number: u64,
    pub(super) since: Instant,
    /// The reply of each rank.
    pub(super) answers: Vec<Option<RankStatus>>,
}

/// Time until members are first polled.
pub(crate) const FIRST: Duration = Duration::from_millis(200);

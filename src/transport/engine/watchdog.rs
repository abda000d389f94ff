//! What is known of a call that is with a library.

use std::time::{Duration, Instant};

use super::codec::RankStatus;
use super::limits::{MAX_SUSPENSIONS, grace};
use crate::transport::Timeouts;

/// What is known of a call under way.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pub(super) call: u64,
    pub(super) since: Instant,
    /// When all members answered last.
    pub(super) last_complete: Instant,
    /// Since when nobody else is in it.
    pub(super) alone_since: Option<Instant>,
    /// When it was found that the call does not end.
    pub(super) failed_since: Option<Instant>,
    /// When to ask all members where they stand; and what they say.
    pub(super) next: Duration,
    pub(super) poll: Option<StatusPoll>,
    /// When this was looked at last, and how often this process had slept before that.
    pub(super) looked: Instant,
    pub(super) suspensions: u32,
}

impl Watchdog {
    pub(super) fn begin(call: u64) -> Self {
        let now = Instant::now();
        Self { call, since: now, last_complete: now, alone_since: None, failed_since: None, next: FIRST, poll: None, looked: now, suspensions: 0 }
    }

    /// Where this process was stopped, or had no processor, answers are from before that, if they
    /// have come: all is asked anew. Not any number of times.
    pub(super) fn account_for_suspension(&mut self, timeouts: Timeouts) {
        let now = Instant::now();
        let suspended = now.duration_since(std::mem::replace(&mut self.looked, now));
        if suspended > grace(timeouts.shortest()) && self.suspensions < MAX_SUSPENSIONS {
            *self = Self { failed_since: self.failed_since, suspensions: self.suspensions + 1, ..Self::begin(self.call) };
        }
    }
}

/// A question to all members.
#[derive(Debug)]
pub(super) struct StatusPoll {
    pub(super) number: u64,
    pub(super) since: Instant,
    /// By rank.
    pub(super) answers: Vec<Option<RankStatus>>,
}

/// How soon members are asked for the first time.
pub(crate) const FIRST: Duration = Duration::from_millis(200);

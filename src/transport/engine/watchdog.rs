//! What is known of a call that is with a library.

use std::time::{Duration, Instant};

use super::codec::RankStatus;
use super::limits::{MOST_NAPS, grace};
use crate::transport::Timeouts;

/// What is known of a call under way.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pub(super) call: u64,
    pub(super) since: Instant,
    /// When all members answered last.
    pub(super) heard: Instant,
    /// Since when nobody else is in it.
    pub(super) alone: Option<Instant>,
    /// When it was found that the call does not end.
    pub(super) failed: Option<Instant>,
    /// When to ask all members where they stand; and what they say.
    pub(super) next: Duration,
    pub(super) poll: Option<Poll>,
    /// When this was looked at last, and how often this process had slept before that.
    pub(super) looked: Instant,
    pub(super) naps: u32,
}

impl Watchdog {
    pub(super) fn begin(call: u64) -> Self {
        let now = Instant::now();
        Self { call, since: now, heard: now, alone: None, failed: None, next: FIRST, poll: None, looked: now, naps: 0 }
    }

    /// Where this process was stopped, or had no processor, answers are from before that, if they
    /// have come: all is asked anew. Not any number of times.
    pub(super) fn look(&mut self, timeouts: Timeouts) {
        let now = Instant::now();
        let slept = now.duration_since(std::mem::replace(&mut self.looked, now));
        if slept > grace(timeouts.shortest()) && self.naps < MOST_NAPS {
            *self = Self { failed: self.failed, naps: self.naps + 1, ..Self::begin(self.call) };
        }
    }
}

/// A question to all members.
#[derive(Debug)]
pub(super) struct Poll {
    pub(super) number: u64,
    pub(super) since: Instant,
    /// By rank.
    pub(super) answers: Vec<Option<RankStatus>>,
}

/// How soon members are asked for the first time.
pub(crate) const FIRST: Duration = Duration::from_millis(200);

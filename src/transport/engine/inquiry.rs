//! A status request to another process.

use std::time::Instant;

use crate::transport::RankStatus;

/// A status request that was sent, and its reply.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(super) number: u64,
    pub(super) asked: usize,
    pub(super) since: Instant,
    pub(super) status: Option<RankStatus>,
}

impl Inquiry {
    /// Returns whether it awaits the reply of that process.
    pub(crate) fn is_to(&self, process: usize) -> bool {
        self.status.is_none() && self.asked == process
    }
}

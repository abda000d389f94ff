//! A question from process to process.

use std::time::Instant;

use super::codec::RankStatus;

/// A question that was asked.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(super) number: u64,
    pub(super) asked: usize,
    pub(super) since: Instant,
    pub(super) status: Option<RankStatus>,
}

impl Inquiry {
    /// Whether it is open, and to that process.
    pub(crate) fn is_to(&self, process: usize) -> bool {
        self.status.is_none() && self.asked == process
    }
}

//! A question from process to process.

use std::time::Instant;

use super::words::Standing;

/// A question that was asked.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(super) number: u64,
    pub(super) asked: usize,
    pub(super) since: Instant,
    pub(super) standing: Option<Standing>,
}

impl Inquiry {
    /// Whether it is open, and to that process.
    pub(crate) fn is_to(&self, process: usize) -> bool {
        self.standing.is_none() && self.asked == process
    }
}

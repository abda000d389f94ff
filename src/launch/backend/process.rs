//! Supervises a rank that is this process.

use super::row::Supervise;
use crate::ids::Rank;
use crate::transport::Discord;
use crate::transport::engine::Supervisor;

impl Supervise for Supervisor {
    fn failed_before(&self, _: Rank) -> Option<Discord> {
        Self::failed_before(self)
    }

    fn panicked(&self, _: Rank, message: &str) {
        Self::panicked(self, message);
    }

    fn end(self: Box<Self>) -> Option<Discord> {
        Self::end(*self)
    }
}

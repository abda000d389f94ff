//! Supervises a rank that is this process.

use super::row::{Supervise, unless_disagreement};
use crate::error::JobError;
use crate::ids::Rank;
use crate::transport::Disagreement;
use crate::transport::engine::Supervisor;

impl Supervise for Supervisor {
    fn failures(&self, _: Rank) -> Vec<Disagreement> {
        Self::failures(self)
    }

    fn panicked(&self, _: Rank, message: &str) {
        Self::panicked(self, message);
    }

    fn end(self: Box<Self>) -> Result<(), JobError> {
        unless_disagreement(Self::end(*self))
    }
}

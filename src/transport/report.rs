//! The report of ranks to their launcher, besides errors of calls: the failures of contexts, and
//! disagreements that no message has shown.

use super::Disagreement;
use crate::ids::Rank;

/// The report of one rank, or of all ranks of a job of threads.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The first failures of contexts, each with the rank in the job that has seen it.
    failures: Vec<(Rank, Disagreement)>,
    /// Whether a context has failed or a rank has panicked, which explains what else is found.
    failed: bool,
    /// Members of a context have left it after different calls.
    disagreement: Option<Disagreement>,
    /// A message that no call has awaited, in a context that its receiver has left.
    surplus: Option<Disagreement>,
}

/// Maximum number of failures that are kept of each rank.
const FAILURES: usize = 16;

impl Report {
    /// Records that something has failed.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// Records the failure of a context that a rank of the job has seen.
    pub(super) fn add_failure(&mut self, rank: Rank, failure: Disagreement) {
        self.failed = true;
        if self.failures(rank).count() < FAILURES {
            self.failures.push((rank, failure));
        }
    }

    /// Returns the first failures of contexts that a rank of the job has seen.
    pub(super) fn failures(&self, rank: Rank) -> impl Iterator<Item = &Disagreement> {
        self.failures.iter().filter(move |(known, _)| *known == rank).map(|(_, failure)| failure)
    }

    /// Records that members left a context after different calls, if `look` finds that and no other
    /// case is known.
    pub(super) fn add_disagreement(&mut self, look: impl FnOnce() -> Option<Disagreement>) {
        self.disagreement = self.disagreement.take().or_else(look);
    }

    /// Records a message that no call has awaited, if `look` finds one and no other is known.
    pub(super) fn add_surplus(&mut self, look: impl FnOnce() -> Option<Disagreement>) {
        self.surplus = self.surplus.take().or_else(look);
    }

    /// Returns a disagreement of members that left a context after different calls, or a message
    /// that no call awaited, unless a failure explains it.
    #[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
    pub(super) fn disagreement(&self) -> Option<Disagreement> {
        let found = self.disagreement.as_ref().or(self.surplus.as_ref());
        found.filter(|_| !self.failed).cloned()
    }
}

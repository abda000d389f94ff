//! What a process reports to its launcher: failures, disagreements and panics.

use crate::transport::{ContextId, Disagreement};

/// The report of a process; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The first failures of contexts that this process has seen; and whether there was one.
    failures: Vec<Disagreement>,
    any_failed: bool,
    /// A disagreement with members that left a context after other calls.
    disagreement: Option<Disagreement>,
    /// A message that no call has awaited, in a context that this process has left.
    surplus: Option<Disagreement>,
    /// Whether a thread has panicked that had a context open.
    panicked: bool,
    /// Whether a supervisor will give the reason of a panic; and the contexts that wait for it.
    supervised: bool,
    waiting: Vec<ContextId>,
}

/// Maximum number of failures that are kept.
const FAILURES: usize = 16;

impl Report {
    /// Records the failure of a context.
    pub(super) fn add_failure(&mut self, failure: Option<Disagreement>) {
        self.any_failed = true;
        self.failures.extend(failure.filter(|_| self.failures.len() < FAILURES));
    }

    /// Returns the first failures of contexts.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(super) fn failures(&self) -> Vec<Disagreement> {
        self.failures.clone()
    }

    /// Returns whether a disagreement is known, so that no other is looked for.
    pub(super) fn has_disagreement(&self) -> bool {
        self.disagreement.is_some()
    }

    pub(super) fn add_disagreement(&mut self, found: Disagreement) {
        self.disagreement.get_or_insert(found);
    }

    /// Returns whether a message that no call has awaited is known.
    pub(super) fn has_surplus(&self) -> bool {
        self.surplus.is_some()
    }

    pub(super) fn add_surplus(&mut self, found: Disagreement) {
        self.surplus.get_or_insert(found);
    }

    /// Returns a disagreement with members that left a context after other calls, or sent what no
    /// call awaited, unless a failure explains it.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(super) fn disagreement(&self) -> Option<Disagreement> {
        let found = self.disagreement.as_ref().or(self.surplus.as_ref());
        found.filter(|_| !self.any_failed && !self.panicked).cloned()
    }

    /// Expects a supervisor to give the reasons of panics.
    pub(super) fn supervise(&mut self) {
        self.supervised = true;
    }

    /// Records that a panic has dropped a context. Returns whether its members are to be told now,
    /// and not by a supervisor.
    pub(super) fn panic(&mut self, id: ContextId) -> bool {
        if self.supervised {
            self.waiting.push(id);
        } else {
            self.panicked = true;
        }
        !self.supervised
    }

    /// Returns the contexts that a panic has dropped. The supervisor gives its reason, or is gone.
    pub(super) fn explain_panics(&mut self) -> Vec<ContextId> {
        self.supervised = false;
        self.panicked |= !self.waiting.is_empty();
        std::mem::take(&mut self.waiting)
    }

    /// Returns whether a thread has panicked that had a context open.
    pub(super) fn has_panicked(&self) -> bool {
        self.panicked
    }
}

//! Panics of threads that have contexts open. Members of these contexts learn of a panic at once, or
//! from the supervisor if there is one.

use crate::transport::ContextId;

/// The panics of a process; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Panics {
    /// Whether a supervisor will give the reason of a panic; and the contexts that wait for it.
    supervised: bool,
    waiting: Vec<ContextId>,
    /// Whether the members of a context have been told of a panic.
    told: bool,
}

impl Panics {
    /// Expects a supervisor to give the reasons of panics.
    pub(super) fn expect_supervisor(&mut self) {
        self.supervised = true;
    }

    /// Records that a panic has dropped a context. Returns whether its members are to be told now,
    /// and not by a supervisor.
    pub(super) fn drop_context(&mut self, id: ContextId) -> bool {
        if self.supervised {
            self.waiting.push(id);
        } else {
            self.told = true;
        }
        !self.supervised
    }

    /// Returns the contexts whose members are to be told now: the supervisor gives its reason, or is
    /// gone.
    pub(super) fn explain(&mut self) -> Vec<ContextId> {
        self.supervised = false;
        self.told |= !self.waiting.is_empty();
        std::mem::take(&mut self.waiting)
    }

    /// Returns whether the members of a context have been told of a panic.
    pub(super) fn are_told(&self) -> bool {
        self.told
    }
}

//! A choice of algorithm for single calls.

use std::ops::{Deref, DerefMut};

use super::{Communicator, How};

/// A communicator whose calls use an algorithm chosen for them alone.
///
/// Made by [`using`](Communicator::using). Dropping it restores the earlier choice.
#[derive(Debug)]
#[must_use = "the choice applies only to calls made through this value"]
pub struct Using<'a> {
    comm: &'a mut Communicator,
    before: Option<How>,
}

impl<'a> Using<'a> {
    pub(super) fn new(comm: &'a mut Communicator, how: How) -> Self {
        let before = comm.using.replace(how);
        Self { comm, before }
    }
}

impl Deref for Using<'_> {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        self.comm
    }
}

impl DerefMut for Using<'_> {
    fn deref_mut(&mut self) -> &mut Communicator {
        self.comm
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.comm.using = self.before.take();
    }
}

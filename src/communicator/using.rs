//! A communicator for calls that go by something chosen for them alone.

use std::ops::{Deref, DerefMut};

use super::{Communicator, How};

/// A communicator for calls that go by something chosen for them alone; made by
/// [`using`](Communicator::using). When it is dropped, the communicator is as it was before.
#[derive(Debug)]
#[must_use = "it applies to the calls that are made through it"]
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

//! What the elements of a call are.

use std::any::{TypeId, type_name};

/// A type of elements: ranks compare it by name, this process's plans by identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// Bytes of one.
    pub(super) size: usize,
    pub(super) name: &'static str,
    identity: TypeId,
}

impl Element {
    pub(super) fn of<T: 'static>() -> Self {
        Self { size: size_of::<T>(), name: type_name::<T>(), identity: TypeId::of::<T>() }
    }
}

impl PartialEq for Element {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

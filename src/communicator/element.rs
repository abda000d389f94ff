//! The element type of a call.

use std::any::{TypeId, type_name};

/// An element type. Ranks compare it by name; plans of this process compare it by identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// The bytes of one element.
    pub(super) size: usize,
    pub(super) name: &'static str,
    identity: TypeId,
}

impl Element {
    /// Describes the type `T`.
    #[inline]
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

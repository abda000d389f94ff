//! The record of the communicators that are made without a message, which members compare.

use std::borrow::Cow;

use crate::hash::digest;

/// The communicators that were made from one without a message. Members compare them in the
/// next call that makes one with messages: if they differ, so do the contexts of all that follow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocalParts {
    count: u64,
    /// Of the axes of all of them.
    digest: u64,
}

impl LocalParts {
    /// Adds the parts along these axes.
    pub(super) fn add(&mut self, axes: &[usize]) {
        let axes = axes.iter().map(|&axis| axis as u64 + 1);
        self.count += 1;
        // 0 separates the calls.
        self.digest = digest(self.digest, axes.chain([0]));
    }

    /// Returns the purpose of a call with messages, with what the members compare in it.
    pub(super) fn said_in(self, call: Cow<'static, str>) -> Cow<'static, str> {
        match self {
            Self { count: 0, .. } => call,
            Self { count, digest } => format!("{call}, after {count} parts along axes [{digest:016x}]").into(),
        }
    }
}

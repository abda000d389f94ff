//! The operation of a reduction, as executions use it.

/// The operation of a reduction, on bytes. Slices are whole elements, aligned as the buffers are.
pub trait Reduction: Sync {
    /// Stores `left` combined with `right` in `into`. All have the same length.
    fn merge(&self, into: &mut [u8], left: &[u8], right: &[u8]);

    /// Replaces `into` by `left` combined with `into`.
    fn prepend(&self, into: &mut [u8], left: &[u8]);

    /// Replaces `into` by `into` combined with `right`.
    fn append(&self, into: &mut [u8], right: &[u8]);

    /// Finishes results of that many contributions, when all are combined. Does nothing unless
    /// overridden.
    fn finish(&self, into: &mut [u8], contributions: usize) {
        let _ = (into, contributions);
    }

    /// Returns whether contributions may be combined in any order. `false` unless overridden.
    fn is_commutative(&self) -> bool {
        false
    }
}

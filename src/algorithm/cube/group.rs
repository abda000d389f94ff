//! Groups of relative addresses, and the schemes that form them.

/// The scheme of an exchange, one of the paper's algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    /// Algorithm 1 (§3.1).
    Pairs,
    /// Algorithm 2 (§3.2).
    Wrapped,
    /// Algorithm 3 (§3.3).
    Mixed,
    /// Algorithm 4 (§3.5).
    Necklaces,
}

impl Scheme {
    /// Returns all schemes, in the order of the paper's algorithms.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        [Self::Pairs, Self::Wrapped, Self::Mixed, Self::Necklaces].into_iter()
    }
}

/// The elements of a relative address cross a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Crossing {
    /// The relative address: source xor destination.
    pub(super) address: usize,
    /// The dimension: a bit that is set in the address.
    pub(super) dimension: usize,
}

/// Relative addresses that are scheduled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddressGroup {
    /// The crossings of each step. In a step, no address crosses twice, and no dimension is crossed
    /// twice.
    pub(super) steps: Vec<Vec<Crossing>>,
}

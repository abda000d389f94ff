//! Groups of relative addresses, and the schemes that form them.

/// The scheme of an exchange, one of the paper's algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
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
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Pairs, Self::Wrapped, Self::Mixed, Self::Necklaces].into_iter()
    }
}

/// The elements of a relative address cross a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Crossing {
    /// The relative address: source xor destination.
    pub address: usize,
    /// The dimension: a bit that is set in the address.
    pub dimension: usize,
}

/// Relative addresses that are scheduled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(super) addresses: Vec<usize>,
    pub(super) steps: Vec<Vec<Crossing>>,
}

impl Group {
    /// Returns the relative addresses, including 0, which crosses nothing.
    #[must_use]
    pub fn addresses(&self) -> &[usize] {
        &self.addresses
    }

    /// Returns the crossings of each step. In a step, no address crosses twice, and no dimension is
    /// crossed twice.
    #[must_use]
    pub fn steps(&self) -> &[Vec<Crossing>] {
        &self.steps
    }
}

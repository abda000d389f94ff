//! What is scheduled together, and how.

/// How an exchange is scheduled.
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

/// What a relative address stands for crosses a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Crossing {
    /// The relative address: source xor destination.
    pub address: usize,
    /// The dimension; a bit of the address.
    pub dimension: usize,
}

/// Relative addresses that are scheduled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(super) addresses: Vec<usize>,
    pub(super) steps: Vec<Vec<Crossing>>,
}

impl Group {
    /// The relative addresses, also that which has nowhere to go, 0.
    #[must_use]
    pub fn addresses(&self) -> &[usize] {
        &self.addresses
    }

    /// What crosses in each of its steps. No address crosses twice in a step, and no dimension is
    /// crossed twice.
    #[must_use]
    pub fn steps(&self) -> &[Vec<Crossing>] {
        &self.steps
    }
}

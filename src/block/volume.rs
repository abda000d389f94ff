//! Exact amounts of data in blocks.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Rem};

use num_traits::Zero;

use super::Block;

/// An exact amount of data in blocks. It is a fraction, since blocks may be cut into chunks.
/// Arithmetic saturates.
///
/// ```
/// use necklace::schedule::Volume;
/// let two_thirds = Volume::new(2, 3);
/// assert_eq!(two_thirds + two_thirds + two_thirds, Volume::from(2));
/// assert_eq!((two_thirds + Volume::from(1)).to_string(), "5/3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Volume {
    numerator: u128,
    denominator: u128,
}

impl Volume {
    /// No data.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// Returns the volume of `units` chunks, where a block has `of` chunks. 0 counts as 1 chunk.
    #[must_use]
    pub fn new(units: u64, of: u64) -> Self {
        Self::reduced(units.into(), of.max(1).into())
    }

    /// Returns a fraction. A denominator of 0 counts as 1.
    pub(crate) fn ratio(numerator: u128, denominator: u128) -> Self {
        Self::reduced(numerator, denominator.max(1))
    }

    /// Divides by `of`. 0 counts as 1.
    pub(crate) fn part(self, of: u64) -> Self {
        Self::reduced(self.numerator, self.denominator.saturating_mul(u128::from(of.max(1))))
    }

    /// Subtracts another volume, saturating at zero.
    pub(crate) fn without(self, other: Self) -> Self {
        let scaled = |a: Self, b: Self| a.numerator.saturating_mul(b.denominator);
        let numerator = scaled(self, other).saturating_sub(scaled(other, self));
        Self::reduced(numerator, self.denominator.saturating_mul(other.denominator))
    }

    fn reduced(numerator: u128, denominator: u128) -> Self {
        if denominator == 1 {
            return Self { numerator, denominator };
        }
        // Division of 64 bits is several times as fast.
        if let (Ok(a), Ok(b)) = (u64::try_from(numerator), u64::try_from(denominator)) {
            let by = gcd(a, b);
            return Self { numerator: (a / by).into(), denominator: (b / by).into() };
        }
        let by = gcd(numerator, denominator);
        Self { numerator: numerator / by, denominator: denominator / by }
    }

    /// Returns the sum of the volumes of blocks.
    #[must_use]
    pub fn of(blocks: &[Block]) -> Self {
        // Runs of blocks that are cut alike are summed in integers.
        let alike = blocks.chunk_by(|a, b| a.of() == b.of());
        alike.map(|run| Self::new(run.iter().map(|block| u64::from(block.count())).sum(), run[0].of().into())).sum()
    }

    /// Returns the number of blocks, if it is an integer.
    #[must_use]
    pub fn whole(self) -> Option<u64> {
        (self.denominator == 1).then(|| u64::try_from(self.numerator).ok()).flatten()
    }

    /// Returns the number of blocks as a float.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Returns the number of bytes for blocks of `block_bytes` bytes, rounded up, at most
    /// `u128::MAX`.
    #[must_use]
    pub fn bytes(self, block_bytes: u64) -> u128 {
        self.numerator.saturating_mul(block_bytes.into()).div_ceil(self.denominator)
    }
}

/// Returns the greatest common divisor. One of the numbers is not 0.
pub(crate) fn gcd<T: Copy + Zero + Rem<Output = T>>(mut a: T, mut b: T) -> T {
    while !b.is_zero() {
        (a, b) = (b, a % b);
    }
    a
}

impl Default for Volume {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<u64> for Volume {
    fn from(blocks: u64) -> Self {
        Self::new(blocks, 1)
    }
}

impl Add for Volume {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if other.numerator == 0 {
            return self;
        }
        if self.numerator == 0 {
            return other;
        }
        if self.denominator == other.denominator {
            return Self::reduced(self.numerator.saturating_add(other.numerator), self.denominator);
        }
        let scaled = |a: Self, b: Self| a.numerator.saturating_mul(b.denominator);
        let numerator = scaled(self, other).saturating_add(scaled(other, self));
        Self::reduced(numerator, self.denominator.saturating_mul(other.denominator))
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Volume {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self::reduced(self.numerator.saturating_mul(times.into()), self.denominator)
    }
}

impl std::iter::Sum for Volume {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl PartialOrd for Volume {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Volume {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = self.numerator.saturating_mul(other.denominator);
        left.cmp(&other.numerator.saturating_mul(self.denominator))
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

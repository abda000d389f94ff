//! The element types of minima and maxima.

use std::cmp::Ordering::{Equal, Greater, Less};

use bytemuck::Pod;

/// A value of which a minimum and a maximum can be taken.
///
/// Implemented for the primitive numbers, and with the feature `half` for `f16` and `bf16`.
pub trait Ordered: Pod + PartialOrd {
    /// The lowest value, if there is one: the identity of [`Max`](super::Max).
    const LOWEST: Option<Self> = None;

    /// The highest value, if there is one: the identity of [`Min`](super::Min).
    const HIGHEST: Option<Self> = None;

    /// Whether [`least`](Self::least) and [`greatest`](Self::greatest) commute to the last bit. The
    /// default methods do not if equal values may have different bits. `false` by default.
    const COMMUTES: bool = false;

    /// Returns the lesser value. By default, `self` if both are equal, and a value that differs
    /// from itself, such as NaN, if there is one.
    #[must_use]
    #[inline]
    fn least(self, other: Self) -> Self {
        if other < self || is_not_a_number(other) { other } else { self }
    }

    /// Returns the greater value. By default, `self` if both are equal, and a value that differs
    /// from itself, such as NaN, if there is one.
    #[must_use]
    #[inline]
    fn greatest(self, other: Self) -> Self {
        if other > self || is_not_a_number(other) { other } else { self }
    }
}

/// Only NaN differs from itself. It must win over numbers; otherwise minimum and maximum would not
/// be associative.
#[allow(clippy::eq_op)]
#[inline]
fn is_not_a_number<T: Ordered>(value: T) -> bool {
    value != value
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            const LOWEST: Option<Self> = Some(<$t>::MIN);
            const HIGHEST: Option<Self> = Some(<$t>::MAX);
            const COMMUTES: bool = true;
        }
    )*};
}

macro_rules! floats {
    ($($(#[$on:meta])* $t:ty)*) => {$(
        $(#[$on])*
        impl Ordered for $t {
            const LOWEST: Option<Self> = Some(<$t>::NEG_INFINITY);
            const HIGHEST: Option<Self> = Some(<$t>::INFINITY);
            const COMMUTES: bool = true;

            // Commutative to the last bit, so that libraries may reorder operands.
            #[inline]
            fn least(self, other: Self) -> Self {
                match self.partial_cmp(&other) {
                    Some(Less) => self,
                    Some(Greater) => other,
                    Some(Equal) => Self::from_bits(self.to_bits() | other.to_bits()),
                    None => Self::NAN,
                }
            }

            #[inline]
            fn greatest(self, other: Self) -> Self {
                match self.partial_cmp(&other) {
                    Some(Less) => other,
                    Some(Greater) => self,
                    Some(Equal) => Self::from_bits(self.to_bits() & other.to_bits()),
                    None => Self::NAN,
                }
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
floats!(f32 f64 #[cfg(feature = "half")] half::f16 #[cfg(feature = "half")] half::bf16);

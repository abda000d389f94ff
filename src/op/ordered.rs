//! What has a least and a greatest.

use std::cmp::Ordering::{Equal, Greater, Less};

use bytemuck::Pod;

/// A value that can be compared with others for the least and the greatest of them.
pub trait Ordered: Pod + PartialOrd {
    /// The value that no other is less than, if there is one: the identity of [`Max`](super::Max).
    const LOWEST: Option<Self> = None;

    /// The value that no other is greater than, if there is one: the identity of
    /// [`Min`](super::Min).
    const HIGHEST: Option<Self> = None;

    /// Whether [`least`](Self::least) and [`greatest`](Self::greatest) commute to the last bit:
    /// unless overridden they do not where equals may have different bits. `false` unless
    /// overridden.
    const COMMUTES: bool = false;

    /// Returns the lesser of both. Unless overridden, of equals this one; what differs from itself,
    /// as NaN does, is less than all others.
    #[must_use]
    fn least(self, other: Self) -> Self {
        if other < self || is_not_a_number(other) { other } else { self }
    }

    /// Returns the greater of both. Unless overridden, of equals this one; what differs from
    /// itself, as NaN does, is greater than all others.
    #[must_use]
    fn greatest(self, other: Self) -> Self {
        if other > self || is_not_a_number(other) { other } else { self }
    }
}

/// Only that differs from itself. (It must win over what is a number: else the result would depend
/// on the order, and minimum and maximum would not be associative.)
#[allow(clippy::eq_op)]
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

            // Both to the last bit the same whichever comes first, so that libraries may take what
            // they like first.
            fn least(self, other: Self) -> Self {
                match self.partial_cmp(&other) {
                    Some(Less) => self,
                    Some(Greater) => other,
                    Some(Equal) => Self::from_bits(self.to_bits() | other.to_bits()),
                    None => Self::NAN,
                }
            }

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

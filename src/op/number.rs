//! The element types of sums and products.

use std::num::Wrapping;

use bytemuck::Pod;
use num_traits::{One, WrappingAdd, WrappingMul, Zero};

/// A number that can be added and multiplied without panicking. Integers wrap on overflow.
///
/// Implemented for the primitive numbers and [`Wrapping`]; with the feature `half` for `f16` and
/// `bf16`; with the feature `num-complex` for `Complex` of all of these but plain integers, whose
/// products would panic on overflow.
///
/// An empty `impl` is enough for a type whose `+` and `*` are associative and never panic, and
/// whose `+` commutes. For a type of another crate, which cannot have one, use
/// [`by`](super::by): `by("sum", |left, right| left + right).commutative()`.
pub trait Number: Pod + Zero + One {
    /// Whether the product commutes. That of matrices does not. `false` by default.
    const PRODUCT_COMMUTES: bool = false;

    /// Returns the sum: `+` by default.
    #[must_use]
    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    /// Returns the product: `*` by default.
    #[must_use]
    #[inline]
    fn times(self, other: Self) -> Self {
        self * other
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const PRODUCT_COMMUTES: bool = true;

            #[inline]
            fn plus(self, other: Self) -> Self {
                WrappingAdd::wrapping_add(&self, &other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                WrappingMul::wrapping_mul(&self, &other)
            }
        }

        commuting!(Wrapping<$t>);
        #[cfg(feature = "num-complex")]
        commuting!(num_complex::Complex<Wrapping<$t>>);
    )*};
}

macro_rules! commuting {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const PRODUCT_COMMUTES: bool = true;
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

commuting!(f32, f64);
#[cfg(feature = "half")]
commuting!(half::f16, half::bf16);
#[cfg(feature = "num-complex")]
commuting!(num_complex::Complex<f32>, num_complex::Complex<f64>);
#[cfg(all(feature = "half", feature = "num-complex"))]
commuting!(num_complex::Complex<half::f16>, num_complex::Complex<half::bf16>);

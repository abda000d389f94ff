//! The mean.

use std::borrow::Cow;

use super::{Number, Op, Predefined, Sum};

/// A number that can be divided by a count.
///
/// Implemented for `f32` and `f64`; with the feature `half` for `f16` and `bf16`; with the feature
/// `num-complex` for `Complex<f32>` and `Complex<f64>`.
pub trait Divisible: Number {
    /// Returns the number divided by a count.
    #[must_use]
    fn divided(self, count: usize) -> Self;
}

macro_rules! divisible {
    ($($(#[$on:meta])* $t:ty: $of:expr;)*) => {$(
        $(#[$on])*
        impl Divisible for $t {
            #[inline]
            fn divided(self, count: usize) -> Self {
                self / $of(count)
            }
        }
    )*};
}

divisible! {
    f32: |count| count as f32;
    f64: |count| count as f64;
    #[cfg(feature = "half")] half::f16: |count| half::f16::from_f64(count as f64);
    #[cfg(feature = "half")] half::bf16: |count| half::bf16::from_f64(count as f64);
    #[cfg(feature = "num-complex")] num_complex::Complex<f32>: |count| count as f32;
    #[cfg(feature = "num-complex")] num_complex::Complex<f64>: |count| count as f64;
}

/// The arithmetic mean: the sum, divided by the number of contributions when all are combined.
///
/// In [`scan`](crate::Communicator::scan), rank i gets the mean of i + 1 contributions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

impl<T: Divisible> Op<T> for Mean {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("mean")
    }

    #[inline]
    fn combine(&self, left: T, right: T) -> T {
        Sum.combine(left, right)
    }

    #[inline]
    fn finish(&self, combined: T, contributions: usize) -> T {
        combined.divided(contributions)
    }

    #[inline]
    fn is_commutative(&self) -> bool {
        true
    }

    #[inline]
    fn identity(&self) -> Option<T> {
        Some(T::zero())
    }

    fn predefined(&self) -> Option<Predefined> {
        Op::<T>::predefined(&Sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_divided_by_the_number_of_contributions() {
        assert_eq!(Mean.finish(Mean.combine(1.0_f64, 4.0), 2), 2.5);
        assert_eq!(Mean.finish(3.0_f32, 1), 3.0);
    }

    #[cfg(all(feature = "half", feature = "num-complex"))]
    #[test]
    fn halves_and_complex_numbers_have_means() {
        use num_complex::Complex;
        assert_eq!(Mean.finish(half::f16::from_f32(3.0), 2), half::f16::from_f32(1.5));
        assert_eq!(Mean.finish(half::bf16::from_f32(3.0), 2), half::bf16::from_f32(1.5));
        assert_eq!(Mean.finish(Complex::new(3.0_f64, -1.0), 2), Complex::new(1.5, -0.5));
    }
}

//! Bit and logical operations.

use std::borrow::Cow;

use bytemuck::Pod;

use super::Op;

/// An integer with bits that can be combined.
///
/// Implemented for the primitive integers.
pub trait Bits: Pod {
    /// Returns the integer whose bits are all 1, or all 0.
    #[must_use]
    fn filled(one: bool) -> Self;

    /// Combines two integers bit by bit, as `combine` does with 128 bits.
    #[must_use]
    fn bitwise(self, other: Self, combine: impl Fn(u128, u128) -> u128) -> Self;

    /// Returns whether it is true: not 0.
    #[must_use]
    fn is_true(self) -> bool;

    /// Returns 1 for true and 0 for false.
    #[must_use]
    fn from_truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Bits for $t {
            #[inline]
            fn filled(one: bool) -> Self {
                if one { !0 } else { 0 }
            }

            #[inline]
            fn bitwise(self, other: Self, combine: impl Fn(u128, u128) -> u128) -> Self {
                combine(self as u128, other as u128) as Self
            }

            #[inline]
            fn is_true(self) -> bool {
                self != 0
            }

            #[inline]
            fn from_truth(truth: bool) -> Self {
                truth as Self
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

/// Returns 1 if a result is true, and 0 otherwise. A single contribution has not been combined.
fn truth<T: Bits>(combined: T) -> T {
    T::from_truth(combined.is_true())
}

macro_rules! op {
    ($(#[$doc:meta])* $name:ident, $text:literal, |$left:ident, $right:ident| $combine:expr, $identity:expr, $finish:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl<T: Bits> Op<T> for $name {
            fn name(&self) -> Cow<'static, str> {
                Cow::Borrowed($text)
            }

            #[inline]
            fn combine(&self, $left: T, $right: T) -> T {
                $combine
            }

            #[inline]
            fn finish(&self, combined: T, _: usize) -> T {
                $finish(combined)
            }

            #[inline]
            fn is_commutative(&self) -> bool {
                true
            }

            #[inline]
            fn identity(&self) -> Option<T> {
                $identity
            }
        }
    };
}

op!(/** The bitwise and. */ BitAnd, "bitwise and", |left, right| left.bitwise(right, |a, b| a & b), Some(T::filled(true)), std::convert::identity);
op!(/** The bitwise or. */ BitOr, "bitwise or", |left, right| left.bitwise(right, |a, b| a | b), Some(T::filled(false)), std::convert::identity);
op!(/** The bitwise exclusive or. */ BitXor, "bitwise xor", |left, right| left.bitwise(right, |a, b| a ^ b), Some(T::filled(false)), std::convert::identity);
op!(/** The logical and: 1 if both operands are true, that is, not 0; otherwise 0. */ And, "and", |left, right| {
    T::from_truth(left.is_true() && right.is_true())
}, None, truth);
op!(/** The logical or: 1 if an operand is true, that is, not 0; otherwise 0. */ Or, "or", |left, right| {
    T::from_truth(left.is_true() || right.is_true())
}, None, truth);
op!(/** The logical exclusive or: 1 if exactly one operand is true, that is, not 0; otherwise 0. */ Xor, "xor", |left, right| {
    T::from_truth(left.is_true() != right.is_true())
}, None, truth);

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    quickcheck! {
        fn bits_are_combined_as_by_the_operators(a: i16, b: i16) -> bool {
            let (wide, other) = (u128::MAX - a as u128, b as i128 as u128);
            BitAnd.combine(a, b) == a & b
                && BitOr.combine(a, b) == a | b
                && BitXor.combine(a, b) == a ^ b
                && BitAnd.combine(wide, other) == wide & other
                && BitXor.combine(wide as i128, other as i128) == wide as i128 ^ other as i128
                && Op::<i16>::identity(&BitAnd).is_some_and(|one| one & a == a)
                && Op::<i16>::identity(&BitOr) == Some(0)
                && Op::<u16>::identity(&BitXor) == Some(0)
        }
    }

    #[test]
    fn truth_is_one_or_zero() {
        let truth = |value: i8| value != 0;
        for (a, b) in [0, 1, -1, 5].into_iter().flat_map(|a| [0, 1, -1, 5].map(|b| (a, b))) {
            assert_eq!(And.combine(a, b), i8::from(truth(a) && truth(b)));
            assert_eq!(Or.combine(a, b), i8::from(truth(a) || truth(b)));
            assert_eq!(Xor.combine(a, b), i8::from(truth(a) != truth(b)));
        }
        assert_eq!((And.combine(8_u8, 4), Xor.combine(8_u128, 4)), (1, 0));
        // A contribution that nothing is combined with.
        for op in [&And as &dyn Op<i8>, &Or, &Xor] {
            assert_eq!([0, 1, -1, 5].map(|value| op.finish(value, 1)), [0, 1, 1, 1], "{}", op.name());
        }
        assert_eq!(BitOr.finish(6_u8, 1), 6);
    }
}

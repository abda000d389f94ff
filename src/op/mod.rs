//! Operations of reductions.

mod predefined;

use std::borrow::Cow;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::marker::PhantomData;

use bytemuck::Pod;

pub use predefined::{Operation, Predefined, Primitive};

use crate::plan::Reduction;

/// The operation of a reduction: combines two contributions into one.
///
/// It must be associative. It need not commute: contributions combine in rank order. (Floating-point sums
/// are associative except for rounding. The algorithm fixes the order, so the bits are the same on every
/// rank and in every run. With the algorithm `native`, the backend's library sets the brackets, and may
/// take [predefined](Self::predefined) operations in another order.)
///
/// [`by`] makes an operation from a closure `|left, right| ...`.
pub trait Op<T> {
    /// Returns the name, which ranks compare to find that they disagree.
    fn name(&self) -> Cow<'static, str>;

    /// Combines two contributions; `left` is of lower ranks than `right`.
    fn combine(&self, left: T, right: T) -> T;

    /// Returns the predefined operation that this is, if libraries have it ready. The default is `None`.
    ///
    /// An element must then be a number of that length and alignment. A library beneath the backend may use
    /// its own operation, which does not call [`combine`](Self::combine), and may combine in any order.
    fn predefined(&self) -> Option<Predefined> {
        None
    }
}

/// A number that can be added, multiplied and compared without panicking: integers wrap, as in MPI.
pub trait Number: Pod + PartialOrd {
    /// Returns the sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Returns the product.
    #[must_use]
    fn times(self, other: Self) -> Self;

    /// Returns the lesser of both.
    ///
    /// By default, of equal values it is this one, and a value that differs from itself (not a number) is
    /// less than all others.
    #[must_use]
    fn least(self, other: Self) -> Self {
        if other < self || is_not_a_number(other) { other } else { self }
    }

    /// Returns the greater of both. By default as [`least`](Self::least), in the other direction.
    #[must_use]
    fn greatest(self, other: Self) -> Self {
        if other > self || is_not_a_number(other) { other } else { self }
    }
}

/// Only that differs from itself. (It must win over what is a number: else the result would depend on the order, and minimum and
/// maximum would not be associative.)
#[allow(clippy::eq_op)]
fn is_not_a_number<T: Number>(value: T) -> bool {
    value != value
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            // Both to the last bit the same whichever comes first, so that libraries may take what they like first.
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
floats!(f32 f64);

macro_rules! op {
    ($(#[$doc:meta])* $name:ident, $text:literal, |$left:ident, $right:ident| $combine:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl<T: Number> Op<T> for $name {
            fn name(&self) -> Cow<'static, str> {
                Cow::Borrowed($text)
            }

            fn combine(&self, $left: T, $right: T) -> T {
                $combine
            }

            fn predefined(&self) -> Option<Predefined> {
                Primitive::of::<T>().map(|number| Predefined { operation: Operation::$name, number })
            }
        }
    };
}

op!(/** The sum; integers wrap. */ Sum, "sum", |left, right| left.plus(right));
op!(/** The product; integers wrap. */ Product, "product", |left, right| left.times(right));
op!(/** The minimum; of floats NaN if any is NaN, and -0 is less than 0. */ Min, "min", |left, right| {
    left.least(right)
});
op!(/** The maximum; of floats NaN if any is NaN, and 0 is greater than -0. */ Max, "max", |left, right| {
    left.greatest(right)
});

/// Makes an operation from a closure.
///
/// All ranks must give it the same name: ranks compare names to find that they disagree.
///
/// ```
/// use necklace::op::{Op, by};
/// let longer = by("longer", |left: [u8; 2], right| if right[1] > left[1] { right } else { left });
/// assert_eq!(longer.combine([1, 5], [2, 7]), [2, 7]);
/// ```
pub fn by<T, F: Fn(T, T) -> T>(name: &'static str, combine: F) -> By<F> {
    By { name, combine }
}

/// An operation made by [`by`].
#[derive(Clone, Copy, Debug)]
pub struct By<F> {
    name: &'static str,
    combine: F,
}

impl<T, F: Fn(T, T) -> T> Op<T> for By<F> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn combine(&self, left: T, right: T) -> T {
        (self.combine)(left, right)
    }
}

/// An operation on elements as one on bytes.
pub(crate) struct OnBytes<'a, T, O> {
    op: &'a O,
    of: PhantomData<T>,
}

impl<'a, T: Pod, O: Op<T>> OnBytes<'a, T, O> {
    pub(crate) fn new(op: &'a O) -> Self {
        Self { op, of: PhantomData }
    }

    /// Element by element, on typed slices where the bytes are aligned. (They are: the user's buffers are slices of `T`,
    /// the scratch is aligned for every primitive type; a type that asks for more goes the slow way.)
    fn each(into: &mut [u8], other: &[u8], combine: impl Fn(T, T) -> T) {
        match (bytemuck::try_cast_slice_mut::<u8, T>(into), bytemuck::try_cast_slice::<u8, T>(other)) {
            (Ok(into), Ok(other)) => {
                for (into, &other) in into.iter_mut().zip(other) {
                    *into = combine(*into, other);
                }
            }
            _ => {
                let size = size_of::<T>().max(1);
                for (into, other) in into.chunks_exact_mut(size).zip(other.chunks_exact(size)) {
                    let combined = combine(bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(other));
                    into.copy_from_slice(bytemuck::bytes_of(&combined));
                }
            }
        }
    }
}

impl<T: Pod, O: Op<T>> Reduction for OnBytes<'_, T, O> {
    fn merge(&self, into: &mut [u8], left: &[u8], right: &[u8]) {
        let typed = bytemuck::try_cast_slice_mut::<u8, T>(into);
        let operands = bytemuck::try_cast_slice::<u8, T>(left).ok().zip(bytemuck::try_cast_slice::<u8, T>(right).ok());
        if let (Ok(into), Some((left, right))) = (typed, operands) {
            for ((into, &left), &right) in into.iter_mut().zip(left).zip(right) {
                *into = self.op.combine(left, right);
            }
        } else {
            into.copy_from_slice(left);
            self.append(into, right);
        }
    }

    fn prepend(&self, into: &mut [u8], left: &[u8]) {
        Self::each(into, left, |into, left| self.op.combine(left, into));
    }

    fn append(&self, into: &mut [u8], right: &[u8]) {
        Self::each(into, right, |into, right| self.op.combine(into, right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_bytes_are_combined_all_the_same() {
        let minus = by("minus", |left: u32, right: u32| left.wrapping_sub(right));
        let op = OnBytes::<u32, _>::new(&minus);
        let values = |x: u32, y: u32| [x.to_ne_bytes(), y.to_ne_bytes()].concat();
        for shift in 0..4 {
            let moved = |bytes: Vec<u8>| [vec![0; shift], bytes].concat();
            let (left, right) = (moved(values(10, 20)), moved(values(1, 2)));
            let mut into = moved(values(0, 0));
            op.merge(&mut into[shift..], &left[shift..], &right[shift..]);
            assert_eq!(into[shift..], values(9, 18));
            op.append(&mut into[shift..], &right[shift..]);
            assert_eq!(into[shift..], values(8, 16));
            op.prepend(&mut into[shift..], &left[shift..]);
            assert_eq!(into[shift..], values(2, 4));
        }
    }

    #[test]
    fn integers_wrap_and_what_is_not_a_number_stays_so() {
        assert_eq!(Sum.combine(u8::MAX, 2), 1);
        assert_eq!(Product.combine(i8::MAX, 2), -2);
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(Op::<f64>::combine(&Min, a, b).is_nan() && Op::<f64>::combine(&Max, a, b).is_nan());
        }
        assert_eq!((Op::<f64>::combine(&Min, 2.0, 1.0), Op::<f64>::combine(&Max, 2.0, 1.0)), (1.0, 2.0));
    }

    #[test]
    fn the_least_and_the_greatest_float_commute_and_associate_to_the_last_bit() {
        let odd = f32::from_bits(0xffc0_1234);
        let all = [f32::NEG_INFINITY, -1.0, -f32::MIN_POSITIVE / 2.0, -0.0, 0.0, 1.0, f32::INFINITY, f32::NAN, odd];
        for op in [f32::least, f32::greatest] {
            for (a, b) in all.into_iter().flat_map(|a| all.map(|b| (a, b))) {
                assert_eq!(op(a, b).to_bits(), op(b, a).to_bits(), "{a} {b}");
                for c in all {
                    assert_eq!(op(op(a, b), c).to_bits(), op(a, op(b, c)).to_bits(), "{a} {b} {c}");
                }
            }
        }
        // In order, as they stand.
        for (at, value) in all[..7].iter().enumerate() {
            assert!(all[at..7].iter().all(|other| value.least(*other).to_bits() == value.to_bits()), "{value}");
            assert!(all[..=at].iter().all(|other| value.greatest(*other).to_bits() == value.to_bits()), "{value}");
        }
        assert!(odd.least(1.0).is_nan() && 1.0_f32.greatest(odd).is_nan());
    }
}

//! The minimum and the maximum with their location.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytemuck::{Pod, Zeroable};

use super::{Op, Ordered};

/// A value and its location, such as a rank or an index.
///
/// Its bytes are those of the value and of the location, without padding. Its fields are read by
/// [`value`](Self::value) and [`location`](Self::location).
///
/// ```
/// use necklace::op::{Located, MaxLoc};
/// let loads = [3.5, 8.0, 1.0];
/// let greatest = necklace::local::run(3, |mut comm| {
///     let mine = Located::new(loads[comm.rank()], comm.rank() as u64);
///     let mut greatest = [mine];
///     comm.allreduce(&[mine], &mut greatest, MaxLoc).unwrap();
///     (greatest[0].value(), greatest[0].location())
/// });
/// assert_eq!(greatest.unwrap(), [(8.0, 1); 3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Located<T, L = u64>
where
    T: Copy,
    L: Copy,
{
    value: T,
    location: L,
}

impl<T: Pod, L: Pod> Located<T, L> {
    /// Returns a value with its location.
    #[must_use]
    pub fn new(value: T, location: L) -> Self {
        Self { value, location }
    }

    /// Returns the value.
    #[must_use]
    #[inline]
    pub fn value(&self) -> T {
        self.value
    }

    /// Returns the location.
    #[must_use]
    #[inline]
    pub fn location(&self) -> L {
        self.location
    }
}

/// The minimum, with its location: of equal values, the one with the lowest location, as
/// `MPI_MINLOC`. A NaN wins over numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinLoc;

/// The maximum, with its location: of equal values, the one with the lowest location, as
/// `MPI_MAXLOC`. A NaN wins over numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxLoc;

macro_rules! op {
    ($name:ident, $text:literal, $wins:ident, $of_equal:ident) => {
        impl<T: Ordered, L: Ordered> Op<Located<T, L>> for $name {
            fn name(&self) -> Cow<'static, str> {
                Cow::Borrowed($text)
            }

            #[inline]
            fn combine(&self, left: Located<T, L>, right: Located<T, L>) -> Located<T, L> {
                match compare(left.value, right.value) {
                    Compared::Unequal(Ordering::$wins) | Compared::LeftIsNan => left,
                    Compared::Unequal(_) | Compared::RightIsNan => right,
                    Compared::Equal => match compare(left.location, right.location) {
                        Compared::Unequal(Ordering::Less) => left,
                        Compared::Unequal(_) => right,
                        // Zeros, or values that are not numbers, may still differ in their bits.
                        _ => Located {
                            value: left.value.$of_equal(right.value),
                            location: left.location.least(right.location),
                        },
                    },
                }
            }

            #[inline]
            fn is_commutative(&self) -> bool {
                T::COMMUTES && L::COMMUTES
            }
        }
    };
}

op!(MinLoc, "minimum with location", Less, least);
op!(MaxLoc, "maximum with location", Greater, greatest);

enum Compared {
    Unequal(Ordering),
    /// Equal, or both are not numbers.
    Equal,
    LeftIsNan,
    RightIsNan,
}

#[inline]
fn compare<T: Ordered>(left: T, right: T) -> Compared {
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    match left.partial_cmp(&right) {
        Some(Ordering::Equal) => Compared::Equal,
        Some(order) => Compared::Unequal(order),
        None if is_nan(left) && is_nan(right) => Compared::Equal,
        None if is_nan(left) => Compared::LeftIsNan,
        None => Compared::RightIsNan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OfFloat = Located<f32>;

    #[test]
    fn location_follows_its_value_without_padding() {
        assert_eq!((size_of::<Located<f64, u32>>(), size_of::<Located<u8, u16>>()), (12, 3));
        let bytes = [&7_u8.to_ne_bytes()[..], &300_u16.to_ne_bytes()].concat();
        assert_eq!(bytemuck::bytes_of(&Located::<u8, u16>::new(7, 300)), bytes);
    }

    #[test]
    fn lowest_location_wins_among_equal_values() {
        let pairs = [(3, 5), (3, 2), (8, 1), (8, 0)].map(|(value, at)| Located::<i32, u8>::new(value, at));
        let fold = |op: &dyn Op<Located<i32, u8>>| {
            let of = pairs.into_iter().reduce(|left, right| op.combine(left, right)).unwrap();
            (of.value(), of.location())
        };
        assert_eq!((fold(&MinLoc), fold(&MaxLoc)), ((3, 2), (8, 0)));
    }

    #[test]
    fn operations_commute_and_associate_exactly() {
        let values = [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::NAN, f32::from_bits(0xffc0_1234)];
        let all: Vec<OfFloat> = values.iter().flat_map(|&value| [0, 1].map(|at| Located::new(value, at))).collect();
        let bits = |of: OfFloat| (of.value().to_bits(), of.location());
        let is_nan = |of: OfFloat| of.value().is_nan();
        for op in [&MinLoc as &dyn Op<OfFloat>, &MaxLoc] {
            for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                let (one, other) = (op.combine(a, b), op.combine(b, a));
                assert!(bits(one) == bits(other) || is_nan(one) && one.location() == other.location(), "{a:?} {b:?}");
                assert_eq!(is_nan(one), is_nan(a) || is_nan(b));
                for &c in &all {
                    let (one, other) = (op.combine(op.combine(a, b), c), op.combine(a, op.combine(b, c)));
                    assert!(bits(one) == bits(other) || is_nan(one) && is_nan(other), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
}

//! The operations of reductions.
//!
//! | operation | of | |
//! |---|---|---|
//! | [`Sum`], [`Product`] | [`Number`]s: primitive numbers, `Wrapping`, complex numbers (feature `num-complex`), `f16` and `bf16` (feature `half`) | integers wrap |
//! | [`Mean`] | [`Divisible`] numbers: floats, complex numbers (feature `num-complex`), `f16` and `bf16` (feature `half`) | the sum, divided by the number of contributions |
//! | [`Min`], [`Max`] | [`Ordered`] values: primitive numbers, `f16` and `bf16` (feature `half`) | NaN wins |
//! | [`MinLoc`], [`MaxLoc`] | [`Located`] values: any of these, each with its location | the lowest location of equal values |
//! | [`BitAnd`], [`BitOr`], [`BitXor`] | [`Bits`]: primitive integers | |
//! | [`And`], [`Or`], [`Xor`] | [`Bits`]: primitive integers | true is any value but 0; the result is 0 or 1 |
//! | [`by`] | anything | a closure |
//! | your own type | anything | `impl Op<T>` |

mod bits;
mod bytes;
mod located;
mod mean;
mod number;
mod ordered;
mod predefined;
mod standard;

use std::borrow::Cow;

pub use bits::{And, BitAnd, BitOr, BitXor, Bits, Or, Xor};
pub(crate) use bytes::OnBytes;
/// The crate of [`f16`](half::f16) and [`bf16`](half::bf16). Needs the feature `half`.
#[cfg(feature = "half")]
pub use half;
pub use located::{Located, MaxLoc, MinLoc};
pub use mean::{Divisible, Mean};
/// The crate of [`Complex`](num_complex::Complex). Needs the feature `num-complex`.
#[cfg(feature = "num-complex")]
pub use num_complex;
/// The identity elements of [`Number`]s, from the crate `num-traits`.
pub use num_traits::{One, Zero};
pub use number::Number;
pub use ordered::Ordered;
pub use predefined::{Operation, Predefined, Primitive};
pub use standard::{Max, Min, Product, Sum};

/// An associative operation that combines two contributions into one.
///
/// Contributions are combined in rank order unless the operation [commutes](Self::is_commutative).
/// Floating-point sums are associative except for rounding; the algorithm fixes the order, so the
/// result has the same bits on every rank and in every run. With the algorithm `native`, the
/// backend's library groups the operands, and may reorder them if the operation is
/// [predefined](Self::predefined) or commutes.
///
/// [`by`] makes an operation from a closure `|left, right| ...`. References to operations are
/// operations.
pub trait Op<T>: Send + Sync {
    /// Returns the operation's name. Ranks compare it to detect different operations in one call.
    fn name(&self) -> Cow<'static, str>;

    /// Combines two operands. If the operation does not commute, `left` comes from lower ranks.
    fn combine(&self, left: T, right: T) -> T;

    /// Finishes a result of that many contributions, once, when all are combined. Returns it
    /// unchanged by default.
    fn finish(&self, combined: T, contributions: usize) -> T {
        let _ = contributions;
        combined
    }

    /// Returns whether `combine(a, b)` equals `combine(b, a)`, for floats except for the bits of a
    /// NaN. If so, algorithms may combine in any order. `false` by default.
    fn is_commutative(&self) -> bool {
        false
    }

    /// Returns the identity element, if there is one. For float sums it may change the sign of
    /// zero. `None` by default.
    fn identity(&self) -> Option<T> {
        None
    }

    /// Returns the predefined operation that this is, if `T` has the size and alignment of its
    /// number type. The backend's library may then use its own implementation instead of
    /// [`combine`](Self::combine), in any order. `None` by default.
    fn predefined(&self) -> Option<Predefined> {
        None
    }
}

impl<T, O: Op<T> + ?Sized> Op<T> for &O {
    fn name(&self) -> Cow<'static, str> {
        (**self).name()
    }

    #[inline]
    fn combine(&self, left: T, right: T) -> T {
        (**self).combine(left, right)
    }

    #[inline]
    fn finish(&self, combined: T, contributions: usize) -> T {
        (**self).finish(combined, contributions)
    }

    fn is_commutative(&self) -> bool {
        (**self).is_commutative()
    }

    fn identity(&self) -> Option<T> {
        (**self).identity()
    }

    fn predefined(&self) -> Option<Predefined> {
        (**self).predefined()
    }
}

/// Makes an operation from a closure. All ranks must use the same name; ranks compare it to detect
/// different operations in one call.
///
/// ```
/// use necklace::op::{Op, by};
/// let longer = by("longer", |left: [u8; 2], right| if right[1] > left[1] { right } else { left });
/// assert_eq!(longer.combine([1, 5], [2, 7]), [2, 7]);
/// ```
pub fn by<T, F: Fn(T, T) -> T + Send + Sync>(name: &'static str, combine: F) -> By<F> {
    By { name, combine, commutes: false }
}

/// The operation that [`by`] makes.
#[derive(Clone, Copy, Debug)]
pub struct By<F> {
    name: &'static str,
    combine: F,
    commutes: bool,
}

impl<F> By<F> {
    /// Declares that the closure [commutes](Op::is_commutative), so that algorithms may combine in
    /// any order.
    #[must_use]
    pub fn commutative(self) -> Self {
        Self { commutes: true, ..self }
    }
}

impl<T, F: Fn(T, T) -> T + Send + Sync> Op<T> for By<F> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    #[inline]
    fn combine(&self, left: T, right: T) -> T {
        (self.combine)(left, right)
    }

    fn is_commutative(&self) -> bool {
        self.commutes
    }
}

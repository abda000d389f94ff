//! Operations of reductions.
//!
//! | operation | of | |
//! |---|---|---|
//! | [`Sum`], [`Product`] | [`Number`]s: primitive numbers, `Wrapping`, with the feature `num-complex` complex numbers, with `half` `f16` and `bf16` | integers wrap |
//! | [`Min`], [`Max`] | what is [`Ordered`]: primitive numbers, `f16` and `bf16` | not a number wins |
//! | [`by`] | anything | a closure |
//! | your own type | anything | `impl Op<T>` |

mod bytes;
mod number;
mod ordered;
mod predefined;
mod standard;

use std::borrow::Cow;

pub(crate) use bytes::OnBytes;
/// The neutral elements of [`Number`]s.
pub use num_traits::{One, Zero};
pub use number::Number;
pub use ordered::Ordered;
pub use predefined::{Operation, Predefined, Primitive};
pub use standard::{Max, Min, Product, Sum};

/// Combines two contributions into one. Must be associative.
///
/// Contributions are combined in rank order unless the operation says that it
/// [commutes](Self::is_commutative). Floating-point sums are associative but for rounding: the
/// algorithm fixes the order, so the bits are the same on every rank and in every run. Where the
/// backend's own library combines (algorithm `native`), the library sets the brackets, and it may
/// take what is [predefined](Self::predefined), or commutes, in any order.
///
/// A closure `|left, right| ...` becomes an operation by [`by`]. References to operations are
/// operations.
pub trait Op<T>: Send + Sync {
    /// Names the operation. Ranks compare the name to find that they disagree.
    fn name(&self) -> Cow<'static, str>;

    /// Combines `left` with `right`, where `left` comes from lower ranks if the operation does not
    /// commute.
    fn combine(&self, left: T, right: T) -> T;

    /// Returns whether `combine(a, b)` is `combine(b, a)` (of floats, but for the bits of a NaN).
    /// If so, algorithms may combine in any order. `false` unless overridden.
    fn is_commutative(&self) -> bool {
        false
    }

    /// Returns the element that changes nothing when combined with any other, if there is one (of
    /// float sums, but for the sign of zero). `None` unless overridden.
    fn identity(&self) -> Option<T> {
        None
    }

    /// Returns which of the operations that libraries have predefined this is, if it is one and an
    /// element is such a number: as long, and as aligned. A library beneath the backend may then
    /// use its own, which does not call [`combine`](Self::combine), and may combine in any order.
    /// `None` unless overridden.
    fn predefined(&self) -> Option<Predefined> {
        None
    }
}

impl<T, O: Op<T> + ?Sized> Op<T> for &O {
    fn name(&self) -> Cow<'static, str> {
        (**self).name()
    }

    fn combine(&self, left: T, right: T) -> T {
        (**self).combine(left, right)
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

/// Makes an operation of a closure. All ranks must give it the same name: that is how they find
/// that they disagree.
///
/// ```
/// use necklace::op::{Op, by};
/// let longer = by("longer", |left: [u8; 2], right| if right[1] > left[1] { right } else { left });
/// assert_eq!(longer.combine([1, 5], [2, 7]), [2, 7]);
/// ```
pub fn by<T, F: Fn(T, T) -> T + Send + Sync>(name: &'static str, combine: F) -> By<F> {
    By { name, combine, commutes: false }
}

/// An operation made by [`by`].
#[derive(Clone, Copy, Debug)]
pub struct By<F> {
    name: &'static str,
    combine: F,
    commutes: bool,
}

impl<F> By<F> {
    /// Says that the closure [commutes](Op::is_commutative), so that algorithms may combine in any
    /// order.
    #[must_use]
    pub fn commutative(self) -> Self {
        Self { commutes: true, ..self }
    }
}

impl<T, F: Fn(T, T) -> T + Send + Sync> Op<T> for By<F> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn combine(&self, left: T, right: T) -> T {
        (self.combine)(left, right)
    }

    fn is_commutative(&self) -> bool {
        self.commutes
    }
}

//! Sum, product, minimum, maximum.

use std::borrow::Cow;

use super::{Number, Op, Operation, Ordered, Predefined, Primitive};

macro_rules! op {
    ($(#[$doc:meta])* $name:ident of $of:ident, $text:literal, |$left:ident, $right:ident| $combine:expr, $commutes:expr, $identity:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl<T: $of> Op<T> for $name {
            fn name(&self) -> Cow<'static, str> {
                Cow::Borrowed($text)
            }

            #[inline]
            fn combine(&self, $left: T, $right: T) -> T {
                $combine
            }

            #[inline]
            fn is_commutative(&self) -> bool {
                $commutes
            }

            #[inline]
            fn identity(&self) -> Option<T> {
                $identity
            }

            fn predefined(&self) -> Option<Predefined> {
                Primitive::of::<T>().map(|number| Predefined { operation: Operation::$name, number })
            }
        }
    };
}

op!(/** The sum; integers wrap. */ Sum of Number, "sum", |left, right| left.plus(right), true, Some(T::zero()));
op!(/** The product; integers wrap. */ Product of Number, "product", |left, right| left.times(right), T::PRODUCT_COMMUTES, Some(T::one()));
op!(/** The minimum. For floats, NaN if an operand is NaN, and -0 is less than 0. */ Min of Ordered, "min", |left, right| {
    left.least(right)
}, T::COMMUTES, T::HIGHEST);
op!(/** The maximum. For floats, NaN if an operand is NaN, and 0 is greater than -0. */ Max of Ordered, "max", |left, right| {
    left.greatest(right)
}, T::COMMUTES, T::LOWEST);

#[cfg(test)]
mod tests {
    use std::num::Wrapping;

    use quickcheck::quickcheck;

    use super::*;

    /// Holds an operation to what it says of itself.
    fn satisfies_its_laws<T: PartialEq + Copy>(op: &dyn Op<T>, values: &[T]) -> bool {
        let pairs = || values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
        let identity = op.identity().expect("it has one");
        op.is_commutative()
            && pairs().all(|(a, b)| op.combine(a, b) == op.combine(b, a))
            && values.iter().all(|&a| op.combine(identity, a) == a && op.combine(a, identity) == a)
    }

    quickcheck! {
        fn operations_commute_and_have_identities(values: Vec<i16>) -> bool {
            let floats: Vec<f32> = values.iter().map(|&value| f32::from(value) / 8.0).collect();
            let wrapping: Vec<Wrapping<i16>> = values.iter().copied().map(Wrapping).collect();
            let numbers: [&dyn Op<i16>; 4] = [&Sum, &Product, &Min, &Max];
            let of_floats: [&dyn Op<f32>; 4] = [&Sum, &Product, &Min, &Max];
            let of_wrapping: [&dyn Op<Wrapping<i16>>; 2] = [&Sum, &Product];
            numbers.iter().all(|op| satisfies_its_laws(*op, &values))
                && of_floats.iter().all(|op| satisfies_its_laws(*op, &floats))
                && of_wrapping.iter().all(|op| satisfies_its_laws(*op, &wrapping))
        }
    }

    #[cfg(feature = "half")]
    #[test]
    fn halves_are_numbers_in_order() {
        let values: Vec<half::f16> = [-2.0, -0.5, 0.0, 1.0, 3.0].map(half::f16::from_f32).to_vec();
        let brief: Vec<half::bf16> = [-2.0, -0.5, 0.0, 1.0, 3.0].map(half::bf16::from_f32).to_vec();
        let ops: [&dyn Op<half::f16>; 4] = [&Sum, &Product, &Min, &Max];
        let of_brief: [&dyn Op<half::bf16>; 4] = [&Sum, &Product, &Min, &Max];
        assert!(ops.iter().all(|op| satisfies_its_laws(*op, &values)));
        assert!(of_brief.iter().all(|op| satisfies_its_laws(*op, &brief)));
        assert!(Op::<half::f16>::combine(&Max, values[0], half::f16::NAN).is_nan());
    }

    #[cfg(feature = "num-complex")]
    #[test]
    fn complex_numbers_are_added_and_multiplied() {
        use num_complex::Complex;
        let values = [Complex::new(1.0, 2.0), Complex::new(-3.0, 0.5), Complex::new(0.0, 1.0)];
        let ops: [&dyn Op<Complex<f64>>; 2] = [&Sum, &Product];
        assert!(ops.iter().all(|op| satisfies_its_laws(*op, &values)));
        assert_eq!(Product.combine(values[2], values[2]), Complex::new(-1.0, 0.0));
    }

    /// Upper triangular matrices of two rows, with ones on the diagonal, except at one place.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    struct Affine(f64, f64);

    impl std::ops::Add for Affine {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Self(self.0 + other.0, self.1 + other.1)
        }
    }

    impl std::ops::Mul for Affine {
        type Output = Self;
        fn mul(self, other: Self) -> Self {
            Self(self.0 * other.0, self.0 * other.1 + self.1)
        }
    }

    impl num_traits::Zero for Affine {
        fn zero() -> Self {
            Self(0.0, 0.0)
        }
        fn is_zero(&self) -> bool {
            *self == Self::zero()
        }
    }

    impl num_traits::One for Affine {
        fn one() -> Self {
            Self(1.0, 0.0)
        }
    }

    impl Number for Affine {}

    #[test]
    fn matrix_products_do_not_commute() {
        let (a, b) = (Affine(2.0, 1.0), Affine(3.0, 5.0));
        assert_ne!(Product.combine(a, b), Product.combine(b, a));
        assert!(!Op::<Affine>::is_commutative(&Product) && Op::<Affine>::is_commutative(&Sum));
        assert_eq!(Op::<Affine>::identity(&Product), Some(Affine(1.0, 0.0)));
    }

    #[test]
    fn integers_wrap_and_nan_wins() {
        assert_eq!(Sum.combine(u8::MAX, 2), 1);
        assert_eq!(Product.combine(i8::MAX, 2), -2);
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(Op::<f64>::combine(&Min, a, b).is_nan() && Op::<f64>::combine(&Max, a, b).is_nan());
        }
        assert_eq!((Op::<f64>::combine(&Min, 2.0, 1.0), Op::<f64>::combine(&Max, 2.0, 1.0)), (1.0, 2.0));
    }

    #[test]
    fn float_min_and_max_commute_and_associate_exactly() {
        let odd = f32::from_bits(0xffc0_1234);
        let all = [f32::NEG_INFINITY, -1.0, -f32::MIN_POSITIVE / 2.0, -0.0, 0.0, 1.0, f32::INFINITY, f32::NAN, odd];
        for op in [<f32 as Ordered>::least, <f32 as Ordered>::greatest] {
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

//! The element types of calls, their operations, and the definitions of these.
#![allow(unsafe_code)]

use std::cmp::Ordering::{Equal, Greater, Less};
use std::fmt::Debug;

use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut};
use necklace::op::{Max, Min, Op, Product, Sum, by};
use necklace::{Communicator, Error};

use necklace_tests::suites::definitions::Dice;

/// Elements of a type.
pub(crate) trait Value: Pod + Debug {
    /// Number of operations.
    const OPERATIONS: usize = 1;

    /// Draws an operand.
    fn operand(dice: &mut Dice) -> Self {
        any(dice)
    }

    /// Whether two results of an operation are equal.
    fn is(&self, other: &Self) -> bool {
        bytes_of(self) == bytes_of(other)
    }

    fn reduce(comm: &mut Communicator, scan: bool, _: usize, send: &[Self], into: &mut [Self]) -> Result<(), Error> {
        reduce(comm, scan, send, into, by("affine", affine))
    }

    /// Applies the operation to two operands.
    fn define(_: usize, left: Self, right: Self) -> Self {
        affine(left, right)
    }
}

fn reduce<T: Pod>(
    comm: &mut Communicator,
    scan: bool,
    send: &[T],
    into: &mut [T],
    op: impl Op<T>,
) -> Result<(), Error> {
    if scan { comm.scan(send, into, op) } else { comm.allreduce(send, into, op) }
}

/// Draws any bits.
pub(crate) fn any<T: Pod>(dice: &mut Dice) -> T {
    let mut value = T::zeroed();
    bytes_of_mut(&mut value)
        .chunks_mut(8)
        .for_each(|part| part.copy_from_slice(&dice.roll().to_le_bytes()[..part.len()]));
    value
}

/// Composes maps x -> a x + b, byte by byte: a is the first byte, the others are b; of a single
/// byte, a and b are the halves. Associative and not commutative.
fn affine<T: Pod>(left: T, right: T) -> T {
    let mut result = right;
    match (bytes_of(&left), bytes_of_mut(&mut result)) {
        (&[left], [both]) => {
            let (a, b, c, d) = (left >> 4, left & 15, *both >> 4, *both & 15);
            *both = a.wrapping_mul(c) << 4 | b.wrapping_mul(c).wrapping_add(d) & 15;
        }
        ([a, b @ ..], [c, d @ ..]) => {
            d.iter_mut().zip(b).for_each(|(d, b)| *d = b.wrapping_mul(*c).wrapping_add(*d));
            *c = a.wrapping_mul(*c);
        }
        _ => {}
    }
    result
}

macro_rules! numbers {
    ($($t:ty),*; $operand:expr, $same:expr, $definitions:expr) => {$(
        impl Value for $t {
            const OPERATIONS: usize = 5;

            fn operand(dice: &mut Dice) -> Self {
                $operand(dice)
            }

            fn is(&self, other: &Self) -> bool {
                $same(*self, *other)
            }

            fn reduce(
                comm: &mut Communicator,
                scan: bool,
                operation: usize,
                send: &[Self],
                into: &mut [Self],
            ) -> Result<(), Error> {
                match operation {
                    0 => reduce(comm, scan, send, into, Sum),
                    1 => reduce(comm, scan, send, into, Product),
                    2 => reduce(comm, scan, send, into, Min),
                    3 => reduce(comm, scan, send, into, Max),
                    _ => reduce(comm, scan, send, into, by("affine", affine)),
                }
            }

            fn define(operation: usize, left: Self, right: Self) -> Self {
                let definitions: [fn(Self, Self) -> Self; 4] = $definitions;
                definitions.get(operation).map_or_else(|| affine(left, right), |define| define(left, right))
            }
        }
    )*};
}

numbers! {
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize;
    any, |one, other| one == other, [Self::wrapping_add, Self::wrapping_mul, Self::min, Self::max]
}

// Sums and products of a few of these are exact, whatever the order; signs of zeros count.
numbers! {
    f32, f64;
    |dice: &mut Dice| {
        let values = [0.0, 0.5, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, Self::INFINITY, Self::NAN];
        let known = if dice.below(4) == 0 { values.len() } else { 8 };
        let value = values[dice.below(known)];
        if dice.below(2) == 0 { -value } else { value }
    },
    |one: Self, other: Self| one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
    [
        |left, right| left + right,
        |left, right| left * right,
        |left, right| match left.total_cmp(&right) {
            _ if left.is_nan() || right.is_nan() => Self::NAN,
            Less | Equal => left,
            Greater => right,
        },
        |left, right| match left.total_cmp(&right) {
            _ if left.is_nan() || right.is_nan() => Self::NAN,
            Greater | Equal => left,
            Less => right,
        },
    ]
}

impl Value for () {}
impl Value for [f32; 3] {}
impl Value for Odd {}

/// A type of an odd size.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Odd {
    head: [u8; 3],
    tail: [u8; 8],
}

// SAFETY: it consists of bytes, without padding.
unsafe impl Zeroable for Odd {}
// SAFETY: as above.
unsafe impl Pod for Odd {}

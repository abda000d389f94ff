//! The operations that communication libraries have predefined.

use std::alloc::Layout;
use std::any::TypeId;

/// An operation that communication libraries such as MPI have predefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Predefined {
    /// The operation.
    pub operation: Operation,
    /// The number type.
    pub number: Primitive,
}

impl Predefined {
    /// Returns the operation on these numbers.
    #[must_use]
    pub const fn new(operation: Operation, number: Primitive) -> Self {
        Self { operation, number }
    }
}

/// A predefined operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Product,
    /// The minimum. For floats, NaN if an operand is NaN, and -0 is less than 0. (MPI leaves both
    /// open.)
    Min,
    /// The maximum. For floats, NaN if an operand is NaN, and -0 is less than 0.
    Max,
}

/// A primitive number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Primitive {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Primitive {
    /// Returns the size and alignment of the type.
    pub(crate) const fn layout(self) -> Layout {
        match self {
            Self::I8 | Self::U8 => Layout::new::<u8>(),
            Self::I16 | Self::U16 => Layout::new::<u16>(),
            Self::I32 | Self::U32 => Layout::new::<u32>(),
            Self::I64 | Self::U64 => Layout::new::<u64>(),
            Self::F32 => Layout::new::<f32>(),
            Self::F64 => Layout::new::<f64>(),
        }
    }

    /// Returns the number type that `T` is, if any. `isize` and `usize` count as the type of their
    /// width.
    #[must_use]
    pub fn of<T: 'static>() -> Option<Self> {
        let is = |other: TypeId| TypeId::of::<T>() == other;
        let of_width = |narrow, wide| match usize::BITS {
            32 => Some(narrow),
            64 => Some(wide),
            _ => None,
        };
        macro_rules! among {
            ($($t:ty: $number:ident),*) => {
                match () {
                    $(() if is(TypeId::of::<$t>()) => Some(Self::$number),)*
                    () if is(TypeId::of::<isize>()) => of_width(Self::I32, Self::I64),
                    () if is(TypeId::of::<usize>()) => of_width(Self::U32, Self::U64),
                    () => None,
                }
            };
        }
        among!(i8: I8, i16: I16, i32: I32, i64: I64, u8: U8, u16: U16, u32: U32, u64: U64, f32: F32, f64: F64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitive_types_are_recognised() {
        assert_eq!([Primitive::of::<i8>(), Primitive::of::<u64>()], [Some(Primitive::I8), Some(Primitive::U64)]);
        assert_eq!([Primitive::of::<f32>(), Primitive::of::<f64>()], [Some(Primitive::F32), Some(Primitive::F64)]);
        let of_width = if usize::BITS == 64 { Primitive::U64 } else { Primitive::U32 };
        assert_eq!(Primitive::of::<usize>(), Some(of_width));
        assert_eq!([Primitive::of::<u128>(), Primitive::of::<[f32; 3]>(), Primitive::of::<char>()], [None; 3]);
    }
}

//! The predefined operations: MPI's own where every library gives the results that this crate
//! defines, ours elsewhere. They commute and do not panic.

use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::OnceLock;

use bytemuck::Pod;
use mpi::ffi;

use super::error::MpiError;
use super::operation::{Function, OpHandle};
use crate::op::Operation::{Max, Min, Product, Sum};
use crate::op::Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use crate::op::{self, Number, OnBytes, Op, Operation, Ordered, Predefined, Primitive};
use crate::plan::Reduction;

/// Returns the datatype of the numbers and the operation that combines them.
pub(super) fn predefined(of: Predefined) -> Result<(ffi::MPI_Datatype, ffi::MPI_Op), MpiError> {
    let op = if is_as_defined(of) { own(of.operation) } else { ours(of)? };
    Ok((datatype(of.number), op))
}

/// Whether the operation of every MPI library gives the results that this crate defines.
fn is_as_defined(Predefined { operation, number }: Predefined) -> bool {
    match operation {
        // Those of Open MPI do not wrap on processors with AVX:
        // github.com/open-mpi/ompi/issues/8045.
        Sum => !matches!(number, I8 | I16 | U8 | U16),
        Product => true,
        // MPICH compares unsigned numbers as signed ones: github.com/pmodels/mpich/issues/6083,
        // again in 7507. MPI does not define the minimum of floats if one is not a number, nor of
        // zeros with different signs.
        Min | Max => matches!(number, I8 | I16 | I32 | I64),
    }
}

fn datatype(number: Primitive) -> ffi::MPI_Datatype {
    // SAFETY: reads constants of the library.
    unsafe {
        match number {
            I8 => ffi::RSMPI_INT8_T,
            I16 => ffi::RSMPI_INT16_T,
            I32 => ffi::RSMPI_INT32_T,
            I64 => ffi::RSMPI_INT64_T,
            U8 => ffi::RSMPI_UINT8_T,
            U16 => ffi::RSMPI_UINT16_T,
            U32 => ffi::RSMPI_UINT32_T,
            U64 => ffi::RSMPI_UINT64_T,
            F32 => ffi::RSMPI_FLOAT,
            F64 => ffi::RSMPI_DOUBLE,
        }
    }
}

fn own(operation: Operation) -> ffi::MPI_Op {
    // SAFETY: reads constants of the library.
    unsafe {
        match operation {
            Sum => ffi::RSMPI_SUM,
            Product => ffi::RSMPI_PROD,
            Min => ffi::RSMPI_MIN,
            Max => ffi::RSMPI_MAX,
        }
    }
}

/// Returns our operation, which is made when it is first needed.
fn ours(of: Predefined) -> Result<ffi::MPI_Op, MpiError> {
    const NUMBERS: usize = F64 as usize + 1;
    static OURS: [[OnceLock<Result<OpHandle, MpiError>>; NUMBERS]; Max as usize + 1] =
        [const { [const { OnceLock::new() }; NUMBERS] }; Max as usize + 1];
    let made = OURS[of.operation as usize][of.number as usize].get_or_init(|| OpHandle::new(function(of), true));
    made.clone().map(|handle| handle.0)
}

fn function(of: Predefined) -> Function {
    fn of_numbers<T: Number + Ordered>(operation: Operation) -> Function {
        match operation {
            Sum => combine::<T, op::Sum>,
            Product => combine::<T, op::Product>,
            Min => combine::<T, op::Min>,
            Max => combine::<T, op::Max>,
        }
    }
    let of_numbers = match of.number {
        I8 => of_numbers::<i8>,
        I16 => of_numbers::<i16>,
        I32 => of_numbers::<i32>,
        I64 => of_numbers::<i64>,
        U8 => of_numbers::<u8>,
        U16 => of_numbers::<u16>,
        U32 => of_numbers::<u32>,
        U64 => of_numbers::<u64>,
        F32 => of_numbers::<f32>,
        F64 => of_numbers::<f64>,
    };
    of_numbers(of.operation)
}

unsafe extern "C" fn combine<T: Pod, O: Op<T> + Default>(
    from: *mut c_void,
    into: *mut c_void,
    count: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    // SAFETY: MPI calls this with two buffers of `count` numbers, which do not overlap.
    let (left, into) = unsafe {
        let bytes = size_of::<T>() * usize::try_from(*count).unwrap_or(0);
        (slice::from_raw_parts(from.cast::<u8>(), bytes), slice::from_raw_parts_mut(into.cast::<u8>(), bytes))
    };
    OnBytes::<T, O>::new(O::default()).prepend(into, left);
}

//! MPI datatypes of any number of bytes. MPI's counts have 32 bits, so longer datatypes are
//! composed of parts.

use std::ffi::c_int;
use std::mem;

use mpi::ffi;

use super::error::MpiError;
use super::library::{call, is_alive};
use crate::plan::Run;

/// A datatype, and whether it has to be freed.
#[derive(Debug)]
pub(super) struct Datatype {
    pub(super) handle: ffi::MPI_Datatype,
    made: bool,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for Datatype {}

/// Number of elements of a part, if there are more than a count can express.
const PART: u64 = 1 << 30;

impl Datatype {
    /// Returns the datatype of a byte.
    #[inline]
    pub(super) fn byte() -> Self {
        // SAFETY: reads a constant of the library.
        Self { handle: unsafe { ffi::RSMPI_UINT8_T }, made: false }
    }

    /// Returns the count and the datatype for that many bytes.
    #[inline]
    pub(super) fn bytes(count: u64) -> Result<(c_int, Self), MpiError> {
        match c_int::try_from(count) {
            Ok(count) => Ok((count, Self::byte())),
            Err(_) => Ok((1, Self::byte().repeated(count, 1)?.committed()?)),
        }
    }

    /// Returns the datatype of these runs, in order, each at its offset.
    pub(super) fn runs(runs: &[Run]) -> Result<Self, MpiError> {
        let part = |run: &Run| {
            let piece = Self::byte().repeated(run.len, 1)?;
            Ok((run.offset, if run.count == 1 { piece } else { piece.repeated(run.count, run.stride)? }))
        };
        Self::together(&runs.iter().map(part).collect::<Result<Vec<_>, MpiError>>()?)?.committed()
    }

    /// Repeats the datatype, with a distance of `stride` bytes.
    pub(super) fn repeated(self, count: u64, stride: u64) -> Result<Self, MpiError> {
        if let Ok(count) = c_int::try_from(count) {
            return self.few(count, stride);
        }
        let rest = self.few((count % PART) as c_int, stride)?;
        let whole = self.repeated(PART, stride)?.repeated(count / PART, PART * stride)?;
        Self::together(&[(0, whole), (count / PART * PART * stride, rest)])
    }

    fn few(&self, count: c_int, stride: u64) -> Result<Self, MpiError> {
        Self::make(|made| {
            // Only bytes have this stride. MPICH moves elements one by one unless the datatype is
            // contiguous.
            if stride == 1 {
                return call!(MPI_Type_contiguous(count, self.handle, made));
            }
            call!(MPI_Type_create_hvector(count, 1, stride as ffi::MPI_Aint, self.handle, made))
        })
    }

    /// Combines datatypes, each at its offset.
    fn together(parts: &[(u64, Self)]) -> Result<Self, MpiError> {
        let lengths = vec![1; parts.len()];
        let offsets: Vec<_> = parts.iter().map(|(offset, _)| *offset as ffi::MPI_Aint).collect();
        let types: Vec<_> = parts.iter().map(|(_, part)| part.handle).collect();
        Self::make(|made| {
            call!(MPI_Type_create_struct(
                parts.len() as c_int,
                lengths.as_ptr(),
                offsets.as_ptr(),
                types.as_ptr(),
                made
            ))
        })
    }

    fn make(make: impl FnOnce(&mut ffi::MPI_Datatype) -> Result<(), MpiError>) -> Result<Self, MpiError> {
        // SAFETY: reads a constant of the library.
        let mut handle = unsafe { ffi::RSMPI_DATATYPE_NULL };
        make(&mut handle)?;
        Ok(Self { handle, made: true })
    }

    /// Commits the datatype, so that it can be used in messages.
    pub(super) fn committed(mut self) -> Result<Self, MpiError> {
        call!(MPI_Type_commit(&mut self.handle))?;
        Ok(self)
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if mem::take(&mut self.made) && is_alive() {
            let _ = call!(MPI_Type_free(&mut self.handle));
        }
    }
}

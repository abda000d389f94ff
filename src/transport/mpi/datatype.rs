//! MPI's datatypes, of any number of bytes: its counts are of 32 bits, so that longer ones are put
//! together of parts.

use std::ffi::c_int;
use std::mem;

use mpi::ffi;

use super::error::MpiError;
use super::library::{call, is_alive};
use crate::plan::Run;

/// A datatype, and whether it is to be freed.
#[derive(Debug)]
pub(super) struct Datatype {
    pub(super) handle: ffi::MPI_Datatype,
    made: bool,
}

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Datatype {}

/// So many of something a part has, where there are more than can be counted.
const PART: u64 = 1 << 30;

impl Datatype {
    /// A byte.
    #[inline]
    pub(super) fn byte() -> Self {
        // SAFETY: a constant of the library.
        Self { handle: unsafe { ffi::RSMPI_UINT8_T }, made: false }
    }

    /// So many bytes: how many of which datatype.
    #[inline]
    pub(super) fn bytes(count: u64) -> Result<(c_int, Self), MpiError> {
        match c_int::try_from(count) {
            Ok(count) => Ok((count, Self::byte())),
            Err(_) => Ok((1, Self::byte().repeated(count, 1)?.committed()?)),
        }
    }

    /// The bytes of these runs, one after the other, each at its offset.
    pub(super) fn runs(runs: &[Run]) -> Result<Self, MpiError> {
        let part = |run: &Run| {
            let piece = Self::byte().repeated(run.len, 1)?;
            Ok((run.offset, if run.count == 1 { piece } else { piece.repeated(run.count, run.stride)? }))
        };
        Self::together(&runs.iter().map(part).collect::<Result<Vec<_>, MpiError>>()?)?.committed()
    }

    /// So many of it, that many bytes apart.
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
            // Of bytes: nothing else is as short. MPICH moves one after the other of what it is not
            // told to be in one piece.
            if stride == 1 {
                return call!(MPI_Type_contiguous(count, self.handle, made));
            }
            call!(MPI_Type_create_hvector(count, 1, stride as ffi::MPI_Aint, self.handle, made))
        })
    }

    /// All of these, each at its offset.
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
        // SAFETY: a constant of the library.
        let mut handle = unsafe { ffi::RSMPI_DATATYPE_NULL };
        make(&mut handle)?;
        Ok(Self { handle, made: true })
    }

    /// The same, to be sent and received.
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

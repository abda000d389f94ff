//! Finds out which processes can share memory.
//!
//! `MPI_Comm_split_type` finds that out, but it blocks without a deadline, and some libraries poll
//! without a pause meanwhile. So each process remembers the result for a set of processes, and uses
//! it for every communicator of these processes or some of them.

use std::ffi::c_int;

use mpi::ffi;

use super::comm::Comm;
use super::error::MpiError;
use super::library::call;

/// The group of a communicator, which is freed with it.
struct MpiGroup(ffi::MPI_Group);

impl MpiGroup {
    fn of(comm: ffi::MPI_Comm) -> Result<Self, MpiError> {
        // SAFETY: reads a constant of the library.
        let mut group = unsafe { ffi::RSMPI_GROUP_NULL };
        call!(MPI_Comm_group(comm, &mut group)).map(|()| Self(group))
    }

    /// Returns what the first ranks of this group are in another; `MPI_UNDEFINED` for those that
    /// are not in it.
    fn translate(&self, ranks: usize, other: &Self) -> Result<Vec<c_int>, MpiError> {
        let (own, mut theirs) = ((0..ranks as c_int).collect::<Vec<_>>(), vec![0; ranks]);
        call!(MPI_Group_translate_ranks(self.0, ranks as c_int, own.as_ptr(), other.0, theirs.as_mut_ptr()))?;
        Ok(theirs)
    }
}

impl Drop for MpiGroup {
    fn drop(&mut self) {
        // Nothing can be done about an error.
        let _ = call!(MPI_Group_free(&mut self.0));
    }
}

/// Returns the ranks in `MPI_COMM_WORLD` of a communicator's processes; `None` if a process is not
/// in it, such as one that was spawned.
pub(super) fn ranks_in_world(comm: ffi::MPI_Comm, size: usize) -> Result<Option<Vec<c_int>>, MpiError> {
    // SAFETY: reads a constant of the library.
    let world = MpiGroup::of(unsafe { ffi::RSMPI_COMM_WORLD })?;
    let ranks = MpiGroup::of(comm)?.translate(size, &world)?;
    Ok((!ranks.contains(&ffi::MPI_UNDEFINED)).then_some(ranks))
}

/// Returns the number of this process's group: the lowest rank that shares memory with it.
/// Collective.
pub(super) fn split(comm: ffi::MPI_Comm, rank: usize) -> Result<u64, MpiError> {
    // SAFETY: reads constants of the library.
    let (shared, info) = unsafe { (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL) };
    // SAFETY: reads a constant of the library.
    let mut near = unsafe { ffi::RSMPI_COMM_NULL };
    call!(MPI_Comm_split_type(comm, shared, rank as c_int, info, &mut near))?;
    // Frees it, whatever follows.
    let near = Comm::new(near)?;
    // The ranks there are in the order of those here.
    let first = MpiGroup::of(near.handle())?.translate(1, &MpiGroup::of(comm)?)?;
    Ok(first[0] as u64)
}

//! Finds out which processes can share memory.
//!
//! `MPI_Comm_split_type` finds that out, but it blocks without a deadline, and some libraries poll
//! without a pause meanwhile. So each process remembers the result for a set of processes, and uses
//! it for every communicator of these processes or some of them.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi::ffi;

use super::comm::Comm;
use super::error::MpiError;
use super::library::call;

/// For every set of processes that was split: of each process, by its rank in `MPI_COMM_WORLD`, the
/// number of the group that shares memory.
static KNOWN: Mutex<Vec<HashMap<c_int, u64>>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<HashMap<c_int, u64>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Returns the number of the group of each process, if that is known.
pub(super) fn recall(ranks_in_world: &[c_int]) -> Option<Vec<u64>> {
    let group = |of: &HashMap<c_int, u64>| ranks_in_world.iter().map(|rank| of.get(rank).copied()).collect();
    known().iter().find_map(group)
}

/// Keeps the number of the group of each process.
pub(super) fn keep(ranks_in_world: &[c_int], groups: &[u64]) {
    known().push(ranks_in_world.iter().copied().zip(groups.iter().copied()).collect());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_known_of_sets_within_those_that_were_split() {
        // Numbers that no process of this test has in its world.
        let known = [7001, 7004, 7002, 7003];
        assert_eq!(recall(&known), None);
        keep(&known, &[0, 0, 2, 2]);
        assert_eq!(recall(&known), Some(vec![0, 0, 2, 2]));
        assert_eq!(recall(&[7003, 7001]), Some(vec![2, 0]));
        assert_eq!(recall(&[7003, 7005]), None);
    }
}

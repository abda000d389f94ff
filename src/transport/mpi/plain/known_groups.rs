//! The processes that are known to share memory.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// For every set of processes that was split: of each process, by its rank in `MPI_COMM_WORLD`, the
/// number of the group that shares memory.
static KNOWN: Mutex<Vec<HashMap<c_int, u64>>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<HashMap<c_int, u64>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of the group of each process, if that is known.
pub(crate) fn recall(ranks_in_world: &[c_int]) -> Option<Vec<u64>> {
    let group = |of: &HashMap<c_int, u64>| ranks_in_world.iter().map(|rank| of.get(rank).copied()).collect();
    known().iter().find_map(group)
}

/// Keeps the number of the group of each process.
pub(crate) fn keep(ranks_in_world: &[c_int], groups: &[u64]) {
    known().push(ranks_in_world.iter().copied().zip(groups.iter().copied()).collect());
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

//! Repetition: after the first executions, nothing more is allocated.

use crate::counting::counted;

/// Does something again and again on every rank; from the third time on nothing may be allocated.
pub(crate) fn settles<C>(comm: &mut C, what: &str, call: impl FnMut(&mut C)) {
    settles_at(0, comm, what, call);
}

/// As [`settles`], with this number of allocations each time: of results that the call returns.
pub(crate) fn settles_at<C>(allocations: u64, comm: &mut C, what: &str, mut call: impl FnMut(&mut C)) {
    for turn in 0..20 {
        let ((), count) = counted(|| call(comm));
        assert!(turn < 2 || count.allocations == allocations, "{what}, turn {turn}: {count:?}");
    }
}

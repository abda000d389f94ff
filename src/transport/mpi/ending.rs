//! The end of MPI: whoever finalizes it, this crate's processes say farewell before.

use std::ffi::{c_int, c_void};
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};

use mpi::ffi;

use super::error::MpiError;
use super::library::{self, call};
use crate::transport::engine::process::Process;

/// The processes of this crate that may be talking.
static LIVE: Mutex<Vec<Weak<Process>>> = Mutex::new(Vec::new());

/// Whether one of the others has gone silent, or something is left with MPI: then finalizing may never end.
static UNWELL: AtomicBool = AtomicBool::new(false);

fn live() -> MutexGuard<'static, Vec<Weak<Process>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process talks over MPI.
pub(super) fn enlist(process: &Arc<Process>) {
    let mut live = live();
    live.retain(|process| process.strong_count() > 0);
    live.push(Arc::downgrade(process));
}

/// MPI is not finalized by this crate any more: something is left with it.
pub(super) fn forbid() {
    UNWELL.store(true, Ordering::Relaxed);
}

/// Ends all of them. Whether MPI can be finalized.
fn finish() -> bool {
    let live = std::mem::take(&mut *live());
    for process in live.iter().filter_map(Weak::upgrade) {
        process.finish();
    }
    !UNWELL.load(Ordering::Relaxed)
}

/// Finalizes MPI when the process exits, unless somebody else has, or somebody has gone silent: then whatever has started
/// the processes sees to them.
pub(super) fn at_exit() {
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> c_int;
    }
    extern "C" fn finalize() {
        let finalize = || {
            // MPICH exits in the middle of a call when another rank has ended the job: then it can do nothing any more, and nor
            // can this crate's process, which may wait for that call.
            if !library::is_inside() && library::is_alive() && finish() {
                let _ = call!(MPI_Finalize());
            }
        };
        // There is nobody to tell.
        let _ = catch_unwind(finalize);
    }
    // SAFETY: the callback may be called at any time, from any thread, and does not unwind. If there is no room for it, MPI is
    // not finalized.
    unsafe { atexit(finalize) };
}

/// Has MPI tell when somebody finalizes it: it then drops what is attached to `MPI_COMM_SELF` before anything else.
pub(super) fn hear_of_finalize() -> Result<(), MpiError> {
    static ATTACHED: Once = Once::new();
    extern "C" fn not_copied(
        _: ffi::MPI_Comm,
        _: c_int,
        _: *mut c_void,
        _: *mut c_void,
        _: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: MPI gives where the answer belongs.
        unsafe { *flag = 0 };
        ffi::MPI_SUCCESS as c_int
    }
    extern "C" fn dropped(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        // There is nobody to tell.
        let _ = catch_unwind(finish);
        ffi::MPI_SUCCESS as c_int
    }
    let mut result = Ok(());
    ATTACHED.call_once(|| {
        let mut key: c_int = 0;
        result = call!(MPI_Comm_create_keyval(Some(not_copied), Some(dropped), &mut key, ptr::null_mut()))
            .and_then(|()| call!(MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut())));
    });
    result
}

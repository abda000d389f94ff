//! The initialization of MPI.

use std::ffi::c_int;
use std::io::{self, Write};
use std::ptr;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use mpi::ffi;

use super::error::MpiError;
use super::finalization;
use super::library::{call, flag};

/// Held while MPI is initialized.
static INITIALIZING: Mutex<()> = Mutex::new(());

/// Initializes MPI for any number of threads, unless it is initialized. If other processes that the
/// launcher has started do not initialize it within `patience`, this process ends: the call cannot
/// be cancelled.
///
/// # Errors
///
/// [`MpiError::Finalized`], [`MpiError::Threads`], or an error of MPI.
pub(super) fn initialize(patience: Duration) -> Result<(), MpiError> {
    let _alone = INITIALIZING.lock().unwrap_or_else(PoisonError::into_inner);
    if flag(ffi::MPI_Finalized) {
        return Err(MpiError::Finalized);
    }
    // SAFETY: reads constants of the library.
    let needed = unsafe { ffi::RSMPI_THREAD_MULTIPLE };
    let mut provided: c_int = 0;
    if flag(ffi::MPI_Initialized) {
        call!(MPI_Query_thread(&mut provided))?;
    } else {
        let watched = watch(patience);
        call!(MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), needed, &mut provided))?;
        drop(watched);
        finalization::at_exit();
    }
    finalization::watch_finalize()?;
    if provided < needed {
        return Err(MpiError::Threads { provided: level(provided), needed: level(needed) });
    }
    Ok(())
}

/// Ends the process after that time, unless the returned value is dropped before.
fn watch(patience: Duration) -> Option<mpsc::Sender<()>> {
    unsafe extern "C" {
        fn _exit(status: c_int) -> !;
    }
    let (sender, dropped) = mpsc::channel();
    let watch = move || {
        if dropped.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            let message = format!(
                "necklace: MPI_Init_thread has not returned after {patience:?}: every process that the launcher has started must \
                 call it; the job ends here\n"
            );
            let _ = io::stderr().write_all(message.as_bytes());
            // SAFETY: `_exit` may be called at any time. A usual exit is not safe while MPI is
            // being initialized.
            unsafe { _exit(1) };
        }
    };
    // If the thread cannot be started, there is no time limit.
    thread::Builder::new().name("necklace".to_owned()).spawn(watch).is_ok().then_some(sender)
}

fn level(number: c_int) -> &'static str {
    // SAFETY: reads constants of the library.
    let levels = unsafe {
        [
            (ffi::RSMPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"),
            (ffi::RSMPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
            (ffi::RSMPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
            (ffi::RSMPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
        ]
    };
    levels.iter().find(|(level, _)| *level == number).map_or("unknown", |(_, name)| name)
}

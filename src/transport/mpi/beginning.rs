//! How MPI begins.

use std::ffi::c_int;
use std::io::{self, Write};
use std::ptr;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use mpi::ffi;

use super::ending;
use super::error::MpiError;
use super::library::{call, flag};

/// Held while MPI is begun.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Sees to it that MPI is there, for any number of threads. If it has to be initialized, and others
/// that the launcher has started do not come to that so long, the process ends: MPI gives no way
/// back.
///
/// # Errors
///
/// [`MpiError::Finalized`], [`MpiError::Threads`]; what MPI itself refuses.
pub(super) fn begin(patience: Duration) -> Result<(), MpiError> {
    let _alone = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if flag(ffi::MPI_Finalized) {
        return Err(MpiError::Finalized);
    }
    // SAFETY: they are constants of the library.
    let needed = unsafe { ffi::RSMPI_THREAD_MULTIPLE };
    let mut provided: c_int = 0;
    if flag(ffi::MPI_Initialized) {
        call!(MPI_Query_thread(&mut provided))?;
    } else {
        let watched = watch(patience);
        call!(MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), needed, &mut provided))?;
        drop(watched);
        ending::at_exit();
    }
    ending::hear_of_finalize()?;
    if provided < needed {
        return Err(MpiError::Threads { provided: level(provided), needed: level(needed) });
    }
    Ok(())
}

/// Ends the process after so long, unless what is returned is dropped before.
fn watch(patience: Duration) -> Option<mpsc::Sender<()>> {
    unsafe extern "C" {
        fn _exit(status: c_int) -> !;
    }
    let (sender, dropped) = mpsc::channel();
    let watch = move || {
        if dropped.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            let words = format!(
                "necklace: MPI_Init_thread has not come back after {patience:?}: every process that the launcher has started must \
                 call it; the job ends here\n"
            );
            let _ = io::stderr().write_all(words.as_bytes());
            // SAFETY: it may be called at any time. Nothing else is safe here: MPI is half there.
            unsafe { _exit(1) };
        }
    };
    // Without a thread for it nobody watches.
    thread::Builder::new().name("necklace".to_owned()).spawn(watch).is_ok().then_some(sender)
}

fn level(number: c_int) -> &'static str {
    // SAFETY: they are constants of the library.
    let levels = unsafe {
        [
            (ffi::RSMPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"),
            (ffi::RSMPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
            (ffi::RSMPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
            (ffi::RSMPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
        ]
    };
    levels.iter().find(|(level, _)| *level == number).map_or("of no name", |(_, name)| name)
}

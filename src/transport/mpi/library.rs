//! The library of this process: begun once, ended at most once, and by whoever has begun it.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::io::{self, Write};
use std::ptr;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use mpi::ffi;

use super::error::MpiError;

/// Runs one of MPI's functions; what it returns that is no success becomes an error with its words.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are what MPI asks for, as the caller sees to. Errors are returned, not fatal, on the communicators
        // that this crate has made; of what is of none (datatypes, groups, operations), and of the program's own, MPI lets
        // the program decide, and that may be the end of the job.
        $crate::transport::mpi::library::succeed(
            stringify!($function),
            {
                let _inside = $crate::transport::mpi::library::Inside::new();
                unsafe { mpi::ffi::$function($($argument),*) }
            },
        )
    };
}
pub(super) use call;

thread_local! {
    /// How many of MPI's functions this thread is in, one within the other.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// That this thread is in one of MPI's functions. Some of them end the process, when another rank has ended the job.
pub(super) struct Inside;

impl Inside {
    pub(super) fn new() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// Whether this thread is in one of MPI's functions. One that ends does not say so any more.
pub(super) fn is_inside() -> bool {
    INSIDE.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// That a function has succeeded.
#[inline]
pub(super) fn succeed(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(MpiError::Refused { call, words: words(code) }) }
}

/// What MPI says of an error.
#[cold]
pub(super) fn words(code: c_int) -> String {
    let mut text = vec![0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: there is room for the longest text that it writes.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    match String::from_utf8(text) {
        Ok(words) if told == ffi::MPI_SUCCESS as c_int && !words.is_empty() => words,
        _ => format!("error {code}"),
    }
}

/// Held while MPI is begun.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Whether MPI can be called.
pub(super) fn is_alive() -> bool {
    flag(ffi::MPI_Initialized) && !flag(ffi::MPI_Finalized)
}

/// The same; why not, if not.
pub(super) fn alive() -> Result<(), MpiError> {
    if is_alive() { Ok(()) } else { Err(MpiError::Finalized) }
}

fn flag(ask: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
    let mut flag: c_int = 0;
    // SAFETY: these two may be called at any time.
    unsafe { ask(&mut flag) };
    flag != 0
}

/// Sees to it that MPI is there, for any number of threads. If it has to be initialized, and others that the launcher has
/// started do not come to that so long, the process ends: MPI gives no way back.
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
        super::ending::at_exit();
    }
    super::ending::hear_of_finalize()?;
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

//! The library of this process: begun once, ended at most once, and by whoever has begun it.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::thread;
use std::time::Duration;

use mpi::ffi;

use super::error::MpiError;

/// Runs one of MPI's functions; what it returns that is no success becomes an error with its words.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are what MPI asks for, as the caller sees to. Errors are returned,
        // not fatal, on the communicators that this crate has made; of what is of none (datatypes,
        // groups, operations), and of the program's own, MPI lets the program decide, and that may
        // be the end of the job.
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

/// That this thread is in one of MPI's functions. Some of them end the process, when another rank
/// has ended the job.
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

/// Whether MPI can be called.
pub(super) fn is_alive() -> bool {
    flag(ffi::MPI_Initialized) && !flag(ffi::MPI_Finalized)
}

/// The same; why not, if not.
pub(super) fn alive() -> Result<(), MpiError> {
    if is_alive() { Ok(()) } else { Err(MpiError::Finalized) }
}

pub(super) fn flag(ask: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
    let mut flag: c_int = 0;
    // SAFETY: these two may be called at any time.
    unsafe { ask(&mut flag) };
    flag != 0
}

/// Lets others run, or sleeps a little, after that much waiting: MPI tells of nothing, and what
/// polls it without a pause takes the core that somebody else needs.
pub(super) fn rest(waited: Duration) {
    if waited < Duration::from_micros(500) {
        thread::yield_now();
    } else {
        thread::sleep((waited / 8).min(Duration::from_millis(1)));
    }
}

//! Calls of the MPI library, and its state in this process.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::thread;
use std::time::Duration;

use mpi::ffi;

use super::error::MpiError;

/// Calls a function of MPI, and converts a code other than success to an error.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the caller of the macro passes the arguments that the function requires. Errors
        // on communicators of this crate are returned, not fatal. For objects without a
        // communicator (datatypes, groups, operations) and for communicators of the program, the
        // program's error handler decides, which may end the job.
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
    /// The number of nested MPI functions that this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Marks this thread as inside an MPI function while it exists. Some functions end the process when
/// another rank has ended the job.
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

/// Whether this thread is inside an MPI function. False on a thread that is ending.
pub(super) fn is_inside() -> bool {
    INSIDE.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Converts the code that a function has returned.
#[inline]
pub(super) fn succeed(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == ffi::MPI_SUCCESS as c_int {
        Ok(())
    } else {
        Err(MpiError::Refused { call, description: error_string(code) })
    }
}

/// Returns MPI's description of an error.
#[cold]
pub(super) fn error_string(code: c_int) -> String {
    let mut text = vec![0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: the buffer has room for the longest text.
    let result = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    match String::from_utf8(text) {
        Ok(description) if result == ffi::MPI_SUCCESS as c_int && !description.is_empty() => description,
        _ => format!("error {code}"),
    }
}

/// Whether MPI is initialized and not finalized.
pub(super) fn is_alive() -> bool {
    flag(ffi::MPI_Initialized) && !flag(ffi::MPI_Finalized)
}

/// Fails unless MPI is initialized and not finalized.
pub(super) fn check_alive() -> Result<(), MpiError> {
    if is_alive() { Ok(()) } else { Err(MpiError::Finalized) }
}

/// Returns the flag that `MPI_Initialized` or `MPI_Finalized` writes.
pub(super) fn flag(ask: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
    let mut flag: c_int = 0;
    // SAFETY: these two functions may be called at any time.
    unsafe { ask(&mut flag) };
    flag != 0
}

/// Yields, or sleeps a little after a longer wait. MPI wakes no thread, and polling without a pause
/// would take a core that another process needs.
pub(super) fn rest(waited: Duration) {
    if waited < Duration::from_micros(500) {
        thread::yield_now();
    } else {
        thread::sleep((waited / 8).min(Duration::from_millis(1)));
    }
}

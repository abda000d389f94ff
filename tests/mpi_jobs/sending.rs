//! Code that runs when MPI is asked to send. MPI provides for this: a program may define a function
//! of MPI, which calls the library's by another name (the profiling interface).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use mpi::ffi;

/// The tags of packets and of rendezvous messages.
pub(crate) const LETTER: c_int = 1;
pub(crate) const PARCEL: c_int = 2;

/// What is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) tag: c_int,
    pub(crate) to: c_int,
    pub(crate) bytes: c_int,
}

type Before = Box<dyn Fn(Sending) + Send + Sync>;

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Runs the closure before each message from now on. May be called once.
pub(crate) fn before_each(what: impl Fn(Sending) + Send + Sync + 'static) {
    assert!(BEFORE.set(Box::new(what)).is_ok(), "something else is done before each");
}

/// # Safety
///
/// As of the library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPI_Isend(
    from: *const c_void,
    count: c_int,
    of: ffi::MPI_Datatype,
    to: c_int,
    tag: c_int,
    comm: ffi::MPI_Comm,
    request: *mut ffi::MPI_Request,
) -> c_int {
    if let Some(before) = BEFORE.get() {
        before(Sending { tag, to, bytes: count });
    }
    // SAFETY: as the caller says.
    unsafe { ffi::PMPI_Isend(from, count, of, to, tag, comm, request) }
}

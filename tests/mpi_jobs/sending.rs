//! Intercepts sends of MPI by its profiling interface: a program may define a function of MPI
//! itself, which calls the library's by another name.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use mpi::ffi;

/// MPI tags of packets and of rendezvous messages.
pub(crate) const PACKET: c_int = 1;
pub(crate) const RENDEZVOUS: c_int = 2;

/// A message that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) tag: c_int,
    pub(crate) to: c_int,
    pub(crate) bytes: c_int,
}

type Before = Box<dyn Fn(Sending) + Send + Sync>;

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Sets a function to call before each message. May be set once.
pub(crate) fn before_each(what: impl Fn(Sending) + Send + Sync + 'static) {
    assert!(BEFORE.set(Box::new(what)).is_ok(), "another function is set already");
}

/// # Safety
///
/// That of the library's function.
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
    // SAFETY: the caller meets the requirements of the library's function.
    unsafe { ffi::PMPI_Isend(from, count, of, to, tag, comm, request) }
}

//! Communicators for the library's collectives. Each is freed once: when it is dropped, or before
//! MPI is finalized.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi::ffi;

use super::error::MpiError;
use super::library::{call, is_alive};

/// A communicator that is freed when this is dropped, unless it was freed before.
#[derive(Debug)]
pub(super) struct Comm(CommHandle);

#[derive(Clone, Copy, Debug)]
struct CommHandle(ffi::MPI_Comm);

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for CommHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for CommHandle {}

/// The communicators that are not freed yet.
static LIVE: Mutex<Vec<CommHandle>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<CommHandle>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comm {
    /// Takes ownership of a communicator, and has MPI return its errors.
    pub(super) fn new(comm: ffi::MPI_Comm) -> Result<Self, MpiError> {
        live().push(CommHandle(comm));
        let comm = Self(CommHandle(comm));
        call!(MPI_Comm_set_errhandler(comm.handle(), ffi::RSMPI_ERRORS_RETURN))?;
        Ok(comm)
    }

    pub(super) fn handle(&self) -> ffi::MPI_Comm {
        self.0.0
    }

    /// Frees all communicators, when no thread calls MPI any more.
    pub(super) fn free_all() {
        live().drain(..).for_each(CommHandle::free);
    }
}

impl CommHandle {
    fn free(mut self) {
        let _ = call!(MPI_Comm_free(&mut self.0));
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        let mut live = live();
        let at = live.iter().position(|handle| handle.0 == self.handle());
        let handle = at.map(|at| live.swap_remove(at));
        drop(live);
        if is_alive() {
            handle.into_iter().for_each(CommHandle::free);
        }
    }
}

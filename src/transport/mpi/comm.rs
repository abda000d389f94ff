//! Communicators for the library's own collectives. Each is freed once: when nobody here needs it
//! any more, or at the end of MPI.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi::ffi;

use super::error::MpiError;
use super::library::{call, is_alive};

/// A communicator, freed when this is dropped, unless it was before.
#[derive(Debug)]
pub(super) struct Comm(Handle);

#[derive(Clone, Copy, Debug)]
struct Handle(ffi::MPI_Comm);

// SAFETY: handles may be used by any thread: MPI is initialized for that.
unsafe impl Send for Handle {}
// SAFETY: as before.
unsafe impl Sync for Handle {}

/// Those that are not freed.
static LIVE: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<Handle>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comm {
    /// Takes over a communicator; its errors are returned from then on.
    pub(super) fn new(comm: ffi::MPI_Comm) -> Result<Self, MpiError> {
        live().push(Handle(comm));
        let comm = Self(Handle(comm));
        call!(MPI_Comm_set_errhandler(comm.handle(), ffi::RSMPI_ERRORS_RETURN))?;
        Ok(comm)
    }

    pub(super) fn handle(&self) -> ffi::MPI_Comm {
        self.0.0
    }

    /// Frees all that there are: nobody calls MPI any more.
    pub(super) fn free_all() {
        live().drain(..).for_each(Handle::free);
    }
}

impl Handle {
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
            handle.into_iter().for_each(Handle::free);
        }
    }
}

//! A communicator of MPI's that is this crate's alone.

use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::ending::{self, Unwell};
use super::error::MpiError;
use super::library::call;
use crate::ids::MAX_NODES;

/// A duplicate of somebody's communicator: nobody else's messages are in it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) comm: ffi::MPI_Comm,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// How many of the ranks run on this host, this one among them.
    pub(super) neighbours: usize,
}

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Group {}

impl Group {
    /// Duplicates a communicator. Collective among its ranks, each of which is waited for so long.
    ///
    /// # Safety
    ///
    /// The handle is that of a communicator.
    pub(super) unsafe fn duplicate(parent: ffi::MPI_Comm, patience: Duration) -> Result<Self, MpiError> {
        let mut inter: c_int = 0;
        call!(MPI_Comm_test_inter(parent, &mut inter))?;
        if inter != 0 {
            return Err(MpiError::Inter);
        }
        let (mut size, mut rank): (c_int, c_int) = (0, 0);
        call!(MPI_Comm_size(parent, &mut size))?;
        call!(MPI_Comm_rank(parent, &mut rank))?;
        let (rank, size) = (rank as usize, size as usize);
        if size > MAX_NODES {
            return Err(MpiError::Size { size, most: MAX_NODES });
        }
        let begin = Instant::now();
        // SAFETY: a constant of the library.
        let comm = complete((begin, patience), size, unsafe { ffi::RSMPI_COMM_NULL }, |comm, request| {
            call!(MPI_Comm_idup(parent, comm, request))
        })?;
        call!(MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN))?;
        let hosts = complete((begin, patience), size, (host(), vec![0_u64; size]), |(own, all), request| {
            let (from, to) = (ptr::from_ref(own).cast(), all.as_mut_ptr().cast());
            // SAFETY: constants of the library.
            let (word, here) = unsafe { (ffi::RSMPI_UINT64_T, comm) };
            call!(MPI_Iallgather(from, 1, word, to, 1, word, here, request))
        })?;
        let neighbours = hosts.1.iter().filter(|other| **other == hosts.0).count();
        Ok(Self { comm, rank, size, neighbours })
    }
}

/// A number for this host.
fn host() -> u64 {
    let mut name = [0_u8; ffi::MPI_MAX_PROCESSOR_NAME as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: there is room for the longest name. Without one all ranks are taken for neighbours.
    unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast(), &mut length) };
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Begins something that all of so many ranks take part in, and waits until it is done, so long after `begin`. What MPI works
/// on is left to it if the others do not come.
fn complete<T>(
    (begin, patience): (Instant, Duration),
    size: usize,
    what: T,
    start: impl FnOnce(&mut T, &mut ffi::MPI_Request) -> Result<(), MpiError>,
) -> Result<T, MpiError> {
    // SAFETY: a constant of the library.
    let work = Box::leak(Box::new((what, unsafe { ffi::RSMPI_REQUEST_NULL })));
    start(&mut work.0, &mut work.1)?;
    loop {
        let mut done: c_int = 0;
        call!(MPI_Test(&mut work.1, &mut done, ffi::RSMPI_STATUS_IGNORE))?;
        if done != 0 {
            // SAFETY: MPI is through with it; nobody else has it.
            return Ok(unsafe { Box::from_raw(work) }.0);
        }
        let waited = begin.elapsed();
        if waited >= patience {
            ending::forbid(Unwell::Begun);
            return Err(MpiError::Late { waited: patience, size });
        }
        rest(waited);
    }
}

/// Lets others run, or sleeps a little, after that much waiting: MPI tells of nothing, and what polls it without a pause
/// takes the core that somebody else needs.
pub(super) fn rest(waited: Duration) {
    if waited < Duration::from_micros(500) {
        thread::yield_now();
    } else {
        thread::sleep((waited / 8).min(Duration::from_millis(1)));
    }
}

//! The duplicate of an MPI communicator that only this crate uses.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::comm::Comm;
use super::error::MpiError;
use super::finalization::{self, FinalizeBlocker};
use super::known_groups;
use super::library::{call, rest};
use super::process_info::{ProcessInfo, shared_cores};
use super::shared_memory;
use crate::ids::MAX_NODES;
use crate::vocabulary::Hosts;

/// A duplicate of a communicator. It carries no messages of the program.
#[derive(Debug)]
pub(super) struct DuplicatedComm {
    pub(super) comm: ffi::MPI_Comm,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The number of cores that the ranks of this host share, or 0 if each rank has a core.
    pub(super) shared_cores: u64,
    /// The partition of ranks by the memory that they can share, or count as sharing.
    pub(super) hosts: Hosts,
    /// Another duplicate, for the library's collectives, unless a rank uses none. It is made here,
    /// with a deadline, and not when it is first needed: no function of MPI has a deadline then.
    pub(super) collective: Option<Comm>,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for DuplicatedComm {}

impl DuplicatedComm {
    /// Duplicates a communicator. Collective among its ranks, and waits at most `patience` for
    /// them. Each rank tells the others whether it lends memory to MPI, and which host it counts
    /// as, if the user has named one.
    ///
    /// # Safety
    ///
    /// The handle must be that of a communicator.
    pub(super) unsafe fn duplicate(
        parent: ffi::MPI_Comm,
        lends: bool,
        named: Option<&str>,
        patience: Duration,
    ) -> Result<Self, MpiError> {
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
        let another = |of: ffi::MPI_Comm| {
            // SAFETY: reads a constant of the library.
            complete((begin, patience), size, unsafe { ffi::RSMPI_COMM_NULL }, |comm, request| {
                call!(MPI_Comm_idup(of, comm, request))
            })
        };
        let comm = another(parent)?;
        call!(MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN))?;
        let until = (begin, patience);
        let in_world = shared_memory::ranks_in_world(comm, size)?;
        let known = in_world.as_deref().and_then(known_groups::recall);
        let own = ProcessInfo::own(&host(), lends, named, known.is_some());
        let infos = gather(until, comm, size, own.words())?.into_iter().map(ProcessInfo::of_words).collect::<Vec<_>>();
        let all_lend = infos.iter().all(|info| info.lends);
        let collective = if all_lend { Some(Comm::new(another(comm)?)?) } else { None };
        let groups = match known {
            Some(known) if infos.iter().all(|info| info.knows_groups) => known,
            // Every rank has come, so that this call, which has no deadline, waits for none to
            // come.
            _ => {
                let own = shared_memory::split(comm, rank)?;
                let groups = gather(until, comm, size, [own])?.concat();
                in_world.iter().for_each(|ranks| known_groups::keep(ranks, &groups));
                groups
            }
        };
        let hosts = Hosts::of_names(infos.iter().zip(groups).map(|(info, group)| info.host_name.ok_or(group)));
        Ok(Self { comm, rank, size, shared_cores: shared_cores(&own, &infos), hosts, collective })
    }
}

/// Tells all ranks something, and returns what each has told.
fn gather<const N: usize>(
    until: (Instant, Duration),
    comm: ffi::MPI_Comm,
    size: usize,
    own: [u64; N],
) -> Result<Vec<[u64; N]>, MpiError> {
    let (_, all) = complete(until, size, (own, vec![[0_u64; N]; size]), |(own, all), request| {
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: reads a constant of the library.
        let word = unsafe { ffi::RSMPI_UINT64_T };
        call!(MPI_Iallgather(from, N as c_int, word, to, N as c_int, word, comm, request))
    })?;
    Ok(all)
}

/// Returns a name of this host.
fn host() -> Vec<u8> {
    let mut name = vec![0_u8; ffi::MPI_MAX_PROCESSOR_NAME as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: the buffer has room for the longest name. If the call fails, the name stays empty,
    // and all ranks count as neighbours.
    unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast(), &mut length) };
    name
}

/// Starts a collective operation of `size` ranks and waits until it completes, at most `patience`
/// after `begin`. If the other ranks do not come, the memory of the operation is leaked, since MPI
/// still uses it.
fn complete<T>(
    (begin, patience): (Instant, Duration),
    size: usize,
    memory: T,
    start: impl FnOnce(&mut T, &mut ffi::MPI_Request) -> Result<(), MpiError>,
) -> Result<T, MpiError> {
    let _pending = finalization::PendingStart::new();
    // SAFETY: reads a constant of the library.
    let work = Box::leak(Box::new((memory, unsafe { ffi::RSMPI_REQUEST_NULL })));
    start(&mut work.0, &mut work.1)?;
    loop {
        let mut done: c_int = 0;
        call!(MPI_Test(&mut work.1, &mut done, ffi::RSMPI_STATUS_IGNORE))?;
        if done != 0 {
            // SAFETY: it came from `Box::leak` above, MPI has completed the operation, and no other
            // reference to it exists.
            return Ok(unsafe { Box::from_raw(work) }.0);
        }
        let waited = begin.elapsed();
        if waited >= patience {
            finalization::forbid(FinalizeBlocker::Unfinished);
            return Err(MpiError::Late { waited: patience, size });
        }
        rest(waited);
    }
}

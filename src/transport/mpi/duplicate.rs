//! The duplicate of an MPI communicator that only this crate uses.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::comm::Comm;
use super::error::MpiError;
use super::finalization::{self, FinalizeBlocker};
use super::library::{call, rest};
use crate::ids::MAX_NODES;
use crate::vocabulary::Hosts;

/// A duplicate of a communicator. It carries no messages of the program.
#[derive(Debug)]
pub(super) struct DuplicatedComm {
    pub(super) comm: ffi::MPI_Comm,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// Whether each rank of this host has a core.
    pub(super) has_cores: bool,
    /// Which ranks can share memory, or count as if they did.
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
        let gather = |own: ProcessInfo| {
            let infos = (own, vec![[0_u64; INFO]; size]);
            let infos = complete((begin, patience), size, infos, |(own, all), request| {
                let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
                // SAFETY: reads a constant of the library.
                let word = unsafe { ffi::RSMPI_UINT64_T };
                call!(MPI_Iallgather(from, INFO as c_int, word, to, INFO as c_int, word, comm, request))
            });
            infos.map(|(_, all)| all)
        };
        let own = process_info(lends);
        let infos = gather(own)?;
        let all_lend = infos.iter().all(|info| info[3] == 1);
        let collective = if all_lend { Some(Comm::new(another(comm)?)?) } else { None };
        // Every rank has come, so that this call, which has no deadline, waits for none to come.
        let first = first_with_memory(comm, rank)?;
        let places = gather(host_info(named, first))?;
        let hosts = Hosts::of_names(places);
        Ok(Self { comm, rank, size, has_cores: has_cores(&own, &infos), hosts, collective })
    }
}

/// Where a process runs: hashes of its host and of the set of its cores, the number of these cores,
/// and whether it lends memory.
type ProcessInfo = [u64; INFO];

const INFO: usize = 4;

fn hash(what: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn process_info(lends: bool) -> ProcessInfo {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cores = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or_default();
    let count = thread::available_parallelism().map_or(1, usize::from);
    [hash(&host()), hash(cores.as_bytes()), count as u64, u64::from(lends)]
}

/// Returns what ranks that share a host have in common: the name of the host, if the user has named
/// it, otherwise the first rank that shares memory with them.
fn host_info(named: Option<&str>, first: u64) -> ProcessInfo {
    match named {
        Some(name) => [1, hash(name.as_bytes()), name.len() as u64, 0],
        None => [0, first, 0, 0],
    }
}

/// Returns the lowest rank that can share memory with this one. Collective.
fn first_with_memory(comm: ffi::MPI_Comm, rank: usize) -> Result<u64, MpiError> {
    // SAFETY: reads constants of the library.
    let (shared, info) = unsafe { (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL) };
    // SAFETY: reads a constant of the library.
    let mut near = unsafe { ffi::RSMPI_COMM_NULL };
    call!(MPI_Comm_split_type(comm, shared, rank as c_int, info, &mut near))?;
    // Frees it, whatever follows.
    let near = Comm::new(near)?;
    let group = |of: ffi::MPI_Comm| {
        // SAFETY: reads a constant of the library.
        let mut group = unsafe { ffi::RSMPI_GROUP_NULL };
        call!(MPI_Comm_group(of, &mut group)).map(|()| group)
    };
    let (mut all, mut some) = (group(comm)?, group(near.handle())?);
    // The ranks there are in the order of those here.
    let (first, mut found): (c_int, c_int) = (0, 0);
    let translated = call!(MPI_Group_translate_ranks(some, 1, &first, all, &mut found));
    call!(MPI_Group_free(&mut all))?;
    call!(MPI_Group_free(&mut some))?;
    translated.map(|()| found as u64)
}

/// Whether the ranks of a host have a core each. Ranks with different sets of cores are assumed to
/// share no core.
fn has_cores(own: &ProcessInfo, all: &[ProcessInfo]) -> bool {
    let neighbours: Vec<&ProcessInfo> = all.iter().filter(|info| info[0] == own[0]).collect();
    let core_sets: BTreeMap<u64, u64> = neighbours.iter().map(|info| (info[1], info[2])).collect();
    let cores = core_sets.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    neighbours.len() as u64 <= cores
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_cores_if_there_are_as_many() {
        let (here, there) = (1, 2);
        let cases: [(&[ProcessInfo], bool); 6] = [
            (&[[here, 10, 2, 1], [here, 10, 2, 1]], true),
            (&[[here, 10, 2, 1], [here, 10, 2, 1], [here, 10, 2, 1]], false),
            // Each is bound to its own core.
            (&[[here, 11, 1, 1], [here, 12, 1, 1], [here, 13, 1, 1]], true),
            // Two are bound to the same core.
            (&[[here, 11, 1, 1], [here, 11, 1, 1]], false),
            (&[[here, 10, 2, 1], [there, 10, 2, 1], [there, 10, 2, 1], [there, 10, 2, 1]], true),
            (&[[here, 10, 1, 1]], true),
        ];
        for (infos, enough) in cases {
            assert_eq!(has_cores(&infos[0], infos), enough, "{infos:?}");
        }
    }
}

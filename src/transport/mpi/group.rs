//! A communicator of MPI's that is this crate's alone.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::comm::Comm;
use super::ending::{self, Unwell};
use super::error::MpiError;
use super::library::{call, rest};
use crate::ids::MAX_NODES;

/// A duplicate of somebody's communicator: nobody else's messages are in it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) comm: ffi::MPI_Comm,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// Whether there are as many cores for the ranks of this host as there are of these.
    pub(super) has_cores: bool,
    /// Another duplicate, for the library's own collectives, unless a rank wants none of them. Made
    /// here, with a deadline, and not when it is first needed: nothing that MPI offers then has
    /// one.
    pub(super) collective: Option<Comm>,
}

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Group {}

impl Group {
    /// Duplicates a communicator. Collective among its ranks, each of which is waited for so long,
    /// and says whether it lends memory to MPI.
    ///
    /// # Safety
    ///
    /// The handle is that of a communicator.
    pub(super) unsafe fn duplicate(parent: ffi::MPI_Comm, lends: bool, patience: Duration) -> Result<Self, MpiError> {
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
            // SAFETY: a constant of the library.
            complete((begin, patience), size, unsafe { ffi::RSMPI_COMM_NULL }, |comm, request| {
                call!(MPI_Comm_idup(of, comm, request))
            })
        };
        let comm = another(parent)?;
        call!(MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN))?;
        let seats = (seat(lends), vec![[0_u64; SEAT]; size]);
        let seats = complete((begin, patience), size, seats, |(own, all), request| {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: constants of the library.
            let (word, here) = unsafe { (ffi::RSMPI_UINT64_T, comm) };
            call!(MPI_Iallgather(from, SEAT as c_int, word, to, SEAT as c_int, word, here, request))
        })?;
        let all_lend = seats.1.iter().all(|seat| seat[3] == 1);
        let collective = if all_lend { Some(Comm::new(another(comm)?)?) } else { None };
        Ok(Self { comm, rank, size, has_cores: has_cores(&seats.0, &seats.1), collective })
    }
}

/// Where a process runs: on which host, on which cores, and how many these are, with numbers for
/// the first two; and whether it lends memory.
type Seat = [u64; SEAT];

const SEAT: usize = 4;

fn seat(lends: bool) -> Seat {
    let hash = |what: &[u8]| {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        hasher.finish()
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cores = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or_default();
    let count = thread::available_parallelism().map_or(1, usize::from);
    [hash(&host()), hash(cores.as_bytes()), count as u64, u64::from(lends)]
}

/// Whether the ranks of a host have a core each. Those that are bound to other cores are taken to
/// share none of them.
fn has_cores(own: &Seat, all: &[Seat]) -> bool {
    let neighbours: Vec<&Seat> = all.iter().filter(|seat| seat[0] == own[0]).collect();
    let places: BTreeMap<u64, u64> = neighbours.iter().map(|seat| (seat[1], seat[2])).collect();
    let cores = places.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    neighbours.len() as u64 <= cores
}

/// A name for this host.
fn host() -> Vec<u8> {
    let mut name = vec![0_u8; ffi::MPI_MAX_PROCESSOR_NAME as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: there is room for the longest name. Without one all ranks are taken for neighbours.
    unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast(), &mut length) };
    name
}

/// Begins something that all of so many ranks take part in, and waits until it is done, so long
/// after `begin`. What MPI works on is left to it if the others do not come.
fn complete<T>(
    (begin, patience): (Instant, Duration),
    size: usize,
    what: T,
    start: impl FnOnce(&mut T, &mut ffi::MPI_Request) -> Result<(), MpiError>,
) -> Result<T, MpiError> {
    let _begun = ending::Beginning::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_a_core_each_where_there_are_as_many() {
        let (here, there) = (1, 2);
        let cases: [(&[Seat], bool); 6] = [
            (&[[here, 10, 2, 1], [here, 10, 2, 1]], true),
            (&[[here, 10, 2, 1], [here, 10, 2, 1], [here, 10, 2, 1]], false),
            // Each is bound to one of its own.
            (&[[here, 11, 1, 1], [here, 12, 1, 1], [here, 13, 1, 1]], true),
            // Two are bound to one.
            (&[[here, 11, 1, 1], [here, 11, 1, 1]], false),
            (&[[here, 10, 2, 1], [there, 10, 2, 1], [there, 10, 2, 1], [there, 10, 2, 1]], true),
            (&[[here, 10, 1, 1]], true),
        ];
        for (seats, enough) in cases {
            assert_eq!(has_cores(&seats[0], seats), enough, "{seats:?}");
        }
    }
}

//! How workers are started, and what endpoints they make: by `mpirun`, over MPI.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mpi::Tag;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Group};
use necklace::transport::Endpoint;
use necklace::transport::mpi::MpiJoin;
pub(super) use necklace::transport::mpi::Supervisor;

use necklace_tests::mpirun::{MPIRUN, mpirun};

/// How many workers are started together.
const COUNT: &str = "NECKLACE_WORKERS_COUNT";

/// Returns the command that starts this many workers; the arguments of the program are still to be
/// added.
pub(super) fn commands(count: usize) -> Vec<Command> {
    let mut command = mpirun(count);
    command.arg(env::current_exe().unwrap()).env(COUNT, count.to_string());
    vec![command]
}

/// A worker's means to make endpoints.
pub(super) struct Maker {
    number: usize,
    /// Communicators of the first workers, by their number. MPI waits for all of them in a new one,
    /// and polls without a pause meanwhile, on cores that other jobs share.
    parts: Mutex<HashMap<usize, Part>>,
}

/// A communicator of some workers.
struct Part(SimpleCommunicator);

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
#[allow(unsafe_code)]
unsafe impl Send for Part {}

impl Maker {
    /// Once in a worker, by its first thread.
    pub(super) fn start() -> Self {
        // It initializes MPI.
        let size = MpiJoin::world().unwrap().size().unwrap();
        let started = env::var(COUNT).unwrap();
        assert_eq!(size.to_string(), started, "is {MPIRUN} of the MPI that this program is linked with?");
        Self { number: SimpleCommunicator::world().rank() as usize, parts: Mutex::default() }
    }

    /// Which of the workers this is, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The endpoint of a job of the workers below `size`, of which this is one. All of them come,
    /// job by job in the same order; no two jobs have the same number. Where somebody says why
    /// threads panic, it comes with whom to tell. There is room for files in `place`.
    pub(super) fn endpoint(
        &self,
        job: u64,
        size: usize,
        supervised: bool,
        _place: &Path,
    ) -> Result<(Option<Supervisor>, Arc<dyn Endpoint>), String> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let world = SimpleCommunicator::world();
            let members = world.group().include(&(0..size as i32).collect::<Vec<_>>());
            // Every MPI has tags up to this.
            world.split_by_subgroup_with_tag(&members, (job % 32768) as Tag).map(Part).ok_or("it is no member")
        };
        // Each job duplicates it.
        let Part(part) = match parts.entry(size) {
            Entry::Occupied(part) => part.into_mut(),
            Entry::Vacant(none) => none.insert(made()?),
        };
        let join =
            MpiJoin::from_communicator(part).map_err(|error| error.to_string())?.timeout(Duration::from_secs(60));
        let made = if supervised {
            join.supervised().map(|(supervisor, endpoint)| (Some(supervisor), endpoint))
        } else {
            join.endpoint().map(|endpoint| (None, endpoint))
        };
        made.map_err(|error| error.to_string())
    }

    /// When the worker ends and has no endpoint left, by its first thread. MPI is finalized when
    /// the process exits.
    pub(super) fn end(&self) {}
}

//! How workers are started, and what endpoints they make: over TCP, each worker a process of its own.

use std::env;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use necklace::transport::Endpoint;
pub(super) use necklace::transport::tcp::Supervisor;
use necklace::transport::tcp::{Join, Key, Root};

/// The number of a worker.
const NUMBER: &str = "NECKLACE_WORKER";

/// What starts so many workers, each this program with the arguments that are still to be added.
pub(super) fn commands(count: usize) -> Vec<Command> {
    let program = env::current_exe().unwrap();
    // Such as mpirun, to see that the pool works under it.
    if let Some(launcher) = env::var_os("NECKLACE_WORKERS_BY") {
        let mut command = Command::new(launcher);
        command.arg("-n").arg(count.to_string()).arg(program);
        // What Open MPI asks of root, and of who starts more processes than there are cores.
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"] {
            command.env(name, "1");
        }
        command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
        return vec![command];
    }
    let command = |number: usize| {
        let mut command = Command::new(&program);
        command.env(NUMBER, number.to_string());
        command
    };
    (0..count).map(command).collect()
}

/// A worker's means to make endpoints.
#[derive(Debug)]
pub(super) struct Maker {
    number: usize,
}

impl Maker {
    /// Once in a worker, by its first thread.
    pub(super) fn start() -> Self {
        let number = [NUMBER, "OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find_map(|name| env::var(name).ok());
        Self { number: number.unwrap().parse().unwrap() }
    }

    /// Which of the workers this is, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The endpoint of a job of the workers below `size`, of which this is one. All of them come, job by job in the same order;
    /// no two jobs have the same number. Where somebody says why threads panic, it comes with whom to tell. There is room for files
    /// in `place`.
    pub(super) fn endpoint(
        &self,
        job: u64,
        size: usize,
        supervised: bool,
        place: &Path,
    ) -> Result<(Option<Supervisor>, Arc<dyn Endpoint>), String> {
        let join = Join::new(self.number, size, Root::File(place.join(format!("job-{job}"))))
            .key(Key::new(format!("the key of job {job:032}").as_bytes()).unwrap())
            .address(Ipv4Addr::LOCALHOST.into())
            .timeout(Duration::from_secs(60));
        let made = if supervised {
            join.supervised().map(|(supervisor, endpoint)| (Some(supervisor), endpoint))
        } else {
            join.endpoint().map(|endpoint| (None, endpoint))
        };
        made.map_err(|error| error.to_string())
    }

    /// When the worker ends and has no endpoint left, by its first thread.
    pub(super) fn end(&self) {}
}

//! The functions that start or join a job as the environment says.

use super::builder::Launch;
use crate::communicator::Communicator;
use crate::error::JobError;

/// Runs the closure on every rank of this process, as the environment says, and returns their
/// results.
///
/// If a launcher has started this process as a rank of a job, there is one result, of this rank.
/// Otherwise the ranks are threads, with one result each: `NECKLACE_RANKS` of them, or one for each
/// node of the network, or one for each core.
///
/// ```no_run
/// let results = necklace::launch(|mut comm| {
///     let mut sum = [0];
///     comm.allreduce(&[comm.rank()], &mut sum, necklace::op::Sum).map(|()| sum[0])
/// })?;
/// for sum in results {
///     println!("{}", sum?);
/// }
/// # Ok::<(), necklace::JobError>(())
/// ```
///
/// | variable | meaning |
/// |---|---|
/// | `NECKLACE_BACKEND` | `local`: threads of this process, whatever else is set ([`connect`] refuses it); `tcp`: a rank over TCP; `mpi`: a rank of MPI |
/// | `NECKLACE_TOPOLOGY` | the network, such as `torus:4x4`; complete unless set |
/// | `NECKLACE_ALGORITHM` | the algorithm of alltoall, or several as `alltoall=ring,allgather=ring`; parts made by [`split`](Communicator::split) inherit those that fit them. [The log](crate::communicator#what-is-logged) says what runs |
/// | `NECKLACE_MACHINE` | the prices by which `auto` chooses: a [machine](crate::machine#text), such as `tcp:startup=12us`, or the path of a [machine file](crate::machine#file), which every rank reads (feature `json`); unless set, those of [`Options::machine`](crate::Options::machine) or of the backend. All ranks use the prices of rank 0 |
/// | `NECKLACE_TIMEOUT` | the maximum time in seconds without progress in a call while a process does not answer or messages are under way, and until all ranks have joined, or `off`; 300 unless set |
/// | `NECKLACE_ARRIVAL_TIMEOUT` | how many seconds a call waits for a rank that answers but has not called, or `off`; 1800 unless set |
/// | threads | |
/// | `NECKLACE_RANKS` | the number of ranks; unless set, the number of nodes of the topology, or of cores |
/// | processes | |
/// | `NECKLACE_RANK`, `NECKLACE_SIZE` | the rank of this process, and the number of ranks |
/// | `NECKLACE_ROOT` | the rendezvous address, where rank 0 listens: `host:port` |
/// | `NECKLACE_RENDEZVOUS` | instead of it, `file:PATH`: rank 0 writes into that file where it listens |
/// | `NECKLACE_KEY_FILE` | a file that holds the job's key, 16 to 4096 bytes, which no other user may read |
/// | `NECKLACE_ADDRESS` | the address on which this rank listens; unless set, that of the interface by which it reaches rank 0 |
/// | `NECKLACE_HOST` | the host that this rank counts as, by any name: ranks with equal names share a host; unless set, the system or MPI says which do ([`Communicator::hosts`]) |
/// | `NECKLACE_INSECURE` | `1`: a job without a key may listen where other machines reach it, and accepts any process |
///
/// Unless `NECKLACE_BACKEND` is set, a process is a rank if a launcher says so. Without a key,
/// ranks listen on the loopback interface only.
///
/// `necklace run` sets all that is needed. A rank that it has started ends when the agent on its
/// host is killed. A process that returns waits until the other ranks have read what it sent. They
/// read it even while they compute. For a rank that is stopped or unreachable it waits at most its
/// longest timeout, and never more than 30 seconds.
///
/// # Other launchers
///
/// Rank and size may also come from these variables:
///
/// | launcher | rank, size | starts programs of MPI |
/// |---|---|---|
/// | torchrun | `RANK`, `WORLD_SIZE`; the rendezvous address from `MASTER_ADDR`, `MASTER_PORT`, `TORCHELASTIC_USE_AGENT_STORE` | no |
/// | Slurm | `SLURM_PROCID`, `SLURM_NTASKS` | yes |
/// | Open MPI | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | yes |
/// | PMI | `PMI_RANK`, `PMI_SIZE` | yes |
/// | MVAPICH | `MV2_COMM_WORLD_RANK`, `MV2_COMM_WORLD_SIZE` | yes |
/// | PMIx | `PMIX_RANK`; the size from another row, or from MPI | yes |
///
/// If one that starts programs of MPI has started a program with the feature `mpi`, its ranks are
/// those of MPI. Otherwise the ranks connect over TCP; for all but torchrun, set `NECKLACE_ROOT` or
/// `NECKLACE_RENDEZVOUS`. If `TORCHELASTIC_USE_AGENT_STORE` is `True`, torchrun itself listens on
/// `MASTER_PORT`, and rank 0 takes the port above it. A launcher that reports a single rank is
/// ignored by [`launch`], but not by [`connect`]. Slurm's variables of a batch script give way to a launcher that was started in the
/// script. `NECKLACE_*` overrides all others.
///
/// # Errors
///
/// A [`JobError`], which names the rank that failed first. Its [cause](JobError::cause) is:
///
/// - [`JobCause::Variable`] for a variable with an invalid value, [`JobCause::Misspelt`] for one
///   whose name differs in a letter or two from one of those above, [`JobCause::Incomplete`] for one
///   that is missing, [`JobCause::Contradiction`] for launchers that disagree,
///   [`JobCause::NotBuilt`] for a backend that this program was built without. If a launcher has
///   started several processes, they never run as that many jobs of one rank.
/// - [`JobCause::Network`] if the network is invalid or does not have as many nodes as there are
///   ranks, [`JobCause::Ranks`] for no ranks or too many.
/// - [`JobCause::Argument`] if an algorithm is unknown or does not fit, or an option is invalid.
/// - [`JobCause::Machine`] if `NECKLACE_MACHINE` is neither a machine nor a machine file.
/// - `JobCause::Join`, over MPI `JobCause::Mpi`, if a rank cannot join the job, and
///   [`JobCause::Thread`] if the thread of a rank cannot be started.
/// - [`JobCause::Panicked`] if the closure panics. The other ranks get an error in their calls. If
///   one panics because of that error, as `unwrap` does, its own `JobError` is the failure of that
///   call and names the rank that failed first.
/// - [`JobCause::Call`] if the ranks have different networks or options, or, on at least one of the
///   ranks concerned, if ranks have dropped their communicators after different calls and no
///   message had shown it.
///
/// The value that the closure returns is a result, also where it is an `Err`: look at each.
///
/// [`JobCause::Variable`]: crate::error::JobCause::Variable
/// [`JobCause::Misspelt`]: crate::error::JobCause::Misspelt
/// [`JobCause::NotBuilt`]: crate::error::JobCause::NotBuilt
/// [`JobCause::Argument`]: crate::error::JobCause::Argument
/// [`JobCause::Machine`]: crate::error::JobCause::Machine
/// [`JobCause::Contradiction`]: crate::error::JobCause::Contradiction
/// [`JobCause::Incomplete`]: crate::error::JobCause::Incomplete
/// [`JobCause::Network`]: crate::error::JobCause::Network
/// [`JobCause::Ranks`]: crate::error::JobCause::Ranks
/// [`JobCause::Thread`]: crate::error::JobCause::Thread
/// [`JobCause::Panicked`]: crate::error::JobCause::Panicked
/// [`JobCause::Call`]: crate::error::JobCause::Call
pub fn launch<R: Send>(body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
    Launch::from_env().run(body)
}

/// Joins the job that a launcher has started this process for, and returns its communicator.
///
/// The environment is that of [`launch`]. Dropping the last handle of the job waits until the
/// others have read what was sent, as there. A drop cannot report that ranks have made different
/// calls; [`close`](Communicator::close) does.
///
/// Needs the feature `tcp` or `mpi` to join a job.
///
/// # Errors
///
/// [`JobCause::NoLauncher`](crate::error::JobCause::NoLauncher) if no launcher has started this
/// process; otherwise those of [`launch`].
pub fn connect() -> Result<Communicator, JobError> {
    Launch::from_env().connect()
}

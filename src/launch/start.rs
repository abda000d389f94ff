//! The functions that start or join a job as the environment says.

use super::builder::Launch;
use crate::communicator::Communicator;
use crate::error::JobError;

/// Runs the closure on every rank of this process, as the environment says, and returns their results.
///
/// If a launcher has started this process as a rank of a job, there is one result, of this rank.
/// Otherwise there is one for each of `NECKLACE_RANKS` threads.
///
/// | variable | says |
/// |---|---|
/// | `NECKLACE_BACKEND` | `local`: threads of this process, whatever else is set ([`connect`] refuses it); `tcp`: a rank over TCP; `mpi`: a rank of MPI |
/// | `NECKLACE_TOPOLOGY` | the network, such as `torus:4x4`; complete unless set |
/// | `NECKLACE_ALGORITHM` | the algorithm of alltoall, or several as `alltoall=ring,allgather=ring`; parts made by [`split`](Communicator::split) inherit those that fit them. [The log](crate::communicator#what-is-logged) says what runs |
/// | `NECKLACE_TIMEOUT` | the maximum time in seconds without progress in a call, and until all ranks have come; 300 unless set |
/// | threads | |
/// | `NECKLACE_RANKS` | the number of ranks; unless set, the number of nodes of the topology, or of cores |
/// | processes | |
/// | `NECKLACE_RANK`, `NECKLACE_SIZE` | which rank this is, of how many |
/// | `NECKLACE_ROOT` | the rendezvous address, where rank 0 listens: `host:port` |
/// | `NECKLACE_RENDEZVOUS` | instead of it, `file:PATH`: rank 0 writes into that file where it listens |
/// | `NECKLACE_KEY_FILE` | a file that holds the job's key, 16 to 4096 bytes, which no other user may read |
/// | `NECKLACE_ADDRESS` | the address on which this rank listens; unless set, that of the interface by which it reaches rank 0 |
/// | `NECKLACE_INSECURE` | `1`: a job without a key may listen where other machines reach it, and accepts any process |
///
/// Unless `NECKLACE_BACKEND` is set, a process is a rank where a launcher has said so. Without a key, ranks listen on
/// the loopback interface only.
///
/// `necklace run` sets all that is needed; a rank that it has started ends when its launcher on that host
/// is killed. Rank and size may also come from torchrun (`RANK`, `WORLD_SIZE`, and the meeting point from `MASTER_ADDR`,
/// `MASTER_PORT`), Slurm (`SLURM_PROCID`, `SLURM_NTASKS`), Open MPI (`OMPI_COMM_WORLD_RANK`, `_SIZE`), PMI (`PMI_RANK`,
/// `PMI_SIZE`) or MVAPICH (`MV2_COMM_WORLD_RANK`, `_SIZE`). The last four start programs of MPI. If one of
/// them has started a program that has the feature `mpi`, its ranks are those of MPI. Otherwise the ranks
/// meet over TCP; for all but torchrun, set `NECKLACE_ROOT` or `NECKLACE_RENDEZVOUS`. A launcher that says
/// that the size is 1 is ignored, except by [`connect`]. What Slurm says of a batch script gives way to a
/// launcher that was started in it. `NECKLACE_*` overrides them all.
///
/// A process returns when the other ranks have read what it has sent them; they do so whatever they are
/// doing. It waits for a rank that is stopped or unreachable as long as the longest deadline was, at most
/// half a minute.
///
/// # Errors
///
/// [`Error::Environment`] for an invalid variable, for a missing one, for launchers that disagree, and
/// for a backend that this program was built without; it never runs as a job of one rank where several
/// were started. `Error::Join`, over MPI `Error::Mpi`, if a rank cannot join. [`Error::Failed`], on at
/// least one of the ranks concerned, if ranks have dropped their communicators after different calls and no
/// message had shown it. [`Error::Rank`] if the closure panics; the other ranks get an error in their
/// calls. Otherwise as `local::run`.
pub fn launch<R: Send>(body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
    Launch::from_env().run(body)
}

/// Joins the job that a launcher has started this process for, and returns its communicator.
///
/// The environment is that of [`launch`]. Dropping the last handle of the job waits until the others have
/// read what was sent, as there. A drop cannot report that ranks have made different calls;
/// [`close`](Communicator::close) does.
///
/// # Errors
///
/// [`Error::Environment`] if no launcher has started this process; otherwise those of [`launch`].
pub fn connect() -> Result<Communicator, JobError> {
    Launch::from_env().connect()
}

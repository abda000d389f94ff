//! Ranks of MPI (Open MPI or MPICH), over any network that MPI supports. Needs the
//! feature `mpi`.
//!
//! [`launch`](crate::launch()) joins the job that `mpirun`, `mpiexec` or `srun` has started;
//! [`MpiJoin`] is for programs that use MPI themselves, or have a communicator of their own.
//! Messages go over a duplicate of that communicator, separate from those of the program.
//!
//! ```no_run
//! use necklace::Communicator;
//! use necklace::topology::parse;
//! use necklace::transport::mpi::MpiJoin;
//!
//! // All ranks of `MPI_COMM_WORLD`, here eight.
//! let endpoint = MpiJoin::world()?.endpoint()?;
//! let mut comm = Communicator::new(endpoint, parse("torus:2x4").unwrap())?;
//! let mut from = [0; 8];
//! comm.allgather(&[comm.rank()], &mut from)?;
//! # Ok::<(), necklace::JobError>(())
//! ```
//!
//! # Beside a program's own use
//!
//! The code that initializes MPI also finalizes it. This crate initializes MPI with
//! `MPI_THREAD_MULTIPLE` at the first [`MpiJoin`], and finalizes it when the process exits. A
//! program that initializes MPI itself must request that level, and drop endpoints and
//! communicators of this crate before it finalizes. Those that remain shut down within
//! `MPI_Finalize`, and fail from then on.
//!
//! # What it promises
//!
//! The contract of [`transport`](crate::transport), as far as MPI allows. How a failure shows:
//!
//! - **A rank that panics, leaves or exits** tells the others. Calls that need it fail at once.
//! - **A rank that is silent** is named after the timeout for silence, and one that answers but
//!   does not call after the arrival timeout.
//! - **A rank that is killed** ends the job, by its launcher. MPI does not tell the other ranks;
//!   without such a launcher they notice after the timeout.
//! - **Memory lent to MPI**: messages of 8 KiB and more go straight from and into the caller's
//!   memory. MPI returns that memory when the other side has taken the message. If a call fails,
//!   its receives are cancelled; sends cannot be. If a send does not complete, this process ends
//!   the job by `MPI_Abort`, with the failure on its standard error.
//! - **A call of the library** ([`native`](crate::transport::native)) cannot be cancelled. If it
//!   takes long, a watchdog asks all ranks for their status. If one is silent, does not call within
//!   its timeout, calls something else, or has left, the job ends in the same way. If all are in
//!   the call, it has no time limit.
//!
//! With [`MpiJoin::staged`], no memory is lent and no calls of the library are made. Then every
//! failure of a call is an error, as on any other backend.
//!
//! A process that exits waits until all other processes of its communicators have ended, as
//! `MPI_Finalize` would. If that may never happen, because a rank is silent or never called, it
//! ends the job with a message.
//!
//! # What it costs
//!
//! - **Memory:** eight receives of 68 KiB that are always posted, and for each other rank 130 KiB
//!   of address space, of which only what was used is memory; 700 KiB once many packets were
//!   exchanged.
//! - **Processors:** a thread that polls every 20 ms. MPI does not wake ranks that wait, so they
//!   poll: they yield for half a millisecond, and then sleep for up to one millisecond between
//!   polls.
//! - **Copies:** messages shorter than 8 KiB are copied once more at either end.
//! - **Messages at the end:** one from every process to every other, and one to every member from a
//!   communicator that is dropped.
#![allow(unsafe_code)]

mod blocks;
mod collectives;
mod comm;
mod datatype;
mod duplicate;
mod endpoint;
mod finalization;
mod initialization;
mod library;
mod operation;
mod packets;
pub(super) mod plain;
mod predefined;
mod rendezvous;
mod shared_memory;

use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mpi::ffi;
use mpi::raw::AsRaw;

/// The crate whose communicators [`MpiJoin::from_communicator`] takes.
pub use ::mpi;

use self::finalization::FinalizeBlocker;
pub use self::plain::error::MpiError;
use self::plain::{abort_delay, call_tracker, error, known_groups, process_info, watchdog};
use super::Endpoint;
pub use super::engine::Supervisor;
use super::engine::member::{Member, WireJoin};
use duplicate::DuplicatedComm;
use endpoint::MpiEndpoint;
use library::call;
use packets::PacketWire;

/// Default time to wait for other ranks.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A process that joins a job as a rank of an MPI communicator.
#[derive(Clone, Debug)]
pub struct MpiJoin<'a> {
    parent: ffi::MPI_Comm,
    timeout: Duration,
    staged: bool,
    host: Option<String>,
    /// Borrows the communicator, so that it is not freed before it is duplicated.
    of: PhantomData<&'a ()>,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for MpiJoin<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for MpiJoin<'_> {}

impl MpiJoin<'static> {
    /// Joins as a rank of all processes that MPI has started together. Initializes MPI if it is not
    /// initialized, and then finalizes it when the process exits.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn world() -> Result<Self, MpiError> {
        Self::world_within(TIMEOUT)
    }

    /// Like [`world`](Self::world), with a [timeout](Self::timeout) that also limits the
    /// initialization of MPI. The initialization waits for every process that the launcher has
    /// started and cannot be cancelled: if it takes longer, this process ends with a message.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn world_within(timeout: Duration) -> Result<Self, MpiError> {
        initialization::initialize(timeout)?;
        // SAFETY: reads a constant of the library.
        Ok(Self::new(unsafe { ffi::RSMPI_COMM_WORLD }).timeout(timeout))
    }
}

impl<'a> MpiJoin<'a> {
    /// Joins as a rank of a communicator that this program has made with the crate `mpi`. The only
    /// operation on it is its duplication.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn from_communicator(communicator: &'a impl AsRaw<Raw = ffi::MPI_Comm>) -> Result<Self, MpiError> {
        initialization::initialize(TIMEOUT)?;
        Ok(Self::new(communicator.as_raw()))
    }

    fn new(parent: ffi::MPI_Comm) -> Self {
        Self { parent, timeout: TIMEOUT, staged: false, host: None, of: PhantomData }
    }

    /// Returns the number of ranks.
    ///
    /// # Errors
    ///
    /// [`MpiError::Finalized`], or the error of MPI for the communicator.
    pub fn size(&self) -> Result<usize, MpiError> {
        library::check_alive()?;
        let mut size: c_int = 0;
        call!(MPI_Comm_size(self.parent, &mut size))?;
        Ok(size as usize)
    }

    /// Sets the maximum time to wait for the other ranks to call. 5 minutes unless set.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets whether all messages are copied, so that MPI is never lent the user's memory. Then
    /// every failure of a call is an error, and none ends the job before the process ends. Messages
    /// are copied twice more, and there is no `native`. Must be the same on every rank. Not unless
    /// set.
    #[must_use]
    pub fn staged(self, staged: bool) -> Self {
        Self { staged, ..self }
    }

    /// Sets the name of the host that this rank counts as: ranks with equal names share a host, for
    /// [`Communicator::hosts`](crate::Communicator::hosts). Unless set, ranks share a host if they
    /// can share memory (`MPI_COMM_TYPE_SHARED`).
    #[must_use]
    pub fn host(self, name: impl Into<String>) -> Self {
        Self { host: Some(name.into()), ..self }
    }

    /// Joins the job. Collective: all ranks make the endpoints of a communicator in the same order.
    /// One thread of a process does so at a time; others wait for it.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn endpoint(self) -> Result<Arc<dyn Endpoint>, MpiError> {
        Ok(self.start()?.1)
    }

    /// Joins the job, for a launcher that catches the panics of this process. The launcher must
    /// call [`panicked`](Supervisor::panicked) for each; ranks that wait for this one then fail
    /// with the panic's message.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn supervised(self) -> Result<(Supervisor, Arc<dyn Endpoint>), MpiError> {
        let (member, endpoint) = self.start()?;
        Ok((Supervisor::new(member), endpoint))
    }

    fn start(self) -> Result<(Arc<Member>, Arc<dyn Endpoint>), MpiError> {
        // MPI duplicates a communicator for one thread at a time.
        static STARTING: Mutex<()> = Mutex::new(());
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        library::check_alive()?;
        // SAFETY: the handle is that of a communicator, which is not freed while `self` borrows it.
        let group = unsafe { DuplicatedComm::duplicate(self.parent, !self.staged, self.host.as_deref(), self.timeout) };
        let mut group = group?;
        let comm = group.comm;
        let join = WireJoin::new(group.rank, group.size).hosts(group.hosts.clone()).shared_cores(group.shared_cores);
        let collective = group.collective.take();
        let wire = Box::new(PacketWire::new(group, !self.staged));
        let member = join.start(wire, None).map_err(|error| {
            // The other ranks count on this one.
            finalization::forbid(FinalizeBlocker::Unfinished);
            MpiError::Thread(error.to_string())
        })?;
        finalization::enlist(&member.process);
        let endpoint: Arc<dyn Endpoint> = match collective {
            None => Arc::clone(&member) as _,
            Some(own) => Arc::new(MpiEndpoint { member: Arc::clone(&member), comm, own: Arc::new(own) }),
        };
        Ok((member, endpoint))
    }
}

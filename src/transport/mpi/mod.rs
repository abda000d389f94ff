//! Ranks of MPI (Open MPI or MPICH), over any network that MPI supports.
//!
//! [`launch`](crate::launch()) joins the job that `mpirun`, `mpiexec` or `srun` has started;
//! [`Join`] is for programs that use MPI themselves, or have a communicator of their own. Messages
//! go over a duplicate of that communicator, so that they never meet those of the program.
//!
//! ```no_run
//! use necklace::Communicator;
//! use necklace::topology::parse;
//! use necklace::transport::mpi::Join;
//!
//! // All ranks of MPI's, eight of them.
//! let endpoint = Join::world()?.endpoint()?;
//! let mut comm = Communicator::new(endpoint, parse("torus:2x4").unwrap())?;
//! let mut from = [0; 8];
//! comm.allgather(&[comm.rank()], &mut from)?;
//! # Ok::<(), necklace::JobError>(())
//! ```
//!
//! # Beside a program's own use
//!
//! Whoever initializes MPI finalizes it. This crate initializes it with `MPI_THREAD_MULTIPLE` at
//! the first [`Join`], and finalizes it when the process exits. A program that initializes MPI
//! itself asks for that level, and drops endpoints and communicators of this crate before it
//! finalizes. Those that remain say goodbye within `MPI_Finalize`, and fail from then on.
//!
//! # What it promises
//!
//! The contract of [`transport`](crate::transport), as far as MPI allows. How a failure shows:
//!
//! - **A rank that panics, leaves or exits** says so. Calls that need it fail at once.
//! - **A rank that is silent** is named after the timeout for silence, and one that answers but
//!   does not call after the arrival timeout.
//! - **A rank that is killed** ends the job, by its launcher. MPI does not tell the other ranks;
//!   without such a launcher they notice after the timeout.
//! - **Memory lent to MPI** (messages of 8 KiB and more go straight from and into the caller's
//!   memory) comes back when the other side has taken the message. A receive is cancelled if its
//!   call fails; a send cannot be. If a send does not end, this process ends the job by
//!   `MPI_Abort`, with the failure on its standard error.
//! - **A call of the library** ([`native`](crate::transport::native)) cannot be cancelled at all.
//!   While it takes long, a watchdog asks all ranks for their status. If one is silent, does not
//!   come within its timeout, calls something else, or has left, the job ends in the same way. If
//!   all are in the call, it takes as long as it takes.
//!
//! [`Join::staged`] lends nothing and makes no calls of the library: then every failure of a call
//! is an error, as on any other backend.
//!
//! A process that exits waits until all others of its communicators have ended, as `MPI_Finalize`
//! would. If that may never be, because a rank is silent or never called, it ends the job and says
//! so.
//!
//! # What it costs
//!
//! - **Memory:** eight receives of 68 KiB that are always posted, and for each other rank 130 KiB
//!   of address space, of which only what was used is memory; 700 KiB once many packets were
//!   exchanged.
//! - **Processors:** a thread that polls every 20 ms. MPI does not wake ranks that wait, so they
//!   poll: they yield for half a millisecond, and then sleep for up to one.
//! - **Copies:** messages shorter than 8 KiB are copied once more at either end.
//! - **Messages at the end:** one from every process to every other, and one to every member from a
//!   communicator that is dropped.
#![allow(unsafe_code)]

mod beginning;
mod collectives;
mod comm;
mod datatype;
mod ending;
mod error;
mod group;
mod letters;
mod library;
mod operation;
mod parcels;
mod predefined;
mod rank;

use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mpi::ffi;
use mpi::raw::AsRaw;

use self::ending::Unwell;
pub use self::error::MpiError;
use super::Endpoint;
pub use super::engine::Supervisor;
use super::engine::member::Member;
use group::Group;
use letters::Letters;
use library::call;
use rank::Placed;

/// How long to wait for others, unless something else is set.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How a rank joins its job: as one of a communicator's.
#[derive(Clone, Debug)]
pub struct Join<'a> {
    parent: ffi::MPI_Comm,
    timeout: Duration,
    staged: bool,
    /// The communicator is not freed before it is duplicated.
    of: PhantomData<&'a ()>,
}

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Join<'_> {}
// SAFETY: as before.
unsafe impl Sync for Join<'_> {}

impl Join<'static> {
    /// All processes that MPI has started together. Initializes MPI, unless somebody has; then it
    /// is finalized when the process exits.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn world() -> Result<Self, MpiError> {
        Self::world_within(TIMEOUT)
    }

    /// The same, with a [timeout](Self::timeout) that counts for MPI's initialization as well: in
    /// that it waits for every process that the launcher has started, and gives no way back. Where
    /// it takes longer, this process ends with a message.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn world_within(timeout: Duration) -> Result<Self, MpiError> {
        beginning::begin(timeout)?;
        // SAFETY: a constant of the library.
        Ok(Self::new(unsafe { ffi::RSMPI_COMM_WORLD }).timeout(timeout))
    }
}

impl<'a> Join<'a> {
    /// The processes of a communicator that this program has made, by the crate `mpi`. Nothing is
    /// sent in it but to duplicate it.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn from_communicator(communicator: &'a impl AsRaw<Raw = ffi::MPI_Comm>) -> Result<Self, MpiError> {
        beginning::begin(TIMEOUT)?;
        Ok(Self::new(communicator.as_raw()))
    }

    fn new(parent: ffi::MPI_Comm) -> Self {
        Self { parent, timeout: TIMEOUT, staged: false, of: PhantomData }
    }

    /// How many ranks there are.
    ///
    /// # Errors
    ///
    /// [`MpiError::Finalized`]; what MPI says of the communicator.
    pub fn size(&self) -> Result<usize, MpiError> {
        library::alive()?;
        let mut size: c_int = 0;
        call!(MPI_Comm_size(self.parent, &mut size))?;
        Ok(size as usize)
    }

    /// How long to wait for the others to call. 5 minutes unless set.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Whether nothing of the user's memory is ever lent to MPI: every failure of a call is an
    /// error then, and none ends the job before the process does. What moves is copied twice more,
    /// and there is no `native`. Not unless set. The same on every rank.
    #[must_use]
    pub fn staged(self, staged: bool) -> Self {
        Self { staged, ..self }
    }

    /// Meets the others. Collective: all ranks make the endpoints of a communicator in the same
    /// order. One thread of a process does so at a time, the others wait for it.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn endpoint(self) -> Result<Arc<dyn Endpoint>, MpiError> {
        Ok(self.place()?.1)
    }

    /// The same, for a launcher that catches the panics of this process: it owes the job a
    /// [`panicked`](Supervisor::panicked) for each, and those who wait for this rank hear of it
    /// with its message.
    ///
    /// # Errors
    ///
    /// See [`MpiError`].
    pub fn supervised(self) -> Result<(Supervisor, Arc<dyn Endpoint>), MpiError> {
        let (member, endpoint) = self.place()?;
        Ok((Supervisor::new(member), endpoint))
    }

    fn place(self) -> Result<(Arc<Member>, Arc<dyn Endpoint>), MpiError> {
        // MPI duplicates a communicator for one thread at a time.
        static PLACING: Mutex<()> = Mutex::new(());
        let _alone = PLACING.lock().unwrap_or_else(PoisonError::into_inner);
        library::alive()?;
        // SAFETY: it is a communicator's, which is there as long as this is.
        let mut group = unsafe { Group::duplicate(self.parent, !self.staged, self.timeout) }?;
        let (place, comm, spins) = ((group.rank, group.size), group.comm, group.has_cores);
        let collective = group.collective.take();
        let letters = Box::new(Letters::new(group, !self.staged));
        let member = Member::start(place, letters, None, spins).map_err(|error| {
            // The others have this rank among them.
            ending::forbid(Unwell::Begun);
            MpiError::Thread(error.to_string())
        })?;
        ending::enlist(&member.process);
        let endpoint: Arc<dyn Endpoint> = match collective {
            None => Arc::clone(&member) as _,
            Some(own) => Arc::new(Placed { member: Arc::clone(&member), comm, own: Arc::new(own) }),
        };
        Ok((member, endpoint))
    }
}

//! The finalization of MPI. Before it, whether the program or this crate calls it, the progress
//! engines of this process shut down.

use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{process, thread};

use mpi::ffi;

use super::abort_delay::abort_delay;
use super::comm::Comm;
use super::error::MpiError;
use super::library::{self, call, rest};
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::process::Process;

/// The progress engines of this process that may be running.
static LIVE: Mutex<Vec<Weak<Process>>> = Mutex::new(Vec::new());

/// Communicators on which this process has shut down.
static DEPARTURES: Mutex<Vec<Departure>> = Mutex::new(Vec::new());

/// The number of collective operations that are starting jobs.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// The reason why MPI cannot be finalized: the call might never return.
static BLOCKER: Mutex<Option<FinalizeBlocker>> = Mutex::new(None);

/// Whether this process is ending the job. The library may call `exit` for that.
static ABORTED: AtomicBool = AtomicBool::new(false);

/// Time for a launcher to read why the job ends, before it is told to end it. After that, the
/// launcher of MPICH reads no more.
const READ_TIME: Duration = Duration::from_millis(200);

/// The reason why MPI cannot be finalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FinalizeBlocker {
    /// A collective operation was started, and not all ranks of the communicator have called it.
    Unfinished,
    /// Other processes have not acknowledged the shutdown, or have not sent theirs.
    Silent,
    /// Another thread of this process is in a call of the library.
    Busy,
}

/// Counts a collective operation as pending while this exists.
#[derive(Debug)]
pub(super) struct PendingStart;

impl PendingStart {
    pub(super) fn new() -> Self {
        PENDING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for PendingStart {
    fn drop(&mut self) {
        PENDING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A communicator that this process needs no more, and a last reduction on it. When the reduction
/// completes, no process needs the communicator. A process that cannot finalize MPI contributes 1,
/// so that no process does: if one ends the job while others are in `MPI_Finalize`, the launcher of
/// Open MPI may hang.
#[derive(Debug)]
struct Departure {
    comm: ffi::MPI_Comm,
    request: ffi::MPI_Request,
    /// The contribution of this process, and the maximum of all. Leaked if the reduction never
    /// completes, since MPI then still uses it.
    contributions: *mut [c_int; 2],
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle. The
// departure owns the memory of its pointer.
unsafe impl Send for Departure {}

fn live() -> MutexGuard<'static, Vec<Weak<Process>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a progress engine, to be shut down before MPI is finalized.
pub(super) fn enlist(process: &Arc<Process>) {
    let mut live = live();
    live.retain(|process| process.strong_count() > 0);
    live.push(Arc::downgrade(process));
}

/// Records why MPI cannot be finalized.
pub(super) fn forbid(why: FinalizeBlocker) {
    *blocker() = Some(why);
}

/// Whether MPI still waits for ranks that did not call a collective operation.
pub(super) fn has_unfinished_start() -> bool {
    *blocker() == Some(FinalizeBlocker::Unfinished)
}

fn blocker() -> MutexGuard<'static, Option<FinalizeBlocker>> {
    BLOCKER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the job, with a message on the standard error that names the rank in a communicator.
///
/// Aborts `MPI_COMM_WORLD`: for any other communicator, MPICH first sends a message to each of its
/// ranks and waits, which may never end if one of them is stopped.
pub(super) fn abort(comm: ffi::MPI_Comm, why: &dyn Display) {
    if ABORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let (mut rank, mut order): (c_int, c_int) = (0, 0);
    let _ = call!(MPI_Comm_rank(comm, &mut rank));
    // SAFETY: reads a constant of the library.
    let world = unsafe { ffi::RSMPI_COMM_WORLD };
    let _ = call!(MPI_Comm_rank(world, &mut order));
    // In one piece, since other ranks may write at the same time.
    let message = format!("necklace: rank {rank}: {why}, so the job ends here\n");
    let _ = io::stderr().write_all(message.as_bytes());
    thread::sleep(READ_TIME + abort_delay(order));
    let _ = call!(MPI_Abort(world, 1));
}

/// Shuts this process down on a communicator, which is freed once all processes have done so.
pub(super) fn depart(comm: ffi::MPI_Comm) -> Result<(), MpiError> {
    let mine = c_int::from(blocker().is_some());
    // SAFETY: reads constants of the library.
    let (none, int, greatest) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_INT32_T, ffi::RSMPI_MAX) };
    let contributions = Box::into_raw(Box::new([mine, 0]));
    // SAFETY: the array has two elements, so the second is in bounds.
    let (from, into) = unsafe { (contributions.cast::<c_void>(), contributions.cast::<c_int>().add(1).cast()) };
    let mut left = Departure { comm, request: none, contributions };
    call!(MPI_Iallreduce(from, into, 1, int, greatest, comm, &mut left.request))?;
    let mut all = departures();
    all.push(left);
    all.retain_mut(|left| !left.is_over());
    Ok(())
}

fn departures() -> MutexGuard<'static, Vec<Departure>> {
    DEPARTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Departure {
    /// Whether all other processes have shut down on the communicator as well.
    fn is_over(&mut self) -> bool {
        let mut done: c_int = 0;
        let over = call!(MPI_Test(&mut self.request, &mut done, ffi::RSMPI_STATUS_IGNORE)).is_err() || done != 0;
        if over {
            // SAFETY: it came from `Box::into_raw` and MPI has completed the reduction. Callers
            // drop a departure that is over, so it is freed once.
            let [_, worst] = *unsafe { Box::from_raw(self.contributions) };
            if worst != 0 {
                blocker().get_or_insert(FinalizeBlocker::Unfinished);
            }
            let _ = call!(MPI_Comm_free(&mut self.comm));
        }
        over
    }
}

/// Shuts down all progress engines and waits until the other processes have done so, as
/// `MPI_Finalize` would. It is better not to wait in `MPI_Finalize`: if another rank then ends the
/// job, the launcher of Open MPI may hang. Returns why MPI cannot be finalized, if so.
fn finish() -> Option<FinalizeBlocker> {
    let live = std::mem::take(&mut *live());
    let live: Vec<Arc<Process>> = live.iter().filter_map(Weak::upgrade).collect();
    for process in &live {
        process.finish();
    }
    let begin = Instant::now();
    while live.iter().any(|process| process.in_library_call()) {
        if begin.elapsed() > LINGER {
            forbid(FinalizeBlocker::Busy);
            break;
        }
        rest(begin.elapsed());
    }
    // The last handle of an engine finishes it.
    drop(live);
    loop {
        let mut left = departures();
        left.retain_mut(|left| !left.is_over());
        let pending = (PENDING.load(Ordering::Relaxed) > 0).then_some(FinalizeBlocker::Unfinished);
        let blocker = blocker().or(pending);
        // An unfinished start does not stop the wait: the other processes finish what has started.
        if left.is_empty() || blocker.is_some_and(|why| why != FinalizeBlocker::Unfinished) {
            if blocker.is_none() {
                Comm::free_all();
            }
            return blocker;
        }
        drop(left);
        rest(begin.elapsed());
    }
}

/// Ends the job, because finalizing MPI might never return.
fn give_up(blocker: FinalizeBlocker) {
    let why = match blocker {
        FinalizeBlocker::Unfinished => "MPI cannot be finalized, since it still waits for ranks that have not called",
        FinalizeBlocker::Silent => "MPI cannot be finalized, since another rank has gone silent",
        FinalizeBlocker::Busy => "MPI cannot be finalized, since a thread of this process is in a call of it",
    };
    // SAFETY: reads a constant of the library.
    abort(unsafe { ffi::RSMPI_COMM_WORLD }, &why);
}

/// Finalizes MPI when the process exits, unless the program has.
pub(super) fn at_exit() {
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> c_int;
    }
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn finalize() {
        let finalize = || {
            // A fork of the process must not finalize the MPI of its parent.
            if PROCESS.load(Ordering::Relaxed) != process::id() {
                return;
            }
            // MPICH exits in the middle of a call when another rank has ended the job. Then neither
            // MPI nor the progress engine, which may wait for that call, can be used.
            if ABORTED.load(Ordering::Relaxed) || library::is_inside() || !library::is_alive() {
                return;
            }
            match finish() {
                None => drop(call!(MPI_Finalize())),
                Some(why) => give_up(why),
            }
        };
        // A panic cannot be reported here.
        let _ = catch_unwind(finalize);
    }
    PROCESS.store(process::id(), Ordering::Relaxed);
    // SAFETY: the callback may be called at any time, from any thread, and does not unwind. If it
    // cannot be registered, MPI is not finalized.
    unsafe { atexit(finalize) };
}

/// Has MPI call this crate when the program finalizes it: before anything else, `MPI_Finalize`
/// deletes the attributes of `MPI_COMM_SELF`.
pub(super) fn watch_finalize() -> Result<(), MpiError> {
    static ATTACHED: Mutex<bool> = Mutex::new(false);
    extern "C" fn not_copied(
        _: ffi::MPI_Comm,
        _: c_int,
        _: *mut c_void,
        _: *mut c_void,
        _: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: MPI passes a pointer to which the callback has to write.
        unsafe { *flag = 0 };
        ffi::MPI_SUCCESS as c_int
    }
    extern "C" fn dropped(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        // A panic cannot be reported here.
        let _ = catch_unwind(|| match finish() {
            // The program finalizes MPI, and may know that all ranks will call.
            Some(FinalizeBlocker::Unfinished) | None => {}
            Some(why) => give_up(why),
        });
        ffi::MPI_SUCCESS as c_int
    }
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*attached {
        let mut key: c_int = 0;
        call!(MPI_Comm_create_keyval(Some(not_copied), Some(dropped), &mut key, ptr::null_mut()))?;
        call!(MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut()))?;
        *attached = true;
    }
    Ok(())
}

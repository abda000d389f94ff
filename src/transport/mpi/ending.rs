//! The end of MPI: whoever finalizes it, this crate's processes say farewell before.

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

use super::comm::Comm;
use super::error::MpiError;
use super::library::{self, call, rest};
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::process::Process;

/// The processes of this crate that may be talking.
static LIVE: Mutex<Vec<Weak<Process>>> = Mutex::new(Vec::new());

/// Communicators whose processes of this crate are at their end here.
static LEFT: Mutex<Vec<Departure>> = Mutex::new(Vec::new());

/// How much is being begun with others.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Why MPI cannot be finalized: that may never end.
static UNWELL: Mutex<Option<Unwell>> = Mutex::new(None);

/// Whether the job is being ended: a library may exit for that, as usual.
static ABORTED: AtomicBool = AtomicBool::new(false);

/// How long a launcher has to read why the job ends, before it hears that it does: then the one of
/// MPICH reads no more.
const READING: Duration = Duration::from_millis(200);

/// Ranks that end the job do so one after the other, so that the first has ended it before the next
/// would: where several do at once, the launcher of Open MPI may hang. Later ones follow each other
/// sooner, so that the last of any number has its turn soon.
const TURN: Duration = Duration::from_millis(500);
const WHOLE_TURNS: f64 = 8.0;

/// What is in the way of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwell {
    /// Something that was begun with all ranks of a communicator, which have not all come.
    Begun,
    /// Others have not heard what this process had to say, or it may not have heard them.
    Silent,
    /// Another thread of this process is in a call of the library's.
    Busy,
}

/// Something is being begun with others, as long as this is there.
#[derive(Debug)]
pub(super) struct Beginning;

impl Beginning {
    pub(super) fn new() -> Self {
        PENDING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        PENDING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A communicator that this process needs no more, and what all say in it then: when that is over,
/// nobody does. Who cannot finalize MPI says 1, so that nobody does: where one ends the job while
/// others are in there, the launcher of Open MPI may hang.
#[derive(Debug)]
struct Departure {
    comm: ffi::MPI_Comm,
    request: ffi::MPI_Request,
    /// What this process says, and the greatest of what all do. It stays where it is until all have
    /// said it, for ever if they do not.
    said: *mut [c_int; 2],
}

// SAFETY: handles may be used by any thread: MPI is initialized for that.
unsafe impl Send for Departure {}

fn live() -> MutexGuard<'static, Vec<Weak<Process>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process talks over MPI.
pub(super) fn enlist(process: &Arc<Process>) {
    let mut live = live();
    live.retain(|process| process.strong_count() > 0);
    live.push(Arc::downgrade(process));
}

/// MPI cannot be finalized any more.
pub(super) fn forbid(why: Unwell) {
    *unwell() = Some(why);
}

/// Whether MPI still waits for ranks that did not come.
pub(super) fn has_begun_in_vain() -> bool {
    *unwell() == Some(Unwell::Begun)
}

fn unwell() -> MutexGuard<'static, Option<Unwell>> {
    UNWELL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the job, and says why.
pub(super) fn abort(comm: ffi::MPI_Comm, why: &dyn Display) {
    if ABORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let (mut rank, mut order): (c_int, c_int) = (0, 0);
    let _ = call!(MPI_Comm_rank(comm, &mut rank));
    // SAFETY: a constant of the library.
    let world = unsafe { ffi::RSMPI_COMM_WORLD };
    let _ = call!(MPI_Comm_rank(world, &mut order));
    // In one piece: others may write at the same time.
    let words = format!("necklace: rank {rank}: {why}, so the job ends here\n");
    let _ = io::stderr().write_all(words.as_bytes());
    thread::sleep(READING + turn(order));
    let _ = call!(MPI_Abort(comm, 1));
}

/// When it is that rank's turn.
fn turn(order: c_int) -> Duration {
    let order = f64::from(order.max(0));
    TURN.mul_f64(order.min(WHOLE_TURNS) + 2.0 * (order / WHOLE_TURNS).max(1.0).log2())
}

/// This process is at its end in that communicator, which is freed once all are.
pub(super) fn depart(comm: ffi::MPI_Comm) -> Result<(), MpiError> {
    let mine = c_int::from(unwell().is_some());
    // SAFETY: constants of the library.
    let (none, int, greatest) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_INT32_T, ffi::RSMPI_MAX) };
    let said = Box::into_raw(Box::new([mine, 0]));
    // SAFETY: it has room for both.
    let (from, into) = unsafe { (said.cast::<c_void>(), said.cast::<c_int>().add(1).cast()) };
    let mut left = Departure { comm, request: none, said };
    call!(MPI_Iallreduce(from, into, 1, int, greatest, comm, &mut left.request))?;
    let mut all = departures();
    all.push(left);
    all.retain_mut(|left| !left.is_over());
    Ok(())
}

fn departures() -> MutexGuard<'static, Vec<Departure>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Departure {
    /// Whether all others have come to their end as well.
    fn is_over(&mut self) -> bool {
        let mut done: c_int = 0;
        let over = call!(MPI_Test(&mut self.request, &mut done, ffi::RSMPI_STATUS_IGNORE)).is_err() || done != 0;
        if over {
            // SAFETY: it is this one's, and MPI is through with it; who is over is dropped.
            let [_, worst] = *unsafe { Box::from_raw(self.said) };
            if worst != 0 {
                unwell().get_or_insert(Unwell::Begun);
            }
            let _ = call!(MPI_Comm_free(&mut self.comm));
        }
        over
    }
}

/// Ends all of them, and waits until the others have, as `MPI_Finalize` would. In there it is
/// better not to wait: where another rank then ends the job, the launcher of Open MPI may hang.
/// Returns what is in the way of finalizing MPI.
fn finish() -> Option<Unwell> {
    let live = std::mem::take(&mut *live());
    let live: Vec<Arc<Process>> = live.iter().filter_map(Weak::upgrade).collect();
    for process in &live {
        process.finish();
    }
    let begin = Instant::now();
    while live.iter().any(|process| process.in_library_call()) {
        if begin.elapsed() > LINGER {
            forbid(Unwell::Busy);
            break;
        }
        rest(begin.elapsed());
    }
    // Where this is the last of it that there is, it has finished.
    drop(live);
    loop {
        let mut left = departures();
        left.retain_mut(|left| !left.is_over());
        let begun = (PENDING.load(Ordering::Relaxed) > 0).then_some(Unwell::Begun);
        let unwell = unwell().or(begun);
        // What never was is in nobody's way until the others are through with what is.
        if left.is_empty() || unwell.is_some_and(|why| why != Unwell::Begun) {
            if unwell.is_none() {
                Comm::free_all();
            }
            return unwell;
        }
        drop(left);
        rest(begin.elapsed());
    }
}

/// Ends the job where finalizing MPI may never end.
fn give_up(unwell: Unwell) {
    let why = match unwell {
        Unwell::Begun => "MPI cannot be finalized, since it still waits for ranks that have not called",
        Unwell::Silent => "MPI cannot be finalized, since another rank has gone silent",
        Unwell::Busy => "MPI cannot be finalized, since a thread of this process is in a call of it",
    };
    // SAFETY: a constant of the library.
    abort(unsafe { ffi::RSMPI_COMM_WORLD }, &why);
}

/// Finalizes MPI when the process exits, unless somebody else has.
pub(super) fn at_exit() {
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> c_int;
    }
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn finalize() {
        let finalize = || {
            // In a fork of it MPI is not this process's.
            if PROCESS.load(Ordering::Relaxed) != process::id() {
                return;
            }
            // MPICH exits in the middle of a call when another rank has ended the job: then it can
            // do nothing any more, and nor can this crate's process, which may wait for that call.
            if ABORTED.load(Ordering::Relaxed) || library::is_inside() || !library::is_alive() {
                return;
            }
            match finish() {
                None => drop(call!(MPI_Finalize())),
                Some(why) => give_up(why),
            }
        };
        // There is nobody to tell.
        let _ = catch_unwind(finalize);
    }
    PROCESS.store(process::id(), Ordering::Relaxed);
    // SAFETY: the callback may be called at any time, from any thread, and does not unwind. If
    // there is no room for it, MPI is not finalized.
    unsafe { atexit(finalize) };
}

/// Has MPI tell when somebody finalizes it: it then drops what is attached to `MPI_COMM_SELF`
/// before anything else.
pub(super) fn hear_of_finalize() -> Result<(), MpiError> {
    static ATTACHED: Mutex<bool> = Mutex::new(false);
    extern "C" fn not_copied(
        _: ffi::MPI_Comm,
        _: c_int,
        _: *mut c_void,
        _: *mut c_void,
        _: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: MPI gives where the answer belongs.
        unsafe { *flag = 0 };
        ffi::MPI_SUCCESS as c_int
    }
    extern "C" fn dropped(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        // There is nobody to tell.
        let _ = catch_unwind(|| match finish() {
            // Who finalizes MPI may know better.
            Some(Unwell::Begun) | None => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_turn_of_its_own_and_the_last_has_it_soon() {
        let turns: Vec<Duration> = (0..65_536).map(turn).collect();
        assert!(turns[..9].windows(2).all(|pair| pair[1] - pair[0] == TURN));
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(turns[65_535] < Duration::from_secs(20) && turn(-1) == Duration::ZERO);
    }
}

//! Operations of a user's own, for MPI to call.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi::ffi;

use super::datatype::Datatype;
use super::error::MpiError;
use super::library::call;
use crate::plan::Reduction;
use crate::transport::engine::state::this_thread;

/// What MPI calls finds the reduction by the datatype of the elements: nothing else is handed to
/// it.
#[derive(Debug)]
pub(super) struct Operation {
    /// The same for all that commute, and for all that do not.
    pub(super) op: ffi::MPI_Op,
    /// An element.
    pub(super) element: Datatype,
    bytes: usize,
    commutes: bool,
}

// SAFETY: handles may be used by any thread: MPI is initialized for that.
unsafe impl Send for Operation {}

/// A call under way.
struct Work<'r> {
    reduction: &'r dyn Reduction,
    /// The only one on which that may be called; and whether MPI has called it on another, which
    /// makes progress for all.
    thread: u64,
    elsewhere: AtomicBool,
    bytes: usize,
    /// What the reduction panicked with. What is combined after that is of no meaning.
    caught: RefCell<Option<Payload>>,
}

/// What somebody has panicked with.
pub(super) type Payload = Box<dyn Any + Send>;

impl Operation {
    /// On elements of so many bytes, in any order if it commutes.
    pub(super) fn new(bytes: usize, commutes: bool) -> Result<Self, MpiError> {
        key()?;
        let element = Datatype::byte().repeated(bytes as u64, 1)?.committed()?;
        Ok(Self { op: op(commutes)?, element, bytes, commutes })
    }

    pub(super) fn is_of(&self, bytes: usize, commutes: bool) -> bool {
        self.bytes == bytes && self.commutes == commutes
    }

    /// Has MPI do something with the reduction. What that has panicked with, if it has.
    pub(super) fn with(
        &self,
        reduction: &dyn Reduction,
        run: impl FnOnce(&Self) -> Result<(), MpiError>,
    ) -> Result<Option<Payload>, MpiError> {
        let (thread, elsewhere) = (this_thread(), AtomicBool::new(false));
        let work = Work { reduction, thread, elsewhere, bytes: self.bytes, caught: RefCell::new(None) };
        call!(MPI_Type_set_attr(self.element.handle, key()?, ptr::from_ref(&work).cast_mut().cast()))?;
        run(self)?;
        if ASTRAY.load(Ordering::Relaxed) {
            let words = "MPI has called an operation without the datatype that says what it is".to_owned();
            return Err(MpiError::Refused { call: "MPI_Type_get_attr", words });
        }
        if work.elsewhere.load(Ordering::Relaxed) {
            let words = "MPI has called an operation on another thread than the one that needs it, as the nonblocking algorithms of MPICH do"
                .to_owned();
            return Err(MpiError::Refused { call: "an operation", words });
        }
        Ok(work.caught.into_inner())
    }
}

/// What has MPI combine by [`combine`].
fn op(commutes: bool) -> Result<ffi::MPI_Op, MpiError> {
    static OPS: [OnceLock<Result<Handle, MpiError>>; 2] = [OnceLock::new(), OnceLock::new()];
    OPS[usize::from(commutes)].get_or_init(|| Handle::new(combine, commutes)).clone().map(|handle| handle.0)
}

/// What MPI combines by: a function, and whether that commutes. It is never freed.
#[derive(Clone)]
pub(super) struct Handle(pub(super) ffi::MPI_Op);

// SAFETY: handles may be used by any thread: MPI is initialized for that.
unsafe impl Send for Handle {}
// SAFETY: as before.
unsafe impl Sync for Handle {}

pub(super) type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut ffi::MPI_Datatype);

impl Handle {
    pub(super) fn new(function: Function, commutes: bool) -> Result<Self, MpiError> {
        // SAFETY: a null pointer or a number, before MPI writes the handle.
        let mut op = unsafe { std::mem::zeroed() };
        call!(MPI_Op_create(Some(function), c_int::from(commutes), &mut op))?;
        Ok(Self(op))
    }
}

/// By which the reduction is attached to a datatype.
fn key() -> Result<c_int, MpiError> {
    extern "C" fn not_copied(
        _: ffi::MPI_Datatype,
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
    extern "C" fn dropped(_: ffi::MPI_Datatype, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        ffi::MPI_SUCCESS as c_int
    }
    static KEY: OnceLock<Result<c_int, MpiError>> = OnceLock::new();
    let made = KEY.get_or_init(|| {
        let mut key: c_int = 0;
        call!(MPI_Type_create_keyval(Some(not_copied), Some(dropped), &mut key, ptr::null_mut()))?;
        Ok(key)
    });
    made.clone()
}

/// Whether something was to be combined, and nobody knows how.
static ASTRAY: AtomicBool = AtomicBool::new(false);

/// `into` becomes what comes from the ranks before, combined with itself.
unsafe extern "C" fn combine(from: *mut c_void, into: *mut c_void, count: *mut c_int, of: *mut ffi::MPI_Datatype) {
    let (mut work, mut found): (*const Work<'_>, c_int) = (ptr::null(), 0);
    // SAFETY: MPI calls this with the datatype to which `with` has attached the work, which is
    // there until MPI is through, and with two buffers of so many of its elements, which do not
    // overlap.
    unsafe {
        if let Ok(key) = key() {
            ffi::MPI_Type_get_attr(*of, key, ptr::from_mut(&mut work).cast(), &mut found);
        }
        let Some(work) = work.as_ref().filter(|_| found != 0) else { return ASTRAY.store(true, Ordering::Relaxed) };
        if work.thread != this_thread() {
            return work.elsewhere.store(true, Ordering::Relaxed);
        }
        let bytes = work.bytes * usize::try_from(*count).unwrap_or(0);
        let left = slice::from_raw_parts(from.cast::<u8>(), bytes);
        let into = slice::from_raw_parts_mut(into.cast::<u8>(), bytes);
        if work.caught.borrow().is_none() {
            let done = catch_unwind(AssertUnwindSafe(|| work.reduction.prepend(into, left)));
            *work.caught.borrow_mut() = done.err();
        }
    }
}

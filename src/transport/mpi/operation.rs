//! User-defined operations that MPI calls.

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
use crate::transport::thread_number::this_thread;

/// An MPI operation that calls a reduction. It finds the reduction by an attribute of the elements'
/// datatype: MPI passes nothing else that could identify it.
#[derive(Debug)]
pub(super) struct Operation {
    /// One handle for all operations that commute, another for all that do not.
    pub(super) op: ffi::MPI_Op,
    /// The datatype of an element.
    pub(super) element: Datatype,
    bytes: usize,
    commutes: bool,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for Operation {}

/// A reduction that MPI may call.
struct ActiveReduction<'r> {
    reduction: &'r dyn Reduction,
    /// The only thread on which it may be called.
    thread: u64,
    /// Whether MPI has called it on another thread, which makes progress for all.
    elsewhere: AtomicBool,
    bytes: usize,
    /// The panic of the reduction, if any. Results after it are meaningless.
    caught: RefCell<Option<Payload>>,
}

/// The payload of a panic.
pub(super) type Payload = Box<dyn Any + Send>;

impl Operation {
    /// Makes an operation on elements of that many bytes, which commutes or not.
    pub(super) fn new(bytes: usize, commutes: bool) -> Result<Self, MpiError> {
        key()?;
        let element = Datatype::byte().repeated(bytes as u64, 1)?.committed()?;
        Ok(Self { op: op(commutes)?, element, bytes, commutes })
    }

    pub(super) fn is_of(&self, bytes: usize, commutes: bool) -> bool {
        self.bytes == bytes && self.commutes == commutes
    }

    /// Runs a call of MPI with the reduction. Returns the panic of the reduction, if it has
    /// panicked.
    pub(super) fn with(
        &self,
        reduction: &dyn Reduction,
        run: impl FnOnce(&Self) -> Result<(), MpiError>,
    ) -> Result<Option<Payload>, MpiError> {
        let (thread, elsewhere) = (this_thread(), AtomicBool::new(false));
        let active = ActiveReduction { reduction, thread, elsewhere, bytes: self.bytes, caught: RefCell::new(None) };
        call!(MPI_Type_set_attr(self.element.handle, key()?, ptr::from_ref(&active).cast_mut().cast()))?;
        run(self)?;
        if UNIDENTIFIED.load(Ordering::Relaxed) {
            let description = "MPI has called an operation without the datatype that identifies it".to_owned();
            return Err(MpiError::Refused { call: "MPI_Type_get_attr", description });
        }
        if active.elsewhere.load(Ordering::Relaxed) {
            let description = "MPI has called an operation on another thread than the one that needs it, as the nonblocking algorithms of MPICH do"
                .to_owned();
            return Err(MpiError::Refused { call: "an operation", description });
        }
        Ok(active.caught.into_inner())
    }
}

/// Returns the MPI operation that calls [`combine`].
fn op(commutes: bool) -> Result<ffi::MPI_Op, MpiError> {
    static OPS: [OnceLock<Result<OpHandle, MpiError>>; 2] = [OnceLock::new(), OnceLock::new()];
    OPS[usize::from(commutes)].get_or_init(|| OpHandle::new(combine, commutes)).clone().map(|handle| handle.0)
}

/// MPI's handle of an operation: a function, and whether it commutes. It is never freed.
#[derive(Clone)]
pub(super) struct OpHandle(pub(super) ffi::MPI_Op);

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for OpHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for OpHandle {}

pub(super) type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut ffi::MPI_Datatype);

impl OpHandle {
    pub(super) fn new(function: Function, commutes: bool) -> Result<Self, MpiError> {
        // SAFETY: a zeroed handle, a null pointer or a number, is valid. MPI overwrites it.
        let mut op = unsafe { std::mem::zeroed() };
        call!(MPI_Op_create(Some(function), c_int::from(commutes), &mut op))?;
        Ok(Self(op))
    }
}

/// Returns the key of the attribute that holds the reduction.
fn key() -> Result<c_int, MpiError> {
    extern "C" fn not_copied(
        _: ffi::MPI_Datatype,
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

/// Whether MPI has called an operation without its reduction.
static UNIDENTIFIED: AtomicBool = AtomicBool::new(false);

/// Combines the operands of lower ranks, `from`, with those of higher ranks, `into`, and stores the
/// result in `into`.
unsafe extern "C" fn combine(from: *mut c_void, into: *mut c_void, count: *mut c_int, of: *mut ffi::MPI_Datatype) {
    let (mut active, mut found): (*const ActiveReduction<'_>, c_int) = (ptr::null(), 0);
    // SAFETY: MPI calls this with the datatype to which `with` has attached the reduction, which
    // lives until the call of MPI returns. `from` and `into` are buffers of `count` elements of
    // that datatype, which do not overlap.
    unsafe {
        if let Ok(key) = key() {
            ffi::MPI_Type_get_attr(*of, key, ptr::from_mut(&mut active).cast(), &mut found);
        }
        let Some(active) = active.as_ref().filter(|_| found != 0) else {
            return UNIDENTIFIED.store(true, Ordering::Relaxed);
        };
        if active.thread != this_thread() {
            return active.elsewhere.store(true, Ordering::Relaxed);
        }
        let bytes = active.bytes * usize::try_from(*count).unwrap_or(0);
        let left = slice::from_raw_parts(from.cast::<u8>(), bytes);
        let into = slice::from_raw_parts_mut(into.cast::<u8>(), bytes);
        if active.caught.borrow().is_none() {
            let done = catch_unwind(AssertUnwindSafe(|| active.reduction.prepend(into, left)));
            *active.caught.borrow_mut() = done.err();
        }
    }
}

//! Long texts, each a message of MPI's straight from memory to memory.

use std::ffi::c_int;
use std::mem;
use std::sync::Arc;

use mpi::ffi;

use super::error::MpiError;
use super::library::call;
use crate::transport::engine::wire::{OutOfBand, WireEvent};

/// What parcels are tagged with: those of a pair come in the order of their announcements.
const TAG: c_int = 2;

/// From here on two more copies cost more than another message. Measured.
const LEAST: usize = 8 << 10;

/// See the [module](self). By process, what goes there and what comes from it.
#[derive(Debug)]
pub(super) struct Parcels {
    comm: ffi::MPI_Comm,
    going: Box<[Option<Request>]>,
    coming: Box<[Option<Coming>]>,
    /// Processes with something under way.
    busy: Vec<usize>,
    /// For what has no place.
    desks: Vec<Vec<u8>>,
    /// What MPI has not done.
    broken: Option<MpiError>,
}

/// MPI's handle of something under way.
#[derive(Debug)]
struct Request(ffi::MPI_Request);

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Request {}

#[derive(Debug)]
struct Coming {
    request: Request,
    bytes: usize,
    /// Where it comes to, if it has no place.
    desk: Option<Vec<u8>>,
    /// Whether it was called back from its place.
    called: bool,
    /// Whether it has come, and whether that was told.
    here: bool,
    told: bool,
}

// SAFETY: it is used only under the lock of the engine.
unsafe impl Send for Parcels {}

impl Request {
    fn new() -> Self {
        // SAFETY: a constant of the library.
        Self(unsafe { ffi::RSMPI_REQUEST_NULL })
    }

    /// Whether MPI is through with it; and whether it was cancelled.
    fn is_done(&mut self) -> Result<Option<bool>, MpiError> {
        // SAFETY: all of a status may be zero.
        let (mut done, mut status): (c_int, ffi::MPI_Status) = (0, unsafe { mem::zeroed() });
        call!(MPI_Test(&mut self.0, &mut done, &mut status))?;
        if done == 0 {
            return Ok(None);
        }
        let mut cancelled: c_int = 0;
        call!(MPI_Test_cancelled(&status, &mut cancelled))?;
        Ok(Some(cancelled != 0))
    }
}

impl Parcels {
    pub(super) fn new(comm: ffi::MPI_Comm, size: usize) -> Self {
        Self {
            comm,
            going: (0..size).map(|_| None).collect(),
            coming: (0..size).map(|_| None).collect(),
            busy: Vec::with_capacity(size),
            desks: Vec::new(),
            broken: None,
        }
    }

    /// Looks what has gone, and what has come. What fails stays under way: whether MPI still has
    /// its memory, nobody knows.
    pub(super) fn poll(&mut self, events: &mut Vec<WireEvent>) -> Result<(), MpiError> {
        let Self { going, coming, busy, broken, .. } = self;
        let mut failed = broken.take().map_or(Ok(()), Err);
        let mut is_done = |request: &mut Request| {
            request.is_done().map(|done| done.is_some()).unwrap_or_else(|error| {
                failed = Err(error);
                false
            })
        };
        busy.retain(|&process| {
            let sent = going[process].as_mut().is_some_and(&mut is_done);
            if sent {
                going[process] = None;
            }
            let mut received = false;
            if let Some(parcel) = coming[process].as_mut().filter(|parcel| !parcel.told && !parcel.called) {
                parcel.here = parcel.here || is_done(&mut parcel.request);
                (received, parcel.told) = (parcel.here, parcel.here);
            }
            if sent || received {
                events.push(WireEvent { process, sent, received, ..WireEvent::default() });
            }
            going[process].is_some() || coming[process].is_some()
        });
        failed
    }

    /// How many are under way.
    pub(super) fn under_way(&self) -> usize {
        self.busy.len()
    }

    fn note(&mut self, process: usize) {
        if !self.busy.contains(&process) {
            self.busy.push(process);
        }
    }

    fn post(&mut self, from: usize, into: *mut u8, bytes: usize) -> Result<Request, MpiError> {
        let mut request = Request::new();
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        call!(MPI_Irecv(into.cast(), bytes as c_int, byte, from as c_int, TAG, self.comm, &mut request.0))?;
        Ok(request)
    }

    fn take_desk(&mut self, bytes: usize) -> Vec<u8> {
        let mut desk = self.desks.pop().unwrap_or_default();
        desk.resize(bytes, 0);
        desk
    }
}

impl Drop for Parcels {
    /// What is still with MPI stays there.
    fn drop(&mut self) {
        self.coming.iter_mut().filter_map(Option::take).for_each(|parcel| mem::forget(parcel.desk));
    }
}

impl OutOfBand for Parcels {
    fn least(&self) -> usize {
        LEAST
    }

    unsafe fn send(&mut self, to: usize, from: *const u8, bytes: usize) -> Result<(), Arc<str>> {
        let mut request = Request::new();
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        let posted = call!(MPI_Isend(from.cast(), bytes as c_int, byte, to as c_int, TAG, self.comm, &mut request.0));
        posted.map_err(|error| Arc::from(error.to_string()))?;
        self.going[to] = Some(request);
        self.note(to);
        Ok(())
    }

    unsafe fn receive(&mut self, from: usize, into: Option<*mut u8>, bytes: usize) -> Result<(), Arc<str>> {
        let mut desk = into.is_none().then(|| self.take_desk(bytes));
        let place = desk.as_mut().map_or(into, |desk| Some(desk.as_mut_ptr())).unwrap_or(std::ptr::null_mut());
        let request = self.post(from, place, bytes).map_err(|error| Arc::from(error.to_string()))?;
        self.coming[from] = Some(Coming { request, bytes, desk, called: false, here: false, told: false });
        self.note(from);
        Ok(())
    }

    fn call_back(&mut self, from: usize) -> bool {
        let Some(parcel) = self.coming[from].as_mut() else { return true };
        if parcel.here || parcel.desk.is_some() {
            return true;
        }
        if !std::mem::replace(&mut parcel.called, true) {
            // If it cannot be, it comes.
            let _ = call!(MPI_Cancel(&mut parcel.request.0));
        }
        let Ok(Some(cancelled)) = parcel.request.is_done() else { return false };
        parcel.called = false;
        let bytes = parcel.bytes;
        if !cancelled {
            // It comes to its place after all, as has been told; the next look tells.
            parcel.here = true;
            return true;
        }
        let mut desk = self.take_desk(bytes);
        match self.post(from, desk.as_mut_ptr(), bytes) {
            Ok(request) => {
                self.coming[from] =
                    Some(Coming { request, bytes, desk: Some(desk), called: false, here: false, told: false });
            }
            Err(why) => {
                // It does not come at all. Whether MPI has the desk, nobody knows.
                mem::forget(desk);
                self.broken = Some(why);
            }
        }
        true
    }

    fn bounce_buffer(&mut self, from: usize) -> Option<Vec<u8>> {
        self.coming[from].take().and_then(|parcel| parcel.desk)
    }

    fn put_back(&mut self, desk: Vec<u8>) {
        if self.desks.len() < 4 {
            self.desks.push(desk);
        }
    }
}

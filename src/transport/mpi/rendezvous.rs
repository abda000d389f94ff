//! Rendezvous messages: long payloads, each an MPI message straight from memory to memory.

use std::ffi::c_int;
use std::mem;
use std::sync::Arc;

use mpi::ffi;

use super::error::MpiError;
use super::library::call;
use crate::transport::out_of_band::OutOfBand;
use crate::transport::wire::WireEvent;

/// MPI tag of rendezvous messages. Those of a pair arrive in the order of their announcements.
const TAG: c_int = 2;

/// Minimum size of a rendezvous message. From here on, two more copies cost more than another
/// message; measured.
const MIN_RENDEZVOUS: usize = 8 << 10;

/// The rendezvous messages under way, at most one to and one from each process.
#[derive(Debug)]
pub(super) struct RendezvousMessages {
    comm: ffi::MPI_Comm,
    sends: Box<[Option<Request>]>,
    receives: Box<[Option<PendingReceive>]>,
    /// Processes with a message under way.
    busy: Vec<usize>,
    /// Unused bounce buffers.
    spare_buffers: Vec<Vec<u8>>,
    /// An error of MPI that is still to be reported.
    broken: Option<MpiError>,
}

/// MPI's handle of a message under way.
#[derive(Debug)]
struct Request(ffi::MPI_Request);

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for Request {}

#[derive(Debug)]
struct PendingReceive {
    request: Request,
    bytes: usize,
    /// The buffer into which it is received, unless it goes to the user's memory.
    bounce_buffer: Option<Vec<u8>>,
    /// Whether its receive into the user's memory is being cancelled.
    cancelling: bool,
    /// Whether it has come, and whether an event has reported that.
    received: bool,
    reported: bool,
}

// SAFETY: it is used only under the lock of the progress engine.
unsafe impl Send for RendezvousMessages {}

impl Request {
    fn new() -> Self {
        // SAFETY: reads a constant of the library.
        Self(unsafe { ffi::RSMPI_REQUEST_NULL })
    }

    /// Tests the request. Returns whether it was cancelled, or `None` if it is not complete.
    fn is_done(&mut self) -> Result<Option<bool>, MpiError> {
        // SAFETY: a zeroed status is valid.
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

impl RendezvousMessages {
    pub(super) fn new(comm: ffi::MPI_Comm, size: usize) -> Self {
        Self {
            comm,
            sends: (0..size).map(|_| None).collect(),
            receives: (0..size).map(|_| None).collect(),
            busy: Vec::with_capacity(size),
            spare_buffers: Vec::new(),
            broken: None,
        }
    }

    /// Tests all messages under way and reports those that are complete. One that fails stays under
    /// way, since MPI may still use its memory.
    pub(super) fn poll(&mut self, events: &mut Vec<WireEvent>) -> Result<(), MpiError> {
        let Self { sends, receives, busy, broken, .. } = self;
        let mut failed = broken.take().map_or(Ok(()), Err);
        let mut is_done = |request: &mut Request| {
            request.is_done().map(|done| done.is_some()).unwrap_or_else(|error| {
                failed = Err(error);
                false
            })
        };
        busy.retain(|&process| {
            let sent = sends[process].as_mut().is_some_and(&mut is_done);
            if sent {
                sends[process] = None;
            }
            let mut received = false;
            if let Some(message) = receives[process].as_mut().filter(|message| !message.reported && !message.cancelling)
            {
                message.received = message.received || is_done(&mut message.request);
                (received, message.reported) = (message.received, message.received);
            }
            if sent || received {
                events.push(WireEvent { process, sent, received, ..WireEvent::default() });
            }
            sends[process].is_some() || receives[process].is_some()
        });
        failed
    }

    /// Returns the number of processes with messages under way.
    pub(super) fn under_way(&self) -> usize {
        self.busy.len()
    }

    /// Notes that a message to or from a process is under way.
    fn note(&mut self, process: usize) {
        if !self.busy.contains(&process) {
            self.busy.push(process);
        }
    }

    /// Posts a receive.
    fn post(&mut self, from: usize, into: *mut u8, bytes: usize) -> Result<Request, MpiError> {
        let mut request = Request::new();
        // SAFETY: reads a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        call!(MPI_Irecv(into.cast(), bytes as c_int, byte, from as c_int, TAG, self.comm, &mut request.0))?;
        Ok(request)
    }

    fn take_buffer(&mut self, bytes: usize) -> Vec<u8> {
        let mut bounce_buffer = self.spare_buffers.pop().unwrap_or_default();
        bounce_buffer.resize(bytes, 0);
        bounce_buffer
    }
}

impl Drop for RendezvousMessages {
    /// Leaks the bounce buffers that MPI still owns.
    fn drop(&mut self) {
        self.receives.iter_mut().filter_map(Option::take).for_each(|message| mem::forget(message.bounce_buffer));
    }
}

impl OutOfBand for RendezvousMessages {
    fn least(&self) -> usize {
        MIN_RENDEZVOUS
    }

    unsafe fn send(&mut self, to: usize, from: *const u8, bytes: usize) -> Result<(), Arc<str>> {
        let mut request = Request::new();
        // SAFETY: reads a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        let posted = call!(MPI_Isend(from.cast(), bytes as c_int, byte, to as c_int, TAG, self.comm, &mut request.0));
        posted.map_err(|error| Arc::from(error.to_string()))?;
        self.sends[to] = Some(request);
        self.note(to);
        Ok(())
    }

    unsafe fn receive(&mut self, from: usize, into: Option<*mut u8>, bytes: usize) -> Result<(), Arc<str>> {
        let mut bounce_buffer = into.is_none().then(|| self.take_buffer(bytes));
        let place =
            bounce_buffer.as_mut().map_or(into, |buffer| Some(buffer.as_mut_ptr())).unwrap_or(std::ptr::null_mut());
        let request = self.post(from, place, bytes).map_err(|error| Arc::from(error.to_string()))?;
        self.receives[from] =
            Some(PendingReceive { request, bytes, bounce_buffer, cancelling: false, received: false, reported: false });
        self.note(from);
        Ok(())
    }

    fn call_back(&mut self, from: usize) -> bool {
        let Some(message) = self.receives[from].as_mut() else { return true };
        if message.received || message.bounce_buffer.is_some() {
            return true;
        }
        if !std::mem::replace(&mut message.cancelling, true) {
            // If it cannot be cancelled, the message comes.
            let _ = call!(MPI_Cancel(&mut message.request.0));
        }
        let Ok(Some(cancelled)) = message.request.is_done() else { return false };
        message.cancelling = false;
        let bytes = message.bytes;
        if !cancelled {
            // The message has come to the user's memory after all. The next poll reports it.
            message.received = true;
            return true;
        }
        let mut bounce_buffer = self.take_buffer(bytes);
        match self.post(from, bounce_buffer.as_mut_ptr(), bytes) {
            Ok(request) => {
                self.receives[from] = Some(PendingReceive {
                    request,
                    bytes,
                    bounce_buffer: Some(bounce_buffer),
                    cancelling: false,
                    received: false,
                    reported: false,
                });
            }
            Err(why) => {
                // The message cannot be received. MPI may still own the buffer.
                mem::forget(bounce_buffer);
                self.broken = Some(why);
            }
        }
        true
    }

    fn bounce_buffer(&mut self, from: usize) -> Option<Vec<u8>> {
        self.receives[from].take().and_then(|message| message.bounce_buffer)
    }

    fn put_back(&mut self, bounce_buffer: Vec<u8>) {
        if self.spare_buffers.len() < 4 {
            self.spare_buffers.push(bounce_buffer);
        }
    }
}

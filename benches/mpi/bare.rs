//! Reference benchmarks: MPI's functions, called as a C program calls them.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ops::Range;
use std::ptr;

use ::mpi::ffi;

/// An MPI communicator, and the buffers of an exchange.
pub(crate) struct Bare {
    comm: ffi::MPI_Comm,
    rank: usize,
    ranks: usize,
    requests: Vec<ffi::MPI_Request>,
}

impl Bare {
    pub(crate) fn new(comm: ffi::MPI_Comm, rank: usize, ranks: usize) -> Self {
        // SAFETY: a constant of the library.
        Self { comm, rank, ranks, requests: vec![unsafe { ffi::RSMPI_REQUEST_NULL }; 2 * ranks] }
    }

    /// The library's own function.
    pub(crate) fn alltoall(&self, send: &[u8], receive: &mut [u8]) {
        let block = self.block(send, receive);
        // SAFETY: both buffers have a block for each rank.
        unsafe {
            let (from, into, byte) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), ffi::RSMPI_UINT8_T);
            ffi::MPI_Alltoall(from, block as c_int, byte, into, block as c_int, byte, self.comm);
        }
    }

    /// The library's own function and operation.
    pub(crate) fn maximum(&self, send: &[f64], receive: &mut [f64]) {
        assert_eq!(send.len(), receive.len(), "as many numbers");
        // SAFETY: both buffers have as many.
        unsafe {
            let (from, into, float) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), ffi::RSMPI_DOUBLE);
            ffi::MPI_Allreduce(from, into, send.len() as c_int, float, ffi::RSMPI_MAX, self.comm);
        }
    }

    /// Exchanges as `direct` does: one message to and from each rank.
    pub(crate) fn exchange(&mut self, send: &[u8], receive: &mut [u8]) {
        let block = self.block(send, receive);
        let of = |rank: usize| -> Range<usize> { rank * block..(rank + 1) * block };
        receive[of(self.rank)].copy_from_slice(&send[of(self.rank)]);
        let (rank, ranks) = (self.rank, self.ranks);
        let others = (1..ranks).map(|step| (rank + step) % ranks);
        // SAFETY: each message has a block of its own, there until all are done.
        unsafe {
            for (peer, request) in others.clone().zip(&mut self.requests) {
                let into = receive[of(peer)].as_mut_ptr().cast();
                ffi::MPI_Irecv(into, block as c_int, ffi::RSMPI_UINT8_T, peer as c_int, 0, self.comm, request);
            }
            for (peer, request) in others.zip(&mut self.requests[ranks - 1..]) {
                let from = send[of(peer)].as_ptr().cast();
                ffi::MPI_Isend(from, block as c_int, ffi::RSMPI_UINT8_T, peer as c_int, 0, self.comm, request);
            }
            let count = 2 * (ranks - 1);
            ffi::MPI_Waitall(count as c_int, self.requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE);
        }
    }

    /// Broadcasts a number from rank 0.
    pub(crate) fn agree(&self, mut number: u64) -> u64 {
        // SAFETY: it is one number on every rank.
        unsafe { ffi::MPI_Bcast(ptr::from_mut(&mut number).cast(), 1, ffi::RSMPI_UINT64_T, 0, self.comm) };
        number
    }

    fn block(&self, send: &[u8], receive: &[u8]) -> usize {
        assert_eq!(send.len(), receive.len(), "a block to and from each rank");
        assert_eq!(send.len() % self.ranks, 0, "blocks of one length");
        send.len() / self.ranks
    }
}

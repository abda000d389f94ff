//! Copies into a mailbox, signals, and copies out.
//!
//! A pair has two cells, used in turn. A rank that begins call c + 2 has ended call c + 1, so it
//! has received from every rank in that call. So every rank has ended call c and emptied its cells,
//! which are free without a further signal.

use std::cell::UnsafeCell;
use std::ptr::copy_nonoverlapping;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Apart;
use crate::wait::Wait;

/// Bytes of a cache line.
const LINE: usize = 64;

#[derive(Debug)]
pub(crate) struct Staged {
    /// By parity of the call, receiver and sender: the number of the call, then the block, on the
    /// same line if it fits.
    cells: Box<[UnsafeCell<Apart<[u8; 128]>>]>,
    /// Lengths in units of a cell's element.
    units: usize,
    /// Offset of the block within a cell.
    offset: usize,
    ranks: usize,
    block: usize,
    wait: Wait,
}

// SAFETY: a cell's number is atomic; its block is written by the sender before, and read by the
// receiver after, the number is that of the call; that it is free again before it is written anew
// is argued above.
unsafe impl Sync for Staged {}

impl Staged {
    pub(crate) fn new(ranks: usize, block: usize) -> Self {
        let offset = if block + 8 <= LINE { 8 } else { LINE };
        let units = (offset + block).div_ceil(128);
        let cells = (0..2 * ranks * ranks * units).map(|_| UnsafeCell::new(Apart([0; 128]))).collect();
        Self { cells, units, offset, ranks, block, wait: Wait::new(ranks) }
    }

    fn cell(&self, call: u64, to: usize, from: usize) -> *mut u8 {
        let index = (call as usize % 2 * self.ranks + to) * self.ranks + from;
        // From the whole, so that the pointer may reach past the first element.
        let base = self.cells.as_ptr().cast::<u8>().cast_mut();
        base.wrapping_add(index * self.units * 128)
    }

    /// # Safety
    ///
    /// The buffers are as long as all blocks, the caller is the only one of this rank, and this is
    /// its `call`-th call, from
    /// 1.
    pub(crate) unsafe fn alltoall(&self, me: usize, call: u64, send: &[u8], receive: &mut [u8]) {
        let Self { ranks, block, offset, wait, .. } = *self;
        for i in 1..ranks {
            let to = (me + i) % ranks;
            let cell = self.cell(call, to, me);
            // SAFETY: the cell is as long as the offset and the block, and free; it is aligned for
            // the number.
            unsafe {
                copy_nonoverlapping(send.as_ptr().add(to * block), cell.add(offset), block);
                AtomicU64::from_ptr(cell.cast()).store(call, Ordering::Release);
            }
        }
        let own = me * block..(me + 1) * block;
        receive[own.clone()].copy_from_slice(&send[own]);
        for i in 1..ranks {
            let from = (me + ranks - i) % ranks;
            let cell = self.cell(call, me, from);
            // SAFETY: as above; the sender has written the block before the number, and leaves both
            // alone until this rank has ended this call.
            unsafe {
                let number = AtomicU64::from_ptr(cell.cast());
                wait.until(|| number.load(Ordering::Acquire) == call);
                copy_nonoverlapping(cell.add(offset), receive.as_mut_ptr().add(from * block), block);
            }
        }
    }
}

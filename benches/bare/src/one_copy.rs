//! Publishes the addresses of blocks, waits, copies from the senders, and waits until the others
//! have copied.

use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::Apart;
use crate::wait::Wait;

#[derive(Debug)]
pub(crate) struct OneCopy {
    offers: Box<[Apart<Offer>]>,
    /// The number of blocks of each rank that others have copied, in all calls together.
    taken: Box<[Apart<AtomicU64>]>,
    block: usize,
    wait: Wait,
}

/// The address of a rank's blocks, and the number of its call.
#[derive(Debug)]
struct Offer {
    call: AtomicU64,
    blocks: AtomicPtr<u8>,
}

impl OneCopy {
    pub(crate) fn new(ranks: usize, block: usize) -> Self {
        let offer = || Apart(Offer { call: AtomicU64::new(0), blocks: AtomicPtr::new(null_mut()) });
        Self {
            offers: (0..ranks).map(|_| offer()).collect(),
            taken: (0..ranks).map(|_| Apart::default()).collect(),
            block,
            wait: Wait::new(ranks),
        }
    }

    /// # Safety
    ///
    /// The buffers are as long as all blocks, the caller is the only one of this rank, and this is
    /// its `call`-th call, from
    /// 1.
    pub(crate) unsafe fn alltoall(&self, me: usize, call: u64, send: &[u8], receive: &mut [u8]) {
        let Self { offers, taken, block, wait } = self;
        let (ranks, block) = (offers.len(), *block);
        let Apart(mine) = &offers[me];
        mine.blocks.store(send.as_ptr().cast_mut(), Ordering::Relaxed);
        mine.call.store(call, Ordering::Release);
        let own = me * block..(me + 1) * block;
        receive[own.clone()].copy_from_slice(&send[own]);
        for i in 1..ranks {
            let from = (me + i) % ranks;
            let Apart(theirs) = &offers[from];
            wait.until(|| theirs.call.load(Ordering::Acquire) == call);
            // SAFETY: the sender's buffer is as long as all blocks, and it stays in its call, with
            // its buffer borrowed, until all others have counted up `taken`.
            unsafe {
                let blocks = theirs.blocks.load(Ordering::Relaxed);
                copy_nonoverlapping(blocks.add(me * block), receive.as_mut_ptr().add(from * block), block);
            }
            taken[from].0.fetch_add(1, Ordering::Release);
        }
        let all = call * (ranks as u64 - 1);
        wait.until(|| taken[me].0.load(Ordering::Acquire) == all);
    }
}

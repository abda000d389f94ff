//! Allocations, counted.

// A global allocator cannot be had without.
#![allow(dead_code, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, which counts, for each thread and for all of them.
struct Counting;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) allocations: u64,
    /// Bytes allocated since, though they may be free again.
    pub(crate) bytes: i64,
    pub(crate) held: i64,
    /// The most that was held at once.
    pub(crate) peak: i64,
}

/// Allocations of all threads.
static ALL: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { allocations: 0, bytes: 0, held: 0, peak: 0 }) };
}

fn note(grown: usize, shrunk: usize) {
    ALL.fetch_add(u64::from(grown > 0), Ordering::Relaxed);
    // A thread that is ending has no count any more.
    let _ = COUNT.try_with(|count| {
        let Count { allocations, bytes, held, peak } = count.get();
        let held = held + grown as i64 - shrunk as i64;
        let allocations = allocations + u64::from(grown > 0);
        count.set(Count { allocations, bytes: bytes + grown as i64, held, peak: peak.max(held) });
    });
}

// SAFETY: everything is the system's allocator's doing; counting neither allocates nor touches what
// is allocated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Memory) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Memory) {
        note(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Memory) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Memory, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What this thread allocates in a piece of work.
pub(crate) fn counted<R>(work: impl FnOnce() -> R) -> (R, Count) {
    let before = COUNT.get();
    COUNT.set(Count { peak: before.held, ..before });
    let result = work();
    let Count { allocations, bytes, held, peak } = COUNT.get();
    let count = Count {
        allocations: allocations - before.allocations,
        bytes: bytes - before.bytes,
        held: held - before.held,
        peak: peak - before.held,
    };
    (result, count)
}

/// How often any thread has allocated so far.
pub(crate) fn all() -> u64 {
    ALL.load(Ordering::Relaxed)
}

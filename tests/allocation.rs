//! A round of a program that has run before allocates nothing.

#![cfg(feature = "local")]
#![allow(unsafe_code)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use necklace::transport::local;

use support::{Work, alltoall, on_each, world};

/// The system's allocator, which counts for each thread.
struct Counting;

thread_local!(static ALLOCATIONS: Cell<u64> = const { Cell::new(0) });

// SAFETY: all is left to the system's allocator; the count is a plain cell that needs no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no count any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_round_of_a_program_that_has_run_before_allocates_nothing() {
    let counts = on_each(local::job(8).unwrap(), |endpoint| {
        let mut work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), 8, 1000));
        work.call().unwrap();
        let before = ALLOCATIONS.get();
        for _ in 0..100 {
            work.call().unwrap();
        }
        ALLOCATIONS.get() - before
    });
    assert_eq!(counts, [0; 8]);
}

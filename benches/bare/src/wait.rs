//! Waits by spinning, without limit.

use std::hint::spin_loop;
use std::thread::{available_parallelism, yield_now};

/// The way in which a thread waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Whether each rank has its own core, so that spinning does not delay others.
    core_each: bool,
}

impl Wait {
    pub(crate) fn new(ranks: usize) -> Self {
        Self { core_each: ranks <= available_parallelism().map_or(1, usize::from) }
    }

    #[inline]
    pub(crate) fn until(self, mut done: impl FnMut() -> bool) {
        while !done() {
            if self.core_each { spin_loop() } else { yield_now() }
        }
    }
}

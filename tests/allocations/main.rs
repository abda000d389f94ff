//! What allocates, and what does not: executions of plans that were made do not; planning takes
//! memory in proportion to the rank's own blocks.

#![allow(clippy::unwrap_used)]

mod counting;

mod calls;
mod plans;
mod settling;

mod memory;
mod native;
mod repeated;

use counting::counted;

#[test]
fn allocations_are_counted() {
    let (kept, count) = counted(|| {
        drop(vec![0_u8; 1000]);
        vec![1_u8; 10]
    });
    assert_eq!((count.allocations, count.bytes, count.held, count.peak), (2, 1010, 10, 1000));
    drop(kept);
}

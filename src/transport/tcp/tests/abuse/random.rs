//! Random numbers.

use crate::transport::engine::frame::MAX_TEXT;

/// A generator of random numbers that are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// Returns a number that is often a boundary value.
    pub(super) fn number(&mut self) -> u64 {
        let some = self.draw();
        [0, 1, 2, some % 64, 600, u64::from(MAX_TEXT), 1 << 31, 1 << 63, u64::MAX - 1, u64::MAX, some][self.below(11)]
    }
}

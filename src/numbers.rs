//! Pseudo-random numbers.

/// Pseudo-random numbers, the same on every machine (Marsaglia's xorshift64).
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Returns the numbers of a seed. Seeds that differ in their lowest bit alone are equal.
    pub(crate) fn new(seed: u64) -> Self {
        // 0 would give zeros for ever.
        Self(seed | 1)
    }

    /// Returns 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below a limit that fits in 32 bits.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }
}

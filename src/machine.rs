//! What a machine charges.

/// The prices of a machine, in picoseconds, so that every rank computes the same in integers.
///
/// The terms are those of the papers' cost models, and one that they leave out: the processor's time a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// A round: until the first byte of a message moves (`t_s`).
    pub startup: u64,
    /// Each message that a rank sends and receives besides: the processor's time.
    pub message: u64,
    /// Each byte that a rank sends (`t_c`, `t_w`).
    pub byte: u64,
    /// Each channel that a message crosses (`t_l`).
    pub hop: u64,
    /// Each byte put into another order between phases (`rho`).
    pub rearrangement: u64,
}

impl Machine {
    /// Ranks that are threads of one process: memory reaches memory, whatever the topology.
    pub const THREADS: Self = Self { startup: 2_000_000, message: 150_000, byte: 100, hop: 0, rearrangement: 0 };

    /// The same with another price a round.
    #[must_use]
    pub fn with_startup(self, startup: u64) -> Self {
        Self { startup, ..self }
    }

    /// The same with another price a message.
    #[must_use]
    pub fn with_message(self, message: u64) -> Self {
        Self { message, ..self }
    }

    /// The same with another price a byte.
    #[must_use]
    pub fn with_byte(self, byte: u64) -> Self {
        Self { byte, ..self }
    }
}

//! Machines: the prices of start-ups, messages, bytes, channels and hops.
//!
//! [`cost`](crate::cost) multiplies the demands of a schedule by the prices of a [`Machine`].
//! [`simulate`](crate::simulate) plays a schedule out with these prices. All prices are in
//! picoseconds.
//!
//! | name | machine |
//! |---|---|
//! | `threads` | ranks that are threads of one process, [`Machine::THREADS`] |
//! | `tcp` | processes of one host over TCP, [`Machine::TCP`] |
//! | `mpi` | processes of one host over MPI, [`Machine::MPI`] |
//! | `paragon` | Intel's Paragon (Suh & Shin 2001, 5), [`Machine::PARAGON`] |
//! | `unit` | a microsecond a round and a microsecond a byte, [`Machine::UNIT`] |
//! | `free` | all prices 0, [`Machine::FREE`] |
//!
//! # Text
//!
//! A machine is written as `NAME` or `NAME:key=price,..`, where NAME is a name of the table above
//! and the keys are the names of the fields. A price is a number with a unit (`ps`, `ns`, `us`,
//! `ms` or `s`), or 0; `cores` is a number:
//!
//! ```
//! use necklace::machine::Machine;
//! let machine: Machine = "paragon:message=110us,hop=0".parse()?;
//! assert_eq!(machine, Machine::PARAGON.with_message(110_000_000).with_hop(0));
//! assert_eq!(machine.to_string().parse::<Machine>()?, machine);
//! # Ok::<(), necklace::machine::MachineError>(())
//! ```
//!
//! # File
//!
//! A machine can also be read from JSON, by `Machine::from_json` (feature `json`): an object with
//! the same keys. Prices are strings, and 0 unless given:
//!
//! ```json
//! {"message": "37.5 us", "byte": "0.011 us", "channel": "0.011 us", "hop": "20 ns",
//!  "switching": "cut-through"}
//! ```
//!
//! It may also have `"version": 1`, the version of the format, and a `"note"` of any text.
//! [`load_machine`](crate::load_machine) reads a machine file; `necklace tune` measures a machine
//! and writes one.

mod field;
mod text;

pub use self::text::MachineError;

/// The prices of a machine, in picoseconds.
///
/// They cover the five terms of the papers' cost models: start-up, transmission, propagation,
/// rearrangement and synchronisation (Suh & Shin 2001, 2). Three more prices are new: the
/// processor's time for each message, its time to combine bytes, and a price of channels apart from
/// that of ports. Prices are integers, so that all ranks compute equal results.
///
/// Start from a predefined machine, and change prices with the methods `with_..`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// Time of a round with a send, until the first byte of a message moves (`t_s`).
    pub startup: u64,
    /// Further time for each message: the processor's time to send it, and again to receive it.
    pub message: u64,
    /// Time of each byte through the port of a rank, out or in (`t_c`, `t_w`). All messages of a
    /// rank share its port. 0 for machines with one port for each channel, where only
    /// [`channel`](Self::channel) counts.
    pub byte: u64,
    /// Time of each byte over a channel (`t_c`, `t_w`). Transfers that share a channel share its
    /// bandwidth. 0 if the network is never the bottleneck.
    pub channel: u64,
    /// Time of each channel that a message crosses (`t_l`, `t_h`).
    pub hop: u64,
    /// Further time of each byte that leaves or enters a host, which the ranks of the host share. 0
    /// unless set. It counts only where it is [known](crate::schedule::Problem::hosts) which ranks
    /// share a host.
    pub host: u64,
    /// The number of cores of a host, which its ranks share. 0 unless set: each rank has a core of
    /// its own. It counts only where it is [known](crate::schedule::Problem::hosts) which ranks
    /// share a host.
    pub cores: u64,
    /// Time of each byte that is rearranged between phases (`rho`).
    pub rearrangement: u64,
    /// Time of each byte of a reduction that is combined with another (`t_add` for a word, Grama et
    /// al., problem 4.8). On [one-sided](Self::one_sided) machines, a byte is combined as it is
    /// moved, so that of this price and that of a byte, the higher one counts.
    pub combination: u64,
    /// Time of a barrier between two rounds (`t_b`), before [`doubling`](Self::doubling) is added;
    /// the sum is at least 0. The papers put a barrier between any two rounds. This crate executes
    /// schedules without barriers, so this price is [shown](crate::cost::Price::synchronisation)
    /// beside the total and decides nothing.
    pub synchronisation: i64,
    /// Time that each doubling of the number of ranks adds to a barrier.
    pub doubling: u64,
    /// The way in which messages cross several channels.
    pub switching: Switching,
    /// Whether the receiver alone moves a message's bytes, as among threads and by remote reads.
    /// Then [`byte`](Self::byte) is the price of what a rank receives, and what it sends is free.
    pub one_sided: bool,
}

/// The way in which a message crosses several channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Switching {
    /// The message follows its head through the network, and gathers at a node where its head
    /// waits.
    #[default]
    CutThrough,
    /// Each node on the route receives the whole message before it sends it on.
    StoreAndForward,
}

impl Machine {
    /// All prices 0: the machine to start from.
    pub const FREE: Self = Self {
        startup: 0,
        message: 0,
        byte: 0,
        channel: 0,
        hop: 0,
        host: 0,
        cores: 0,
        rearrangement: 0,
        combination: 0,
        synchronisation: 0,
        doubling: 0,
        switching: Switching::CutThrough,
        one_sided: false,
    };

    /// Returns whether any price depends on the network: that of a channel or of a hop, or
    /// store-and-forward switching.
    pub(crate) fn charges_for_network(&self) -> bool {
        self.channel > 0 || self.hop > 0 || self.switching == Switching::StoreAndForward
    }

    /// Returns the time that its combination adds to a byte that is combined.
    pub(crate) fn added_by_combination(&self) -> u64 {
        self.combination.saturating_sub(if self.one_sided { self.byte } else { 0 })
    }

    /// Ranks that are threads of one process. A receiver copies from the sender's memory in any
    /// topology, so only rounds, messages and bytes received have prices.
    ///
    /// These are round figures. They rank algorithms as `necklace bench` measures them with 4 to
    /// 256 ranks on two cores (`direct` before `bruck` of any radix up to some 128 ranks; for an
    /// allreduce among 4 or 8, `recursive-doubling` before `rabenseifner` up to 64 KiB), and do not
    /// predict times. A byte that is combined costs no more than one that is copied.
    pub const THREADS: Self =
        Self { startup: 4_000_000, message: 20_000, byte: 70, combination: 35, one_sided: true, ..Self::FREE };

    /// Ranks that are processes of one host, over TCP. A message costs system calls at both ends, a
    /// byte costs two copies.
    ///
    /// These are round figures, fitted to `necklace bench --backend tcp` with 2 ranks and blocks
    /// of 8 bytes to 1 MiB on two cores. They rank algorithms correctly there with 4 to 16 ranks
    /// (`bruck` before `direct` for small blocks, up to some KiB with 8 or more ranks). A network
    /// between hosts has other prices.
    pub const TCP: Self = Self { startup: 1_000_000, message: 2_500_000, byte: 300, combination: 35, ..Self::FREE };

    /// Ranks that are processes of one host, over MPI. Messages go through shared memory.
    ///
    /// These are round figures, fitted to `benches/mpi` with 2 ranks and blocks of 8 bytes to 1 MiB
    /// on two cores. They rank `direct` before `bruck` (there, `--algorithm bruck`) with 4 to 16
    /// ranks and blocks of 8 bytes to 64 KiB. A network between hosts has other prices.
    pub const MPI: Self = Self { startup: 1_000_000, message: 100_000, byte: 150, combination: 35, ..Self::FREE };

    /// Intel's Paragon, as measured by Suh & Shin (2001, 5): `t_s` 75 us, `t_c` 0.011 us, `t_l`
    /// 0.02 us, `rho` 0.014 us, and a barrier of 126 d - 113 us on 2^d x 2^d nodes, which is 63 us
    /// a doubling.
    ///
    /// Their `t_s` is the time of software at both ends of each message (2001, 2). Here it is the
    /// price of a message, half at each end: one message a round costs the same, and several
    /// messages cost several times as much.
    pub const PARAGON: Self = Self {
        message: 37_500_000,
        byte: 11_000,
        channel: 11_000,
        hop: 20_000,
        rearrangement: 14_000,
        synchronisation: -113_000_000,
        doubling: 63_000_000,
        ..Self::FREE
    };

    /// A microsecond for each round and for each byte through a port and over a channel, with
    /// store-and-forward switching. With blocks of one byte, times are numbers of start-ups and
    /// blocks.
    pub const UNIT: Self = Self {
        startup: 1_000_000,
        byte: 1_000_000,
        channel: 1_000_000,
        switching: Switching::StoreAndForward,
        ..Self::FREE
    };

    /// The predefined machines, by name.
    const NAMES: &[(&str, Self)] = &[
        ("threads", Self::THREADS),
        ("tcp", Self::TCP),
        ("mpi", Self::MPI),
        ("paragon", Self::PARAGON),
        ("unit", Self::UNIT),
        ("free", Self::FREE),
    ];

    /// Sets the price of a round.
    #[must_use]
    pub fn with_startup(self, startup: u64) -> Self {
        Self { startup, ..self }
    }

    /// Sets the price of a message, at each of its ends.
    #[must_use]
    pub fn with_message(self, message: u64) -> Self {
        Self { message, ..self }
    }

    /// Sets the price of a byte through a port.
    #[must_use]
    pub fn with_byte(self, byte: u64) -> Self {
        Self { byte, ..self }
    }

    /// Sets the price of a byte over a channel.
    #[must_use]
    pub fn with_channel(self, channel: u64) -> Self {
        Self { channel, ..self }
    }

    /// Sets the price of a channel that a message crosses.
    #[must_use]
    pub fn with_hop(self, hop: u64) -> Self {
        Self { hop, ..self }
    }

    /// Sets the price of a byte that leaves or enters a host.
    #[must_use]
    pub fn with_host(self, host: u64) -> Self {
        Self { host, ..self }
    }

    /// Sets the number of cores that the ranks of a host share.
    #[must_use]
    pub fn with_cores(self, cores: u64) -> Self {
        Self { cores, ..self }
    }

    /// Sets the price of a byte that is rearranged.
    #[must_use]
    pub fn with_rearrangement(self, rearrangement: u64) -> Self {
        Self { rearrangement, ..self }
    }

    /// Sets the price of a byte that is combined with another.
    #[must_use]
    pub fn with_combination(self, combination: u64) -> Self {
        Self { combination, ..self }
    }

    /// Sets the price of a barrier, and what each doubling of the ranks adds to it.
    #[must_use]
    pub fn with_synchronisation(self, synchronisation: i64, doubling: u64) -> Self {
        Self { synchronisation, doubling, ..self }
    }

    /// Sets the switching.
    #[must_use]
    pub fn with_switching(self, switching: Switching) -> Self {
        Self { switching, ..self }
    }

    /// Sets whether the receiver alone moves a message's bytes.
    #[must_use]
    pub fn with_one_sided(self, one_sided: bool) -> Self {
        Self { one_sided, ..self }
    }

    /// Returns the price of a barrier among `ranks` ranks. The number of doublings is the logarithm
    /// to base 2, rounded up.
    pub(crate) fn barrier(&self, ranks: usize) -> u64 {
        let doublings = ranks.max(1).checked_next_power_of_two().map_or(usize::BITS, usize::trailing_zeros);
        let price = i128::from(self.synchronisation) + i128::from(self.doubling) * i128::from(doublings);
        u64::try_from(price.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragon_barrier_matches_suh_and_shin() {
        for d in 1..8_u32 {
            let microseconds = u64::from(126 * d).saturating_sub(113);
            assert_eq!(Machine::PARAGON.barrier(1 << (2 * d)), microseconds * 1_000_000);
        }
        assert_eq!(Machine::PARAGON.barrier(1), 0);
        // The number of doublings is rounded up.
        let doublings = |ranks| Machine::FREE.with_synchronisation(-1, 10).barrier(ranks);
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025].map(doublings), [0, 9, 19, 19, 29, 29, 39, 99, 99, 109]);
        assert_eq!(Machine::FREE.with_synchronisation(i64::MAX, u64::MAX).barrier(usize::MAX), u64::MAX);
    }
}

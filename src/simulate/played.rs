//! The result of a simulation.

use std::fmt;

use crate::ids::Rank;
use crate::quote::debug_as_text;
use crate::vocabulary::BuildError;

/// The result of a simulation. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Played {
    /// The time when the last rank was done.
    pub time: u64,
    /// The time when each rank was done.
    pub ranks: Vec<u64>,
    /// Messages that were sent.
    pub messages: u64,
    /// Sum over messages of the channels that they crossed.
    pub hops: u64,
    /// Channels of the network.
    pub channels: u64,
    /// The time for which the busiest channel carried bytes.
    pub busiest_channel: u64,
    /// Sum over channels of the time for which they carried bytes.
    pub carrying: u128,
    /// Sum over messages of the time for which their heads waited for channels and for the port in.
    pub waiting: u128,
    /// The longest time for which one head waited for one channel or port.
    pub longest_wait: u64,
}

impl Played {
    /// Returns the time when the first rank was done.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.ranks.iter().copied().min().unwrap_or(0)
    }

    /// Returns the mean of the times when ranks were done.
    #[must_use]
    pub fn mean(&self) -> u64 {
        let sum: u128 = self.ranks.iter().map(|&time| u128::from(time)).sum();
        u64::try_from(sum / (self.ranks.len().max(1) as u128)).unwrap_or(u64::MAX)
    }

    /// Returns the fraction of the time in which the busiest channel carried bytes, 0 to 1.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        if self.time == 0 { 0.0 } else { self.busiest_channel as f64 / self.time as f64 }
    }

    /// Returns the mean over all channels of the fraction of the time in which they carried bytes,
    /// 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let all = u128::from(self.time) * u128::from(self.channels);
        if all == 0 { 0.0 } else { self.carrying as f64 / all as f64 }
    }
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: u64| time as f64 / 1e6;
        let (first, mean, last) = (us(self.first()), us(self.mean()), us(self.time));
        writeln!(f, "the last rank is done after {last:.2} us, the first after {first:.2}, on average {mean:.2}")?;
        writeln!(f, "{} messages over {} channels", self.messages, self.hops)?;
        let (busiest, all) = (100.0 * self.busiest(), 100.0 * self.utilisation());
        writeln!(f, "the busiest channel carries bytes {busiest:.1} % of the time, the average channel {all:.1} %")?;
        let mean = self.waiting as f64 / 1e6 / self.messages.max(1) as f64;
        write!(
            f,
            "a message waits {mean:.2} us for channels on average; the longest wait for one is {:.2} us",
            us(self.longest_wait)
        )
    }
}

/// The reason why a schedule cannot be simulated.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// The algorithm has no schedule for the problem.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A rank's share has more rounds than a schedule may have, such as a share that never ends.
    #[error("rank {rank} has more than {limit} rounds, the maximum of a schedule")]
    #[non_exhaustive]
    Rounds {
        /// The rank.
        rank: Rank,
        /// The [maximum number](crate::schedule::Problem::max_rounds) of rounds.
        limit: usize,
    },
    /// A rank waits for messages that no rank sends.
    #[error("rank {rank}, round {round}: {missing} of {awaited} messages never arrive")]
    #[non_exhaustive]
    Stuck {
        /// The rank that waits.
        rank: Rank,
        /// The round of this rank, counted from 0.
        round: usize,
        /// Messages that do not arrive.
        missing: u64,
        /// Messages that the rank awaits in this round.
        awaited: u64,
    },
    /// A transfer's route is invalid.
    #[error("rank {rank}, round {round}: invalid route to rank {peer}")]
    #[non_exhaustive]
    Route {
        /// The sender.
        rank: Rank,
        /// The round of this rank, counted from 0.
        round: usize,
        /// The receiver.
        peer: Rank,
    },
    /// The simulated time exceeds 2^64 picoseconds, some 213 days.
    #[error("blocks of {block_bytes} bytes take more than 213 days, the longest that can be simulated")]
    #[non_exhaustive]
    TooLong {
        /// Bytes of a block.
        block_bytes: u64,
    },
    /// The network or the number of ranks is too large.
    #[error("{found} {what} on {topology}, at most {limit} can be simulated")]
    #[non_exhaustive]
    TooLarge {
        /// The quantity that exceeds the limit.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The maximum number.
        limit: usize,
        /// The network.
        topology: String,
    },
}

debug_as_text!(SimulateError);

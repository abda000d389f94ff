//! What comes of playing a schedule out.

use std::fmt;

use crate::ids::Rank;
use crate::vocabulary::BuildError;

/// What came of it. Times in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Played {
    /// When the last rank was done.
    pub time: u64,
    /// When each rank was done.
    pub ranks: Vec<u64>,
    /// Messages sent.
    pub messages: u64,
    /// Channels that messages crossed, all together.
    pub hops: u64,
    /// How many channels the network has.
    pub channels: u64,
    /// How long the busiest channel carried bytes.
    pub busiest_channel: u64,
    /// How long channels carried bytes, all together.
    pub carrying: u128,
    /// How long heads waited for channels and ports into a rank, all together.
    pub waiting: u128,
    /// The longest that one head waited for one of them.
    pub longest_wait: u64,
}

impl Played {
    /// When the first rank was done.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.ranks.iter().copied().min().unwrap_or(0)
    }

    /// When ranks were done, in the mean.
    #[must_use]
    pub fn mean(&self) -> u64 {
        let sum: u128 = self.ranks.iter().map(|&time| u128::from(time)).sum();
        u64::try_from(sum / (self.ranks.len().max(1) as u128)).unwrap_or(u64::MAX)
    }

    /// The part of the time in which the busiest channel carried bytes, 0 to 1.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        if self.time == 0 { 0.0 } else { self.busiest_channel as f64 / self.time as f64 }
    }

    /// The part of the time in which channels carried bytes, in the mean over all of them.
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
        writeln!(f, "the last rank is done after {last:.2} us, the first after {first:.2}, in the mean {mean:.2}")?;
        writeln!(f, "{} messages over {} channels", self.messages, self.hops)?;
        let (busiest, all) = (100.0 * self.busiest(), 100.0 * self.utilisation());
        writeln!(f, "the busiest channel carries bytes {busiest:.1} % of the time, all in the mean {all:.1} %")?;
        let mean = self.waiting as f64 / 1e6 / self.messages.max(1) as f64;
        write!(f, "a message waits {mean:.2} us for channels, at one of them up to {:.2} us", us(self.longest_wait))
    }
}

/// A schedule cannot be played out.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// There is no such schedule.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A rank waits for what nobody sends.
    #[error("rank {rank}, round {round}: {missing} of {awaited} messages never come")]
    Stuck {
        /// Who waits.
        rank: Rank,
        /// In which of its rounds, from 0.
        round: usize,
        /// How many do not come.
        missing: u64,
        /// How many it awaits there.
        awaited: u64,
    },
    /// A transfer's way is none.
    #[error("rank {rank}, round {round}: no way to rank {peer}")]
    Route {
        /// Who sends.
        rank: Rank,
        /// In which of its rounds, from 0.
        round: usize,
        /// To whom.
        peer: Rank,
    },
    /// It takes longer than can be counted in picoseconds: 2^64 of them, some 213 days.
    #[error("blocks of {block_bytes} bytes take more than 213 days, the longest that can be simulated")]
    TooLong {
        /// Bytes a block.
        block_bytes: u64,
    },
    /// There is more than can be kept.
    #[error("{found} {what} on {topology}, at most {limit} can be simulated")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
        /// The network.
        topology: String,
    },
}

//! Work: what the ranks of one host do together.

use super::Hosts;
use crate::block::Volume;
use crate::ids::Rank;

/// The work of all ranks of a host, summed over ranks and rounds. Where ranks share cores, the
/// cores do this one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// The rounds of a rank in which it receives, and so waits for others.
    pub waits: u64,
    /// The messages that a rank sends or receives.
    pub handled: u64,
    /// The volume that a rank receives.
    pub received: Volume,
    /// The volume that a rank combines.
    pub combined: Volume,
}

impl Work {
    /// Returns the larger of each sum.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            waits: self.waits.max(other.waits),
            handled: self.handled.max(other.handled),
            received: self.received.max(other.received),
            combined: self.combined.max(other.combined),
        }
    }
}

/// The work of each host.
pub(crate) struct HostWork {
    hosts: Hosts,
    work: Vec<Work>,
}

impl HostWork {
    pub(crate) fn new(hosts: &Hosts) -> Self {
        Self { hosts: hosts.clone(), work: vec![Work::default(); hosts.count()] }
    }

    /// Adds what a rank does.
    pub(crate) fn add(&mut self, rank: Rank, Work { waits, handled, received, combined }: Work) {
        let Some(sum) = self.hosts.host(rank).and_then(|host| self.work.get_mut(host)) else { return };
        sum.waits += waits;
        sum.handled += handled;
        sum.received += received;
        sum.combined += combined;
    }

    /// Returns the most of each kind of work on one host.
    pub(crate) fn most(&self) -> Work {
        self.work.iter().copied().fold(Work::default(), Work::max)
    }
}

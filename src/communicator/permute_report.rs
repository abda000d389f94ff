//! The cost of a permutation.

use std::fmt;

use super::cache::Footprint;
use super::planned_call::PlannedCall;
use crate::permutation::Method;

/// Cost of a [permutation](super::Communicator::permute) for one rank: method, rounds, messages and
/// elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PermuteReport {
    /// The method by which the elements moved.
    pub method: Method,
    /// The number of rounds.
    pub rounds: usize,
    /// The messages that this rank sent.
    pub messages: usize,
    /// The elements that this rank sent, those that it relayed included.
    pub sent: u64,
    /// The transmission of this rank: the sum over rounds of the largest number of elements that it
    /// sent to one rank.
    pub transmission: u64,
    /// The transmission by channel: the sum over rounds of the most elements that one channel of
    /// the network carried. `None` where [it is not
    /// known](crate::permutation::Permutation::channel), because straight messages may share
    /// channels.
    pub channel: Option<u64>,
}

impl fmt::Display for PermuteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, rounds, messages, sent, transmission, channel } = self;
        let of = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let [rounds, messages] =
            [(rounds, "round"), (messages, "message")].map(|(&count, what)| of(count as u64, what));
        let sent = of(*sent, "element");
        write!(f, "{method}: {rounds}, {messages}, {sent} sent, at most {transmission} to one rank")?;
        channel.map_or(Ok(()), |channel| write!(f, ", {channel} over a channel"))
    }
}

/// A planned permutation, with its cost.
#[derive(Debug)]
pub(super) struct PlannedPermutation {
    pub(super) planned: PlannedCall,
    pub(super) report: PermuteReport,
}

impl Footprint for PlannedPermutation {
    fn footprint(&self) -> usize {
        self.planned.footprint()
    }
}

//! What a permutation takes of a rank.

use std::fmt;

use super::cache::Kept;
use super::prepared::Prepared;
use crate::permutation::Method;

/// What a rank had to do for a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Motion {
    /// How elements got to where they belong.
    pub way: Method,
    /// The rounds.
    pub rounds: usize,
    /// Messages that this rank sent.
    pub messages: usize,
    /// Elements of the array that this rank sent, its own and others'.
    pub sent: u64,
    /// The sum over rounds of the most elements that this rank sent to one.
    pub transmission: u64,
    /// The sum over rounds of the most elements that a channel of the network carried, where that [is
    /// known](crate::permutation::Permutation::channel): what went straight may share channels.
    pub channel: Option<u64>,
}

impl fmt::Display for Motion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { way, rounds, messages, sent, transmission, channel } = self;
        let of = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let [rounds, messages] =
            [(rounds, "round"), (messages, "message")].map(|(&count, what)| of(count as u64, what));
        let sent = of(*sent, "element");
        write!(f, "{way}: {rounds}, {messages}, {sent} sent, at most {transmission} to one rank")?;
        channel.map_or(Ok(()), |channel| write!(f, ", {channel} over a channel"))
    }
}

/// A permutation that can be done.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) prepared: Prepared,
    pub(super) motion: Motion,
}

impl Kept for Planned {
    fn bytes(&self) -> usize {
        self.prepared.bytes()
    }
}

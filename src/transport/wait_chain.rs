//! What the backends say of a chain of the wait-for graph: its edges, its end, the deadline that
//! applies, and the description.

use std::fmt::{self, Write};
use std::sync::Arc;

use super::failure::rank_name;
use super::{ContextId, Deadline};
use crate::ids::Rank;

/// An edge of the wait-for graph: a process waits for another in a context. Both are ranks of the
/// job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitEdge {
    pub(crate) context: ContextId,
    pub(crate) from: Rank,
    pub(crate) to: Rank,
}

/// The end of a chain: why its last process does not wait for another, or is not followed.
#[derive(Clone, Debug)]
pub(crate) enum ChainEnd {
    /// The connection to it has ended, in this way.
    Gone(Arc<str>),
    Left,
    NotCalled,
    /// It is in the call, and does not wait. With the round that it was in last.
    Busy(u32),
    /// It is in this later call.
    MovedOn(u64),
    Cycle,
    /// A cycle of other processes or in another context, or one that changes while it is followed.
    CycleElsewhere,
    Unresponsive,
}

impl ChainEnd {
    /// Returns the end at a process that does not wait. `at` is its call and round, `awaited` the
    /// call in which the process before it waits.
    pub(crate) fn of_idle(left: bool, at: Option<(u64, u32)>, awaited: Option<u64>) -> Self {
        match (at, awaited) {
            _ if left => Self::Left,
            (None, _) => Self::NotCalled,
            (Some((at, _)), Some(call)) if at < call => Self::NotCalled,
            (Some((at, round)), Some(call)) if at == call => Self::Busy(round),
            (Some((at, _)), _) => Self::MovedOn(at),
        }
    }

    /// Returns the deadline that applies.
    pub(crate) fn deadline(&self) -> Deadline {
        match self {
            Self::NotCalled | Self::Busy(_) | Self::CycleElsewhere => Deadline::Arrival,
            Self::Gone(_) | Self::Left | Self::MovedOn(_) | Self::Cycle | Self::Unresponsive => Deadline::Silence,
        }
    }
}

/// Writes the end of the sentence.
impl fmt::Display for ChainEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(how) => write!(f, ", which {how}"),
            Self::Left => f.write_str(", which has left"),
            Self::NotCalled => f.write_str(", which has not called"),
            Self::Busy(round) => write!(f, ", which is busy elsewhere after round {round}"),
            Self::MovedOn(call) => write!(f, ", which has gone on to call {call}"),
            Self::Cycle => f.write_str(", which closes a cycle"),
            Self::CycleElsewhere => f.write_str(", and so on"),
            Self::Unresponsive => f.write_str(", which does not answer"),
        }
    }
}

/// Describes a chain that begins in the context `home` with these members. `failed` is a failed
/// context of which the last process is a member: that may be why the process does not come.
///
/// Ranks have their numbers in `home`, wherever they wait, and also their numbers in the job if
/// those differ.
pub(crate) fn describe(
    edges: &[WaitEdge],
    end: &ChainEnd,
    (home, members): (ContextId, &[Rank]),
    failed: Option<ContextId>,
) -> String {
    let name = |process: Rank| match members.iter().position(|member| *member == process) {
        Some(rank) => rank_name(Rank::new(rank), members),
        None => format!("rank {process} of the job"),
    };
    let one_context = edges.iter().all(|edge| edge.context == home);
    let mut text = String::new();
    for (i, WaitEdge { context, from, to }) in edges.iter().enumerate() {
        let subject = if i == 0 { name(*from) } else { ", which".to_owned() };
        let place = if one_context { String::new() } else { format!(" in context {context}") };
        // Writing to a string does not fail.
        let _ = write!(text, "{subject} waits{place} for {}", name(*to));
    }
    let _ = write!(text, "{end}");
    if let Some(context) = failed {
        let _ = write!(text, "; context {context}, of which it is a member too, has failed");
    }
    text
}

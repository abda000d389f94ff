//! What a round exchanges with each peer.

use super::group::Group;
use super::mail::CELLS;
use crate::ids::Rank;
use crate::plan::Message;

/// What was exchanged with a peer: letters and parcels, where all that go to a peer in a round are
/// one parcel. They are numbered together, so that what comes is matched by its number, whichever
/// way it comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    /// How many of those it has taken, as far as is known.
    pub(super) answered: u64,
    /// How many of its own are taken.
    pub(super) taken: u64,
}

impl Counts {
    /// Whether there may be no room for a letter.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.sent - self.answered >= CELLS
    }
}

/// All messages to or from one peer in a round, as a range of the round's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) peer: Rank,
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) by: By,
}

/// How they go: both ends know alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Board,
    Mail,
}

impl Part {
    /// Those of messages sent or received in a round, which are in order of their peers.
    #[inline]
    pub(super) fn all(group: &Group, messages: &[Message]) -> impl Iterator<Item = Self> {
        let mut end = 0;
        messages.chunk_by(|a, b| a.peer == b.peer).map(move |part| {
            let first = end;
            end += part.len() as u32;
            let by = if group.is_letter(part) { By::Mail } else { By::Board };
            Self { peer: part[0].peer, first, end, by }
        })
    }
}

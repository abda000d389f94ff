//! The messages that a round exchanges with each peer.

use super::group::Group;
use crate::ids::Rank;
use crate::plan::Message;

/// Counts of the messages exchanged with one peer.
///
/// Eager and rendezvous messages are numbered together, so a message matches by its number,
/// whichever way it comes. All rendezvous data for a peer in a round count as one message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerCounts {
    /// The number of messages that this rank has sent the peer.
    pub(super) sent: u64,
    /// The number of those that the peer has taken, as far as this rank knows.
    pub(super) acknowledged: u64,
    /// The number of the peer's messages that this rank has taken.
    pub(super) taken: u64,
}

impl PeerCounts {
    /// Whether there may be no room for another eager message, in a mailbox with room for that
    /// many.
    #[inline]
    pub(super) fn is_full(&self, room: u64) -> bool {
        self.sent - self.acknowledged >= room
    }
}

/// All messages to or from one peer in a round, as an index range of the round's messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerMessages {
    pub(super) peer: Rank,
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) protocol: Protocol,
}

/// The way in which messages travel. Both ends choose the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The receiver copies from the sender's memory.
    Rendezvous,
    /// The sender copies into the receiver's mailbox.
    Eager,
}

impl PeerMessages {
    /// Groups the messages that a round sends or receives by peer. They are in order of their
    /// peers.
    #[inline]
    pub(super) fn all(group: &Group, messages: &[Message]) -> impl Iterator<Item = Self> {
        let mut end = 0;
        messages.chunk_by(|a, b| a.peer == b.peer).map(move |part| {
            let first = end;
            end += part.len() as u32;
            let protocol = if group.is_eager(part) { Protocol::Eager } else { Protocol::Rendezvous };
            Self { peer: part[0].peer, first, end, protocol }
        })
    }
}

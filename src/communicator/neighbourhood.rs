//! The ranks that exchange blocks as neighbours.

use super::call_context::CommunicatorId;

/// The ranks that a rank sends blocks to and receives blocks from, in order, for neighbourhood
/// collectives.
///
/// Made by [`Communicator::neighbourhood`](super::Communicator::neighbourhood) (the neighbours in
/// the network), [`Cartesian::neighbourhood`](super::Cartesian::neighbourhood) (in a process grid)
/// and [`Communicator::neighbourhood_of`](super::Communicator::neighbourhood_of) (in a graph of the
/// program's own).
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// For each block to send, the receiver and the direction. `None` at a border.
    pub(super) destinations: Vec<Option<Direction>>,
    /// For each block to receive, the sender and the direction in which it sends.
    pub(super) sources: Vec<Option<Direction>>,
    /// Describes the graph. Ranks compare it in every call.
    pub(super) name: String,
    pub(super) owner: CommunicatorId,
    /// Whether these are the partners of one call. Nothing has told them of each other, so they
    /// exchange also messages without bytes.
    pub(super) is_for_one_call: bool,
}

/// A rank, and the number of a direction. Blocks for one rank are ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direction {
    pub(super) rank: usize,
    pub(super) number: usize,
}

impl Neighbourhood {
    /// Returns the ranks that blocks go to, in order. `None` stands for no rank, beyond the border
    /// of a mesh.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.destinations.iter().map(|to| to.map(|to| to.rank))
    }

    /// Returns the ranks that blocks come from, in order. `None` stands for no rank, beyond the
    /// border of a mesh.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.sources.iter().map(|from| from.map(|from| from.rank))
    }

    /// Returns whether this is the same neighbourhood of the same communicator.
    pub(super) fn is(&self, other: &Self) -> bool {
        let Self { destinations, sources, name, owner, is_for_one_call } = self;
        *owner == other.owner
            && *is_for_one_call == other.is_for_one_call
            && *destinations == other.destinations
            && *sources == other.sources
            && *name == other.name
    }

    /// Numbers the occurrences of each rank.
    pub(super) fn in_order(ranks: &[usize]) -> Vec<Option<Direction>> {
        let number = |i: usize| ranks[..i].iter().filter(|rank| **rank == ranks[i]).count();
        (0..ranks.len()).map(|i| Some(Direction { rank: ranks[i], number: number(i) })).collect()
    }
}

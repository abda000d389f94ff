//! The ways through the rounds of an allgather: as they are, in reverse, or both.

use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, Problem};

/// The ways through the rounds of an allgather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Every block goes to all ranks: an allgather.
    Down,
    /// In reverse, the contributions to every block come from all ranks: a reduce-scatter.
    Up,
    /// A part of the vector for each rank, up and then down: an allreduce.
    UpAndDown,
}

impl Course {
    /// Returns the numbers of the rounds in order, each with whether it runs in reverse.
    pub(super) fn rounds(self, rounds: usize) -> impl Iterator<Item = (usize, bool)> + Send + use<> {
        let up = if self == Self::Down { 0 } else { rounds };
        let down = if self == Self::Up { 0 } else { rounds };
        (0..up).rev().map(|round| (round, true)).chain((0..down).map(|round| (round, false)))
    }

    /// Returns one of a number of chunks of a rank's block, or of a rank's part of the vector.
    pub(super) fn chunk(self, rank: Rank, ranks: usize, chunk: u32, of: u32) -> Option<Block> {
        match self {
            Self::Down => Block::from(rank).chunks(chunk, of, 1),
            Self::Up => Block::result(rank).chunks(chunk, of, 1),
            Self::UpAndDown => Block::RESULT.chunks(rank.index() as u32 * of + chunk, ranks as u32 * of, 1),
        }
    }

    /// Returns the size of a [chunk](Self::chunk).
    pub(super) fn size(self, ranks: usize, of: usize) -> Volume {
        let parts = if self == Self::UpAndDown { ranks } else { 1 };
        Volume::ratio(1, (parts * of) as u128)
    }

    /// Returns what becomes of the blocks of a message.
    pub(super) fn combine(reverse: bool, sender: Rank, receiver: Rank) -> Combine {
        if reverse { Combine::in_rank_order(sender, receiver) } else { Combine::Replace }
    }

    /// Returns what a problem lacks if contributions are combined where they meet.
    pub(super) fn lacks_order(self, problem: &Problem) -> Option<String> {
        let needs = "it needs an operation that commutes, since contributions are combined where they meet";
        let in_order = self != Self::Down && !problem.commutative() && problem.ranks() > 2;
        in_order.then(|| needs.to_owned())
    }
}

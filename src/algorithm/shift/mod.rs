//! Shift: every rank sends a block to the rank a distance further on, in a circle.

mod by_dimension;
mod direct;
mod e_cube;
mod gray;
mod ring;

pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use e_cube::ECube;
pub use gray::Gray;
pub use ring::Ring;

use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{End, Problem, RankRound};

/// Returns the distance, less than the number of ranks.
fn distance(problem: &Problem) -> usize {
    problem.collective().distance().unwrap_or_default() % problem.ranks()
}

/// The ranks of a shift, as numbers in a circle.
#[derive(Clone, Copy)]
struct Circle {
    size: usize,
    by: usize,
}

impl Circle {
    fn of(problem: &Problem) -> Self {
        Self { size: problem.ranks(), by: distance(problem) }
    }

    fn ahead(self, rank: usize, by: usize) -> usize {
        (rank + by) % self.size
    }

    fn behind(self, rank: usize, by: usize) -> usize {
        (rank + self.size - by % self.size) % self.size
    }

    /// Returns the block of a source.
    fn block(self, source: usize) -> Block {
        Block::new(Rank::new(source), Rank::new(self.ahead(source, self.by)))
    }

    /// Returns the round in which a rank sends the block of one source and receives that of
    /// another.
    fn round(self, (to, sent): (usize, usize), (from, received): (usize, usize)) -> RankRound {
        let end = |peer: usize, source: usize| vec![End::new(Rank::new(peer), vec![self.block(source)])];
        RankRound::new(end(to, sent), end(from, received))
    }
}

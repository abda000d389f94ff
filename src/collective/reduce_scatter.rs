//! Reduce-scatter: every rank contributes to one result per rank, and each rank gets its own.

use std::ops::Range;

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds its contributions to `[-1, j]` for every j; after, `[-1, i]` with the
/// contributions of all ranks, combined.
pub(super) struct ReduceScatter;

impl CollectiveRow for ReduceScatter {
    fn name(&self) -> &'static str {
        "reduce_scatter"
    }

    fn before(&self, role: Role) -> Holding {
        role.all().map(|j| role.own(Block::result(j))).collect()
    }

    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        Some((Block::result(role.rank), 0..role.size))
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::Each, BlockCount::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::All
    }

    fn varying(&self) -> Option<&'static str> {
        Some("reduce_scatterv")
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "pairwise", "recursive-halving"]
    }

    fn combines(&self) -> bool {
        true
    }
}

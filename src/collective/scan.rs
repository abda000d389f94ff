//! Scan and exscan: each rank gets the combined contributions of the ranks before it, with its own
//! (scan) or without (exscan).

use std::ops::Range;

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;
use crate::ids::Rank;

/// Before, rank i holds its contribution to `[-1, i]`; after, those of ranks `0..=i`, combined.
pub(super) struct Scan;

/// Before, rank i holds its contribution to `[-1, i]`; after, those of ranks `0..i`, combined. Rank
/// 0 gets nothing.
pub(super) struct Exscan;

impl CollectiveRow for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::result(role.rank))]
    }

    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        Some((Block::result(role.rank), 0..role.size.min(role.rank.index() + 1)))
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Tree
    }

    fn centre(&self, _: Option<Rank>) -> Option<Rank> {
        Some(Rank::new(0))
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "recursive-doubling", "chain"]
    }

    fn combines(&self) -> bool {
        true
    }
}

impl CollectiveRow for Exscan {
    fn name(&self) -> &'static str {
        "exscan"
    }

    fn before(&self, role: Role) -> Holding {
        Scan.before(role)
    }

    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        let before = role.size.min(role.rank.index());
        (before > 0).then(|| (Block::result(role.rank), 0..before))
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::OneButAtFirst)
    }

    fn traffic(&self) -> Traffic {
        Scan.traffic()
    }

    fn centre(&self, root: Option<Rank>) -> Option<Rank> {
        Scan.centre(root)
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        Scan.in_libraries()
    }

    fn combines(&self) -> bool {
        true
    }
}

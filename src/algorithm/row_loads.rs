//! Channel loads within a row of a product, by default routes.

use crate::ids::Node;
use crate::topology::{Factor, Kind, OverlappingWindows, Topology};

/// Returns the load of the busiest channel of a row when each node sends a block to each other
/// node. It is counted in windows, of up to 512 nodes.
pub(super) fn load_at_once(row: Factor) -> Option<u64> {
    let kind = match row {
        Factor::Ring(3..) => Kind::Ring,
        Factor::Ring(_) | Factor::Line(_) => Kind::Line,
        Factor::Complete(_) => Kind::Complete,
        Factor::Windows { .. } => {
            let nodes = row.extent();
            return load_in_windows(row, (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))));
        }
    };
    Some(load_along(kind, row.extent() as u64))
}

/// Counts the load of the busiest channel of windows when the first node of each pair sends a
/// block to the second. `None` for more than 512 nodes.
pub(super) fn load_in_windows(row: Factor, pairs: impl Iterator<Item = (usize, usize)>) -> Option<u64> {
    const MOST: usize = 1 << 9;
    let Factor::Windows { extent: extent @ ..=MOST, window, wraps } = row else { return None };
    let new = if wraps { OverlappingWindows::wrapping } else { OverlappingWindows::new };
    let (row, mut loads) = (new(extent, window, 1)?, vec![0; extent * extent]);
    for (from, to) in pairs {
        row.route(Node::new(from), Node::new(to))
            .windows(2)
            .for_each(|hop| loads[hop[0].index() * extent + hop[1].index()] += 1);
    }
    loads.into_iter().max()
}

/// Returns that load for a kind of row with a formula.
pub(super) fn load_along(kind: Kind, extent: u64) -> u64 {
    match kind {
        Kind::Line => extent.saturating_mul(extent) / 4,
        // Blocks that travel half a ring all go up, so this is more than the average.
        Kind::Ring => (extent / 2).saturating_mul(extent / 2 + 1) / 2,
        Kind::Complete => 1,
    }
}

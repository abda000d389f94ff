//! Channel loads within a row of a product, by default routes.

use crate::ids::Node;
use crate::topology::{Factor, Kind, OverlappingWindows, Topology};

/// Returns the load of the busiest channel of a row when each node sends a block to each other
/// node.
pub(super) fn load_at_once(row: Factor) -> u64 {
    match row {
        Factor::Ring(3..) => load_along(Kind::Ring, row.extent() as u64),
        Factor::Ring(_) | Factor::Line(_) => load_along(Kind::Line, row.extent() as u64),
        Factor::Complete(_) => load_along(Kind::Complete, row.extent() as u64),
        Factor::Windows { .. } if row.is_complete() => 1,
        Factor::Windows { extent, window, wraps } => load_of_jumps(extent as u64, window as u64, wraps),
    }
}

/// Returns that load for windows that are not complete. Jumps are as long as possible, and at most one
/// of a route is shorter.
fn load_of_jumps(extent: u64, window: u64, wraps: bool) -> u64 {
    let farthest = if wraps { extent / 2 } else { extent - 1 };
    let (jumps, rest) = (farthest / window, farthest % window);
    // Jumps by 1 are the most frequent of the shorter ones: they end the routes over every w-th distance.
    let shorter = if window > 1 { (farthest - 1) / window + 1 } else { 0 };
    let longest = if wraps {
        // The jumps of the routes from a node: it has the same channels as any other.
        let to_jumps = jumps.saturating_mul(jumps.saturating_sub(1)) / 2;
        to_jumps.saturating_mul(window).saturating_add(jumps.saturating_mul(rest + 1))
    } else {
        // From every w-th node up to the channel, to all nodes from its end on. The product is largest
        // in the middle.
        let from = |nodes: u64| nodes.saturating_mul(extent.saturating_sub(nodes.saturating_mul(window)));
        let middle = extent / window / 2;
        from(middle).max(from(middle + 1))
    };
    longest.max(shorter)
}

/// Counts the load of the busiest channel of windows when the first node of each pair sends a
/// block to the second. `None` for more than 512 nodes.
pub(super) fn load_in_windows(row: Factor, pairs: impl Iterator<Item = (usize, usize)>) -> Option<u64> {
    const MOST: usize = 1 << 9;
    let Factor::Windows { extent: extent @ ..=MOST, window, wraps } = row else { return None };
    let new = if wraps { OverlappingWindows::wrapping } else { OverlappingWindows::new };
    let (row, mut loads) = (new(extent, window, 1).ok()?, vec![0; extent * extent]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_windows_equal_the_counts() {
        for extent in 2..48 {
            for (window, wraps) in (1..extent).flat_map(|window| [(window, false), (window, true)]) {
                if wraps && extent < 3 {
                    continue;
                }
                let row = Factor::Windows { extent, window, wraps };
                let pairs = (0..extent).flat_map(|from| (0..extent).map(move |to| (from, to)));
                assert_eq!(load_in_windows(row, pairs), Some(load_at_once(row)), "{row:?}");
            }
        }
        let large = Factor::Windows { extent: usize::MAX, window: 2, wraps: false };
        assert_eq!(load_at_once(large), u64::MAX);
    }
}

//! How a block spreads from one node of a row of windows to all others, over single channels.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::window_row::WindowRow;

/// The messages of each round: from a node of a row to another.
pub(super) type Rounds = Vec<Vec<(usize, usize)>>;

/// A rule by which a block spreads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Every node with the block sends it to the farthest node without it in its window.
    FarthestFirst,
    /// The nodes with the block are consecutive and double in number, until a round adds a window
    /// on either side.
    WindowFirst,
    /// The outermost nodes with the block send it to all beyond them in their windows.
    Flood,
}

impl Spread {
    /// Returns the rounds within a row.
    pub(super) fn rounds(self, row: WindowRow, root: usize) -> Arc<Rounds> {
        static MADE: Kept<(Spread, WindowRow, usize), Arc<Rounds>> = Kept::new(32);
        let made = || match self {
            // Which nodes choose first makes a difference of a round in some rows, and from the middle
            // of few, windows are filled sooner.
            Self::FarthestFirst => {
                let (up, down) = (farthest_first(row, root, false), farthest_first(row, root, true));
                let filled = Interval::grown(row, root, Interval::doubled);
                [up, down, filled].into_iter().min_by_key(Vec::len).unwrap_or_default()
            }
            Self::WindowFirst => Interval::grown(row, root, Interval::doubled),
            Self::Flood => Interval::grown(row, root, Interval::flooded),
        };
        MADE.get((self, row, root), || Arc::new(made()))
    }
}

/// Spreads a block by the rule of the farthest. The nodes choose in the order of their coordinates,
/// or in the reverse order.
fn farthest_first(row: WindowRow, root: usize, reversed: bool) -> Rounds {
    let mut without: BTreeSet<usize> = (0..row.extent).filter(|&node| node != root).collect();
    // A node whose window is full has nothing to do any more.
    let (mut active, mut rounds) = (vec![root], vec![]);
    while !without.is_empty() {
        active.sort_unstable();
        if reversed {
            active.reverse();
        }
        let mut round = vec![];
        active.retain(|&node| {
            let Some(to) = farthest(row, node, &without) else { return false };
            without.remove(&to);
            round.push((node, to));
            true
        });
        active.extend(round.iter().map(|&(_, to)| to));
        rounds.push(round);
    }
    rounds
}

/// Returns the farthest of these nodes in a node's window. Of two, it is the one on the side with
/// more nodes.
fn farthest(row: WindowRow, node: usize, of: &BTreeSet<usize>) -> Option<usize> {
    let (extent, window) = (row.extent, row.window);
    let (up, down) = match row.wraps {
        // The window may be in two pieces.
        true => {
            let above = |by: usize| of.contains(&((node + by) % extent)).then_some(by);
            let below = |by: usize| of.contains(&((node + extent - by) % extent)).then_some(by);
            ((1..=window).rev().find_map(above), (1..=window).rev().find_map(below))
        }
        false => (
            of.range(node..=node + window).next_back().map(|up| up - node),
            of.range(node.saturating_sub(window)..=node).next().map(|down| node - down),
        ),
    };
    let more_above = row.wraps || extent - 1 - node >= node;
    match (up, down) {
        (None, None) => None,
        (Some(up), down) if down.is_none_or(|down| up > down || up == down && more_above) => row.up(node, up),
        (_, down) => row.down(node, down?),
    }
}

/// The nodes that have the block, if they are consecutive: so many below the root, and so many
/// above.
#[derive(Clone, Copy)]
struct Interval {
    row: WindowRow,
    root: usize,
    below: usize,
    above: usize,
}

/// What a round adds below and above an interval.
struct Growth {
    below: usize,
    above: usize,
    /// Whether the outermost node alone sends.
    by_one: bool,
}

impl Interval {
    /// Grows from the root to the whole row.
    fn grown(row: WindowRow, root: usize, growth: fn(&Self) -> Growth) -> Rounds {
        let (mut interval, mut rounds) = (Self { row, root, below: 0, above: 0 }, vec![]);
        while interval.nodes() < row.extent {
            let growth = growth(&interval);
            rounds.push(interval.messages(&growth));
            interval.below += growth.below;
            interval.above += growth.above;
        }
        rounds
    }

    fn nodes(&self) -> usize {
        self.below + 1 + self.above
    }

    /// Returns the numbers of nodes that are left below and above. Where windows wrap round, each
    /// side takes half of the nodes between the ends.
    fn left(&self) -> (usize, usize) {
        let WindowRow { extent, wraps, .. } = self.row;
        let left = extent - self.nodes();
        match wraps {
            true => (left / 2, left.div_ceil(2)),
            false => (self.root - self.below, extent - 1 - self.root - self.above),
        }
    }

    fn flooded(&self) -> Growth {
        let (below, above) = self.left();
        Growth { below: below.min(self.row.window), above: above.min(self.row.window), by_one: true }
    }

    /// Every node sends once at most, to the side with more nodes left if there are too few for
    /// both.
    fn doubled(&self) -> Growth {
        let (below, above) = self.left();
        let (window, nodes) = (self.row.window, self.nodes());
        let (first, second) = if above >= below { (above, below) } else { (below, above) };
        let first = first.min(window).min(nodes);
        let second = second.min(window).min(nodes - first);
        let (below, above) = if above >= below { (second, first) } else { (first, second) };
        Growth { below, above, by_one: false }
    }

    /// Returns the messages by which the interval grows: each node sends to the one that is as far
    /// away as there are new nodes on that side, or the outermost node sends all of them.
    fn messages(&self, growth: &Growth) -> Vec<(usize, usize)> {
        let extent = self.row.extent;
        let above = |by: usize| (self.root + by) % extent;
        let below = |by: usize| (self.root + 2 * extent - by) % extent;
        let up = (1..=growth.above).map(|new| {
            let from = if growth.by_one { self.above } else { extent + self.above + new - growth.above };
            (above(from), above(self.above + new))
        });
        let down = (1..=growth.below).map(|new| {
            let from = if growth.by_one { self.below } else { extent + self.below + new - growth.below };
            (below(from), below(self.below + new))
        });
        up.chain(down).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Factor;

    fn rounds(rule: Spread, extent: usize, window: usize, wraps: bool, root: usize) -> usize {
        rule.rounds(WindowRow::from(Factor::Windows { extent, window, wraps }), root).len()
    }

    /// Errata 5.10: 7, 9 and 11 steps where section 5.2.1 takes 8, 10 and 13.
    #[test]
    fn farthest_first_takes_fewer_rounds_than_window_first() {
        for (extent, window, farthest, windows) in [(40, 7, 7, 8), (40, 5, 9, 10), (100, 10, 11, 13)] {
            assert_eq!(rounds(Spread::FarthestFirst, extent, window, false, 0), farthest);
            assert_eq!(rounds(Spread::WindowFirst, extent, window, false, 0), windows);
        }
        for (extent, window, root) in
            (2..40_usize).flat_map(|p| (1..p).flat_map(move |w| (0..p).map(move |r| (p, w, r))))
        {
            for wraps in [false, true] {
                let least = extent.next_power_of_two().trailing_zeros() as usize;
                let [farthest, windows] =
                    [Spread::FarthestFirst, Spread::WindowFirst].map(|rule| rounds(rule, extent, window, wraps, root));
                assert!(least <= farthest && farthest <= windows, "{extent}, {window}, {wraps}, {root}");
            }
        }
    }
}

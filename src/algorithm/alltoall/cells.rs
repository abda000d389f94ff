//! Groups of dimensions that exchanges on tori and meshes correct together, in cells.
//!
//! A coordinate is written as cell · c + place, with cells of c = 4, 2 or 1 nodes. Blocks first
//! move to their cells, one dimension per phase, in hops of c, around the circles of nodes with the
//! same place in their cells; then, if c = 4, to their halves of the cells, in hops of two; then,
//! if c > 1, to their places, between neighbours.
//!
//! A group of dimensions is corrected at once: the *class* of a node, given by its places in its
//! cells, decides which dimension it takes first and in which direction, so that no channel is
//! shared. Groups follow one another, independently.

use super::digits::{Digit, Digits, Slot, Walk, Way};
use crate::algorithm::Claims;
use crate::block::Volume;
use crate::topology::Grid;
use crate::vocabulary::Problem;

/// Dimensions that are corrected together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DimensionGroup {
    /// The dimensions, the longest first.
    pub(super) dimensions: Vec<usize>,
    /// The nodes of a cell: 4, 2 or 1.
    pub(super) cell: usize,
    /// The order in which blocks move to their cells.
    pub(super) walk: Walk,
    /// The channels they use.
    pub(super) way: Way,
}

/// An exchange on a grid: its extents and its groups, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    extents: Vec<usize>,
    groups: Vec<DimensionGroup>,
}

/// Returns the unmet requirement if not every node has a rank.
pub(super) fn no_rank_on_every_node(problem: &Problem) -> Option<String> {
    let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
    (ranks != nodes).then(|| format!("it needs a rank on every node; there are {ranks} on {nodes} nodes"))
}

/// Returns the dimensions with more than one node, the longest first, of equal ones the last first.
pub(super) fn by_extent(grid: &Grid) -> Vec<usize> {
    let extents = grid.extents();
    let mut order: Vec<usize> = (0..extents.len()).rev().filter(|&dimension| extents[dimension] > 1).collect();
    order.sort_by_key(|&dimension| std::cmp::Reverse(extents[dimension]));
    order
}

impl Cells {
    pub(super) fn new(grid: &Grid, groups: Vec<DimensionGroup>) -> Self {
        Self { extents: grid.extents().to_vec(), groups }
    }

    /// Returns the length of the longest circle of cells in a group.
    fn circle(&self, group: &DimensionGroup) -> usize {
        group.dimensions.iter().map(|&dimension| self.extents[dimension] / group.cell).max().unwrap_or(1)
    }

    /// Returns the groups whose cells have more than `than` nodes.
    fn larger(&self, than: usize) -> impl Iterator<Item = &DimensionGroup> {
        self.groups.iter().filter(move |group| group.cell > than)
    }

    /// Returns the claims by the formulas of the algorithms' headers, group by group.
    pub(super) fn claims(&self) -> Claims {
        let nodes: u64 = self.extents.iter().map(|&extent| extent as u64).product();
        let (mut startups, mut hops, mut messages, mut phases) = (0, 0, 0, 0);
        let (mut transmission, mut volume) = (Volume::ZERO, Volume::ZERO);
        let (mut forwarded, mut ends) = (Volume::ZERO, Volume::ZERO);
        for group in &self.groups {
            let (n, longest) = (group.dimensions.len() as u64, self.circle(group));
            startups += n * (longest as u64 - 1);
            hops += n * (longest as u64 - 1) * group.longest_hop(longest);
            phases += n * u64::from(longest > 1);
            let sent = group.walk.transmission(longest, nodes) * n;
            transmission += sent;
            // Every round has a longest hop, and all messages of the longest dimension have one
            // size.
            forwarded += sent * group.longest_hop(longest);
            ends += sent * group.longest_hop(longest).min(2);
            for &dimension in &group.dimensions {
                let circle = self.extents[dimension] / group.cell;
                messages += circle as u64 - 1;
                volume += group.walk.volume(circle, nodes);
            }
        }
        // Halves and places: in every round, every node sends half of its blocks.
        for than in [2, 1] {
            let rounds: u64 = self.larger(than).map(|group| group.dimensions.len() as u64).sum();
            let half = Volume::new(nodes, 2) * rounds;
            (transmission, volume) = (transmission + half, volume + half);
            (forwarded, ends) = (forwarded + half * than as u64, ends + half * than as u64);
            (startups, messages, hops) = (startups + rounds, messages + rounds, hops + rounds * than as u64);
            phases += u64::from(rounds > 0);
        }
        Claims {
            startups: Some(startups),
            transmission: Some(transmission),
            hops: Some(hops),
            rearrangements: Some(phases.saturating_sub(1)),
            messages: Some(messages),
            volume: Some(volume),
            forwarded_transmission: Some(forwarded),
            end_transmission: Some(ends),
            contention_free: true,
            ..Claims::default()
        }
    }

    /// Returns the names of the phases.
    pub(super) fn phases(&self) -> Vec<String> {
        let n: usize = self.groups.iter().map(|group| group.dimensions.len()).sum();
        let cells = (1..=n).map(|f| format!("cells, dimension {f} of {n}"));
        let halves = self.larger(2).next().map(|_| "halves of cells".to_owned());
        cells.chain(halves).chain(self.larger(1).next().map(|_| "units".to_owned())).collect()
    }

    /// Returns the digits in order: for each group its cells, then halves, then places.
    pub(super) fn digits(self) -> Digits<impl Fn(&[usize]) -> Vec<Digit> + Send + 'static> {
        let mut slots: Vec<Slot> = Vec::new();
        for group in &self.groups {
            let rounds = group.walk.rounds(self.circle(group));
            for _ in &group.dimensions {
                slots.push(Slot { phase: slots.len(), rounds });
            }
        }
        let mut phase = slots.len();
        for than in [2, 1] {
            let dimensions = self.larger(than).map(|group| group.dimensions.len()).sum();
            slots.extend(std::iter::repeat_n(Slot { phase, rounds: 1 }, dimensions));
            phase += usize::from(dimensions > 0);
        }
        let extents = self.extents.clone();
        Digits::new(&extents, slots, move |at| self.order(at))
    }

    /// Returns the digits of the node at a position, in its order.
    fn order(&self, at: &[usize]) -> Vec<Digit> {
        let patterns = || self.groups.iter().map(|group| (group, pattern(at, &group.dimensions, group.cell)));
        let cells = patterns().flat_map(|(group, pattern)| {
            pattern.into_iter().map(|(dimension, up)| Digit {
                dimension,
                unit: group.cell,
                base: self.extents[dimension] / group.cell,
                walk: group.walk,
                way: group.way,
                up,
            })
        });
        let pair = |dimension, unit| Digit { dimension, unit, base: 2, walk: Walk::OneWay, way: Way::Line, up: true };
        let of_four = patterns().filter(|(group, _)| group.cell > 2);
        let halves = of_four.flat_map(|(_, pattern)| pattern.into_iter().map(|(dimension, _)| pair(dimension, 2)));
        let places = self.larger(1).flat_map(|group| group.dimensions.iter().map(|&dimension| pair(dimension, 1)));
        cells.chain(halves).chain(places).collect()
    }
}

impl DimensionGroup {
    /// Returns the number of channels of the longest hop around a circle of `circle` cells.
    fn longest_hop(&self, circle: usize) -> u64 {
        let cells = match self.way {
            Way::Line => circle.saturating_sub(1),
            Way::Folded => circle.saturating_sub(1).min(2),
            Way::Ring | Way::Default | Way::FoldedInWindows => 1,
        };
        (cells * self.cell) as u64
    }
}

/// Returns the dimension and the direction that a node takes in each phase of a group, the longest
/// dimension first.
///
/// Two dimensions: Suh & Shin §3.1.2 and §4.1; more: §3.2.2, in the order of the 3-D text's
/// sentences where its equations differ. One dimension: the first half of the places in a cell goes
/// up, the other down.
fn pattern(at: &[usize], dimensions: &[usize], cell: usize) -> Vec<(usize, bool)> {
    match *dimensions {
        [only] => vec![(only, 2 * (at[only] % cell) < cell)],
        [c, r] => {
            let class = (at[c] + at[r]) % cell;
            let (first, second) = if class.is_multiple_of(2) { (c, r) } else { (r, c) };
            vec![(first, class < 2), (second, class < 2)]
        }
        [ref inner @ .., z] => {
            let mut phases = pattern(at, inner, cell);
            // Even planes take the last dimension last, odd planes first.
            match at[z] % cell {
                even @ (0 | 2) => phases.push((z, even == 0)),
                odd => phases.insert(0, (z, odd == 1)),
            }
            phases
        }
        [] => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directions(extents: &[usize], at: &[usize], cell: usize) -> Vec<(usize, bool)> {
        pattern(at, &by_extent(&Grid::torus(extents).unwrap()), cell)
    }

    #[test]
    fn classes_take_the_directions_of_section_3_1_2() {
        // Dimension 0 is the paper's r, dimension 1 its c.
        let (r, c) = (0, 1);
        assert_eq!(directions(&[12, 12], &[0, 0], 4), [(c, true), (r, true)]);
        assert_eq!(directions(&[12, 12], &[0, 1], 4), [(r, true), (c, true)]);
        assert_eq!(directions(&[12, 12], &[1, 1], 4), [(c, false), (r, false)]);
        assert_eq!(directions(&[12, 12], &[2, 1], 4), [(r, false), (c, false)]);
        assert_eq!(directions(&[8, 12], &[7, 9], 4), [(c, true), (r, true)]);
    }

    #[test]
    fn planes_take_turns_as_in_section_3_2_1() {
        let (x, y, z) = (0, 1, 2);
        assert_eq!(directions(&[12, 8, 4], &[0, 0, 0], 4), [(x, true), (y, true), (z, true)]);
        assert_eq!(directions(&[12, 8, 4], &[1, 0, 1], 4), [(z, true), (y, true), (x, true)]);
        assert_eq!(directions(&[12, 8, 4], &[1, 1, 2], 4), [(x, false), (y, false), (z, false)]);
        assert_eq!(directions(&[12, 8, 4], &[2, 1, 3], 4), [(z, false), (y, false), (x, false)]);
    }

    #[test]
    fn even_mesh_parities_take_the_row_first() {
        let (r, c) = (0, 1);
        for (at, first) in [([0, 0], c), ([1, 1], c), ([3, 5], c), ([0, 1], r), ([1, 0], r)] {
            assert_eq!(directions(&[6, 6], &at, 2)[0], (first, true), "{at:?}");
        }
    }
}

//! Colinear layouts: the wires of a network whose nodes stand on a line.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, New Jersey Institute of Technology, 1999, chapter 2. The tests
//! compare each closed form with the count for all sizes below 40.
//!
//! | theorem | says | counted |
//! |---|---|---|
//! | 2.1.1, windows | (w / 2) (w / 2 + 1), or ((w + 1) / 2)^2 for odd w, if 2w < p + 1 | true |
//! | 2.1.1, complete | (p - 3) f + p - 1 - 2 f^2 with f = floor((p - 1) / 4) | true for p >= 2 |
//! | 2.1.2, windows | ceil(w / 2) layers | true for w <= p - 2 |
//! | 2.1.2, complete | 1 + ceil((p - 4) / 2) layers | true for p >= 3; of two nodes it is 1, not 0 |
//! | 2.2.1, wrapping round | ceil(w (w + 1) / 4) more than 2.1.1 | true for 2w < p, if split |
//!
//! Theorem 2.2.1 supposes that half of the wires that wrap round run in each half of the board. It
//! does not matter which. By the rule for other wires, all in the half of their lower end, the
//! width is twice that of theorem 2.1.1.

use std::collections::BTreeSet;

use super::{Complete, OverlappingWindows, Topology};
use crate::ids::Node;

/// A half of the board, above or below the line of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Above the line.
    Upper,
    /// Below the line.
    Lower,
}

impl Half {
    /// Returns the upper half for an even number, the lower one for an odd number.
    fn of(number: usize) -> Self {
        if number.is_multiple_of(2) { Self::Upper } else { Self::Lower }
    }
}

/// A link of a [`ColinearLayout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Wire {
    /// The end with the lower number, which is the left one.
    pub from: Node,
    /// The end with the higher number.
    pub to: Node,
    /// The half of the board that the wire runs in.
    pub half: Half,
}

/// The wires of a network whose nodes stand on a line in the order of their numbers.
///
/// Wires from a node with an even number to higher ones run in the upper half of the board, those
/// from a node with an odd number in the lower half. The layout is meant for networks of one
/// dimension, such as [`OverlappingWindows`] and [`Complete`], and takes any network.
///
/// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, section 2.1. A value
/// has one [`Wire`] for each link and is made in the time of [`Topology::edges`].
///
/// ```
/// use necklace::topology::{ColinearLayout, OverlappingWindows};
///
/// // Figures 2.1 and 2.3: 12 nodes, windows of 4.
/// let how = OverlappingWindows::new(12, 4, 1).expect("12 nodes");
/// let layout = ColinearLayout::new(&how);
/// assert_eq!((layout.collective_width(), layout.layer_count()), (6, 2));
/// let routing = layout.restricted_routing();
/// assert_eq!((routing.layers, routing.wires, routing.contacts, routing.longest), (2, 38, 76, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColinearLayout {
    nodes: usize,
    /// In ascending order of ends.
    wires: Vec<Wire>,
}

/// The measures of a [`ColinearLayout`] whose horizontal and vertical segments are on different
/// layers, so that they cross without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RestrictedRouting {
    /// Wiring layers: 2 for every network.
    pub layers: usize,
    /// Wires, one for each link.
    pub wires: usize,
    /// Contacts between the layers: two for each wire.
    pub contacts: usize,
    /// The length of the longest wire, in distances of neighbouring nodes. 0 without wires.
    pub longest: usize,
    /// The [collective width](ColinearLayout::collective_width), which the horizontal layer needs.
    pub collective_width: usize,
}

impl ColinearLayout {
    /// Lays out a network.
    #[must_use]
    pub fn new(topology: &dyn Topology) -> Self {
        Self::splitting(topology, usize::MAX)
    }

    /// Lays out a network with the wires longer than `reach` split equally between the halves:
    /// alternately up and down, in ascending order of their ends.
    ///
    /// With the window as `reach`, these are the wires that wrap round in an
    /// [`OverlappingWindows`] network with 2w < p (section 2.2).
    #[must_use]
    pub fn splitting(topology: &dyn Topology, reach: usize) -> Self {
        let nodes = topology.nodes();
        let mut edges = topology.edges();
        edges.retain(|(from, to)| from < to && to.index() < nodes);
        edges.sort_unstable();
        let mut long = 0;
        let wire = |(from, to): (Node, Node)| {
            let is_long = to.index() - from.index() > reach;
            let half = Half::of(if is_long { long } else { from.index() });
            long += usize::from(is_long);
            Wire { from, to, half }
        };
        Self { nodes, wires: edges.into_iter().map(wire).collect() }
    }

    /// Returns the wires, in ascending order of their ends.
    #[must_use]
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Returns how many wires of a half run side by side between each two neighbouring nodes, from
    /// nodes 0 and 1 on.
    #[must_use]
    pub fn widths(&self, half: Half) -> Vec<usize> {
        let mut ends = vec![(0_usize, 0_usize); self.nodes];
        for wire in self.wires.iter().filter(|wire| wire.half == half) {
            ends[wire.from.index()].0 += 1;
            ends[wire.to.index()].1 += 1;
        }
        ends.pop();
        let past = |width: &mut usize, (begin, end)| {
            *width = *width + begin - end;
            Some(*width)
        };
        ends.into_iter().scan(0, past).collect()
    }

    /// Returns the maximum collective width: the most wires side by side between two neighbouring
    /// nodes, in either half. [`OverlappingWindows::collective_width`] is its closed form.
    #[must_use]
    pub fn collective_width(&self) -> usize {
        [Half::Upper, Half::Lower].into_iter().flat_map(|half| self.widths(half)).max().unwrap_or(0)
    }

    /// Returns the layer of each node's wires to higher nodes, so that no wires of a layer cross.
    ///
    /// This is the brute-force decomposition: from the left to the right, each node takes the first
    /// layer that its wires fit in. On a regular network of windows, nodes 2i and 2i + 1 share a
    /// layer, as in the dissertation. A node without such wires is in layer 0. Takes time in
    /// proportion to the number of layers and of wires, up to a logarithm.
    ///
    /// ```
    /// use necklace::topology::{ColinearLayout, OverlappingWindows};
    ///
    /// // Figure 2.2: 12 nodes, windows of 5.
    /// let how = OverlappingWindows::new(12, 5, 1).expect("12 nodes");
    /// assert_eq!(ColinearLayout::new(&how).layers(), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 0, 0]);
    /// ```
    #[must_use]
    pub fn layers(&self) -> Vec<usize> {
        let mut layers = vec![0; self.nodes];
        // The right ends of the wires of each layer, by half. A wire from the present node crosses
        // those that end between its own ends: all began to the left of it.
        let mut taken: Vec<[BTreeSet<Node>; 2]> = Vec::new();
        for wires in self.wires.chunk_by(|one, other| one.from == other.from) {
            let node = wires[0].from;
            let passes = |ends: &BTreeSet<Node>, wire: &Wire| {
                let end = ends.range(Node::new(node.index() + 1)..).next();
                end.is_none_or(|&end| wire.to <= end)
            };
            let fits = |ends: &[BTreeSet<Node>; 2]| wires.iter().all(|wire| passes(&ends[wire.half as usize], wire));
            let layer = taken.iter().position(fits).unwrap_or_else(|| {
                taken.push(Default::default());
                taken.len() - 1
            });
            layers[node.index()] = layer;
            for wire in wires {
                taken[layer][wire.half as usize].insert(wire.to);
            }
        }
        layers
    }

    /// Returns the number of [layers](Self::layers), 0 without wires.
    /// [`OverlappingWindows::layout_layers`] is its closed form.
    #[must_use]
    pub fn layer_count(&self) -> usize {
        if self.wires.is_empty() { 0 } else { self.layers().into_iter().max().map_or(0, |layer| layer + 1) }
    }

    /// Returns the measures of restricted routing (section 2.1).
    #[must_use]
    pub fn restricted_routing(&self) -> RestrictedRouting {
        let lengths = self.wires.iter().map(|wire| wire.to.index() - wire.from.index());
        RestrictedRouting {
            layers: 2,
            wires: self.wires.len(),
            contacts: 2 * self.wires.len(),
            longest: lengths.max().unwrap_or(0),
            collective_width: self.collective_width(),
        }
    }
}

impl OverlappingWindows {
    /// Returns the [maximum collective width](ColinearLayout::collective_width) of a row.
    ///
    /// | row | width | source |
    /// |---|---|---|
    /// | regular, 2w <= p | W(w) = w / 2 (w / 2 + 1) for even w, ((w + 1) / 2)^2 for odd w | theorem 2.1.1 |
    /// | regular, 2w > p | (f + 1) (p - 1 - 2f) - W(p - 1 - w), f = floor((p - 1) / 4) | by counting |
    /// | wrapping round, 2w < p | W(w) + ceil(w (w + 1) / 4) | theorem 2.2.1 |
    /// | wrapping round, 2w >= p | as for w = p - 1, the complete network | theorem 2.1.1 |
    ///
    /// For windows that wrap round with 2w < p, it supposes that the wires that wrap round are
    /// [split](ColinearLayout::splitting) between the halves. With all wires in the half of their
    /// lower end, the width is 2 W(w). With 2w = p - 1 the row is complete, and split wires need
    /// less width than those of [`Complete::collective_width`].
    ///
    /// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, chapter 2.
    ///
    /// ```
    /// use necklace::topology::OverlappingWindows;
    ///
    /// let how = |window| OverlappingWindows::new(12, window, 1).map(|how| how.collective_width());
    /// assert_eq!((how(4), how(5), how(11)), (Ok(6), Ok(9), Ok(21)));
    /// ```
    #[must_use]
    pub fn collective_width(&self) -> usize {
        let (extent, window) = (self.extent(), self.window());
        match self.wraps() {
            true if 2 * window < extent => of_window(window) + (window * (window + 1)).div_ceil(4),
            true => of_complete(extent),
            false if 2 * window <= extent => of_window(window),
            false => of_complete(extent) - of_window(extent - 1 - window),
        }
    }

    /// Returns the number of layers in which the wires of a row do not cross, by the
    /// [brute-force decomposition](ColinearLayout::layers): ceil(w / 2), and ceil((p - 2) / 2) for
    /// w = p - 1 > 1. `None` if windows wrap round and the row is not complete: no closed form is
    /// known. Then the decomposition has at most w layers for all p below 40, with each wire in the
    /// half of its lower end.
    ///
    /// No decomposition that keeps the wires of a node in one layer has fewer, nor any other if
    /// 2w <= p. The wires from nodes 2i to nodes 2i + w, for 2i < w, cross pairwise.
    ///
    /// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, theorem 2.1.2.
    #[must_use]
    pub fn layout_layers(&self) -> Option<usize> {
        match (self.is_complete(), self.wraps()) {
            (true, _) => Some(layers_of_complete(self.extent())),
            (false, true) => None,
            (false, false) => Some(self.window().div_ceil(2)),
        }
    }
}

impl Complete {
    /// Returns the [maximum collective width](ColinearLayout::collective_width) for p nodes:
    /// (f + 1) (p - 1 - 2f) with f = floor((p - 1) / 4), about p^2 / 8.
    ///
    /// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, theorem 2.1.1,
    /// which writes it (p - 3) f + p - 1 - 2 f^2.
    #[must_use]
    pub fn collective_width(&self) -> usize {
        of_complete(self.nodes())
    }

    /// Returns the number of layers in which wires do not cross, by the [brute-force
    /// decomposition](ColinearLayout::layers): ceil((p - 2) / 2) for p nodes, 1 for two nodes.
    ///
    /// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, theorem 2.1.2,
    /// which writes it 1 + ceil((p - 4) / 2), and so says 0 for two nodes.
    #[must_use]
    pub fn layout_layers(&self) -> usize {
        layers_of_complete(self.nodes())
    }
}

/// Returns the width of windows that are not cut at the borders: 2 + 4 + .. + w, or 1 + 3 + .. + w.
fn of_window(window: usize) -> usize {
    window.div_ceil(2) * (window / 2 + 1)
}

fn of_complete(nodes: usize) -> usize {
    let quarter = nodes.saturating_sub(1) / 4;
    (quarter + 1) * (nodes.saturating_sub(1) - 2 * quarter)
}

fn layers_of_complete(nodes: usize) -> usize {
    match nodes {
        0 | 1 => 0,
        2 => 1,
        _ => (nodes - 2).div_ceil(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Graph, Hypercube};

    /// Returns the regular networks of one dimension below 40 nodes.
    fn regular() -> impl Iterator<Item = OverlappingWindows> {
        (2..40).flat_map(|p| (1..p).flat_map(move |w| OverlappingWindows::new(p, w, 1)))
    }

    fn wrapping() -> impl Iterator<Item = OverlappingWindows> {
        (2..40).flat_map(|p| (1..p).flat_map(move |w| OverlappingWindows::wrapping(p, w, 1)))
    }

    /// Returns the width of windows that are not cut at the borders, as theorem 2.1.1 prints it.
    fn printed(w: usize) -> usize {
        if w.is_multiple_of(2) { w / 2 * (w / 2 + 1) } else { w.div_ceil(2).pow(2) }
    }

    fn cross(one: &Wire, other: &Wire) -> bool {
        let over = |a: &Wire, b: &Wire| a.from < b.from && b.from < a.to && a.to < b.to;
        one.half == other.half && (over(one, other) || over(other, one))
    }

    fn assert_layers_are_free_of_crossings(layout: &ColinearLayout) {
        let layers = layout.layers();
        let layer = |wire: &Wire| layers[wire.from.index()];
        for (i, one) in layout.wires().iter().enumerate() {
            for other in &layout.wires()[..i] {
                assert!(layer(one) != layer(other) || !cross(one, other), "{one:?} crosses {other:?}");
            }
        }
    }

    /// Theorem 2.1.1 as printed.
    #[test]
    fn collective_width_of_windows_equals_the_count() {
        for how in regular() {
            let (p, w) = (how.extent(), how.window());
            let counted = ColinearLayout::new(&how).collective_width();
            assert_eq!(how.collective_width(), counted, "{how:?}");
            assert!(2 * w > p || counted == printed(w), "{how:?}");
        }
    }

    #[test]
    fn collective_width_of_complete_networks_equals_the_count() {
        for p in 1..40 {
            let complete = Complete::new(p).unwrap();
            let counted = ColinearLayout::new(&complete).collective_width();
            assert_eq!(complete.collective_width(), counted, "{p}");
            let f = (p - 1) / 4;
            assert!(p == 1 || p * f + p - 1 - 3 * f - 2 * f * f == counted, "{p}");
        }
    }

    #[test]
    fn collective_width_equals_a_count_wire_by_wire() {
        for how in regular().chain(wrapping()).filter(|how| how.extent() < 16) {
            let layout = ColinearLayout::splitting(&how, how.window());
            let between = |gap: usize, half| {
                let passes = |wire: &&Wire| wire.half == half && wire.from.index() <= gap && gap < wire.to.index();
                layout.wires().iter().filter(passes).count()
            };
            for half in [Half::Upper, Half::Lower] {
                let counted: Vec<usize> = (0..how.extent() - 1).map(|gap| between(gap, half)).collect();
                assert_eq!(layout.widths(half), counted, "{how:?}");
            }
        }
    }

    /// Theorem 2.2.1, and what is true instead without a split or with 2w >= p.
    #[test]
    fn collective_width_of_wrapping_windows_equals_the_count() {
        for how in wrapping() {
            let (p, w) = (how.extent(), how.window());
            let plain = ColinearLayout::new(&how).collective_width();
            if 2 * w >= p {
                assert_eq!(how.collective_width(), plain, "{how:?}");
                continue;
            }
            let layout = ColinearLayout::splitting(&how, w);
            assert_eq!(how.collective_width(), layout.collective_width(), "{how:?}");
            assert_eq!(how.collective_width(), printed(w) + (w * (w + 1)).div_ceil(4), "{how:?}");
            assert_eq!(plain, 2 * printed(w), "{how:?}");
        }
        // The theorem says 7 for six nodes and windows of 3.
        assert_eq!(OverlappingWindows::wrapping(6, 3, 1).unwrap().collective_width(), 6);
    }

    #[test]
    fn width_does_not_depend_on_which_wires_are_split() {
        for how in wrapping().filter(|how| 2 * how.window() < how.extent()) {
            let layout = ColinearLayout::splitting(&how, how.window());
            let is_long = |wire: &Wire| wire.to.index() - wire.from.index() > how.window();
            let long = layout.wires().iter().filter(|wire| is_long(wire)).count();
            assert_eq!(long, how.window() * (how.window() + 1) / 2);
            for upper_first in [false, true] {
                let (mut other, mut nth) = (layout.clone(), 0);
                for wire in other.wires.iter_mut().filter(|wire| is_long(wire)) {
                    let first = nth < long / 2;
                    wire.half = if first == upper_first { Half::Upper } else { Half::Lower };
                    nth += 1;
                }
                assert_eq!(other.collective_width(), layout.collective_width(), "{how:?}");
            }
        }
    }

    /// Theorem 2.1.2.
    #[test]
    fn layers_equal_the_closed_form() {
        for how in regular() {
            let (p, w) = (how.extent(), how.window());
            let layout = ColinearLayout::new(&how);
            let count = layout.layer_count();
            assert_eq!(how.layout_layers(), Some(count), "{how:?}");
            if w + 2 <= p {
                assert_eq!(count, w.div_ceil(2), "{how:?}");
            } else if p >= 3 {
                assert_eq!(count as isize, 1 + (p as isize - 3).div_euclid(2), "{how:?}");
            }
            assert_eq!(Complete::new(p).unwrap().layout_layers(), if w + 1 == p { count } else { (p - 1) / 2 });
            // Pairs of consecutive nodes take the layers in turn.
            let pairs: Vec<usize> = (0..p - 2).map(|node| node / 2 % count).collect();
            assert_eq!(layout.layers()[..p - 2], pairs, "{how:?}");
        }
        assert_eq!(ColinearLayout::new(&Complete::new(1).unwrap()).layer_count(), 0);
        assert_eq!(Complete::new(1).unwrap().layout_layers(), 0);
    }

    #[test]
    fn wires_of_a_layer_do_not_cross() {
        for how in regular().chain(wrapping()).filter(|how| how.extent() < 24) {
            assert_layers_are_free_of_crossings(&ColinearLayout::new(&how));
            assert_layers_are_free_of_crossings(&ColinearLayout::splitting(&how, how.window()));
        }
        assert_layers_are_free_of_crossings(&ColinearLayout::new(&Hypercube::new(5).unwrap()));
    }

    #[test]
    fn fewer_layers_have_crossings() {
        for how in regular() {
            let (p, w, count) = (how.extent(), how.window(), how.layout_layers().unwrap());
            let layout = ColinearLayout::new(&how);
            let of = |node: usize| layout.wires().iter().filter(move |wire| wire.from.index() == node);
            for (i, j) in (0..count).flat_map(|i| (0..i).map(move |j| (2 * j, 2 * i))) {
                assert!(of(i).any(|one| of(j).any(|other| cross(one, other))), "{how:?} {i} {j}");
                let longest = |node| of(node).find(|wire| wire.to.index() == node + w);
                let crosses = longest(i).zip(longest(j)).is_some_and(|(one, other)| cross(one, other));
                assert!(crosses || 2 * w > p, "{how:?} {i} {j}");
            }
        }
    }

    #[test]
    fn layers_of_wrapping_windows_are_at_most_the_window() {
        for how in wrapping().filter(|how| !how.is_complete()) {
            assert!(ColinearLayout::new(&how).layer_count() <= how.window(), "{how:?}");
            assert_eq!(how.layout_layers(), None);
        }
    }

    /// Figures 2.3 to 2.5.
    #[test]
    fn restricted_routing_counts_wires_and_contacts() {
        let how = |window| ColinearLayout::new(&OverlappingWindows::new(12, window, 1).unwrap()).restricted_routing();
        let measures = |of: RestrictedRouting| (of.layers, of.wires, of.contacts, of.longest, of.collective_width);
        assert_eq!(measures(how(4)), (2, 38, 76, 4, 6));
        assert_eq!(measures(how(5)), (2, 45, 90, 5, 9));
        assert_eq!(measures(how(11)), (2, 66, 132, 11, 21));
        let wrapping = OverlappingWindows::wrapping(12, 4, 1).unwrap();
        assert_eq!(measures(ColinearLayout::splitting(&wrapping, 4).restricted_routing()), (2, 48, 96, 11, 11));
    }

    #[test]
    fn any_network_has_a_layout() {
        let single = ColinearLayout::new(&Complete::new(1).unwrap());
        assert_eq!((single.layer_count(), single.collective_width()), (0, 0));
        assert_eq!((single.widths(Half::Upper), single.layers()), (vec![], vec![0]));
        // Both wires from node 1 cross that from 0 to 2, but in the other half.
        let graph = Graph::from_edges([(0, 2), (1, 3), (1, 2)]).unwrap();
        let layout = ColinearLayout::new(&graph);
        assert_eq!((layout.widths(Half::Upper), layout.widths(Half::Lower)), (vec![1, 1, 0], vec![0, 2, 1]));
        assert_eq!(layout.layer_count(), 1);
        assert_eq!(ColinearLayout::splitting(&graph, 1).layer_count(), 1);
    }
}

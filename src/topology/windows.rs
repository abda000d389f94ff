//! Networks of highly overlapping windows (HOW): a node is linked to all within a window.

use std::sync::Arc;

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Complete, Coordinates, Factor, Graph, Grid, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const REGULAR: TopologyRow =
    TopologyRow { name: "how", syntax: &["how:P,W,N"], example: "how:8,3,2", read: |cursor| read(cursor, false) };

pub(super) const WRAPPING: TopologyRow = TopologyRow {
    name: "how-wrap",
    syntax: &["how-wrap:P,W,N"],
    example: "how-wrap:8,3,2",
    read: |cursor| read(cursor, true),
};

fn read(cursor: &mut TextCursor<'_>, wraps: bool) -> Result<Named, SyntaxFault> {
    let comma = |cursor: &mut TextCursor<'_>| {
        if cursor.skip(",") { Ok(()) } else { Err(SyntaxFault("\",\"".to_owned())) }
    };
    let extent = cursor.number("an extent", 2, MAX_NODES)?;
    comma(cursor)?;
    let window = cursor.number("a window", 1, extent - 1)?;
    comma(cursor)?;
    let dimensions = cursor.number(
        "a number of dimensions that gives at most 2147483647 nodes,",
        1,
        MAX_NODES.ilog(extent) as usize,
    )?;
    cursor.end("the end")?;
    Named::network(OverlappingWindows::with(extent, window, dimensions, wraps))
}

/// The network HOW(p, w, n): nodes at n coordinates below p, linked if they differ in exactly one
/// coordinate, by at most the window w.
///
/// Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
/// Evaluation*, dissertation, New Jersey Institute of Technology, 1999, section 1.1 (Highly
/// Overlapping Windows). Differs from it: where windows wrap round and 2w is at least p, a row is
/// complete and has p (p - 1) / 2 links; the dissertation counts p w.
///
/// With a window of 1 it is a mesh, or a torus if it wraps round; with a window of p - 1 it is the
/// [generalized hypercube](super::GeneralizedHypercube). So it lies between them in the number of
/// links as in the diameter:
///
/// | | regular | wrapping round, 2w < p |
/// |---|---|---|
/// | [most links of a node](Self::degree) | n min(2w, p - 1) | 2 n w |
/// | links | n p^(n-1) w (2p - w - 1) / 2 | n p^n w |
/// | [diameter](Self::diameter) | n ceil((p - 1) / w) | n ceil((p - 1) / 2w) |
/// | [links between the halves](Self::bisection), 2w <= p | p^(n-1) w (w + 1) / 2 | p^(n-1) w (w + 1) |
///
/// Nodes are numbered row-major, the last dimension fastest. Routes correct the last dimension
/// first, with jumps of w and then one of the rest; where windows wrap round, they go the shorter
/// way, up if both are equally long. A value stores four numbers; methods take time in proportion to
/// the number of dimensions and to the length of the result, [bisection](Self::bisection) also to the
/// window if it is wider than half of the extent.
///
/// ```
/// use necklace::topology::{OverlappingWindows, Topology};
///
/// let how = OverlappingWindows::new(12, 4, 1).unwrap();
/// assert_eq!((how.degree(), how.channels() / 2, how.diameter(), how.bisection()), (8, 38, 3, 10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OverlappingWindows {
    /// The mesh of the same extents, which numbers the nodes.
    shape: Grid,
    window: usize,
    wraps: bool,
}

impl OverlappingWindows {
    /// Returns the network of this many dimensions of this extent.
    ///
    /// # Errors
    ///
    /// [`SizeError`] if the window is 0 or not less than the extent, there are no dimensions, or there
    /// are more than [`MAX_NODES`](crate::ids::MAX_NODES) nodes.
    pub fn new(extent: usize, window: usize, dimensions: usize) -> Result<Self, SizeError> {
        Self::with(extent, window, dimensions, false)
    }

    /// Like [`new`](Self::new), with windows that wrap round from the last coordinate to the first.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn wrapping(extent: usize, window: usize, dimensions: usize) -> Result<Self, SizeError> {
        Self::with(extent, window, dimensions, true)
    }

    fn with(extent: usize, window: usize, dimensions: usize, wraps: bool) -> Result<Self, SizeError> {
        SizeError::check("the extent", extent, 2, MAX_NODES)?;
        SizeError::check("the window", window, 1, extent - 1)?;
        SizeError::check("the number of dimensions", dimensions, 1, MAX_NODES.ilog(extent) as usize)?;
        Ok(Self { shape: Grid::mesh(&vec![extent; dimensions])?, window, wraps })
    }

    /// Returns the number of coordinates of a dimension, p.
    #[must_use]
    pub fn extent(&self) -> usize {
        self.shape.extents()[0]
    }

    /// Returns the longest difference of coordinates with a link, w.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window
    }

    /// Returns the number of dimensions, n.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.shape.extents().len()
    }

    /// Returns whether windows wrap round.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// Returns the position of a node. For a node out of range, it is unspecified.
    #[must_use]
    pub fn coordinates(&self, node: Node) -> Coordinates {
        self.shape.coordinates(node)
    }

    /// Returns the most links of a node.
    #[must_use]
    pub fn degree(&self) -> usize {
        (2 * self.window).min(self.extent() - 1) * self.dimensions()
    }

    /// Returns the longest distance of two nodes (theorem 1.1.1).
    #[must_use]
    pub fn diameter(&self) -> usize {
        let farthest = if self.wraps { self.extent() / 2 } else { self.extent() - 1 };
        farthest.div_ceil(self.window) * self.dimensions()
    }

    /// Returns the number of links between the nodes in the lower half of a dimension, rounded down,
    /// and the others. With an even extent, or in one dimension, it is the least number between any
    /// two halves: the bisection width (section 9.1, which supposes 2w <= p).
    #[must_use]
    pub fn bisection(&self) -> usize {
        let (extent, window) = (self.extent(), self.window);
        let half = extent / 2;
        let rows = self.nodes() / extent;
        if self.is_complete() {
            return (half * (extent - half)).saturating_mul(rows);
        }
        // A link from x to x + length crosses if x is below the half and its end is not.
        let crossing = |length: usize| half.min(extent - length) - half.saturating_sub(length);
        // All lengths up to the half cross as often as they are long.
        let short = window.min(half);
        let regular = short * (short + 1) / 2 + (short + 1..=window).map(crossing).sum::<usize>();
        (if self.wraps { 2 * regular } else { regular }).saturating_mul(rows)
    }

    /// Returns whether all nodes of a row are linked with each other.
    pub(super) fn is_complete(&self) -> bool {
        self.window >= if self.wraps { self.extent() / 2 } else { self.extent() - 1 }
    }

    /// Returns the difference from one coordinate to another on the shorter way, and whether it goes
    /// up.
    pub(super) fn way(&self, from: usize, to: usize) -> (usize, bool) {
        let (length, up) = (from.abs_diff(to), from < to);
        let round = self.extent().saturating_sub(length);
        match self.wraps {
            true if round < length || round == length && !up => (round, !up),
            _ => (length, up),
        }
    }
}

impl Topology for OverlappingWindows {
    fn nodes(&self) -> usize {
        self.shape.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let mut found = Neighbours::default();
        for (extent, stride) in self.shape.strides() {
            let x = node.index() / stride % extent;
            let origin = node.index() - x * stride;
            // From the lowest coordinate of the window on, where coordinates go round.
            let (lowest, count) = match (self.is_complete(), self.wraps) {
                (true, _) => (0, extent),
                (false, true) => (x + extent - self.window, 2 * self.window + 1),
                (false, false) => {
                    let lowest = x.saturating_sub(self.window);
                    (lowest, (x + self.window + 1).min(extent) - lowest)
                }
            };
            let others = (lowest..lowest + count).map(|y| y % extent).filter(|&y| y != x);
            found.extend(others.map(|y| Node::new(origin + y * stride)));
        }
        found.sort_unstable();
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        let jumps = |(extent, stride): (usize, usize)| {
            let (length, _) = self.way(from.index() / stride % extent, to.index() / stride % extent);
            length.div_ceil(self.window)
        };
        self.shape.strides().map(jumps).sum()
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        let mut here = from.index();
        for (extent, stride) in self.shape.strides() {
            let (mut x, y) = (here / stride % extent, to.index() / stride % extent);
            let origin = here - x * stride;
            let (mut left, up) = self.way(x, y);
            while left > 0 {
                let jump = left.min(self.window);
                x = (if up { x + jump } else { x + extent - jump }) % extent;
                left -= jump;
                here = origin + x * stride;
                path.push(Node::new(here));
            }
        }
        path
    }

    fn text(&self) -> String {
        let name = if self.wraps { WRAPPING.name } else { REGULAR.name };
        format!("{name}:{},{},{}", self.extent(), self.window, self.dimensions())
    }

    /// A cube if the extent is a power of two and the window half of it or more.
    fn cube(&self) -> Option<u32> {
        let contains = self.extent().is_power_of_two() && self.window >= self.extent() / 2;
        contains.then(|| self.nodes().ilog2())
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        let extent = self.extent();
        let factor = match (self.window, self.wraps) {
            _ if self.is_complete() => Factor::Complete(extent),
            (1, false) => Factor::Line(extent),
            (1, true) => Factor::Ring(extent),
            (window, wraps) => Factor::Windows { extent, window, wraps },
        };
        Some(vec![factor; self.dimensions()])
    }

    /// Consecutive coordinates, equally many in each dimension with more than one, form a network of
    /// the same kind. It wraps round only with all coordinates. Other connected parts are
    /// [`Graph`]s.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        as_set(nodes, self.nodes())?;
        let Some(sides) = self.shape.sides(nodes) else { return Graph::induced(self, nodes) };
        let long: Vec<&Vec<usize>> = sides.iter().filter(|side| side.len() > 1).collect();
        let extent = long.first().map_or(1, |side| side.len());
        let whole = extent == self.extent();
        let is_row = |side: &&Vec<usize>| side.len() == extent && side[extent - 1] - side[0] == extent - 1;
        if !long.iter().all(is_row) || self.wraps && !whole && extent > 1 {
            return Graph::induced(self, nodes);
        }
        let topology: Arc<dyn Topology> = match long.len() {
            0 => Arc::new(Complete::new(1).ok()?),
            dimensions => Arc::new(Self::with(extent, self.window.min(extent - 1), dimensions, self.wraps).ok()?),
        };
        let number = |&node: &Node| {
            let digits = self.coordinates(node).into_iter().zip(&sides);
            Node::new(digits.fold(0, |index, (x, side)| index * side.len() + x - side[0]))
        };
        Some(Part::new(topology, nodes.iter().map(number).collect()))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        let nodes = self.nodes();
        from.index() < nodes && to.index() < nodes && self.distance(from, to) == 1
    }

    fn channels(&self) -> usize {
        let (extent, window) = (self.extent(), self.window);
        let of_a_row = match self.wraps {
            _ if self.is_complete() => extent * (extent - 1),
            true => 2 * extent * window,
            false => window * (2 * extent - window - 1),
        };
        (self.nodes() / extent * self.dimensions()).saturating_mul(of_a_row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(most: usize) -> impl Iterator<Item = OverlappingWindows> {
        let with = move |extent, window| {
            (1..4).flat_map(move |dimensions| {
                [OverlappingWindows::new, OverlappingWindows::wrapping].map(|new| new(extent, window, dimensions))
            })
        };
        let all = (2..12).flat_map(move |extent| (1..extent).flat_map(move |window| with(extent, window)));
        all.flatten().filter(move |how| how.nodes() <= most)
    }

    fn all(how: &OverlappingWindows) -> impl Iterator<Item = Node> + use<> {
        (0..how.nodes()).map(Node::new)
    }

    #[test]
    fn closed_forms_equal_the_counts() {
        for how in networks(130) {
            let degree = all(&how).map(|node| how.neighbours(node).len()).max().unwrap();
            let diameter =
                all(&how).flat_map(|u| all(&how).map(move |v| (u, v))).map(|(u, v)| how.distance(u, v)).max();
            let lower = |node: Node| how.coordinates(node)[0] < how.extent() / 2;
            let across = how.edges().iter().filter(|(u, v)| lower(*u) != lower(*v)).count();
            let counted = (degree, diameter.unwrap(), across, 2 * how.edges().len());
            assert_eq!((how.degree(), how.diameter(), how.bisection(), how.channels()), counted, "{how:?}");
        }
    }

    /// Errata of the dissertation: 13 and 5 where the formula says 15 and 6.
    #[test]
    fn no_halves_have_fewer_links_between_them() {
        assert_eq!(OverlappingWindows::new(8, 5, 1).unwrap().bisection(), 13);
        assert_eq!(OverlappingWindows::new(5, 3, 1).unwrap().bisection(), 5);
        for how in networks(16).filter(|how| how.dimensions() == 1 || how.extent() % 2 == 0) {
            let links: Vec<(usize, usize)> = how.edges().iter().map(|(u, v)| (u.index(), v.index())).collect();
            let halves = (0_u32..1 << how.nodes()).filter(|half| half.count_ones() as usize == how.nodes() / 2);
            let across = |half: u32| links.iter().filter(|(u, v)| (half >> u ^ half >> v) & 1 == 1).count();
            assert_eq!(halves.map(across).min(), Some(how.bisection()), "{how:?}");
        }
    }

    #[test]
    fn routes_jump_by_the_window_first() {
        let route = |how: Result<OverlappingWindows, SizeError>, from, to| {
            let path = how.unwrap().route(Node::new(from), Node::new(to));
            path.into_iter().map(Node::index).collect::<Vec<_>>()
        };
        assert_eq!(route(OverlappingWindows::new(10, 3, 1), 1, 9), [1, 4, 7, 9]);
        assert_eq!(route(OverlappingWindows::new(10, 3, 1), 9, 1), [9, 6, 3, 1]);
        assert_eq!(route(OverlappingWindows::new(5, 2, 2), 3, 20), [3, 1, 0, 10, 20]);
        assert_eq!(route(OverlappingWindows::wrapping(10, 3, 1), 1, 9), [1, 9]);
        assert_eq!(route(OverlappingWindows::wrapping(10, 3, 1), 7, 2), [7, 0, 2]);
        assert_eq!(route(OverlappingWindows::wrapping(10, 3, 1), 2, 7), [2, 5, 7]);
    }

    #[test]
    fn window_of_1_is_a_mesh_and_the_widest_a_generalized_hypercube() {
        for (extent, dimensions) in [(2, 3), (3, 2), (6, 1), (5, 2)] {
            let extents = vec![extent; dimensions];
            let [regular, wrapping] =
                [OverlappingWindows::new, OverlappingWindows::wrapping].map(|new| new(extent, 1, dimensions).unwrap());
            let complete = super::super::GeneralizedHypercube::new(&extents).unwrap();
            let widest = OverlappingWindows::new(extent, extent - 1, dimensions).unwrap();
            assert_eq!(regular.edges(), Grid::mesh(&extents).unwrap().edges());
            assert_eq!(wrapping.edges(), Grid::torus(&extents).unwrap().edges());
            assert_eq!(widest.edges(), complete.edges());
            assert_eq!(widest.cube(), complete.cube());
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for (extent, window, dimensions, expected) in [
            (0, 0, 1, "the extent is 0; expected 2 to 2147483647"),
            (1, 1, 1, "the extent is 1; expected 2 to 2147483647"),
            (5, 0, 1, "the window is 0; expected 1 to 4"),
            (5, 5, 2, "the window is 5; expected 1 to 4"),
            (4, 2, 0, "the number of dimensions is 0; expected 1 to 15"),
            (2, 1, 31, "the number of dimensions is 31; expected 1 to 30"),
            (46341, 1, 2, "the number of dimensions is 2; expected 1 to 1"),
            (2, 1, usize::MAX, "the number of dimensions is 18446744073709551615; expected 1 to 30"),
        ] {
            for new in [OverlappingWindows::new, OverlappingWindows::wrapping] {
                assert_eq!(new(extent, window, dimensions).unwrap_err().to_string(), expected);
            }
        }
        let largest = OverlappingWindows::new(MAX_NODES, MAX_NODES - 1, 1).unwrap();
        assert_eq!((largest.diameter(), largest.distance(Node::new(0), Node::new(MAX_NODES - 1))), (1, 1));
        let longest = OverlappingWindows::wrapping(MAX_NODES, 1 << 20, 1).unwrap();
        assert_eq!(longest.distance(Node::new(0), Node::new(1 << 30)), 1 << 10);
        assert!(longest.bisection() == (1 << 20) * ((1 << 20) + 1) && longest.channels() > 1 << 51);
    }

    #[test]
    fn parts_of_consecutive_coordinates_keep_their_kind() {
        let how = OverlappingWindows::new(6, 3, 2).unwrap();
        let text = |how: &OverlappingWindows, nodes: &[usize]| {
            let nodes: Vec<Node> = nodes.iter().copied().map(Node::new).collect();
            how.part(&nodes).map(|part| part.topology.text())
        };
        assert_eq!(text(&how, &[7, 8, 9, 10]).as_deref(), Some("how:4,3,1"));
        assert_eq!(text(&how, &[0, 6, 12, 18, 24, 30]).as_deref(), Some("how:6,3,1"));
        assert_eq!(text(&how, &[14, 15, 20, 21]).as_deref(), Some("how:2,1,2"));
        assert_eq!(text(&how, &[5]).as_deref(), Some("complete:1"));
        let wrapping = OverlappingWindows::wrapping(6, 2, 2).unwrap();
        assert_eq!(text(&wrapping, &[1, 7, 13, 19, 25, 31]).as_deref(), Some("how-wrap:6,2,1"));
        assert!(text(&wrapping, &[1, 7, 13]).is_some_and(|text| text.starts_with("graph")));
        assert_eq!(text(&wrapping, &[0, 21]), None);
    }
}

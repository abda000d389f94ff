//! Lines, rings, meshes and tori.

use std::iter::successors;
use std::sync::Arc;

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Coordinates, Factor, Graph, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const LINE: TopologyRow =
    TopologyRow { name: "line", syntax: &["line:N"], example: "line:5", read: |cursor| read(cursor, false, 1) };
pub(super) const RING: TopologyRow =
    TopologyRow { name: "ring", syntax: &["ring:N"], example: "ring:8", read: |cursor| read(cursor, true, 1) };
pub(super) const MESH: TopologyRow = TopologyRow {
    name: "mesh",
    syntax: &["mesh:AxB[xC..]"],
    example: "mesh:3x4",
    read: |cursor| read(cursor, false, usize::MAX),
};
pub(super) const TORUS: TopologyRow = TopologyRow {
    name: "torus",
    syntax: &["torus:AxB[xC..]"],
    example: "torus:4x4",
    read: |cursor| read(cursor, true, usize::MAX),
};

fn read(cursor: &mut TextCursor<'_>, wraps: bool, most: usize) -> Result<Named, SyntaxFault> {
    let first = cursor.number("an extent", 1, MAX_NODES)?;
    let extents = cursor.further(first, most)?;
    cursor.end(if most == 1 { "the end" } else { "\"x\" or the end" })?;
    Named::network(Grid::new(&extents, wraps))
}

/// Returns extents as in texts, such as `4x4`.
pub(super) fn joined(extents: &[usize]) -> String {
    extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// A line, ring, mesh or torus: nodes at integer coordinates, linked along each dimension.
///
/// Nodes are numbered row-major, the last dimension fastest. An extent of 2 has one link, an extent
/// of 1 none. Routes correct the last dimension first; round a ring they go up if both directions
/// are equally long.
///
/// A grid stores its extents alone. Methods take time in proportion to the number of dimensions and
/// to the length of the result.
///
/// ```
/// use necklace::Node;
/// use necklace::topology::{Grid, Topology};
///
/// let torus = Grid::torus(&[4, 4]).expect("16 nodes");
/// // From (0, 0) to (3, 2): along the row first, then down round the column.
/// let route = [0, 1, 2, 14].map(Node::new);
/// assert_eq!(torus.route(torus.node(&[0, 0]), torus.node(&[3, 2])), route);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    extents: Coordinates,
    wraps: bool,
}

impl Grid {
    /// Returns the grid that a topology is, by its [factors](Topology::factors): the mesh if all
    /// are lines, the torus if all are rings, `None` otherwise.
    #[must_use]
    pub fn of(topology: &dyn Topology) -> Option<Self> {
        let factors = topology.factors()?;
        let extents: Vec<usize> = factors.iter().map(|factor| factor.extent()).collect();
        let wraps = factors.iter().all(|factor| matches!(factor, Factor::Ring(_)));
        let grid = wraps || factors.iter().all(|factor| matches!(factor, Factor::Line(_)));
        if grid { Self::new(&extents, wraps).ok() } else { None }
    }

    /// Returns the line of this many nodes.
    ///
    /// # Errors
    ///
    /// [`SizeError`] unless `1 <= extent <= MAX_NODES`.
    pub fn line(extent: usize) -> Result<Self, SizeError> {
        Self::mesh(&[extent])
    }

    /// Returns the ring of this many nodes.
    ///
    /// # Errors
    ///
    /// [`SizeError`] unless `1 <= extent <= MAX_NODES`.
    pub fn ring(extent: usize) -> Result<Self, SizeError> {
        Self::torus(&[extent])
    }

    /// Returns the mesh of these extents.
    ///
    /// # Errors
    ///
    /// [`SizeError`] if there are no extents, one is 0, or there are more than [`MAX_NODES`] nodes.
    pub fn mesh(extents: &[usize]) -> Result<Self, SizeError> {
        Self::new(extents, false)
    }

    /// Returns the torus of these extents.
    ///
    /// # Errors
    ///
    /// [`SizeError`] if there are no extents, one is 0, or there are more than [`MAX_NODES`] nodes.
    pub fn torus(extents: &[usize]) -> Result<Self, SizeError> {
        Self::new(extents, true)
    }

    /// Returns the torus of `nodes` nodes whose `dimensions` extents are as close to each other as
    /// possible, the greatest first, as `MPI_Dims_create`.
    ///
    /// For the mesh of the same extents, pass [`extents`](Self::extents) to [`mesh`](Self::mesh).
    ///
    /// ```
    /// use necklace::topology::Grid;
    /// assert_eq!(Grid::balanced(12, 2)?.extents(), [4, 3]);
    /// assert_eq!(Grid::balanced(24, 3)?.extents(), [4, 3, 2]);
    /// assert_eq!(Grid::balanced(7, 2)?.extents(), [7, 1]);
    /// # Ok::<(), necklace::topology::SizeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SizeError`] unless `1 <= nodes <= MAX_NODES` and there is a dimension.
    pub fn balanced(nodes: usize, dimensions: usize) -> Result<Self, SizeError> {
        // The lowest greatest extent that leaves room for the others, and so on. There are at most
        // 31 extents above 1.
        fn split(rest: usize, dimensions: usize, most: usize, extents: &mut Vec<usize>) -> bool {
            let divides = |extent: &usize| rest.is_multiple_of(*extent);
            if dimensions <= 1 {
                extents.push(rest);
                return rest <= most;
            }
            let low = (1..=rest.isqrt()).filter(divides);
            let high = (1..=rest.isqrt()).rev().filter(divides).map(|low| rest / low);
            for extent in low.chain(high).take_while(|&extent| extent <= most) {
                let length = extents.len();
                extents.push(extent);
                if split(rest / extent, dimensions - 1, extent, extents) {
                    return true;
                }
                extents.truncate(length);
            }
            false
        }
        SizeError::check("the number of nodes", nodes, 1, MAX_NODES)?;
        if dimensions == 0 {
            return Err(SizeError::NoExtents);
        }
        let (mut extents, ones) = (Vec::new(), dimensions.saturating_sub(31));
        split(nodes, dimensions - ones, nodes, &mut extents);
        extents.resize(dimensions, 1);
        Self::torus(&extents)
    }

    pub(super) fn new(extents: &[usize], wraps: bool) -> Result<Self, SizeError> {
        if extents.is_empty() {
            return Err(SizeError::NoExtents);
        }
        extents.iter().try_for_each(|&extent| SizeError::check("an extent", extent, 1, MAX_NODES))?;
        let nodes = extents.iter().try_fold(1_usize, |nodes, &extent| nodes.checked_mul(extent));
        if nodes.is_none_or(|nodes| nodes > MAX_NODES) {
            return Err(SizeError::TooMany { extents: joined(extents) });
        }
        Ok(Self { extents: extents.iter().copied().collect(), wraps })
    }

    /// Returns the extent of each dimension.
    #[must_use]
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Returns whether the dimensions are rings.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// Returns the position of a node. For a node out of range, it is some position of the grid.
    #[must_use]
    pub fn coordinates(&self, node: Node) -> Coordinates {
        let mut rest = node.index();
        let mut at: Coordinates = self
            .extents
            .iter()
            .rev()
            .map(|&extent| {
                let coordinate = rest % extent;
                rest /= extent;
                coordinate
            })
            .collect();
        at.reverse();
        at
    }

    /// Returns the node at a position. For a position outside the grid, it is a node that is always
    /// out of range.
    #[must_use]
    pub fn node(&self, at: &[usize]) -> Node {
        let mut axes = self.extents.iter().zip(at);
        let index = axes.try_fold(0, |index, (&extent, &x)| (x < extent).then_some(index * extent + x));
        Node::new(index.filter(|_| at.len() == self.extents.len()).unwrap_or(MAX_NODES))
    }

    /// Returns the nodes on the walk from `from` over `hops` channels up or down `dimension`, both
    /// ends included. On a line the walk stops at the border, on a ring after one lap. It is
    /// `[from]` if there is no such dimension.
    #[must_use]
    pub fn walk(&self, from: Node, dimension: usize, up: bool, hops: usize) -> Vec<Node> {
        let mut path = vec![from];
        if let Some(&extent) = self.extents.get(dimension) {
            let stride = self.extents[dimension + 1..].iter().product();
            path.extend(self.steps(from, extent, stride, up).take(hops.min(extent)));
        }
        path
    }

    /// Returns the nodes after `from` along a dimension with this extent and stride, endlessly on a
    /// ring. The stride is the difference between the numbers of neighbours.
    fn steps(&self, from: Node, extent: usize, stride: usize, up: bool) -> impl Iterator<Item = Node> {
        let x = from.index() / stride % extent;
        let origin = from.index() - x * stride;
        successors(Some(x), move |&x| self.step(x, extent, up)).skip(1).map(move |x| Node::new(origin + x * stride))
    }

    /// Returns the coordinate next to `x` in a dimension of this extent.
    fn step(&self, x: usize, extent: usize, up: bool) -> Option<usize> {
        match (up, self.wraps && extent > 1) {
            (true, _) if x + 1 < extent => Some(x + 1),
            (false, _) if x > 0 => Some(x - 1),
            (true, true) => Some(0),
            (false, true) => Some(extent - 1),
            (_, false) => None,
        }
    }

    /// Returns the direction (up or not) and length of the shorter way between two coordinates.
    fn way(&self, from: usize, to: usize, extent: usize) -> (bool, usize) {
        let up = (to + extent - from) % extent;
        match self.wraps {
            true if up <= extent - up => (true, up),
            true => (false, extent - up),
            false => (to > from, to.abs_diff(from)),
        }
    }

    /// Returns extent and stride of each dimension, from the last to the first.
    pub(super) fn strides(&self) -> impl Iterator<Item = (usize, usize)> {
        self.extents.iter().rev().scan(1, |next, &extent| {
            let stride = *next;
            *next *= extent;
            Some((extent, stride))
        })
    }

    /// Returns the sorted coordinates of the nodes in each dimension, if the nodes are the product
    /// of these sets.
    pub(super) fn sides(&self, nodes: &[Node]) -> Option<Vec<Vec<usize>>> {
        let places: Vec<Coordinates> = nodes.iter().map(|&node| self.coordinates(node)).collect();
        let side = |dimension| {
            let mut xs: Vec<usize> = places.iter().map(|at: &Coordinates| at[dimension]).collect();
            xs.sort_unstable();
            xs.dedup();
            xs
        };
        let sides: Vec<Vec<usize>> = (0..self.extents.len()).map(side).collect();
        let product = sides.iter().try_fold(1_usize, |product, xs| product.checked_mul(xs.len()));
        (product == Some(nodes.len())).then_some(sides)
    }

    /// Returns the first of a contiguous set of coordinates, which may wrap around a ring.
    fn start(&self, xs: &[usize], extent: usize) -> Option<usize> {
        let next = |i: usize| xs[(i + 1) % xs.len()];
        let mut ends = (0..xs.len()).filter(|&i| (xs[i] + 1) % extent != next(i));
        match (ends.next(), ends.next()) {
            (None, _) => Some(0),
            (Some(end), None) if self.wraps || end + 1 == xs.len() => Some(next(end)),
            _ => None,
        }
    }
}

impl Topology for Grid {
    fn nodes(&self) -> usize {
        self.extents.iter().product()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let mut found = Neighbours::default();
        for (extent, stride) in self.strides() {
            for up in [false, true] {
                found.extend(self.steps(node, extent, stride, up).take(1));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        let hops = |(extent, stride)| self.way(from.index() / stride % extent, to.index() / stride % extent, extent).1;
        self.strides().map(hops).sum()
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        let mut here = from;
        for (extent, stride) in self.strides() {
            let (up, hops) = self.way(here.index() / stride % extent, to.index() / stride % extent, extent);
            path.extend(self.steps(here, extent, stride, up).take(hops));
            here = path.last().copied().unwrap_or(here);
        }
        path
    }

    fn text(&self) -> String {
        let kind = match (self.extents.len(), self.wraps) {
            (1, true) => "ring",
            (1, false) => "line",
            (_, true) => "torus",
            (_, false) => "mesh",
        };
        format!("{kind}:{}", joined(&self.extents))
    }

    fn cube(&self) -> Option<u32> {
        self.extents.iter().all(|&extent| extent == 2).then_some(self.extents.len() as u32)
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        let factor = if self.wraps { Factor::Ring } else { Factor::Line };
        Some(self.extents.iter().copied().map(factor).collect())
    }

    /// A product of contiguous coordinates is a line, ring, mesh or torus, also across a border
    /// that wraps. Its dimensions keep their order; those with a single coordinate are dropped.
    /// Other connected parts are [`Graph`]s, such as whole rings in one dimension and pieces of
    /// rings in another.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        as_set(nodes, self.nodes())?;
        let Some(sides) = self.sides(nodes) else { return Graph::induced(self, nodes) };
        // A product is connected if and only if all its sides are.
        let axes = sides.iter().zip(&self.extents);
        let starts: Vec<usize> = axes.clone().map(|(xs, &extent)| self.start(xs, extent)).collect::<Option<_>>()?;

        // A side of two nodes is a ring as well as a line; longer sides are either.
        let is_whole = |xs: &[usize], extent| self.wraps && xs.len() == extent;
        let rings = axes.clone().any(|(xs, &extent)| xs.len() > 2 && is_whole(xs, extent));
        let lines = axes.clone().any(|(xs, &extent)| xs.len() > 2 && !is_whole(xs, extent));
        let wraps = match (rings, lines) {
            (true, true) => return Graph::induced(self, nodes),
            (false, false) => self.wraps && axes.clone().all(|(xs, &extent)| xs.len() == 1 || xs.len() == extent),
            (rings, _) => rings,
        };

        let mut extents: Coordinates = sides.iter().map(Vec::len).filter(|&length| length > 1).collect();
        if extents.is_empty() {
            extents.extend([1]);
        }
        let number = |&node: &Node| {
            let at = self.coordinates(node);
            let index = axes.clone().enumerate().fold(0, |index, (d, (xs, extent))| {
                let x = (at[d] + extent - starts[d]) % extent;
                index * xs.len() + x
            });
            Node::new(index)
        };
        let numbers = nodes.iter().map(number).collect();
        Some(Part::new(Arc::new(Self::new(&extents, wraps).ok()?), numbers))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        let nodes = self.nodes();
        from.index() < nodes && to.index() < nodes && self.distance(from, to) == 1
    }

    fn channels(&self) -> usize {
        let nodes = self.nodes();
        let links = |&extent: &usize| match self.wraps && extent > 2 {
            true => nodes,
            false => nodes / extent * (extent - 1),
        };
        self.extents.iter().map(links).fold(0_usize, |all, links| all.saturating_add(links.saturating_mul(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    fn nodes(numbers: &[usize]) -> Vec<Node> {
        numbers.iter().copied().map(Node::new).collect()
    }

    fn grid(text: &str) -> Grid {
        Grid::of(&parse(text).unwrap()).unwrap()
    }

    #[test]
    fn balanced_grids_are_the_closest_to_a_cube() {
        fn all(nodes: usize, dimensions: usize, most: usize) -> Vec<Vec<usize>> {
            let divisors = (1..=nodes.min(most)).filter(|extent| nodes.is_multiple_of(*extent));
            let longer = |extent: usize| match dimensions {
                1 => {
                    if extent == nodes {
                        vec![vec![extent]]
                    } else {
                        vec![]
                    }
                }
                _ => all(nodes / extent, dimensions - 1, extent)
                    .into_iter()
                    .map(|rest| [&[extent][..], &rest].concat())
                    .collect(),
            };
            divisors.flat_map(longer).collect()
        }
        for dimensions in 1..=4 {
            for nodes in 1..=130 {
                let best = all(nodes, dimensions, nodes).into_iter().min();
                assert_eq!(Grid::balanced(nodes, dimensions).ok().map(|grid| grid.extents().to_vec()), best);
            }
        }
        let none = SizeError::OutOfRange { what: "the number of nodes", value: 0, least: 1, most: MAX_NODES };
        assert_eq!(Grid::balanced(0, 2), Err(none));
        assert_eq!(Grid::balanced(8, 0), Err(SizeError::NoExtents));
        assert_eq!(Grid::balanced(2, 200).unwrap().extents()[..2], [2, 1]);
        let most = Grid::balanced(1 << 30, 31).unwrap();
        assert_eq!((most.extents()[0], most.extents()[30]), (2, 1));
        assert_eq!(Grid::balanced(MAX_NODES, 3).unwrap().nodes(), MAX_NODES);
    }

    #[test]
    fn nodes_are_numbered_row_major() {
        let mesh = grid("mesh:2x3x4");
        assert_eq!(mesh.nodes(), 24);
        assert_eq!(mesh.node(&[0, 0, 1]), Node::new(1));
        assert_eq!(mesh.node(&[0, 1, 0]), Node::new(4));
        assert_eq!(mesh.node(&[1, 0, 0]), Node::new(12));
        assert_eq!(mesh.coordinates(Node::new(23))[..], [1, 2, 3]);
        for node in (0..24).map(Node::new) {
            assert_eq!(mesh.node(&mesh.coordinates(node)), node);
        }
    }

    #[test]
    fn position_outside_is_a_node_out_of_range() {
        let mesh = grid("mesh:2x3");
        for at in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0], &[usize::MAX, usize::MAX], &[]] {
            assert_eq!(mesh.node(at), Node::new(MAX_NODES), "{at:?}");
        }
    }

    #[test]
    fn an_extent_of_2_has_one_link_and_an_extent_of_1_none() {
        assert_eq!(grid("ring:1").edges(), []);
        assert_eq!(grid("ring:2").edges(), [(Node::new(0), Node::new(1))]);
        assert_eq!(grid("ring:2").edges(), grid("line:2").edges());
        // Two triangles, and three links between them.
        let torus = grid("torus:2x1x3");
        assert_eq!((torus.edges().len(), torus.channels()), (9, 18));
        assert_eq!(torus.neighbours(Node::new(4)).to_vec(), nodes(&[1, 3, 5]));
    }

    #[test]
    fn channels_are_twice_the_links() {
        let counts = [("line:5", 8), ("ring:5", 10), ("torus:12x12", 576), ("mesh:3x4", 34), ("torus:2x3", 18)];
        for (text, channels) in counts {
            assert_eq!(grid(text).channels(), channels, "{text}");
        }
        assert_eq!(grid("line:2147483647").channels(), 2 * (MAX_NODES - 1));
    }

    #[test]
    fn distances_on_a_torus_of_12_by_12() {
        let torus = grid("torus:12x12");
        let from = torus.node(&[0, 0]);
        for (to, distance) in [([0, 0], 0), ([0, 6], 6), ([0, 7], 5), ([11, 11], 2), ([6, 6], 12), ([5, 8], 9)] {
            assert_eq!(torus.distance(from, torus.node(&to)), distance, "{to:?}");
            assert_eq!(torus.distance(torus.node(&to), from), distance, "{to:?}");
        }
        let of_all: usize = (0..144).map(|to| torus.distance(from, Node::new(to))).sum();
        assert_eq!(of_all, 2 * 12 * 36);
    }

    #[test]
    fn routes_correct_the_last_dimension_first_and_go_up_at_a_tie() {
        assert_eq!(grid("mesh:3x3").route(Node::new(0), Node::new(8)), nodes(&[0, 1, 2, 5, 8]));
        assert_eq!(grid("ring:4").route(Node::new(0), Node::new(2)), nodes(&[0, 1, 2]));
        assert_eq!(grid("ring:4").route(Node::new(3), Node::new(1)), nodes(&[3, 0, 1]));
        assert_eq!(grid("ring:5").route(Node::new(0), Node::new(3)), nodes(&[0, 4, 3]));
        assert_eq!(grid("torus:4x4").route(Node::new(15), Node::new(5)), nodes(&[15, 12, 13, 1, 5]));
        assert_eq!(grid("line:4").route(Node::new(3), Node::new(1)), nodes(&[3, 2, 1]));
        assert_eq!(grid("line:4").route(Node::new(3), Node::new(3)), nodes(&[3]));
    }

    #[test]
    fn walks_end_at_a_border_or_after_a_lap() {
        let (mesh, torus) = (grid("mesh:3x4"), grid("torus:3x4"));
        assert_eq!(mesh.walk(Node::new(5), 1, true, 9), nodes(&[5, 6, 7]));
        assert_eq!(mesh.walk(Node::new(5), 0, false, 9), nodes(&[5, 1]));
        assert_eq!(torus.walk(Node::new(5), 1, true, 3), nodes(&[5, 6, 7, 4]));
        assert_eq!(torus.walk(Node::new(5), 1, false, 2), nodes(&[5, 4, 7]));
        assert_eq!(torus.walk(Node::new(5), 0, true, usize::MAX), nodes(&[5, 9, 1, 5]));
        assert_eq!(torus.walk(Node::new(5), 0, true, 0), nodes(&[5]));
        assert_eq!(torus.walk(Node::new(5), 2, true, 3), nodes(&[5]));
        assert_eq!(grid("ring:1").walk(Node::new(0), 0, true, 3), nodes(&[0]));
    }

    #[test]
    fn empty_and_too_large_grids_are_refused() {
        for (extents, expected) in [
            (&[][..], "there are no extents; expected at least one"),
            (&[0], "an extent is 0; expected 1 to 2147483647"),
            (&[3, 0], "an extent is 0; expected 1 to 2147483647"),
            (&[4, MAX_NODES + 1, 0], "an extent is 2147483648; expected 1 to 2147483647"),
            (&[1 << 16, 1 << 15], "extents 65536x32768 give more than 2147483647 nodes"),
        ] {
            for new in [Grid::mesh, Grid::torus] {
                assert_eq!(new(extents).unwrap_err().to_string(), expected);
            }
        }
        assert_eq!(Grid::ring(MAX_NODES).unwrap().nodes(), MAX_NODES);
        let many = Grid::torus(&[1; 100_000]).unwrap();
        assert_eq!((many.nodes(), many.route(Node::new(0), Node::new(0)).len()), (1, 1));
    }

    #[test]
    fn nodes_out_of_range_do_not_panic_or_loop() {
        for text in ["line:1", "ring:3", "mesh:2x5", "torus:4x4x2"] {
            let grid = grid(text);
            for node in [grid.nodes(), grid.nodes() + 1, MAX_NODES - 1, MAX_NODES].map(Node::new) {
                assert!(grid.coordinates(node).iter().zip(grid.extents()).all(|(x, extent)| x < extent));
                let _ = (grid.neighbours(node), grid.distance(node, Node::new(0)), grid.distance(Node::new(0), node));
                let _ = (grid.route(node, Node::new(0)), grid.route(Node::new(0), node), grid.walk(node, 0, true, 2));
                assert!(!grid.adjacent(node, Node::new(0)) && !grid.adjacent(Node::new(0), node));
                assert!(grid.part(&[node]).is_none());
            }
        }
    }

    /// Returns the part's text and the numbers of the nodes.
    fn part(host: &str, of: &[usize]) -> Option<(String, Vec<usize>)> {
        let Part { topology: part, numbers } = grid(host).part(&nodes(of))?;
        Some((part.text(), numbers.into_iter().map(Node::index).collect()))
    }

    fn found(text: &str, numbers: &[usize]) -> Option<(String, Vec<usize>)> {
        Some((text.to_owned(), numbers.to_vec()))
    }

    #[test]
    fn whole_dimensions_of_a_torus_are_a_torus() {
        assert_eq!(part("torus:3x4", &[4, 5, 6, 7]), found("ring:4", &[0, 1, 2, 3]));
        assert_eq!(part("torus:3x4", &[10, 2, 6]), found("ring:3", &[2, 0, 1]));
        assert_eq!(part("torus:2x1x3", &[5, 4, 3, 2, 1, 0]), found("torus:2x3", &[5, 4, 3, 2, 1, 0]));
        assert_eq!(part("torus:3x4", &[7]), found("ring:1", &[0]));
        // Two rows: with one link between each two nodes, a ring of 2 as well as a line.
        let rows = [8, 9, 10, 11, 0, 1, 2, 3];
        assert_eq!(part("torus:3x4", &rows), found("torus:2x4", &[0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(part("torus:2x2", &[0, 1, 2, 3]), found("torus:2x2", &[0, 1, 2, 3]));
    }

    #[test]
    fn contiguous_pieces_are_a_mesh() {
        assert_eq!(part("mesh:4x4", &[5, 6, 9, 10]), found("mesh:2x2", &[0, 1, 2, 3]));
        assert_eq!(part("mesh:4x4", &[1, 5, 9, 13]), found("line:4", &[0, 1, 2, 3]));
        assert_eq!(part("line:5", &[4, 2, 3]), found("line:3", &[2, 0, 1]));
        assert_eq!(part("mesh:4x4", &[3]), found("line:1", &[0]));
        assert_eq!(part("torus:4x4", &[5, 6, 9, 10]), found("mesh:2x2", &[0, 1, 2, 3]));
        // Across the border.
        assert_eq!(part("ring:5", &[4, 0, 1]), found("line:3", &[0, 1, 2]));
        assert_eq!(part("torus:4x4", &[15, 12, 13, 3, 0, 1]), found("mesh:2x3", &[0, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn other_connected_parts_are_graphs() {
        // Whole rings of 4, three of five of them: a cylinder.
        let cylinder: Vec<usize> = (4..16).collect();
        assert_eq!(part("torus:5x4", &cylinder), found("graph", &(0..12).collect::<Vec<_>>()));
        assert_eq!(part("mesh:3x3", &[4, 0, 1]), found("graph", &[2, 0, 1]));
    }

    #[test]
    fn disconnected_and_invalid_sets_have_no_part() {
        assert_eq!(part("line:5", &[0, 1, 3]), None);
        assert_eq!(part("line:5", &[0, 4]), None);
        assert_eq!(part("ring:6", &[0, 1, 3, 4]), None);
        assert_eq!(part("torus:4x4", &[0, 2, 4, 6, 8, 10, 12, 14]), None);
        assert_eq!(part("mesh:3x3", &[0, 4, 8]), None);
        assert_eq!(part("mesh:3x3", &[]), None);
        assert_eq!(part("mesh:3x3", &[1, 1]), None);
        assert_eq!(part("mesh:3x3", &[8, 9]), None);
    }
}

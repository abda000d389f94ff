//! The generalized hypercube: a product of complete networks.

use std::sync::Arc;

use super::grid::joined;
use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Complete, Coordinates, Factor, Graph, Grid, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const ROW: TopologyRow =
    TopologyRow { name: "ghc", syntax: &["ghc:K,N", "ghc:AxB[xC..]"], example: "ghc:3x4", read };

fn read(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    let first = cursor.number("an extent", 1, MAX_NODES)?;
    let extents = if cursor.skip(",") {
        // As many as MAX_NODES allows. Extents of 1 are limited like extents of 2.
        let most = MAX_NODES.ilog(first.max(2)) as usize;
        let dimensions = cursor.number("a number of dimensions that gives at most 2147483647 nodes,", 1, most)?;
        cursor.end("the end")?;
        vec![first; dimensions]
    } else {
        let extents = cursor.further(first, usize::MAX)?;
        if extents.len() == 1 {
            return Err(SyntaxFault("\",\" or \"x\"".to_owned()));
        }
        cursor.end("\"x\" or the end")?;
        extents
    };
    Named::network(GeneralizedHypercube::new(&extents))
}

/// The generalized hypercube: nodes at integer coordinates, linked if they differ in exactly one.
///
/// The papers' GH(k, n) has n dimensions of extent k. Here extents may differ, as in a Hamming
/// graph. With all extents 2 it is the [`Hypercube`](super::Hypercube), with one dimension the
/// [`Complete`] network.
///
/// Nodes are numbered row-major, the last dimension fastest. Routes correct the last dimension
/// first, each in one hop. A value stores the extents alone; methods take time in proportion to the
/// number of dimensions and to the length of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GeneralizedHypercube {
    /// The mesh of the same extents, which numbers the nodes.
    shape: Grid,
}

impl GeneralizedHypercube {
    /// Returns the network of these extents.
    ///
    /// # Errors
    ///
    /// [`SizeError`] if there are no extents, one is 0, or there are more than
    /// [`MAX_NODES`](crate::ids::MAX_NODES) nodes.
    pub fn new(extents: &[usize]) -> Result<Self, SizeError> {
        Ok(Self { shape: Grid::mesh(extents)? })
    }

    /// Returns the position of a node. For a node out of range, it is unspecified.
    #[must_use]
    pub fn coordinates(&self, node: Node) -> Coordinates {
        self.shape.coordinates(node)
    }
}

impl Topology for GeneralizedHypercube {
    fn nodes(&self) -> usize {
        self.shape.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let mut found = Neighbours::default();
        for (extent, stride) in self.shape.strides() {
            let x = node.index() / stride % extent;
            let origin = node.index() - x * stride;
            found.extend((0..extent).filter(|&y| y != x).map(|y| Node::new(origin + y * stride)));
        }
        found.sort_unstable();
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        let differs =
            |&(extent, stride): &(usize, usize)| from.index() / stride % extent != to.index() / stride % extent;
        self.shape.strides().filter(differs).count()
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        let mut here = from.index();
        for (extent, stride) in self.shape.strides() {
            let (x, y) = (here / stride % extent, to.index() / stride % extent);
            if x != y {
                here = here - x * stride + y * stride;
                path.push(Node::new(here));
            }
        }
        path
    }

    fn text(&self) -> String {
        let extents = self.shape.extents();
        match extents {
            [first, rest @ ..] if rest.iter().all(|extent| extent == first) => format!("ghc:{first},{}", extents.len()),
            _ => format!("ghc:{}", joined(extents)),
        }
    }

    /// A cube if all extents are powers of two: each bit then belongs to one coordinate.
    fn cube(&self) -> Option<u32> {
        let powers = self.shape.extents().iter().all(|extent| extent.is_power_of_two());
        powers.then(|| self.nodes().ilog2())
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        Some(self.shape.extents().iter().copied().map(Factor::Complete).collect())
    }

    /// A product of sets of coordinates is a generalized hypercube, or [`Complete`] if it has one
    /// dimension. Dimensions and coordinates keep their order; dimensions with a single coordinate
    /// are dropped. Other connected parts are [`Graph`]s.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        as_set(nodes, self.nodes())?;
        let Some(sides) = self.shape.sides(nodes) else { return Graph::induced(self, nodes) };
        let number = |&node: &Node| {
            let digits = self.coordinates(node).into_iter().zip(&sides);
            let index = digits.fold(0, |index, (x, side)| index * side.len() + side.partition_point(|&y| y < x));
            Node::new(index)
        };
        let numbers = nodes.iter().map(number).collect();
        let extents: Coordinates = sides.iter().map(Vec::len).filter(|&length| length > 1).collect();
        let part: Arc<dyn Topology> = match *extents {
            [] => Arc::new(Complete::new(1).ok()?),
            [extent] => Arc::new(Complete::new(extent).ok()?),
            _ => Arc::new(Self::new(&extents).ok()?),
        };
        Some(Part::new(part, numbers))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        let nodes = self.nodes();
        from.index() < nodes && to.index() < nodes && self.distance(from, to) == 1
    }

    fn channels(&self) -> usize {
        let degree: usize = self.shape.extents().iter().map(|extent| extent - 1).sum();
        self.nodes().saturating_mul(degree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Hypercube;

    fn nodes(numbers: &[usize]) -> Vec<Node> {
        numbers.iter().copied().map(Node::new).collect()
    }

    fn ghc(extents: &[usize]) -> GeneralizedHypercube {
        GeneralizedHypercube::new(extents).unwrap()
    }

    #[test]
    fn gh_7_2_is_as_in_wangs_figure_1_1() {
        let gh = ghc(&[7, 7]);
        // n (k - 1) neighbours, n (k - 1) k^n / 2 links, diameter n.
        assert_eq!((gh.nodes(), gh.channels(), gh.edges().len()), (49, 588, 294));
        assert!((0..49).all(|u| gh.neighbours(Node::new(u)).len() == 12));
        assert_eq!((0..49).map(|u| gh.distance(Node::new(0), Node::new(u))).max(), Some(2));
        assert_eq!(gh.neighbours(Node::new(8)).to_vec(), nodes(&[1, 7, 9, 10, 11, 12, 13, 15, 22, 29, 36, 43]));
    }

    #[test]
    fn routes_correct_the_last_dimension_first() {
        let gh = ghc(&[2, 3, 4]);
        // From (0, 2, 3) to (1, 0, 1).
        assert_eq!(gh.route(Node::new(11), Node::new(13)), nodes(&[11, 9, 1, 13]));
        assert_eq!(gh.coordinates(Node::new(13))[..], [1, 0, 1]);
        assert_eq!((gh.text().as_str(), ghc(&[5, 5, 5]).text().as_str()), ("ghc:2x3x4", "ghc:5,3"));
    }

    #[test]
    fn extents_of_2_make_the_hypercube() {
        let (gh, cube) = (ghc(&[2; 5]), Hypercube::new(5).unwrap());
        assert_eq!((gh.edges(), gh.cube()), (cube.edges(), cube.cube()));
        for (from, to) in (0..32).flat_map(|from| (0..32).map(move |to| (Node::new(from), Node::new(to)))) {
            assert_eq!(gh.route(from, to), cube.route(from, to));
        }
        assert_eq!((ghc(&[4, 8]).cube(), ghc(&[4, 6]).cube()), (Some(5), None));
    }

    #[test]
    fn products_of_coordinates_are_generalized_hypercubes() {
        let gh = ghc(&[3, 4, 5]);
        // Coordinates {2} x {0, 3} x {1, 2, 4}, in no order.
        let set = nodes(&[59, 41, 56, 44, 42, 57]);
        let Part { topology: part, numbers } = gh.part(&set).unwrap();
        assert_eq!((part.text().as_str(), numbers), ("ghc:2x3", nodes(&[5, 0, 3, 2, 1, 4])));
        let Part { topology: row, numbers } = gh.part(&nodes(&[59, 56, 57])).unwrap();
        assert_eq!((row.text().as_str(), numbers), ("complete:3", nodes(&[2, 0, 1])));
        assert_eq!(gh.part(&nodes(&[7])).unwrap().topology.text(), "complete:1");
        assert_eq!(gh.part(&nodes(&[0, 1, 5])).unwrap().topology.text(), "graph");
        assert!(gh.part(&nodes(&[0, 6])).is_none());
    }

    #[test]
    fn too_many_nodes_are_refused() {
        for refused in [&[][..], &[0], &[4, 0], &[46341, 46341], &[usize::MAX, 2]] {
            assert_eq!(GeneralizedHypercube::new(refused).err(), Grid::mesh(refused).err(), "{refused:?}");
            assert!(GeneralizedHypercube::new(refused).is_err(), "{refused:?}");
        }
        let largest = ghc(&[46340, 46340]);
        assert_eq!(largest.distance(Node::new(0), Node::new(46340 * 46340 - 1)), 2);
    }
}

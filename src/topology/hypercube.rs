//! The binary hypercube.

use std::sync::Arc;

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Factor, Graph, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const ROW: TopologyRow =
    TopologyRow { name: "hypercube", syntax: &["hypercube:D"], example: "hypercube:3", read };

fn read(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    let dimensions = cursor.number("a number of dimensions", 0, Hypercube::MAX_DIMENSIONS)?;
    cursor.end("the end")?;
    Named::network(Hypercube::new(dimensions))
}

/// The binary hypercube: 2^D nodes, linked if their numbers differ in one bit. Dimension i is bit
/// i.
///
/// Routes correct bit 0 first, then bit 1, and so on. A hypercube stores the number of dimensions
/// alone, and methods take time in proportion to it.
///
/// It is the same network as the [`Grid`](super::Grid) `torus:2x2x..x2`, whose dimension 0 is the
/// highest bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hypercube {
    dimensions: usize,
}

impl Hypercube {
    /// The largest number of dimensions: 2^30 nodes, the largest power of two up to [`MAX_NODES`].
    pub(crate) const MAX_DIMENSIONS: usize = MAX_NODES.ilog2() as usize;

    /// Returns the hypercube of this many dimensions. Without dimensions it has one node.
    ///
    /// # Errors
    ///
    /// [`SizeError`] for more than 30 dimensions.
    pub fn new(dimensions: usize) -> Result<Self, SizeError> {
        SizeError::check("the number of dimensions", dimensions, 0, Self::MAX_DIMENSIONS)?;
        Ok(Self { dimensions })
    }
}

impl Topology for Hypercube {
    fn nodes(&self) -> usize {
        1 << self.dimensions
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let mut found: Neighbours = (0..self.dimensions).map(|bit| Node::new(node.index() ^ (1 << bit))).collect();
        found.sort_unstable();
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        (from.index() ^ to.index()).count_ones() as usize
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        let mut here = from.index();
        for bit in 0..usize::BITS {
            let step = (here ^ to.index()) & (1 << bit);
            if step != 0 {
                here ^= step;
                path.push(Node::new(here));
            }
        }
        path
    }

    fn text(&self) -> String {
        format!("hypercube:{}", self.dimensions)
    }

    fn cube(&self) -> Option<u32> {
        u32::try_from(self.dimensions).ok()
    }

    /// One factor per bit, the highest bit first: dimension i of the cube is the i-th from the
    /// last.
    fn factors(&self) -> Option<Vec<Factor>> {
        Some(vec![Factor::Complete(2); self.dimensions])
    }

    /// Nodes that agree in some bits and take all values of the others form a hypercube, whose
    /// dimensions are these others, in the same order. Other connected parts are [`Graph`]s.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        let set = as_set(nodes, self.nodes())?;
        let free = set.iter().fold(0, |free, node| free | (node.index() ^ set[0].index()));
        if 1_usize.checked_shl(free.count_ones()) != Some(nodes.len()) {
            return Graph::induced(self, nodes);
        }
        let bits: Vec<usize> = (0..self.dimensions).filter(|bit| free >> bit & 1 == 1).collect();
        let number = |node: &Node| {
            let digits = bits.iter().enumerate().map(|(i, bit)| (node.index() >> bit & 1) << i);
            Node::new(digits.sum())
        };
        let numbers = nodes.iter().map(number).collect();
        Some(Part::new(Arc::new(Self::new(bits.len()).ok()?), numbers))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        from.index() < self.nodes() && to.index() < self.nodes() && self.distance(from, to) == 1
    }

    fn channels(&self) -> usize {
        self.nodes().saturating_mul(self.dimensions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Grid;

    fn nodes(numbers: &[usize]) -> Vec<Node> {
        numbers.iter().copied().map(Node::new).collect()
    }

    #[test]
    fn routes_correct_bit_0_first() {
        let cube = Hypercube::new(4).unwrap();
        assert_eq!(cube.route(Node::new(0b0010), Node::new(0b1101)), nodes(&[0b0010, 0b0011, 0b0001, 0b0101, 0b1101]));
        assert_eq!(cube.distance(Node::new(0b0010), Node::new(0b1101)), 4);
        assert_eq!(cube.neighbours(Node::new(0b0101)).to_vec(), nodes(&[0b0001, 0b0100, 0b0111, 0b1101]));
        assert_eq!((cube.nodes(), cube.channels(), cube.edges().len()), (16, 64, 32));
    }

    #[test]
    fn hypercube_is_the_torus_of_extents_2() {
        let (cube, torus) = (Hypercube::new(5).unwrap(), Grid::torus(&[2; 5]).unwrap());
        assert_eq!(cube.edges(), torus.edges());
        for (from, to) in (0..32).flat_map(|from| (0..32).map(move |to| (Node::new(from), Node::new(to)))) {
            assert_eq!(cube.route(from, to), torus.route(from, to));
            assert_eq!(cube.adjacent(from, to), torus.adjacent(from, to));
        }
    }

    #[test]
    fn dimensions_range_from_0_to_30() {
        let point = Hypercube::new(0).unwrap();
        assert_eq!((point.nodes(), point.channels(), point.neighbours(Node::new(0)).len()), (1, 0, 0));
        let largest = Hypercube::new(Hypercube::MAX_DIMENSIONS).unwrap();
        assert_eq!(largest.nodes(), 1 << 30);
        assert_eq!(largest.distance(Node::new(0), Node::new((1 << 30) - 1)), 30);
        for refused in [31, usize::MAX] {
            let error = Hypercube::new(refused).unwrap_err().to_string();
            assert_eq!(error, format!("the number of dimensions is {refused}; expected 0 to 30"));
        }
    }

    #[test]
    fn subcube_is_a_hypercube_with_bits_in_order() {
        // Bits 1 and 3 free, bit 0 set, bit 2 clear.
        let Part { topology: part, numbers } =
            Hypercube::new(4).unwrap().part(&nodes(&[0b1001, 0b0001, 0b1011, 0b0011])).unwrap();
        assert_eq!(part.text(), "hypercube:2");
        assert_eq!(numbers, nodes(&[0b10, 0b00, 0b11, 0b01]));

        let Part { topology: part, numbers } = Hypercube::new(4).unwrap().part(&nodes(&[7])).unwrap();
        assert_eq!((part.text().as_str(), numbers), ("hypercube:0", nodes(&[0])));
    }

    #[test]
    fn other_connected_parts_are_graphs() {
        let cube = Hypercube::new(3).unwrap();
        let Part { topology: part, numbers } = cube.part(&nodes(&[5, 0, 1])).unwrap();
        assert_eq!((part.text().as_str(), part.nodes()), ("graph", 3));
        assert_eq!(numbers, nodes(&[2, 0, 1]));
        assert_eq!(part.edges(), [(Node::new(0), Node::new(1)), (Node::new(1), Node::new(2))]);

        for refused in [&[0, 3][..], &[0, 1, 6, 7], &[], &[1, 1], &[0, 8]] {
            assert!(cube.part(&nodes(refused)).is_none(), "{refused:?}");
        }
    }
}

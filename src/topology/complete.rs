//! The complete graph.

use std::sync::Arc;

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Factor, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const ROW: TopologyRow =
    TopologyRow { name: "complete", syntax: &["complete:N"], example: "complete:5", read };

fn read(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    let nodes = cursor.number("a number of nodes", 1, MAX_NODES)?;
    cursor.end("the end")?;
    Named::network(Complete::new(nodes))
}

/// A network with a channel from every node to every other node. Every route is one channel.
///
/// It stores the number of nodes alone. All methods take constant time, except
/// [`neighbours`](Topology::neighbours) and [`part`](Topology::part).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Complete {
    nodes: usize,
}

impl Complete {
    /// Returns the network of this many nodes.
    ///
    /// # Errors
    ///
    /// [`SizeError`] unless `1 <= nodes <= MAX_NODES`.
    pub fn new(nodes: usize) -> Result<Self, SizeError> {
        SizeError::check("the number of nodes", nodes, 1, MAX_NODES)?;
        Ok(Self { nodes })
    }
}

impl Topology for Complete {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let nodes = if node.index() < self.nodes { self.nodes } else { 0 };
        (0..nodes).map(Node::new).filter(|&other| other != node).collect()
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        usize::from(from != to)
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        if from == to { vec![from] } else { vec![from, to] }
    }

    fn text(&self) -> String {
        format!("complete:{}", self.nodes)
    }

    fn cube(&self) -> Option<u32> {
        self.nodes.is_power_of_two().then(|| self.nodes.ilog2())
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        Some(vec![Factor::Complete(self.nodes)])
    }

    /// Any nodes form a complete network. The i-th of the given nodes has number i.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        as_set(nodes, self.nodes)?;
        Some(Part::new(Arc::new(Self::new(nodes.len()).ok()?), (0..nodes.len()).map(Node::new).collect()))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        from != to && from.index() < self.nodes && to.index() < self.nodes
    }

    fn channels(&self) -> usize {
        self.nodes.saturating_mul(self.nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: &[usize]) -> Vec<Node> {
        numbers.iter().copied().map(Node::new).collect()
    }

    #[test]
    fn every_other_node_is_one_channel_away() {
        let complete = Complete::new(4).unwrap();
        assert_eq!(complete.neighbours(Node::new(2)).to_vec(), nodes(&[0, 1, 3]));
        assert_eq!(complete.distance(Node::new(3), Node::new(0)), 1);
        assert_eq!(complete.distance(Node::new(3), Node::new(3)), 0);
        assert_eq!(complete.route(Node::new(3), Node::new(0)), nodes(&[3, 0]));
        assert_eq!(complete.route(Node::new(3), Node::new(3)), nodes(&[3]));
        assert_eq!((complete.channels(), complete.edges().len()), (12, 6));
        assert_eq!(complete.text(), "complete:4");
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let refused = [0, MAX_NODES + 1].map(|nodes| Complete::new(nodes).unwrap_err().to_string());
        assert_eq!(refused[0], "the number of nodes is 0; expected 1 to 2147483647");
        assert_eq!(refused[1], "the number of nodes is 2147483648; expected 1 to 2147483647");
        let largest = Complete::new(MAX_NODES).unwrap();
        assert!(largest.adjacent(Node::new(0), Node::new(MAX_NODES - 1)));
        assert!(!largest.adjacent(Node::new(0), Node::new(MAX_NODES)));
    }

    #[test]
    fn part_is_complete_and_keeps_the_given_order() {
        let Part { topology: part, numbers } = Complete::new(9).unwrap().part(&nodes(&[8, 2, 5])).unwrap();
        assert_eq!(part.text(), "complete:3");
        assert_eq!(numbers, nodes(&[0, 1, 2]));
        for refused in [&[][..], &[1, 1], &[1, 9]] {
            assert!(Complete::new(9).unwrap().part(&nodes(refused)).is_none(), "{refused:?}");
        }
    }
}

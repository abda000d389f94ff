//! The places to which a tree delivers blocks, or parts of them.

use super::balanced::RowsFromRoot;
use super::tree::SpanningTree;
use crate::block::Block;
use crate::hash::Map;
use crate::ids::Node;

/// A tree of places. A place is at a node, which takes a block there, or a part of one, or only sends
/// on. A node other than the root may have several.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    pub(super) tree: SpanningTree,
    places: Vec<Place>,
    /// By node: its places.
    at: Vec<Vec<usize>>,
    /// By place: the first place that the same channel leads to.
    channels: Vec<usize>,
    /// The number of units of a block. A part is some of them.
    units: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    node: usize,
    part: Option<Part>,
}

/// One of the `of` parts of a block.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: usize,
    of: usize,
}

impl Deliveries {
    /// Returns a tree of nodes, each of which takes a block.
    pub(super) fn whole(tree: SpanningTree) -> Self {
        let root = tree.root().index();
        let part = |node| (node != root).then_some(Part { number: 0, of: 1 });
        let places = (0..tree.nodes()).map(|node| Place { node, part: part(node) }).collect();
        Self::new(tree, places, 1)
    }

    /// Returns the trees of the balanced spanning subgraph, joined at the root. A node takes a part of
    /// its block in each tree that contains it.
    pub(super) fn subgraph(rows: &RowsFromRoot) -> Self {
        let (necklaces, root) = (rows.necklaces(), rows.root());
        let (nodes, trees) = (necklaces.nodes(), necklaces.rotations());
        let (mut places, mut parents) = (vec![Place { node: root, part: None }], vec![0]);
        let mut made: Map<usize> = Map::default();
        for node in (0..nodes).filter(|&node| node != root) {
            let address = necklaces.relative(Node::new(node), Node::new(root));
            let (period, first) = (necklaces.period(address), necklaces.displacement(address));
            let of = trees / period;
            for number in 0..of {
                let tree = first + number * period;
                // The place, and then those above it that are not there yet.
                let (mut at, mut below) = (node, None);
                loop {
                    let place = match at == root {
                        true => 0,
                        false => *made.entry((tree * nodes + at) as u64).or_insert(places.len()),
                    };
                    if let Some(below) = below {
                        parents[below] = place;
                    }
                    let is_new = place == places.len();
                    if is_new {
                        places.push(Place { node: at, part: None });
                        parents.push(0);
                    }
                    if at == node {
                        places[place].part = Some(Part { number, of });
                    }
                    if !is_new {
                        break;
                    }
                    (at, below) = (rows.above(at, tree), Some(place));
                }
            }
        }
        Self::new(SpanningTree::new(0, parents), places, trees as u64)
    }

    fn new(tree: SpanningTree, places: Vec<Place>, units: u64) -> Self {
        let nodes = places.iter().map(|place| place.node + 1).max().unwrap_or(0);
        let mut at = vec![vec![]; nodes];
        let mut firsts: Map<usize> = Map::default();
        let mut channels = vec![];
        for (number, place) in places.iter().enumerate() {
            at[place.node].push(number);
            let channel = places[tree.above(number)].node * nodes + place.node;
            channels.push(*firsts.entry(channel as u64).or_insert(number));
        }
        Self { tree, places, at, channels, units }
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.at.len()
    }

    /// Returns the node of the root.
    pub(super) fn root(&self) -> usize {
        self.node(self.tree.root().index())
    }

    /// Returns the node of a place.
    pub(super) fn node(&self, place: usize) -> usize {
        self.places[place].node
    }

    /// Returns the places at a node.
    pub(super) fn at(&self, node: usize) -> &[usize] {
        &self.at[node]
    }

    /// Returns the first place that the same channel leads to as to a place.
    pub(super) fn channel(&self, place: usize) -> usize {
        self.channels[place]
    }

    /// Returns the places that take something.
    pub(super) fn taking(&self) -> impl Iterator<Item = usize> {
        (0..self.places.len()).filter(|&place| self.places[place].part.is_some())
    }

    /// Returns the number of units of a block.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Returns the number of units that a place takes.
    pub(super) fn taken(&self, place: usize) -> u64 {
        self.places[place].part.map_or(0, |part| self.units / part.of as u64)
    }

    /// Returns what a place takes of its node's block. `None` if it takes nothing.
    pub(super) fn part(&self, place: usize, block: Block) -> Option<Block> {
        self.places[place].part.and_then(|part| block.chunks(part.number as u32, part.of as u32, 1))
    }
}

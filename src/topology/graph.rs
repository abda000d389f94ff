//! Connected graphs, given by their edges.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{GraphError, Neighbours, Part, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

/// A network given by its edges.
///
/// At each node, a route takes the lowest-numbered neighbour that is nearer to the destination.
///
/// # Cost
///
/// Edges take memory in proportion to nodes and links. Routes between neighbours need no search.
/// The first [`route`](Topology::route) to any other destination searches the whole graph, breadth
/// first, and keeps a table of distances; later routes follow the table. A table has one byte per
/// node (two if a node is 255 hops away or farther, four beyond 65,534 hops).
/// [`distance`](Topology::distance) uses the table of either end. All pairs therefore take `nodes *
/// (nodes + links)` time once, and `nodes^2` bytes.
///
/// Up to 256 MiB of tables are kept, enough for all pairs of 16,384 nodes. On larger graphs, routes
/// to further destinations search each time, from both ends until the searches meet. Such a search
/// visits a small part of a graph of small diameter, and up to half of a large grid. Results do not
/// depend on the tables.
///
/// ```
/// use necklace::Node;
/// use necklace::topology::{Graph, Topology};
///
/// // A square with a tail.
/// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])?;
/// assert_eq!(graph.nodes(), 5);
/// assert_eq!(graph.route(Node::new(1), Node::new(4)), [1, 0, 3, 4].map(Node::new));
/// # Ok::<(), necklace::topology::GraphError>(())
/// ```
#[derive(Clone)]
pub struct Graph {
    links: Links,
    path: Option<String>,
    tables: Tables,
}

impl Graph {
    /// Returns the graph of the nodes `0..nodes` with these undirected edges. An edge may be
    /// repeated, in either direction.
    ///
    /// Takes O(e log e) time and O(e) memory for e edges, even if `nodes` is too large.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if there are no nodes or too many, an edge is a loop or has an end out of
    /// range, or the graph is not connected.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Result<Self, GraphError> {
        match nodes {
            0 => Err(GraphError::Empty),
            1..=MAX_NODES => {
                let links = Links::new(nodes, edges)?;
                Ok(Self { tables: Tables::new(nodes), links, path: None })
            }
            _ => Err(GraphError::TooMany { nodes }),
        }
    }

    /// Returns the graph of these undirected edges, with nodes from 0 to the largest number among
    /// them.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new). Without edges there is no node.
    pub fn from_edges(edges: impl IntoIterator<Item = (usize, usize)>) -> Result<Self, GraphError> {
        let edges: Vec<(usize, usize)> = edges.into_iter().collect();
        let nodes = edges.iter().map(|&(u, v)| u.max(v).saturating_add(1)).max();
        Self::new(nodes.unwrap_or(0), edges)
    }

    /// Sets the file that holds the edge list, so that the text is `graph:@PATH`. The file is not
    /// read.
    #[must_use]
    pub fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// The name of the kind, which is the text of a graph without a file.
    pub(crate) const NAME: &str = "graph";

    /// Returns the sub-network of some nodes with the links between them, numbered in the order of
    /// their numbers in `topology`. This is correct as [`Topology::part`] of every topology.
    ///
    /// `None` if the sub-network is not connected, or if `nodes` is empty, repeats a node or has
    /// one out of range. Takes the time to list the neighbours of each node.
    #[must_use]
    pub fn induced(topology: &dyn Topology, nodes: &[Node]) -> Option<Part> {
        let set = as_set(nodes, topology.nodes())?;
        let number = |node: &Node| set.binary_search(node).ok();
        let edges = set.iter().enumerate().flat_map(|(u, node)| {
            let others = topology.neighbours(*node).into_iter();
            others.filter_map(move |other| number(&other)).map(move |v| (u, v))
        });
        let graph = Self::new(set.len(), edges).ok()?;
        let numbers = nodes.iter().map(|node| number(node).map(Node::new)).collect::<Option<_>>()?;
        Some(Part::new(Arc::new(graph), numbers))
    }

    fn contains(&self, node: Node) -> bool {
        node.index() < self.links.nodes()
    }

    /// Returns the distances to `to` of the nodes on the shortest paths from `from`. Both must be
    /// in range.
    fn left(&self, from: Node, to: Node) -> Left<'_> {
        let kept = self.tables.get(to, || Hops::of(&self.links.distances(to)));
        kept.map_or_else(|| Left::Searched(self.links.between(from, to)), Left::Kept)
    }
}

impl Topology for Graph {
    fn nodes(&self) -> usize {
        self.links.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        self.links.of(node).into()
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        if !self.contains(from) || !self.contains(to) {
            return 0;
        }
        if from == to || self.adjacent(from, to) {
            return usize::from(from != to);
        }
        let (root, other) = if self.tables.has(to) { (to, from) } else { (from, to) };
        self.left(other, root).of(other).unwrap_or(0) as usize
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        if self.adjacent(from, to) {
            path.push(to);
        } else if from != to && self.contains(from) && self.contains(to) {
            let left = self.left(from, to);
            let mut here = from;
            let nearer = |here: Node| left.of(here)?.checked_sub(1);
            while let Some(hops) = nearer(here)
                && let Some(&next) = self.links.of(here).iter().find(|node| left.of(**node) == Some(hops))
            {
                path.push(next);
                here = next;
            }
        }
        path
    }

    /// `graph:@PATH` for a graph from a file, else `graph`, which cannot be parsed.
    fn text(&self) -> String {
        self.path.as_ref().map_or_else(|| Self::NAME.to_owned(), |path| format!("{}:@{path}", Self::NAME))
    }

    /// Always a [`Graph`], with the nodes in the order of their numbers.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        Self::induced(self, nodes)
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        self.links.of(from).binary_search(&to).is_ok()
    }

    fn channels(&self) -> usize {
        self.links.ends.len()
    }
}

/// Compares nodes and links, not paths.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.links == other.links
    }
}

impl Eq for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("path", &self.path).field("links", &self.links).finish_non_exhaustive()
    }
}

/// The channels as adjacency lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Links {
    /// The index in `ends` of the first channel of each node, and the number of channels.
    starts: Vec<usize>,
    ends: Vec<Node>,
}

impl Links {
    fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Result<Self, GraphError> {
        let mut channels = Vec::new();
        for edge @ (u, v) in edges {
            if u >= nodes || v >= nodes {
                return Err(GraphError::OutOfRange { edge, nodes });
            }
            if u == v {
                return Err(GraphError::Loop { node: u });
            }
            channels.extend([(Node::new(u), Node::new(v)), (Node::new(v), Node::new(u))]);
        }
        channels.sort_unstable();
        channels.dedup();

        // Nodes without a channel are found before anything of size `nodes` is allocated.
        let mut starts = vec![0];
        for (i, (from, _)) in channels.iter().enumerate() {
            match from.index() {
                node if node + 1 == starts.len() => {}
                node if node == starts.len() => starts.push(i),
                _ => break,
            }
        }
        let first_missing = if channels.first().is_some_and(|(from, _)| from.index() == 0) { starts.len() } else { 1 };
        if first_missing < nodes {
            return Err(GraphError::Disconnected { node: first_missing });
        }
        starts.push(channels.len());
        let links = Self { starts, ends: channels.into_iter().map(|(_, to)| to).collect() };
        match links.distances(Node::new(0)).iter().position(|&hops| hops == UNREACHED) {
            None => Ok(links),
            Some(node) => Err(GraphError::Disconnected { node }),
        }
    }

    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the neighbours of a node in ascending order. A node out of range has none.
    fn of(&self, node: Node) -> &[Node] {
        let i = node.index();
        if i < self.nodes() { &self.ends[self.starts[i]..self.starts[i + 1]] } else { &[] }
    }

    /// Returns the distance of every node from `node`, by a breadth-first search.
    fn distances(&self, node: Node) -> Box<[u32]> {
        let mut hops = vec![UNREACHED; self.nodes()].into_boxed_slice();
        hops[node.index()] = 0;
        let mut queue = vec![node];
        let mut done = 0;
        while let Some(&here) = queue.get(done) {
            done += 1;
            for &next in self.of(here) {
                if hops[next.index()] == UNREACHED {
                    hops[next.index()] = hops[here.index()] + 1;
                    queue.push(next);
                }
            }
        }
        hops
    }
}

const UNREACHED: u32 = u32::MAX;

impl Links {
    /// Returns the distances to `to` of the nodes on the shortest paths from `from`, a different
    /// node, and of some others. Searches from both ends, one level of the smaller search at a
    /// time, until the searches meet; then goes back towards `from` to find the nodes that lead to
    /// `to`.
    fn between(&self, from: Node, to: Node) -> Box<[u32]> {
        let mut searches = [from, to].map(|end| Search::new(self.nodes(), end));
        let meeting = loop {
            let [ahead, back] = &searches;
            let which = usize::from(back.level.len() < ahead.level.len());
            searches[which].advance(self);
            let [ahead, back] = &searches;
            let (moved, other) = if which == 0 { (ahead, back) } else { (back, ahead) };
            let met = moved.level.iter().copied().filter(|node| other.hops[node.index()] != UNREACHED);
            let met: Vec<Node> = met.collect();
            if !met.is_empty() || moved.level.is_empty() {
                break met;
            }
        };
        let [ahead, back] = searches;
        let mut left = back.hops;
        let mut level = meeting;
        while let Some(&some) = level.first() {
            let (behind, hops) = (ahead.hops[some.index()], left[some.index()]);
            let mut next = vec![];
            for &node in level.iter().flat_map(|&node| self.of(node)) {
                if behind > 0 && ahead.hops[node.index()] == behind - 1 && left[node.index()] == UNREACHED {
                    left[node.index()] = hops + 1;
                    next.push(node);
                }
            }
            level = next;
        }
        left.into()
    }
}

/// A breadth-first search, level by level.
struct Search {
    hops: Vec<u32>,
    level: Vec<Node>,
}

impl Search {
    fn new(nodes: usize, start: Node) -> Self {
        let mut hops = vec![UNREACHED; nodes];
        hops[start.index()] = 0;
        Self { hops, level: vec![start] }
    }

    /// Advances to the next level.
    fn advance(&mut self, links: &Links) {
        let mut next = vec![];
        for &here in &self.level {
            let hops = self.hops[here.index()] + 1;
            for &node in links.of(here) {
                if self.hops[node.index()] == UNREACHED {
                    self.hops[node.index()] = hops;
                    next.push(node);
                }
            }
        }
        self.level = next;
    }
}

/// The bytes of distances that a graph keeps.
const KEPT: usize = 256 << 20;

/// The distances of all nodes from one, in elements as small as the largest distance allows.
enum Hops {
    Bytes(Box<[u8]>),
    Words(Box<[u16]>),
    Long(Box<[u32]>),
}

impl Hops {
    fn of(hops: &[u32]) -> Self {
        match hops.iter().copied().max().unwrap_or(0) {
            0..0xff => Self::Bytes(hops.iter().map(|&hops| hops as u8).collect()),
            0xff..0xffff => Self::Words(hops.iter().map(|&hops| hops as u16).collect()),
            _ => Self::Long(hops.into()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Bytes(hops) => hops.len(),
            Self::Words(hops) => 2 * hops.len(),
            Self::Long(hops) => 4 * hops.len(),
        }
    }
}

/// Distances from a destination.
enum Left<'a> {
    Kept(&'a Hops),
    Searched(Box<[u32]>),
}

impl Left<'_> {
    /// Returns the distance of a node, or `None` if it is unknown.
    fn of(&self, node: Node) -> Option<u32> {
        let at = node.index();
        match self {
            Self::Kept(Hops::Bytes(hops)) => hops.get(at).copied().map(u32::from),
            Self::Kept(Hops::Words(hops)) => hops.get(at).copied().map(u32::from),
            Self::Kept(Hops::Long(hops)) => hops.get(at).copied(),
            Self::Searched(hops) => hops.get(at).copied().filter(|&hops| hops != UNREACHED),
        }
    }
}

/// The distances from some nodes, computed on first use.
struct Tables {
    of: Box<[OnceLock<Hops>]>,
    /// The bytes that may still be kept.
    room: AtomicUsize,
}

impl Tables {
    fn new(nodes: usize) -> Self {
        Self::with_room(nodes, KEPT)
    }

    fn with_room(nodes: usize, room: usize) -> Self {
        Self { of: (0..nodes).map(|_| OnceLock::new()).collect(), room: AtomicUsize::new(room) }
    }

    fn has(&self, node: Node) -> bool {
        self.of[node.index()].get().is_some()
    }

    /// Returns the table of a node, if it is kept or can be.
    fn get(&self, node: Node, compute: impl FnOnce() -> Hops) -> Option<&Hops> {
        let slot = &self.of[node.index()];
        if slot.get().is_none() && self.room.load(Ordering::Relaxed) >= self.of.len() {
            let table = compute();
            // The last table may exceed the limit: if it takes more than a byte per node, or if two
            // threads compute it.
            let less = |room: usize| Some(room.saturating_sub(table.bytes()));
            let _ = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            return Some(slot.get_or_init(|| table));
        }
        slot.get()
    }
}

/// A clone computes its own tables.
impl Clone for Tables {
    fn clone(&self) -> Self {
        Self::new(self.of.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Grid, Hypercube};

    fn nodes(numbers: &[usize]) -> Vec<Node> {
        numbers.iter().copied().map(Node::new).collect()
    }

    /// A square 0-1-2-3 with the tail 3-4.
    const TAILED: [(usize, usize); 5] = [(2, 1), (0, 1), (2, 3), (3, 0), (3, 4)];

    #[test]
    fn routes_turn_to_the_smallest_nearer_neighbour() {
        let graph = Graph::from_edges(TAILED).unwrap();
        assert_eq!(graph.route(Node::new(1), Node::new(4)), nodes(&[1, 0, 3, 4]));
        assert_eq!(graph.route(Node::new(4), Node::new(1)), nodes(&[4, 3, 0, 1]));
        assert_eq!(graph.route(Node::new(0), Node::new(2)), nodes(&[0, 1, 2]));
        assert_eq!(graph.route(Node::new(2), Node::new(2)), nodes(&[2]));
        assert_eq!(graph.distance(Node::new(4), Node::new(1)), 3);
        assert_eq!(graph.neighbours(Node::new(3)).to_vec(), nodes(&[0, 2, 4]));
        assert_eq!((graph.nodes(), graph.channels(), graph.edges().len()), (5, 10, 5));
        assert!(graph.adjacent(Node::new(4), Node::new(3)) && !graph.adjacent(Node::new(4), Node::new(0)));
    }

    #[test]
    fn repeated_edges_are_one_link_and_loops_are_refused() {
        let doubled = TAILED.into_iter().chain(TAILED.map(|(u, v)| (v, u)));
        assert_eq!(Graph::from_edges(doubled), Graph::from_edges(TAILED));
        assert_eq!(Graph::from_edges([(0, 1), (1, 1)]), Err(GraphError::Loop { node: 1 }));
    }

    #[test]
    fn disconnected_and_empty_graphs_are_refused() {
        let disconnected = |node| Err(GraphError::Disconnected { node });
        assert_eq!(Graph::from_edges([]), Err(GraphError::Empty));
        assert_eq!(Graph::new(0, []), Err(GraphError::Empty));
        assert_eq!(Graph::new(1, []).unwrap().nodes(), 1);
        assert_eq!(Graph::new(2, []), disconnected(1));
        assert_eq!(Graph::new(4, [(0, 1), (1, 2)]), disconnected(3));
        assert_eq!(Graph::new(3, [(1, 2)]), disconnected(1));
        assert_eq!(Graph::new(4, [(0, 2), (1, 3)]), disconnected(1));
        assert_eq!(Graph::new(6, [(0, 1), (1, 2), (4, 5)]), disconnected(3));
        assert_eq!(Graph::new(2, [(0, 2)]), Err(GraphError::OutOfRange { edge: (0, 2), nodes: 2 }));
    }

    #[test]
    fn large_node_numbers_cost_no_memory() {
        let far = MAX_NODES - 1;
        assert_eq!(Graph::from_edges([(0, 1), (1, far)]), Err(GraphError::Disconnected { node: 2 }));
        assert_eq!(Graph::new(MAX_NODES, [(0, 1)]), Err(GraphError::Disconnected { node: 2 }));
        assert_eq!(Graph::from_edges([(0, MAX_NODES)]), Err(GraphError::TooMany { nodes: MAX_NODES + 1 }));
        assert_eq!(Graph::from_edges([(0, usize::MAX)]), Err(GraphError::TooMany { nodes: usize::MAX }));
    }

    #[test]
    fn results_do_not_depend_on_the_tables() {
        let grid = Grid::torus(&[5, 6]).unwrap();
        let edges = || grid.edges().into_iter().map(|(u, v)| (u.index(), v.index()));
        let kept = Graph::from_edges(edges()).unwrap();
        for room in [0, 1, 7] {
            let graph = Graph { tables: Tables::with_room(30, 30 * room), ..kept.clone() };
            for (from, to) in (0..30).flat_map(|from| (0..30).map(move |to| (Node::new(from), Node::new(to)))) {
                assert_eq!(graph.route(from, to), kept.route(from, to));
                assert_eq!(graph.distance(to, from), grid.distance(from, to));
            }
            assert_eq!(graph.tables.of.iter().filter(|table| table.get().is_some()).count(), room);
        }
    }

    #[test]
    fn searches_from_both_ends_find_the_routes_of_whole_tables() {
        fn agrees(nodes: u8, chords: Vec<(u8, u8)>, ends: Vec<(u8, u8)>) -> bool {
            let nodes = usize::from(nodes) + 2;
            let within = |pairs: Vec<(u8, u8)>| {
                pairs.into_iter().map(move |(u, v)| (usize::from(u) % nodes, usize::from(v) % nodes))
            };
            let path = (1..nodes).map(|node| (node - 1, node));
            let edges = path.chain(within(chords.into_iter().take(8).collect()).filter(|(u, v)| u != v));
            let kept = Graph::new(nodes, edges).unwrap();
            let searching = Graph { tables: Tables::with_room(nodes, 0), ..kept.clone() };
            within(ends).map(|(u, v)| (Node::new(u), Node::new(v))).all(|(from, to)| {
                searching.route(from, to) == kept.route(from, to)
                    && searching.distance(from, to) + 1 == kept.route(from, to).len()
            })
        }
        quickcheck::QuickCheck::new().quickcheck(agrees as fn(u8, Vec<(u8, u8)>, Vec<(u8, u8)>) -> bool);
    }

    #[test]
    fn short_distances_take_a_byte_per_node() {
        for (nodes, width) in [(200, 1), (255, 1), (256, 2), (300, 2), (65_535, 2), (65_536, 4)] {
            let line = Graph::from_edges((1..nodes).map(|node| (node - 1, node))).unwrap();
            let last = Node::new(nodes - 1);
            assert_eq!(line.distance(last, Node::new(0)), nodes - 1);
            assert_eq!(KEPT - line.tables.room.load(Ordering::Relaxed), width * nodes, "{nodes} nodes");
            assert_eq!((line.distance(Node::new(1), last), line.distance(last, last)), (nodes - 2, 0));
        }
    }

    #[test]
    fn neighbours_need_no_search() {
        let graph = Graph::from_edges(TAILED).unwrap();
        assert_eq!(graph.route(Node::new(0), Node::new(3)), nodes(&[0, 3]));
        assert_eq!((graph.distance(Node::new(0), Node::new(3)), graph.distance(Node::new(2), Node::new(2))), (1, 0));
        assert!(graph.tables.of.iter().all(|table| table.get().is_none()));
    }

    #[test]
    fn text_names_the_file_if_there_is_one() {
        let graph = Graph::from_edges(TAILED).unwrap();
        assert_eq!((graph.text().as_str(), graph.path.as_deref()), ("graph", None));
        let named = graph.clone().with_path("square with tail.txt");
        assert_eq!(
            (named.text().as_str(), named.path.as_deref()),
            ("graph:@square with tail.txt", Some("square with tail.txt"))
        );
        assert_eq!(graph, named);
    }

    #[test]
    fn nodes_out_of_range_do_not_panic_or_loop() {
        let graph = Graph::from_edges(TAILED).unwrap();
        for node in [5, MAX_NODES].map(Node::new) {
            assert!(graph.neighbours(node).is_empty());
            assert_eq!(graph.distance(node, Node::new(0)), graph.distance(Node::new(0), node));
            assert_eq!((graph.route(node, Node::new(0)), graph.route(Node::new(0), node)), (vec![node], nodes(&[0])));
            assert!(!graph.adjacent(node, Node::new(0)) && !graph.adjacent(Node::new(0), node));
        }
    }

    #[test]
    fn parts_have_exactly_the_links_between_their_nodes() {
        let Part { topology: part, numbers } = Graph::from_edges(TAILED).unwrap().part(&nodes(&[4, 3, 0])).unwrap();
        assert_eq!(numbers, nodes(&[2, 1, 0]));
        assert_eq!(part.edges(), [(Node::new(0), Node::new(1)), (Node::new(1), Node::new(2))]);

        let cube = Hypercube::new(3).unwrap();
        assert_eq!(Graph::induced(&cube, &nodes(&[7, 3, 1])).unwrap().topology.channels(), 4);
        for refused in [&[0, 3][..], &[], &[1, 1], &[0, 8]] {
            assert!(Graph::induced(&cube, &nodes(refused)).is_none(), "{refused:?}");
        }
    }
}

//! Networks in which links and nodes are broken.

use std::sync::Arc;

use super::text::{DAMAGED, Named, SyntaxFault, TextCursor, is_network};
use super::{Embedding, Graph, GraphError, Neighbours, Part, Topology};
use crate::ids::Node;

/// A network without some of its links and nodes: the text `damaged:NETWORK,U-V,..,nU,..`.
///
/// A broken link carries nothing in either direction. A broken node is gone, with all its links;
/// the nodes that are left keep their order and are numbered without gaps. What is left is
/// connected.
///
/// Routes are those of a [`Graph`] of what is left: shortest ones, around the damage. There are no
/// [factors](Topology::factors), so algorithms for products do not fit, but those for any network do.
///
/// # Cost
///
/// As for a [`Graph`].
///
/// ```
/// use necklace::Node;
/// use necklace::topology::{Topology, parse};
///
/// let torus = parse("damaged:torus:8x8,3-4,17-18")?;
/// assert_eq!((torus.nodes(), torus.channels()), (64, 4 * 64 - 4));
/// assert_eq!(torus.distance(Node::new(3), Node::new(4)), 3);
/// assert_eq!(parse("damaged:torus:8x8,n9")?.nodes(), 63);
/// # Ok::<(), necklace::topology::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Damaged {
    whole: Arc<dyn Topology>,
    links: Vec<(usize, usize)>,
    nodes: Vec<usize>,
    left: Graph,
}

impl Damaged {
    /// Returns what is left of a network without these links, in either direction, and these nodes.
    /// Numbers are those of the whole network, and may be repeated.
    ///
    /// # Errors
    ///
    /// [`GraphError::OutOfRange`] for a node that the network does not have, [`GraphError::Missing`]
    /// for such a link, [`GraphError::Empty`] and [`GraphError::Disconnected`] for what is left.
    pub fn new(
        whole: Arc<dyn Topology>,
        links: impl IntoIterator<Item = (usize, usize)>,
        nodes: impl IntoIterator<Item = usize>,
    ) -> Result<Self, GraphError> {
        let count = whole.nodes();
        let mut links: Vec<_> = links.into_iter().map(|(u, v)| (u.min(v), u.max(v))).collect();
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        links.sort_unstable();
        links.dedup();
        nodes.sort_unstable();
        nodes.dedup();
        for &edge in links.iter().chain(&nodes.iter().map(|&node| (node, node)).collect::<Vec<_>>()) {
            if edge.1 >= count {
                return Err(GraphError::OutOfRange { edge, nodes: count });
            }
        }
        if let Some(&edge) = links.iter().find(|link| !whole.adjacent(Node::new(link.0), Node::new(link.1))) {
            return Err(GraphError::Missing { edge, network: whole.text() });
        }
        // The number of a node among those that are left.
        let number = |node: usize| match nodes.binary_search(&node) {
            Ok(_) => None,
            Err(broken) => Some(node - broken),
        };
        let is_whole = |link: &(usize, usize)| links.binary_search(link).is_err();
        let edges = whole.edges().into_iter().map(|(u, v)| (u.index(), v.index())).filter(is_whole);
        let left = Graph::new(count - nodes.len(), edges.filter_map(|(u, v)| number(u).zip(number(v))))?;
        Ok(Self { whole, links, nodes, left })
    }

    /// Returns the network without the damage.
    #[must_use]
    pub fn whole(&self) -> &Arc<dyn Topology> {
        &self.whole
    }
}

impl Topology for Damaged {
    fn nodes(&self) -> usize {
        self.left.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        self.left.neighbours(node)
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.left.distance(from, to)
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        self.left.route(from, to)
    }

    /// Writes damage to a network without a text, such as a graph that is in no file, as
    /// `damaged NETWORK,..`, which cannot be parsed.
    fn text(&self) -> String {
        let links = self.links.iter().map(|(u, v)| format!(",{u}-{v}"));
        let nodes = self.nodes.iter().map(|node| format!(",n{node}"));
        let (whole, damage) = (self.whole.text(), links.chain(nodes).collect::<String>());
        let is_parsed = is_network(&whole) && !whole.starts_with(DAMAGED);
        format!("{DAMAGED}{}{whole}{damage}", if is_parsed { ':' } else { ' ' })
    }

    fn part(&self, nodes: &[Node]) -> Option<Part> {
        self.left.part(nodes)
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        self.left.adjacent(from, to)
    }

    fn channels(&self) -> usize {
        self.left.channels()
    }
}

/// The syntax of the text.
pub(super) const SYNTAX: &str = "damaged:NETWORK,U-V,..,nU,..";

/// What a list of damage consists of.
const ITEM: &str = "a broken link U-V or a broken node nU";

/// Returns the length of the text of the whole network, at the start of a text with damage after
/// it: up to the first comma before a link or a node.
pub(super) fn whole(text: &str) -> usize {
    let commas = text.match_indices(',').map(|(at, _)| at);
    let mut damage = commas.filter(|&at| {
        let item = text[at + 1..].split(',').next().unwrap_or_default();
        let is_node = item.strip_prefix('n').is_some_and(|node| node.starts_with(|c: char| c.is_ascii_digit()));
        is_node || item.split_once('-').is_some_and(|(u, _)| u.bytes().all(|c| c.is_ascii_digit()))
    });
    damage.next().unwrap_or(text.len())
}

/// Parses the damage of a network, from the comma before it to the end.
pub(super) fn read(cursor: &mut TextCursor<'_>, whole: Arc<dyn Topology>) -> Result<Named, SyntaxFault> {
    let (count, channels) = (whole.nodes(), whole.channels());
    if count > Embedding::MOST_NODES || channels > Embedding::MOST_CHANNELS {
        let (nodes, channels) = (Embedding::MOST_NODES, Embedding::MOST_CHANNELS);
        return Err(SyntaxFault(format!("damage of a network of at most {nodes} nodes and {channels} channels")));
    }
    let start = *cursor;
    let (mut links, mut nodes) = (vec![], vec![]);
    while links.len() + nodes.len() == 0 || !cursor.rest().is_empty() {
        if !cursor.skip(",") {
            return Err(SyntaxFault(format!("\",\" and {ITEM}")));
        }
        if cursor.skip("n") {
            nodes.push(cursor.number("the number of a node", 0, count - 1)?);
            continue;
        }
        if !cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Err(SyntaxFault(ITEM.to_owned()));
        }
        let from = cursor.number("the number of a node", 0, count - 1)?;
        if !cursor.skip("-") {
            return Err(SyntaxFault("\"-\" and the other end of a link".to_owned()));
        }
        let at = *cursor;
        let to = cursor.number("the number of a node", 0, count - 1)?;
        if !whole.adjacent(Node::new(from), Node::new(to)) {
            *cursor = at;
            return Err(SyntaxFault(format!("a node to which node {from} has a link: {}", linked(&*whole, from))));
        }
        links.push((from, to));
    }
    let damaged = Damaged::new(whole, links, nodes);
    damaged.map(|damaged| Named::Network(Arc::new(damaged))).map_err(|fault| {
        *cursor = start;
        SyntaxFault(match fault {
            GraphError::Empty => "damage that leaves a node".to_owned(),
            _ => "damage that leaves the network connected".to_owned(),
        })
    })
}

/// Lists the first few nodes to which a node has links.
fn linked(topology: &dyn Topology, node: usize) -> String {
    const SHOWN: usize = 8;
    let neighbours = topology.neighbours(Node::new(node));
    let shown: Vec<String> = neighbours.iter().take(SHOWN).map(|node| node.index().to_string()).collect();
    format!("{}{}", shown.join(", "), if neighbours.len() > SHOWN { ", .." } else { "" })
}

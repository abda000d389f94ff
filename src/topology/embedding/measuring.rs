//! Counts the measures of an embedding, and bounds them.

use super::Measures;
use crate::hash::Map;
use crate::ids::Node;
use crate::topology::{Embedding, Topology};

/// The most pairs of nodes whose distances are compared for a lower bound.
const MOST_PAIRS: usize = 1 << 22;

impl Measures {
    pub(super) fn of(embedding: &Embedding) -> Self {
        let mut measures =
            Self { guest_nodes: embedding.guest.nodes(), host_nodes: embedding.host.nodes(), ..Self::default() };
        let mut on: Map<usize> = Map::default();
        for node in embedding.nodes() {
            let count = on.entry(node.index() as u64).or_default();
            *count += 1;
            measures.load = measures.load.max(*count);
        }
        let mut links: Map<usize> = Map::default();
        for (from, to) in embedding.guest.edges() {
            let path = embedding.path(from, to);
            let hops = path.len().saturating_sub(1);
            measures.length += hops;
            if hops > measures.dilation {
                (measures.dilation, measures.longest) = (hops, 0);
            }
            measures.longest += usize::from(hops == measures.dilation);
            for hop in path.windows(2) {
                let count = links.entry(link(hop[0], hop[1])).or_default();
                *count += 1;
                measures.congestion = measures.congestion.max(*count);
            }
        }
        measures
    }

    /// Returns lower bounds of dilation and congestion for all embeddings of a guest in a host with
    /// one node of the guest on a node: how much better an embedding may be. The bounds need not be
    /// attained.
    ///
    /// They compare the numbers of links, the largest degrees, the diameters if all nodes of the
    /// host are taken, and whether there are odd cycles. Diameters are left out if there are more
    /// than 2^22 pairs of nodes.
    #[must_use]
    pub fn at_least(guest: &dyn Topology, host: &dyn Topology) -> (usize, usize) {
        let nodes = guest.nodes();
        if nodes <= 1 {
            return (0, 0);
        }
        let degree = |network: &dyn Topology| {
            (0..network.nodes()).map(|node| network.neighbours(Node::new(node)).len()).max().unwrap_or_default()
        };
        let (guest_degree, host_degree) = (degree(guest), degree(host));
        let links = guest.channels().div_ceil(host.channels().max(1));
        let congestion = links.max(guest_degree.div_ceil(host_degree.max(1)));
        let longer = congestion > 1 || odd_cycle(guest) && !odd_cycle(host);
        let diameters = if nodes == host.nodes() && nodes.saturating_mul(nodes) <= MOST_PAIRS {
            diameter(host).div_ceil(diameter(guest).max(1))
        } else {
            1
        };
        (diameters.max(1 + usize::from(longer)), congestion)
    }
}

/// Returns the key of a link.
pub(super) fn link(one: Node, other: Node) -> u64 {
    (one.min(other).index() as u64) << 32 | one.max(other).index() as u64
}

fn diameter(network: &dyn Topology) -> usize {
    let all = || (0..network.nodes()).map(Node::new);
    all().flat_map(|from| all().map(move |to| network.distance(from, to))).max().unwrap_or_default()
}

/// Returns whether a network has a cycle of odd length.
fn odd_cycle(network: &dyn Topology) -> bool {
    let parity: Vec<bool> =
        (0..network.nodes()).map(|node| network.distance(Node::new(0), Node::new(node)) % 2 == 1).collect();
    network.edges().into_iter().any(|(from, to)| parity[from.index()] == parity[to.index()])
}

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
    /// They compare the numbers of links, the largest degrees, and whether there are odd cycles. The
    /// nodes within each distance of a node of the guest must find room within the dilation times this
    /// distance in the host, and if all nodes of the host are taken, its diameter is at most the
    /// dilation times that of the guest. The last two are left out if the guest or the host has more
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
        let farther = Balls::of(guest).zip(Balls::of(host)).map_or(1, |(guest, host)| host.stretch(&guest));
        (farther.max(1 + usize::from(longer)), congestion)
    }
}

/// The largest number of nodes within each distance of a node, up to the diameter.
struct Balls(Vec<usize>);

impl Balls {
    /// Counts them, unless there are too many nodes.
    fn of(network: &dyn Topology) -> Option<Self> {
        let nodes = network.nodes();
        if nodes.saturating_mul(nodes) > MOST_PAIRS {
            return None;
        }
        let mut most = vec![];
        for from in (0..nodes).map(Node::new) {
            let mut at = vec![0; most.len()];
            for distance in (0..nodes).map(|to| network.distance(from, Node::new(to))) {
                at.resize(at.len().max(distance + 1), 0);
                at[distance] += 1;
            }
            most.resize(at.len(), if from.index() == 0 { 0 } else { nodes });
            let within = at.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            });
            most.iter_mut().zip(within).for_each(|(most, within)| *most = within.max(*most));
        }
        Some(Self(most))
    }

    fn diameter(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the least factor by which an embedding in this network lengthens some distance of a
    /// guest.
    fn stretch(&self, guest: &Self) -> usize {
        let all_are_taken = guest.0.last() == self.0.last();
        let least = if all_are_taken { self.diameter().div_ceil(guest.diameter().max(1)) } else { 1 };
        let has_room = |factor: &usize| {
            let room = |distance: usize| self.0[(factor * distance).min(self.diameter())];
            guest.0.iter().enumerate().all(|(distance, &within)| within <= room(distance))
        };
        (least..self.diameter()).find(has_room).unwrap_or(self.diameter()).max(1)
    }
}

/// Returns the key of a link.
pub(super) fn link(one: Node, other: Node) -> u64 {
    (one.min(other).index() as u64) << 32 | one.max(other).index() as u64
}

/// Returns whether a network has a cycle of odd length.
fn odd_cycle(network: &dyn Topology) -> bool {
    let parity: Vec<bool> =
        (0..network.nodes()).map(|node| network.distance(Node::new(0), Node::new(node)) % 2 == 1).collect();
    network.edges().into_iter().any(|(from, to)| parity[from.index()] == parity[to.index()])
}

//! Errors of embeddings.

use crate::ids::Node;
use crate::quote::{debug_as_text, quoted, shown};
use crate::topology::{Embedding, Topology};

/// An embedding that cannot be.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// The guest has too many nodes or channels.
    #[error(
        "the guest {} has {nodes} nodes and {channels} channels, expected at most {} and {}",
        shown(guest),
        Embedding::MOST_NODES,
        Embedding::MOST_CHANNELS
    )]
    #[non_exhaustive]
    Guest {
        /// The guest.
        guest: String,
        /// Its number of nodes.
        nodes: usize,
        /// Its number of channels.
        channels: usize,
    },
    /// The host has too many nodes or channels.
    #[error(
        "the host {} has {nodes} nodes and {channels} channels, expected at most {} and {}",
        shown(host),
        Embedding::MOST_HOST_NODES,
        Embedding::MOST_HOST_CHANNELS
    )]
    #[non_exhaustive]
    Host {
        /// The host.
        host: String,
        /// Its number of nodes.
        nodes: usize,
        /// Its number of channels.
        channels: usize,
    },
    /// The guest has more nodes than the host.
    #[error("the guest {} has {nodes} nodes, expected at most {most}, as the host {} has", shown(guest), shown(host))]
    #[non_exhaustive]
    Unfit {
        /// The guest.
        guest: String,
        /// Its number of nodes.
        nodes: usize,
        /// The host.
        host: String,
        /// The number of nodes of the host.
        most: usize,
    },
    /// A map does not have one node for each node of the guest.
    #[error("the map has {found} nodes, expected {expected}, one for each node of {}", shown(guest))]
    #[non_exhaustive]
    Length {
        /// The length of the map.
        found: usize,
        /// The guest.
        guest: String,
        /// Its number of nodes.
        expected: usize,
    },
    /// A node of the map is not a node of the host.
    #[error("node {guest_node} of the guest is on node {node}, expected 0 to {}, as {} has", count - 1, shown(host))]
    #[non_exhaustive]
    Node {
        /// The node of the guest.
        guest_node: Node,
        /// The node that the map gives.
        node: Node,
        /// The host.
        host: String,
        /// The number of nodes of the host.
        count: usize,
    },
    /// Two nodes of the guest are on the same node, where ranks need one each.
    #[error("nodes {first} and {second} of the guest are both on node {node}, expected different nodes")]
    #[non_exhaustive]
    Shared {
        /// One node of the guest.
        first: Node,
        /// The other node of the guest.
        second: Node,
        /// The node of the host.
        node: Node,
    },
    /// A path is not one of the host for a link of the guest.
    #[error(
        "link {from}-{to}: expected a link of {} and a path without repetition along channels of {} between the nodes of its ends",
        shown(guest),
        shown(host)
    )]
    #[non_exhaustive]
    Path {
        /// One end of the link.
        from: Node,
        /// The other end.
        to: Node,
        /// The guest.
        guest: String,
        /// The host.
        host: String,
    },
    /// There is no embedding of this name for the guest and the host.
    #[error(
        "there is no embedding {} of {} in {}, expected one of {}",
        quoted(name),
        shown(guest),
        shown(host),
        known.join(", ")
    )]
    #[non_exhaustive]
    Unknown {
        /// The name.
        name: String,
        /// The guest.
        guest: String,
        /// The host.
        host: String,
        /// The names that fit.
        known: Vec<String>,
    },
}

impl EmbeddingError {
    /// Fails for a guest or a host that is too large.
    pub(super) fn check_sizes(guest: &dyn Topology, host: &dyn Topology) -> Result<(), Self> {
        let (nodes, channels) = (host.nodes(), host.channels());
        if nodes > Embedding::MOST_HOST_NODES || channels > Embedding::MOST_HOST_CHANNELS {
            return Err(Self::Host { host: host.text(), nodes, channels });
        }
        let (nodes, channels) = (guest.nodes(), guest.channels());
        if nodes <= Embedding::MOST_NODES && channels <= Embedding::MOST_CHANNELS {
            return Ok(());
        }
        Err(Self::Guest { guest: guest.text(), nodes, channels })
    }
}

debug_as_text!(EmbeddingError);

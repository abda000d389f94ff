//! Errors of sizes, topology texts and edge lists.

use std::io;

use super::embedding::EmbeddingError;
use crate::ids::MAX_NODES;
use crate::quote::{debug_as_text, quoted, shown};

/// Numbers that no network has, or that are too large for its routes.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// A number is out of range.
    #[error("{what} is {value}; expected {least} to {most}")]
    #[non_exhaustive]
    OutOfRange {
        /// The number, such as `the window`.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The least value.
        least: usize,
        /// The largest value.
        most: usize,
    },
    /// There are no extents.
    #[error("there are no extents; expected at least one")]
    NoExtents,
    /// The product of the extents is more than [`MAX_NODES`].
    #[error("extents {} give more than {MAX_NODES} nodes", shown(extents))]
    #[non_exhaustive]
    TooMany {
        /// The extents, such as `65536x65536`.
        extents: String,
    },
}

debug_as_text!(SizeError);

impl SizeError {
    /// Checks that a number is in a range.
    pub(super) fn check(what: &'static str, value: usize, least: usize, most: usize) -> Result<(), Self> {
        if (least..=most).contains(&value) { Ok(()) } else { Err(Self::OutOfRange { what, value, least, most }) }
    }
}

/// Edges that do not form a connected network.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The graph has no node.
    #[error("the graph has no nodes; expected at least one")]
    Empty,
    /// The graph has more than [`MAX_NODES`] nodes.
    #[error("there are {nodes} nodes, expected at most {MAX_NODES}")]
    #[non_exhaustive]
    TooMany {
        /// The number of nodes.
        nodes: usize,
    },
    /// An edge has an end that is not a node.
    #[error("edge {}-{}: expected nodes from 0 to {}", edge.0, edge.1, nodes - 1)]
    #[non_exhaustive]
    OutOfRange {
        /// The edge.
        edge: (usize, usize),
        /// The number of nodes.
        nodes: usize,
    },
    /// A link that is to be broken is not there.
    #[error("edge {}-{}: {} has no such link", edge.0, edge.1, shown(network))]
    #[non_exhaustive]
    Missing {
        /// The edge.
        edge: (usize, usize),
        /// The text of the network.
        network: String,
    },
    /// An edge leads from a node to itself.
    #[error("edge {node}-{node}: expected two different nodes")]
    #[non_exhaustive]
    Loop {
        /// The node.
        node: usize,
    },
    /// The graph is not connected.
    #[error("node {node} cannot be reached from node 0, expected a connected graph")]
    #[non_exhaustive]
    Disconnected {
        /// The first node that cannot be reached from node 0.
        node: usize,
    },
}

debug_as_text!(GraphError);

/// An invalid topology text, or an invalid file that a text names.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text is invalid.
    #[error("topology {}, column {column}: found {found}, expected {expected}", quoted(text))]
    #[non_exhaustive]
    Text {
        /// The whole text.
        text: String,
        /// The column of the fault, counted in characters from 1.
        column: usize,
        /// The text in that place.
        found: String,
        /// A description of what is accepted in that place.
        expected: String,
    },
    /// A file cannot be read.
    #[error("graph file {} cannot be read: {reason}", quoted(path))]
    #[non_exhaustive]
    File {
        /// The file.
        path: String,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The description of the failure.
        reason: String,
    },
    /// A line of a file is not an edge.
    #[error("graph file {}, line {line}, column {column}: found {found}, expected {expected}", quoted(path))]
    #[non_exhaustive]
    Line {
        /// The file.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// The column of the fault, counted in characters from 1.
        column: usize,
        /// The text in that place.
        found: String,
        /// A description of what is accepted in that place.
        expected: String,
    },
    /// The edges in a file do not form a connected network.
    #[error("graph file {}: {fault}", quoted(path))]
    #[non_exhaustive]
    Graph {
        /// The file.
        path: String,
        /// The fault of the edges.
        fault: GraphError,
    },
    /// The guest of a text `GUEST@HOST` does not fit into the host.
    #[error("topology {}: {fault}", quoted(text))]
    #[non_exhaustive]
    Embedding {
        /// The whole text.
        text: String,
        /// The fault of the embedding.
        fault: Box<EmbeddingError>,
    },
}

debug_as_text!(ParseError);

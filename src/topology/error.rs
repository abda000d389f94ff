//! What is wrong with a network, or with a text that is to name one.

use std::io;

use crate::ids::MAX_NODES;
use crate::quote::quoted;

/// A list of edges that is no connected network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// There is no node.
    #[error("there is no node, expected at least one")]
    Empty,
    /// There are more nodes than anything here may have.
    #[error("there are {nodes} nodes, expected at most {MAX_NODES}")]
    TooMany {
        /// How many there are.
        nodes: usize,
    },
    /// An edge ends at a node that is not there.
    #[error("edge {}-{}: expected nodes from 0 to {}", edge.0, edge.1, nodes - 1)]
    OutOfRange {
        /// The edge.
        edge: (usize, usize),
        /// How many nodes there are.
        nodes: usize,
    },
    /// An edge from a node to itself.
    #[error("edge {node}-{node}: expected two different nodes")]
    Loop {
        /// The node.
        node: usize,
    },
    /// The graph is in pieces.
    #[error("node {node} cannot be reached from node 0, expected a connected graph")]
    Disconnected {
        /// The smallest number that is not reached from node 0.
        node: usize,
    },
}

/// A text that is no topology, or that names a file which holds none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text is not one.
    #[error("topology {}, column {column}: found {found}, expected {expected}", quoted(text))]
    Text {
        /// The whole text.
        text: String,
        /// Where it goes wrong, counted in characters from 1.
        column: usize,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The text asks for a topology whose name is reserved, but which is not there yet.
    #[error("topology {}: {name} is not supported yet, expected {expected}", quoted(text))]
    Unsupported {
        /// The whole text.
        text: String,
        /// The name.
        name: String,
        /// What there is.
        expected: String,
    },
    /// A file cannot be read.
    #[error("graph file {} cannot be read: {reason}", quoted(path))]
    File {
        /// The file.
        path: String,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What went wrong, in words.
        reason: String,
    },
    /// A line of a file is no edge.
    #[error("graph file {}, line {line}, column {column}: found {found}, expected {expected}", quoted(path))]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Where it goes wrong, counted in characters from 1.
        column: usize,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The edges in a file are no connected network.
    #[error("graph file {}: {fault}", quoted(path))]
    Graph {
        /// The file.
        path: String,
        /// What is wrong with them.
        fault: GraphError,
    },
}

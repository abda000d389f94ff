//! Topology text.

/// A text that is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("topology {text:?}, column {column}: found {found}, expected {expected}")]
pub struct ParseError {
    /// The whole text.
    pub text: String,
    /// Where it goes wrong, counted in characters from 1.
    pub column: usize,
    /// What is there.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

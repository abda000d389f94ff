//! The error of reading and writing.

use crate::quote::{debug_as_text, fault_in_json};
use crate::vocabulary::BuildError;

/// The reason why a schedule cannot be read from JSON, or written. Needs the feature `json`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is not JSON, or a member has the wrong type.
    #[error("line {line}, column {column}: {reason}")]
    #[non_exhaustive]
    Syntax {
        /// The line, from 1; 0 if unknown.
        line: usize,
        /// The column, from 1; 0 if unknown.
        column: usize,
        /// The text found there, and the expected form.
        reason: String,
    },
    /// A member is invalid, or contradicts others.
    #[error("member {member:?}: found {found}, expected {expected}")]
    #[non_exhaustive]
    Member {
        /// The name of the member.
        member: &'static str,
        /// Its value.
        found: String,
        /// The expected form.
        expected: String,
    },
    /// The document exceeds the limit.
    #[error("the document has more than {limit} bytes; verify a schedule of this size in the program that makes it")]
    #[non_exhaustive]
    TooLong {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// A string exceeds the limit.
    #[error("a string in the document has more than {limit} bytes")]
    #[non_exhaustive]
    LongString {
        /// The maximum number of bytes, including escapes.
        limit: usize,
    },
    /// The topology, the placement or the root is invalid; or, when writing, the ranks' shares do
    /// not match.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Reading or writing failed.
    #[error("the schedule cannot be read or written")]
    Io(#[from] std::io::Error),
}

debug_as_text!(JsonError);

/// Returns the error of a text that the parser rejects, or of a reader that fails.
pub(super) fn rejected(error: serde_json::Error) -> JsonError {
    if error.is_io() {
        return JsonError::Io(error.into());
    }
    let (line, column, reason) = fault_in_json(&error);
    JsonError::Syntax { line, column, reason }
}

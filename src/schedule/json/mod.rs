//! Schedules as JSON, in the format `necklace-schedule/1`. Needs the feature `json`.
//!
//! The format is for checkers and plotters, and for schedules that other programs write.
//!
//! ```text
//! {"format":"necklace-schedule/1","topology":"torus:12x12","nodes":144,"collective":"alltoall","root":null,
//!  "algorithm":"torus-exchange","ports":"one","commutative":true,
//!  "rounds":[{"transfers":[{"src":0,"dst":4,"route":[0,1,2,3,4],"reduce":false,
//!                           "blocks":[[0,5],[0,6],[0,7,1,2],[0,8,0,6,3]]}],
//!             "local":[{"rank":4,"from":[-2,0],"into":[-1,4],"reduce":"left"}]}]}
//! ```
//!
//! A block is `[source, destination]`, `[source, destination, i, k]` for chunk i of k, or
//! `[source, destination, i, k, c]` for c chunks from i on. `reduce` is `false`, `"left"` or
//! `"right"`. Routes list nodes; all other numbers are ranks.
//!
//! | member | meaning | if absent |
//! |---|---|---|
//! | `placement` | the node of each rank | rank i on node i |
//! | `edges` | the links of a graph | |
//! | `pre`, `post` | for `custom`: for each rank, a list of `[block, [contributors]]` | |
//! | `name` | `"barrier"` if `pre` and `post` are those of a barrier | |
//! | `commutative` | whether a reduction may combine in any order | `true` |
//! | `ports` | the port model | `unlimited` |
//! | `contention_free` | whether no channel may carry two transfers in a round | `false` |
//! | `phases`; a round's `phase` | the names of the phases; the number of its phase, from 0 | one; 0 |
//! | a transfer's `route` | its nodes, both ends included | the default route |
//! | a transfer's or step's `reduce`, a round's `local` | | `false`, none |
//!
//! Members with other names are ignored. Routes are always written. A network without a topology
//! text is written as a graph with its links.
//!
//! # Untrusted documents
//!
//! Reading takes memory in proportion to the length of the document, up to eight bytes for each
//! byte, and not to any number in it. It opens no file that the document names. It fails if a
//! document exceeds one of these limits:
//!
//! | item | limit |
//! |---|---|
//! | bytes read from a reader | [`MAX_DOCUMENT`] |
//! | bytes of a string; of a name | 1 MiB; 4096 |
//! | names of phases | 65,536 |
//! | rounds; ranks that `placement`, `pre` and `post` list; links | 4,194,304 each |
//! | chunks of a block | 1,048,576 |
//!
//! A well-formed document need not be a correct schedule: [`verify`](super::verify) it.

mod bounded;
mod read;
mod write;

pub use read::{MAX_DOCUMENT, from_json, read_json};
pub use write::{JsonWriter, share_json, to_json, write_json};

use crate::quote::fault_in_json;
use crate::vocabulary::BuildError;

const FORMAT: &str = "necklace-schedule/1";

/// The reason why a schedule cannot be read from JSON, or written. Needs the feature `json`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is not JSON, or a member has the wrong type.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, from 1; 0 if unknown.
        line: usize,
        /// The column, from 1; 0 if unknown.
        column: usize,
        /// What was found, and what is expected.
        reason: String,
    },
    /// A member is invalid, or contradicts others.
    #[error("member {member:?}: found {found}, expected {expected}")]
    Member {
        /// The name of the member.
        member: &'static str,
        /// Its value.
        found: String,
        /// What is expected.
        expected: String,
    },
    /// The document exceeds the limit.
    #[error("the document has more than {limit} bytes; verify a schedule of this size in the program that makes it")]
    TooLong {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// A string exceeds the limit.
    #[error("a string in the document has more than {limit} bytes")]
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

/// Returns the error of a text that the parser rejects, or of a reader that fails.
fn rejected(error: serde_json::Error) -> JsonError {
    if error.is_io() {
        return JsonError::Io(error.into());
    }
    let (line, column, reason) = fault_in_json(&error);
    JsonError::Syntax { line, column, reason }
}

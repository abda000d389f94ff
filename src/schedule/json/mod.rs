//! Schedules as JSON, `necklace-schedule/1`: for checkers, plotters and schedules written by others.
//!
//! ```text
//! {"format":"necklace-schedule/1","topology":"torus:12x12","nodes":144,"collective":"alltoall","root":null,
//!  "algorithm":"torus-exchange","ports":"one","commutative":true,
//!  "rounds":[{"transfers":[{"src":0,"dst":4,"route":[0,1,2,3,4],"reduce":false,
//!                           "blocks":[[0,5],[0,6],[0,7,1,2],[0,8,0,6,3]]}],
//!             "local":[{"rank":4,"from":[-2,0],"into":[-1,4],"reduce":"left"}]}]}
//! ```
//!
//! A block is `[source, destination]`, `[source, destination, i, k]` for chunk i of k, or `[source, destination, i, k, c]`
//! for c chunks from i on. `reduce` is `false`, `"left"` or `"right"`. Routes name nodes, all else names ranks.
//!
//! | member | meaning | if absent |
//! |---|---|---|
//! | `placement` | the node of each rank | rank i on node i |
//! | `edges` | the links of a graph | |
//! | `pre`, `post` | of `custom`: for each rank, a list of `[block, [contributors]]` | |
//! | `name` | `"barrier"` where `pre` and `post` are those of a barrier | |
//! | `commutative` | whether a reduction may combine in any order | `true` |
//! | `ports` | the port model it keeps to | `unlimited` |
//! | `contention_free` | whether it promises that no channel carries two transfers in a round | `false` |
//! | `phases`; a round's `phase` | the names of the phases; which one it is, from 0 | one; 0 |
//! | a transfer's `route` | the way, both ends included | the network's own |
//! | a transfer's or step's `reduce`, a round's `local` | | `false`, none |
//!
//! Members with other names are passed over. Routes are always written; a network that no topology text describes is
//! written as a graph with its links.
//!
//! A document is never believed. Reading takes memory in proportion to its text, up to eight bytes for each byte of it, and not to any
//! number in it; it opens no file that the document names. It stops where there is more than this:
//!
//! | what | most |
//! |---|---|
//! | bytes of text that comes from a reader | [`MAX_DOCUMENT`] |
//! | bytes of a string; of a name | 1 MiB; 4096 |
//! | names of phases | 65,536 |
//! | rounds; ranks that `placement`, `pre` and `post` list; links | 4,194,304 each |
//! | chunks of a block | 1,048,576 |
//!
//! That a document is well formed does not make it right: [`verify`](super::verify) says whether it is.

mod bounded;
mod read;
mod write;

pub use read::{MAX_DOCUMENT, from_json, read_json};
pub use write::{JsonWriter, share_json, to_json, write_json};

use crate::quote::fault_in_json;
use crate::vocabulary::BuildError;

const FORMAT: &str = "necklace-schedule/1";

/// A schedule cannot be read from JSON, or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is no JSON, or a member of it is not what it should be.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, from 1; 0 where there is none.
        line: usize,
        /// The column, from 1; 0 where there is none.
        column: usize,
        /// What is there, and what would be right.
        reason: String,
    },
    /// A member does not go with the others.
    #[error("member {member:?}: found {found}, expected {expected}")]
    Member {
        /// Which.
        member: &'static str,
        /// What it says.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The text goes on for longer than is read.
    #[error("the document has more than {limit} bytes, no more are read; check a larger schedule where it is made")]
    TooLong {
        /// How many bytes are read at most.
        limit: u64,
    },
    /// A string goes on for longer than is read.
    #[error("a string in the document has more than {limit} bytes, no more are read")]
    LongString {
        /// How many bytes are read at most, escapes included.
        limit: usize,
    },
    /// The topology, the placement or the root is none; or, in writing, the ranks' shares do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Reading or writing fails.
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

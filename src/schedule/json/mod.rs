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
//! | `name` | `"barrier"` or `"shift:by=N"` if `pre` and `post` are those of a barrier or a shift | |
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
//! | bytes read from a reader | 256 MiB |
//! | bytes of a string; of a name | 1 MiB; 4096 |
//! | names of phases | 65,536 |
//! | rounds; ranks that `placement`, `pre` and `post` list; links | 4,194,304 each |
//! | chunks of a block | 1,048,576 |
//!
//! A well-formed document need not be a correct schedule: [`verify`](super::verify) it.

mod bounded;
pub(super) mod error;
pub(super) mod read;
pub(super) mod write;

const FORMAT: &str = "necklace-schedule/1";

//! Networks: nodes, channels, routes and distances.
//!
//! | text | type | nodes |
//! |---|---|---|
//! | `line:N`, `ring:N`, `mesh:AxB[xC..]`, `torus:AxB[xC..]` | [`Grid`] | product of the extents |
//! | `hypercube:D` | [`Hypercube`] | 2^D |
//! | `ghc:K,N`, `ghc:AxB[xC..]` | [`GeneralizedHypercube`] | K^N, product of the extents |
//! | `how:P,W,N`, `how-wrap:P,W,N` | [`OverlappingWindows`] | P^N |
//! | `complete:N` | [`Complete`] | N |
//! | `binary-tree:L` | [`BinaryTree`] | 2^L - 1 |
//! | `graph:@FILE` | [`Graph`] | 1 + the largest number in the edge list |
//! | `damaged:NETWORK,U-V,..,nU,..` | [`Damaged`] | those of the network that are left |
//! | `GUEST@HOST[:NAME]` | [`Embedded`] | those of the host |
//!
//! [`parse()`] parses a text, [`load`](crate::load()) also reads the file of a `graph:@FILE`, and
//! [`Topology::text`] writes the text.
//!
//! A network of your own is a [`Graph`] of its links or an implementation of [`Topology`], which
//! [`conformance::run_all`] checks.
//!
//! [`LengthBalanced`] has other routes on overlapping windows than the default ones, for alltoalls.
//! [`ColinearLayout`] counts the wires, layers and contacts of a network on a line.
//!
//! A [`Topology`] is pure: it does no I/O, and the same call returns the same value on every rank.

mod axes;
mod binary_tree;
mod colinear;
mod complete;
pub mod conformance;
mod damaged;
mod definition;
mod edge_list;
mod embedding;
mod error;
mod generalized;
mod graph;
mod grid;
mod hypercube;
mod length_balanced;
mod list;
mod registry;
mod round_routes;
mod row_routes;
mod text;
mod windows;

pub(crate) use axes::{Axis, Kind, axes};
pub use binary_tree::BinaryTree;
pub use colinear::{ColinearLayout, Half, RestrictedRouting, Wire};
pub use complete::Complete;
pub use damaged::Damaged;
use definition::as_set;
pub use definition::{Embedding, Factor, Part, Topology};
pub(crate) use definition::{same, same_links};
pub(crate) use edge_list::edge_list;
pub use embedding::{Embedded, EmbeddingError, Measures};
pub use error::{GraphError, ParseError, SizeError};
pub use generalized::GeneralizedHypercube;
pub use graph::Graph;
pub use grid::Grid;
pub use hypercube::Hypercube;
pub use length_balanced::LengthBalanced;
pub use list::{Coordinates, Neighbours};
#[cfg(feature = "json")]
pub(crate) use registry::is_damaged;
pub(crate) use registry::{embedded, parse_or_file};
pub use registry::{parse, syntax};
pub(crate) use text::Named;
pub use windows::OverlappingWindows;

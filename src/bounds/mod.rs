//! What no schedule can do without: lower bounds on start-ups and transmission.
//!
//! Three arguments, of which the strongest counts. *Ports*: what a rank must send or receive passes its port.
//! *Average*: what must be carried, times how far, is spread over all channels at best; and over the channels of each
//! dimension, where the network is a product. *Cuts*: what must leave a set of nodes has only the channels that leave
//! it. For products of lines, rings and complete networks these are formulas in the extents; other networks are
//! searched breadth-first, and the cuts are those around a node, up to each distance. Sources: Suh & Shin 2001, 3.1.4;
//! Grama et al., 4.5; Wang 1999, 5; the rest is counting. They are lower bounds: nothing says that a schedule reaches
//! them, least of all several at once.
//!
//! For alltoall with a rank on each of N nodes, k a dimension's extent, fl(k) = floor(k^2/4):
//!
//! | network | channels | one port | one port, stored at every node |
//! |---|---|---|---|
//! | complete | 1 | N - 1 | N - 1 |
//! | ring, torus | largest N fl(k) / 2k (N/2 for k = 2) | N - 1 | sum of N fl(k) / k |
//! | line, mesh | largest N fl(k) / k | N - 1 | mean distance times N |
//! | cube | N/2 | N - 1 | N/2 log N |
//!
//! ```
//! use necklace::bounds::Bounds;
//! use necklace::collective::Collective;
//! use necklace::schedule::{Ports, Problem, Volume};
//! use necklace::topology::parse;
//!
//! let problem = Problem::new(parse("torus:12x12").unwrap(), Collective::Alltoall)?;
//! let bounds = Bounds::of(&problem);
//! assert_eq!(bounds.channel(), Volume::from(216));
//! assert_eq!(bounds.startups(Ports::One), 8);
//! # Ok::<(), necklace::error::BuildError>(())
//! ```

mod found;
mod least;
mod need;
mod product;
mod search;

pub use found::Search;
pub use least::Bounds;

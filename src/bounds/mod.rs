//! Lower bounds on the start-ups and the transmission of all schedules of a problem.
//!
//! Three arguments give bounds, and the strongest counts:
//!
//! - *Ports*: all blocks that a rank must send or receive pass its port.
//! - *Average*: the sum over blocks of their distance is at best spread evenly over all channels,
//!   and in a product over the channels of each dimension.
//! - *Cuts*: the blocks that must leave a set of nodes share the channels that leave the set.
//!
//! In products of lines, rings and complete networks the bounds are formulas in the extents. Other
//! networks are searched breadth-first, and the cuts are around a node, at each distance. Sources:
//! Suh & Shin 2001, 3.1.4; Grama et al., 4.5; Wang 1999, 5; the rest is counting. A schedule need
//! not reach a bound, and may be unable to reach several at once.
//!
//! [`collection_time`], [`dissemination_steps`] and [`ring_growth`] bound the time of an allgather.
//!
//! Lower bounds on the transmission of alltoall, in blocks, with a rank on each of N nodes. k is
//! the extent of a dimension, fl(k) = floor(k^2/4), and log is to base 2:
//!
//! | network | busiest channel | busiest port | one port, store-and-forward |
//! |---|---|---|---|
//! | complete | 1 | N - 1 | N - 1 |
//! | ring, torus | max over k of N fl(k) / 2k (N/2 for k = 2) | N - 1 | sum over k of N fl(k) / k |
//! | line, mesh | max over k of N fl(k) / k | N - 1 | N times the mean distance |
//! | hypercube | N/2 | N - 1 | (N/2) log N |
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
mod gossip;
mod least;
mod need;
mod product;
mod search;

pub use found::Search;
pub use gossip::{Regular, collection_time, dissemination_steps, ring_growth};
pub use least::Bounds;

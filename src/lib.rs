//! Collective communication that knows the network it runs on.
//!
//! An application (a distributed Fourier transform, a matrix transpose, a sort, a shuffle) gets a [`Communicator`] and calls
//! [`alltoall`](Communicator::alltoall). How the blocks travel is a *schedule*: made by an algorithm for the network at hand,
//! data that can be [proved](Communicator::prove) before it runs (everything is delivered, no channel and no port is used twice
//! at a time), as the tests do with each, and executed straight from and into the caller's memory.
//!
//! ```
//! // Sixteen ranks, as threads, on a torus.
//! let columns = necklace::local::run_on("torus:4x4", |mut comm| {
//!     comm.choose("alltoall", "torus-exchange")?;
//!     // Row `rank` of a 16 x 16 matrix; after the exchange, column `rank`.
//!     let row: Vec<u32> = (0..16).map(|j| 100 * comm.rank() as u32 + j).collect();
//!     let mut column = vec![0; 16];
//!     comm.alltoall(&row, &mut column)?;
//!     Ok::<_, necklace::Error>(column)
//! })?;
//! assert_eq!(columns[3].as_ref().unwrap()[..3], [3, 103, 203]);
//! # Ok::<(), necklace::Error>(())
//! ```
//!
//! The rounds of such an exchange on 8 x 8 nodes, as `schedule::draw` draws them; every arrow is a message, and no channel
//! carries two at a time:
//!
#![cfg_attr(doc, doc = include_str!("../doc/torus-exchange.svg"))]
//!
//! # The way of the data
//!
//! ```text
//! Topology ──► Algorithm ──► Schedule ──► Plan ──► Transport ──► bytes
//! (graph,      (who sends    (rounds of   (byte     (moves one
//!  routes)      what, when)   blocks)      ranges)   round)
//! ```
//!
//! Each room knows only those to its left, and each can be used by itself:
//!
//! - [`topology`]: lines, rings, meshes, tori, hypercubes, generalized ones, complete networks, graphs; bring your own
//!   by implementing [`Topology`](topology::Topology).
//! - [`algorithm`]: the [registry](algorithm::registry), and the trait for an algorithm of your own.
//! - [`schedule`]: rounds of transfers of blocks as data; [`verify`](schedule::verify()) proves them; with the feature
//!   `json` they can be written and read, with `draw` drawn.
//! - [`plan`]: byte ranges for one rank.
//! - [`permutation`]: what is done to distributed arrays by their addresses' bits.
//! - [`transport`]: what moves them: among threads, over TCP, over MPI, and the trait for a backend of your own.
//!
//! # What is promised
//!
//! - **Nothing hangs.** A call that makes no progress for the [timeout](Options::timeout) fails on every member, naming the rank
//!   that all wait for. A rank that panics, leaves or is killed is reported at once.
//! - **Ranks that disagree are found.** Collective, sizes, algorithm, root and operation are compared by every message (before the
//!   first call of its kind where the backend's own library does it).
//! - **Bad input is an error before anything moves**; nothing panics.
//! - **The same bits.** A reduction combines in the schedule's order, on every rank and in every run. (Where the backend's own
//!   library does it, by the algorithm `native`, the library orders it.)
//! - An execution of a cached or [persistent](Persistent) plan **allocates nothing**.
//!
//! # Features
//!
//! | feature | what it adds | default |
//! |---|---|---|
//! | `local` | ranks as threads: [`local`], [`launch()`](fn@launch), [`transport::local`] | yes |
//! | `tcp` | ranks as processes: [`launch()`](fn@launch) under a launcher, [`connect`], `transport::tcp` | no |
//! | `mpi` | ranks as those of Open MPI or MPICH: [`launch()`](fn@launch) under `mpirun`, [`connect`], `transport::mpi`. Needs one of these libraries and libclang | no |
//! | `json` | schedules as JSON: `schedule::json`; machines from files | no |
//! | `half` | reductions of `f16` and `bf16` of the crate `half` | no |
//! | `num-complex` | reductions of complex numbers of the crate `num-complex` | no |
//! | `draw` | schedules as pictures: `schedule::draw` | no |

pub mod algorithm;
mod block;
pub mod bounds;
pub mod collective;
pub mod communicator;
pub mod cost;
pub mod error;
mod hash;
pub mod ids;
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub mod launch;
mod load;
#[cfg(feature = "local")]
pub mod local;
pub mod machine;
pub mod op;
pub mod permutation;
pub mod plan;
mod quote;
pub mod schedule;
pub mod select;
pub mod simulate;
pub mod topology;
pub mod transport;
mod vocabulary;

/// Elements of buffers are [`bytemuck::Pod`].
pub use bytemuck;
pub use communicator::{Communicator, Options, Persistent};
pub use error::Error;
pub use ids::{Channel, Node, Rank};
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub use launch::{connect, launch};
pub use load::load;
pub use plan::Strided;

/// The README's programs, compiled and run.
#[cfg(all(doctest, feature = "local"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The programs of the page for people who come from MPI.
#[cfg(all(doctest, feature = "local"))]
#[doc = include_str!("../doc/from-mpi.md")]
struct FromMpi;

/// The programs of the pages on MPI.
#[cfg(all(doctest, feature = "mpi"))]
#[doc = include_str!("../doc/mpi.md")]
struct OverMpi;

/// The program of a job at scale.
#[cfg(all(doctest, feature = "mpi"))]
#[doc = include_str!("../doc/slurm-torus.md")]
struct OnATorus;

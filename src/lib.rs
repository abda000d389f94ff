//! Collective communication that knows the network it runs on.
//!
//! A program gets a [`Communicator`] and calls [`alltoall`](Communicator::alltoall) or another
//! collective. An algorithm made for the network at hand turns the call into a *schedule*. A
//! schedule is data: it can be [proved](Communicator::prove) before it runs, and it is executed
//! straight from and into the caller's memory.
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
//! # Ok::<(), necklace::JobError>(())
//! ```
//!
//! The [`guide`] starts with a [quick start](guide::quick_start). It has chapters for readers
//! who come [from MPI](guide::from_mpi) or [from `torch.distributed`](guide::from_torch), and on
//! [backends](guide::backends), [testing](guide::testing), [failures](guide::failures) and
//! [security](guide::security).
//!
//! The rounds of the exchange above on 8 x 8 nodes, drawn by `schedule::draw`. Each arrow is a
//! message. No channel carries two messages at a time:
//!
#![cfg_attr(doc, doc = include_str!("../doc/torus-exchange.svg"))]
//!
//! # Modules
//!
//! ```text
//! Topology ──► Algorithm ──► Schedule ──► Plan ──► Transport ──► bytes
//! (graph,      (what is      (rounds of   (byte     (moves one
//!  routes)      sent when)    blocks)      ranges)   round)
//! ```
//!
//! Each module knows only the modules to its left. Each can be used by itself:
//!
//! - [`topology`]: lines, rings, meshes, tori, hypercubes, generalized hypercubes, networks of
//!   overlapping windows, complete networks and graphs. For a network of your own, implement
//!   [`Topology`](topology::Topology).
//! - [`algorithm`]: the [registry](algorithm::registry()), and the trait for an algorithm of your
//!   own.
//! - [`schedule`]: rounds of transfers of blocks, as data. [`verify`](schedule::verify()) proves a
//!   schedule. The feature `json` writes and reads schedules, `draw` draws them.
//! - [`plan`]: one rank's share of a schedule as byte ranges.
//! - [`transport`]: the backends (threads, TCP, MPI), and the traits for a backend of your own.
//! - [`array`]: how arrays are distributed over ranks.
//! - [`permutation`]: permutations of distributed arrays by the bits of their addresses.
//! - [`cost`], [`machine`], [`bounds`], [`simulate`], [`select`]: prices, lower bounds, simulated
//!   times, and the choice of an algorithm by price.
//!
//! # Guarantees
//!
//! - **Nothing hangs.** A call fails on every member if a process is silent for the
//!   [timeout](Options::timeout). It also fails if a rank that answers does not call within the
//!   [arrival timeout](Options::arrival_timeout). The error names the rank that the others wait
//!   for. A rank that panics, leaves or is killed is reported at once. Two exceptions: a timeout
//!   that is off, and some calls of `native`, where the backend's library decides.
//! - **Disagreement is found.** Every message carries a fingerprint of collective, sizes,
//!   algorithm, root and operation; ranks that only send compare their calls as they leave. (Over
//!   a library's own collectives, ranks compare them before the first call of each kind.)
//! - **Bad input is an error before anything moves.** No call panics, except
//!   that a started call passes on the panic of its closure to whoever waits for it or awaits it, and
//!   that its result cannot be taken twice.
//! - **Reductions are reproducible.** They combine in the order of the schedule, on every rank and
//!   in every run. (With the algorithm `native`, the backend's library decides the order.)
//! - **Executions do not allocate**, with a cached or [persistent](Persistent) plan.
//!
//! # Stability
//!
//! Versions follow [Semantic Versioning](https://semver.org). The API has two tiers.
//!
//! - **Upper tier**: programs that call collectives. [`Communicator`], [`launch()`](fn@launch),
//!   [`local`], [`op`], [`error`], [`topology`], [`collective`], [`permutation`], [`array`],
//!   [`algorithm`], [`cost`], [`machine`], [`bounds`], [`simulate`], [`select`], the verification of
//!   schedules in [`schedule`], all names that a user types, and the JSON format. So are the types
//!   of other modules that errors and calls have: [`Failure`](transport::Failure),
//!   [`Cause`](transport::Cause), [`Deadline`](transport::Deadline),
//!   [`OpenError`](transport::OpenError), `JoinError`, `MpiError`, [`PlanError`](plan::PlanError),
//!   [`Strided`], and an [`Endpoint`](transport::Endpoint) that is passed on. Incompatible changes
//!   come only with a new major version, before 1.0 with a new minor version. Structs and enums
//!   that may grow are `#[non_exhaustive]`.
//! - **Lower tier**: the rest of [`plan`] and [`transport`], and the types in [`schedule`] from
//!   which schedules are built ([`Round`](schedule::Round), [`RankRound`](schedule::RankRound),
//!   [`Transfer`](schedule::Transfer), [`End`](schedule::End) and the types of their fields).
//!   Authors of algorithms and backends use them. They show how the library works, and change when
//!   that does: any minor version may change them, also after 1.0, and the changelog says how. Such
//!   a crate should depend on `necklace = "~MAJOR.MINOR"`.
//!
//! # Features
//!
//! | feature | what it adds | default |
//! |---|---|---|
//! | `local` | ranks as threads: [`local`], [`launch()`](fn@launch), [`transport::local`] | yes |
//! | `tcp` | ranks as processes: [`launch()`](fn@launch) under a launcher, [`connect`], `transport::tcp` | no |
//! | `mpi` | ranks of Open MPI or MPICH: [`launch()`](fn@launch) under `mpirun`, [`connect`], `transport::mpi`. Needs one of these libraries and libclang | no |
//! | `json` | schedules as JSON: `schedule::json`; machine files: [`load_machine`], `Machine::to_json` | no |
//! | `half` | reductions of `f16` and `bf16` of the crate `half` | no |
//! | `ndarray` | a rank's part of a distributed array as a view of the crate `ndarray`: [`array`] | no |
//! | `num-complex` | reductions of complex numbers of the crate `num-complex` | no |
//! | `draw` | schedules as pictures: `schedule::draw` | no |
//!
//! [`array`]: mod@array

pub mod algorithm;
pub mod array;
mod block;
pub mod bounds;
pub mod collective;
pub mod communicator;
pub mod cost;
pub mod error;
#[cfg(doc)]
pub mod guide;
mod hash;
mod ids;
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub mod launch;
mod load;
#[cfg(feature = "local")]
pub mod local;
pub mod machine;
mod numbers;
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
pub use error::{Error, JobError};
pub use ids::{Channel, MAX_NODES, Node, Rank};
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub use launch::{connect, launch};
pub use load::{load, load_machine};
pub use plan::Strided;

/// The programs of the README, compiled and run.
#[cfg(all(doctest, feature = "local"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The program of a job at scale.
#[cfg(all(doctest, feature = "mpi"))]
#[doc = include_str!("../doc/notes/slurm-torus.md")]
struct OnATorus;

//! Communicators: typed collectives on slices.
//!
//! # What is logged
//!
//! Every rank logs which algorithms run, through the crate [`log`](https://docs.rs/log), at the
//! level `debug` of the target `necklace::communicator`:
//!
//! - every choice: by [`choose`](Communicator::choose), by the program's launch or by
//!   `NECKLACE_ALGORITHM`. Also every choice that a part made by [`split`](Communicator::split)
//!   inherits, or does not inherit, with the reason;
//! - every call that is planned: collective, sizes, algorithm, network. A call whose plan is cached
//!   logs nothing;
//! - every algorithm or schedule of your own that is verified.
//!
//! Any logger for that crate shows these lines. With [`env_logger`](https://docs.rs/env_logger),
//! call `env_logger::init()` at the beginning of `main` and set `RUST_LOG=necklace=debug`:
//!
//! ```text
//! rank 0 of 16 in communicator world: alltoall by ring from now on
//! rank 0 of 16 in communicator world: planned alltoall of blocks of 4 x 8 bytes (f64) among 16 ranks by ring on torus:4x4
//! rank 0 of 4 in communicator 8a2f9e1c03d47b65: alltoall by ring from now on
//! ```

// In the order of reading. `definition.rs` has the communicator: its state, how it is made and
// ended, and `compile`, which plans a call. `collectives.rs` has the methods for blocks of equal
// lengths, all of which take one path, `in_place.rs` those in one buffer; `element.rs` and
// `lengths.rs` have the types and lengths of their buffers. `planned_call.rs` is a call that is
// ready to run, with the key that `cache.rs` keeps it by; `call_context.rs` executes it on the
// transport, round by round. `native.rs` plans calls of the backend's own library, and
// `agreement.rs` remembers which of them the members have agreed on.
//
// `choosing.rs` decides which algorithm a call uses. `how.rs` is the value that users choose,
// `using.rs` a choice for single calls, and `certificate.rs` verifies algorithms and schedules of
// the user's own.
//
// `varying.rs` has the collectives with blocks of different lengths, which `counts.rs` describes,
// and `varying_persistent.rs` their persistent plans. `varying_key.rs` has the keys of all these
// plans, `varying_plan.rs` makes them, and `varying_call.rs` takes the plan of a call from the cache
// or has it made.
// `neighbourhood.rs` has the neighbours of a rank, `neighbours.rs` the exchanges with them, and
// `halo.rs` those in a process grid; `neighbour_key.rs` and `neighbour_call.rs` are their keys and
// plans.
// `permute.rs` permutes distributed arrays, and `permute_report.rs` has its costs.
// `redistribution.rs` takes arrays from one distribution to another, `portioned.rs` in portions.
// `persistent.rs` has the plans that a program keeps. `split.rs` makes communicators from
// communicators, `local_parts.rs` tracks those made without a message, `cartesian.rs` has those
// with a process grid.
// `start.rs` starts calls that do not block, and `pending.rs` is such a call; `worker.rs` is the thread
// that makes them.
// `owned.rs` has the short forms of collectives, for one value or a vector. `options.rs` has the
// options of a new one.

mod agreement;
mod cache;
mod call_context;
mod cartesian;
mod certificate;
mod choosing;
mod collectives;
mod counts;
mod definition;
mod element;
mod halo;
mod how;
mod in_place;
mod lengths;
mod local_parts;
mod native;
mod neighbour_call;
mod neighbour_key;
mod neighbourhood;
mod neighbours;
mod options;
mod owned;
mod pending;
mod permute;
mod permute_report;
mod persistent;
mod planned_call;
mod portioned;
mod redistribution;
mod split;
mod start;
mod timing;
mod using;
mod varying;
mod varying_call;
mod varying_key;
mod varying_persistent;
mod varying_plan;
mod worker;

pub use cartesian::Cartesian;
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) use choosing::{can_be_chosen, check_names};
pub use counts::Counts;
pub use definition::Communicator;
pub use how::How;
pub use neighbourhood::Neighbourhood;
pub use options::Options;
pub use pending::{Pending, Request};
pub use permute_report::PermuteReport;
pub use persistent::Persistent;
pub use portioned::PortionedRedistribution;
pub use redistribution::Redistribution;
pub use start::Scope;
pub use using::Using;

//! Communicators: the collectives, typed, on slices.
//!
//! # What is logged
//!
//! Which algorithm runs is said through the crate [`log`](https://docs.rs/log), at the level
//! `debug` of the target `necklace::communicator`, by every rank:
//!
//! - what is chosen, by [`choose`](Communicator::choose), by the program's launch or by
//!   `NECKLACE_ALGORITHM`, and what a part made by [`split`](Communicator::split) inherits or, with
//!   the reason, does not;
//! - every call when it is planned: collective, sizes, algorithm, network. Calls that go by a plan
//!   which is there already say nothing;
//! - every algorithm or schedule of the user's that was verified.
//!
//! Any logger of that crate shows it. With [`env_logger`](https://docs.rs/env_logger),
//! `env_logger::init()` at the beginning of `main` and `RUST_LOG=necklace=debug` in the
//! environment:
//!
//! ```text
//! rank 0 of 16 in communicator world: alltoall by ring from now on
//! rank 0 of 16 in communicator world: planned alltoall of blocks of 4 x 8 bytes (f64) among 16 ranks by ring on torus:4x4
//! rank 0 of 4 in communicator 8a2f9e1c03d47b65: alltoall by ring from now on
//! ```

mod agreement;
mod cache;
mod certificate;
mod choosing;
mod collectives;
mod counts;
mod definition;
mod element;
mod how;
mod lengths;
mod motion;
mod native;
mod options;
mod permute;
mod persistent;
mod prepared;
mod split;
mod using;
mod varying;
mod wire;

pub use counts::Counts;
pub use definition::Communicator;
pub use how::How;
pub use motion::Motion;
pub use options::Options;
pub use persistent::Persistent;
pub use using::Using;

//! Schedules: rounds of transfers of blocks, as data; their verification, export and pictures.
//!
//! A schedule has two views:
//!
//! - a [`Schedule`] is a list of [`Round`]s, and a round is a list of [`Transfer`]s between two
//!   ranks;
//! - a [`Share`] is one rank's part: an iterator over [`RankRound`]s with the rank's sends,
//!   receives and local steps.
//!
//! [`Shares`] joins the shares of all ranks into rounds, one round at a time, so that the schedule
//! of a large machine need not fit in memory.
//!
//! | task | function |
//! |---|---|
//! | prove and count a schedule | [`verify`](verify()), [`verify_shares`], [`Verifier`] |
//! | check some ranks of a schedule that is too large to prove | [`verify_sample`] |
//! | estimate the memory that this takes | [`memory_to_verify`], [`memory_to_sample`] |
//! | write and read JSON (feature `json`) | `json` |
//! | draw an SVG picture (feature `draw`) | `draw` |
//!
//! The types from which schedules are built, such as [`Round`] and [`RankRound`], are of the [lower
//! tier](crate#stability) of stability.
//!
//! # Semantics
//!
//! All transfers of a round read the state before the round. Then, on each rank, arrivals take
//! effect in the order of the rank's receives, and after them the local steps in their order. The
//! i-th transfer from rank a to rank b in a round matches the i-th receive from a on b.

mod conditions;
mod contributors;
#[cfg(feature = "draw")]
pub mod draw;
mod holdings;
#[cfg(feature = "json")]
pub mod json;
mod memory;
mod proof;
mod sample;
mod traffic;
mod verify;
mod violation;

pub use crate::block::{Block, Volume};
pub use crate::vocabulary::{
    Amount, Amounts, Combine, End, Hosts, Joined, LocalStep, Mismatch, Outline, Placement, Ports, Problem, RankAmounts,
    RankRound, Round, Route, Schedule, Share, Shares, Transfer, Work,
};
pub use contributors::Contributors;
#[cfg(feature = "json")]
pub use json::error::JsonError;
#[cfg(feature = "json")]
pub use json::read::{from_json, read_json};
#[cfg(feature = "json")]
pub use json::write::{JsonWriter, share_json, to_json, write_json};
pub use memory::{memory_to_sample, memory_to_verify};
pub use proof::{Contradiction, Figures, Proof};
pub use sample::{Sample, SampleError, can_be_sampled, verify_sample};
pub use verify::{Verifier, verify, verify_shares};
pub use violation::{Location, Violation, ViolationKind, Violations};

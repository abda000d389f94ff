//! Schedules: rounds of transfers of blocks, as data.
//!
//! A schedule has two views. A rank's own view is its [`Share`]: [`RankRound`]s with what it sends, receives and does
//! locally. The whole is [`Round`]s of [`Transfer`]s with both ends named; [`Shares`] joins the ranks' shares into it,
//! one round at a time, so that a large machine need not fit in memory.
//!
//! # Meaning
//!
//! The transfers of one round all see the state before it. A rank's arrivals of a round take effect in the order of its
//! receives, then its local steps in theirs. The i-th transfer from one rank to another in a round is the other's i-th
//! receive from it.

mod chains;
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
    Amount, Amounts, Claims, Combine, End, Joined, LocalStep, Mismatch, Outline, Placement, Ports, Problem,
    RankAmounts, RankRound, Round, Route, Schedule, Share, Shares, Transfer,
};
pub use contributors::Contributors;
#[cfg(feature = "json")]
pub use json::{JsonError, JsonWriter, from_json, read_json, share_json, to_json, write_json};
pub use memory::{memory_to_sample, memory_to_verify};
pub use proof::{Contradiction, Figures, Proof};
pub use sample::{Sample, SampleError, can_be_sampled, verify_sample};
pub use verify::{Verifier, verify, verify_shares};
pub use violation::{Location, Violation, ViolationKind, Violations};

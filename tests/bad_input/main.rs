//! What is wrong is an error that says so, on every rank concerned: nothing hangs, nothing panics, nothing is garbled.

#![cfg(feature = "local")]
#![allow(clippy::unwrap_used)]

mod absent;
mod arguments;
mod counts;
mod disagreement;
mod failures;
#[path = "../jobs/mod.rs"]
mod jobs;
mod networks;
mod plans;
mod starting;

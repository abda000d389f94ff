//! Tests of the command: its output, its files and its exit status.

#![allow(clippy::unwrap_used)]

mod support;

mod bench;
mod comparison;
mod cost;
#[cfg(feature = "draw")]
mod picture;
mod plan;
#[cfg(unix)]
mod run;
mod tune;
mod usage;
mod verify;

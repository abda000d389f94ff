//! The command as its users have it: what it prints, writes and returns.

#![allow(clippy::unwrap_used)]

mod support;

mod bench;
mod cost;
#[cfg(feature = "draw")]
mod picture;
mod plan;
#[cfg(unix)]
mod run;
mod usage;
mod verify;

//! Communicators do what MPI's collectives do, by brute-force definitions: all collectives, types, sizes and algorithms.

#![cfg(feature = "local")]
#![allow(clippy::unwrap_used)]

mod choice;
mod cubes;
mod definitions;
#[path = "../jobs/mod.rs"]
mod jobs;
mod persistent;
mod reductions;
mod regular;
mod split;
mod strided;
mod varying;

//! Exchanges within cubes, after Johnsson & Ho.

#![allow(clippy::unwrap_used)]

mod schemes;
mod succession;
mod tables;

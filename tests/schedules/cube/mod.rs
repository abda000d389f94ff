//! Exchanges within cubes, after Johnsson & Ho.

mod schemes;
mod succession;
mod tables;

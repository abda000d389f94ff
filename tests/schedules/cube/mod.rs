//! Exchanges within cubes, after Johnsson & Ho.

mod exchange;
mod succession;

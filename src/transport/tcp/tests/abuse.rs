//! What a process does about another that does not speak as it should, whether it cannot or does
//! not want to.

mod fuzz_engine;
mod random;
mod engine;
mod socket;
mod traffic;
mod mutation;

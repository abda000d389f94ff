//! What a process does about another that does not speak as it should, whether it cannot or does
//! not want to.

mod engine;
mod fuzz_engine;
mod mutation;
mod random;
mod socket;
mod traffic;

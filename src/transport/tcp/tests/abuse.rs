//! What a process does about another that does not speak as it should, whether it cannot or does
//! not want to.

mod bench;
mod dice;
mod engine;
mod socket;
mod speech;
mod spoilt;

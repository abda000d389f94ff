//! Peers that violate the protocol, by accident or on purpose.

mod engine;
mod fuzz_engine;
mod mutation;
mod random;
mod socket;
mod traffic;

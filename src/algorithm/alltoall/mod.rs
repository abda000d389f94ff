//! Alltoall: everyone has a block for everyone (complete exchange, all-to-all personalized communication).

mod direct;
mod direct_rotated;
mod direct_xor;
mod loads;
mod ring;
mod torus_exchange;

pub use direct::Direct;
pub use direct_rotated::DirectRotated;
pub use direct_xor::DirectXor;
pub use ring::Ring;
pub(in crate::algorithm) use ring::claims_of_a_ring;
pub use torus_exchange::TorusExchange;

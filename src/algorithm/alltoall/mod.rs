//! Alltoall: everyone has a block for everyone (complete exchange, all-to-all personalized communication).

mod bruck;
mod cube_log;
mod cube_xor;
mod direct;
mod direct_rotated;
mod direct_xor;
mod ring;
mod torus_exchange;

pub use bruck::Bruck;
pub use cube_log::CubeLog;
pub use cube_xor::CubeXor;
pub use direct::Direct;
pub use direct_rotated::DirectRotated;
pub use direct_xor::DirectXor;
pub use ring::Ring;
pub(in crate::algorithm) use ring::claims_of_a_ring;
pub use torus_exchange::TorusExchange;

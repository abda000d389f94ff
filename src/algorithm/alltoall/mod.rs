//! Alltoall: every rank sends a block to every rank (complete exchange, all-to-all personalized
//! communication).

mod balanced_routes;
mod bidirectional_exchange;
mod bruck;
mod by_dimension;
mod cayley_exchange;
mod cells;
mod cube_log;
mod cube_xor;
mod digits;
mod direct;
mod direct_balanced;
mod direct_rotated;
mod direct_xor;
mod half_rings;
mod how_greedy;
mod mesh_exchange;
mod necklace_exchange;
mod ring;
mod ring_both;
mod routes;
mod torus_exchange;
mod two_phase;
mod walks;
mod window_exchange;

pub use balanced_routes::BalancedRoutes;
pub use bidirectional_exchange::BidirectionalExchange;
pub use bruck::Bruck;
pub use by_dimension::ByDimension;
pub use cayley_exchange::CayleyExchange;
pub use cube_log::CubeLog;
pub use cube_xor::CubeXor;
pub use direct::Direct;
pub use direct_balanced::DirectBalanced;
pub use direct_rotated::DirectRotated;
pub use direct_xor::DirectXor;
pub use half_rings::HalfRings;
pub use how_greedy::HowGreedy;
pub use mesh_exchange::MeshExchange;
pub use necklace_exchange::NecklaceExchange;
pub use ring::Ring;
pub(in crate::algorithm) use ring::{claims_around_a_ring, claims_of_a_ring};
pub use ring_both::RingBoth;
pub use torus_exchange::TorusExchange;
pub use two_phase::TwoPhase;
pub use window_exchange::WindowExchange;

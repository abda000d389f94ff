//! The steps by which the ranks of a job become connected, with rank 0 as coordinator.
//!
//! ```text
//! rank k                                  rank 0
//!   connects and authenticates      ──►
//!   arrived, with its address       ──►   waits for all ranks
//!                                   ◄──   the table of all addresses
//!   connects to every 0 < j < k, is connected to by every j > k
//!   ready                           ──►   waits for all ranks
//!                                   ◄──   go
//! ```
//!
//! Every rank keeps its connection to rank 0, so that rank 0 notices when one is gone and can tell
//! all others. A rank that fails says why before it ends. Rank 0 tells the others, and waits a
//! moment for ranks that come late, to tell them as well. If rank 0 refuses the job before any rank
//! can have come, it waits longer.

mod address;
mod attempts;
mod client;
mod root;
mod root_connection;
mod timing;

use super::Join;
use super::error::JoinError;
use crate::transport::tcp::mesh::Mesh;

/// Connects this rank to all other ranks of the job.
pub(super) fn run(join: &Join) -> Result<Mesh, JoinError> {
    if join.rank == 0 { root::run(join) } else { client::run(join) }
}

#[cfg(test)]
mod tests;

//! The ranks of a job meet.
//!
//! ```text
//! rank k                                  rank 0
//!   connects, proves                ──►
//!   here, listening there           ──►   waits for all
//!                                   ◄──   the table of all
//!   connects to every 0 < j < k, is connected to by every j > k
//!   ready                           ──►   waits for all
//!                                   ◄──   go
//! ```
//!
//! Every rank keeps its connection to rank 0, so that rank 0 sees when one is gone, and can say so
//! to all. Who fails says why before it goes; rank 0 tells the others, and waits a moment for those
//! who come late to hear it, too. If it refuses before anybody can have come, it waits longer.

mod attempts;
mod attending;
mod hosting;
mod reaching;
mod times;

use super::Join;
use super::error::JoinError;
use crate::transport::tcp::mesh::Mesh;

/// Meets the other ranks of the job; what connections that ends with.
pub(super) fn meet(join: &Join) -> Result<Mesh, JoinError> {
    if join.rank == 0 { hosting::host(join) } else { attending::attend(join) }
}

#[cfg(test)]
mod tests;

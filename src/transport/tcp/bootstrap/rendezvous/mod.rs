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
//! Every rank keeps its connection to rank 0, so that rank 0 notices when one ends, and can tell all
//! others. After `ready`, rank 0 reads nothing more from that rank: later bytes are for the progress
//! engine, which also finds a rank that ends later.
//!
//! A rank that fails says why before it ends. Rank 0 tells the others, and waits a moment for ranks
//! that come late, to tell them as well. If rank 0 refuses the job before any rank can have come, it
//! waits longer.

mod address;
mod attempts;
mod client;
mod reach_root;
mod root;

use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::connection::Connection;
use super::error::JoinError;
use super::{Join, system};
use crate::transport::tcp::mesh::Mesh;
use crate::vocabulary::Hosts;

/// Connects this rank to all other ranks of the job.
pub(super) fn run(join: &Join) -> Result<Mesh, JoinError> {
    let Join { rank, size, .. } = *join;
    let ranks = if rank == 0 { root::run(join) } else { client::run(join) }?;
    let own = ranks.get(rank).map(|rank| rank.location.host);
    let neighbours = ranks.iter().filter(|rank| Some(rank.location.host) == own).count();
    let hosts = Hosts::of_names(ranks.iter().map(|rank| rank.location.counts_as));
    let stream = |connection| {
        let connection = Arc::into_inner(connection).map(Connection::into_stream);
        connection.ok_or_else(|| io::Error::from(ErrorKind::NotConnected))
    };
    let streams = ranks.into_iter().map(|rank| rank.connection.map(stream).transpose());
    let streams = streams.collect::<io::Result<_>>();
    let streams =
        streams.map_err(|error| system::system_error(rank, size, "a connection cannot be handed over", &error))?;
    Ok(Mesh { rank, streams, neighbours, hosts: Some(hosts) })
}

#[cfg(test)]
mod tests;

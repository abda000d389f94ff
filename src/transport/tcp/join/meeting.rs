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
//! Every rank keeps its connection to rank 0, so that rank 0 sees when one is gone, and can say so to all. Who fails says why
//! before it goes; rank 0 tells the others, and waits a moment for those who come late to hear it, too. If it refuses before
//! anybody can have come, it waits longer.

mod attempts;
mod attending;
mod hosting;
mod reaching;

use std::time::{Duration, Instant};

use super::error::JoinError;
use super::handshake::Identity;
use super::hello::Build;
use super::{Join, Key};
use crate::transport::tcp::mesh::Mesh;

/// How long the last word may take.
const LINGER: Duration = Duration::from_secs(1);
/// How often a file is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// How often the log says who is there, while nobody comes.
const REPORT: Duration = Duration::from_secs(10);
/// How often it is looked whether the last word is on its way.
const AGAIN: Duration = Duration::from_millis(5);
/// A time that does not come.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Meets the other ranks of the job; what connections that ends with.
pub(super) fn meet(join: &Join) -> Result<Mesh, JoinError> {
    if join.rank == 0 { hosting::host(join) } else { attending::attend(join) }
}

/// How much longer than rank 0 the others wait for what it has to say.
fn grace(timeout: Duration) -> Duration {
    (timeout / 4).clamp(2 * LINGER, Duration::from_secs(20))
}

/// So much later; never, if that is no time that the clock has.
fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration.min(NEVER)).unwrap_or(now)
}

/// As errors say it, and as it goes over the wire.
fn rounded(duration: Duration) -> Duration {
    Duration::from_millis(duration.as_millis().min(u128::from(u32::MAX)) as u64)
}

fn identity(join: &Join, job: u64) -> Identity {
    let key = join.key.clone().unwrap_or_else(Key::none);
    Identity { key, build: Build::own(), rank: join.rank, size: join.size, job }
}

#[cfg(test)]
mod tests;

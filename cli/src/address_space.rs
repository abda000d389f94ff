//! Checks the limit on address space (`ulimit -v`). A process that exceeds it aborts at any
//! allocation.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Fails if this process can allocate less than `bytes` more address space. Succeeds if the system
/// reports no limit.
pub(crate) fn check(bytes: u64) -> io::Result<()> {
    let Some(limit) = getrlimit(Resource::As).current else { return Ok(()) };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let taken = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")?.parse().ok());
    let taken: u64 = taken.unwrap_or(0);
    if limit.saturating_sub(taken * 1024) < bytes { Err(Errno::NOMEM.into()) } else { Ok(()) }
}

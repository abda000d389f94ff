//! Address space, which `ulimit -v` limits: a process that runs out of it is aborted anywhere.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Fails if this process may take less than that many bytes, as far as the system reports it.
pub(crate) fn check(bytes: u64) -> io::Result<()> {
    let Some(limit) = getrlimit(Resource::As).current else { return Ok(()) };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let taken = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")?.parse().ok());
    let taken: u64 = taken.unwrap_or(0);
    if limit.saturating_sub(taken * 1024) < bytes { Err(Errno::NOMEM.into()) } else { Ok(()) }
}

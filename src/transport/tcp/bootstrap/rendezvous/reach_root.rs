//! The connection of a rank to rank 0, which may start later than the rank itself.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::super::error::JoinError;
use super::super::handshake::{HandshakeError, Identity};
use super::super::hello::{Hello, Purpose};
use super::super::registry::{Entry, Registry};
use super::super::timing::{FILE_INTERVAL, LOG_INTERVAL, after, rounded};
use super::super::{Join, Root, system};
use super::address;
use super::attempts::Attempts;

/// Maximum time for an attempt at an address that a file has: rank 0 may replace the file.
const FILE_PATIENCE: Duration = Duration::from_secs(4);

/// Connects to rank 0, with as many attempts as it takes.
pub(super) fn reach_root<'a>(
    join: &Join,
    identity: &Identity,
    registry: &'a Registry,
) -> Result<(Entry<'a>, Hello), JoinError> {
    let began = Instant::now();
    let until = after(began, join.timeout);
    let mut next_log = after(began, LOG_INTERVAL);
    let mut addresses = match &join.root {
        Root::Address(text) => resolve(join, text)?,
        Root::File(_) => Vec::new(),
    };
    // The address in the rendezvous file.
    let mut line = None;
    let mut attempts = Attempts::new();
    let mut last_error = String::new();
    loop {
        if let Root::File(path) = &join.root {
            let current = address::read_file(path)?;
            if current != line {
                (line, addresses, attempts) = (current, Vec::new(), Attempts::new());
            }
            if let Some(line) = line.as_deref().filter(|_| addresses.is_empty()) {
                addresses = resolve(join, line).unwrap_or_else(|error| {
                    last_error = error.to_string();
                    Vec::new()
                });
            }
        }
        let attempted = Instant::now();
        for &address in &addresses {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let limit = if line.is_some() { left.min(FILE_PATIENCE) } else { left };
            match attempts.connect(registry, identity, (Purpose::Rendezvous, 0, address), limit) {
                Ok(reached) => return Ok(reached),
                Err(HandshakeError::Own(error)) => return Err(error),
                // At a configured address, another process than rank 0 of this job is an error. A
                // file may be of an earlier job, and rank 0 may still replace it.
                Err(HandshakeError::Key) if line.is_none() => {
                    return Err(JoinError::WrongKey { address, rank: join.rank });
                }
                Err(error) if line.is_none() && !error.is_of_the_connection() => {
                    return Err(JoinError::WrongPeer { address, other: 0, why: error.description() });
                }
                Err(error) => last_error = error.description(),
            }
        }
        let now = Instant::now();
        if now >= until {
            return Err(unreachable(join, line, last_error));
        }
        if now >= next_log {
            log::info!("rank {} has not reached rank 0 for {:?}: {last_error}", join.rank, rounded(now - began));
            next_log = after(now, LOG_INTERVAL);
        }
        let pause = if addresses.is_empty() { FILE_INTERVAL } else { attempts.failed(now - attempted)? };
        registry.pause(pause.min(until - now));
    }
}

/// Returns the error for a rank 0 that was not reached in time.
fn unreachable(join: &Join, line: Option<String>, last_error: String) -> JoinError {
    let waited = rounded(join.timeout);
    let address = match (&join.root, line) {
        (Root::File(path), None) => {
            let problem = format!("rank 0 has not written it within {waited:?}");
            return JoinError::File { path: path.clone(), problem };
        }
        (Root::File(path), Some(line)) => format!("{line}, as {} says", path.display()),
        (Root::Address(text), _) => text.clone(),
    };
    let why = if last_error.is_empty() { "no answer".to_owned() } else { last_error };
    JoinError::Unreachable { rank: join.rank, other: 0, address, why, waited }
}

/// Resolves `host:port`, and checks each address.
fn resolve(join: &Join, text: &str) -> Result<Vec<SocketAddr>, JoinError> {
    let (host, port) = address::split(text)?;
    let addresses = address::resolve(host, port)?;
    addresses.iter().try_for_each(|address| check_address(join, *address))?;
    Ok(addresses)
}

/// Fails if this rank may not listen on the interface by which it would reach rank 0 at that
/// address.
fn check_address(join: &Join, address: SocketAddr) -> Result<(), JoinError> {
    if address.ip().is_loopback() || join.address.is_some_and(|ip| !ip.is_unspecified()) {
        return Ok(());
    }
    address::check_may_listen(join, system::source_address(address).unwrap_or(address.ip()))
}

//! The connection of a rank to rank 0, which may start later than the rank itself.

use std::net::SocketAddr;
use std::time::Instant;

use super::super::connections::{ConnectionEvent, ConnectionId, ConnectionSet};
use super::super::error::JoinError;
use super::super::handshake::HandshakeError;
use super::super::hello::{Hello, Purpose};
use super::super::{Join, Root, system};
use super::address;
use super::attempts::Attempts;
use super::timing::{FILE_INTERVAL, LOG_INTERVAL, after, rounded};

/// Connects to rank 0, with as many attempts as it takes.
pub(super) fn connect_to_root(
    join: &Join,
    connections: &mut ConnectionSet,
) -> Result<(ConnectionId, Hello, SocketAddr), JoinError> {
    let began = Instant::now();
    let until = after(began, join.timeout);
    let mut next_log = after(began, LOG_INTERVAL);
    let mut addresses = match &join.root {
        Root::Address(text) => resolve(join, text)?,
        Root::File(_) => Vec::new(),
    };
    // The address in the rendezvous file.
    let mut line = None;
    let mut attempts = Attempts::new(began);
    // Counts the attempts, which take the addresses in turn.
    let mut attempt = 0;
    let mut last_error = String::new();
    loop {
        let now = Instant::now();
        let mut wake = until.min(next_log);
        if let Root::File(path) = &join.root {
            let current = address::read_file(path)?;
            if current != line {
                let stale = std::mem::replace(&mut attempts, Attempts::new(now));
                stale.others(None).for_each(|id| connections.close(id));
                (line, addresses, attempt) = (current, Vec::new(), 0);
            }
            wake = wake.min(after(now, FILE_INTERVAL));
        }
        if now >= until {
            return Err(unreachable(join, line, last_error));
        }
        if now >= next_log {
            log::info!("rank {} has not reached rank 0 for {:?}: {last_error}", join.rank, rounded(now - began));
            next_log = after(now, LOG_INTERVAL);
        }
        if attempts.next() <= now {
            if let Some(line) = line.as_deref().filter(|_| addresses.is_empty()) {
                addresses = resolve(join, line).unwrap_or_else(|error| {
                    last_error = error.to_string();
                    Vec::new()
                });
            }
            if addresses.is_empty() {
                attempts.pause(now)?;
            } else {
                let address = addresses[attempt % addresses.len()];
                attempt += 1;
                let id = connections.connect(address, Purpose::Rendezvous, 0)?;
                if let Some(oldest) = attempts.made(id, address, now)? {
                    connections.close(oldest);
                }
            }
        }
        match connections.next_event(wake.min(attempts.next()))? {
            Some(ConnectionEvent::Authenticated(id, hello, peer)) if attempts.has(id) => {
                attempts.others(Some(id)).for_each(|other| connections.close(other));
                return Ok((id, hello, peer));
            }
            Some(ConnectionEvent::Failed(id, error)) => {
                let Some(address) = attempts.failed(id) else { continue };
                // At a configured address, another process than rank 0 of this job is an error. A
                // file may be of an earlier job, and rank 0 may still replace it.
                match &error {
                    HandshakeError::Key if line.is_none() => {
                        return Err(JoinError::WrongKey { address, rank: join.rank });
                    }
                    HandshakeError::Io(_) => {}
                    _ if line.is_some() => {}
                    _ => return Err(JoinError::WrongPeer { address, other: 0, why: error.description() }),
                }
                last_error = error.description();
                if attempt % addresses.len().max(1) == 0 {
                    attempts.pause(Instant::now())?;
                } else {
                    attempts.hurry(Instant::now());
                }
            }
            _ => {}
        }
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

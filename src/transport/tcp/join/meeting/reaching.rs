//! How a rank finds rank 0, which may come later than itself.

use std::net::SocketAddr;
use std::time::Instant;

use super::super::error::JoinError;
use super::super::hall::{Event, Hall, Id};
use super::super::handshake::Trouble;
use super::super::hello::{Hello, Role};
use super::super::{Join, Root, host as machine, root};
use super::attempts::Attempts;
use super::times::{GLANCE, REPORT, after, rounded};

/// Connects to rank 0, as often as it takes.
pub(super) fn reach(join: &Join, hall: &mut Hall) -> Result<(Id, Hello, SocketAddr), JoinError> {
    let began = Instant::now();
    let until = after(began, join.timeout);
    let mut report = after(began, REPORT);
    let mut addresses = match &join.root {
        Root::Address(text) => addresses_of(join, text)?,
        Root::File(_) => Vec::new(),
    };
    // What the file says.
    let mut line = None;
    let mut attempts = Attempts::new(began);
    // Of several addresses each has its turn.
    let mut turn = 0;
    let mut last = String::new();
    loop {
        let now = Instant::now();
        let mut wake = until.min(report);
        if let Root::File(path) = &join.root {
            let posted = root::posted(path)?;
            if posted != line {
                let stale = std::mem::replace(&mut attempts, Attempts::new(now));
                stale.besides(None).for_each(|id| hall.close(id));
                (line, addresses, turn) = (posted, Vec::new(), 0);
            }
            wake = wake.min(after(now, GLANCE));
        }
        if now >= until {
            return Err(unreached(join, line, last));
        }
        if now >= report {
            log::info!("rank {} has not reached rank 0 for {:?}: {last}", join.rank, rounded(now - began));
            report = after(now, REPORT);
        }
        if attempts.next() <= now {
            if let Some(line) = line.as_deref().filter(|_| addresses.is_empty()) {
                addresses = addresses_of(join, line).unwrap_or_else(|error| {
                    last = error.to_string();
                    Vec::new()
                });
            }
            if addresses.is_empty() {
                attempts.pause(now)?;
            } else {
                let address = addresses[turn % addresses.len()];
                turn += 1;
                let id = hall.call(address, Role::Meeting, 0)?;
                if let Some(oldest) = attempts.made(id, address, now)? {
                    hall.close(oldest);
                }
            }
        }
        match hall.next(wake.min(attempts.next()))? {
            Some(Event::Proved(id, hello, peer)) if attempts.has(id) => {
                attempts.besides(Some(id)).for_each(|other| hall.close(other));
                return Ok((id, hello, peer));
            }
            Some(Event::Failed(id, trouble)) => {
                let Some(address) = attempts.failed(id) else { continue };
                // An address means one meeting point, and this is none. A file may be of an earlier
                // job.
                match &trouble {
                    Trouble::Key if line.is_none() => return Err(JoinError::Proof { address, rank: join.rank }),
                    Trouble::Io(_) => {}
                    _ if line.is_some() => {}
                    _ => return Err(JoinError::Stranger { address, other: 0, why: trouble.words() }),
                }
                last = trouble.words();
                if turn % addresses.len().max(1) == 0 {
                    attempts.pause(Instant::now())?;
                } else {
                    attempts.hurry(Instant::now());
                }
            }
            _ => {}
        }
    }
}

/// That rank 0 was not reached in time, for what came last.
fn unreached(join: &Join, line: Option<String>, last: String) -> JoinError {
    let waited = rounded(join.timeout);
    let address = match (&join.root, line) {
        (Root::File(path), None) => {
            let problem = format!("rank 0 has not written it within {waited:?}");
            return JoinError::File { path: path.clone(), problem };
        }
        (Root::File(path), Some(line)) => format!("{line}, as {} says", path.display()),
        (Root::Address(text), _) => text.clone(),
    };
    let why = if last.is_empty() { "no answer".to_owned() } else { last };
    JoinError::Unreachable { rank: join.rank, other: 0, address, why, waited }
}

/// The addresses that `host:port` stands for.
fn addresses_of(join: &Join, text: &str) -> Result<Vec<SocketAddr>, JoinError> {
    let (host, port) = root::split(text)?;
    let addresses = root::resolve(host, port)?;
    addresses.iter().try_for_each(|address| allowed(join, *address))?;
    Ok(addresses)
}

/// That this rank may listen where it would if it reached rank 0 there.
fn allowed(join: &Join, address: SocketAddr) -> Result<(), JoinError> {
    if address.ip().is_loopback() || join.address.is_some_and(|ip| !ip.is_unspecified()) {
        return Ok(());
    }
    root::permitted(join, machine::toward(address).unwrap_or(address.ip()))
}

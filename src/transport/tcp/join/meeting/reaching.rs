//! How a rank finds rank 0, which may come later than itself.

use std::net::SocketAddr;
use std::time::Instant;

use super::super::error::JoinError;
use super::super::hall::{Event, Hall, Id};
use super::super::handshake::Trouble;
use super::super::hello::{Hello, Role};
use super::super::{Join, Root, host as machine, root};
use super::{AGAIN, GLANCE, REPORT, after, rounded};

/// Connects to rank 0, as often as it takes.
pub(super) fn reach(join: &Join, hall: &mut Hall) -> Result<(Id, Hello, SocketAddr), JoinError> {
    let began = Instant::now();
    let until = after(began, join.timeout);
    let mut report = after(began, REPORT);
    let mut pause = AGAIN.0;
    let known = match &join.root {
        Root::Address(text) => addresses_of(join, text)?,
        Root::File(_) => Vec::new(),
    };
    let mut last = String::new();
    loop {
        let line = match &join.root {
            Root::File(path) => root::posted(path)?,
            Root::Address(_) => None,
        };
        let found = line.as_deref().map_or_else(|| Ok(known.clone()), |line| addresses_of(join, line));
        for address in found.unwrap_or_else(|error| {
            last = error.to_string();
            Vec::new()
        }) {
            let trouble = match call(join, hall, address, line.as_deref(), until)? {
                Ok(reached) => return Ok(reached),
                Err(trouble) => trouble,
            };
            // What cuts the last try short tells less than the one before.
            if last.is_empty() || Instant::now() < until {
                last = trouble.words();
            }
            // An address means one meeting point, and this is none. A file may be of an earlier job.
            if line.is_none() {
                match trouble {
                    Trouble::Io(_) => {}
                    Trouble::Key => return Err(JoinError::Proof { address, rank: join.rank }),
                    _ => return Err(JoinError::Stranger { address, other: 0, why: trouble.words() }),
                }
            }
        }
        let now = Instant::now();
        if now >= until {
            let waited = rounded(join.timeout);
            return Err(match (&join.root, line) {
                (Root::File(path), None) => {
                    let problem = format!("rank 0 has not written it within {waited:?}");
                    JoinError::File { path: path.clone(), problem }
                }
                (Root::File(path), Some(line)) => {
                    let address = format!("{line}, as {} says", path.display());
                    JoinError::Unreachable { rank: join.rank, other: 0, address, why: last, waited }
                }
                (Root::Address(text), _) => {
                    JoinError::Unreachable { rank: join.rank, other: 0, address: text.clone(), why: last, waited }
                }
            });
        }
        if now >= report {
            log::info!("rank {} has not reached rank 0 for {:?}: {last}", join.rank, rounded(now - began));
            report = after(now, REPORT);
        }
        std::thread::sleep(pause.min(until - now));
        pause = (pause * 2).min(AGAIN.1);
    }
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

/// Calls rank 0 once. Gives up where the file that says where it is has come to say something else.
fn call(
    join: &Join,
    hall: &mut Hall,
    address: SocketAddr,
    line: Option<&str>,
    until: Instant,
) -> Result<Result<(Id, Hello, SocketAddr), Trouble>, JoinError> {
    let id = hall.call(address, Role::Meeting, 0)?;
    loop {
        let wake = if line.is_some() { until.min(after(Instant::now(), GLANCE)) } else { until };
        match hall.next(wake)? {
            Some(Event::Proved(proved, hello, peer)) if proved == id => return Ok(Ok((id, hello, peer))),
            Some(Event::Failed(failed, trouble)) if failed == id => return Ok(Err(trouble)),
            Some(_) => continue,
            None => {}
        }
        let stale = match &join.root {
            Root::File(path) => root::posted(path)?.as_deref() != line,
            Root::Address(_) => false,
        };
        if stale || Instant::now() >= until {
            hall.close(id);
            return Ok(Err(Trouble::Io("no answer".to_owned())));
        }
    }
}

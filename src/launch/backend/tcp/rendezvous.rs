//! Where ranks meet, by the environment.

#[cfg(feature = "tcp")]
use std::net::Ipv6Addr;
use std::path::PathBuf;

use crate::error::JobError;
#[cfg(feature = "tcp")]
use crate::launch::claim::Claim;
use crate::launch::variable::{Variable, wrong};
use crate::quote::quoted;

/// Where the ranks meet.
#[cfg_attr(not(feature = "tcp"), allow(dead_code))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) enum Point {
    /// `host:port`, with advice for the case that it is in use.
    Address(String, Option<String>),
    /// A file in which rank 0 says where.
    File(PathBuf),
}

/// Where the ranks meet by `NECKLACE_*`, and the variable in words.
pub(super) fn own(variable: Variable<'_>) -> Result<Option<(Point, String)>, JobError> {
    let root = variable("NECKLACE_ROOT").map(|root| (format!("NECKLACE_ROOT is {}", quoted(&root)), root));
    let file = variable("NECKLACE_RENDEZVOUS").map(|file| (format!("NECKLACE_RENDEZVOUS is {}", quoted(&file)), file));
    match (root, file) {
        (Some((root, _)), Some((file, _))) => {
            Err(wrong(format!("{root}, but {file}: the ranks meet at one place, unset the other")))
        }
        (Some((_, root)), None) if root.is_empty() => Err(wrong("NECKLACE_ROOT is empty, it must be host:port")),
        (Some((words, root)), None) => Ok(Some((Point::Address(root, None), words))),
        (None, Some((words, file))) => match file.strip_prefix("file:").filter(|path| !path.is_empty()) {
            Some(path) => Ok(Some((Point::File(path.into()), words))),
            None => Err(wrong(format!("{words}, it must be file:PATH, a file that all ranks can read"))),
        },
        (None, None) => Ok(None),
    }
}

/// Where the ranks meet by the variables of other launchers.
#[cfg(feature = "tcp")]
pub(super) fn of_launcher(variable: Variable<'_>, claim: &Claim, more: &str) -> Result<Point, JobError> {
    // The variables of torchrun count if it has started the process, or if a user numbers the ranks
    // by `NECKLACE_*`.
    let torchrun = claim.is_torchruns();
    let master = (variable("MASTER_ADDR"), variable("MASTER_PORT"));
    match (torchrun || claim.is_own(), master) {
        (true, (Some(host), Some(port))) => master_point(variable, &host, &port),
        _ => {
            let lacks = if torchrun {
                "MASTER_ADDR and MASTER_PORT, which would say so, are not both set"
            } else {
                "they do not say"
            };
            Err(wrong(format!(
                "{}: where should the {} ranks meet? {lacks}; set NECKLACE_ROOT=host:port, where rank 0 is to \
                 listen, or NECKLACE_RENDEZVOUS=file:PATH, a file that all ranks can read{more}",
                claim.words(),
                claim.size.unwrap_or_default(),
            )))
        }
    }
}

#[cfg(feature = "tcp")]
fn master_point(variable: Variable<'_>, host: &str, port: &str) -> Result<Point, JobError> {
    let number = match port.parse::<u16>() {
        Ok(number) if number > 0 && !host.is_empty() => number,
        _ => {
            return Err(wrong(format!(
                "MASTER_ADDR is {}, MASTER_PORT is {}: they must be a host and a port from 1 to 65535",
                quoted(host),
                quoted(port)
            )));
        }
    };
    // The agent of torchrun then listens on the port itself.
    let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|said| said.eq_ignore_ascii_case("true"));
    let Some(number) = number.checked_add(u16::from(taken)) else {
        return Err(wrong(format!(
            "MASTER_PORT is {port:?}, torchrun itself listens there, and there is no port above it for rank 0: choose a lower \
             one by --master-port"
        )));
    };
    let why = if taken { "the port above MASTER_PORT, on which torchrun itself listens" } else { "MASTER_PORT" };
    let advice = format!("it is {why}; choose another one by torchrun's --master-port, or set NECKLACE_ROOT");
    let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
    Ok(Point::Address(format!("{host}:{number}"), Some(advice)))
}

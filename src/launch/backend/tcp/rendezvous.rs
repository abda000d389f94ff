//! The rendezvous address, by the environment.

#[cfg(feature = "tcp")]
use std::net::Ipv6Addr;
use std::path::PathBuf;

use crate::error::JobError;
#[cfg(feature = "tcp")]
use crate::launch::claim::Claim;
#[cfg(feature = "tcp")]
use crate::launch::variable::incomplete;
use crate::launch::variable::{Variable, contradiction, invalid};
use crate::quote::quoted;

/// The rendezvous address of the ranks, or the file that holds it.
#[cfg_attr(not(feature = "tcp"), allow(dead_code))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) enum RendezvousPoint {
    /// `host:port`, with advice for the case that it is in use.
    Address(String, Option<String>),
    /// A file into which rank 0 writes its address.
    File(PathBuf),
}

/// Returns the rendezvous by `NECKLACE_*`, and a description of the variable.
pub(super) fn own(variable: Variable<'_>) -> Result<Option<(RendezvousPoint, String)>, JobError> {
    let root = variable("NECKLACE_ROOT").map(|root| (format!("NECKLACE_ROOT is {}", quoted(&root)), root));
    let file = variable("NECKLACE_RENDEZVOUS").map(|file| (format!("NECKLACE_RENDEZVOUS is {}", quoted(&file)), file));
    match (root, file) {
        (Some((root, _)), Some((file, _))) => {
            Err(contradiction(root, file, "the ranks need one rendezvous, unset the other"))
        }
        (Some((_, root)), None) if root.is_empty() => Err(invalid("NECKLACE_ROOT", &root, "host:port")),
        (Some((description, root)), None) => Ok(Some((RendezvousPoint::Address(root, None), description))),
        (None, Some((description, file))) => match file.strip_prefix("file:").filter(|path| !path.is_empty()) {
            Some(path) => Ok(Some((RendezvousPoint::File(path.into()), description))),
            None => Err(invalid("NECKLACE_RENDEZVOUS", &file, "file:PATH, a file that all ranks can read")),
        },
        (None, None) => Ok(None),
    }
}

/// Returns the rendezvous by the variables of other launchers.
#[cfg(feature = "tcp")]
pub(super) fn of_launcher(variable: Variable<'_>, claim: &Claim, more: &str) -> Result<RendezvousPoint, JobError> {
    // The variables of torchrun count if torchrun has started the process, or if the user numbers
    // the ranks by `NECKLACE_*`.
    let torchrun = claim.is_torchrun();
    let master = (variable("MASTER_ADDR"), variable("MASTER_PORT"));
    match (torchrun || claim.is_own(), master) {
        (true, (Some(host), Some(port))) => master_point(variable, &host, &port),
        _ => {
            let lacks = if torchrun {
                "MASTER_ADDR and MASTER_PORT are not both set"
            } else {
                "these variables do not give one"
            };
            let missing = format!("no rendezvous address is known for the {} ranks", claim.size.unwrap_or_default());
            let advice = format!(
                "{lacks}; set NECKLACE_ROOT=host:port, where rank 0 is to listen, or NECKLACE_RENDEZVOUS=file:PATH, a file \
                 that all ranks can read{more}"
            );
            Err(incomplete(claim.description(), missing, advice))
        }
    }
}

#[cfg(feature = "tcp")]
fn master_point(variable: Variable<'_>, host: &str, port: &str) -> Result<RendezvousPoint, JobError> {
    if host.is_empty() {
        return Err(invalid("MASTER_ADDR", host, "the name or the address of a host"));
    }
    let number = port.parse::<u16>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| invalid("MASTER_PORT", port, "a port from 1 to 65535"))?;
    // If so, the agent of torchrun listens on the port itself.
    let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|said| said.eq_ignore_ascii_case("true"));
    let Some(number) = number.checked_add(u16::from(taken)) else {
        let expected = "a port below 65535, because torchrun itself listens there and rank 0 on the next one; choose it by \
                        --master-port";
        return Err(invalid("MASTER_PORT", port, expected));
    };
    let why = if taken { "the port above MASTER_PORT, on which torchrun itself listens" } else { "MASTER_PORT" };
    let advice = format!("it is {why}; choose another one by torchrun's --master-port, or set NECKLACE_ROOT");
    let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
    Ok(RendezvousPoint::Address(format!("{host}:{number}"), Some(advice)))
}

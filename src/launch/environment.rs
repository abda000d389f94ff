//! Who this process is, by its environment. No process, no socket: a function of the variables.
//!
//! Whoever has started several processes must not end with as many jobs of one. So what is half there, or is not alone, is an
//! error; only `NECKLACE_*` decides.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use super::claim::{self, Claim, Started, Variable, wrong};
use crate::error::Error;
use crate::quote::quoted;

/// What the environment makes of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nobody has started it as one of several: its ranks are threads.
    Threads,
    /// It is a rank, over TCP.
    Process(Seat),
    /// It is a rank of MPI's.
    Mpi(Started),
}

/// One rank of several.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "tcp"), allow(dead_code))]
pub(super) struct Seat {
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The variables that say so, with their values.
    pub(super) words: String,
    /// Where the ranks meet. A job of one does not.
    pub(super) point: Option<Point>,
    /// Whether a launcher holds the port of the meeting point.
    pub(super) held: bool,
    pub(super) key: Option<PathBuf>,
    /// Whether a launcher holds a lock on that file as long as it lives.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(super) locked: bool,
    pub(super) address: Option<IpAddr>,
    pub(super) insecure: bool,
}

/// Where the ranks meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// `host:port`. With what to say where that is in use.
    Address(String, Option<String>),
    /// A file in which rank 0 says where.
    File(PathBuf),
}

/// What to say of that where ranks would otherwise be MPI's.
const WITHOUT_MPI: &str = "; for ranks of MPI's this program would have to be built with the feature `mpi` of necklace";

/// What to say where MPI itself could be asked.
const WITH_MPI: &str = "; or set NECKLACE_BACKEND=mpi, where what MPI itself says counts";

/// The backends that a program has been built with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    pub(super) local: bool,
    pub(super) tcp: bool,
    pub(super) mpi: bool,
}

/// What the environment makes of this process. With `connects` it does not run threads: a job of one process is one, too.
pub(super) fn read(variable: Variable<'_>, connects: bool, built: Built) -> Result<Said, Error> {
    let backend = variable("NECKLACE_BACKEND");
    if connects && backend.as_deref() == Some("local") {
        return Err(wrong(
            "NECKLACE_BACKEND is \"local\", but this program connects, as a process that is a rank of a job: it is `launch` \
             that runs ranks as threads",
        ));
    }
    let without = match backend.as_deref() {
        Some("local") => !built.local,
        Some("tcp") => !built.tcp,
        Some("mpi") => !built.mpi,
        _ => false,
    };
    if let Some(name) = backend.as_ref().filter(|_| without) {
        return Err(wrong(format!(
            "NECKLACE_BACKEND is {name:?}, but this program was built without the feature `{name}` of necklace"
        )));
    }
    let tcp = match backend.as_deref() {
        Some("local") => return Ok(Said::Threads),
        Some("tcp") => true,
        Some("mpi") => return over_mpi(variable),
        Some(other) => {
            return Err(wrong(format!(
                "NECKLACE_BACKEND is {}, it must be \"local\", \"tcp\" or \"mpi\"",
                quoted(other)
            )));
        }
        None => false,
    };
    let point = own_point(variable)?;
    let could_be_mpi = if built.mpi && !tcp && point.is_none() { WITH_MPI } else { "" };
    let claim = claim::of_all(variable, tcp || point.is_some(), connects);
    let Some(claim) = claim.map_err(|error| with(error, could_be_mpi))? else {
        return match (point, tcp) {
            (Some((_, said)), _) => Err(wrong(format!(
                "{said}, but nothing says which rank this process is: set NECKLACE_RANK and NECKLACE_SIZE, as `necklace run` does"
            ))),
            (None, true) => Err(wrong(
                "NECKLACE_BACKEND is \"tcp\", but nothing says which rank this process is: start it with `necklace run`, or \
                 set NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT",
            )),
            (None, false) => Ok(Said::Threads),
        };
    };
    // Who has started it by MPI, and says nothing of another meeting point, means MPI.
    if built.mpi && !tcp && point.is_none() && claim.may_be_mpi() {
        return Ok(Said::Mpi(claim::started(variable)));
    }
    let mpi = if claim.may_be_mpi() && !built.mpi { WITHOUT_MPI } else { "" };
    if !built.tcp {
        if let Some((_, said)) = point.as_ref().filter(|_| built.mpi && claim.may_be_mpi()) {
            return Err(wrong(format!(
                "{said}, for ranks that meet over TCP, but this program was built without the feature `tcp` of necklace: unset it, \
                 and {} counts for MPI",
                claim.words()
            )));
        }
        let threads = "; NECKLACE_BACKEND=local starts a job of threads in each process";
        return Err(wrong(format!(
            "{}: this process is a rank of a job, but this program was built without the feature `tcp` of necklace{mpi}{}",
            claim.words(),
            if built.local && !connects { threads } else { "" }
        )));
    }
    let (rank, size) = claim.whole().map_err(|error| with(error, mpi))?;
    let point = match point {
        Some((point, _)) => Some(point),
        None if size == 1 => None,
        None => Some(other_point(variable, &claim, mpi)?),
    };
    Ok(Said::Process(Seat {
        rank,
        size,
        words: claim.words(),
        point,
        held: flag(variable, "NECKLACE_ROOT_HELD")?,
        key: path(variable, "NECKLACE_KEY_FILE")?,
        locked: flag(variable, "NECKLACE_KEY_LOCKED")?,
        address: address(variable)?,
        insecure: flag(variable, "NECKLACE_INSECURE")?,
    }))
}

/// That, and what else would help.
fn with(error: Error, more: &str) -> Error {
    match error {
        Error::Environment(words) => wrong(words + more),
        other => other,
    }
}

/// What the environment says of a rank of MPI's, where that is asked for.
fn over_mpi(variable: Variable<'_>) -> Result<Said, Error> {
    let of_tcp = ["NECKLACE_ROOT", "NECKLACE_RENDEZVOUS", "NECKLACE_RANK", "NECKLACE_SIZE"];
    if let Some((name, value)) = of_tcp.iter().find_map(|name| Some((name, variable(name)?))) {
        return Err(wrong(format!(
            "NECKLACE_BACKEND is \"mpi\", but {name} is {}, which is for ranks over TCP, such as `necklace run` starts: \
             unset one of them",
            quoted(&value)
        )));
    }
    Ok(Said::Mpi(claim::started(variable)))
}

/// Where `NECKLACE_*` says that the ranks meet, and the words of it.
fn own_point(variable: Variable<'_>) -> Result<Option<(Point, String)>, Error> {
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

/// Where others say that the ranks meet.
fn other_point(variable: Variable<'_>, claim: &Claim, mpi: &str) -> Result<Point, Error> {
    // The variables of torchrun are believed of torchrun, and of somebody who has counted the ranks anew.
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
                 listen, or NECKLACE_RENDEZVOUS=file:PATH, a file that all ranks can read{mpi}",
                claim.words(),
                claim.size.unwrap_or_default(),
            )))
        }
    }
}

fn master_point(variable: Variable<'_>, host: &str, port: &str) -> Result<Point, Error> {
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

fn flag(variable: Variable<'_>, name: &str) -> Result<bool, Error> {
    match variable(name).as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(wrong(format!("{name} is {}, it must be 0 or 1", quoted(other)))),
    }
}

fn path(variable: Variable<'_>, name: &str) -> Result<Option<PathBuf>, Error> {
    match variable(name) {
        Some(path) if path.is_empty() => Err(wrong(format!("{name} is empty, it must be the path of a file"))),
        path => Ok(path.map(PathBuf::from)),
    }
}

fn address(variable: Variable<'_>) -> Result<Option<IpAddr>, Error> {
    let Some(text) = variable("NECKLACE_ADDRESS") else { return Ok(None) };
    let parsed = text.parse().map_err(|_| {
        wrong(format!(
            "NECKLACE_ADDRESS is {}, it must be an address of this host, such as 10.0.0.1 or fd00::1",
            quoted(&text)
        ))
    });
    parsed.map(Some)
}

#[cfg(test)]
mod tests;

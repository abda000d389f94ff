//! What a rank asks of the machine it runs on.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use sha2::{Digest, Sha256};
use socket2::{Domain, Protocol, Socket, Type};

use super::error::JoinError;
use super::notice::Host;

/// How many descriptors a meeting needs besides one for each other rank: to listen and to wait, and
/// for some who have proved nothing.
const BESIDES: usize = 16;
/// How many callers wait at a listener at most, besides one for each rank: the system has a bound
/// of its own. A longer queue takes no more of those who come in a flood, and each waits longer in
/// it.
const BACKLOG: usize = 512;

/// Which host this is: equal on all ranks of one host, different on different hosts. Where the
/// system has nothing of the kind, the address that this rank listens on is taken for it.
pub(super) fn identity(address: IpAddr) -> Host {
    let read =
        |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    // The first is of a boot of a kernel, so that containers of one host are together.
    let words = read("/proc/sys/kernel/random/boot_id")
        .or_else(|| read("/etc/hostname"))
        .or_else(|| variable("COMPUTERNAME"))
        .or_else(|| variable("HOSTNAME"))
        .unwrap_or_else(|| address.to_string());
    let mut host = Host::default();
    host.copy_from_slice(&Sha256::digest(words)[..16]);
    host
}

/// The address of the interface by which other hosts are reached, if there is one. Nothing is sent.
pub(super) fn outward(v6: bool) -> Option<IpAddr> {
    // Addresses for documentation (RFC 5737, RFC 3849): the route to them is the default one.
    let other: IpAddr =
        if v6 { Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into() } else { Ipv4Addr::new(198, 51, 100, 1).into() };
    toward(SocketAddr::new(other, 9)).filter(|ip| !ip.is_loopback())
}

/// The address of the interface by which that one is reached. Nothing is sent.
pub(super) fn toward(other: SocketAddr) -> Option<IpAddr> {
    let own: IpAddr = if other.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(own, 0)).ok()?;
    socket.connect(other).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

/// Opens a file to read it. What it is, is asked before: opening a pipe waits for its other end.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("it is no regular file")) }
}

/// Listens there for that many ranks. With `held`, a launcher of the same user holds the port for
/// this process.
pub(super) fn listen(address: SocketAddr, ranks: usize, held: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    #[cfg(unix)]
    {
        // A port whose connections of an earlier job have not quite ended may be listened on again.
        socket.set_reuse_address(true)?;
        if held {
            socket.set_reuse_port(true)?;
        }
    }
    #[cfg(not(unix))]
    let _ = held;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(ranks.saturating_add(BACKLOG)).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

/// How many descriptors a rank of a job of that size needs, if it may have so many.
pub(super) fn descriptors(rank: usize, size: usize) -> Result<usize, JoinError> {
    let open = fs::read_dir("/proc/self/fd").map_or(3, Iterator::count);
    let need = open.saturating_add(size).saturating_add(BESIDES);
    match limit() {
        Some(limit) if limit < need => Err(JoinError::Descriptors { rank, limit: Some(limit), need }),
        _ => Ok(need),
    }
}

/// How many descriptors this process may have, where the system says.
fn limit() -> Option<usize> {
    soft_limit(&fs::read_to_string("/proc/self/limits").ok()?)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Whether the process, or the system, has no descriptors left.
pub(super) fn exhausted(error: &io::Error) -> bool {
    // EMFILE and ENFILE, which are these on every Unix.
    cfg!(unix) && matches!(error.raw_os_error(), Some(24 | 23))
}

/// What the system's error means for a rank that needs so many descriptors.
pub(super) fn trouble(rank: usize, need: usize, what: &str, error: &io::Error) -> JoinError {
    if exhausted(error) {
        return JoinError::Descriptors { rank, limit: limit(), need };
    }
    JoinError::Os { what: what.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_soft_one() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max core file size        0                    unlimited            bytes     \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(soft_limit(limits), Some(1024));
        assert_eq!(soft_limit(&limits.replace("1024", "unlimited")), None);
        assert_eq!(soft_limit(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_job_too_large_for_the_limit_is_refused_with_both_numbers() {
        let error = descriptors(3, usize::MAX / 2).unwrap_err();
        let JoinError::Descriptors { rank: 3, limit: Some(limit), need } = error else { panic!("{error}") };
        assert!(need > limit && limit > 0);
        let message = error.to_string();
        assert!(message.contains(&limit.to_string()) && message.contains("ulimit -n"), "{message}");
        assert!(descriptors(0, 2).unwrap() > 2);
    }

    #[test]
    fn a_host_is_the_same_host_each_time() {
        let one = identity([10, 0, 0, 1].into());
        assert_eq!(one, identity([10, 0, 0, 1].into()));
        #[cfg(target_os = "linux")]
        assert_eq!(one, identity([10, 0, 0, 2].into()));
    }

    #[test]
    fn two_cannot_listen_on_one_port() {
        let first = listen("127.0.0.1:0".parse().unwrap(), 2, false).unwrap();
        let second = listen(first.local_addr().unwrap(), 2, false).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    }
}

//! The parts of the operating system that the bootstrap needs: sockets, addresses, limits, files.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::thread::{self, Scope};

use sha2::{Digest, Sha256};
use socket2::{Domain, Protocol, Socket, Type};

use super::error::JoinError;
use super::message::HostId;

/// Descriptors that the bootstrap needs besides one for each other rank and those of peers that are
/// not authenticated: to listen, to wait, and to read files.
const OWN_DESCRIPTORS: usize = 8;
/// Bounds of the limit on peers that are not authenticated, each of which has a descriptor and a
/// thread. The upper one is the number of ranks if that is more, since all may connect at once. The
/// limit is 2 in a job that is refused for want of descriptors.
const UNAUTHENTICATED: (usize, usize) = (8, 256);
/// Address space for the stack of a thread.
const STACK: usize = 256 << 10;
/// Maximum number of connections that wait at a listener, besides one for each rank; the system has
/// a limit of its own. In a flood, a longer queue does not accept more connections, and each waits
/// longer in it.
const BACKLOG: usize = 512;

/// Converts an IPv4-mapped IPv6 address, as a dual-stack socket reports it, to IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some() => SocketAddr::new(v6.ip().to_canonical(), v6.port()),
        other => other,
    }
}

/// Returns an identifier of this host: equal on all ranks of a host, different on different hosts.
/// If the system has none, it is made from the address on which this rank listens.
pub(super) fn host_id(address: IpAddr) -> HostId {
    let read =
        |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    // The first identifies a boot of a kernel, so that containers of one host have the same.
    let name = read("/proc/sys/kernel/random/boot_id")
        .or_else(|| read("/etc/hostname"))
        .or_else(|| variable("COMPUTERNAME"))
        .or_else(|| variable("HOSTNAME"))
        .unwrap_or_else(|| address.to_string());
    id_of(&name)
}

/// Returns the identifier of a host that a user has named. No real host has the same.
pub(super) fn named_host_id(name: &str) -> HostId {
    id_of(&format!("NECKLACE_HOST={name}"))
}

fn id_of(name: &str) -> HostId {
    let mut host = HostId::default();
    host.copy_from_slice(&Sha256::digest(name)[..16]);
    host
}

/// Returns the address of the interface that leads to other hosts, if there is one. Sends nothing.
pub(super) fn outbound_address(v6: bool) -> Option<IpAddr> {
    // Addresses for documentation (RFC 5737, RFC 3849): the route to them is the default one.
    let other: IpAddr =
        if v6 { Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into() } else { Ipv4Addr::new(198, 51, 100, 1).into() };
    source_address(SocketAddr::new(other, 9)).filter(|ip| !ip.is_loopback())
}

/// Returns the address of the interface that leads to that address. Sends nothing.
pub(super) fn source_address(other: SocketAddr) -> Option<IpAddr> {
    let own: IpAddr = if other.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(own, 0)).ok()?;
    socket.connect(other).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

/// Opens a regular file for reading. Checks its type first, since opening a pipe waits for its
/// other end.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Listens on an address for that many ranks. With `held`, a launcher of the same user has bound
/// the port and keeps it for this process.
pub(super) fn listen(address: SocketAddr, ranks: usize, held: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    #[cfg(unix)]
    {
        // Connections of an earlier job may still be ending on the port.
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

/// Fails if this process may have fewer descriptors than a rank of a job of that size needs.
pub(super) fn check_descriptors(rank: usize, size: usize) -> Result<(), JoinError> {
    let need = needed_descriptors(size).saturating_add(UNAUTHENTICATED.0);
    match limit() {
        Some(limit) if limit < need => Err(JoinError::Descriptors { rank, limit: Some(limit), need }),
        _ => Ok(()),
    }
}

/// Returns the maximum number of peers that are not authenticated.
pub(super) fn max_unauthenticated(size: usize) -> usize {
    spare(limit(), needed_descriptors(size), size)
}

fn spare(limit: Option<usize>, need: usize, size: usize) -> usize {
    let (least, most) = UNAUTHENTICATED;
    let most = most.max(size);
    match limit.map(|limit| limit.saturating_sub(need)) {
        None => most,
        Some(0) => 2,
        Some(spare) => spare.clamp(least, most),
    }
}

/// Returns how many descriptors a rank of a job of that size needs, with those that are open.
fn needed_descriptors(size: usize) -> usize {
    let open = fs::read_dir("/proc/self/fd").map_or(3, Iterator::count);
    open.saturating_add(size).saturating_add(OWN_DESCRIPTORS)
}

/// Starts a thread of the bootstrap of that rank.
pub(super) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    rank: usize,
    body: impl FnOnce() + Send + 'scope,
) -> Result<(), JoinError> {
    let thread = thread::Builder::new().name(format!("necklace-join-{rank}")).stack_size(STACK);
    let failed =
        |error: io::Error| JoinError::Os { what: "no thread can be started".to_owned(), why: error.to_string() };
    thread.spawn_scoped(scope, body).map(drop).map_err(failed)
}

/// Returns the limit on the descriptors of this process, if the system tells it.
fn limit() -> Option<usize> {
    #[cfg(unix)]
    return usize::try_from(rustix::process::getrlimit(rustix::process::Resource::Nofile).current?).ok();
    #[cfg(not(unix))]
    None
}

/// Whether the process, or the system, has no descriptors left.
pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    // EMFILE and ENFILE, which have these values on every Unix.
    cfg!(unix) && matches!(error.raw_os_error(), Some(24 | 23))
}

/// Converts an error of the system on a rank of a job of that size.
pub(super) fn system_error(rank: usize, size: usize, what: &str, error: &io::Error) -> JoinError {
    if is_out_of_descriptors(error) {
        let limit = limit();
        // Other threads of the process have taken descriptors since they were counted.
        let need = needed_descriptors(size).max(limit.map_or(0, |limit| limit + 1));
        return JoinError::Descriptors { rank, limit, need };
    }
    JoinError::Os { what: what.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn job_above_the_descriptor_limit_is_refused() {
        let error = check_descriptors(3, usize::MAX / 2).unwrap_err();
        let JoinError::Descriptors { rank: 3, limit: Some(limit), need } = error else { panic!("{error}") };
        assert!(need > limit && limit > 0);
        let message = error.to_string();
        assert!(message.contains(&limit.to_string()) && message.contains("ulimit -n"), "{message}");
        assert_eq!(check_descriptors(0, 2), Ok(()));
        assert_eq!(max_unauthenticated(usize::MAX / 2), 2);
    }

    #[test]
    fn unauthenticated_peers_get_what_descriptors_are_left() {
        let cases = [(None, 256), (Some(10), 2), (Some(20), 2), (Some(24), 8), (Some(120), 100), (Some(9999), 256)];
        for (limit, expected) in cases {
            assert_eq!(spare(limit, 20, 4), expected, "{limit:?}");
        }
        assert_eq!(spare(Some(9999), 1020, 1000), 1000);
    }

    #[test]
    fn host_id_is_constant() {
        let one = host_id([10, 0, 0, 1].into());
        assert_eq!(one, host_id([10, 0, 0, 1].into()));
        #[cfg(target_os = "linux")]
        assert_eq!(one, host_id([10, 0, 0, 2].into()));
        assert!(named_host_id("a") == named_host_id("a") && named_host_id("a") != named_host_id("b"));
    }

    #[test]
    fn second_listener_on_a_port_is_refused() {
        let first = listen("127.0.0.1:0".parse().unwrap(), 2, false).unwrap();
        let second = listen(first.local_addr().unwrap(), 2, false).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    }
}

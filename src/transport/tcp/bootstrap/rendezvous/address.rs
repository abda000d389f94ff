//! The rendezvous address: where rank 0 listens. All ranks know it, or read it from a file.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::Builder;

use super::super::error::JoinError;
use super::super::settings::{Join, Root};
use super::super::system;
use super::super::system::canonical;

/// The time for which rank 0 retries to listen on a port that is in use: a socket that has just
/// been closed may still hold it.
const IN_USE_PATIENCE: Duration = Duration::from_millis(300);
/// Maximum length of a rendezvous file.
const MAX_FILE: u64 = 512;

/// Splits `host:port`. The host is returned without brackets.
pub(super) fn split(text: &str) -> Result<(&str, u16), JoinError> {
    let wrong = |problem: &str| JoinError::Address { text: text.to_owned(), problem: problem.to_owned() };
    let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("there is no port"))?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(|| wrong("a bracket is missing"))?,
        None if host.contains(':') => return Err(wrong("an address with colons must stand in brackets")),
        None => host,
    };
    if host.is_empty() {
        return Err(wrong("there is no host"));
    }
    // `parse` accepts a sign, which a port does not have.
    match port.parse() {
        Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
        _ => Err(wrong("the port must be a number from 1 to 65535")),
    }
}

/// Resolves a host to its addresses.
pub(super) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, JoinError> {
    let failed = |why: String| JoinError::Resolve { host: host.to_owned(), why };
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(failed("it has no address".to_owned()));
    }
    Ok(addresses)
}

/// Whether the host is an address, or `localhost`, which always means the loopback address.
fn is_literal(host: &str) -> bool {
    host == "localhost" || host.split('%').next().is_some_and(|ip| ip.parse::<IpAddr>().is_ok())
}

/// Whether the host is a name. On the host itself, such a name may resolve to the loopback address,
/// as it does on Debian.
pub(super) fn is_host_name(root: &Root) -> bool {
    matches!(root, Root::Address(text) if split(text).is_ok_and(|(host, _)| !is_literal(host)))
}

/// Fails if this rank may not listen on that address.
pub(super) fn check_may_listen(join: &Join, address: IpAddr) -> Result<(), JoinError> {
    if address.to_canonical().is_loopback() || join.may_listen_publicly() {
        return Ok(());
    }
    Err(JoinError::Exposed { rank: join.rank, address })
}

/// Listens as rank 0. If there is a rendezvous file, writes the address into it.
pub(super) fn listen(join: &Join) -> Result<(Vec<TcpListener>, Option<RendezvousFile>), JoinError> {
    match &join.root {
        Root::Address(text) => {
            let (host, port) = split(text)?;
            let listeners = listen_at(join, &listening_addresses(join, host, port)?)?;
            log::info!("rank 0 of {} listens at {text}", join.size);
            Ok((listeners, None))
        }
        Root::File(path) => {
            let announced = join.address.filter(|ip| !ip.is_unspecified()).unwrap_or_else(|| default_address(join));
            listen_and_write(join, path, join.address.unwrap_or(announced), announced)
        }
    }
}

/// Listens as rank 0 on another address than the configured one, to tell the other ranks why that
/// one failed. Returns `None` without a rendezvous file: then the others know only one address.
pub(super) fn listen_elsewhere(join: &Join) -> Option<(Vec<TcpListener>, Option<RendezvousFile>)> {
    let Root::File(path) = &join.root else { return None };
    let ip = default_address(join);
    listen_and_write(join, path, ip, ip).ok()
}

/// Returns the address by which other hosts reach this one, if they may; otherwise the loopback
/// address.
fn default_address(join: &Join) -> IpAddr {
    let outbound = || system::outbound_address(false).or_else(|| system::outbound_address(true));
    join.may_listen_publicly().then(outbound).flatten().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Listens as rank 0 on one address, and writes another, by which the others reach it, into a file.
fn listen_and_write(
    join: &Join,
    path: &Path,
    ip: IpAddr,
    announced: IpAddr,
) -> Result<(Vec<TcpListener>, Option<RendezvousFile>), JoinError> {
    let listeners = listen_at(join, &[SocketAddr::new(ip, 0)])?;
    let port = listeners.iter().find_map(|listener| listener.local_addr().ok()).map_or(0, |own| own.port());
    let address = SocketAddr::new(announced, port);
    log::info!("rank 0 of {} listens at {address}, as {} says", join.size, path.display());
    Ok((listeners, Some(RendezvousFile::write(path, address)?)))
}

/// Returns the addresses on which rank 0 listens, given the rendezvous address.
fn listening_addresses(join: &Join, host: &str, port: u16) -> Result<Vec<SocketAddr>, JoinError> {
    if let Some(ip) = join.address {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let addresses = resolve(host, port)?;
    if is_literal(host) || !join.may_listen_publicly() {
        return Ok(addresses);
    }
    // A host name may resolve to another address on the host itself than elsewhere, or to several.
    if addresses.iter().all(|address| TcpListener::bind(SocketAddr::new(address.ip(), 0)).is_err()) {
        log::warn!("rank 0 should be on {host}, which has no address of this host: {addresses:?}");
    }
    Ok(vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)])
}

/// Listens on each of the addresses that this host has. Fails if it has none of them.
fn listen_at(join: &Join, addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, JoinError> {
    addresses.iter().try_for_each(|address| check_may_listen(join, address.ip()))?;
    let mut listeners = Vec::new();
    let mut last = None;
    for &address in addresses {
        let any_ipv4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
        let listener = match listen_with_patience(address, join) {
            // The host has no IPv6.
            Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != ErrorKind::AddrInUse => {
                listen_with_patience(any_ipv4, join)
            }
            listener => listener,
        };
        match listener {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let advice = join
                    .advice
                    .as_deref()
                    .unwrap_or("another process is rank 0 there, or another program has the port; choose another one");
                return Err(JoinError::InUse { address, advice: advice.to_owned() });
            }
            // The host may have only some of the addresses to which a name resolves.
            Err(error) => last = Some(JoinError::Listen { rank: 0, address, why: error.to_string() }),
        }
    }
    match last {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

/// Listens on an address, and retries for a while if it is in use.
fn listen_with_patience(address: SocketAddr, join: &Join) -> io::Result<TcpListener> {
    let until = Instant::now() + IN_USE_PATIENCE;
    loop {
        match system::listen(address, join.size, join.held) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(IN_USE_PATIENCE / 10);
            }
            result => return result,
        }
    }
}

/// Listens as another rank than rank 0: on the interface by which it has reached rank 0, unless an
/// address is configured. Returns also the address to announce, and why it was chosen.
pub(super) fn listen_as_client(
    join: &Join,
    local: SocketAddr,
) -> Result<(TcpListener, SocketAddr, &'static str), JoinError> {
    let mut address = local;
    address.set_port(0);
    let mut why = "by which rank 0 was reached";
    let mut announced = None;
    match join.address {
        // Listens on all interfaces, and announces the address that it would otherwise.
        Some(ip) if ip.is_unspecified() => {
            announced = Some(local.ip());
            address = SocketAddr::new(ip, 0);
        }
        Some(ip) => {
            address = SocketAddr::new(ip, 0);
            why = "which was set";
        }
        None if local.ip().is_loopback() && is_host_name(&join.root) && join.may_listen_publicly() => {
            if let Some(ip) = system::outbound_address(local.is_ipv6()) {
                address = SocketAddr::new(ip, 0);
                why = "which leads to other hosts, as the name of rank 0's host resolves to the loopback address here";
            }
        }
        None => {}
    }
    check_may_listen(join, address.ip())?;
    let failed = |error: io::Error| JoinError::Listen { rank: join.rank, address, why: error.to_string() };
    let listener = system::listen(address, join.size, false).map_err(failed)?;
    let mut bound = listener.local_addr().map_err(failed)?;
    if let Some(ip) = announced {
        bound.set_ip(ip);
    }
    Ok((listener, canonical(bound), why))
}

/// Reads the address from a rendezvous file. Returns `None` if there is no complete line.
pub(super) fn read_file(path: &Path) -> Result<Option<String>, JoinError> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        system::open_file(path)?.take(MAX_FILE).read_to_string(&mut text)?;
        Ok(text)
    };
    match read() {
        Ok(text) => Ok(text.strip_suffix('\n').filter(|line| split(line).is_ok()).map(str::to_owned)),
        // It is not written yet, or another program wrote it and rank 0 will replace it.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        // On a network file system, it may have been replaced since it was opened.
        Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => Ok(None),
        Err(error) => Err(JoinError::File { path: path.to_owned(), problem: format!("it cannot be read: {error}") }),
    }
}

/// The file that holds the address of rank 0. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct RendezvousFile {
    path: PathBuf,
    line: String,
}

impl RendezvousFile {
    fn write(path: &Path, address: SocketAddr) -> Result<Self, JoinError> {
        let failed = |error: io::Error| JoinError::File {
            path: path.to_owned(),
            problem: format!("rank 0 cannot write it: {error}"),
        };
        let line = address.to_string();
        // Written to another file and renamed, so that no rank reads half of it.
        let name = path.file_name().ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
        let beside = path.parent().filter(|beside| !beside.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let draft = Builder::new().prefix(name).make_in(beside, |path| File::create_new(path)).map_err(failed)?;
        let mut file = draft.as_file();
        file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        draft.persist(path).map_err(|error| failed(error.error))?;
        Ok(Self { path: path.to_owned(), line })
    }

    /// Fails if another rank 0 has written its address into the file.
    pub(super) fn check(&self) -> Result<(), JoinError> {
        match read_file(&self.path) {
            Ok(Some(line)) if line != self.line => Err(JoinError::File {
                path: self.path.clone(),
                problem: format!(
                    "another rank 0 has written that it listens at {line}, this one listens at {}",
                    self.line
                ),
            }),
            _ => Ok(()),
        }
    }
}

impl Drop for RendezvousFile {
    fn drop(&mut self) {
        if self.check().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_a_host_and_a_port() {
        assert_eq!(split("node0:5000").unwrap(), ("node0", 5000));
        assert_eq!(split("[fe80::1%eth0]:1").unwrap(), ("fe80::1%eth0", 1));
        for text in
            ["", "node0", "node0:", ":5000", "node0:0", "node0:65536", "node0:+5", "::1:5000", "[::1:5000", "[]:5"]
        {
            let message = split(text).unwrap_err().to_string();
            assert!(message.contains(&format!("{text:?}")), "{message}");
        }
    }

    #[test]
    fn literal_addresses_are_told_from_names() {
        for (host, expected) in
            [("localhost", true), ("::1", true), ("fe80::1%eth0", true), ("10.0.0.1", true), ("a", false)]
        {
            assert_eq!(is_literal(host), expected, "{host}");
        }
    }

    #[test]
    fn file_is_removed_only_by_its_last_writer() {
        let path = std::env::temp_dir().join(format!("necklace-rendezvous-file-{}", std::process::id()));
        let first = RendezvousFile::write(&path, "127.0.0.1:1".parse().unwrap()).unwrap();
        assert_eq!(read_file(&path).unwrap().as_deref(), Some("127.0.0.1:1"));
        let second = RendezvousFile::write(&path, "[::1]:2".parse().unwrap()).unwrap();
        assert!(first.check().unwrap_err().to_string().contains("[::1]:2"));
        drop(first);
        assert_eq!(read_file(&path).unwrap().as_deref(), Some("[::1]:2"));
        drop(second);
        assert_eq!(read_file(&path).unwrap(), None);
        for text in ["127.0.0.1:1", "nonsense\n", "127.0.0.1\n", "\n", "a:1\nb:2\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(read_file(&path).unwrap(), None, "{text:?}");
        }
        fs::remove_file(&path).unwrap();
    }
}

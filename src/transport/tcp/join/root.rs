//! Where the ranks of a job meet: an address that all know, or a file by which they find it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::Builder;

use super::error::JoinError;
use super::hall::canonical;
use super::host;
use super::settings::{Join, Root};

/// How long rank 0 tries to listen on a port that is in use: a socket that has just been closed may
/// hold it.
const IN_USE: Duration = Duration::from_millis(300);
/// The longest line that a file may have.
const LINE: u64 = 512;

/// The two parts of `host:port`; the host without brackets.
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
    // A sign is none of a port's.
    match port.parse() {
        Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
        _ => Err(wrong("the port must be a number from 1 to 65535")),
    }
}

/// The addresses of a host.
pub(super) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, JoinError> {
    let failed = |why: String| JoinError::Resolve { host: host.to_owned(), why };
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(failed("there is none".to_owned()));
    }
    Ok(addresses)
}

/// Whether an address, or a name that can be nothing else, was given for the host.
fn literal(host: &str) -> bool {
    host == "localhost" || host.split('%').next().is_some_and(|ip| ip.parse::<IpAddr>().is_ok())
}

/// Whether a host's name is one which on that host itself may stand for the loopback address, as
/// Debian's do.
pub(super) fn named(root: &Root) -> bool {
    matches!(root, Root::Address(text) if split(text).is_ok_and(|(host, _)| !literal(host)))
}

/// That this rank may listen there.
pub(super) fn permitted(join: &Join, address: IpAddr) -> Result<(), JoinError> {
    if address.to_canonical().is_loopback() || join.open() {
        return Ok(());
    }
    Err(JoinError::Exposed { rank: join.rank, address })
}

/// Rank 0 listens, and writes where if there is a file for it.
pub(super) fn listen(join: &Join) -> Result<(Vec<TcpListener>, Option<Posted>), JoinError> {
    match &join.root {
        Root::Address(text) => {
            let (host, port) = split(text)?;
            let listeners = listen_at(join, &addresses(join, host, port)?)?;
            log::info!("rank 0 of {} waits at {text}", join.size);
            Ok((listeners, None))
        }
        Root::File(path) => {
            let announced = join.address.filter(|ip| !ip.is_unspecified()).unwrap_or_else(|| found(join));
            listen_and_post(join, path, join.address.unwrap_or(announced), announced)
        }
    }
}

/// Rank 0 listens where it can, so as to say why it cannot where it should; none where the others
/// look for it in one place only.
pub(super) fn elsewhere(join: &Join) -> Option<(Vec<TcpListener>, Option<Posted>)> {
    let Root::File(path) = &join.root else { return None };
    let ip = found(join);
    listen_and_post(join, path, ip, ip).ok()
}

/// The address by which others reach this host, if they may; otherwise by which it reaches itself.
fn found(join: &Join) -> IpAddr {
    let outward = || host::outward(false).or_else(|| host::outward(true));
    join.open().then(outward).flatten().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Rank 0 listens on an address, and writes another, by which the others reach it, into a file.
fn listen_and_post(
    join: &Join,
    path: &Path,
    ip: IpAddr,
    announced: IpAddr,
) -> Result<(Vec<TcpListener>, Option<Posted>), JoinError> {
    let listeners = listen_at(join, &[SocketAddr::new(ip, 0)])?;
    let port = listeners.iter().find_map(|listener| listener.local_addr().ok()).map_or(0, |own| own.port());
    let address = SocketAddr::new(announced, port);
    log::info!("rank 0 of {} waits at {address}, says {}", join.size, path.display());
    Ok((listeners, Some(Posted::write(path, address)?)))
}

/// Where rank 0 is to listen, given where the others look for it.
fn addresses(join: &Join, host: &str, port: u16) -> Result<Vec<SocketAddr>, JoinError> {
    if let Some(ip) = join.address {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let addresses = resolve(host, port)?;
    if literal(host) || !join.open() {
        return Ok(addresses);
    }
    // A host's name may stand for one address on itself and for another elsewhere, or for several.
    if addresses.iter().all(|address| TcpListener::bind(SocketAddr::new(address.ip(), 0)).is_err()) {
        log::warn!("rank 0 should be on {host}, which has no address of this host: {addresses:?}");
    }
    Ok(vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)])
}

/// Listens on each of the addresses that there are.
fn listen_at(join: &Join, addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, JoinError> {
    addresses.iter().try_for_each(|address| permitted(join, address.ip()))?;
    let mut listeners = Vec::new();
    let mut last = None;
    for &address in addresses {
        let every_old = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
        let listener = match patiently(address, join) {
            // Where there are addresses of the older kind only.
            Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != ErrorKind::AddrInUse => {
                patiently(every_old, join)
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
            // A name may stand for addresses of which this host has some.
            Err(error) => last = Some(JoinError::Listen { rank: 0, address, why: error.to_string() }),
        }
    }
    match last {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

fn patiently(address: SocketAddr, join: &Join) -> io::Result<TcpListener> {
    let until = Instant::now() + IN_USE;
    loop {
        match host::listen(address, join.size, join.held) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(IN_USE / 10);
            }
            result => return result,
        }
    }
}

/// Where another rank listens so that all can reach it: on the interface by which it has reached
/// rank 0, if nothing else was asked for. With the address that it announces, and why this one.
pub(super) fn own(join: &Join, local: SocketAddr) -> Result<(TcpListener, SocketAddr, &'static str), JoinError> {
    let mut address = local;
    address.set_port(0);
    let mut why = "by which rank 0 was reached";
    let mut announced = None;
    match join.address {
        // All of its interfaces; announced is the one that would be.
        Some(ip) if ip.is_unspecified() => {
            announced = Some(local.ip());
            address = SocketAddr::new(ip, 0);
        }
        Some(ip) => {
            address = SocketAddr::new(ip, 0);
            why = "which was asked for";
        }
        None if local.ip().is_loopback() && named(&join.root) && join.open() => {
            if let Some(ip) = host::outward(local.is_ipv6()) {
                address = SocketAddr::new(ip, 0);
                why = "which leads to other hosts, as the meeting point's name stands for this host itself";
            }
        }
        None => {}
    }
    permitted(join, address.ip())?;
    let failed = |error: io::Error| JoinError::Listen { rank: join.rank, address, why: error.to_string() };
    let listener = host::listen(address, join.size, false).map_err(failed)?;
    let mut bound = listener.local_addr().map_err(failed)?;
    if let Some(ip) = announced {
        bound.set_ip(ip);
    }
    Ok((listener, canonical(bound), why))
}

/// The line that a file has, where there is one that is whole.
pub(super) fn posted(path: &Path) -> Result<Option<String>, JoinError> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        host::open(path)?.take(LINE).read_to_string(&mut text)?;
        Ok(text)
    };
    match read() {
        Ok(text) => Ok(text.strip_suffix('\n').filter(|line| split(line).is_ok()).map(str::to_owned)),
        // It is still to be written, or was written by something else and will be replaced.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        // A network's file system may have given it another identity since it was opened.
        Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => Ok(None),
        Err(error) => Err(JoinError::File { path: path.to_owned(), problem: format!("it cannot be read: {error}") }),
    }
}

/// A file that says where rank 0 waits; removed when it does no more.
#[derive(Debug)]
pub(super) struct Posted {
    path: PathBuf,
    line: String,
}

impl Posted {
    fn write(path: &Path, address: SocketAddr) -> Result<Self, JoinError> {
        let failed = |error: io::Error| JoinError::File {
            path: path.to_owned(),
            problem: format!("rank 0 cannot write it: {error}"),
        };
        let line = address.to_string();
        // Written beside it and renamed: nobody reads half of it.
        let name = path.file_name().ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
        let beside = path.parent().filter(|beside| !beside.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let draft = Builder::new().prefix(name).make_in(beside, |path| File::create_new(path)).map_err(failed)?;
        let mut file = draft.as_file();
        file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        draft.persist(path).map_err(|error| failed(error.error))?;
        Ok(Self { path: path.to_owned(), line })
    }

    /// That the file still says what was written: another rank 0 would have written something else.
    pub(super) fn check(&self) -> Result<(), JoinError> {
        match posted(&self.path) {
            Ok(Some(line)) if line != self.line => Err(JoinError::File {
                path: self.path.clone(),
                problem: format!("another rank 0 has written that it waits at {line}, this one waits at {}", self.line),
            }),
            _ => Ok(()),
        }
    }
}

impl Drop for Posted {
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
    fn an_address_has_a_host_and_a_port() {
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
    fn addresses_are_told_from_names() {
        for (host, expected) in
            [("localhost", true), ("::1", true), ("fe80::1%eth0", true), ("10.0.0.1", true), ("a", false)]
        {
            assert_eq!(literal(host), expected, "{host}");
        }
    }

    #[test]
    fn a_file_is_removed_only_by_whom_wrote_it_last() {
        let path = std::env::temp_dir().join(format!("necklace-posted-{}", std::process::id()));
        let first = Posted::write(&path, "127.0.0.1:1".parse().unwrap()).unwrap();
        assert_eq!(posted(&path).unwrap().as_deref(), Some("127.0.0.1:1"));
        let second = Posted::write(&path, "[::1]:2".parse().unwrap()).unwrap();
        assert!(first.check().unwrap_err().to_string().contains("[::1]:2"));
        drop(first);
        assert_eq!(posted(&path).unwrap().as_deref(), Some("[::1]:2"));
        drop(second);
        assert_eq!(posted(&path).unwrap(), None);
        for text in ["127.0.0.1:1", "nonsense\n", "127.0.0.1\n", "\n", "a:1\nb:2\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(posted(&path).unwrap(), None, "{text:?}");
        }
        fs::remove_file(&path).unwrap();
    }
}

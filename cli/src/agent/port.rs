//! Reserves a port for rank 0 before rank 0 runs.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A port that this process has bound without listening. Only a process of the same user that sets
/// `SO_REUSEPORT`, such as rank 0, can bind it too.
pub(super) struct ReservedPort {
    _socket: Socket,
    address: String,
}

impl ReservedPort {
    /// Reserves a port. `name` is the name of this host for the ranks.
    pub(super) fn find(name: &str) -> io::Result<Self> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let socket = if name == loopback.ip().to_string() {
            bind(loopback)?
        } else {
            // For both address families, if the host has both.
            bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))
                .or_else(|_| bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))))?
        };
        let bound = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { _socket: socket, address: format!("{name}:{}", bound.port()) })
    }

    /// `host:port`.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // Not `SO_REUSEADDR`, which would share the port with processes of other users.
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_port_binds_only_with_reuse_port() {
        for name in ["127.0.0.1", "somewhere"] {
            let held = ReservedPort::find(name).unwrap();
            let (host, port) = held.address().rsplit_once(':').unwrap();
            assert_eq!(host, name);
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()));
            assert!(std::net::TcpListener::bind(address).is_err());
            let rank = bind(address).unwrap();
            rank.listen(1).unwrap();
            // Connections go to the process that listens.
            std::net::TcpStream::connect(address).unwrap();
            assert!(rank.accept().is_ok());
        }
    }
}

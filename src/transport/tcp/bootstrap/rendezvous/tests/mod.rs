//! The bootstrap over real sockets, with ranks that are threads of a test.

mod failure_reports;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod full_queue;
mod mismatch;
mod missing_ranks;
mod rendezvous_file;
mod scripted;
mod settings;
mod success;
mod unauthenticated;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::super::error::JoinError;
use super::super::{Join, Key, Root};
use crate::transport::tcp::mesh::Mesh;

/// A port that is held for rank 0, as by a launcher.
struct Port {
    _held: Socket,
    number: u16,
    host: String,
}

impl Port {
    fn on(ip: IpAddr) -> Self {
        let address = SocketAddr::new(ip, 0);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.set_reuse_port(true).unwrap();
        socket.bind(&address.into()).unwrap();
        let bound = socket.local_addr().unwrap().as_socket().unwrap();
        let host = bound.to_string().rsplit_once(':').unwrap().0.to_owned();
        Self { _held: socket, number: bound.port(), host }
    }

    fn new() -> Self {
        Self::on(Ipv4Addr::LOCALHOST.into())
    }

    fn address(&self) -> SocketAddr {
        format!("{}:{}", self.host, self.number).parse().unwrap()
    }

    fn join(&self, rank: usize, size: usize) -> Join {
        let root = Root::Address(format!("{}:{}", self.host, self.number));
        Join::new(rank, size, root).held(true).key(key()).timeout(Duration::from_secs(120))
    }
}

fn key() -> Key {
    Key::new(b"the key of the tests").unwrap()
}

/// Joins, and at once sends bytes to every other rank, which may still be in the bootstrap.
fn join_and_greet(join: &Join) -> Result<Mesh, JoinError> {
    let mesh = join.mesh()?;
    for (other, stream) in mesh.streams.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
        let _ = (&*stream).write_all(&[mesh.rank as u8, other as u8]);
    }
    Ok(mesh)
}

/// Joins on a separate thread.
fn start(join: Join) -> JoinHandle<Result<Mesh, JoinError>> {
    thread::spawn(move || join_and_greet(&join))
}

/// Returns the error of a rank.
fn error_of(rank: JoinHandle<Result<Mesh, JoinError>>) -> JoinError {
    rank.join().unwrap().unwrap_err()
}

/// Joins each rank on a separate thread.
fn join_all(joins: Vec<Join>) -> Vec<Result<Mesh, JoinError>> {
    let ranks: Vec<_> = joins.into_iter().map(start).collect();
    ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
}

/// Returns the error of each rank.
fn errors(joins: Vec<Join>) -> Vec<JoinError> {
    join_all(joins).into_iter().map(Result::unwrap_err).collect()
}

/// Checks that each connection leads to its rank, in both directions, and that no other bytes come.
fn check_meshes(meshes: Vec<Result<Mesh, JoinError>>) {
    let size = meshes.len();
    let meshes: Vec<Mesh> = meshes.into_iter().map(Result::unwrap).collect();
    for (rank, mesh) in meshes.iter().enumerate() {
        assert_eq!((mesh.rank, mesh.streams.len(), mesh.neighbours), (rank, size, size));
        for (other, stream) in mesh.streams.iter().enumerate() {
            assert_eq!(stream.is_none(), other == rank);
            if let Some(stream) = stream {
                assert!(stream.nodelay().unwrap());
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            }
        }
    }
    for (rank, mesh) in meshes.iter().enumerate() {
        for (other, stream) in mesh.streams.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
            let mut received = [0; 2];
            (&*stream).read_exact(&mut received).unwrap();
            assert_eq!(received, [other as u8, rank as u8]);
            stream.set_nonblocking(true).unwrap();
            let more = (&*stream).read(&mut received);
            assert_eq!(more.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        }
    }
}

/// Starts a server that answers each connection with these bytes.
fn server_that_sends(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(bytes);
            let _ = stream.read(&mut [0; 1000]);
        }
    });
    address
}

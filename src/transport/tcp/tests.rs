use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

mod abuse;
mod call;
mod clear_to_send;
mod credit;
mod crossing;
mod cut;
mod ending;
mod fairness;
mod harness;
mod head;
mod library_calls;
mod long_descriptions;
mod out_of_band;
mod panic;
mod silent;
mod small_buffers;
#[cfg(unix)]
mod stop;
mod unable;
mod unopened;

use crate::transport::Endpoint;
use crate::transport::conformance::{self, Fixture};
use crate::transport::engine::member::Member;
use crate::transport::tcp::mesh::Mesh;

/// Ranks in threads of one process, with connections that are made at once.
#[derive(Debug)]
struct Pairs;

impl Fixture for Pairs {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        mesh(size).map_err(|error| error.to_string())
    }

    fn short_timeout(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn jobs_at_once(&self) -> usize {
        4
    }
}

fn mesh(size: usize) -> std::io::Result<Vec<Arc<dyn Endpoint>>> {
    let endpoint = |(rank, streams)| endpoint(rank, streams, size);
    streams(size)?.into_iter().enumerate().map(endpoint).collect()
}

/// The connections of each rank to each other, which are blocking.
type Streams = Vec<Vec<Option<TcpStream>>>;

fn streams(size: usize) -> std::io::Result<Streams> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut streams: Streams = (0..size).map(|_| (0..size).map(|_| None).collect()).collect();
    for (i, j) in (0..size).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let one = TcpStream::connect(listener.local_addr()?)?;
        let (other, _) = listener.accept()?;
        for stream in [&one, &other] {
            stream.set_nodelay(true)?;
        }
        (streams[i][j], streams[j][i]) = (Some(one), Some(other));
    }
    Ok(streams)
}

/// Returns both ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Starts rank 0 of 2, and returns it with the other end of its connection.
fn half() -> (Arc<Member>, TcpStream) {
    let (one, other) = pair();
    let mesh = Mesh { rank: 0, streams: vec![None, Some(one)], neighbours: 2, hosts: None };
    (mesh.start().unwrap(), other)
}

/// Starts a rank on these connections, one of `neighbours` ranks on its host.
fn endpoint(rank: usize, streams: Vec<Option<TcpStream>>, neighbours: usize) -> std::io::Result<Arc<dyn Endpoint>> {
    Ok(Mesh { rank, streams, neighbours, hosts: None }.start().map_err(std::io::Error::other)?)
}

/// More ranks on a host than it has cores.
const OVERSUBSCRIBED: usize = usize::MAX;

#[test]
fn transport_passes_conformance() {
    conformance::run_all(&Pairs).unwrap_or_else(|broken| panic!("{broken}"));
}

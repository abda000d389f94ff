use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

mod abuse;
mod credit;

use super::mesh::Mesh;
use super::process::Member;
use crate::transport::Endpoint;
use crate::transport::conformance::{self, Fixture};

/// Processes that are threads, with connections made at once.
#[derive(Debug)]
struct Pairs;

impl Fixture for Pairs {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        mesh(size).map_err(|error| error.to_string())
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn mesh(size: usize) -> std::io::Result<Vec<Arc<dyn Endpoint>>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut streams: Vec<Vec<Option<TcpStream>>> = (0..size).map(|_| (0..size).map(|_| None).collect()).collect();
    for (i, j) in (0..size).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let one = TcpStream::connect(listener.local_addr()?)?;
        let (other, _) = listener.accept()?;
        for stream in [&one, &other] {
            stream.set_nodelay(true)?;
        }
        (streams[i][j], streams[j][i]) = (Some(one), Some(other));
    }
    let endpoint = |(rank, streams)| {
        let member = Member::start(Mesh { rank, streams, neighbours: size }).map_err(std::io::Error::other)?;
        Ok(member as Arc<dyn Endpoint>)
    };
    streams.into_iter().enumerate().map(endpoint).collect()
}

#[test]
fn processes_keep_every_promise() {
    conformance::run_all(&Pairs).unwrap_or_else(|broken| panic!("{broken}"));
}

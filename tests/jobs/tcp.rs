//! Jobs over TCP: every rank joins as a process does, from a thread of this one.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, process, thread};

use necklace::launch::Launch;
use necklace::topology::Topology;
use necklace::transport::Endpoint;
use necklace::transport::tcp::{Join, Key, Root, Supervisor};

use super::{Backend, Job};

/// The backend of sockets.
#[derive(Debug)]
pub struct Tcp;

impl Backend for Tcp {
    fn seeds(&self) -> Range<u64> {
        100_000..100_016
    }

    fn soon(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn endpoints(&self, size: usize) -> Vec<Arc<dyn Endpoint>> {
        endpoints_at(size, Ipv4Addr::LOCALHOST.into())
    }

    fn job(&self, topology: Arc<dyn Topology>) -> Job {
        let bootstrap = Bootstrap::new(topology.ranks(), Ipv4Addr::LOCALHOST.into());
        // By rank, from its joining until it runs.
        let supervisors: Arc<[_]> = (0..bootstrap.size).map(|_| Mutex::new(None)).collect();
        let slots = Arc::clone(&supervisors);
        let job = Launch::threads().topology(topology).wrap(move |thread| {
            let rank = thread.rank().index();
            let (supervisor, endpoint) = bootstrap.join(rank).supervised().unwrap();
            *slots[rank].lock().unwrap() = Some(supervisor);
            endpoint
        });
        Job::supervised(job, supervisors, Supervisor::panicked)
    }
}

/// The rendezvous and the key of a job.
struct Bootstrap {
    size: usize,
    address: IpAddr,
    file: PathBuf,
    key: Key,
}

impl Bootstrap {
    fn new(size: usize, address: IpAddr) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("necklace-test-{}-{number}", process::id()));
        Self { size, address, file, key: Key::fresh().unwrap() }
    }

    fn join(&self, rank: usize) -> Join {
        Join::new(rank, self.size, Root::File(self.file.clone())).key(self.key.clone()).address(self.address)
    }
}

/// The endpoints of a job, by rank, where every rank listens on that address.
#[must_use]
pub fn endpoints_at(size: usize, address: IpAddr) -> Vec<Arc<dyn Endpoint>> {
    let bootstrap = Bootstrap::new(size, address);
    let join = |rank| bootstrap.join(rank).endpoint().unwrap();
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..size).map(|rank| scope.spawn(move || join(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

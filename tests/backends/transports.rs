//! Every backend keeps every promise, also through wrappers and boxes.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;

use necklace::topology::{Topology, parse};
use necklace::transport::fault::Faulty;
use necklace::transport::trace::{Direction, TraceEvent, Tracing};
use necklace::transport::{Endpoint, local};
use necklace::{Communicator, Strided};

use crate::support::{Work, alltoall, on_each, world};
use necklace_tests::jobs::Backend;
use necklace_tests::jobs::tcp::{Tcp, endpoints_at};
use necklace_tests::jobs::threads::Threads;
use necklace_tests::promises::{Boxed, check_conformance};

/// Most checks wait.
const AT_ONCE: usize = 4;

fn check_threads(wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync) {
    check_conformance(|size| Threads.endpoints(size), Duration::from_millis(300), AT_ONCE, wrap);
}

fn check_processes(wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync) {
    check_conformance(|size| Tcp.endpoints(size), Duration::from_secs(1), AT_ONCE, wrap);
}

#[test]
fn threads_pass_conformance() {
    check_threads(|endpoint| endpoint);
}

#[test]
fn processes_pass_conformance() {
    check_processes(|endpoint| endpoint);
}

#[test]
fn traced_threads_pass_conformance() {
    let tracing = Tracing::new();
    check_threads(|endpoint| Arc::new(tracing.wrap(endpoint)));
    assert!(!tracing.events().is_empty());
}

#[test]
fn threads_with_an_empty_fault_script_pass_conformance() {
    check_threads(|endpoint| Arc::new(Faulty::new(endpoint, &[])));
}

#[test]
fn boxed_threads_pass_conformance() {
    check_threads(|endpoint| Arc::new(Boxed::new(endpoint)));
}

#[test]
fn traced_boxed_processes_over_ipv6_pass_conformance() {
    let tracing = Tracing::new();
    let start = |size| endpoints_at(size, Ipv6Addr::LOCALHOST.into());
    check_conformance(start, Duration::from_secs(1), AT_ONCE, |endpoint| {
        let boxed: Arc<dyn Endpoint> = Arc::new(Boxed::new(endpoint));
        let faulty: Arc<dyn Endpoint> = Arc::new(Faulty::new(boxed, &[]));
        Arc::new(tracing.wrap(faulty))
    });
    assert!(!tracing.events().is_empty());
}

#[test]
fn many_more_ranks_than_cores_exchange() {
    let size = 32;
    let sums = on_each(local::job(size).unwrap(), |endpoint| {
        let mut work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), size, 100));
        for call in 0..50 {
            work.input.fill(endpoint.rank().index() as u8 + call);
            work.call().unwrap();
        }
        work.output.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    });
    let all: u64 = (0..size as u64).map(|rank| 100 * (rank + 49)).sum();
    let expected: Vec<u64> = (0..size as u64).map(|rank| all - 100 * (rank + 49)).collect();
    assert_eq!(sums, expected);
}

/// The ghost cells of a grid of 4 x 4, by an alltoallw whose other blocks are empty.
#[test]
fn ranks_without_blocks_for_each_other_exchange_no_message() {
    let torus: Arc<dyn Topology> = parse("torus:4x4").unwrap();
    for algorithm in ["direct", "direct-rotated"] {
        let tracing = Tracing::new();
        let endpoints = local::job(16).unwrap().into_iter().map(|endpoint| tracing.wrap(endpoint)).collect();
        on_each(endpoints, |endpoint| {
            let mut comm = Communicator::new(endpoint, Arc::clone(&torus)).unwrap();
            let near: Vec<usize> = comm.neighbourhood().destinations().flatten().collect();
            let block = |rank| {
                near.iter().position(|other| *other == rank).map_or(Strided::run(0, 0), |at| Strided::run(at, 1))
            };
            let blocks: Vec<Strided> = (0..16).map(block).collect();
            comm.choose("alltoallv", algorithm).unwrap();
            let mut received = [usize::MAX; 4];
            let mut plan = comm.alltoallw_init(&blocks, &blocks).unwrap();
            let mine = [comm.rank(); 4];
            plan.execute(&mut comm, &mine, &mut received).unwrap();
            assert_eq!(received, *near);
        });
        let exchange =
            |event: &&TraceEvent| event.description.starts_with("alltoallw") && event.direction == Direction::Out;
        assert_eq!(tracing.events().iter().filter(exchange).count(), 16 * 4, "{algorithm}");
    }
}

//! Moving bytes among threads: plain alltoall with all checks on and its plan cached.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use necklace::local::Job;
use necklace::topology::parse;

/// Time of so many calls, as rank 0 sees it.
fn calls(topology: &str, algorithm: &str, block: usize, calls: u64) -> Duration {
    let job = Job::on(parse(topology).unwrap()).choose("alltoall", algorithm);
    let times = job.run(|mut comm| {
        let send = vec![1_u8; block * comm.size()];
        let mut receive = vec![0_u8; block * comm.size()];
        for _ in 0..3 {
            comm.alltoall(&send, &mut receive).unwrap();
        }
        comm.barrier().unwrap();
        let start = Instant::now();
        for _ in 0..calls {
            comm.alltoall(&send, &mut receive).unwrap();
        }
        start.elapsed()
    });
    times.unwrap()[0]
}

fn exchanging(c: &mut Criterion) {
    let mut group = c.benchmark_group("alltoall among threads");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (topology, ranks) in [("complete:2", 2), ("torus:2x2", 4), ("torus:4x4", 16)] {
        for algorithm in ["direct", "direct-rotated", "torus-exchange"] {
            if algorithm == "torus-exchange" && ranks < 16 {
                continue;
            }
            for block in [8, 4096, 262_144] {
                group.throughput(Throughput::Bytes(block * (ranks - 1)));
                let id = BenchmarkId::new(format!("{topology}/{algorithm}"), block);
                group.bench_function(id, |b| b.iter_custom(|n| calls(topology, algorithm, block as usize, n)));
            }
        }
    }
    group.finish();
}

criterion_group!(benches, exchanging);
criterion_main!(benches);

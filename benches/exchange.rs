//! Benchmarks alltoall among threads, with all checks and a cached plan, beside two bare exchanges.
#![allow(missing_docs, clippy::unwrap_used)]

use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use necklace::launch::Launch;
use necklace::topology::parse;
use necklace_bare::{Kind, members, pin};

/// Number of calls before the first measurement.
const WARM: usize = 5;

/// Measures a number of calls on buffers of a given size.
fn timed(bytes: usize, calls: u64, mut call: impl FnMut(&[u8], &mut [u8])) -> Duration {
    let (send, mut receive) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    (0..WARM).for_each(|_| call(&send, &mut receive));
    let start = Instant::now();
    (0..calls).for_each(|_| call(&send, &mut receive));
    start.elapsed()
}

/// Returns the time on rank 0.
fn with_all_checks(topology: &str, algorithm: &str, block: usize, calls: u64) -> Duration {
    let job = Launch::threads().topology(parse(topology).unwrap()).choose("alltoall", algorithm);
    let times = job.run(|mut comm| {
        pin(comm.rank());
        timed(block * comm.size(), calls, |send, receive| comm.alltoall(send, receive).unwrap())
    });
    times.unwrap()[0]
}

fn bare(kind: Kind, ranks: usize, block: usize, calls: u64) -> Duration {
    thread::scope(|scope| {
        let threads = members(kind, ranks, block).into_iter().map(|mut member| {
            scope.spawn(move || {
                pin(member.rank());
                timed(block * ranks, calls, |send, receive| member.alltoall(send, receive))
            })
        });
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()[0]
    })
}

fn exchanging(c: &mut Criterion) {
    let mut group = c.benchmark_group("alltoall among threads");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (topology, ranks) in [("complete:2", 2), ("torus:2x2", 4), ("hypercube:3", 8), ("torus:4x4", 16)] {
        for block in [8, 4096, 262_144] {
            group.throughput(Throughput::Bytes((block * (ranks - 1)) as u64));
            for kind in Kind::ALL {
                let id = BenchmarkId::new(format!("{ranks} ranks/bare {}", kind.name()), block);
                group.bench_function(id, |b| b.iter_custom(|calls| bare(kind, ranks, block, calls)));
            }
            for algorithm in ["direct", "direct-rotated", "torus-exchange"] {
                if algorithm == "torus-exchange" && ranks < 16 {
                    continue;
                }
                let id = BenchmarkId::new(format!("{ranks} ranks/{algorithm}"), block);
                group.bench_function(id, |b| {
                    b.iter_custom(|calls| with_all_checks(topology, algorithm, block, calls));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, exchanging);
criterion_main!(benches);

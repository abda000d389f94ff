//! Benchmarks the verification of a whole schedule, round by round.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use necklace::algorithm::Algorithm;
use necklace::algorithm::alltoall::TorusExchange;
use necklace::collective::Collective;
use necklace::schedule::{Problem, verify_shares};
use necklace::topology::{Grid, Topology};

fn proving(c: &mut Criterion) {
    let mut group = c.benchmark_group("verify torus-exchange");
    group.sample_size(10);
    for extents in [&[8, 8][..], &[16, 16], &[8, 8, 8]] {
        let torus = Arc::new(Grid::torus(extents).unwrap());
        let text = torus.text();
        let problem = Problem::new(torus, Collective::Alltoall).unwrap();
        let moved = verify_shares(TorusExchange.shares(&problem).unwrap()).unwrap().volume.as_f64();
        group.throughput(Throughput::Elements(moved as u64 * problem.ranks() as u64));
        group.bench_function(BenchmarkId::from_parameter(text), |b| {
            b.iter(|| verify_shares(TorusExchange.shares(&problem).unwrap()).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, proving);
criterion_main!(benches);

//! One rank's planning: its share of a schedule, and the plan made of it. Per block, it should cost the same on every size.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use necklace::Rank;
use necklace::algorithm::{Algorithm, alltoall::TorusExchange};
use necklace::collective::Collective;
use necklace::plan::{Layout, compile};
use necklace::schedule::{Block, Problem};
use necklace::topology::Grid;

fn planning(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan one rank of torus-exchange");
    group.sample_size(10);
    for side in [8, 16, 32, 64] {
        let problem = Problem::new(Arc::new(Grid::torus(&[side, side]).unwrap()), Collective::Alltoall).unwrap();
        let (rank, size) = (Rank::new(side + 1), problem.ranks());
        let ranks = || (0..size).map(Rank::new);
        let before: Vec<Block> = ranks().map(|to| Block::new(rank, to)).collect();
        let after: Vec<Block> = ranks().map(|from| Block::new(from, rank)).collect();
        let layout = Layout::consecutive(8, 1, &before, &after).unwrap();
        let blocks: usize = TorusExchange
            .share(&problem, rank)
            .unwrap()
            .map(|round| round.sends.iter().map(|end| end.blocks.len()).sum::<usize>())
            .sum();
        group.throughput(Throughput::Elements(blocks as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{side}x{side}")), |b| {
            b.iter(|| compile(black_box(&TorusExchange).share(&problem, rank).unwrap(), &layout).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);

//! Benchmarks one rank's planning: building its share of a schedule, and compiling it to a plan.
//! Time and memory per block that the rank sends, receives, starts or ends with should be the same
//! for every size.
//!
//! The table shows the time and the peak memory of planning, the best of several runs. An argument
//! limits the side of the grid: `cargo bench -p necklace-benches --bench build -- 64`. A second
//! table shows the same of a redistribution, for each rank of a row of such a grid, and the memory
//! that its plan keeps.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use necklace::Rank;
use necklace::algorithm::{Algorithm, find};
use necklace::array::Distribution;
use necklace::collective::Collective;
use necklace::plan::{Layout, compile};
use necklace::schedule::{Block, Problem};
use necklace::topology::Grid;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One rank of an exchange on a square grid.
struct Planning {
    algorithm: Arc<dyn Algorithm>,
    problem: Problem,
    rank: Rank,
    /// Number of blocks that it sends, receives, starts or ends with.
    blocks: usize,
}

impl Planning {
    fn new(name: &str, side: usize) -> Self {
        let algorithm = find(&Collective::Alltoall, name).unwrap();
        let grid = match algorithm.about().name {
            "mesh-exchange" => Grid::mesh(&[side, side]),
            _ => Grid::torus(&[side, side]),
        };
        let problem = Problem::new(Arc::new(grid.unwrap()), Collective::Alltoall).unwrap();
        let sent = algorithm.claims(&problem).volume.unwrap().whole().unwrap() as usize;
        let blocks = 2 * sent + 2 * problem.ranks();
        Self { algorithm, problem, rank: Rank::new(side + 1), blocks }
    }

    fn layout(&self) -> Layout {
        let before: Vec<Block> = self.problem.all().map(|to| Block::new(self.rank, to)).collect();
        let after: Vec<Block> = self.problem.all().map(|from| Block::new(from, self.rank)).collect();
        Layout::consecutive(8, 1, &before, &after).unwrap()
    }

    fn plan(&self, layout: &Layout) {
        let share = black_box(&self.algorithm).share(&self.problem, self.rank).unwrap();
        black_box(compile(share, layout).unwrap());
    }

    /// Returns the time and the peak memory of planning.
    fn cost(&self) -> (Duration, usize) {
        let layout = self.layout();
        let times = (0..3).map(|_| {
            let before = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
            let start = Instant::now();
            self.plan(&layout);
            (start.elapsed(), MEMORY.peak_usage() - before)
        });
        times.min().unwrap()
    }
}

fn planning(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan one rank of torus-exchange");
    group.sample_size(10);
    for side in [8, 16, 32, 64] {
        let planning = Planning::new("torus-exchange", side);
        let layout = planning.layout();
        group.throughput(Throughput::Elements(planning.blocks as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{side}x{side}")), |b| {
            b.iter(|| planning.plan(&layout));
        });
    }
    group.finish();
}

fn table(largest: usize) {
    for name in ["torus-exchange", "mesh-exchange", "mesh-exchange:rings=folded"] {
        println!("{name}: planning one rank");
        println!("{:>9} {:>9} {:>10} {:>9} {:>10} {:>9}", "nodes", "blocks", "ms", "ns/block", "peak MB", "B/block");
        for side in [8, 16, 32, 64, 128, 256].into_iter().filter(|&side| side <= largest) {
            let planning = Planning::new(name, side);
            let ((time, peak), blocks) = (planning.cost(), planning.blocks as f64);
            println!(
                "{:>9} {:>9} {:>10.3} {:>9.1} {:>10.2} {:>9.1}",
                format!("{side}x{side}"),
                planning.blocks,
                time.as_secs_f64() * 1e3,
                time.as_secs_f64() * 1e9 / blocks,
                peak as f64 / 1e6,
                peak as f64 / blocks,
            );
        }
    }
}

/// Prints the cost of turning lines along the last axis of an array into lines along the middle
/// one, on a grid with a thread for each rank: 4096 for 64 x 64. The time is that of all cores divided
/// by the number of ranks, and includes the barriers of planning.
fn redistributions(largest: usize) {
    if largest < 16 {
        return;
    }
    println!("redistribution of 4096 x 4096 x 4096 elements: planning one rank");
    println!("{:>9} {:>10} {:>9} {:>10}", "nodes", "ms", "MB", "peak MB");
    for side in [16, 32, 64].into_iter().filter(|&side| side <= largest) {
        let (cores, ranks) = (std::thread::available_parallelism().map_or(1, usize::from), side * side);
        let costs = necklace::local::run(ranks, |mut comm| {
            let grid = Grid::mesh(&[side; 2]).unwrap();
            let [before, after] = [2, 1].map(|axis| Distribution::pencils(&[4096; 3], axis, &grid));
            comm.barrier().unwrap();
            let memory = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
            comm.barrier().unwrap();
            let start = Instant::now();
            let plan = comm.redistribute_init::<[f64; 2]>(&before.unwrap(), &after.unwrap()).unwrap();
            comm.barrier().unwrap();
            let cost = (start.elapsed(), MEMORY.current_usage().saturating_sub(memory), MEMORY.peak_usage() - memory);
            comm.barrier().unwrap();
            drop(black_box(plan));
            cost
        });
        let (time, kept, peak) = costs.unwrap()[0];
        let each = |bytes: usize| bytes as f64 / ranks as f64 / 1e6;
        println!(
            "{:>9} {:>10.3} {:>9.2} {:>10.2}",
            format!("{side}x{side}"),
            time.as_secs_f64() * 1e3 * cores as f64 / ranks as f64,
            each(kept),
            each(peak),
        );
    }
}

criterion_group!(benches, planning);

fn main() {
    let largest = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    table(largest.unwrap_or(256));
    redistributions(largest.unwrap_or(64));
    if largest.is_none() {
        benches();
        Criterion::default().configure_from_args().final_summary();
    }
}

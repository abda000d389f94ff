//! Benchmarks of building one rank's plan and of verifying a whole schedule.

use std::sync::Arc;
use std::time::Instant;

use necklace::Rank;
use necklace::collective::{Collective, Holding};
use necklace::machine::Machine;
use necklace::plan::{Layout, compile};
use necklace::schedule::{Block, Problem, verify_shares};
use necklace::select::{Terms, select};

use super::transfers::fitting;
use super::{Benchmark, Cell, Name};
use crate::output::Failure;
use crate::problem::problem;

/// The operation that is timed.
type Work = Box<dyn Fn() -> Result<(), Failure>>;

struct Computation {
    collective: String,
    algorithm: String,
    work: Work,
}

impl Benchmark for Computation {
    fn name(&self) -> Name {
        let Self { collective, algorithm, .. } = self;
        Name { system: "necklace", transport: "-", collective: collective.clone(), algorithm: algorithm.clone() }
    }

    fn measure(&mut self) -> Result<Vec<f64>, Failure> {
        // At most ten samples, in about a tenth of a second.
        let begin = Instant::now();
        let mut times = Vec::new();
        while times.is_empty() || times.len() < 10 && begin.elapsed().as_secs_f64() < 0.1 {
            let start = Instant::now();
            (self.work)()?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(times)
    }
}

fn benchmarks(
    cell: &Cell,
    collective: &Collective,
    algorithms: &[String],
    work: impl Fn(Problem, String) -> Work,
) -> Result<Vec<Box<dyn Benchmark>>, Failure> {
    let mut all: Vec<Box<dyn Benchmark>> = Vec::new();
    for algorithm in fitting(&cell.topology, collective, algorithms)? {
        let problem = problem(Arc::clone(&cell.topology), collective.clone(), false)?;
        let work = work(problem, algorithm.clone());
        all.push(Box::new(Computation { collective: collective.text(), algorithm, work }));
    }
    Ok(all)
}

/// Returns benchmarks that build one rank's share and its plan.
pub(super) fn builders(
    cell: &Cell,
    collective: &Collective,
    algorithms: &[String],
) -> Result<Vec<Box<dyn Benchmark>>, Failure> {
    let bytes = cell.bytes;
    benchmarks(cell, collective, algorithms, |problem, algorithm| {
        Box::new(move || {
            let (collective, ranks) = (problem.collective(), problem.ranks());
            // On a mesh, a rank in the middle forwards most.
            let rank = Rank::new(ranks / 2);
            let blocks = |holding: Holding| holding.into_iter().map(|(block, _)| block).collect::<Vec<Block>>();
            let (before, after) = (blocks(collective.before(ranks, rank)), blocks(collective.after(ranks, rank)));
            let failed = |error: &dyn std::error::Error| Failure::of(&algorithm, error);
            let layout = Layout::consecutive(1, bytes, &before, &after).map_err(|error| failed(&error))?;
            let choice = select(&problem, &algorithm, &Terms::new(bytes as u64, &Machine::THREADS))?;
            let share = choice.algorithm.share(&problem, rank)?;
            compile(share, &layout).map(drop).map_err(|error| failed(&error))
        })
    })
}

/// Returns benchmarks that verify the shares of all ranks.
pub(super) fn verifiers(
    cell: &Cell,
    collective: &Collective,
    algorithms: &[String],
) -> Result<Vec<Box<dyn Benchmark>>, Failure> {
    let bytes = cell.bytes;
    benchmarks(cell, collective, algorithms, |problem, algorithm| {
        Box::new(move || {
            let choice = select(&problem, &algorithm, &Terms::new(bytes as u64, &Machine::THREADS))?;
            let shares = choice.algorithm.as_ref().shares(&problem)?;
            let failed = |violations| Failure::Failed(format!("{algorithm}: {violations}"));
            verify_shares(shares).map(drop).map_err(failed)
        })
    })
}

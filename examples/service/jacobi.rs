//! Jacobi's method: each step needs all unknowns, so each ends with an allgather, which is awaited.

use std::cell::Cell;

use necklace::op::Max;
use necklace::{Communicator, Error};

/// How far the computation is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// The steps that are done.
    pub(crate) steps: u64,
    /// The greatest change of an unknown in the last one.
    pub(crate) change: f64,
}

/// Solves x(i) = b(i) + sum over j of a(i, j) x(j) for `unknowns` unknowns, a multiple of the number
/// of ranks, and returns them. `done` says when this rank would stop; all stop when all would.
pub(crate) async fn solve(
    comm: &mut Communicator,
    unknowns: usize,
    progress: &Cell<Progress>,
    mut done: impl FnMut(Progress) -> bool,
) -> Result<Vec<f64>, Error> {
    let part = unknowns / comm.size();
    let first = part * comm.rank();
    let mut known = vec![0.0; unknowns];
    loop {
        let mine: Vec<f64> = (first..first + part).map(|i| equation(i, &known)).collect();
        // Both calls are made by another thread, one after the other, while this one serves.
        let ((_, found), result) =
            comm.start((mine, vec![0.0; unknowns]), |comm, (mine, all)| comm.allgather(mine, all)).await;
        result?;
        let change = known.iter().zip(&found).map(|(old, new)| (old - new).abs()).fold(0.0, f64::max);
        known = found;
        progress.set(Progress { steps: progress.get().steps + 1, change });
        let more = u8::from(!done(progress.get()));
        if comm.start(more, |comm, more| comm.allreduce_one(*more, Max)).await.1? == 0 {
            return Ok(known);
        }
    }
}

/// Returns the right side of equation i: b(i) and a(i, j) are such that x(i) = 1 / (i + 1).
fn equation(i: usize, x: &[f64]) -> f64 {
    let weight = |j: usize| 2.0 / x.len() as f64 * ((i * 7 + j * 3) % 5) as f64 / 5.0;
    let wanted = |j: usize| 1.0 / (j + 1) as f64;
    wanted(i) + x.iter().enumerate().map(|(j, x)| weight(j) * (x - wanted(j))).sum::<f64>()
}

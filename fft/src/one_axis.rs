//! Transforms of one axis that is divided among ranks.
//!
//! A transform of N = A B points is one of a matrix: x has the element a B + b in row a, column b.
//! Transforming the columns, multiplying element (k, b) by the root of unity of k b, and
//! transforming the rows gives frequency k + l A at (k, l) ("four steps", with an exchange before
//! the columns and one after).

use std::iter;
use std::ops::Range;

use necklace::array::{ArrayError, Distribution, Split};
use necklace::topology::Grid;

use crate::layout::{Stage, Work};

/// A transform of one axis: the user's distributions before and after, and the stages between.
pub(crate) struct OneAxis {
    pub(crate) input: Distribution,
    pub(crate) output: Distribution,
    pub(crate) stages: Vec<Stage>,
}

/// Returns a transform in four steps. The input is divided into ranges. So is the output with
/// `natural`; otherwise it is the matrix of A x B frequencies k + l A, by ranges of k.
pub(crate) fn four_steps(points: usize, ranks: usize, batch: usize, natural: bool) -> Result<OneAxis, ArrayError> {
    let rows = squarest(points);
    let columns = points / rows;
    let slabs = |axis| Distribution::slabs(&[rows, columns], axis, ranks)?.batched(batch);
    // The same memory as an array of one axis: a range of the matrix's axis has `each` elements at
    // each index.
    let as_line = |matrix: &Distribution, axis: usize, each: usize| {
        let range = |rank| matrix.range(rank, axis).unwrap_or_default();
        ranges(points, ranks, |rank| range(rank).start * each..range(rank).end * each)?.batched(batch)
    };
    let (by_rows, by_columns) = (slabs(0)?, slabs(1)?);
    let lines = |axis| Work::Lines { axis, modes: [rows, columns][axis] };
    let mut stages = vec![
        Stage::idle(by_rows.clone()),
        Stage::on(by_columns.clone(), vec![lines(0), Work::Twiddle]),
        Stage::on(by_rows.clone(), vec![lines(1)]),
    ];
    let input = as_line(&by_rows, 0, columns)?;
    let output = match natural {
        false => by_rows,
        true => {
            let turned = by_columns.clone().in_order(&[1, 0])?;
            let output = as_line(&turned, 1, rows)?;
            stages.push(Stage::idle(turned));
            output
        }
    };
    Ok(OneAxis { input, output, stages })
}

/// Returns a transform from cyclic to cyclic with one exchange, if P^2 divides N (Koopman &
/// Bisseling, "Minimizing communication in the multidimensional FFT"): a matrix of P x N / P, whose
/// row s has the elements s + j P of rank s.
pub(crate) fn cyclic(points: usize, ranks: usize, batch: usize) -> Result<OneAxis, ArrayError> {
    let grid = Grid::line(ranks).expect("the ranks of a communicator are the nodes of a line");
    let matrix = [ranks, points / ranks];
    let of_matrix = |splits: &[Split]| Distribution::new(&matrix, &grid, splits)?.batched(batch);
    let stages = vec![
        Stage::on(
            of_matrix(&[Split::Block(0), Split::Whole])?,
            vec![Work::Lines { axis: 1, modes: matrix[1] }, Work::Twiddle],
        ),
        Stage::on(of_matrix(&[Split::Whole, Split::Cyclic(0)])?, vec![Work::Lines { axis: 0, modes: ranks }]),
    ];
    let cyclic = Distribution::new(&[points], &grid, &[Split::Cyclic(0)])?.batched(batch)?;
    Ok(OneAxis { input: cyclic.clone(), output: cyclic, stages })
}

/// Returns the largest divisor that is at most the square root.
fn squarest(points: usize) -> usize {
    (1..=points.isqrt()).rev().find(|&divisor| points.is_multiple_of(divisor)).unwrap_or(1)
}

/// Returns the distribution of the first `kept` elements of an array that each rank has at the
/// beginning of its part.
pub(crate) fn half(whole: &Distribution, kept: usize, batch: usize) -> Result<Distribution, ArrayError> {
    if let Some(grid) = whole.grid() {
        return Distribution::new(&[kept], grid, &[Split::Cyclic(0)])?.batched(batch);
    }
    let range = |rank| whole.range(rank, 0).unwrap_or_default();
    ranges(kept, whole.ranks(), |rank| range(rank).start.min(kept)..range(rank).end.min(kept))?.batched(batch)
}

/// Divides an array of one axis into a range for each rank.
fn ranges(points: usize, ranks: usize, range: impl Fn(usize) -> Range<usize>) -> Result<Distribution, ArrayError> {
    let boxes: Vec<Vec<Range<usize>>> = (0..ranks).map(|rank| iter::once(range(rank)).collect()).collect();
    Distribution::boxes(&[points], &boxes)
}

//! Compares the transform over any number of ranks with one on a single rank.
#![allow(clippy::unwrap_used)]

use necklace::local;
use necklace_image::{Transform, difference, on_one_rank, share};
use num_complex::Complex64;
use quickcheck::{QuickCheck, TestResult};

#[test]
fn any_matrix_is_transformed_on_any_number_of_ranks() {
    fn transformed(height: u8, width: u8, ranks: u8, seed: u32) -> TestResult {
        let (height, width) = (1 + usize::from(height % 40), 1 + usize::from(width % 40));
        let value = |i: usize| f64::from((i as u32).wrapping_add(seed).wrapping_mul(2_654_435_761) >> 8);
        let matrix: Vec<Complex64> =
            (0..height * width).map(|i| Complex64::new(value(2 * i), value(2 * i + 1))).collect();
        let mut wanted = matrix.clone();
        on_one_rank(&mut wanted, width, false);
        let largest = wanted.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let right = local::run(1 + usize::from(ranks % 6), |mut comm| {
            let rows = share(height, comm.size(), comm.rank());
            let mut own = matrix[rows.start * width..rows.end * width].to_vec();
            let mut transform = Transform::new(&mut comm, height, width).unwrap();
            transform.forward(&mut comm, &mut own).unwrap();
            let forward = difference(&own, &wanted[rows.start * width..rows.end * width]);
            transform.inverse(&mut comm, &mut own).unwrap();
            let back = difference(&own, &matrix[rows.start * width..rows.end * width]);
            forward <= 1e-12 * largest && back <= 1e-12 * largest
        });
        TestResult::from_bool(right.unwrap().into_iter().all(|right| right))
    }
    QuickCheck::new().tests(100).quickcheck(transformed as fn(u8, u8, u8, u32) -> TestResult);
}

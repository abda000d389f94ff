//! Heat: a plate that is warm at one edge, cut into a part for each rank of a process grid. Each
//! step exchanges the halos of the parts in place.
//!
//! ```text
//! cargo run -p necklace-examples --example heat
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::Max;
use necklace::topology::Grid;
use necklace::{Communicator, Error};

/// Rows and columns of a rank's part, and with its halo.
const PART: [usize; 2] = [6, 5];
const SHAPE: [usize; 2] = [PART[0] + 2, PART[1] + 2];

/// One step on an array with a halo or border of one element. Returns the greatest change.
fn step(plate: &mut [f64], [rows, columns]: [usize; 2]) -> f64 {
    let (old, mut change) = (plate.to_vec(), 0.0_f64);
    for row in 1..rows - 1 {
        for at in row * columns + 1..(row + 1) * columns - 1 {
            plate[at] = (old[at - 1] + old[at + 1] + old[at - columns] + old[at + columns]) / 4.0;
            change = change.max((plate[at] - old[at]).abs());
        }
    }
    change
}

/// Computes until nothing changes much. Returns the part of this rank, and the number of steps.
fn heat(comm: &mut Communicator, extents: &[usize]) -> Result<(Vec<f64>, usize), Error> {
    let mut grid = comm.on_grid(Grid::mesh(extents)?)?;
    let mut plate = vec![0.0; SHAPE[0] * SHAPE[1]];
    // The border above the whole plate is warm; no halo arrives there.
    if grid.shift(0, 1).0.is_none() {
        plate[..SHAPE[1]].fill(1.0);
    }
    let mut halo = grid.halo_init(&SHAPE, 1)?;
    for steps in 1.. {
        halo.execute_in_place(&mut grid, &mut plate)?;
        let change = step(&mut plate, SHAPE);
        if grid.allreduce_one(change, Max)? < 1e-4 {
            return Ok((plate, steps));
        }
    }
    unreachable!("the steps have no end but the one above")
}

fn main() -> Result<(), necklace::JobError> {
    let ends = Launch::from_env().ranks(6).run(|mut comm| {
        let extents = Grid::balanced(comm.size(), 2)?.extents().to_vec();
        let (part, steps) = heat(&mut comm, &extents)?;
        // The same on one rank.
        let shape = [extents[0] * PART[0] + 2, extents[1] * PART[1] + 2];
        let mut whole = vec![0.0; shape[0] * shape[1]];
        whole[..shape[1]].fill(1.0);
        for _ in 0..steps {
            step(&mut whole, shape);
        }
        let corner = [comm.rank() / extents[1] * PART[0], comm.rank() % extents[1] * PART[1]];
        for row in 1..=PART[0] {
            let at = (corner[0] + row) * shape[1] + corner[1] + 1;
            assert_eq!(part[row * SHAPE[1] + 1..][..PART[1]], whole[at..at + PART[1]], "row {row}");
        }
        let warmth = part[SHAPE[1] + 1];
        Ok::<_, Error>(format!("rank {}: {warmth:.4} in its first element after {steps} steps", comm.rank()))
    })?;
    for line in ends {
        println!("{}", line?);
    }
    Ok(())
}

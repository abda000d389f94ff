//! A plan of each kind.

use necklace::op::{Max, Sum, by};
use necklace::{Communicator, Error, Persistent};

use crate::calls::{COUNTS, TOTAL};
use crate::settling::settles;

/// Returns plans of 16 ranks, each with the lengths of its two buffers.
fn plans(comm: &mut Communicator, root: usize) -> Result<Vec<(Persistent<f64>, usize, usize)>, Error> {
    let (is_root, mine) = (comm.rank() == root, COUNTS[comm.rank()]);
    let at_root = |elements: usize| if is_root { elements } else { 0 };
    Ok(vec![
        (comm.alltoall_init(3)?, 48, 48),
        (comm.allgather_init(3)?, 3, 48),
        (comm.allgatherv_init(&COUNTS)?, mine, TOTAL),
        (comm.gather_init(3, root)?, 3, at_root(48)),
        (comm.gatherv_init(mine, &COUNTS, root)?, mine, at_root(TOTAL)),
        (comm.scatter_init(3, root)?, at_root(48), 3),
        (comm.scatterv_init(&COUNTS, mine, root)?, at_root(TOTAL), mine),
        (comm.reduce_init(3, root, Sum)?, 3, at_root(3)),
        (comm.allreduce_init(3, Max)?, 3, 3),
        (comm.reduce_scatter_init(3, Sum)?, 48, 3),
        (comm.reduce_scatterv_init(&COUNTS, Sum)?, TOTAL, mine),
        (comm.scan_init(3, by("least", f64::min))?, 3, 3),
        (comm.exscan_init(3, Sum)?, 3, 3),
        (comm.shift_init(3, 5)?, 3, 3),
    ])
}

/// Returns plans of 16 ranks in place, each with the length of its buffer.
fn plans_in_place(comm: &mut Communicator, root: usize) -> Result<Vec<(Persistent<f64>, usize)>, Error> {
    let all_or_one = if comm.rank() == root { 48 } else { 3 };
    Ok(vec![
        (comm.alltoall_init(3)?.in_place(comm)?, 48),
        (comm.allgather_init(3)?.in_place(comm)?, 48),
        (comm.broadcast_init(3, root)?, 3),
        (comm.gather_init(3, root)?.in_place(comm)?, all_or_one),
        (comm.scatter_init(3, root)?.in_place(comm)?, all_or_one),
        (comm.reduce_init(3, root, Sum)?.in_place(comm)?, 3),
        (comm.allreduce_init(3, Max)?.in_place(comm)?, 3),
        (comm.reduce_scatter_init(3, Sum)?.in_place(comm)?, 48),
        (comm.scan_init(3, by("least", f64::min))?.in_place(comm)?, 3),
        (comm.exscan_init(3, Sum)?.in_place(comm)?, 3),
        (comm.shift_init(3, 5)?.in_place(comm)?, 3),
    ])
}

/// Executes each of the plans again and again.
pub(crate) fn plans_settle(comm: &mut Communicator, root: usize) {
    let (send, mut receive) = ([1.5; 48], [0.0; 48]);
    for (mut plan, sent, received) in plans(comm, root).unwrap() {
        let what = format!("planned {}", plan.description());
        settles(comm, &what, |comm| plan.execute(comm, &send[..sent], &mut receive[..received]).unwrap());
    }
    for (mut plan, elements) in plans_in_place(comm, root).unwrap() {
        let what = format!("planned {} in place", plan.description());
        settles(comm, &what, |comm| plan.execute_in_place(comm, &mut receive[..elements]).unwrap());
    }
    let mut plan = comm.barrier_init().unwrap();
    settles(comm, "planned barrier", |comm| plan.execute(comm, &[], &mut []).unwrap());
}

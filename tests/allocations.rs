//! What allocates, and what does not: executions of plans that were made do not; planning takes
//! memory in proportion to the rank's own blocks.

#![allow(clippy::unwrap_used)]

mod counting;

use std::sync::Arc;

use necklace::algorithm::alltoall::{Bruck, NecklaceExchange, Ring, TorusExchange};
use necklace::algorithm::{Algorithm, find, registry};
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::launch::Launch;
use necklace::local;
use necklace::machine::Machine;
use necklace::op::{Max, Sum, by};
use necklace::permutation::{BitMap, Method};
use necklace::plan::{Layout, compile};
use necklace::schedule::{Block, Problem, from_json, memory_to_sample, memory_to_verify, verify_sample, verify_shares};
use necklace::simulate::Simulation;
use necklace::topology::{Complete, Grid, Hypercube, parse};
use necklace::transport::native::{NativeCall, NativeCollectives, NativeIo};
use necklace::transport::{ContextId, Endpoint, Failure, OpenError, RoundIo, Transport};
use necklace::{Communicator, Error, Persistent, Rank, Strided};

use counting::counted;

/// Does something again and again on every rank; from the third time on nothing may be allocated.
fn settles<C>(comm: &mut C, what: &str, call: impl FnMut(&mut C)) {
    settles_at(0, comm, what, call);
}

/// As [`settles`], with so many allocations each time: of results that the call returns.
fn settles_at<C>(allocations: u64, comm: &mut C, what: &str, mut call: impl FnMut(&mut C)) {
    for turn in 0..20 {
        let ((), count) = counted(|| call(comm));
        assert!(turn < 2 || count.allocations == allocations, "{what}, turn {turn}: {count:?}");
    }
}

/// The lengths of 16 ranks' blocks, where they differ.
const COUNTS: [usize; 16] = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0];

/// Their sum.
const TOTAL: usize = 15;

/// The lengths of the blocks that a rank exchanges with each of 16. What rank i sends to j is as
/// long as what j sends to i.
fn exchanged(rank: usize) -> [usize; 16] {
    std::array::from_fn(|peer| (peer + rank) % 3)
}

/// A call of 16 ranks, given a root and a buffer of 64 elements.
type InPlace = (&'static str, fn(&mut Communicator, usize, &mut [f64]) -> Result<(), Error>);

const IN_PLACE: [InPlace; 16] = [
    ("alltoall", |comm, _, buffer| comm.alltoall_in_place(buffer)),
    ("alltoallv", |comm, _, buffer| {
        let counts = exchanged(comm.rank());
        comm.alltoallv_in_place(&mut buffer[..counts.iter().sum()], &counts)
    }),
    ("alltoallw", |comm, _, buffer| {
        let counts = exchanged(comm.rank());
        let columns: [_; 16] = std::array::from_fn(|peer| Strided::matrix(peer, counts[peer], 1, 16));
        comm.alltoallw_in_place(buffer, &columns)
    }),
    ("allgather", |comm, _, buffer| comm.allgather_in_place(buffer)),
    ("allgatherv", |comm, _, buffer| comm.allgatherv_in_place(&mut buffer[..TOTAL], &COUNTS)),
    ("gather", |comm, root, buffer| {
        let elements = if comm.rank() == root { 48 } else { 3 };
        comm.gather_in_place(&mut buffer[..elements], root)
    }),
    ("gatherv", |comm, root, buffer| {
        let elements = if comm.rank() == root { TOTAL } else { COUNTS[comm.rank()] };
        comm.gatherv_in_place(&mut buffer[..elements], &COUNTS, root)
    }),
    ("scatter", |comm, root, buffer| {
        let elements = if comm.rank() == root { 48 } else { 3 };
        comm.scatter_in_place(&mut buffer[..elements], root)
    }),
    ("scatterv", |comm, root, buffer| {
        let elements = if comm.rank() == root { TOTAL } else { COUNTS[comm.rank()] };
        comm.scatterv_in_place(&mut buffer[..elements], &COUNTS, root)
    }),
    ("reduce", |comm, root, buffer| comm.reduce_in_place(buffer, root, Sum)),
    ("allreduce", |comm, _, buffer| comm.allreduce_in_place(buffer, Max)),
    ("reduce_scatter", |comm, _, buffer| comm.reduce_scatter_in_place(buffer, Sum)),
    ("reduce_scatterv", |comm, _, buffer| comm.reduce_scatterv_in_place(&mut buffer[..TOTAL], &COUNTS, Sum)),
    ("scan", |comm, _, buffer| comm.scan_in_place(buffer, by("least", f64::min))),
    ("exscan", |comm, _, buffer| comm.exscan_in_place(buffer, Sum)),
    ("shift", |comm, _, buffer| comm.shift_in_place(buffer, 5)),
];

/// A short form, given a root, and how many results of it are in memory of their own, at the root
/// and elsewhere.
type Short = (&'static str, [u64; 2], fn(&mut Communicator, usize) -> Result<(), Error>);

const SHORT: [Short; 22] = [
    ("allreduce_one", [0, 0], |comm, _| comm.allreduce_one(1.5, Sum).map(drop)),
    ("reduce_one", [0, 0], |comm, root| comm.reduce_one(1.5, root, Max).map(drop)),
    ("scan_one", [0, 0], |comm, _| comm.scan_one(1.5, Sum).map(drop)),
    ("exscan_one", [0, 0], |comm, _| comm.exscan_one(1.5, Sum).map(drop)),
    ("broadcast_one", [0, 0], |comm, root| comm.broadcast_one((comm.rank() == root).then_some(1.5), root).map(drop)),
    ("scatter_one", [0, 0], |comm, root| {
        comm.scatter_one((comm.rank() == root).then_some(&[1.5; 16][..]), root).map(drop)
    }),
    ("gather_one", [1, 0], |comm, root| comm.gather_one(1.5, root).map(drop)),
    ("allgather_one", [1, 1], |comm, _| comm.allgather_one(1.5).map(drop)),
    ("allreduce_vec", [1, 1], |comm, _| comm.allreduce_vec(&[1.5; 3], Sum).map(drop)),
    ("reduce_vec", [1, 0], |comm, root| comm.reduce_vec(&[1.5; 3], root, Sum).map(drop)),
    ("reduce_scatter_vec", [1, 1], |comm, _| comm.reduce_scatter_vec(&[1.5; 48], Sum).map(drop)),
    ("scan_vec", [1, 1], |comm, _| comm.scan_vec(&[1.5; 3], Sum).map(drop)),
    ("exscan_vec", [1, 1], |comm, _| comm.exscan_vec(&[1.5; 3], Sum).map(drop)),
    ("broadcast_vec", [1, 1], |comm, root| {
        comm.broadcast_vec((comm.rank() == root).then_some(&[1.5; 3][..]), root).map(drop)
    }),
    ("scatter_vec", [1, 1], |comm, root| {
        comm.scatter_vec((comm.rank() == root).then_some(&[1.5; 48][..]), root).map(drop)
    }),
    ("gather_vec", [1, 0], |comm, root| comm.gather_vec(&[1.5; 3], root).map(drop)),
    // The blocks, and their lengths.
    ("gatherv_vec", [2, 0], |comm, root| comm.gatherv_vec(&[1.5; 3], root).map(drop)),
    ("allgatherv_vec", [2, 2], |comm, _| comm.allgatherv_vec(&[1.5; 3]).map(drop)),
    ("alltoall_vec", [1, 1], |comm, _| comm.alltoall_vec(&[1.5; 48]).map(drop)),
    ("alltoallv_vec", [2, 2], |comm, _| comm.alltoallv_vec(&[1.5; 48], &[3; 16]).map(drop)),
    ("scatterv_vec", [1, 1], |comm, root| {
        comm.scatterv_vec((comm.rank() == root).then_some((&[1.5; 48][..], &[3; 16][..])), root).map(drop)
    }),
    ("reduce_scatterv_vec", [1, 1], |comm, _| comm.reduce_scatterv_vec(&[1.5; 48], &[3; 16], Sum).map(drop)),
];

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
fn plans_settle(comm: &mut Communicator, root: usize) {
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

#[test]
fn allocations_are_counted() {
    let (kept, count) = counted(|| {
        drop(vec![0_u8; 1000]);
        vec![1_u8; 10]
    });
    assert_eq!((count.allocations, count.bytes, count.held, count.peak), (2, 1010, 10, 1000));
    drop(kept);
}

#[test]
fn executing_a_plan_allocates_nothing() {
    for algorithm in ["direct", "direct-rotated", "direct-xor", "ring", "torus-exchange"] {
        local::run_on("torus:4x4", |mut comm| {
            comm.choose("alltoall", algorithm).unwrap();
            comm.choose("alltoallv", algorithm).unwrap();
            let (send, mut receive) = ([1_u64; 48], [0_u64; 48]);
            let mut plan = comm.alltoall_init::<u64>(3).unwrap();
            settles(&mut comm, algorithm, |comm| plan.execute(comm, &send, &mut receive).unwrap());
            // Counts of 0 to 3, the same in both directions.
            let counts: Vec<usize> = (0..16).map(|peer| (peer + comm.rank()) % 4).collect();
            let places: Vec<usize> = (0..16).map(|peer| 3 * peer).collect();
            let mut plan = comm.alltoallv_init::<u64>((&counts, &places), (&counts, &places)).unwrap();
            settles(&mut comm, "alltoallv", |comm| plan.execute(comm, &send, &mut receive).unwrap());
            let columns: Vec<Strided> = (0..16).map(|peer| Strided::matrix(peer, counts[peer], 1, 16)).collect();
            let mut plan = comm.alltoallw_init::<u64>(&columns, &columns).unwrap();
            settles(&mut comm, "alltoallw", |comm| plan.execute(comm, &send, &mut receive).unwrap());
            let mut plan = comm.alltoallw_init::<u64>(&columns, &columns).unwrap().in_place(&mut comm).unwrap();
            settles(&mut comm, "alltoallw in place", |comm| plan.execute_in_place(comm, &mut receive).unwrap());
            let mut plan = comm.allgather_init::<u64>(3).unwrap();
            settles(&mut comm, "allgather", |comm| plan.execute(comm, &send[..3], &mut receive).unwrap());
        })
        .unwrap();
    }
}

#[test]
fn repeated_calls_allocate_nothing() {
    for algorithm in ["auto", "direct", "direct-rotated", "direct-xor", "ring", "torus-exchange"] {
        local::run_on("torus:4x4", |mut comm| {
            comm.choose("alltoall", algorithm).unwrap();
            let (send, mut receive) = ([1.5; 48], [0.0; 48]);
            settles(&mut comm, algorithm, |comm| comm.alltoall(&send, &mut receive).unwrap());
            settles(&mut comm, "in place", |comm| comm.alltoall_in_place(&mut receive).unwrap());
            settles(&mut comm, "allgather", |comm| comm.allgather(&send[..3], &mut receive).unwrap());
            settles(&mut comm, "allreduce", |comm| comm.allreduce(&send, &mut receive, Sum).unwrap());
            settles(&mut comm, "scan", |comm| comm.scan(&send, &mut receive, by("least", f64::min)).unwrap());
            settles(&mut comm, "exscan", |comm| comm.exscan(&send, &mut receive, Max).unwrap());
            settles(&mut comm, "reduce_scatter", |comm| comm.reduce_scatter(&send, &mut receive[..3], Sum).unwrap());
            settles(&mut comm, "shift", |comm| comm.shift(&send, &mut receive, 5).unwrap());
            let mut plan = comm.allreduce_init::<f64>(48, Sum).unwrap();
            settles(&mut comm, "planned allreduce", |comm| plan.execute(comm, &send, &mut receive).unwrap());
            settles(&mut comm, "barrier", |comm| comm.barrier().unwrap());
            for root in [0, 7] {
                settles(&mut comm, "broadcast", |comm| comm.broadcast(&mut receive, root).unwrap());
                let is_root = comm.rank() == root;
                settles(&mut comm, "reduce", |comm| {
                    comm.reduce(&send, is_root.then_some(&mut receive[..]), root, Sum).unwrap();
                });
                settles(&mut comm, "gather", |comm| {
                    comm.gather(&send[..3], is_root.then_some(&mut receive[..]), root).unwrap();
                });
                settles(&mut comm, "scatter", |comm| {
                    comm.scatter(is_root.then_some(&send[..]), &mut receive[..3], root).unwrap();
                });
            }
            let (mixed, reversed) = (BitMap::shuffle(6).unwrap(), BitMap::bit_reversal(6).unwrap());
            settles(&mut comm, "permute", |comm| assert!(comm.permute(&mixed, &send[..4], &mut receive[..4]).is_ok()));
            // The same way again changes nothing.
            let straight = How::from("straight");
            comm.choose("permute", &straight).unwrap();
            settles(&mut comm, "permute", |comm| {
                comm.choose("permute", &straight).unwrap();
                comm.permute(&mixed, &send[..4], &mut receive[..4]).unwrap();
            });
            // A choice for one call allocates nothing more, and plans of other choices stay cached.
            let (own, bruck) = (How::from(Arc::new(Bruck::default())), How::from("bruck:radix=3"));
            settles(&mut comm, "using", |comm| {
                comm.using(&own).alltoall(&send, &mut receive).unwrap();
                comm.using(&bruck).alltoall(&send, &mut receive).unwrap();
                comm.using(&straight).permute(&mixed, &send[..4], &mut receive[..4]).unwrap();
                comm.alltoall(&send, &mut receive).unwrap();
            });
            // And all of them in turn.
            settles(&mut comm, "all", |comm| {
                comm.permute(&mixed, &send[..4], &mut receive[..4]).unwrap();
                comm.permute(&reversed, &send[..4], &mut receive[..4]).unwrap();
                comm.permute(&reversed, &send, &mut receive).unwrap();
                comm.alltoall(&send, &mut receive).unwrap();
                comm.allreduce(&send, &mut receive, Sum).unwrap();
                comm.allreduce(&send, &mut receive, Max).unwrap();
                comm.barrier().unwrap();
            });
        })
        .unwrap();
    }
}

#[test]
fn executing_any_kind_of_plan_allocates_nothing() {
    local::run_on("torus:4x4", |mut comm| [0, 7].into_iter().for_each(|root| plans_settle(&mut comm, root))).unwrap();
}

#[test]
fn repeated_calls_in_place_allocate_nothing() {
    local::run_on("torus:4x4", |mut comm| {
        let mut buffer = [1.5; 64];
        for root in [0, 7] {
            for (what, call) in IN_PLACE {
                settles(&mut comm, what, |comm| call(comm, root, &mut buffer).unwrap());
            }
            settles(&mut comm, "all in place", |comm| {
                IN_PLACE.iter().for_each(|(_, call)| call(comm, root, &mut buffer).unwrap());
            });
        }
    })
    .unwrap();
}

#[test]
fn repeated_short_forms_allocate_their_results_only() {
    local::run_on("torus:4x4", |mut comm| {
        for root in [0, 7] {
            for (what, [at_root, elsewhere], call) in SHORT {
                let results = if comm.rank() == root { at_root } else { elsewhere };
                settles_at(results, &mut comm, what, |comm| call(comm, root).unwrap());
            }
        }
    })
    .unwrap();
}

/// Every form of every algorithm, on networks that fit many.
#[test]
fn repeated_calls_by_any_algorithm_allocate_nothing() {
    for network in ["torus:4x4", "hypercube:3", "complete:5"] {
        local::run_on(network, |mut comm| {
            let (size, me) = (comm.size(), Rank::new(comm.rank()));
            for algorithm in registry() {
                let (kind, name) = (algorithm.about().collective, algorithm.name());
                let collective = Collective::named(kind, Rank::new(size / 2)).unwrap();
                if algorithm.priced_as().is_some() || comm.choose(kind, &name).is_err() {
                    continue;
                }
                let elements = if collective == Collective::Barrier { 0 } else { 3 };
                let send = vec![1.5; elements * collective.before(size, me).len()];
                let mut receive = vec![0.0; elements * collective.after(size, me).len()];
                let mut buffer = vec![1.5; send.len().max(receive.len())];
                let what = |form: &str| format!("{form} {collective} by {name} on {network}");
                let op = by("sum", |left: f64, right| left + right).commutative();
                settles(&mut comm, &what("plain"), |comm| comm.perform(&collective, &send, &mut receive, op).unwrap());
                settles(&mut comm, &what("in place"), |comm| {
                    comm.perform_in_place(&collective, &mut buffer, op).unwrap();
                });
                let mut plan = comm.perform_init(&collective, elements, op).unwrap();
                settles(&mut comm, &what("planned"), |comm| plan.execute(comm, &send, &mut receive).unwrap());
                let mut plan = plan.in_place(&mut comm).unwrap();
                settles(&mut comm, &what("planned in place"), |comm| plan.execute_in_place(comm, &mut buffer).unwrap());
            }
        })
        .unwrap();
    }
}

#[test]
fn repeated_calls_with_varying_blocks_allocate_nothing() {
    local::run_on("torus:4x4", |mut comm| {
        let mine = COUNTS[comm.rank()];
        let (send, mut receive) = ([1.5; 64], [0.0; 64]);
        let both = exchanged(comm.rank());
        let total: usize = both.iter().sum();
        let columns: Vec<Strided> = (0..16).map(|peer| Strided::matrix(peer, both[peer], 1, 16)).collect();
        settles(&mut comm, "alltoallv", |comm| {
            comm.alltoallv(&send[..total], &both, &mut receive[..total], &both).unwrap();
        });
        settles(&mut comm, "alltoallw", |comm| comm.alltoallw(&send, &columns, &mut receive, &columns).unwrap());
        settles(&mut comm, "allgatherv", |comm| {
            comm.allgatherv(&send[..mine], &mut receive[..TOTAL], &COUNTS).unwrap();
        });
        settles(&mut comm, "reduce_scatterv", |comm| {
            comm.reduce_scatterv(&send[..TOTAL], &COUNTS, &mut receive[..mine], Sum).unwrap();
        });
        for root in [0, 7] {
            let is_root = comm.rank() == root;
            settles(&mut comm, "gatherv", |comm| {
                let at_root = is_root.then_some(&mut receive[..TOTAL]);
                comm.gatherv(&send[..mine], at_root, &COUNTS, root).unwrap();
            });
            settles(&mut comm, "scatterv", |comm| {
                let at_root = is_root.then_some(&send[..TOTAL]);
                comm.scatterv(at_root, &COUNTS, &mut receive[..mine], root).unwrap();
            });
        }
    })
    .unwrap();
}

#[test]
fn repeated_exchanges_with_neighbours_allocate_nothing() {
    local::run_on("torus:4x4", |mut comm| {
        let near = comm.neighbourhood();
        let (send, mut receive) = ([1.5; 64], [0.0; 64]);
        settles(&mut comm, "neighbour_alltoall", |comm| {
            comm.neighbour_alltoall(&near, &send[..8], &mut receive[..8]).unwrap();
        });
        settles(&mut comm, "neighbour_allgather", |comm| {
            comm.neighbour_allgather(&near, &send[..2], &mut receive[..8]).unwrap();
        });
        let counts = [1, 2, 3, 4];
        settles(&mut comm, "neighbour_allgatherv", |comm| {
            comm.neighbour_allgatherv(&near, &send[..4], &mut receive[..16], &[4; 4]).unwrap();
        });
        let far = {
            let size = comm.size();
            let at = |by| (comm.rank() + by) % size;
            comm.neighbourhood_of(&[at(size - 1), at(size - 2)], &[at(1), at(2)]).unwrap()
        };
        settles(&mut comm, "neighbour_alltoallv", |comm| {
            comm.neighbour_alltoallv(&far, (&send, &counts[..2]), (&mut receive, &counts[..2])).unwrap();
        });
        let columns: Vec<Strided> = (0..4).map(|column| Strided::matrix(column, 3, 1, 4)).collect();
        settles(&mut comm, "neighbour_alltoallw", |comm| {
            comm.neighbour_alltoallw(&near, (&send, &columns), (&mut receive, &columns)).unwrap();
        });
        let rows: Vec<Strided> = (0..4).map(|row| Strided::matrix(32 + 4 * row, 1, 3, 4)).collect();
        settles(&mut comm, "neighbour_alltoallw in place", |comm| {
            comm.neighbour_alltoallw_in_place(&near, &mut receive, &columns, &rows).unwrap();
        });
        let planned = [
            (comm.neighbour_alltoall_init(&near, 2).unwrap(), 8, 8),
            (comm.neighbour_alltoallv_init(&far, &counts[..2], &counts[..2]).unwrap(), 3, 3),
            (comm.neighbour_alltoallw_init(&near, &columns, &columns).unwrap(), 64, 64),
            (comm.neighbour_allgather_init(&near, 2).unwrap(), 2, 8),
            (comm.neighbour_allgatherv_init(&near, 4, &[4; 4]).unwrap(), 4, 16),
        ];
        for (mut plan, sent, received) in planned {
            let what = format!("planned {}", plan.description());
            settles(&mut comm, &what, |comm| plan.execute(comm, &send[..sent], &mut receive[..received]).unwrap());
        }
        let partner = comm.rank() ^ 1;
        settles(&mut comm, "sendrecv", |comm| {
            comm.sendrecv(&send[..3], Some(partner), &mut receive[..3], Some(partner)).unwrap();
        });
        settles(&mut comm, "sendrecv in place", |comm| {
            comm.sendrecv_in_place(&mut receive[..3], Some(partner), Some(partner)).unwrap();
        });
        let mut grid = comm.on_grid(Grid::torus(&[4, 4]).unwrap()).unwrap();
        settles(&mut grid, "halo", |grid| grid.exchange_halo(&mut receive, &[8, 8], 1).unwrap());
        let mut other = [0_u64; 60];
        settles(&mut grid, "halos in turn", |grid| {
            grid.exchange_halo(&mut receive, &[8, 8], 1).unwrap();
            grid.exchange_halo(&mut other, &[6, 10], 1).unwrap();
        });
        let mut plan = grid.halo_init(&[8, 8], 1).unwrap();
        settles(&mut grid, "planned halo", |grid| plan.execute_in_place(grid, &mut receive).unwrap());
    })
    .unwrap();
}

#[test]
fn repeated_permutations_by_exchange_allocate_nothing() {
    local::run_on("hypercube:3", |mut comm| {
        comm.choose("permute", "exchange").unwrap();
        let (send, mut receive) = ([1_u64; 16], [0_u64; 16]);
        let maps = [BitMap::transpose(3, 3).unwrap(), BitMap::unshuffle(6).unwrap()];
        for (map, way) in maps.iter().zip([Method::Exchange(0b111), Method::Exchanges(0b111)]) {
            settles(&mut comm, "by exchanges", |comm| {
                assert_eq!(comm.permute(map, &send, &mut receive).unwrap().method, way);
            });
        }
    })
    .unwrap();
}

/// A backend whose collectives do nothing, so that only the layers above are counted.
#[derive(Debug)]
struct Hollow<T>(T);

impl Endpoint for Hollow<Arc<dyn Endpoint>> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        Ok(Box::new(Hollow(self.0.open(context, members)?)))
    }
}

impl Transport for Hollow<Box<dyn Transport>> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        self.0.round(io)
    }

    fn abort(&mut self, failure: Failure) {
        self.0.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        Some(self)
    }
}

impl NativeCollectives for Hollow<Box<dyn Transport>> {
    fn offers(&mut self, _: &NativeCall) -> bool {
        true
    }

    fn call(&mut self, mut io: NativeIo<'_>) -> Result<(), Failure> {
        io.buffers().1.fill(7);
        Ok(())
    }
}

#[test]
fn repeated_native_calls_allocate_nothing() {
    let network = Arc::new(Grid::torus(&[4, 4]).unwrap());
    let mut job = Launch::threads().topology(network).wrap(|endpoint| Arc::new(Hollow(endpoint)));
    for kind in [
        "alltoall",
        "alltoallv",
        "allgather",
        "allgatherv",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "broadcast",
        "reduce",
        "allreduce",
        "reduce_scatter",
        "reduce_scatterv",
        "scan",
        "exscan",
        "barrier",
    ] {
        job = job.choose(kind, "native");
    }
    job.run(|mut comm| {
        let (send, mut receive) = ([1_u64; 48], [0_u64; 48]);
        settles(&mut comm, "alltoall", |comm| comm.alltoall(&send, &mut receive).unwrap());
        assert_eq!(receive, [0x0707_0707_0707_0707; 48]);
        settles(&mut comm, "in place", |comm| comm.alltoall_in_place(&mut receive).unwrap());
        settles(&mut comm, "allgather", |comm| comm.allgather(&send[..3], &mut receive).unwrap());
        settles(&mut comm, "allreduce", |comm| comm.allreduce(&send, &mut receive, Sum).unwrap());
        settles(&mut comm, "scan", |comm| comm.scan(&send, &mut receive, by("least", u64::min)).unwrap());
        settles(&mut comm, "broadcast", |comm| comm.broadcast(&mut receive, 7).unwrap());
        settles(&mut comm, "allgatherv", |comm| comm.allgatherv(&send[..3], &mut receive, &[3; 16]).unwrap());
        settles(&mut comm, "reduce_scatterv", |comm| {
            comm.reduce_scatterv(&send, &[3; 16], &mut receive[..3], Sum).unwrap();
        });
        settles(&mut comm, "barrier", |comm| comm.barrier().unwrap());
        let mut plan = comm.alltoall_init::<u64>(3).unwrap();
        settles(&mut comm, "a plan", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        let places: Vec<usize> = (0..16).map(|peer| 3 * peer).collect();
        let mut plan = comm.alltoallv_init::<u64>((&[2; 16], &places), (&[2; 16], &places)).unwrap();
        settles(&mut comm, "alltoallv", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        let columns: Vec<Strided> = (0..16).map(|peer| Strided::matrix(peer, 2, 1, 16)).collect();
        let mut plan = comm.alltoallw_init::<u64>(&columns, &columns).unwrap();
        settles(&mut comm, "alltoallw", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        plans_settle(&mut comm, 7);
        // Without a plan, these exchange their counts in every native call.
        for kind in ["alltoallv", "gatherv", "scatterv"] {
            comm.choose(kind, "auto").unwrap();
        }
        let mut buffer = [1.5; 64];
        for (what, call) in IN_PLACE {
            settles(&mut comm, &format!("{what} in place"), |comm| call(comm, 7, &mut buffer).unwrap());
        }
    })
    .unwrap();
}

#[test]
fn plan_memory_covers_only_the_ranks_own_blocks() {
    let per_block = [16_usize, 32, 64].map(|extent| {
        let torus = Arc::new(Grid::torus(&[extent, extent]).unwrap());
        let problem = Problem::new(torus, Collective::Alltoall).unwrap();
        let ranks = problem.ranks();
        // What it sends, by the paper, and as much that it receives; what it starts and ends with.
        let blocks = 2 * (extent + 4) * ranks / 4 + 2 * ranks;
        let rank = Rank::new(ranks / 2 + 3);
        let (plan, count) = counted(|| {
            let before: Vec<Block> = problem.all().map(|to| Block::new(rank, to)).collect();
            let after: Vec<Block> = problem.all().map(|from| Block::new(from, rank)).collect();
            let layout = Layout::consecutive(8, 1, &before, &after).unwrap();
            compile(TorusExchange.share(&problem, rank).unwrap(), &layout).unwrap()
        });
        assert!(!plan.program().rounds().is_empty());
        (count.peak as f64 / blocks as f64, count.bytes as f64 / blocks as f64)
    });
    for (peak, bytes) in per_block {
        assert!(peak < 80.0, "{peak} bytes a block at once");
        assert!(bytes < 1000.0, "{bytes} bytes a block in all");
        assert!(peak < 1.5 * per_block[0].0 && peak > per_block[0].0 / 2.0, "out of proportion: {per_block:?}");
        assert!(bytes < 1.5 * per_block[0].1 && bytes > per_block[0].1 / 2.0, "out of proportion: {per_block:?}");
    }
}

/// Relative addresses are the same for every rank.
#[test]
fn necklace_exchange_shares_refer_to_one_table() {
    let problem = Problem::new(Arc::new(Hypercube::new(9).unwrap()), Collective::Alltoall).unwrap();
    let exchange = NecklaceExchange::default();
    let sent = problem.ranks() as i64 / 2 * 9;
    let held = |ranks: usize, rounds: usize| {
        let work = || {
            let mut shares: Vec<_> = problem.all().take(ranks).map(|rank| exchange.rounds(&problem, rank)).collect();
            shares.iter_mut().for_each(|share| assert!(share.by_ref().take(rounds).count() <= rounds));
            shares
        };
        let (shares, count) = counted(work);
        drop(shares);
        count.held
    };
    for rounds in [0, 1, 4] {
        let (one, all) = (held(1, rounds), held(problem.ranks(), rounds));
        assert!(one <= 12 * sent, "{one} bytes for {sent} elements");
        let each = (all - one) / (problem.ranks() as i64 - 1);
        assert!(each <= 256, "{each} bytes a rank beside the table, after {rounds} rounds");
    }
    let (_, count) = counted(|| held(2, 9));
    assert!(count.held <= 1024, "{count:?} after all shares are gone");
}

/// Almost all that a rank of a ring has to do with it passes on.
#[test]
fn relayed_blocks_take_little_memory_during_planning() {
    let ranks = 400;
    let problem = Problem::new(Arc::new(Complete::new(ranks).unwrap()), Collective::Alltoall).unwrap();
    let rank = Rank::new(7);
    let ((), count) = counted(|| {
        let before: Vec<Block> = problem.all().map(|to| Block::new(rank, to)).collect();
        let after: Vec<Block> = problem.all().map(|from| Block::new(from, rank)).collect();
        let layout = Layout::consecutive(8, 1, &before, &after).unwrap();
        drop(compile(Ring.share(&problem, rank).unwrap(), &layout).unwrap());
    });
    let sent = (ranks * (ranks - 1) / 2) as i64;
    assert!(count.peak < 90 * sent, "{} bytes a block at once", count.peak as f64 / sent as f64);
}

/// How much is sent is known without naming it.
#[test]
fn simulation_of_long_messages_lists_no_blocks() {
    let problem = Problem::new(Arc::new(Grid::torus(&[16, 16]).unwrap()), Collective::Alltoall).unwrap();
    let (played, count) = counted(|| Simulation::new(&Machine::PARAGON, 64).play(&TorusExchange, &problem).unwrap());
    // Ten rounds; their blocks are 1280 a rank, each of them named twice, in 20 bytes.
    assert_eq!(played.messages, 256 * 10);
    assert!(count.bytes < 256 * 1280 * 20, "{count:?}");
}

/// Nor does what ranks do by themselves take any room in it.
#[test]
fn simulation_memory_depends_on_ranks_not_on_local_steps() {
    for dimensions in [7, 9] {
        let (problem, algorithm) = named(&format!("hypercube:{dimensions}"), "reduce_scatter", "pairwise");
        let (played, count) = counted(|| Simulation::new(&Machine::PARAGON, 8).play(&*algorithm, &problem).unwrap());
        let ranks = 1 << dimensions;
        assert_eq!(played.messages, ranks * (ranks - 1));
        assert!(count.peak < 1000 * ranks as i64, "{ranks} ranks: {count:?}");
    }
}

/// Short lists take the least text.
#[test]
fn document_memory_is_proportional_to_its_text() {
    const BLOCK: &str = "[[0,0],[0,0,0,1],[0,1]],";
    for (begins, element, ends) in [
        ("\"phases\":[", "\"\",", ""),
        ("\"placement\":[", "0,", ""),
        ("\"edges\":[", "[0,1],", ""),
        ("\"pre\":[", "[],", ""),
        ("\"pre\":[", "[[[0,0],[0]]],", ""),
        ("\"post\":[[", "[[0,0],[0]],", "]"),
        ("\"post\":[[[[0,0],[", "0,", "]]]]"),
        ("\"rounds\":[", "{\"transfers\":[]},", ""),
        ("\"rounds\":[", "[0,[]],", ""),
        ("\"rounds\":[", "{\"transfers\":[{\"src\":0,\"dst\":1,\"route\":[0],\"blocks\":[[0,1]]}]},", ""),
        ("\"rounds\":[{\"transfers\":[", "{\"src\":0,\"dst\":1,\"blocks\":[]},", "]}"),
        ("\"rounds\":[{\"transfers\":[{\"src\":0,\"dst\":1,\"blocks\":[", "[0,1],", "]}]}"),
        ("\"rounds\":[{\"transfers\":[{\"src\":0,\"dst\":1,\"blocks\":[],\"route\":[", "0,", "]}]}"),
        ("\"rounds\":[{\"transfers\":[],\"local\":[", "{\"rank\":0,\"from\":[0,1],\"into\":[0,1]},", "]}"),
        ("\"else\":[", BLOCK, ""),
        ("\"nodes\":[", BLOCK, ""),
        ("\"algorithm\":\"", "\x7f", "\""),
    ] {
        // A power of two of elements fills what a list that doubles allocates.
        let elements = element.repeat(1 << 17);
        let elements = elements.strip_suffix(',').unwrap_or(&elements);
        let close = if ends == "\"" { "" } else { "]" };
        let text = format!("{{{begins}{elements}{ends}{close}}}");
        let (read, count) = counted(|| from_json(&text).map(drop));
        let name = format!("{begins} {element}");
        assert!(read.is_err(), "{name} is a schedule");
        let most = 8 * text.len() as i64 + 100_000;
        assert!(count.peak <= most, "{name}: {} bytes of {}", count.peak, text.len());
    }
}

/// Returns the named problem, and an algorithm for it.
fn named(topology: &str, collective: &str, algorithm: &str) -> (Problem, Arc<dyn Algorithm>) {
    let kind = Collective::named(collective, Rank::new(0)).unwrap();
    let problem = Problem::new(parse(topology).unwrap(), kind).unwrap();
    let algorithm = find(problem.collective(), algorithm).unwrap();
    (problem, algorithm)
}

/// Estimates are of what the system counts: more than is allocated at once, since freed memory lies
/// in pieces.
#[test]
fn proof_memory_estimate_is_not_too_low() {
    let mut wrong = Vec::new();
    for (topology, collective, algorithm) in [
        ("complete:300", "alltoall", "direct"),
        ("complete:300", "alltoall", "direct-rotated"),
        ("complete:300", "alltoall", "bruck:ports=all"),
        ("torus:16x18", "alltoall", "direct"),
        ("torus:16x16", "alltoall", "torus-exchange"),
        ("torus:20x20", "alltoall", "torus-exchange"),
        ("mesh:15x16", "alltoall", "mesh-exchange"),
        ("mesh:17x17", "alltoall", "by-dimension"),
        ("ring:129", "alltoall", "ring"),
        ("line:250", "alltoall", "ring"),
        ("ring:200", "alltoall", "ring-both"),
        ("ring:450", "alltoall", "bruck"),
        ("hypercube:8", "alltoall", "cube-log"),
        ("hypercube:8", "alltoall", "necklace-exchange"),
        ("hypercube:9", "allgather", "recursive-doubling"),
        ("ring:300", "allgather", "ring"),
        ("ring:450", "barrier", "dissemination"),
        ("ring:3000", "allreduce", "recursive-doubling"),
        // Most channels are never used.
        ("complete:3000", "allreduce", "recursive-doubling"),
        ("ring:3000", "broadcast", "binomial"),
        ("complete:3000", "broadcast", "binomial"),
        ("ring:500", "reduce_scatter", "pairwise"),
        ("complete:600", "reduce_scatter", "pairwise"),
        ("hypercube:9", "reduce_scatter", "recursive-halving"),
        ("complete:20000", "gather", "direct"),
        ("complete:20000", "gather", "binomial"),
        ("complete:20000", "scatter", "direct"),
        ("complete:20000", "scatter", "binomial"),
        ("hypercube:14", "gather", "binomial"),
    ] {
        let (problem, algorithm) = named(topology, collective, algorithm);
        let estimate = memory_to_verify(&*algorithm, &problem).unwrap();
        let (proof, count) = counted(|| verify_shares(algorithm.shares(&problem).unwrap()));
        proof.unwrap();
        let peak = count.peak as u128;
        let name = format!("{collective} on {topology} by {}", algorithm.name());
        wrong.extend((peak * 4 / 3 > estimate || estimate > 3 * peak).then_some((name, peak, estimate)));
    }
    assert!(wrong.is_empty(), "taken and estimated: {wrong:#?}");
}

#[test]
fn sample_memory_estimate_is_not_too_low() {
    let mut wrong = Vec::new();
    for (topology, collective, algorithm) in [
        ("complete:1000", "alltoall", "direct"),
        ("complete:600", "alltoall", "direct-rotated"),
        ("complete:1000", "alltoall", "bruck"),
        ("torus:32x32", "alltoall", "torus-exchange"),
        ("mesh:30x30", "alltoall", "mesh-exchange"),
        ("torus:30x30", "alltoall", "by-dimension"),
        ("line:300", "alltoall", "ring"),
        ("hypercube:10", "alltoall", "cube-log"),
        ("hypercube:9", "alltoall", "necklace-exchange"),
        ("hypercube:12", "allgather", "recursive-doubling"),
        ("complete:3000", "barrier", "dissemination"),
        ("complete:20000", "gather", "direct"),
        ("complete:20000", "gather", "binomial"),
        ("complete:20000", "scatter", "direct"),
        ("complete:20000", "scatter", "binomial"),
        ("hypercube:14", "gather", "binomial"),
    ] {
        let (problem, algorithm) = named(topology, collective, algorithm);
        for ranks in [1, 8] {
            let estimate = memory_to_sample(&*algorithm, &problem, ranks, u128::MAX).unwrap();
            let some = (0..ranks).map(|i| Rank::new(i * problem.ranks() / ranks));
            let (sample, count) = counted(|| verify_sample(&*algorithm, &problem, some, |_| ()));
            sample.unwrap();
            let peak = count.peak as u128;
            let name = format!("{ranks} ranks' parts of {collective} on {topology} by {}", algorithm.name());
            wrong.extend((peak > estimate || estimate > 6 * peak).then_some((name, peak, estimate)));
        }
    }
    assert!(wrong.is_empty(), "taken and estimated: {wrong:#?}");
}

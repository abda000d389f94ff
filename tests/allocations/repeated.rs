//! Executions of a plan and repeated calls, over threads.

use std::sync::Arc;

use necklace::algorithm::alltoall::Bruck;
use necklace::algorithm::registry;
use necklace::array::Distribution;
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::local;
use necklace::op::{Max, Sum, by};
use necklace::permutation::{BitMap, Method};
use necklace::topology::Grid;
use necklace::{Rank, Strided};
use necklace_fft::{Complex, Fft};

use crate::calls::{COUNTS, IN_PLACE, SHORT, TOTAL, exchanged};
use crate::plans::plans_settle;
use crate::settling::{settles, settles_at};

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
fn redistributions_and_transforms_allocate_nothing() {
    local::run(4, |mut comm| {
        let extents = [24, 20, 30];
        let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&extents, axis, 4).unwrap());
        let (mut before, mut after) = (vec![1_u64; 3600], vec![0_u64; 3600]);
        let mut plan = comm.redistribute_init(&rows, &columns).unwrap();
        settles(&mut comm, "redistribution", |_| {
            plan.execute(&before, &mut after).unwrap();
            plan.execute_back(&after, &mut before).unwrap();
            plan.execute_in_place(&mut before).unwrap();
            plan.execute_back_in_place(&mut before).unwrap();
        });
        let mut plan = comm.redistribute_portions_init(&rows, &columns, 0, 3).unwrap();
        settles(&mut comm, "redistribution in portions", |_| {
            plan.execute(0, &before[..1200], &mut after).unwrap();
            plan.execute_back(1, &after, &mut before[..1200]).unwrap();
        });
        let grid = Grid::mesh(&[2, 2]).unwrap();
        let pencils = [2, 1].map(|axis| Distribution::pencils(&extents, axis, &grid).unwrap());
        let mut plan = comm.redistribute_init(&pencils[0], &pencils[1]).unwrap();
        settles(&mut comm, "redistribution of pencils", |_| plan.execute(&before, &mut after).unwrap());
        for fft in [
            Fft::new(&extents).portion(4096),
            Fft::new(&extents).transposed(),
            Fft::new(&extents).grid(&grid).transposed(),
            Fft::new(&extents).modes(&[16, 13, 20]),
            Fft::new(&[720]),
            Fft::new(&[720]).cyclic(),
        ] {
            let mut transform = fft.complex::<f64>(&mut comm).unwrap();
            let mut data = vec![Complex::default(); transform.len()];
            settles(&mut comm, "complex transform", |_| {
                transform.forward(&mut data).unwrap();
                transform.inverse(&mut data).unwrap();
            });
            let mut transform = fft.real::<f32>(&mut comm).unwrap();
            let mut array = vec![0.0; transform.input().local_len(comm.rank())];
            let mut spectrum = vec![Complex::default(); transform.output().local_len(comm.rank())];
            settles(&mut comm, "real transform", |_| {
                transform.forward(&mut array, &mut spectrum).unwrap();
                transform.inverse(&mut spectrum, &mut array).unwrap();
            });
        }
    })
    .unwrap();
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

/// Of the two threads, this is the one that starts the calls; over TCP, both are counted.
#[test]
fn requests_are_started_again_without_allocating() {
    local::run_on("torus:4x4", |mut comm| {
        let buffers = (vec![1.5; 48], vec![0.0; 48]);
        let mut exchange = comm.request(buffers, |comm, (send, receive)| comm.alltoall(send, receive)).unwrap();
        let mut sum = comm.request([1.5; 3], |comm, values| comm.allreduce_in_place(values, Sum)).unwrap();
        let mut plan = None;
        let mut planned = comm
            .request([1.5; 3], move |comm, values| {
                if plan.is_none() {
                    plan = Some(comm.broadcast_init(3, 2)?);
                }
                plan.as_mut().map_or(Ok(()), |plan| plan.execute_in_place(comm, values))
            })
            .unwrap();
        settles(&mut comm, "requests", |_| {
            exchange.start().unwrap();
            sum.start().unwrap();
            planned.start().unwrap();
            [exchange.wait(), sum.wait(), planned.wait()].into_iter().for_each(Result::unwrap);
        });
    })
    .unwrap();
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

//! Exchanges with neighbours, partners and halos.

use necklace::communicator::Neighbourhood;
use necklace::topology::{Grid, Topology};
use necklace::transport::Cause;
use necklace::{Communicator, Error, Node, Rank, Strided};

use super::definitions::{Dice, block, poisoned, same};
use super::failures::{one_failure, run};
use crate::jobs::{self, on, watched};

/// Exchanges blocks in every form; `number(other, i)` is the number that the sender has given to
/// the block that the i-th source has sent.
fn exchanges(comm: &mut Communicator, near: &Neighbourhood, number: impl Fn(usize, usize) -> usize) {
    let me = comm.rank();
    let (to, from): (Vec<_>, Vec<_>) = (near.destinations().collect(), near.sources().collect());
    let content = |from: usize, number: usize, elements: usize| block::<u64>(from, 100 + number, elements);
    for elements in [0, 1, 5] {
        let send: Vec<u64> = (0..to.len()).flat_map(|i| content(me, i, elements)).collect();
        let wanted: Vec<u64> = from
            .iter()
            .enumerate()
            .flat_map(|(i, from)| from.map_or(poisoned(elements), |from| content(from, number(from, i), elements)))
            .collect();
        let mut receive = poisoned(wanted.len());
        comm.neighbour_alltoall(near, &send, &mut receive).unwrap();
        same(comm, "neighbour_alltoall", &receive, &wanted);
        let mut plan = comm.neighbour_alltoall_init(near, elements).unwrap();
        for _ in 0..2 {
            receive.copy_from_slice(&poisoned(wanted.len()));
            plan.execute(comm, &send, &mut receive).unwrap();
            same(comm, "planned neighbour_alltoall", &receive, &wanted);
        }
        let own = content(me, 9, elements);
        let wanted: Vec<u64> =
            from.iter().flat_map(|from| from.map_or(poisoned(elements), |from| content(from, 9, elements))).collect();
        receive.copy_from_slice(&poisoned(wanted.len()));
        comm.neighbour_allgather(near, &own, &mut receive).unwrap();
        same(comm, "neighbour_allgather", &receive, &wanted);
        let mut plan = comm.neighbour_allgather_init(near, elements).unwrap();
        receive.copy_from_slice(&poisoned(wanted.len()));
        plan.execute(comm, &own, &mut receive).unwrap();
        same(comm, "planned neighbour_allgather", &receive, &wanted);
    }
    // Of any lengths, which both ends know, and in any place: here every second element.
    let length = |from: usize, number: usize| (2 * from + number) % 4;
    let sent: Vec<usize> = (0..to.len()).map(|i| length(me, i)).collect();
    let expected: Vec<usize> =
        from.iter().enumerate().map(|(i, from)| from.map_or(0, |from| length(from, number(from, i)))).collect();
    let send: Vec<u64> = (0..to.len()).flat_map(|i| content(me, i, sent[i])).collect();
    let wanted: Vec<u64> = from
        .iter()
        .enumerate()
        .flat_map(|(i, from)| from.map_or(vec![], |from| content(from, number(from, i), expected[i])))
        .collect();
    let mut receive = poisoned(wanted.len());
    comm.neighbour_alltoallv(near, (&send, &sent), (&mut receive, &expected)).unwrap();
    same(comm, "neighbour_alltoallv", &receive, &wanted);
    let mut plan = comm.neighbour_alltoallv_init(near, &sent, &expected).unwrap();
    receive.copy_from_slice(&poisoned(wanted.len()));
    plan.execute(comm, &send, &mut receive).unwrap();
    same(comm, "planned neighbour_alltoallv", &receive, &wanted);
    every_length_is_collected(comm, near);
    let every_second = |counts: &[usize], first: usize| -> Vec<Strided> {
        let begin = |i: usize| counts[..i].iter().sum::<usize>();
        (0..counts.len())
            .map(|i| Strided::run(first + 2 * begin(i), 1).repeated(counts[i], 2))
            .map(Strided::transposed)
            .collect()
    };
    let spread = |values: &[u64]| values.iter().flat_map(|&value| [value, 7]).collect::<Vec<u64>>();
    let mut receive = vec![7; 2 * wanted.len()];
    let (from, into) = (every_second(&sent, 0), every_second(&expected, 0));
    comm.neighbour_alltoallw(near, (&spread(&send), &from), (&mut receive, &into)).unwrap();
    same(comm, "neighbour_alltoallw", &receive, &spread(&wanted));
    // The same within one buffer, whose other half is received.
    let into = every_second(&expected, 2 * send.len());
    let before = [spread(&send), vec![7; 2 * wanted.len()]].concat();
    let wanted = [spread(&send), spread(&wanted)].concat();
    let mut buffer = before.clone();
    comm.neighbour_alltoallw_in_place(near, &mut buffer, &from, &into).unwrap();
    same(comm, "neighbour_alltoallw in place", &buffer, &wanted);
    let mut plan = comm.neighbour_alltoallw_init::<u64>(near, &from, &into).unwrap().in_place(comm).unwrap();
    for _ in 0..2 {
        buffer.copy_from_slice(&before);
        plan.execute_in_place(comm, &mut buffer).unwrap();
        same(comm, "planned neighbour_alltoallw in place", &buffer, &wanted);
    }
}

/// Collects from the neighbours blocks of lengths that differ between ranks, also of none, with a
/// gap between them.
fn every_length_is_collected(comm: &mut Communicator, near: &Neighbourhood) {
    let me = comm.rank();
    let counts: Vec<usize> = near.sources().map(|from| from.map_or(0, |from| from % 3)).collect();
    let places: Vec<usize> = (0..counts.len()).map(|i| 4 * i + 1).collect();
    let mut wanted = poisoned(4 * counts.len());
    for ((from, &count), &at) in near.sources().zip(&counts).zip(&places) {
        wanted[at..at + count].copy_from_slice(&block::<u64>(from.unwrap_or(0), 8, count));
    }
    let (own, mut receive) = (block::<u64>(me, 8, me % 3), poisoned(wanted.len()));
    comm.neighbour_allgatherv(near, &own, &mut receive, (&counts, &places)).unwrap();
    same(comm, "neighbour_allgatherv", &receive, &wanted);
    let mut plan = comm.neighbour_allgatherv_init(near, me % 3, (&counts, &places)).unwrap();
    receive.copy_from_slice(&poisoned(wanted.len()));
    plan.execute(comm, &own, &mut receive).unwrap();
    same(comm, "planned neighbour_allgatherv", &receive, &wanted);
}

pub(super) fn neighbours_in_the_network_exchange_blocks() {
    for network in ["complete:1", "ring:2", "ring:5", "line:4", "torus:4x3", "hypercube:3", "complete:5"] {
        watched(network, move || {
            let run = on(network).run(|mut comm| {
                let near = comm.neighbourhood();
                let links = comm.topology().neighbours(Node::new(comm.rank()));
                assert!(near.sources().eq(links.iter().map(|node| Some(node.index()))));
                let back = {
                    let topology = std::sync::Arc::clone(comm.topology());
                    let me = Node::new(comm.rank());
                    move |other: usize, _: usize| {
                        topology.neighbours(Node::new(other)).iter().position(|node| *node == me).unwrap()
                    }
                };
                exchanges(&mut comm, &near, back);
            });
            run.unwrap();
        });
    }
}

pub(super) fn neighbours_in_a_grid_are_matched_by_direction() {
    // On an axis of two, both neighbours are one rank; on an axis of one, they are the rank itself.
    for (extents, wraps) in [
        (vec![2], true),
        (vec![1], true),
        (vec![5], true),
        (vec![2, 2], true),
        (vec![3, 1, 2], true),
        (vec![2, 3], false),
        (vec![4], false),
    ] {
        watched(&format!("{extents:?}, wraps: {wraps}"), move || {
            jobs::run(extents.iter().product(), |mut comm| {
                let grid = if wraps { Grid::torus(&extents) } else { Grid::mesh(&extents) };
                let mut grid = comm.on_grid(grid.unwrap()).unwrap();
                let near = grid.neighbourhood();
                for axis in 0..extents.len() {
                    let (behind, ahead) = grid.shift(axis, 1);
                    let found: Vec<_> = near.destinations().collect();
                    assert_eq!(found[2 * axis..2 * axis + 2], [behind, ahead]);
                    assert!(near.sources().eq(found));
                }
                // What comes from behind was sent ahead.
                exchanges(&mut grid, &near, |_, i| i ^ 1);
            })
            .unwrap();
        });
    }
}

pub(super) fn neighbours_in_any_graph_are_matched_in_order() {
    for (ranks, seed) in [(1, 1), (2, 2), (5, 3), (7, 4), (8, 5)] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let me = comm.rank();
                let mut dice = Dice(seed);
                // The receivers of each rank, some of them several times.
                let graph: Vec<Vec<usize>> =
                    (0..ranks).map(|_| (0..dice.below(6)).map(|_| dice.below(ranks)).collect()).collect();
                let mut sources: Vec<usize> = (0..ranks)
                    .flat_map(|from| vec![from; graph[from].iter().filter(|to| **to == me).count()])
                    .collect();
                // In any order of the ranks.
                sources.reverse();
                let near = comm.neighbourhood_of(&sources, &graph[me]).unwrap();
                let number = |from: usize, i: usize| {
                    let before = sources[..i].iter().filter(|other| **other == from).count();
                    (0..graph[from].len()).filter(|&at| graph[from][at] == me).nth(before).unwrap()
                };
                exchanges(&mut comm, &near, number);
            })
            .unwrap();
        });
    }
}

pub(super) fn halo_of_an_array_is_exchanged_in_place() {
    for (extents, wraps, width) in [
        (vec![1], true, 1),
        (vec![2], true, 2),
        (vec![3], false, 1),
        (vec![2, 2], true, 1),
        (vec![1, 3], true, 2),
        (vec![2, 3], false, 1),
        (vec![2, 1, 2], true, 1),
    ] {
        watched(&format!("{extents:?}, wraps: {wraps}"), move || {
            jobs::run(extents.iter().product(), |mut comm| {
                let grid = if wraps { Grid::torus(&extents) } else { Grid::mesh(&extents) };
                let mut grid = comm.on_grid(grid.unwrap()).unwrap();
                let axes = extents.len();
                // The interior of each rank, different along each axis.
                let inner: Vec<usize> = (0..axes).map(|axis| width + axis + 1).collect();
                let shape: Vec<usize> = inner.iter().map(|n| n + 2 * width).collect();
                let at = grid.coordinates(grid.rank());
                let all: usize = shape.iter().product();
                let index = |mut i: usize| -> Vec<usize> {
                    let mut index: Vec<usize> = shape.iter().rev().map(|n| (i % n, i /= n).0).collect();
                    index.reverse();
                    index
                };
                // The value of an element is its place in the whole array.
                let value = |i: usize, halo: bool| -> i64 {
                    let outside =
                        index(i).iter().zip(&inner).filter(|(x, n)| **x < width || **x >= width + **n).count();
                    if outside > 1 || outside == 1 && !halo {
                        return -1;
                    }
                    let mut value = 0;
                    for (axis, x) in index(i).into_iter().enumerate() {
                        let whole = (inner[axis] * extents[axis]) as i64;
                        let x = (at[axis] * inner[axis] + x) as i64 - width as i64;
                        if !wraps && !(0..whole).contains(&x) {
                            return -1;
                        }
                        value = value * whole + x.rem_euclid(whole);
                    }
                    value
                };
                let before: Vec<i64> = (0..all).map(|i| value(i, false)).collect();
                let wanted: Vec<i64> = (0..all).map(|i| value(i, true)).collect();
                let mut array = before.clone();
                grid.exchange_halo(&mut array, &shape, width).unwrap();
                same(&grid, "halo", &array, &wanted);
                let mut plan = grid.halo_init(&shape, width).unwrap();
                for _ in 0..2 {
                    array.copy_from_slice(&before);
                    plan.execute_in_place(&mut grid, &mut array).unwrap();
                    same(&grid, "planned halo", &array, &wanted);
                }
            })
            .unwrap();
        });
    }
}

pub(super) fn blocks_are_shifted_and_swapped() {
    for ranks in [1, 2, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let me = comm.rank();
                for by in [0, 1, -1, 3, -13, isize::MAX, isize::MIN] {
                    let from = (me as i128 - by as i128).rem_euclid(ranks as i128) as usize;
                    let (send, wanted) = (block::<u64>(me, 1, 4), block::<u64>(from, 1, 4));
                    let mut receive = poisoned(4);
                    comm.shift(&send, &mut receive, by).unwrap();
                    same(&comm, "shift", &receive, &wanted);
                    receive.copy_from_slice(&send);
                    comm.shift_in_place(&mut receive, by).unwrap();
                    same(&comm, "shift in place", &receive, &wanted);
                    let mut plan = comm.shift_init(4, by).unwrap();
                    plan.execute(&mut comm, &send, &mut receive).unwrap();
                    same(&comm, "planned shift", &receive, &wanted);
                }
                // A random permutation, of which some ranks are left out.
                let (order, mut dice) = (Dice(ranks as u64).order(ranks), Dice(9));
                let out: Vec<bool> = (0..ranks).map(|_| dice.below(3) == 0).collect();
                let to = |rank: usize| Some(order[rank]).filter(|_| !out[rank]);
                let from = (0..ranks).find(|&rank| to(rank) == Some(me));
                let (send, mut receive) = (block::<u64>(me, 2, 3), poisoned(3));
                comm.sendrecv(&send, to(me), &mut receive, from).unwrap();
                same(&comm, "sendrecv", &receive, &from.map_or(poisoned(3), |from| block(from, 2, 3)));
                let mut buffer = send.clone();
                comm.sendrecv_in_place(&mut buffer, to(me), from).unwrap();
                same(&comm, "sendrecv in place", &buffer, &from.map_or(send, |from| block(from, 2, 3)));
            })
            .unwrap();
        });
    }
}

pub(super) fn disagreeing_neighbours_are_told() {
    watched("graph", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            // Rank 1 expects nothing of rank 0.
            let (sources, destinations): (&[usize], &[usize]) =
                [(&[][..], &[1][..]), (&[2], &[]), (&[], &[1])][comm.rank()];
            comm.neighbourhood_of(sources, destinations).map(drop).and_then(|()| comm.barrier())
        });
        let failure = one_failure(&outcomes);
        assert_eq!(failure.culprit, Some(Rank::new(1)));
        assert!(failure.to_string().contains("rank 0 sends it 1 blocks; it expects 0"), "{failure}");
    });
    watched("nothing", || {
        let outcomes = run(on("ring:4"), |mut comm| {
            let near = comm.neighbourhood();
            let elements = if comm.rank() == 2 { 0 } else { 2 };
            comm.neighbour_alltoall(&near, &vec![1_u64; elements], &mut vec![0; elements]).and_then(|()| comm.barrier())
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        assert!(failure.to_string().contains("neighbour_alltoall"), "{failure}");
    });
    watched("lengths", || {
        let outcomes = run(on("ring:4"), |mut comm| {
            let near = comm.neighbourhood();
            let elements = if comm.rank() == 2 { 6 } else { 2 };
            comm.neighbour_alltoall(&near, &vec![1_u64; elements], &mut vec![0; elements]).and_then(|()| comm.barrier())
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Length { .. }), "{failure}");
    });
    // Two directions lead to one rank, and the sums agree.
    for name in ["alltoallv", "alltoallw", "allgatherv", "alltoallv_init"] {
        watched(name, move || {
            let outcomes = run(on("complete:2"), move |mut comm| {
                let mut comm = comm.on_grid(Grid::torus(&[2]).unwrap())?;
                let near = comm.neighbourhood();
                let (sent, received) = if comm.rank() == 0 { ([1, 3], [2, 2]) } else { ([2, 2], [1, 3]) };
                let parts = |counts: [usize; 2]| [Strided::run(0, counts[0]), Strided::run(counts[0], counts[1])];
                let (send, mut receive) = ([7_u32; 4], [0; 4]);
                let outcome = match name {
                    "alltoallv" => comm.neighbour_alltoallv(&near, (&send, &sent), (&mut receive, &received)),
                    "alltoallw" => {
                        comm.neighbour_alltoallw(&near, (&send, &parts(sent)), (&mut receive, &parts(received)))
                    }
                    "allgatherv" => comm.neighbour_allgatherv(&near, &send[..2], &mut receive, &received),
                    _ => comm
                        .neighbour_alltoallv_init(&near, &sent, &received)
                        .and_then(|mut plan| plan.execute(&mut comm, &send, &mut receive)),
                };
                outcome.and_then(|()| comm.barrier())
            });
            let failure = one_failure(&outcomes);
            let Cause::Length { from, to, expected, found, .. } = failure.cause else { panic!("{failure}") };
            let (expected, found) = (expected / 4, found / 4);
            assert!(from != to && expected != found, "{failure}");
            assert!([expected, found].iter().all(|elements| (1..=3).contains(elements)), "{failure}");
        });
    }
    watched("widths", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            let mut comm = comm.on_grid(Grid::torus(&[3, 1]).unwrap())?;
            let width = if comm.rank() == 0 { 2 } else { 1 };
            comm.exchange_halo(&mut [0_u64; 48], &[8, 6], width).and_then(|()| comm.barrier())
        });
        let words = one_failure(&outcomes).to_string();
        assert!(words.contains("halo of 1") && words.contains("halo of 2"), "{words}");
    });
    watched("distances", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            comm.shift(&[1], &mut [0], if comm.rank() == 1 { 2 } else { 1 }).and_then(|()| comm.barrier())
        });
        let words = one_failure(&outcomes).to_string();
        assert!(words.contains("by 1") && words.contains("by 2"), "{words}");
    });
}

pub(super) fn mistakes_with_neighbours_are_refused() {
    watched("refused", || {
        jobs::run(3, |mut comm| {
            let refused = |outcome: Result<(), Error>, words: &str| {
                let found = outcome.unwrap_err().to_string();
                assert!(found.contains(words), "{found} instead of {words}");
            };
            let near = comm.neighbourhood();
            refused(comm.neighbour_alltoall(&near, &[1; 3], &mut [0; 3]), "multiple of 2");
            refused(comm.neighbour_alltoall(&near, &[1; 4], &mut [0; 2]), "receive buffer");
            refused(comm.neighbour_allgather(&near, &[1; 3], &mut [0; 5]), "multiple of 2");
            refused(comm.neighbour_alltoallv(&near, (&[1; 3], &[1, 1, 1]), (&mut [0; 3], &[1, 1])), "send counts");
            refused(comm.neighbour_allgatherv(&near, &[1], &mut [0; 3], &[1; 3]), "receive counts");
            refused(comm.neighbour_allgatherv(&near, &[1], &mut [0; 1], &[1; 2]), "receive block 1");
            refused(comm.neighbour_alltoallv_init::<u8>(&near, &[1], &[1; 2]).map(drop), "send counts");
            refused(comm.neighbour_allgather_init::<u8>(&near, usize::MAX).map(drop), "receive block");
            let one = [Strided::run(0, 1)];
            refused(comm.neighbour_alltoallw(&near, (&[1; 3], &one), (&mut [0; 3], &one)), "list of send blocks");
            let me = comm.rank();
            comm.sendrecv::<u64>(&[], None, &mut [], Some(me)).unwrap();
            comm.sendrecv::<u64>(&[], Some(me), &mut [], None).unwrap();
            refused(comm.sendrecv(&[], None, &mut [1], Some(me)), "sends itself 0 and expects 1 elements");
            refused(comm.sendrecv(&[1], Some(me), &mut [], None), "sends itself 1 and expects 0 elements");
            refused(comm.sendrecv(&[1], Some(3), &mut [0], None), "rank 3");
            refused(comm.sendrecv(&[1], None, &mut [0], Some(7)), "rank 7");
            refused(comm.shift(&[1], &mut [0; 2], 1), "receive buffer");
            // Of the two directions that lead back to the rank, each must agree.
            let twice = comm.neighbourhood_of(&[me, me], &[me, me]).unwrap();
            let (counts, other) = ([1, 3], [3, 1]);
            refused(
                comm.neighbour_alltoallv(&twice, (&[1; 4], &counts), (&mut [0; 4], &other)),
                "sends itself 1 and expects 3 elements",
            );
            let two = [Strided::run(0, 1), Strided::run(0, 1)];
            refused(comm.neighbour_alltoallw(&near, (&[1; 3], &two), (&mut [0; 3], &two)), "overlap");
            let mut other = comm.dup().unwrap();
            refused(other.neighbour_alltoall(&near, &[1; 2], &mut [0; 2]), "made");
            let mut grid = comm.on_grid(Grid::torus(&[3]).unwrap()).unwrap();
            refused(grid.exchange_halo(&mut [0; 5], &[5], 2), "three times");
            refused(grid.exchange_halo(&mut [0; 5], &[5, 1], 1), "[5, 1]");
            refused(grid.exchange_halo(&mut [0; 6], &[5], 1), "buffer");
            comm.barrier().unwrap();
        })
        .unwrap();
    });
}

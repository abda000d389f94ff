//! Process grids, and communicators along their axes.

use necklace::communicator::Cartesian;
use necklace::topology::{Grid, Topology};
use necklace::transport::Cause;
use necklace::{Communicator, Error};

use super::failures::{one_failure, run};
use crate::jobs::{self, on, watched};

/// The coordinates of every rank, by counting.
fn coordinates(extents: &[usize]) -> Vec<Vec<usize>> {
    extents.iter().fold(vec![vec![]], |all, &extent| {
        let longer = |at: &Vec<usize>| (0..extent).map(|x| [&at[..], &[x]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(longer).collect()
    })
}

pub(super) fn ranks_along_axes_form_communicators() {
    for (network, extents) in [("torus:4x3", vec![4, 3]), ("ring:12", vec![3, 2, 2]), ("complete:6", vec![1, 6])] {
        watched(network, move || {
            let run = on(network).run(|mut comm| {
                let me = comm.rank();
                let all = coordinates(&extents);
                let mut grid = comm.on_grid(Grid::torus(&extents).unwrap()).unwrap();
                assert_eq!((grid.rank(), grid.size()), (me, comm.size()));
                for (rank, at) in all.iter().enumerate() {
                    assert_eq!(grid.coordinates(rank)[..], at[..]);
                    let around: Vec<isize> = at.iter().zip(&extents).map(|(&x, &n)| x as isize - n as isize).collect();
                    assert_eq!(grid.rank_at(&around), Some(rank));
                }
                for (axis, &extent) in extents.iter().enumerate() {
                    let same = |at: &Vec<usize>| (0..at.len()).all(|i| i == axis || at[i] == all[me][i]);
                    let wanted: Vec<usize> = (0..all.len()).filter(|&rank| same(&all[rank])).collect();
                    let mut line = grid.axis(axis).unwrap();
                    assert_eq!(line.allgather_one(me).unwrap(), wanted);
                    assert_eq!(line.grid().extents(), [extent]);
                    let at = wanted.iter().position(|&rank| rank == me).unwrap();
                    for by in [isize::MIN, -7, -1, 0, 1, 5, isize::MAX] {
                        let rank = |x: i128| Some(wanted[x.rem_euclid(wanted.len() as i128) as usize]);
                        let (at, far) = (at as i128, by as i128);
                        assert_eq!(grid.shift(axis, by), (rank(at - far), rank(at + far)), "{by} along {axis}");
                    }
                }
                // The whole, with its axes in reverse order: transposed.
                let axes: Vec<usize> = (0..extents.len()).rev().collect();
                let mut turned = grid.plane(&axes).unwrap();
                let mut wanted: Vec<usize> = (0..all.len()).collect();
                wanted.sort_by_key(|&rank| all[rank].iter().rev().copied().collect::<Vec<_>>());
                assert_eq!(turned.allgather_one(me).unwrap(), wanted);
                // A part of a part.
                let mut line = turned.axis(0).unwrap();
                assert_eq!(line.size(), *extents.last().unwrap());
                line.barrier().unwrap();
                comm.barrier().unwrap();
            });
            run.unwrap();
        });
    }
}

pub(super) fn parts_of_a_grid_know_their_part_of_the_network() {
    watched("torus:4x4", || {
        let texts = on("torus:4x4").run(|mut comm| {
            let mut grid = comm.on_grid(Grid::torus(&[4, 4]).unwrap()).unwrap();
            let (row, column) = (grid.axis(1).unwrap(), grid.axis(0).unwrap());
            [row.topology().text(), column.topology().text(), grid.topology().text()]
        });
        assert!(texts.unwrap().iter().all(|texts| *texts == ["ring:4", "ring:4", "torus:4x4"]));
    });
}

pub(super) fn meshes_end_at_their_borders() {
    watched("mesh", || {
        jobs::run(6, |mut comm| {
            let me = comm.rank();
            let grid = comm.on_grid(Grid::mesh(&[2, 3]).unwrap()).unwrap();
            let (row, column) = (me / 3, me % 3);
            assert_eq!(grid.shift(1, 1), ((column > 0).then(|| me - 1), (column < 2).then(|| me + 1)));
            assert_eq!(grid.shift(0, 1), ((row > 0).then(|| me - 3), (row < 1).then(|| me + 3)));
            assert_eq!(grid.shift(2, 1), (None, None));
            assert_eq!(grid.rank_at(&[0, 3]), None);
            assert_eq!(grid.rank_at(&[-1, 0]), None);
            assert_eq!(grid.rank_at(&[1]), None);
            assert_eq!(grid.rank_at(&[1, 2, 0]), None);
            assert_eq!(grid.shift(1, isize::MAX), (None, None));
        })
        .unwrap();
    });
}

pub(super) fn wrong_grids_and_axes_are_refused() {
    watched("wrong", || {
        jobs::run(4, |mut comm| {
            let words = comm.on_grid(Grid::torus(&[3, 2]).unwrap()).unwrap_err().to_string();
            assert!(words.contains("torus:3x2") && words.contains('6') && words.contains('4'), "{words}");
            let mut grid = comm.on_grid(Grid::balanced(4, 2).unwrap()).unwrap();
            for axes in [&[][..], &[2], &[0, 0], &[1, 2]] {
                let words = grid.plane(axes).unwrap_err().to_string();
                assert!(words.contains(&format!("{axes:?}")), "{words}");
            }
            assert!(grid.axis(7).is_err());
            grid.barrier().unwrap();
        })
        .unwrap();
        let outcomes = run(on("complete:4"), |mut comm| {
            let extents = if comm.rank() == 2 { [4, 1] } else { [2, 2] };
            comm.on_grid(Grid::torus(&extents).unwrap())
                .map(|grid| assert!(grid.size() == 4))
                .and_then(|()| comm.barrier())
        });
        let words = one_failure(&outcomes).to_string();
        assert!(words.contains("torus:2x2") && words.contains("torus:4x1"), "{words}");
    });
}

pub(super) fn threads_have_communicators_of_their_own() {
    watched("threads", || {
        jobs::run(3, |mut comm| {
            assert!(comm.for_threads(0).unwrap().is_empty());
            let comms = comm.for_threads(4).unwrap();
            std::thread::scope(|scope| {
                for (number, mut own) in comms.into_iter().enumerate() {
                    scope.spawn(move || {
                        for turn in 0..20 {
                            let all = own.allgather_one(1000 * turn + 10 * number + own.rank()).unwrap();
                            let wanted: Vec<usize> = (0..3).map(|rank| 1000 * turn + 10 * number + rank).collect();
                            assert_eq!(all, wanted);
                        }
                    });
                }
            });
        })
        .unwrap();
    });
}

pub(super) fn duplicates_keep_the_grid() {
    watched("duplicates", || {
        jobs::run(6, |mut comm| {
            let mut grid = comm.on_grid(Grid::mesh(&[2, 3]).unwrap()).unwrap();
            let row = grid.rank() / 3;
            let mut twins = grid.for_threads(2).unwrap();
            twins.push(grid.dup().unwrap());
            let twin = twins[0].dup().unwrap();
            twins.push(twin);
            twins.push(grid.axis(1).unwrap().dup().unwrap());
            for (number, twin) in twins.iter_mut().enumerate() {
                let extents = if number < 4 { &[2, 3][..] } else { &[3] };
                assert_eq!((twin.grid().extents(), twin.grid().wraps()), (extents, false));
                let last = extents.len() - 1;
                let mut line = twin.axis(last).unwrap();
                let wanted: Vec<usize> = (0..3).map(|column| 10 * number + 3 * row + column).collect();
                assert_eq!(line.allgather_one(10 * number + grid.rank()).unwrap(), wanted);
            }
        })
        .unwrap();
    });
}

pub(super) fn different_parts_of_a_grid_are_found_in_the_next() {
    type Parts = fn(&mut Cartesian, bool) -> Result<(), Error>;
    type Next = fn(&mut Communicator) -> Result<(), Error>;
    let parts: [(&str, Parts); 3] = [
        ("axes", |grid, odd| grid.axis(usize::from(odd)).map(drop)),
        ("numbers", |grid, odd| (0..1 + usize::from(odd)).try_for_each(|_| grid.axis(0).map(drop))),
        ("orders", |grid, odd| grid.plane(if odd { &[0, 1] } else { &[1, 0] }).map(drop)),
    ];
    let next: [(&str, Next); 4] = [
        ("dup", |comm| comm.dup().map(drop)),
        ("for_threads", |comm| comm.for_threads(2).map(drop)),
        ("split", |comm| comm.split(0, 0).map(drop)),
        ("on_grid", |comm| comm.on_grid(Grid::torus(&[6]).unwrap()).map(drop)),
    ];
    for (difference, parts) in parts {
        for (call, next) in next {
            watched(&format!("{difference}, {call}"), move || {
                let outcomes = run(on("complete:6"), |mut comm| {
                    let mut grid = comm.on_grid(Grid::torus(&[2, 3]).unwrap())?;
                    // The same ones first.
                    parts(&mut grid, false)?;
                    next(&mut grid)?;
                    let odd = grid.rank() == 4;
                    parts(&mut grid, odd)?;
                    next(&mut grid).and_then(|()| grid.barrier())
                });
                let failure = one_failure(&outcomes);
                let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
                for words in [call_a, call_b] {
                    assert!(words.contains(call) && words.contains("along axes"), "{failure}");
                }
            });
        }
    }
}

//! Redistributions that cannot be: wrong arguments, ranks that disagree, too many pieces.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use necklace::array::{ArrayError, Distribution, Split};
use necklace::communicator::PortionedRedistribution;
use necklace::error::ArgumentError;
use necklace::topology::Grid;
use necklace::{Communicator, Error};

use crate::jobs::{on, watched};

pub(super) fn mistakes_in_redistributions_are_refused() {
    watched("mistakes in redistributions", || {
        let run = on("complete:3").run(|mut comm| {
            let rows = Distribution::slabs(&[5, 7], 0, 3).unwrap();
            let of = |error: Error| match error {
                Error::Argument { source, .. } => match *source {
                    ArgumentError::Array(error) => error,
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            };
            let error = comm.grid_for(&[5, 7], &[0, 2], 8).unwrap_err();
            assert!(error.to_string().contains("grid_for"), "{error}");
            assert!(matches!(of(error), ArrayError::Axis { axis: 2, axes: 2, .. }));
            assert_eq!(comm.grid_for(&[5, 7], &[0, 1], 8).unwrap().grid.extents(), [3]);
            let other = Distribution::slabs(&[7, 5], 0, 3).unwrap();
            let found = of(comm.redistribute_init::<u8>(&rows, &other).unwrap_err());
            assert!(matches!(found, ArrayError::Shapes { .. }), "{found}");
            assert!(found.to_string().contains("5x7") && found.to_string().contains("7x5"), "{found}");
            let found = of(comm.redistribute_init::<u8>(&rows.clone().batched(2).unwrap(), &rows).unwrap_err());
            assert!(found.to_string().contains("5x7, 2 elements at each index"), "{found}");
            let few = Distribution::slabs(&[5, 7], 0, 2).unwrap();
            let found = of(comm.redistribute_init::<u8>(&rows, &few).unwrap_err());
            assert!(matches!(found, ArrayError::Ranks { found: 2, ranks: 3, .. }), "{found}");

            let columns = Distribution::slabs(&[5, 7], 1, 3).unwrap();
            let mut plan = comm.redistribute_init::<u64>(&rows, &columns).unwrap();
            let lengths = [&rows, &columns].map(|distribution| distribution.local_len(comm.rank()));
            let error = plan.execute(&vec![0; lengths[0] - 1], &mut vec![0; lengths[1]]).unwrap_err().to_string();
            let words = format!("expected {}", lengths[0]);
            assert!(error.contains("buffer `before`") && error.contains(&words), "{error}");
            let error = plan.execute(&vec![0; lengths[0]], &mut vec![0; lengths[1] + 1]).unwrap_err().to_string();
            assert!(error.contains("buffer `after`") && error.contains(&lengths[1].to_string()), "{error}");
            // It still works.
            plan.execute(&vec![1; lengths[0]], &mut vec![0; lengths[1]]).unwrap();

            let portions = |comm: &mut Communicator, axis, portions| {
                comm.redistribute_portions_init::<u64>(&rows, &columns, axis, portions)
            };
            for (axis, number, words) in [
                (2, 1, "no axis 2"),
                (0, 0, "0 portions along axis 0, whose extent is 5; expected 1 to 5"),
                (1, 8, "8 portions along axis 1"),
                (1, usize::MAX, "expected 1 to 7"),
            ] {
                let error = of(portions(&mut comm, axis, number).unwrap_err()).to_string();
                assert!(error.contains(words), "{error}");
            }
            let mut in_two = portions(&mut comm, 1, 2).unwrap();
            let found = of(in_two.execute(2, &[], &mut vec![0; lengths[1]]).unwrap_err());
            assert!(found.to_string().contains("no portion 2; expected 0 to 1"), "{found}");
            let positions = [0, 1, 2].map(|portion| in_two.positions(portion));
            assert_eq!((in_two.portions(), positions), (2, [0..4, 4..7, 0..0]));
            let each = lengths[0] / 7;
            assert_eq!([0, 1, 2].map(|portion| in_two.portion_len(portion)), [4 * each, 3 * each, 0]);
            let error = in_two.execute(1, &vec![0; 4 * each], &mut vec![0; lengths[1]]).unwrap_err().to_string();
            assert!(error.contains(&format!("has {} elements; expected {}", 4 * each, 3 * each)), "{error}");
            let error =
                in_two.execute_back(0, &vec![0; lengths[1] + 1], &mut vec![0; 4 * each]).unwrap_err().to_string();
            assert!(error.contains("execute_back") && error.contains("buffer `after`"), "{error}");
            let (mut short, mut long, mut found) = (vec![0; 4 * each - 1], vec![0; 4 * each], vec![0; lengths[1]]);
            fn computed(_: Range<usize>, _: &mut [u64]) {
                panic!("a refused call computes nothing");
            }
            for buffers in [[&mut short[..], &mut long[..]], [&mut [][..], &mut []]] {
                let error = in_two.execute_overlapped(buffers, &mut found, computed).unwrap_err().to_string();
                assert!(error.contains("execute_overlapped") && error.contains("buffer of portions"), "{error}");
                assert!(error.contains(&format!("expected at least {}", 4 * each)), "{error}");
            }
            let mut other = long.clone();
            let buffers = [&mut long[..], &mut other[..]];
            let error = in_two.execute_back_overlapped(&found[1..], buffers, computed).unwrap_err().to_string();
            assert!(error.contains("execute_back_overlapped") && error.contains("buffer `after`"), "{error}");
            // It still works.
            let buffers = [&mut long[..], &mut other[..]];
            in_two.execute_overlapped(buffers, &mut found, |at, part| part.fill(at.start as u64 + 1)).unwrap();
            // Columns 0 to 3 have 1, and 4 to 6 have 5.
            assert_eq!(found.iter().sum::<u64>(), [15, 30, 50][comm.rank()]);

            // One rank has another idea.
            let wanted = if comm.rank() == 1 { &rows } else { &columns };
            let error = comm.redistribute_init::<u64>(&rows, wanted).unwrap_err().to_string();
            assert!(error.contains("redistribution of 5x7 on 3 ranks: block over 0, whole to 5x7"), "{error}");
        });
        run.unwrap();

        // One rank alone passes distributions that no plan takes: all are told of it at once.
        let run = on("complete:3").run(|mut comm| {
            let slabs = |shape: &[usize], ranks| Distribution::slabs(shape, 1, ranks).unwrap();
            let rows = Distribution::slabs(&[5, 7], 0, 3).unwrap();
            for wrong in [slabs(&[5, 8], 3), slabs(&[5, 7], 2)] {
                let mut comm = comm.dup().unwrap();
                let wanted = if comm.rank() == 1 { &wrong } else { &slabs(&[5, 7], 3) };
                let error = comm.redistribute_init::<u64>(&rows, wanted).unwrap_err();
                assert!(matches!(error, Error::Failed { .. }), "{error}");
                assert!(error.to_string().contains(&format!("to {wrong}")), "{error}");
                assert!(matches!(comm.barrier(), Err(Error::Dead { .. })));
            }
        });
        run.unwrap();

        // One rank is told of its buffer, and repeats the call for which the others wait.
        let run = on("complete:3").run(|mut comm| {
            let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[6, 9], axis, 3).unwrap());
            let (mine, mut found) = (vec![comm.rank() as u32; 18], vec![9; 18]);
            if comm.rank() == 1 {
                let error = comm.redistribute(&rows, &mine[..17], &columns, &mut found).unwrap_err().to_string();
                assert!(error.contains("redistribute") && error.contains("has 17 elements; expected 18"), "{error}");
                let error = comm.redistribute(&rows, &mine, &columns, &mut found[1..]).unwrap_err().to_string();
                assert!(error.contains("buffer `after` has 17"), "{error}");
            }
            comm.redistribute(&rows, &mine, &columns, &mut found).unwrap();
            assert!(found.iter().enumerate().all(|(at, &rank)| rank as usize == at / 6), "{found:?}");
            comm.barrier().unwrap();
        });
        run.unwrap();

        // One rank makes once what the others plan, even if a plan takes messages.
        let run = on("torus:2x3").run(|mut comm| {
            let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[12, 12], axis, 6).unwrap());
            let (mine, mut found) = ([0_u64; 24], [0; 24]);
            comm.choose("alltoallv", "torus-exchange").unwrap();
            let error = match comm.rank() {
                1 => comm.redistribute(&rows, &mine, &columns, &mut found).unwrap_err(),
                _ => comm.redistribute_init::<u64>(&rows, &columns).unwrap_err(),
            };
            assert!(error.to_string().contains("one-off redistribution of 12x12"), "{error}");
        });
        run.unwrap();
    });
}

/// Errors are found before anything else is computed from the values, also where these are absurd.
pub(super) fn impossible_distributions_are_refused() {
    let grid = |extents: &[usize]| Grid::mesh(extents).unwrap();
    let refused = |shape: &[usize], extents: &[usize], splits: &[Split]| {
        Distribution::new(shape, &grid(extents), splits).unwrap_err().to_string()
    };
    let (whole, huge) = (Split::Whole, usize::MAX);
    let cases = [
        (refused(&[], &[1], &[]), "at least one axis"),
        (refused(&[4, 6], &[2], &[Split::Block(0)]), "1 splits for an array of 2 axes"),
        (refused(&[4, 6], &[2], &[whole, Split::Block(5)]), "over axis 5 of the grid"),
        (refused(&[4, 6], &[2], &[Split::Cyclic(0), Split::Block(0)]), "axes 0 and 1 are both"),
        (refused(&[4, 6], &[2, 3], &[whole, Split::Block(0)]), "axis 1 of the grid, whose extent is 3"),
        (refused(&[4, 6], &[2], &[whole, Split::BlockCyclic { axis: 0, block: 0 }]), "blocks of 0"),
        (refused(&[huge, huge], &[2], &[whole, Split::Block(0)]), "more than 2^63 - 1"),
        (refused(&[1 << 32, 1 << 31], &[2], &[whole, Split::Block(0)]), "4294967296x2147483648"),
        (Distribution::slabs(&[], 0, 2).unwrap_err().to_string(), "at least one axis"),
        (Distribution::slabs(&[3], 1, 2).unwrap_err().to_string(), "no axis 1"),
        (Distribution::slabs(&[3], 0, 0).unwrap_err().to_string(), "0 ranks; expected 1 to"),
        (Distribution::pencils(&[], 0, &grid(&[2])).unwrap_err().to_string(), "at least one axis"),
        (Distribution::pencils(&[3, 4], 2, &grid(&[2])).unwrap_err().to_string(), "no axis 2"),
    ];
    for (found, words) in cases {
        assert!(found.contains(words), "{found}");
    }
    let boxes = |boxes: &[&[Range<usize>]]| Distribution::boxes(&[4, 6], boxes).unwrap_err().to_string();
    let cases = [
        (boxes(&[]), "no boxes"),
        (Distribution::boxes(&[], &[[], []]).unwrap_err().to_string(), "at least one axis"),
        (
            Distribution::boxes(&[huge; 3], &[[0..huge, 0..huge, 0..huge]]).unwrap_err().to_string(),
            "more than 2^63 - 1",
        ),
        (
            Distribution::boxes(&[0, huge, huge], &[[0..0, 0..huge, 0..huge]]).unwrap_err().to_string(),
            "counting an extent of 0 as 1",
        ),
        (boxes(&[&[0..4, 0..6, 0..1]]), "the box [0..4, 0..6, 0..1] of rank 0"),
        (boxes(&[&[0..4, 0..huge]]), "does not lie in an array of 4x6"),
        (boxes(&[&[0..4, 0..4], &[2..4, 3..6]]), "[0..4, 0..4] of rank 0 and [2..4, 3..6] of rank 1 overlap"),
        (boxes(&[&[0..4, 0..4], &[0..3, 4..6]]), "no box has the element at [3, 4]"),
    ];
    for (found, words) in cases {
        assert!(found.contains(words), "{found}");
    }
    let rows = Distribution::slabs(&[4, 6], 0, 3).unwrap();
    assert!(rows.clone().padded(5).unwrap_err().to_string().contains("rows of 6 indices"));
    assert!(rows.clone().padded(huge).unwrap_err().to_string().contains("more than 2^63"));
    assert!(rows.clone().batched(0).unwrap_err().to_string().contains("0 elements"));
    assert!(rows.clone().batched(huge).unwrap_err().to_string().contains("more than 2^63"));
    assert!(rows.clone().in_order(&[1, 1]).unwrap_err().to_string().contains("[1, 1]"));
    // Ranks, axes and indices that do not exist.
    assert_eq!((rows.local_shape(7), rows.local_len(7), rows.range(7, 0)), (vec![0, 0], 0, Some(0..0)));
    assert_eq!((rows.range(0, 2), rows.indices(0, 9).len(), rows.elements(huge).count()), (None, 0, 0));
    assert_eq!((rows.owner(&[4, 0]), rows.owner(&[0]), rows.local_index(&[0, 0, 0])), (None, None, None));
    // The largest array, and many ranks.
    let long = Distribution::slabs(&[(1 << 63) - 1], 0, necklace::MAX_NODES).unwrap();
    assert_eq!(long.owner(&[(1 << 63) - 2]), Some(necklace::MAX_NODES - 1));
    let odd = Split::BlockCyclic { axis: 0, block: huge };
    let odd = Distribution::new(&[10], &grid(&[3]), &[odd]).unwrap();
    assert_eq!((odd.range(0, 0), odd.range(1, 0)), (Some(0..10), Some(0..0)));
}

pub(super) fn rank_with_too_many_pieces_is_told_to_all() {
    watched("too many pieces on some ranks", || {
        let run = on("mesh:3x2x2").run(|mut comm| {
            let grid = Grid::mesh(&[3, 2, 2]).unwrap();
            let blocks = |block| {
                let split = |axis| Split::BlockCyclic { axis, block };
                // Two rows for the first two thirds of the ranks, none for the others.
                let rows = Split::BlockCyclic { axis: 0, block: 2 };
                let array = Distribution::new(&[4, 2_200_000, 2_200_000], &grid, &[rows, split(1), split(2)]);
                array.unwrap().in_order(&[1, 2, 0]).unwrap()
            };
            let error = comm.redistribute_init::<u8>(&blocks(1009), &blocks(1013)).unwrap_err();
            let refused = |source: &ArgumentError| matches!(source, ArgumentError::Array(ArrayError::Pieces { .. }));
            match &error {
                Error::Argument { source, .. } if refused(source) => (true, error.to_string()),
                _ => (false, error.to_string()),
            }
        });
        for (rank, (refuses, error)) in run.unwrap().into_iter().enumerate() {
            assert_eq!(refuses, rank < 8, "rank {rank}: {error}");
            let words = if refuses { "pieces with rank" } else { "refused redistribution of" };
            assert!(error.contains(words), "rank {rank}: {error}");
        }
    });
}

pub(super) fn ranks_that_move_different_portions_are_told() {
    type Call = fn(&mut PortionedRedistribution<u32>, bool) -> Result<(), Error>;
    let forms: [Call; 4] = [
        |plan, odd| plan.execute(usize::from(odd), &[1; 6], &mut [0; 12]),
        |plan, odd| match odd {
            true => plan.execute_back(0, &[1; 12], &mut [0; 6]),
            false => plan.execute(0, &[1; 6], &mut [0; 12]),
        },
        |plan, odd| {
            let compute =
                |positions: Range<usize>, _: &mut [u32]| assert!(!odd || positions.start == 0, "out of ideas");
            let (mut one, mut other) = ([1; 6], [1; 6]);
            plan.execute_overlapped([&mut one, &mut other], &mut [0; 12], compute)
        },
        |plan, odd| {
            let compute = |_: Range<usize>, _: &mut [u32]| assert!(!odd, "at a loss");
            let (mut one, mut other) = ([1; 6], [1; 6]);
            // The last portion is computed after the last exchange, so others may be done with this call.
            plan.execute_back_overlapped(&[1; 12], [&mut one, &mut other], compute)?;
            plan.execute_back_overlapped(&[1; 12], [&mut one, &mut other], compute)
        },
    ];
    let words = ["portion 1 of 2", ", back", "of a portion panicked: out of ideas", "of a portion panicked: at a loss"];
    for (form, words) in forms.into_iter().zip(words) {
        watched(words, move || {
            let errors = on("complete:3").run(move |mut comm| {
                let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[6, 6], axis, 3).unwrap());
                let mut plan = comm.redistribute_portions_init::<u32>(&rows, &columns, 0, 2).unwrap();
                let odd = comm.rank() == 1;
                let call = catch_unwind(AssertUnwindSafe(|| form(&mut plan, odd)));
                match call {
                    Ok(outcome) => outcome.unwrap_err(),
                    // The rank that panics has no result.
                    Err(_) => plan.execute(0, &[1; 6], &mut [0; 12]).unwrap_err(),
                }
            });
            let errors: Vec<String> = errors.unwrap().iter().map(ToString::to_string).collect();
            assert!(errors.iter().all(|error| error.contains(words)), "{errors:?}");
        });
    }
}

//! The choice of a process grid: prices against those of exchanges among each row, and which grid is
//! chosen.

use necklace::Rank;
use necklace::array::{ArrayError, GridCandidate, GridChoice};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Hosts, Placement, Problem};
use necklace::select::{Terms, select};
use necklace::topology::parse;
use quickcheck::quickcheck;

fn problem(topology: &str) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::Alltoall).unwrap()
}

fn choice(topology: &str, shape: &[usize], machine: &Machine) -> GridChoice {
    GridChoice::new(&problem(topology), shape, 16, machine).unwrap()
}

fn chosen(topology: &str, shape: &[usize], machine: &Machine) -> Vec<usize> {
    choice(topology, shape, machine).grid.extents().to_vec()
}

fn of<'a>(choice: &'a GridChoice, extents: &[usize]) -> &'a GridCandidate {
    choice.candidates.iter().find(|candidate| candidate.grid.extents() == extents).unwrap()
}

/// The price of a direct alltoall on a network.
fn direct(topology: &str, block: usize, machine: &Machine) -> u128 {
    let choice = select(&problem(topology), "direct", &Terms::new(block as u64, machine)).unwrap();
    let one = choice.candidates.iter().find(|candidate| candidate.algorithm.name() == "direct").unwrap();
    one.price.as_ref().unwrap().total
}

/// The blocks of each exchange by the definition: each axis is made whole in turn, from the last that
/// is divided, and the next one is divided instead.
fn blocks(shape: &[usize], grid: &[usize]) -> Vec<usize> {
    let mut over: Vec<Option<usize>> = (0..shape.len()).map(|axis| (axis < grid.len()).then_some(axis)).collect();
    let mut blocks = Vec::new();
    for axis in (0..grid.len()).rev() {
        let row = over[axis].take();
        let longest = |other: usize| match over[other] {
            _ if other == axis || other == axis + 1 => shape[other].div_ceil(grid[row.unwrap()]),
            Some(dimension) => shape[other].div_ceil(grid[dimension]),
            None => shape[other],
        };
        blocks.push((0..shape.len()).map(longest).product());
        over[axis + 1] = row;
    }
    blocks
}

quickcheck! {
    fn price_is_that_of_direct_exchanges_in_the_rows(ranks: u8, shape: (u8, u8, u8, u8), axes: u8, message: u16) -> bool {
        let ranks = usize::from(ranks % 48) + 1;
        let extents = [shape.0, shape.1, shape.2, shape.3].map(|extent| usize::from(extent) + 1);
        let shape = &extents[..2 + usize::from(axes % 3)];
        let machine = Machine::PARAGON.with_message(u64::from(message) * 1_000);
        let choice = choice(&format!("complete:{ranks}"), shape, &machine);
        choice.candidates.iter().all(|candidate| {
            let grid = candidate.grid.extents();
            let rows = grid.iter().rev().map(|extent| format!("complete:{extent}"));
            let prices = rows.zip(blocks(shape, grid)).map(|(row, block)| direct(&row, 16 * block, &machine));
            let found: Vec<u128> = candidate.exchanges.iter().map(|price| price.total).collect();
            grid.iter().product::<usize>() == ranks
                && found.iter().copied().eq(prices)
                && candidate.total() == found.iter().sum::<u128>()
        })
    }

    fn chosen_grid_leaves_the_fewest_ranks_idle_and_is_the_cheapest_of_these(ranks: u8, shape: (u8, u8, u8)) -> bool {
        let ranks = usize::from(ranks % 64) + 1;
        let shape = [shape.0, shape.1, shape.2].map(|extent| usize::from(extent % 24));
        let choice = choice(&format!("complete:{ranks}"), &shape, &Machine::TCP);
        let chosen = of(&choice, choice.grid.extents());
        let idle = |grid: &[usize]| {
            // Each axis of the grid divides one axis of the array, and later the next one.
            let busy = (0..=grid.len()).map(|whole| {
                let divided = (0..=grid.len()).filter(|&axis| axis != whole);
                grid.iter().zip(divided).map(|(&of, axis)| of.min(shape[axis])).product::<usize>()
            });
            ranks - busy.min().unwrap()
        };
        choice.candidates.iter().all(|candidate| {
            candidate.idle == idle(candidate.grid.extents())
                && (chosen.idle, chosen.total()) <= (candidate.idle, candidate.total())
        })
    }
}

#[test]
fn candidates_are_all_grids_that_leave_an_axis_whole() {
    let grids = |topology: &str, axes: usize| -> Vec<Vec<usize>> {
        let choice = choice(topology, &vec![100; axes], &Machine::THREADS);
        choice.candidates.iter().map(|candidate| candidate.grid.extents().to_vec()).collect()
    };
    let found: Vec<Vec<usize>> = [&[12][..], &[4, 3], &[3, 4], &[6, 2], &[2, 6]].map(<[_]>::to_vec).into();
    assert_eq!(grids("complete:12", 3), found);
    assert_eq!(grids("complete:12", 2), [[12]]);
    assert_eq!(grids("complete:12", 1), [[12]]);
    assert_eq!(grids("complete:7", 5), [[7]]);
    assert_eq!(grids("complete:1", 3), [[1]]);
    assert_eq!(grids("complete:16", 6).len(), 1 + 3 + 3);
    assert_eq!(grids("complete:8", 4).last().unwrap(), &[2, 2, 2]);
}

#[test]
fn slabs_are_chosen_where_bytes_cost_more_and_pencils_where_messages_do() {
    for (machine, extent, wanted) in [(Machine::TCP, 32, vec![8, 8]), (Machine::TCP, 1024, vec![64])] {
        assert_eq!(chosen("complete:64", &[extent; 3], &machine), wanted);
    }
    // The first two axes have fewer indices than there are ranks.
    assert_eq!(chosen("complete:64", &[48, 48, 1 << 20], &Machine::TCP), [8, 8]);
    assert_eq!(choice("complete:64", &[48, 48, 1 << 20], &Machine::TCP).candidates[0].idle, 16);
    // A matrix has no pencils.
    assert_eq!(chosen("complete:64", &[8, 8], &Machine::TCP), [64]);
}

#[test]
fn rows_of_the_network_are_preferred() {
    // 16^3 elements: too few planes for 32 ranks.
    for (topology, wanted) in [("torus:8x4", [8, 4]), ("mesh:4x8", [4, 8]), ("torus:2x16", [2, 16])] {
        for machine in [Machine::PARAGON, Machine::THREADS, Machine::UNIT] {
            let choice = choice(topology, &[16; 3], &machine);
            assert_eq!(choice.grid.extents(), wanted, "{choice}");
            let own = of(&choice, &wanted);
            assert!(own.rows_are_parts && !own.is_bound, "{choice}");
            let across = of(&choice, &[16, 2]);
            assert!(!across.rows_are_parts, "{choice}");
            // Threads do not pay for channels.
            assert_eq!(across.is_bound, machine != Machine::THREADS, "{choice}");
        }
    }
    let paragon = choice("torus:8x4", &[16; 3], &Machine::PARAGON);
    let found: Vec<u128> = of(&paragon, &[8, 4]).exchanges.iter().map(|price| price.total).collect();
    assert_eq!(
        found,
        [("ring:4", 2 * 4 * 4), ("ring:8", 2 * 2 * 4)]
            .map(|(row, block)| { direct(row, 16 * block, &Machine::PARAGON) })
    );
    // No part of a ring but a line of neighbours, so that slabs alone have a known price.
    let ring = choice("ring:12", &[16; 3], &Machine::PARAGON);
    assert_eq!(ring.grid.extents(), [12], "{ring}");
    assert!(ring.candidates[1..].iter().all(|candidate| candidate.is_bound), "{ring}");
    // Those are still better than ranks without elements.
    assert_ne!(chosen("ring:12", &[8; 3], &Machine::PARAGON), [12]);
}

#[test]
fn rows_are_those_of_the_placement() {
    // Rank 4 i + j is on node 8 j + i: the ranks of a row are in a column of the network.
    let transposed = (0..32).map(|rank| (rank % 4 * 8 + rank / 4).into()).collect();
    let problem =
        Problem::placed(parse("torus:4x8").unwrap(), Placement::new(transposed, 32).unwrap(), Collective::Alltoall);
    let choice = GridChoice::new(&problem.unwrap(), &[16; 3], 16, &Machine::PARAGON).unwrap();
    assert_eq!(choice.grid.extents(), [8, 4], "{choice}");
    assert!(of(&choice, &[8, 4]).rows_are_parts && !of(&choice, &[4, 8]).rows_are_parts, "{choice}");
}

#[test]
fn hosts_pay_for_all_rows_at_once() {
    // Three hosts of uneven size; rows along the first axis cross them.
    let names = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 1, 0];
    let problem = problem("complete:12").on_hosts(Hosts::of_names(names)).unwrap();
    let shape = [24, 24, 24];
    let block = 16 * 24 * 24 * 24 / 12;
    for machine in [Machine::FREE.with_host(7), Machine::FREE.with_message(3).with_byte(5).with_cores(2)] {
        let choice = GridChoice::new(&problem, &shape, 16, &machine).unwrap();
        for candidate in &choice.candidates {
            let grid = candidate.grid.extents();
            for (axis, price) in (0..grid.len()).rev().zip(&candidate.exchanges) {
                let (stride, extent) = (grid[axis + 1..].iter().product::<usize>(), grid[axis]);
                let same_row =
                    |a: usize, b: usize| a / stride / extent == b / stride / extent && a % stride == b % stride;
                let peers = |rank: usize| (0..12).filter(move |&peer| peer != rank && same_row(rank, peer));
                let of_host = |count: &dyn Fn(usize) -> usize| {
                    let sum = |host| (0..12).filter(|&rank| names[rank] == host).map(count).sum::<usize>();
                    (0..3).map(sum).max().unwrap() as u128
                };
                let bytes = (block / extent) as u128;
                let leaving = of_host(&|rank| peers(rank).filter(|&peer| names[peer] != names[rank]).count());
                assert_eq!(
                    price.total - price.cores - alone(extent, bytes as usize, &machine),
                    7 * leaving * bytes * u128::from(machine.host > 0),
                    "{choice}"
                );
                if machine.cores > 0 {
                    let messages = of_host(&|rank| peers(rank).count());
                    assert_eq!(price.total, messages * (2 * 3 + 5 * bytes) / 2, "{choice}");
                }
            }
        }
    }
}

/// The price of an exchange whose ranks have all cores and channels for themselves.
fn alone(ranks: usize, block: usize, machine: &Machine) -> u128 {
    direct(&format!("complete:{ranks}"), block, machine)
}

#[test]
fn texts_explain_the_choice() {
    let text = choice("torus:4x2", &[6, 32, 32], &Machine::PARAGON).to_string();
    assert!(
        text.starts_with("6x32x32 elements of 16 bytes on torus:4x2: grid 4x2, by the prices of paragon\n"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    assert!(lines[0].starts_with("8") && lines[0].ends_with("us, 2 ranks idle"), "{text}");
    assert!(lines[1].starts_with("4x2") && lines[1].contains(" = ") && lines[1].contains(" + "), "{text}");
    assert!(lines[2].starts_with("2x4") && lines[2].contains(" or more"), "{text}");
}

#[test]
fn impossible_arrays_are_refused() {
    let error = |shape: &[usize], bytes: usize| {
        GridChoice::new(&problem("complete:4"), shape, bytes, &Machine::TCP).unwrap_err()
    };
    assert_eq!(error(&[], 8), ArrayError::NoAxes);
    assert!(error(&[1 << 40, 1 << 20], 8).to_string().contains("1099511627776 x 1048576 x 8"));
    assert!(matches!(error(&[usize::MAX, usize::MAX, usize::MAX], 8), ArrayError::Size { .. }));
    assert!(matches!(error(&[0, 1 << 60], 8), ArrayError::Size { .. }));
    // Elements of no bytes, and arrays of no elements, have grids.
    assert_eq!(chosen("complete:4", &[0, 5, 5], &Machine::TCP).iter().product::<usize>(), 4);
    let nothing = GridChoice::new(&problem("complete:4"), &[5, 5], 0, &Machine::TCP).unwrap();
    assert_eq!(nothing.grid.extents(), [4]);
}

/// As many ranks as a job can have, on their network's rows.
#[test]
fn grids_of_thousands_of_ranks_are_chosen() {
    for machine in [Machine::PARAGON, Machine::TCP] {
        let large = choice("torus:64x64", &[2048; 3], &machine);
        assert!(of(&large, &[64, 64]).rows_are_parts, "{large}");
        assert_eq!(large.grid.extents(), [64, 64], "{large}");
        assert!(of(&large, &[4096]).idle > 0, "{large}");
    }
    assert_eq!(Rank::new(4095).index(), 4095);
}

//! The choice of a process grid: prices against those of exchanges in each row, and which grid is
//! chosen.

use std::sync::Arc;

use necklace::Node;
use necklace::array::{ArrayError, GridCandidate, GridChoice};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Hosts, Placement, Problem};
use necklace::select::{Terms, select};
use necklace::topology::{Graph, Topology, parse};
use quickcheck::quickcheck;

fn on(topology: Arc<dyn Topology>) -> Problem {
    Problem::new(topology, Collective::Alltoall).unwrap()
}

fn problem(topology: &str) -> Problem {
    on(parse(topology).unwrap())
}

/// Chooses a grid for complex numbers and a transform along all axes.
fn choice(problem: &Problem, shape: &[usize], machine: &Machine) -> GridChoice {
    let axes: Vec<usize> = (0..shape.len()).collect();
    GridChoice::new(problem, shape, &axes, &Terms::new(16, machine)).unwrap()
}

fn chosen(topology: &str, shape: &[usize], machine: &Machine) -> Vec<usize> {
    choice(&problem(topology), shape, machine).grid.extents().to_vec()
}

fn of<'a>(choice: &'a GridChoice, extents: &[usize]) -> &'a GridCandidate {
    choice.candidates.iter().find(|candidate| candidate.grid.extents() == extents).unwrap()
}

fn prices(candidate: &GridCandidate) -> Vec<u128> {
    candidate.exchanges.iter().map(|price| price.total).collect()
}

/// The price of a direct alltoall on a network.
fn direct(network: &Problem, block: usize, machine: &Machine) -> u128 {
    let choice = select(network, "direct", &Terms::new(block as u64, machine)).unwrap();
    let one = choice.candidates.iter().find(|candidate| candidate.algorithm.name() == "direct").unwrap();
    one.price.as_ref().unwrap().total
}

/// The elements of the largest block of each exchange, and of the largest part, by the definition: each
/// axis is made whole in turn, from the last that is divided, and the next one is divided instead.
fn volumes(shape: &[usize], grid: &[usize]) -> (Vec<usize>, usize) {
    let mut over: Vec<Option<usize>> = (0..shape.len()).map(|axis| (axis < grid.len()).then_some(axis)).collect();
    let longest =
        |axis: usize, over: &[Option<usize>]| over[axis].map_or(shape[axis], |i| shape[axis].div_ceil(grid[i]));
    let part = |over: &[Option<usize>]| (0..shape.len()).map(|axis| longest(axis, over)).product::<usize>();
    let (mut blocks, mut largest) = (Vec::new(), part(&over));
    for axis in (0..grid.len()).rev() {
        let before = over.clone();
        over[axis + 1] = over[axis].take();
        let of_both = |other: usize| longest(other, &before).min(longest(other, &over));
        blocks.push((0..shape.len()).map(of_both).product());
        largest = largest.max(part(&over));
    }
    (blocks, largest)
}

quickcheck! {
    fn price_is_that_of_direct_exchanges_in_the_rows(ranks: u8, shape: (u8, u8, u8, u8), axes: u8, message: u16) -> bool {
        let ranks = usize::from(ranks % 48) + 1;
        let extents = [shape.0, shape.1, shape.2, shape.3].map(usize::from);
        let shape = &extents[..2 + usize::from(axes % 3)];
        let machine = Machine::PARAGON.with_message(u64::from(message) * 1_000);
        let choice = choice(&problem(&format!("complete:{ranks}")), shape, &machine);
        choice.candidates.iter().all(|candidate| {
            let grid = candidate.grid.extents();
            let (blocks, largest) = volumes(shape, grid);
            let rows = grid.iter().rev().map(|extent| problem(&format!("complete:{extent}")));
            let wanted: Vec<u128> = rows.zip(blocks).map(|(row, block)| direct(&row, 16 * block, &machine)).collect();
            grid.iter().product::<usize>() == ranks
                && prices(candidate) == wanted
                && candidate.total() == wanted.iter().sum::<u128>()
                && candidate.largest == largest as u64
        })
    }

    fn chosen_grid_is_the_cheapest_of_those_that_divide_evenly(ranks: u8, shape: (u8, u8, u8)) -> bool {
        let ranks = usize::from(ranks % 64) + 1;
        let shape = [shape.0, shape.1, shape.2].map(|extent| usize::from(extent % 24));
        let choice = choice(&problem(&format!("complete:{ranks}")), &shape, &Machine::TCP);
        let least = choice.candidates.iter().map(|candidate| candidate.largest).min().unwrap();
        let even = |candidate: &GridCandidate| 4 * candidate.largest <= 5 * least;
        let chosen = of(&choice, choice.grid.extents());
        even(chosen) && choice.candidates.iter().all(|other| !even(other) || chosen.total() <= other.total())
    }
}

#[test]
fn candidates_are_all_grids_that_leave_an_axis_whole() {
    let grids = |topology: &str, axes: usize| -> Vec<Vec<usize>> {
        let choice = choice(&problem(topology), &vec![100; axes], &Machine::THREADS);
        choice.candidates.iter().map(|candidate| candidate.grid.extents().to_vec()).collect()
    };
    assert_eq!(grids("complete:12", 3), [vec![12], vec![4, 3], vec![3, 4], vec![6, 2], vec![2, 6]]);
    assert_eq!(grids("complete:12", 2), [[12]]);
    assert_eq!(grids("complete:12", 1), [[12]]);
    assert_eq!(grids("complete:7", 5), [[7]]);
    assert_eq!(grids("complete:1", 3), [[1]]);
    assert_eq!(grids("complete:16", 6).len(), 1 + 3 + 3);
    assert_eq!(grids("complete:8", 4).last().unwrap(), &[2, 2, 2]);
}

#[test]
fn dear_bytes_choose_slabs_and_dear_messages_pencils() {
    assert_eq!(chosen("complete:64", &[64; 3], &Machine::TCP), [8, 8]);
    assert_eq!(chosen("complete:64", &[1024; 3], &Machine::TCP), [64]);
    // With slabs, a rank has twice as much as with pencils, or 1.6 times as much.
    assert_eq!(chosen("complete:64", &[65, 65, 1 << 20], &Machine::TCP).len(), 2);
    assert_eq!(chosen("complete:64", &[40, 40, 1 << 20], &Machine::TCP).len(), 2);
    // One rank without a plane does no harm.
    assert_eq!(chosen("complete:64", &[63, 63, 1 << 20], &Machine::TCP), [64]);
    // A matrix has no pencils.
    assert_eq!(chosen("complete:64", &[8, 8], &Machine::TCP), [64]);
}

#[test]
fn axes_that_need_not_be_whole_are_divided_first_and_for_good() {
    let machine = Machine::TCP;
    let grid = |axes: &[usize]| {
        GridChoice::new(&problem("complete:12"), &[6, 100, 64], axes, &Terms::new(16, &machine)).unwrap()
    };
    let some = grid(&[1, 2]);
    for (extents, blocks) in [([3, 4], 2 * 25 * 16), ([6, 2], 50 * 32)] {
        let row = problem(&format!("complete:{}", extents[1]));
        assert_eq!(prices(of(&some, &extents)), [direct(&row, 16 * blocks, &machine)], "{some}");
    }
    assert_eq!(some.grid.extents(), [6, 2], "{some}");
    // Axis 1 is whole at first, and axis 0 later.
    let other_way = grid(&[0, 1]);
    assert!(of(&other_way, &[12]).exchanges.is_empty(), "{other_way}");
    // Nothing has to be whole.
    let none = grid(&[]);
    assert!(none.candidates.iter().all(|candidate| candidate.exchanges.is_empty()), "{none}");
    assert!(none.candidates.iter().any(|candidate| candidate.grid.extents().len() == 3), "{none}");
}

#[test]
fn rows_of_the_network_are_preferred() {
    // 16^3 elements: too few planes for 32 ranks.
    for (topology, wanted) in [("torus:8x4", [8, 4]), ("mesh:4x8", [4, 8]), ("torus:2x16", [2, 16])] {
        for machine in [Machine::PARAGON, Machine::THREADS, Machine::UNIT] {
            let choice = choice(&problem(topology), &[16; 3], &machine);
            let own = of(&choice, &wanted);
            assert!(!own.is_bound, "{choice}");
            // Threads do not pay for channels.
            let pays = machine != Machine::THREADS;
            assert_eq!(of(&choice, &[16, 2]).is_bound, pays, "{choice}");
            if pays || wanted[0] != 2 {
                assert_eq!(choice.grid.extents(), wanted, "{choice}");
            }
        }
    }
    let paragon = choice(&problem("torus:8x4"), &[16; 3], &Machine::PARAGON);
    let rows = [("ring:4", 2 * 4 * 4), ("ring:8", 4 * 2 * 2)];
    let wanted = rows.map(|(row, block)| direct(&problem(row), 16 * block, &Machine::PARAGON));
    assert_eq!(prices(of(&paragon, &[8, 4])), wanted);
    // Slabs alone have a known price: no part of a ring but neighbours is connected.
    let ring = choice(&problem("ring:12"), &[24; 3], &Machine::PARAGON);
    assert_eq!(ring.grid.extents(), [12], "{ring}");
    assert!(ring.candidates[1..].iter().all(|candidate| candidate.is_bound), "{ring}");
    // But they are left out if a rank has more than elsewhere.
    assert_ne!(chosen("ring:12", &[8; 3], &Machine::PARAGON), [12]);
}

#[test]
fn rows_are_those_of_the_placement() {
    // Rank 4 i + j is on node 8 j + i: the ranks of a row are in a column of the network.
    let transposed = (0..32).map(|rank| Node::new(rank % 4 * 8 + rank / 4)).collect();
    let placement = Placement::new(transposed, 32).unwrap();
    let problem = Problem::placed(parse("torus:4x8").unwrap(), placement, Collective::Alltoall).unwrap();
    let choice = choice(&problem, &[16; 3], &Machine::PARAGON);
    assert_eq!(choice.grid.extents(), [8, 4], "{choice}");
    assert!(!of(&choice, &[8, 4]).is_bound && of(&choice, &[4, 8]).is_bound, "{choice}");
}

/// Rows of one graph, whose texts are equal, can be different networks.
#[test]
fn dearest_row_counts() {
    // A complete row, a line, and links between them.
    let links =
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5), (5, 6), (6, 7), (0, 4), (1, 5), (2, 6), (3, 7)];
    for shift in [0, 4] {
        let links = links.map(|(a, b)| ((a + shift) % 8, (b + shift) % 8));
        let graph: Arc<dyn Topology> = Arc::new(Graph::from_edges(links).unwrap());
        let choice = choice(&on(graph), &[16; 3], &Machine::PARAGON);
        let line = direct(&problem("line:4"), 16 * 8 * 4 * 4, &Machine::PARAGON);
        assert_eq!(prices(of(&choice, &[2, 4]))[0], line, "{choice}");
        assert!(!of(&choice, &[2, 4]).is_bound, "{choice}");
    }
}

#[test]
fn embedded_networks_and_idle_nodes_have_grids() {
    let guest = choice(&problem("torus:4x4@how:16,3,1"), &[64; 3], &Machine::PARAGON);
    let slabs = direct(&problem("torus:4x4@how:16,3,1"), 16 * 4 * 4 * 64, &Machine::PARAGON);
    assert_eq!(prices(of(&guest, &[16])), [slabs], "{guest}");
    assert_eq!(guest.grid.extents(), [16], "{guest}");
    // Twelve ranks in three rows of a larger mesh.
    let nodes = (0..12).map(|rank| Node::new(rank / 4 * 5 + rank % 4)).collect();
    let problem =
        Problem::placed(parse("mesh:4x5").unwrap(), Placement::new(nodes, 20).unwrap(), Collective::Alltoall).unwrap();
    let part = choice(&problem, &[10; 3], &Machine::PARAGON);
    assert_eq!(part.grid.extents(), [3, 4], "{part}");
}

#[test]
fn hosts_pay_for_all_rows_at_once() {
    // Three hosts of uneven size; rows along the first axis cross them.
    let names = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 1, 0];
    let problem = problem("complete:12").on_hosts(Hosts::of_names(names)).unwrap();
    let block = 16 * 24 * 24 * 24 / 12;
    for machine in [Machine::FREE.with_host(7), Machine::FREE.with_message(3).with_byte(5).with_cores(2)] {
        let choice = choice(&problem, &[24; 3], &machine);
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
                let wanted = if machine.cores == 0 {
                    let leaving = |rank| peers(rank).filter(|&peer| names[peer] != names[rank]).count();
                    7 * bytes * of_host(&leaving)
                } else {
                    of_host(&|rank| peers(rank).count()) * (2 * 3 + 5 * bytes) / 2
                };
                assert_eq!(price.total, wanted, "{choice}");
            }
        }
    }
}

#[test]
fn texts_explain_the_choice() {
    let text = choice(&problem("torus:4x2"), &[8, 32, 32], &Machine::PARAGON).to_string();
    let first = "8x32x32 elements of 16 bytes on torus:4x2: grid 4x2, by the prices of paragon";
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], first);
    assert!(lines[1].starts_with("  8   ") && lines[1].ends_with("us, at most 1024 elements on a rank"), "{text}");
    assert!(lines[2].starts_with("  4x2 ") && lines[2].contains(" = ") && lines[2].contains(" + "), "{text}");
    assert!(lines[3].starts_with("  2x4 ") && lines[3].contains(" or more, at most "), "{text}");
    let uneven = choice(&problem("torus:4x2"), &[5, 32, 32], &Machine::PARAGON).to_string();
    assert!(uneven.lines().nth(2).unwrap().ends_with("on a rank, too uneven"), "{uneven}");
}

#[test]
fn impossible_arrays_are_refused() {
    let choose = |shape: &[usize], axes: &[usize], bytes| {
        GridChoice::new(&problem("complete:4"), shape, axes, &Terms::new(bytes, &Machine::TCP))
    };
    assert_eq!(choose(&[], &[], 8).unwrap_err(), ArrayError::NoAxes);
    assert_eq!(choose(&[4, 4], &[2], 8).unwrap_err().to_string(), "no axis 2; expected 0 to 1");
    let twice = choose(&[4, 4], &[1, 0, 1], 8).unwrap_err();
    assert_eq!(twice.to_string(), "axis 1 is named twice; name each axis at most once");
    let large = choose(&[1 << 40, 1 << 23], &[0, 1], 8).unwrap_err();
    assert_eq!(large.to_string(), "an array of 1099511627776x8388608 elements has more than 2^63 - 1");
    // Arrays that are nothing or that no memory holds have grids.
    for (shape, bytes) in [([0, 5, 5], 8), ([5, 5, 5], 0), ([0, 1 << 60, 4], 16), ([1 << 31, 1 << 31, 1], u64::MAX)] {
        let grid = choose(&shape, &[0, 1, 2], bytes).unwrap().grid;
        assert_eq!(grid.extents().iter().product::<usize>(), 4);
    }
}

#[test]
fn grids_of_thousands_of_ranks_are_chosen() {
    let plane = choice(&problem("torus:64x64"), &[2048; 3], &Machine::PARAGON);
    assert_eq!(plane.grid.extents(), [64, 64], "{plane}");
    let cube = choice(&problem("torus:16x16x16"), &[4096; 4], &Machine::PARAGON);
    assert_eq!(cube.grid.extents(), [4096], "{cube}");
    assert!(!of(&cube, &[16, 16, 16]).is_bound && of(&cube, &[8, 16, 32]).is_bound, "{cube}");
    // Of the array in doc/notes/transforms.md, each slab is a plane.
    let machine = "free:startup=2us,message=500ns,byte=100ps,channel=100ps,hop=100ns".parse().unwrap();
    assert_eq!(chosen("torus:64x64", &[4096; 3], &machine), [4096]);
    // Slabs, the squarest grid and the network's own are compared.
    let large = choice(&problem("torus:100x200"), &[1000; 3], &Machine::PARAGON);
    let grids: Vec<&[usize]> = large.candidates.iter().map(|candidate| candidate.grid.extents()).collect();
    assert_eq!(grids, [&[20_000][..], &[160, 125], &[100, 200]]);
    assert_eq!(large.grid.extents(), [100, 200], "{large}");
}

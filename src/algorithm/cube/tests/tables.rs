//! The tables of Johnsson & Ho, and Figure 3.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::lines::{Entry, greedy};
use super::super::necklace::Words;
use super::super::{AddressGroup, Crossing, Exchange, Scheme, Succession};
use super::{addresses, diagonal, row};
use crate::algorithm::{Algorithm, find};
use crate::collective::Collective;
use crate::topology::Hypercube;
use crate::vocabulary::Problem;

/// Returns the lines of the table whose title begins like this.
pub(super) fn printed(title: &str) -> Vec<&'static str> {
    let text = include_str!("johnsson-ho-tables.txt");
    let table = text.split("## ").find(|table| table.starts_with(title)).unwrap();
    table.lines().skip(1).filter(|line| !line.is_empty()).collect()
}

/// The elements of an exchange in a 3-cube: source and destination, by processor and relative
/// address.
struct Memory(BTreeMap<(usize, usize), (usize, usize)>);

impl Memory {
    /// Returns the memory before the exchange.
    fn new() -> Self {
        let aligned = |from: usize, to: usize| ((from, to ^ from), (from, to));
        Self((0..8).flat_map(|from| (0..8).map(move |to| (from, to))).map(|(from, to)| aligned(from, to)).collect())
    }

    /// Returns what processors have of a relative address, as the paper writes it: source, and
    /// destination as a local address.
    fn row(&self, address: usize) -> String {
        let element = |processor| self.0[&(processor, address)];
        let written = (0..8).map(element).map(|(source, destination)| format!("{source} {destination:03b}"));
        written.collect::<Vec<_>>().join("|")
    }

    /// Returns the rows of the pairs that the library schedules together, in its order.
    fn pairs(&self, groups: std::ops::Range<usize>) -> Vec<String> {
        let exchange = Exchange::new(Scheme::Pairs, 3).unwrap();
        let pairs = |group| addresses(group, 3).into_iter().filter(|address| *address < 4);
        let pairs = exchange.groups[groups].iter().flat_map(pairs);
        pairs.flat_map(|pair| [pair, 7 - pair]).map(|address| self.row(address)).collect()
    }
}

/// Returns the memory before Algorithm 1 and after each of its steps.
fn memories() -> Vec<Memory> {
    let problem = Problem::new(Arc::new(Hypercube::new(3).unwrap()), Collective::Alltoall).unwrap();
    let algorithm = find(&Collective::Alltoall, "necklace-exchange:scheme=1,width=1").unwrap();
    let mut states = vec![Memory::new()];
    for joined in algorithm.shares(&problem).unwrap() {
        let mut next = states.last().unwrap().0.clone();
        for transfer in joined.round.transfers {
            for block in transfer.blocks {
                let ends = (block.source() as usize, block.destination() as usize);
                next.insert((transfer.destination.index(), ends.0 ^ ends.1), ends);
            }
        }
        states.push(Memory(next));
    }
    states
}

#[test]
fn tables_1_and_2_the_memory_by_relative_addresses() {
    let memory = Memory::new();
    assert_eq!((0..8).map(|address| memory.row(address)).collect::<Vec<_>>(), printed("Table 1"));
    assert_eq!(memory.pairs(0..2), printed("Table 2"));
}

#[test]
fn table_4_the_memory_after_each_step_of_algorithm_1() {
    let states = memories();
    let found: Vec<String> = states[..4].iter().flat_map(|memory| memory.pairs(0..1)).collect();
    assert_eq!(found, printed("Table 4"));
    // After the pair that is left over, all elements have arrived.
    assert_eq!(states.len(), 7);
    assert!(states[6].0.iter().all(|((processor, _), (_, destination))| processor == destination));
}

/// The elements of a square of four by four processors, by processor and location.
struct Places(BTreeMap<(usize, usize), usize>);

impl Places {
    /// Returns, for each location, the elements of all processors, as Table 3 has them.
    fn rows(&self) -> Vec<String> {
        let row = |place| (0..16).map(move |processor| self.0[&(processor, place)].to_string());
        (0..4).map(|place| row(place).collect::<Vec<_>>().join(" ")).collect()
    }

    /// Returns the elements after all processors have added this modulo 2 to their places.
    fn aligned(&self, by: impl Fn(usize) -> usize) -> Self {
        Self(
            self.0
                .iter()
                .map(|(&(processor, place), &element)| ((processor, place ^ by(processor)), element))
                .collect(),
        )
    }
}

#[test]
fn table_3_has_one_alignment_before_and_one_after() {
    let succession = Succession::pipelined(2, 2, 2).unwrap();
    let problem = succession.problem().unwrap();
    // The alignment of a processor: the sum modulo 2 of its two axes.
    let by = |processor: usize| processor >> 2 ^ processor & 3;
    let mut found = vec![(0..16).map(|processor| format!("{:02b}", by(processor))).collect::<Vec<_>>().join(" ")];
    let mut memory = Places((0..64).map(|element| ((element / 4, element % 4), element)).collect());
    found.extend(memory.rows());
    memory = memory.aligned(by);
    found.extend(memory.rows());
    for (step, joined) in succession.shares(&problem).unwrap().enumerate() {
        // Elements that arrive take the places of those that have left.
        let mut next = memory.0.clone();
        for transfer in joined.round.transfers {
            for block in transfer.blocks {
                let element = 4 * block.source() as usize + block.destination() as usize % 4;
                let at = memory.0.iter().find(|(_, held)| **held == element).map(|(at, _)| *at).unwrap();
                assert_eq!(at.0, transfer.source.index());
                next.insert((transfer.destination.index(), at.1), element);
            }
        }
        memory = Places(next);
        // An exchange has two steps: one pair of locations is a dimension ahead of the other.
        if step % 2 == 1 {
            found.extend(memory.rows());
        }
    }
    found.extend(memory.aligned(by).rows());
    assert_eq!(found, printed("Table 3"));
}

/// Returns the dimension that one of some addresses crosses in each step.
fn crossed(steps: &[Vec<Crossing>], addresses: &[usize]) -> String {
    let of = |step: &Vec<Crossing>| {
        let crossing = step.iter().find(|crossing| addresses.contains(&crossing.address));
        crossing.map_or("-".to_owned(), |crossing| crossing.dimension.to_string())
    };
    steps.iter().map(of).collect::<Vec<_>>().join(" ")
}

#[test]
fn table_5_the_wrapped_schedule() {
    let exchange = Exchange::new(Scheme::Wrapped, 4).unwrap();
    let steps: Vec<Vec<Crossing>> = exchange.steps().map(<[Crossing]>::to_vec).collect();
    let rows: Vec<String> = (0..8).map(|pair| crossed(&steps, &[pair, 15 - pair])).collect();
    assert_eq!(rows, printed("Table 5"));
}

/// Returns which line goes through each entry of the first four rows of the generating table of
/// five dimensions.
fn lines(line: impl Fn(usize, usize) -> Entry) -> Vec<String> {
    let mut table = BTreeMap::new();
    for (i, j) in (0..4).flat_map(|i| (0..5).map(move |j| (i, j))) {
        let entry = line(i, j);
        table.insert((row(entry, 5).unwrap(), entry.step), i.to_string());
    }
    (0..4).map(|row| (0..5).map(|step| table[&(row, step)].clone()).collect::<Vec<_>>().join(" ")).collect()
}

/// In the left system every line is a row. Table 7 says in which step it has which member.
#[test]
fn figure_3_the_lines_in_the_generating_table() {
    assert_eq!(lines(|i, j| diagonal(5, 1, i, j).unwrap()), printed("Figure 3, left"));
    assert_eq!(lines(|i, j| greedy(5, 1, i, j).unwrap()), printed("Figure 3, right"));
}

/// Returns the rows of Table 7 for the necklace.
fn members(line: impl Fn(usize, usize) -> Entry) -> Vec<String> {
    let member = |j: usize| {
        let entries: Vec<Entry> = (0..4).map(|i| line(i, j)).collect();
        let address: usize = entries.iter().map(|entry| 1 << entry.dimension).sum();
        let at = |step| entries.iter().find(|entry| entry.step == step);
        let crossed = (0..5).map(|step| at(step).map_or("-".to_owned(), |entry| entry.dimension.to_string()));
        format!("{address:05b}: {}", crossed.collect::<Vec<_>>().join(" "))
    };
    (0..5).map(member).collect()
}

#[test]
fn table_7_the_schedules_of_figure_3() {
    let (left, right) = (printed("Table 7, left"), printed("Table 7, right"));
    assert_eq!(members(|i, j| diagonal(5, 1, i, j).unwrap()), left[..5]);
    assert_eq!(members(|i, j| greedy(5, 1, i, j).unwrap()), right[..5]);
    // The exchange executes the schedule on the right, together with the pair.
    let exchange = Exchange::new(Scheme::Necklaces, 5).unwrap();
    let joint = &exchange.groups[0].steps;
    let rows = (0..5).map(|j| 0b01111 << j | 0b01111 >> (5 - j)).map(|address| address & 31);
    let mut found: Vec<String> = rows.map(|address| format!("{address:05b}: {}", crossed(joint, &[address]))).collect();
    found.push(format!("00000,11111: {}", crossed(joint, &[0, 31])));
    assert_eq!(found, right);
    assert_eq!(found[5], left[5]);
}

/// Returns the addresses that a set of the tables names.
fn named(text: &str) -> BTreeSet<usize> {
    let words = Words::binary(5).unwrap();
    let set = |text: &str| -> Vec<usize> {
        let word = usize::from_str_radix(&text[2..7], 2).unwrap();
        match text.as_bytes()[0] {
            b'C' => vec![word, words.complement(word)],
            _ => (0..5).map(|by| words.rotated(word, by)).collect(),
        }
    };
    text.split(' ').flat_map(set).collect()
}

#[test]
fn tables_8_and_9_blocks_and_channels_of_three_elements() {
    let exchange = Exchange::new(Scheme::Necklaces, 5).unwrap();
    let table = exchange.table();
    let groups = |row: &[(usize, usize)]| -> Vec<BTreeSet<usize>> {
        row.iter().map(|(group, _)| addresses(&exchange.groups[*group], 5)).collect()
    };
    let found: Vec<_> = table.rows.iter().map(|row| groups(row)).collect();
    let expected: Vec<Vec<_>> = printed("Table 8").iter().map(|row| row.split('|').map(named).collect()).collect();
    assert_eq!(found, expected);
    // The step in which each entry is.
    let steps = table.pieces(3);
    let step = |&(group, step): &(usize, usize)| {
        let crossings = &exchange.groups[group].steps[step];
        steps.iter().position(|piece| crossings.iter().all(|crossing| piece.contains(crossing))).unwrap().to_string()
    };
    let found = table.rows.iter().map(|row| row.iter().map(step).collect::<Vec<_>>().join(" "));
    assert_eq!(found.collect::<Vec<_>>(), printed("Table 9"));
}

#[test]
fn cyclic_addresses_are_counted() {
    for row in printed("Cyclic addresses") {
        let numbers: Vec<usize> = row.split(' ').map(|number| number.parse().unwrap()).collect();
        let words = Words::binary(numbers[0]).unwrap();
        let cyclic = (0..words.count()).filter(|&word| words.is_cyclic(word)).count();
        // The ones that are left over are in one group with addresses that are not cyclic.
        let exchange = Exchange::new(Scheme::Necklaces, numbers[0]).unwrap();
        let all_of = |group: &AddressGroup| addresses(group, numbers[0]);
        let cyclic_of = |group: &AddressGroup| all_of(group).into_iter().filter(|&word| words.is_cyclic(word)).count();
        let is_mixed = |group: &&AddressGroup| ![0, all_of(group).len()].contains(&cyclic_of(group));
        let mixed: Vec<usize> = exchange.groups.iter().filter(is_mixed).map(cyclic_of).collect();
        assert_eq!(mixed, if numbers[3] > 0 { vec![2 * numbers[3]] } else { vec![] }, "{row}");
        assert_eq!([numbers[0], cyclic, cyclic / 2], numbers[..3], "{row}");
    }
}

//! Two exchanges in place of a map that is none: by way of ranks in between.
//!
//! Let a map change q bits of ranks' numbers. Each element gets a *label* of q bits, sums of bits
//! of its address, and goes first to the rank that has the label in these bits and is like its own
//! in the others, then to where it belongs. Both are exchanges in the same sub-cubes if all labels
//! are equally frequent among the elements that a rank has at first, and among those that it shall
//! have: if no sum of the labels' bits is a sum of bits of the old rank, or one of bits of the new
//! rank. There are such labels where a place has q bits: as many bits of the old rank are outside
//! of the sums of the new one's as the other way round, r of each, and a sum of one and one is
//! outside of both; add bits that are sums of neither.
//!
//! What one rank has for another is cut into chunks by its labels, which differ in the bits that
//! were added: 2^(q-r) chunks for each of 2^r ranks, no more than labels.

use super::basis::Basis;
use super::map::BitMap;
use crate::block::Block;
use crate::ids::Rank;

/// By which ranks elements go.
#[derive(Debug)]
pub(super) struct Detour {
    /// The bits of ranks' numbers that are changed.
    pub(super) bits: Vec<usize>,
    out: Side,
    back: Side,
    /// The bits of a label that differ among what one rank has for another.
    apart: Vec<usize>,
}

/// Elements by where they are at one end.
#[derive(Debug)]
struct Side {
    /// To the other end.
    map: BitMap,
    place_bits: usize,
    /// What each bit of an address at this end adds to the label, and what is added in any case.
    columns: Vec<u64>,
    add: u64,
    /// The place that has each bit of the label alone.
    units: Vec<u64>,
    /// By how ranks at the other end differ for elements of one rank and label.
    far: Vec<u64>,
}

impl Detour {
    /// For a map that changes no more bits of ranks than places have, and some.
    pub(super) fn new(map: &BitMap, place_bits: usize) -> Option<Self> {
        let here = |bit: usize| 1_u64 << (place_bits + bit);
        let there = |bit: usize| map.row(place_bits + bit);
        let rank_bits = map.bits() - place_bits;
        let is_changed = |bit: &usize| there(*bit) != here(*bit) || map.apply(0) & here(*bit) != 0;
        let bits: Vec<usize> = (0..rank_bits).filter(is_changed).collect();
        if bits.is_empty() || bits.len() > place_bits {
            return None;
        }
        // Bits of the old rank that are no sums of the new one's, and the other way round: as many
        // of each, so sums of two.
        let mut known: [Basis; 2] = [(0..rank_bits).map(there).collect(), (0..rank_bits).map(here).collect()];
        let old: Vec<u64> = (0..rank_bits).map(here).filter(|sum| known[0].insert(*sum, 0).is_ok()).collect();
        let new: Vec<u64> = (0..rank_bits).map(there).filter(|sum| known[1].insert(*sum, 0).is_ok()).collect();
        let pairs = old.iter().zip(&new).map(|(old, new)| old ^ new);
        // The others are of places; high ones rather than low ones, so that what is next to each
        // other stays together.
        let units = (0..map.bits()).rev().map(|bit| 1_u64 << bit).filter(|unit| known[1].insert(*unit, 0).is_ok());
        let sums: Vec<u64> = pairs.chain(units).take(bits.len()).collect();
        let word =
            |bit: usize| sums.iter().enumerate().fold(0, |word, (number, sum)| word | (sum >> bit & 1) << number);
        let columns = (0..map.bits()).map(word).collect();
        let out = Side::new(map.clone(), place_bits, columns, 0, bits.len())?;
        let inverse = map.inverse();
        let of = (0..map.bits()).map(|bit| out.label(inverse.linear_part(1 << bit))).collect();
        let add = out.label(inverse.apply(0));
        let back = Side::new(inverse, place_bits, of, add, bits.len())?;
        // Elements of a rank that stay together, whatever the label.
        let moved = (0..place_bits).map(|bit| (map.linear_part(1 << bit) >> place_bits, 1 << bit));
        let (_, together) = Basis::and_relations(u64::BITS as usize, moved);
        let labels: Basis = together.into_iter().map(|difference| out.label(difference)).collect();
        Some(Self { bits, out, back, apart: labels.highest() })
    }

    /// The label of an element by its address at first.
    pub(super) fn label(&self, address: u64) -> u64 {
        self.out.label(address)
    }

    /// Whether elements that differ in this bit of their place have the same label.
    pub(super) fn is_blind_to(&self, bit: usize) -> bool {
        self.out.columns[bit] == 0
    }

    /// Into how many chunks what one rank has for another is cut.
    pub(super) fn chunks(&self) -> u32 {
        1 << self.apart.len()
    }

    /// Which chunk of what one rank has for another a label is.
    pub(super) fn chunk(&self, label: u64) -> u32 {
        self.apart.iter().enumerate().fold(0, |sum, (number, bit)| sum | ((label >> bit & 1) as u32) << number)
    }

    /// What a rank has at first for the rank in between, or, where that rank has it for one at the
    /// end, what goes there.
    pub(super) fn blocks(&self, first: bool, (source, destination): (Rank, Rank), into: &mut Vec<Block>) {
        let (side, end, between) =
            if first { (&self.out, source, destination) } else { (&self.back, destination, source) };
        let bits = self.bits.iter().enumerate();
        let label = bits.fold(0, |sum, (number, bit)| sum | (between.index() as u64 >> bit & 1) << number);
        let (chunk, of) = (self.chunk(label), self.chunks());
        into.extend(side.far(end, label).filter_map(|far| {
            let (source, destination) = if first { (end, far) } else { (far, end) };
            Block::new(source, destination).chunks(chunk, of, 1)
        }));
    }
}

impl Side {
    fn new(map: BitMap, place_bits: usize, columns: Vec<u64>, add: u64, label_bits: usize) -> Option<Self> {
        let words = (0..place_bits).map(|bit| (columns[bit], 1 << bit));
        let (basis, alike) = Basis::and_relations(label_bits, words);
        if basis.rank() < label_bits {
            return None;
        }
        let mut known = Basis::new(u64::BITS as usize);
        let apart = alike.into_iter().map(|difference| map.linear_part(difference) >> place_bits);
        let far = apart.filter(|word| known.insert(*word, 0).is_ok()).collect();
        Some(Self { units: basis.units(), far, map, place_bits, columns, add })
    }

    fn label(&self, address: u64) -> u64 {
        let set = self.columns.iter().enumerate().filter(|(bit, _)| address >> bit & 1 == 1);
        set.fold(self.add, |sum, (_, column)| sum ^ column)
    }

    /// The ranks at the other end of a rank's elements that have a label.
    fn far(&self, rank: Rank, label: u64) -> impl Iterator<Item = Rank> {
        let first = (rank.index() as u64) << self.place_bits;
        let missing = self.label(first) ^ label;
        let units = self.units.iter().enumerate().filter(|(bit, _)| missing >> bit & 1 == 1);
        let one = self.map.apply(units.fold(first, |sum, (_, unit)| sum ^ unit)) >> self.place_bits;
        let others = move |number: u64| {
            let added = self.far.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
            added.fold(one, |sum, (_, apart)| sum ^ apart)
        };
        let mut all: Vec<u64> = (0..1 << self.far.len()).map(others).collect();
        all.sort_unstable();
        all.into_iter().map(|rank| Rank::new(rank as usize))
    }
}

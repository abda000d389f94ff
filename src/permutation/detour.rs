//! Permutations by two exchanges, through intermediate ranks, for maps that are not a single
//! exchange.
//!
//! Let a map change q bits of the rank numbers. Each element gets a *label* of q bits, which are
//! sums of bits of its address. It moves first to the rank whose q bits are the label and whose
//! other bits are those of its own rank, then to its destination. Both moves are exchanges in the
//! same sub-cubes if all labels are equally frequent among the elements that a rank holds before,
//! and among those that it holds after: no sum of label bits may be a sum of bits of the old rank,
//! nor of the new rank.
//!
//! Such labels exist if a place has at least q bits. Let r bits of the old rank be outside of the
//! span of the new rank's bits; then r bits of the new rank are outside of the span of the old
//! rank's. The sum of one of each is outside of both spans. The other q - r label bits are address
//! bits outside of both.
//!
//! The elements that one rank has for another are cut into chunks by label: 2^(q-r) chunks for each
//! of 2^r ranks, one per label.

use super::basis::Basis;
use super::map::BitMap;
use crate::block::Block;
use crate::ids::Rank;

/// The labels of a map, and so the intermediate ranks of its elements.
#[derive(Debug)]
pub(super) struct Detour {
    /// The bits of the rank numbers that the map changes.
    pub(super) bits: Vec<usize>,
    out: Move,
    back: Move,
    /// The label bits that differ among the elements that one rank has for another.
    apart: Vec<usize>,
}

/// The labels of elements, as an affine map of their addresses.
#[derive(Debug)]
struct Labels {
    /// The number of bits of a label.
    bits: usize,
    /// The contribution of each bit of the address.
    columns: Vec<u64>,
    /// The label of address 0.
    add: u64,
}

/// The move of the elements between their ranks at one end, before or after the permutation, and
/// the intermediate ranks.
#[derive(Debug)]
struct Move {
    /// The map to the other end.
    map: BitMap,
    place_bits: usize,
    /// The labels by addresses at this end.
    labels: Labels,
    /// For each label bit, a place whose label is that bit alone.
    units: Vec<u64>,
    /// A basis of the differences between the ranks at the other end, for elements of one rank and
    /// label.
    far: Vec<u64>,
}

impl Detour {
    /// Returns the detour of a map that changes at least one rank bit, and at most as many as a
    /// place has bits.
    pub(super) fn new(map: &BitMap, place_bits: usize) -> Option<Self> {
        let here = |bit: usize| 1_u64 << (place_bits + bit);
        let there = |bit: usize| map.row(place_bits + bit);
        let rank_bits = map.bits() - place_bits;
        let is_changed = |bit: &usize| there(*bit) != here(*bit) || map.apply(0) & here(*bit) != 0;
        let bits: Vec<usize> = (0..rank_bits).filter(is_changed).collect();
        if bits.is_empty() || bits.len() > place_bits {
            return None;
        }
        // The bits of the old rank outside of the span of the new rank's bits, and the other way
        // round, paired.
        let mut known: [Basis; 2] = [(0..rank_bits).map(there).collect(), (0..rank_bits).map(here).collect()];
        let old: Vec<u64> = (0..rank_bits).map(here).filter(|sum| known[0].insert(*sum, 0).is_ok()).collect();
        let new: Vec<u64> = (0..rank_bits).map(there).filter(|sum| known[1].insert(*sum, 0).is_ok()).collect();
        let pairs = old.iter().zip(&new).map(|(old, new)| old ^ new);
        // The other label bits are place bits, high ones first, so that neighbouring elements stay
        // together.
        let units = (0..map.bits()).rev().map(|bit| 1_u64 << bit).filter(|unit| known[1].insert(*unit, 0).is_ok());
        let sums: Vec<u64> = pairs.chain(units).take(bits.len()).collect();
        let word =
            |bit: usize| sums.iter().enumerate().fold(0, |word, (number, sum)| word | (sum >> bit & 1) << number);
        let columns = (0..map.bits()).map(word).collect();
        let out = Move::new(map.clone(), place_bits, Labels { bits: bits.len(), columns, add: 0 })?;
        let inverse = map.inverse();
        let columns = (0..map.bits()).map(|bit| out.labels.of(inverse.linear_part(1 << bit))).collect();
        let add = out.labels.of(inverse.apply(0));
        let back = Move::new(inverse, place_bits, Labels { bits: bits.len(), columns, add })?;
        // Differences between elements of one rank with the same destination.
        let moved = (0..place_bits).map(|bit| (map.linear_part(1 << bit) >> place_bits, 1 << bit));
        let (_, together) = Basis::and_relations(u64::BITS as usize, moved);
        let labels: Basis = together.into_iter().map(|difference| out.labels.of(difference)).collect();
        Some(Self { bits, out, back, apart: labels.highest() })
    }

    /// Returns the label of an element by its old address.
    pub(super) fn label(&self, address: u64) -> u64 {
        self.out.labels.of(address)
    }

    /// Returns whether elements that differ in this place bit have the same label.
    pub(super) fn is_blind_to(&self, bit: usize) -> bool {
        self.out.labels.columns[bit] == 0
    }

    /// Returns the number of chunks into which a block is cut.
    pub(super) fn chunks(&self) -> u32 {
        1 << self.apart.len()
    }

    /// Returns the chunk of a block that has this label.
    pub(super) fn chunk(&self, label: u64) -> u32 {
        self.apart.iter().enumerate().fold(0, |sum, (number, bit)| sum | ((label >> bit & 1) as u32) << number)
    }

    /// Lists the blocks that move from a rank to an intermediate rank (`first`), or from an
    /// intermediate rank to a destination.
    pub(super) fn blocks(&self, first: bool, (source, destination): (Rank, Rank), into: &mut Vec<Block>) {
        let (half, end, between) =
            if first { (&self.out, source, destination) } else { (&self.back, destination, source) };
        let bits = self.bits.iter().enumerate();
        let label = bits.fold(0, |sum, (number, bit)| sum | (between.index() as u64 >> bit & 1) << number);
        let (chunk, of) = (self.chunk(label), self.chunks());
        into.extend(half.far(end, label).filter_map(|far| {
            let (source, destination) = if first { (end, far) } else { (far, end) };
            Block::new(source, destination).chunks(chunk, of, 1)
        }));
    }
}

impl Labels {
    /// Returns the label of an address.
    fn of(&self, address: u64) -> u64 {
        let set = self.columns.iter().enumerate().filter(|(bit, _)| address >> bit & 1 == 1);
        set.fold(self.add, |sum, (_, column)| sum ^ column)
    }
}

impl Move {
    fn new(map: BitMap, place_bits: usize, labels: Labels) -> Option<Self> {
        let words = (0..place_bits).map(|bit| (labels.columns[bit], 1 << bit));
        let (basis, alike) = Basis::and_relations(labels.bits, words);
        if basis.rank() < labels.bits {
            return None;
        }
        let mut known = Basis::new(u64::BITS as usize);
        let apart = alike.into_iter().map(|difference| map.linear_part(difference) >> place_bits);
        let far = apart.filter(|word| known.insert(*word, 0).is_ok()).collect();
        Some(Self { units: basis.units(), far, map, place_bits, labels })
    }

    /// Returns the ranks at the other end of the elements of a rank with this label.
    fn far(&self, rank: Rank, label: u64) -> impl Iterator<Item = Rank> {
        let first = (rank.index() as u64) << self.place_bits;
        let missing = self.labels.of(first) ^ label;
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

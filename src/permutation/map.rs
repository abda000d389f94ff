//! Maps of address bits.

use std::fmt;

use super::basis::Basis;
use crate::quote::debug_as_text;

/// A permutation of 2^k elements as a map of the k bits of their addresses. Each bit of the new
/// address is a sum modulo 2 of bits of the old address, and possibly 1. The map is one-to-one.
///
/// Such maps permute bits, complement bits, convert to binary-reflected Gray code, and
/// [compose](Self::then) these. They are known as BMMC permutations
/// (bit-matrix-multiply/complement); those that only permute and complement bits are BPC
/// permutations (bit-permute/complement).
///
/// ```
/// use necklace::permutation::BitMap;
/// let map = BitMap::transpose(1, 2)?;
/// // A matrix of 2 x 4: the element in row 1, column 2 moves to row 2, column 1 of 4 x 2.
/// assert_eq!(map.apply(4 * 1 + 2), 2 * 2 + 1);
/// assert_eq!(map.inverse(), BitMap::transpose(2, 1)?);
/// # Ok::<(), necklace::permutation::BitMapError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BitMap {
    /// For each bit of the old address, the bits of the new address that it is added to.
    columns: Vec<u64>,
    /// The bits that are complemented.
    add: u64,
}

/// The reason why a map of address bits is invalid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitMapError {
    /// Addresses have too many bits.
    #[error("addresses of {bits} bits; at most {max} are supported", max = BitMap::MAX_BITS)]
    #[non_exhaustive]
    Bits {
        /// The number of bits of an address.
        bits: usize,
    },
    /// A bit is out of range.
    #[error("bit {bit} of addresses of {bits} bits is out of range; the first bit is 0")]
    #[non_exhaustive]
    Range {
        /// The bit.
        bit: usize,
        /// The number of bits of an address.
        bits: usize,
    },
    /// A bit is named twice.
    #[error("duplicate bit {bit}")]
    #[non_exhaustive]
    Twice {
        /// The bit.
        bit: usize,
    },
    /// The map is not one-to-one.
    #[error("the map is not one-to-one: addresses that differ by {differ:#b} have the same image")]
    #[non_exhaustive]
    Singular {
        /// The difference of two addresses with the same image.
        differ: u64,
    },
    /// Axes of different lengths cannot be exchanged.
    #[error("an axis of {axis} bits cannot be exchanged with one of {other} bits")]
    #[non_exhaustive]
    Lengths {
        /// The number of bits of the first axis.
        axis: usize,
        /// The number of bits of the other axis.
        other: usize,
    },
    /// Maps of addresses of different lengths cannot be composed.
    #[error("a map of addresses of {first} bits cannot be followed by one of {second} bits")]
    #[non_exhaustive]
    Follow {
        /// The address bits of the first map.
        first: usize,
        /// The address bits of the second map.
        second: usize,
    },
}

debug_as_text!(BitMapError);

impl BitMap {
    /// The maximum number of bits of an address.
    const MAX_BITS: usize = 62;

    /// Returns the identity.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`] for more than 62 bits.
    pub fn identity(bits: usize) -> Result<Self, BitMapError> {
        if bits > Self::MAX_BITS {
            return Err(BitMapError::Bits { bits });
        }
        Ok(Self { columns: (0..bits).map(|bit| 1 << bit).collect(), add: 0 })
    }

    /// Returns the map that moves bit i to bit `to[i]`.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`] and [`BitMapError::Twice`] if `to` is not a
    /// permutation.
    pub fn moving(to: &[usize]) -> Result<Self, BitMapError> {
        let mut map = Self::identity(to.len())?;
        check_distinct(to.len(), to)?;
        for (column, bit) in map.columns.iter_mut().zip(to) {
            *column = 1 << bit;
        }
        Ok(map)
    }

    /// Returns the affine map with these columns: the new address is `add`, xor `columns[i]` for
    /// each bit i that is set in the old address.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`] if `add` or a column has more bits than an
    /// address; [`BitMapError::Singular`] if the map is not one-to-one.
    pub fn linear(columns: &[u64], add: u64) -> Result<Self, BitMapError> {
        let bits = columns.len();
        let whole = Self::identity(bits)?.mask();
        if let Some(outside) = columns.iter().chain([&add]).find(|word| *word & !whole != 0) {
            return Err(BitMapError::Range { bit: outside.ilog2() as usize, bits });
        }
        let map = Self { columns: columns.to_vec(), add };
        map.solve().map(|_| map).map_err(|differ| BitMapError::Singular { differ })
    }

    /// Returns the map that exchanges the bits of two axes, in order.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`]; [`BitMapError::Twice`] for a bit that is in
    /// both axes, or twice in one; [`BitMapError::Lengths`].
    pub fn axis_exchange(bits: usize, axis: &[usize], other: &[usize]) -> Result<Self, BitMapError> {
        if axis.len() != other.len() {
            return Err(BitMapError::Lengths { axis: axis.len(), other: other.len() });
        }
        check_distinct(bits, &[axis, other].concat())?;
        let mut to: Vec<usize> = (0..bits).collect();
        axis.iter().zip(other).for_each(|(&a, &b)| (to[a], to[b]) = (b, a));
        Self::moving(&to)
    }

    /// Returns the map that transposes a matrix of 2^`row_bits` rows and 2^`column_bits` columns in
    /// row-major order.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn transpose(row_bits: usize, column_bits: usize) -> Result<Self, BitMapError> {
        Self::generalized_shuffle(row_bits.saturating_add(column_bits), row_bits)
    }

    /// Returns the map that reverses the order of the bits.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn bit_reversal(bits: usize) -> Result<Self, BitMapError> {
        Self::identity(bits)?;
        Self::moving(&(0..bits).rev().collect::<Vec<_>>())
    }

    /// Returns the map that complements the bits that are set in a mask.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`] if the mask has more bits than an address.
    pub fn complement(bits: usize, mask: u64) -> Result<Self, BitMapError> {
        Self::linear(&Self::identity(bits)?.columns, mask)
    }

    /// Returns the map that reverses the order of the elements: it complements all bits.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn vector_reversal(bits: usize) -> Result<Self, BitMapError> {
        let map = Self::identity(bits)?;
        Ok(Self { add: map.mask(), ..map })
    }

    /// Returns the perfect shuffle, which interleaves the halves of the array: it rotates addresses
    /// to the left by one.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn shuffle(bits: usize) -> Result<Self, BitMapError> {
        Self::generalized_shuffle(bits, 1)
    }

    /// Returns the inverse of the perfect shuffle, which puts elements with even addresses before
    /// those with odd addresses: it rotates addresses to the right by one.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn unshuffle(bits: usize) -> Result<Self, BitMapError> {
        Self::generalized_shuffle(bits, bits.saturating_sub(1))
    }

    /// Returns the map that rotates addresses to the left by `by` bits.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`].
    pub fn generalized_shuffle(bits: usize, by: usize) -> Result<Self, BitMapError> {
        Self::identity(bits)?;
        Self::moving(&(0..bits).map(|bit| (bit + by % bits) % bits).collect::<Vec<_>>())
    }

    /// Returns the map from the consecutive (block) to the cyclic distribution over 2^`rank_bits`
    /// ranks. In the cyclic distribution, the elements of a rank have the same address modulo the
    /// number of ranks.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`] if `rank_bits` is more than `bits`.
    pub fn consecutive_to_cyclic(bits: usize, rank_bits: usize) -> Result<Self, BitMapError> {
        Self::generalized_shuffle(bits, place_bits(bits, rank_bits)?)
    }

    /// Returns the map from the cyclic to the consecutive (block) distribution.
    ///
    /// # Errors
    ///
    /// As [`consecutive_to_cyclic`](Self::consecutive_to_cyclic).
    pub fn cyclic_to_consecutive(bits: usize, rank_bits: usize) -> Result<Self, BitMapError> {
        place_bits(bits, rank_bits)?;
        Self::generalized_shuffle(bits, rank_bits)
    }

    /// Returns the map that converts a field of `length` bits, from bit `first` on, from binary to
    /// binary-reflected Gray code.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Bits`]; [`BitMapError::Range`] if the field exceeds the address.
    pub fn to_gray(bits: usize, first: usize, length: usize) -> Result<Self, BitMapError> {
        let mut map = Self::identity(bits)?;
        let field = field(bits, first, length)?;
        // g = b xor (b >> 1): a bit is added to its own place and to the one below.
        for bit in field.skip(1) {
            map.columns[bit] |= 1 << (bit - 1);
        }
        Ok(map)
    }

    /// Returns the map that converts a field from binary-reflected Gray code to binary.
    ///
    /// # Errors
    ///
    /// As [`to_gray`](Self::to_gray).
    pub fn from_gray(bits: usize, first: usize, length: usize) -> Result<Self, BitMapError> {
        Ok(Self::to_gray(bits, first, length)?.inverse())
    }

    /// Returns the number of bits of an address.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.columns.len()
    }

    /// Returns the new address of the element at `address`. Bits beyond those of an address are
    /// ignored.
    #[must_use]
    pub fn apply(&self, address: u64) -> u64 {
        self.linear_part(address) ^ self.add
    }

    /// Returns the difference of the new addresses of two elements whose old addresses differ by
    /// `difference`.
    pub(super) fn linear_part(&self, difference: u64) -> u64 {
        let set = self.columns.iter().enumerate().filter(|(bit, _)| difference >> bit & 1 == 1);
        set.fold(0, |sum, (_, column)| sum ^ column)
    }

    /// Returns the bits of the old address whose sum is this bit of the new address.
    pub(super) fn row(&self, bit: usize) -> u64 {
        self.columns.iter().enumerate().fold(0, |sum, (from, column)| sum | (column >> bit & 1) << from)
    }

    /// Composes two maps: this one first, then `next`.
    ///
    /// # Errors
    ///
    /// [`BitMapError::Follow`] if the maps have different numbers of bits.
    pub fn then(&self, next: &Self) -> Result<Self, BitMapError> {
        if self.bits() != next.bits() {
            return Err(BitMapError::Follow { first: self.bits(), second: next.bits() });
        }
        let columns = self.columns.iter().map(|&column| next.linear_part(column)).collect();
        Ok(Self { columns, add: next.apply(self.add) })
    }

    /// Returns the inverse.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let columns = self.solve().unwrap_or_default();
        let back = Self { columns, add: 0 };
        Self { add: back.apply(self.add), ..back }
    }

    fn mask(&self) -> u64 {
        (1 << self.bits()) - 1
    }

    /// Returns, for each bit, the address whose image under the linear part is that bit alone. If
    /// the map is singular, fails with the difference of two addresses with the same image.
    fn solve(&self) -> Result<Vec<u64>, u64> {
        let mut basis = Basis::new(self.bits());
        for (bit, &column) in self.columns.iter().enumerate() {
            basis.insert(column, 1 << bit)?;
        }
        Ok(basis.units())
    }
}

/// Shows the bits that move, with the new bits that they are added to, and the complemented bits:
/// `0->1 1->0+2 +0b1 of 3 bits`.
impl fmt::Display for BitMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { columns, add } = self;
        let moved = |(bit, column): (usize, &u64)| {
            let into: Vec<String> =
                (0..columns.len()).filter(|to| column >> to & 1 == 1).map(|to| to.to_string()).collect();
            (*column != 1 << bit).then(|| format!("{bit}->{} ", into.join("+")))
        };
        let mut words: String = columns.iter().enumerate().filter_map(moved).collect();
        if *add != 0 {
            words += &format!("+{add:#b} ");
        }
        write!(f, "{}of {} bits", if words.is_empty() { "identity " } else { &words }, columns.len())
    }
}

/// Checks that these are bits of an address, without repetition.
fn check_distinct(bits: usize, set: &[usize]) -> Result<(), BitMapError> {
    BitMap::identity(bits)?;
    let mut seen = 0_u64;
    for &bit in set {
        if bit >= bits {
            return Err(BitMapError::Range { bit, bits });
        }
        if seen >> bit & 1 == 1 {
            return Err(BitMapError::Twice { bit });
        }
        seen |= 1 << bit;
    }
    Ok(())
}

/// Returns the number of address bits that are not rank bits.
fn place_bits(bits: usize, rank_bits: usize) -> Result<usize, BitMapError> {
    bits.checked_sub(rank_bits).ok_or(BitMapError::Range { bit: rank_bits.saturating_sub(1), bits })
}

fn field(bits: usize, first: usize, length: usize) -> Result<std::ops::Range<usize>, BitMapError> {
    let end = first.saturating_add(length);
    if end > bits { Err(BitMapError::Range { bit: end - 1, bits }) } else { Ok(first..end) }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    /// A random map, from columns that are made independent.
    fn any(bits: usize, words: &[u64]) -> BitMap {
        let mut map = BitMap::identity(bits).unwrap();
        let whole = map.mask();
        for (step, word) in words.iter().enumerate() {
            let [i, j] = [*word as usize % bits, (*word >> 8) as usize % bits];
            if i != j {
                map.columns[i] ^= map.columns[j];
            }
            map.columns.swap(step % bits, j);
            map.add ^= word >> 16 & whole;
        }
        map
    }

    quickcheck! {
        fn inverse_map_restores_addresses(bits: u8, words: Vec<u64>, addresses: Vec<u64>) -> bool {
            let map = any(1 + bits as usize % BitMap::MAX_BITS, &words);
            let (back, whole) = (map.inverse(), map.mask());
            let same = addresses.iter().all(|&address| back.apply(map.apply(address)) == address & whole);
            same && map.then(&back) == BitMap::identity(map.bits()) && BitMap::linear(&map.columns, map.add) == Ok(map)
        }

        fn small_maps_are_one_to_one_or_refused(columns: Vec<u64>, add: u64) -> bool {
            let bits = columns.len() % 5;
            let columns: Vec<u64> = columns[..bits].iter().map(|column| column % (1 << bits)).collect();
            let add = add % (1 << bits);
            let image = |address: u64| (0..bits).fold(add, |sum, bit| sum ^ (columns[bit] * (address >> bit & 1)));
            let mut images: Vec<u64> = (0..1 << bits).map(image).collect();
            let of = BitMap::linear(&columns, add);
            let right = match &of {
                Ok(map) => (0..1 << bits).all(|address| map.apply(address) == image(address)),
                Err(BitMapError::Singular { differ }) => *differ != 0 && image(*differ) == image(0),
                Err(_) => false,
            };
            images.sort_unstable();
            images.dedup();
            right && of.is_ok() == (images.len() == 1 << bits)
        }
    }

    /// The new places of all elements of an array.
    fn places(map: &BitMap) -> Vec<u64> {
        (0..1 << map.bits()).map(|address| map.apply(address)).collect()
    }

    #[test]
    fn each_named_map_is_the_permutation_of_its_name() {
        let by = |bits: usize, place: &dyn Fn(u64) -> u64| (0..1 << bits).map(place).collect::<Vec<_>>();
        for bits in 0..=9_usize {
            let size = 1_u64 << bits;
            let reversed = |x: u64| (0..bits).fold(0, |sum, bit| sum << 1 | x >> bit & 1);
            assert_eq!(places(&BitMap::bit_reversal(bits).unwrap()), by(bits, &reversed));
            assert_eq!(places(&BitMap::vector_reversal(bits).unwrap()), by(bits, &|x| size - 1 - x));
            // A deck of cards: one from the first half, one from the second.
            let shuffled = |x: u64| {
                if size == 1 {
                    0
                } else if x < size / 2 {
                    2 * x
                } else {
                    2 * (x - size / 2) + 1
                }
            };
            assert_eq!(places(&BitMap::shuffle(bits).unwrap()), by(bits, &shuffled));
            let dealt = |x: u64| if size == 1 { 0 } else { x / 2 + x % 2 * (size / 2) };
            assert_eq!(places(&BitMap::unshuffle(bits).unwrap()), by(bits, &dealt));
            for part in 0..=bits {
                let (ranks, each) = (1 << part, size >> part);
                let transposed = |x: u64| x % each * ranks + x / each;
                assert_eq!(places(&BitMap::transpose(part, bits - part).unwrap()), by(bits, &transposed));
                assert_eq!(places(&BitMap::generalized_shuffle(bits, part).unwrap()), by(bits, &transposed));
                let complement = BitMap::complement(bits, each - 1).unwrap();
                assert_eq!(places(&complement), by(bits, &|x| x / each * each + (each - 1 - x % each)));
                let cyclic = |x: u64| x % ranks * each + x / ranks;
                assert_eq!(places(&BitMap::consecutive_to_cyclic(bits, part).unwrap()), by(bits, &cyclic));
                let back = BitMap::cyclic_to_consecutive(bits, part).unwrap();
                assert_eq!(back, BitMap::consecutive_to_cyclic(bits, part).unwrap().inverse());
                // Field by field: in Gray code neighbours differ in one bit.
                let gray = BitMap::to_gray(bits, 0, part).unwrap();
                let codes: Vec<u64> = (0..1 << part).map(|x| gray.apply(x)).collect();
                assert!(codes.windows(2).all(|pair| (pair[0] ^ pair[1]).is_power_of_two()) && codes[0] == 0);
                assert_eq!(gray.then(&BitMap::from_gray(bits, 0, part).unwrap()), BitMap::identity(bits));
                let high = BitMap::to_gray(bits, bits - part, part).unwrap();
                let expected =
                    |x: u64| codes[(x / each.max(1)) as usize % codes.len()] * (size >> part) + x % (size >> part);
                assert_eq!(places(&high), by(bits, &expected));
            }
        }
    }

    #[test]
    fn axes_change_places() {
        // (k, j | i) to (i, j | k), of 3, 1 and 3 bits.
        let map = BitMap::axis_exchange(7, &[4, 5, 6], &[0, 1, 2]).unwrap();
        for (k, j, i) in (0..8).flat_map(|k| (0..2).flat_map(move |j| (0..8).map(move |i| (k, j, i)))) {
            assert_eq!(map.apply(k << 4 | j << 3 | i), i << 4 | j << 3 | k);
        }
        assert_eq!(map.to_string(), "0->4 1->5 2->6 4->0 5->1 6->2 of 7 bits");
    }

    #[test]
    fn invalid_maps_are_named() {
        let range = |bit, bits| Err(BitMapError::Range { bit, bits });
        assert_eq!(BitMap::identity(63), Err(BitMapError::Bits { bits: 63 }));
        assert_eq!(BitMap::shuffle(usize::MAX), Err(BitMapError::Bits { bits: usize::MAX }));
        assert_eq!(BitMap::transpose(usize::MAX, 1), Err(BitMapError::Bits { bits: usize::MAX }));
        assert_eq!(BitMap::moving(&[0, 3, 1]), range(3, 3));
        assert_eq!(BitMap::moving(&[0, 2, 2]), Err(BitMapError::Twice { bit: 2 }));
        assert_eq!(BitMap::axis_exchange(4, &[0, 1], &[2]), Err(BitMapError::Lengths { axis: 2, other: 1 }));
        assert_eq!(BitMap::axis_exchange(4, &[0, 1], &[1, 2]), Err(BitMapError::Twice { bit: 1 }));
        assert_eq!(BitMap::linear(&[1, 4], 0), range(2, 2));
        assert_eq!(BitMap::linear(&[1, 2], 9), range(3, 2));
        assert_eq!(BitMap::linear(&[1, 2, 3], 0), Err(BitMapError::Singular { differ: 0b111 }));
        assert_eq!(BitMap::consecutive_to_cyclic(4, 5), range(4, 4));
        assert_eq!(BitMap::to_gray(4, 3, 2), range(4, 4));
        let (four, five) = (BitMap::identity(4).unwrap(), BitMap::identity(5).unwrap());
        assert_eq!(four.then(&five), Err(BitMapError::Follow { first: 4, second: 5 }));
    }
}

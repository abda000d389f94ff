//! Necklaces: classes of words that are rotations of each other.
//!
//! Source: Johnsson & Ho, TR-16-92, §2.1, for words of bits; here digits have any radix. The node
//! numbers of a cube are words of bits. The node numbers of a grid of equal extents are words whose
//! radix is the extent.
//!
//! A word of `length` digits is a number below `radix`^`length`; digit i has the weight `radix`^i.
//! A rotation to the left by one moves digit i to i + 1, and the last digit to 0.

use std::iter::successors;

use crate::ids::MAX_NODES;

/// The words of one length and radix.
///
/// Methods take a word by its number, modulo [`count`](Self::count).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::algorithm) struct Words {
    radix: usize,
    length: usize,
    count: usize,
}

/// A class of words that are rotations of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Necklace {
    words: Words,
    distinguished: usize,
    /// The number of words.
    period: usize,
}

impl Words {
    /// Returns the words of this radix and length. `None` for a radix below 2, a length of 0, or
    /// more than [`MAX_NODES`] words.
    pub(in crate::algorithm) fn new(radix: usize, length: usize) -> Option<Self> {
        let count = radix.checked_pow(u32::try_from(length).ok()?).filter(|&count| count <= MAX_NODES)?;
        (radix >= 2 && length >= 1).then_some(Self { radix, length, count })
    }

    /// Returns the words of bits of this length.
    pub(super) fn binary(length: usize) -> Option<Self> {
        Self::new(2, length)
    }

    /// Returns the number of digits of a word.
    pub(in crate::algorithm) fn length(self) -> usize {
        self.length
    }

    /// Returns the number of words: `radix`^`length`.
    pub(in crate::algorithm) fn count(self) -> usize {
        self.count
    }

    /// Rotates a word to the left by `by` digits.
    pub(in crate::algorithm) fn rotated(self, word: usize, by: usize) -> usize {
        let turn = |word: usize| word % (self.count / self.radix) * self.radix + word / (self.count / self.radix);
        (0..by % self.length).fold(word % self.count, |word, _| turn(word))
    }

    /// Returns the period of a word: the smallest positive number of rotations by one that returns
    /// the word. It divides the length.
    pub(super) fn period(self, word: usize) -> usize {
        let word = word % self.count;
        let rotations = successors(Some(self.rotated(word, 1)), |&word| Some(self.rotated(word, 1)));
        1 + rotations.take_while(|&rotated| rotated != word).count()
    }

    /// Returns the distinguished word of a necklace: the smallest rotation.
    pub(super) fn distinguished(self, word: usize) -> usize {
        (0..self.length).map(|by| self.rotated(word, by)).min().unwrap_or(word)
    }

    /// Returns whether the period is less than the length: the necklace is degenerate.
    pub(super) fn is_cyclic(self, word: usize) -> bool {
        self.period(word) < self.length
    }

    /// Replaces each digit z by `radix` - 1 - z.
    pub(super) fn complement(self, word: usize) -> usize {
        self.count - 1 - word % self.count
    }

    /// Returns the number of digits that are not 0.
    pub(super) fn weight(self, word: usize) -> usize {
        let digits = successors(Some(word % self.count), |&rest| (rest > 0).then_some(rest / self.radix));
        digits.filter(|rest| !rest.is_multiple_of(self.radix)).count()
    }

    /// Returns all necklaces in the order of their distinguished words, in time proportional to
    /// [`count`](Self::count) times [`length`](Self::length).
    pub(super) fn necklaces(self) -> impl Iterator<Item = Necklace> {
        let is_first = move |&word: &usize| (1..self.length).all(|by| self.rotated(word, by) >= word);
        let of = move |distinguished| Necklace { words: self, distinguished, period: self.period(distinguished) };
        (0..self.count).filter(is_first).map(of)
    }
}

impl Necklace {
    /// Returns the smallest word.
    pub(super) fn distinguished(self) -> usize {
        self.distinguished
    }

    /// Returns whether the necklace has as many words as a word has digits. If not, it is
    /// degenerate.
    pub(super) fn is_full(self) -> bool {
        self.period == self.words.length
    }

    /// Returns the number of digits of each word that are not 0. A q-necklace has weight q.
    pub(super) fn weight(self) -> usize {
        self.words.weight(self.distinguished)
    }

    /// Returns the necklace of the complements.
    pub(super) fn complement(self) -> Self {
        let distinguished = self.words.distinguished(self.words.complement(self.distinguished));
        Self { distinguished, ..self }
    }

    /// Returns the words: the distinguished one, then its rotations to the left by one, two, ..
    pub(super) fn members(self) -> impl Iterator<Item = usize> {
        let Self { words, distinguished, period } = self;
        successors(Some(distinguished), move |&word| Some(words.rotated(word, 1))).take(period)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all_words() -> impl Iterator<Item = Words> {
        let lengths = [(2, 12), (3, 7), (4, 5), (5, 4), (10, 3)];
        lengths.into_iter().flat_map(|(radix, most)| (1..=most).filter_map(move |length| Words::new(radix, length)))
    }

    /// Returns the digits of a word as text: digit 0 is the last.
    fn text(words: Words, word: usize) -> Vec<u8> {
        let mut rest = word;
        let mut digits: Vec<u8> = (0..words.length())
            .map(|_| {
                let digit = (rest % words.radix) as u8;
                rest /= words.radix;
                digit
            })
            .collect();
        digits.reverse();
        digits
    }

    #[test]
    fn words_of_four_bits_have_three_full_necklaces() {
        let words = Words::binary(4).unwrap();
        let full = words.necklaces().filter(|necklace| necklace.is_full());
        assert_eq!(full.map(|necklace| necklace.distinguished()).collect::<Vec<_>>(), [0b0001, 0b0011, 0b0111]);
        // 0000, 1111 and the two rotations of 0101.
        assert_eq!((0..words.count()).filter(|&word| words.is_cyclic(word)).count(), 4);
    }

    #[test]
    fn rotation_weight_and_complement_act_on_digits() {
        for words in all_words() {
            for word in 0..words.count() {
                let mut digits = text(words, word);
                assert_eq!(words.weight(word), digits.iter().filter(|&&digit| digit > 0).count());
                let opposite: Vec<u8> = digits.iter().map(|digit| words.radix as u8 - 1 - digit).collect();
                assert_eq!(text(words, words.complement(word)), opposite);
                digits.rotate_left(1);
                assert_eq!(text(words, words.rotated(word, 1)), digits, "{words:?} {word}");
                assert_eq!(words.rotated(word, words.length()), word);
                assert_eq!(words.rotated(words.rotated(word, 1), words.length() - 1), word);
            }
        }
    }

    #[test]
    fn necklaces_partition_the_words_by_rotation() {
        for words in all_words() {
            let mut seen = BTreeSet::new();
            for necklace in words.necklaces() {
                let members: Vec<usize> = necklace.members().collect();
                assert_eq!((members.len(), members.iter().min()), (necklace.period, Some(&necklace.distinguished())));
                let all: BTreeSet<usize> = (0..words.length()).map(|by| words.rotated(members[0], by)).collect();
                assert_eq!(members.iter().copied().collect::<BTreeSet<_>>(), all);
                assert!(words.length().is_multiple_of(necklace.period));
                for &member in &members {
                    assert!(seen.insert(member), "{words:?}: {member} twice");
                    assert_eq!(words.distinguished(member), necklace.distinguished());
                    assert_eq!(words.period(member), necklace.period);
                    assert_eq!(words.is_cyclic(member), !necklace.is_full());
                    assert_eq!(words.weight(member), necklace.weight());
                    assert_eq!(words.distinguished(words.complement(member)), necklace.complement().distinguished());
                }
            }
            assert_eq!(seen.len(), words.count());
        }
    }

    #[test]
    fn number_of_necklaces_is_burnsides() {
        let gcd = |mut a: usize, mut b: usize| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        for words in all_words() {
            let fixed: usize = (0..words.length()).map(|by| words.radix.pow(gcd(words.length(), by) as u32)).sum();
            assert_eq!(words.necklaces().count(), fixed / words.length(), "{words:?}");
        }
    }

    #[test]
    fn radixes_and_lengths_out_of_range_are_refused() {
        for (radix, length) in [(0, 1), (1, 1), (1, 100), (2, 0), (2, 31), (2, 64), (2, usize::MAX), (usize::MAX, 2)] {
            assert_eq!(Words::new(radix, length), None, "{radix} {length}");
        }
        assert_eq!(Words::binary(30).map(Words::count), Some(1 << 30));
    }
}

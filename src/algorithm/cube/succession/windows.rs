//! The schedule of complement pairs whose number is not a multiple of d, with each element in a
//! window of d steps.
//!
//! A succession of exchanges schedules locations, not relative addresses: the element at location a
//! of a node has the relative address a xor X in the next exchange, where X depends on the other
//! axes of that node. Complement pairs of locations are complement pairs of relative addresses for
//! every X, and d of them use all channels for d steps. Necklaces are not preserved, so Algorithm 4
//! does not help if d does not divide the number of pairs.
//!
//! The following helps: d + c pairs, 0 < c < d, cross in d + c steps, with all channels busy in all
//! steps. One element of each pair, the *early* one, crosses in the first d steps only. The other,
//! the *late* one, crosses in the last d. So the next exchange can begin d steps after this one,
//! for all elements.
//!
//! The first c steps take c crossings of each dimension by early elements: at most c per element,
//! and enough that at most d - c of its crossings are left. In the same way, the last c steps take
//! c crossings of each dimension by late elements. The steps in between take the rest: d - c
//! crossings of each dimension, and at most d - c of any element. Each part is a bipartite graph of
//! elements and dimensions. No node has more edges than there are steps, and a dimension has
//! exactly as many. So it decomposes into that many matchings (König).
//!
//! This requires that each dimension is set in c to d of the early elements, under all X. Two
//! necklaces together meet this. Of the d members of a necklace of weight w, w have the bit. Of any
//! c members of a necklace of weight d - w, at least max(c - w, 0) and at most min(c, d - w) have
//! it. The existence of a choice of crossings is not proved, but tested for each d with [`early`],
//! and for each c that can be left over: under all X up to d = 10, under a sample beyond.

use crate::algorithm::cube::necklace::{Necklace, Words};

/// The maximum number of dimensions for which the tests find a choice.
pub(super) const TESTED: usize = 15;

/// Returns one element of each of d + c complement pairs, 0 < c < d: a full necklace, and some
/// complements of another. The second number is the copy of the address: three dimensions have only
/// one such necklace, which is used twice.
pub(super) fn early(d: usize, c: usize) -> Option<Vec<(usize, usize)>> {
    let words = Words::binary(d)?;
    let weight = (d - 1) / 2;
    let necklaces: Vec<Necklace> =
        words.necklaces().filter(|necklace| necklace.is_full() && necklace.weight() == weight).collect();
    let first = necklaces.first()?.members().map(|address| (address, 0));
    let second: Vec<(usize, usize)> = match necklaces.get(necklaces.len() / 2) {
        Some(other) if necklaces.len() > 1 => other.complement().members().map(|address| (address, 0)).collect(),
        _ => std::iter::once((words.count() - 1, 0)).chain(necklaces[0].members().map(|it| (it, 1))).collect(),
    };
    Some(first.chain(second).take(d + c).collect())
}

/// Returns, for more than d early elements of these relative addresses, the element that crosses
/// each dimension in each step: an early element by its index, its complement by that index plus
/// the number of early elements. `None` if there is no such schedule.
pub(super) fn schedule(d: usize, early: &[usize]) -> Option<Vec<Vec<usize>>> {
    let c = early.len().checked_sub(d)?;
    let late: Vec<usize> = early.iter().map(|address| address ^ ((1 << d) - 1)).collect();
    let (first, last) = (CrossingChoice::of(d, c, early)?, CrossingChoice::of(d, c, &late)?);
    let nothing = || std::iter::repeat_n(0, early.len());
    let rest = |part: &CrossingChoice, all: &[usize]| {
        all.iter().zip(&part.chosen).map(|(all, chosen)| all ^ chosen).collect::<Vec<_>>()
    };
    let between = [rest(&first, early), rest(&last, &late)].concat();
    let first = first.chosen.into_iter().chain(nothing()).collect();
    let last = nothing().chain(last.chosen).collect();
    let parts = [matchings(d, c, first)?, matchings(d, d - c, between)?, matchings(d, c, last)?];
    Some(parts.concat())
}

/// A choice of crossings.
struct CrossingChoice<'a> {
    /// The crossings per dimension, and the most per element.
    c: u32,
    words: &'a [usize],
    chosen: Vec<usize>,
    of_dimension: Vec<u32>,
}

impl<'a> CrossingChoice<'a> {
    /// Chooses c crossings of each dimension, at most c per element, so that at most d - c are left
    /// of each element.
    fn of(d: usize, c: usize, words: &'a [usize]) -> Option<Self> {
        let mut part = Self { c: c as u32, words, chosen: vec![0; words.len()], of_dimension: vec![0; d] };
        // Neither kind of step undoes the other.
        for (element, word) in words.iter().enumerate() {
            let least = word.count_ones().saturating_sub((d - c) as u32);
            while part.chosen[element].count_ones() < least {
                if !part.widen(element, &mut 0) {
                    return None;
                }
            }
        }
        for dimension in 0..d {
            while part.of_dimension[dimension] < part.c {
                if !part.fill(dimension, &mut vec![false; words.len()]) {
                    return None;
                }
                part.of_dimension[dimension] += 1;
            }
        }
        Some(part)
    }

    /// Adds a crossing of an element, in a dimension that needs more; other elements may change
    /// theirs.
    fn widen(&mut self, element: usize, seen: &mut usize) -> bool {
        for dimension in bits(self.words[element] & !self.chosen[element]) {
            let bit = 1 << dimension;
            if *seen & bit != 0 {
                continue;
            }
            *seen |= bit;
            if self.of_dimension[dimension] < self.c {
                self.of_dimension[dimension] += 1;
                self.chosen[element] |= bit;
                return true;
            }
            for other in 0..self.words.len() {
                if self.chosen[other] & bit == 0 {
                    continue;
                }
                self.chosen[other] ^= bit;
                self.chosen[element] ^= bit;
                if self.widen(other, seen) {
                    return true;
                }
                self.chosen[other] ^= bit;
                self.chosen[element] ^= bit;
            }
        }
        false
    }

    /// Adds a crossing of a dimension, by an element that has fewer than c; others may change
    /// theirs.
    fn fill(&mut self, dimension: usize, seen: &mut [bool]) -> bool {
        let bit = 1 << dimension;
        for element in 0..self.words.len() {
            if seen[element] || self.words[element] & !self.chosen[element] & bit == 0 {
                continue;
            }
            seen[element] = true;
            if self.chosen[element].count_ones() < self.c {
                self.chosen[element] |= bit;
                return true;
            }
            for given in bits(self.chosen[element]) {
                self.chosen[element] ^= bit | 1 << given;
                if self.fill(given, seen) {
                    return true;
                }
                self.chosen[element] ^= bit | 1 << given;
            }
        }
        false
    }
}

fn bits(word: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS as usize).filter(move |bit| word >> bit & 1 == 1)
}

/// Decomposes the remaining crossings, `steps` of each dimension and at most as many of any
/// element, into steps: for each dimension, the element that crosses.
fn matchings(d: usize, steps: usize, mut left: Vec<usize>) -> Option<Vec<Vec<usize>>> {
    let step = |t: usize| {
        let mut matching = Matching { left: &left, of: vec![None; d], by: vec![None; left.len()] };
        // An element with a crossing for each remaining step must cross now.
        let urgent = (0..left.len()).filter(|&element| left[element].count_ones() as usize == steps - t);
        let all = urgent.into_iter().all(|element| matching.give(element, &mut 0));
        let all = all
            && (0..d).all(|dimension| {
                matching.of[dimension].is_some() || matching.take(dimension, &mut vec![false; left.len()])
            });
        let crossing = matching.of.into_iter().collect::<Option<Vec<usize>>>().filter(|_| all)?;
        crossing.iter().enumerate().for_each(|(dimension, &element)| left[element] ^= 1 << dimension);
        Some(crossing)
    };
    (0..steps).map(step).collect()
}

/// The crossings of one step.
struct Matching<'a> {
    left: &'a [usize],
    /// By dimension, the element.
    of: Vec<Option<usize>>,
    /// By element, the dimension.
    by: Vec<Option<usize>>,
}

impl Matching<'_> {
    /// Assigns a dimension to an element; others may change theirs.
    fn give(&mut self, element: usize, seen: &mut usize) -> bool {
        for dimension in bits(self.left[element]) {
            if *seen >> dimension & 1 == 1 {
                continue;
            }
            *seen |= 1 << dimension;
            if self.of[dimension].is_none_or(|other| self.give(other, seen)) {
                (self.of[dimension], self.by[element]) = (Some(element), Some(dimension));
                return true;
            }
        }
        false
    }

    /// Assigns an element to a dimension; others may change theirs.
    fn take(&mut self, dimension: usize, seen: &mut [bool]) -> bool {
        for element in 0..self.left.len() {
            if seen[element] || self.left[element] >> dimension & 1 == 0 {
                continue;
            }
            seen[element] = true;
            if self.by[element].is_none_or(|other| self.take(other, seen)) {
                (self.of[dimension], self.by[element]) = (Some(element), Some(dimension));
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Checks that all elements cross their dimensions, that each dimension is crossed in each
    /// step, and that windows are kept.
    fn is_schedule(d: usize, early: &[usize], steps: &[Vec<usize>]) {
        let (pairs, c) = (early.len(), early.len() - d);
        assert_eq!(steps.len(), d + c);
        let mut crossed = vec![0_usize; 2 * pairs];
        for (t, step) in steps.iter().enumerate() {
            assert_eq!(step.iter().collect::<BTreeSet<_>>().len(), d, "{d}: an element twice in step {t}");
            for (dimension, &element) in step.iter().enumerate() {
                assert!(if element < pairs { t < d } else { t >= c }, "{d}: {element} in step {t}");
                assert_eq!(crossed[element] >> dimension & 1, 0);
                crossed[element] |= 1 << dimension;
            }
        }
        for (element, &address) in early.iter().enumerate() {
            assert_eq!((crossed[element], crossed[element + pairs]), (address, address ^ ((1 << d) - 1)));
        }
    }

    #[test]
    fn left_over_pairs_have_a_schedule_under_all_shifts() {
        for d in 3..=TESTED {
            // The pairs that d leaves over, of 2^(d-1) and more, also after another batch has taken
            // one.
            let left = (d - 1..2 * d + 6).map(|bits| (1 << bits) % d).flat_map(|left| [left, (left + d - d % 2) % d]);
            for c in left.filter(|&c| c > 0).collect::<BTreeSet<usize>>() {
                let chosen = early(d, c).unwrap();
                let pair = |&(address, copy): &(usize, usize)| (address.min(address ^ ((1 << d) - 1)), copy);
                assert_eq!(chosen.iter().map(pair).collect::<BTreeSet<_>>().len(), d + c);
                let stride = if d > 10 { (1 << d) / 100 + 1 } else { 1 };
                let near = chosen.iter().flat_map(|&(address, _)| [address, address ^ ((1 << d) - 1)]);
                for x in (0..1 << d).step_by(stride).chain(near) {
                    let addresses: Vec<usize> = chosen.iter().map(|(address, _)| address ^ x).collect();
                    let steps = schedule(d, &addresses);
                    is_schedule(d, &addresses, &steps.unwrap_or_else(|| panic!("none for {d} {c} {x:b}")));
                }
            }
        }
    }

    #[test]
    fn odd_dimensions_plus_one_pairs_have_a_schedule() {
        for d in (3..=TESTED).step_by(2) {
            let opposite = (1 << d) - 1;
            for x in (0..1 << d).step_by(if d > 9 { 7 } else { 1 }) {
                let both = |ones: usize| [((1 << ones) - 1) ^ x, ((1 << ones) - 1) ^ x ^ opposite];
                let addresses: Vec<usize> = (0..d.div_ceil(2)).flat_map(both).collect();
                let steps = schedule(d, &addresses);
                is_schedule(d, &addresses, &steps.unwrap_or_else(|| panic!("none for {d} {x:b}")));
            }
        }
    }

    #[test]
    fn impossible_windows_have_no_schedule() {
        // No early element has bit 0: that dimension would idle in the first step.
        assert_eq!(schedule(3, &[0b000, 0b010, 0b100, 0b110]), None);
        assert_eq!(schedule(3, &[0b001]), None);
    }
}

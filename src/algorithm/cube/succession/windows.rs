//! Complement pairs that are no multiple of the dimensions, each element within a window of d
//! steps.
//!
//! A succession of exchanges does not know relative addresses but locations: what lies at location
//! a of a node has the relative address a xor X in the next exchange, where X depends on the other
//! axes of that node. Complement pairs of locations are complement pairs of relative addresses
//! whatever X is, and d of them use all channels for d steps. Necklaces are none under another X,
//! so Algorithm 4 does not help where d does not divide the pairs. This does: d + c pairs, 0 < c <
//! d, in d + c steps with all channels busy in all of them, such that one element of each pair, an
//! *early* one, crosses in the first d steps only, and the other, *late* one, in the last d. The
//! next exchange can then begin d steps after this one, for all elements.
//!
//! Of the early ones c crossings of each dimension are chosen, at most c of an element and so many
//! that no more than d - c are left of it: those are the first c steps. By the same token c of each
//! dimension of the late ones are the last c steps. What is left are d - c of each dimension, no
//! more of any element: the steps between. Each part is a bipartite graph of elements and
//! dimensions in which no node has more edges than there are steps and dimensions have just as
//! many, so it falls into as many matchings (König).
//!
//! For that each dimension must be set in c to d of the early elements, under all X. It is for the
//! d members of a necklace of weight w, of which w have it, with any c members of one of weight d -
//! w: of these c - w at least (none if that is less), c and d - w at most have it. That a choice
//! exists is otherwise not proved, but tested for each d with [`early`], and for each c that can be
//! left over: under all X up to d = 10, under a sample beyond.

use crate::topology::necklace::{Necklace, Words};

/// The most dimensions for which that was tested.
pub(super) const TESTED: usize = 15;

/// One element of each of d + c complement pairs, 0 < c < d: a full necklace, and a part of the
/// complements of another. After the address, which copy of it: of three dimensions there is one
/// such necklace only, and it is used again.
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

/// For early elements of these relative addresses, more than d, the elements that cross each
/// dimension in each step: an early one by its number, and its complement by that and their number.
/// `None` where there is no such schedule.
pub(super) fn schedule(d: usize, early: &[usize]) -> Option<Vec<Vec<usize>>> {
    let c = early.len().checked_sub(d)?;
    let late: Vec<usize> = early.iter().map(|address| address ^ ((1 << d) - 1)).collect();
    let (first, last) = (Part::of(d, c, early)?, Part::of(d, c, &late)?);
    let nothing = || std::iter::repeat_n(0, early.len());
    let rest =
        |part: &Part, all: &[usize]| all.iter().zip(&part.chosen).map(|(all, chosen)| all ^ chosen).collect::<Vec<_>>();
    let between = [rest(&first, early), rest(&last, &late)].concat();
    let first = first.chosen.into_iter().chain(nothing()).collect();
    let last = nothing().chain(last.chosen).collect();
    let parts = [matchings(d, c, first)?, matchings(d, d - c, between)?, matchings(d, c, last)?];
    Some(parts.concat())
}

/// A choice of crossings.
struct Part<'a> {
    /// How many of each dimension, and of an element at most.
    c: u32,
    words: &'a [usize],
    chosen: Vec<usize>,
    of_dimension: Vec<u32>,
}

impl<'a> Part<'a> {
    /// c crossings of each dimension, at most c of an element, of which no more than d - c are left
    /// over.
    fn of(d: usize, c: usize, words: &'a [usize]) -> Option<Self> {
        let mut part = Self { c: c as u32, words, chosen: vec![0; words.len()], of_dimension: vec![0; d] };
        // Neither kind of step takes away what the other has come to.
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

    /// One crossing more of an element, of a dimension that has not enough yet; other elements may
    /// change theirs.
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

    /// One crossing more of a dimension, by an element that has not c yet; others may change
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

/// So many steps for the crossings that are left, as many of each dimension, no more of any
/// element: by dimensions, who crosses.
fn matchings(d: usize, steps: usize, mut left: Vec<usize>) -> Option<Vec<Vec<usize>>> {
    let step = |t: usize| {
        let mut matching = Matching { left: &left, of: vec![None; d], by: vec![None; left.len()] };
        // Who has a crossing for each step that is left must have one now.
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

/// Who crosses what in one step.
struct Matching<'a> {
    left: &'a [usize],
    /// By dimension, the element.
    of: Vec<Option<usize>>,
    /// By element, the dimension.
    by: Vec<Option<usize>>,
}

impl Matching<'_> {
    /// Gives an element a dimension; others that have one may get another.
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

    /// Takes an element for a dimension; others that have one may get another.
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

    /// That all cross what they have to, each dimension is crossed in each step, and windows are
    /// kept.
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
    fn there_is_one_for_what_is_left_over_whatever_is_added() {
        for d in 3..=TESTED {
            // Whatever is left over by d of the pairs, of 2^(d-1) and more; also where another
            // batch has taken one.
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
    fn there_is_one_for_one_more_pair_than_an_odd_number_of_dimensions() {
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
    fn nothing_is_made_up_where_there_is_none() {
        // Nobody early has bit 0: that dimension would idle in the first step.
        assert_eq!(schedule(3, &[0b000, 0b010, 0b100, 0b110]), None);
        assert_eq!(schedule(3, &[0b001]), None);
    }
}

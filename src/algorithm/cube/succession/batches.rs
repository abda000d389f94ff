//! Batches: which elements are exchanged together, along which axes, and when.
//!
//! A [`Batch`] is a list of complement pairs that start with an axis one after the other, d of them
//! every d steps. They start with the next axis d steps later. So a batch of n pairs keeps all
//! channels of an axis busy for n steps, and its timetable is the step in which it starts with each
//! axis.
//!
//! Pipelined (§4.1), all pairs are one batch. Concurrently (Algorithm 5, §4.2), some batches start
//! with a later axis, whose channels would otherwise wait for the first batch. For a = s - 2, s - 4
//! and so on, a batch of 2d pairs (of d for a = 1) first exchanges its place v with the axes from a
//! on, beginning at once. Later it exchanges its place i with the axes up to a. At the end, its
//! place i has what v was, and its place v has what the last axis was. The alignment after the
//! exchanges puts both into their final places.
//!
//! On axis x, the batches of all a up to x precede the pairs that take all axes. The batches of all
//! a from x on follow them, in the order of a. So the second part of a batch starts when all pairs
//! that take all axes, and those of the batches with larger a, have started. (Axes are counted from
//! 0.) There are as many such batches, from the largest a on, as leave 2d pairs to the others. With
//! fewer other pairs, a batch would return before it had finished with v.
//!
//! Four axes of two bits, with 16 elements, by the place that is exchanged and the axis:
//!
//! ```text
//! step / 2   0   1   2   3   4   5
//!            i0  i1  i2  i3
//!                i0  i1  i2  i3
//! a = 2      v2  v3  i0  i1  i2
//!                v2  v3  i0  i1  i2
//! ```
//!
//! For odd d, the batch of a = 1 has d + 1 pairs, since elements come in fours (see below). The
//! pairs that take all axes, and all second parts, then start a step later.
//!
//! # Labels
//!
//! An element of rank c at the places i and v has two labels, made from its source: I, the sum of i
//! and all axes, and V, the sum of v and the axes from a on. So each rank has one element for each
//! pair of labels. While i is exchanged with all axes, elements are at location I of a rank. While
//! v is exchanged with the axes from a on, they are at location V. While i is exchanged with the
//! axes up to a, they are at the sum of both.
//!
//! So a batch of a has both of {V, not V} for its I, which is a complement pair in both parts. It
//! has all four of {I, not I} x {V, not V}, so that the remaining elements are pairs by I.

use super::windows;

/// The part of memory that is exchanged with axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Place i, with all axes.
    I,
    /// Place v, with the axes from a on.
    V,
    /// Place i, with the axes up to a, after v.
    Second,
}

/// Consecutive axes with which a batch is exchanged.
#[derive(Clone, Debug)]
pub(super) struct AxisRange {
    pub(super) memory: Memory,
    pub(super) first: usize,
    pub(super) last: usize,
    /// The step in which it starts with the first axis. It starts with each next axis d steps
    /// later.
    start: usize,
}

/// A complement pair, by the labels of one of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) i: usize,
    /// The label V. Axes are added to its d lowest bits only.
    pub(super) v: usize,
    /// The first axis that is added to v; no axis if this is the number of axes.
    pub(super) from: usize,
}

/// Pairs that are exchanged one after the other.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) pairs: Vec<Pair>,
    pub(super) parts: Vec<AxisRange>,
}

/// The crossings of an axis in some steps: d or more pairs of a batch, in as many steps as pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) start: usize,
    pub(super) batch: usize,
    pub(super) part: usize,
    pub(super) first: usize,
    pub(super) pairs: usize,
}

/// The shape of a succession: s axes of d bits, with 2^`places` elements per rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) axes: usize,
    pub(super) d: usize,
    pub(super) places: usize,
}

impl Shape {
    fn opposite(self) -> usize {
        (1 << self.d) - 1
    }

    /// Returns all pairs by I, in the order of their copies, each with the first axis that is added
    /// to v.
    fn pairs(self, from: impl Fn(usize, usize) -> usize) -> Vec<Pair> {
        let copies = 1 << (self.places - self.d);
        let of = |v: usize| (0..1 << (self.d - 1)).map(move |i| (i, v));
        (0..copies).flat_map(of).map(|(i, v)| Pair { i, v, from: from(i, v) }).collect()
    }

    /// Returns the batch of these pairs, by I, in an order for which a schedule is known. Fails if
    /// no such order is known.
    fn by_all_axes(self, mut pairs: Vec<Pair>, start: usize) -> Result<Batch, Needs> {
        let (d, all) = (self.d, pairs.len());
        let odd = all % d;
        let most = windows::TESTED;
        let unknown = || format!("bits of an axis that divide the {all} complement pairs, or {most} at most");
        if odd > 0 {
            for (i, _) in windows::early(d, odd).filter(|_| d <= most).ok_or_else(unknown)? {
                let is_it = |pair: &Pair| pair.i == i || pair.i ^ self.opposite() == i;
                let found = pairs.iter().position(is_it).ok_or_else(unknown)?;
                let last = pairs.remove(found);
                pairs.push(Pair { i, ..last });
            }
        }
        Ok(Batch { pairs, parts: vec![AxisRange { memory: Memory::I, first: 0, last: self.axes - 1, start }] })
    }
}

/// The requirement that a shape does not meet.
pub(super) type Needs = String;

/// Returns one batch of all pairs.
pub(super) fn pipelined(shape: Shape) -> Result<Vec<Batch>, Needs> {
    Ok(vec![shape.by_all_axes(shape.pairs(|_, _| shape.axes), 0)?])
}

/// Returns batches of which as many as possible, at least one, start with a later axis.
pub(super) fn concurrent(shape: Shape) -> Result<Vec<Batch>, Needs> {
    let Shape { axes, d, places } = shape;
    if axes < 3 {
        return Err("3 axes at least: with fewer, every element must start with the first".to_owned());
    }
    if places < 2 * d {
        return Err(format!("bits of a place from {}, those of two axes", 2 * d));
    }
    let no_time = || {
        format!("a place of more bits, so that some of the {} complement pairs of elements can wait", 1 << (places - 1))
    };
    // The first batch that starts with a later axis finishes with v before it returns with i, if
    // there are 2d pairs in between.
    let mut free = (1_usize << (places - 1)).checked_sub(2 * d).ok_or_else(no_time)?;
    let mut others: Vec<(usize, usize)> = Vec::new();
    for a in (1..=axes - 2).rev().step_by(2) {
        let pairs = if a == 1 { d + d % 2 } else { 2 * d };
        if pairs > free {
            break;
        }
        free -= pairs;
        others.push((a, pairs));
    }
    let late = if others.last().ok_or_else(no_time)?.0 == 1 { d % 2 } else { 0 };

    // Each of these batches has its own sets of I, not I and copies of v. There are enough sets.
    let cell = |number: usize| (number % (1 << (d - 1)), number >> (d - 1));
    let of_cell = |i: usize, v: usize| others.iter().enumerate().find(|(number, _)| cell(*number) == (i, v >> d));
    if cell(others.len() - 1).1 >= 1 << (places - 2 * d) {
        return Err(no_time());
    }
    let opposite = shape.opposite();
    // For d + 1 pairs, these words have a schedule, whatever is added. For 2d pairs, all words do.
    let fours = |pairs: usize| (0..pairs / 2).map(|ones| (1 << ones) - 1);
    let taken = |pair: &Pair| {
        let low = pair.v & opposite;
        let is_taken = |pairs: usize| fours(pairs).any(|word| word == low || word == low ^ opposite);
        of_cell(pair.i, pair.v).is_some_and(|(_, (_, pairs))| is_taken(*pairs))
    };
    let mut rest = shape.pairs(|i, v| of_cell(i, v).map_or(axes, |(_, (a, _))| *a));
    rest.retain(|pair| !taken(pair));
    let mut second = late + rest.len();
    let mut batches = vec![shape.by_all_axes(rest, late)?];
    for (number, &(a, pairs)) in others.iter().enumerate() {
        let (i, high) = cell(number);
        let four = |v: usize| [(i, v), (i ^ opposite, v ^ opposite)];
        let pair = |(i, v): (usize, usize)| Pair { i, v: high << d | v, from: a };
        let first = AxisRange { memory: Memory::V, first: a, last: axes - 1, start: 0 };
        let then = AxisRange { memory: Memory::Second, first: 0, last: a, start: second };
        batches.push(Batch { pairs: fours(pairs).flat_map(four).map(pair).collect(), parts: vec![first, then] });
        second += pairs;
    }
    Ok(batches)
}

/// Returns the slots of each axis, in the order of time.
pub(super) fn timetable(batches: &[Batch], axes: usize, d: usize) -> Vec<Vec<Slot>> {
    let mut table = vec![vec![]; axes];
    for (number, batch) in batches.iter().enumerate() {
        for (part, &AxisRange { first, last, start, .. }) in batch.parts.iter().enumerate() {
            for (delay, of_axis) in table[first..=last].iter_mut().enumerate() {
                let rows = batch.pairs.len() / d;
                of_axis.extend((0..rows).map(|row| Slot {
                    start: start + (delay + row) * d,
                    batch: number,
                    part,
                    first: row * d,
                    pairs: if row + 1 == rows { batch.pairs.len() - row * d } else { d },
                }));
            }
        }
    }
    table.iter_mut().for_each(|of_axis: &mut Vec<Slot>| of_axis.sort_unstable_by_key(|slot| slot.start));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_axes_take_the_drawn_slots() {
        let batches = concurrent(Shape { axes: 4, d: 2, places: 4 }).unwrap();
        let mut rows = std::collections::BTreeMap::new();
        for (x, of_axis) in timetable(&batches, 4, 2).iter().enumerate() {
            for slot in of_axis {
                assert_eq!((slot.start % 2, slot.pairs), (0, 2));
                let memory = if batches[slot.batch].parts[slot.part].memory == Memory::V { 'v' } else { 'i' };
                let row: &mut Vec<String> = rows.entry((slot.batch, slot.first)).or_insert(vec!["  ".to_owned(); 6]);
                assert_eq!(row[slot.start / 2], "  ");
                row[slot.start / 2] = format!("{memory}{x}");
            }
        }
        let page = include_str!("batches.rs").lines().take_while(|line| line.starts_with("//!"));
        let drawn: Vec<&str> = page
            .skip_while(|line| !line.contains("```text"))
            .skip(2)
            .take_while(|line| !line.contains("```"))
            .collect();
        let mut drawn: Vec<&str> = drawn.into_iter().map(|line| &line[15..]).collect();
        let mut found: Vec<String> = rows.values().map(|row| row.join("  ").trim_end().to_owned()).collect();
        drawn.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, drawn);
    }

    /// An axis starts a slot only after the previous one has ended.
    #[test]
    fn an_axis_has_one_slot_at_a_time() {
        for (axes, d, places) in
            [(3, 3, 6), (4, 3, 6), (5, 3, 8), (5, 5, 10), (6, 4, 9), (7, 2, 6), (12, 2, 9), (11, 1, 6)]
        {
            let shape = Shape { axes, d, places };
            for batches in [pipelined(shape), concurrent(shape)] {
                let batches = batches.unwrap();
                let all: usize = batches.iter().map(|batch| batch.pairs.len()).sum();
                assert_eq!(all, 1 << (places - 1));
                let table = timetable(&batches, axes, d);
                for of_axis in &table {
                    for pair in of_axis.windows(2) {
                        assert!(pair[0].start + pair[0].pairs <= pair[1].start, "{axes} {d} {places}: {pair:?}");
                    }
                }
                // A batch reaches its next axis only after its elements have finished with the
                // last.
                for (number, batch) in batches.iter().enumerate() {
                    let window = d + usize::from(batch.pairs.len() % d > 0 && batch.parts.len() > 1);
                    let mut starts: Vec<usize> = table
                        .iter()
                        .flatten()
                        .filter(|slot| slot.batch == number && slot.first == 0)
                        .map(|slot| slot.start)
                        .collect();
                    starts.sort_unstable();
                    let (last, gaps) =
                        (batch.parts[0].last - batch.parts[0].first, starts.windows(2).map(|two| two[1] - two[0]));
                    for (leg, gap) in gaps.enumerate() {
                        assert!(gap >= if leg == last { window } else { d }, "{axes} {d} {places}: {starts:?}");
                    }
                }
            }
        }
    }
}

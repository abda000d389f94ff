//! Schemes, blocks, wide channels and lines: the claims of Johnsson & Ho.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::super::lines::{Entry, greedy};
use super::super::{Crossing, Exchange, Scheme};
use super::tables::printed;
use super::{addresses, diagonal, row};

/// The dimensions of the cubes that are checked.
const CUBES: RangeInclusive<usize> = 1..=16;

fn exchange(scheme: Scheme, d: usize) -> Exchange {
    Exchange::new(scheme, d).unwrap()
}

/// Checks that in no step an address crosses twice or a dimension is crossed more than `width`
/// times, and that all addresses cross each of their bits once.
fn is_exchange<'a>(d: usize, width: usize, steps: impl Iterator<Item = &'a [Crossing]>) {
    let mut crossed = vec![0_usize; 1 << d];
    for (t, step) in steps.enumerate() {
        let mut addresses = BTreeSet::new();
        let mut dimensions = vec![0; d];
        for &Crossing { address, dimension } in step {
            assert!(addresses.insert(address), "{address:b} crosses twice in step {t}");
            assert_eq!(crossed[address] >> dimension & 1, 0, "{address:b} crosses {dimension} again in step {t}");
            crossed[address] |= 1 << dimension;
            dimensions[dimension] += 1;
        }
        assert!(dimensions.iter().all(|&times| times <= width), "step {t}: {dimensions:?}");
    }
    assert!(crossed.iter().enumerate().all(|(address, &bits)| bits == address));
}

/// Returns the number of steps from the first to the last crossing of each class of addresses, both
/// included.
fn spans(exchange: &Exchange, class: impl Fn(usize) -> usize) -> BTreeMap<usize, usize> {
    let mut ends = BTreeMap::new();
    for (t, step) in exchange.steps().enumerate() {
        for crossing in step {
            ends.entry(class(crossing.address)).or_insert((t, t)).1 = t;
        }
    }
    ends.into_iter().map(|(class, (first, last))| (class, last - first + 1)).collect()
}

/// Returns the longest span of an address.
fn longest_span(exchange: &Exchange) -> usize {
    spans(exchange, |address| address).into_values().max().unwrap()
}

/// Returns the spans of the complement pairs.
fn spans_of_pairs(exchange: &Exchange, d: usize) -> BTreeMap<usize, usize> {
    spans(exchange, |address| address.min(address ^ ((1 << d) - 1)))
}

#[test]
fn schemes_take_the_steps_and_spans_of_table_6() {
    for d in CUBES {
        let pairs = 1 << (d - 1);
        let odd = pairs % d;
        let claimed = |scheme| match scheme {
            Scheme::Pairs => (d * pairs.div_ceil(d), d),
            Scheme::Wrapped => (pairs, pairs),
            Scheme::Mixed => (pairs, d + odd),
            Scheme::Necklaces => (pairs, d),
        };
        for scheme in Scheme::all() {
            let exchange = exchange(scheme, d);
            is_exchange(d, 1, exchange.steps());
            let (steps, span) = claimed(scheme);
            assert_eq!(exchange.steps().count(), steps, "{scheme:?} {d}");
            // All channels are busy in all steps, except in the last steps of the first scheme.
            let idle = exchange.steps().filter(|step| step.len() < d).count();
            let left_over = scheme == Scheme::Pairs && odd > 0;
            assert_eq!(idle, if left_over { d } else { 0 }, "{scheme:?} {d}");
            // The table has spans of pairs. No address has a longer span than its pair.
            let longest = longest_span(&exchange);
            assert!(longest <= span && longest >= d, "{scheme:?} {d}: {longest}");
            if scheme != Scheme::Necklaces {
                let spans = spans_of_pairs(&exchange, d);
                assert_eq!((spans.values().min(), spans.values().max()), (Some(&d), Some(&span)), "{scheme:?} {d}");
            }
        }
        assert_eq!(longest_span(&exchange(Scheme::Necklaces, d)), d);
    }
}

/// Returns the least and the most addresses that are under way together: those of a group, or, in
/// the second scheme, which has one group, those of the pairs that cross in a step.
fn together(scheme: Scheme, d: usize) -> (usize, usize) {
    let (exchange, opposite) = (exchange(scheme, d), (1 << d) - 1);
    let active = |step: &[Crossing]| {
        let pairs = step.iter().flat_map(|crossing| [crossing.address, crossing.address ^ opposite]);
        pairs.collect::<BTreeSet<_>>().len()
    };
    let sizes: Vec<usize> = match scheme {
        Scheme::Wrapped => exchange.steps().map(active).collect(),
        _ => exchange.groups.iter().map(|group| addresses(group, d).len()).collect(),
    };
    (sizes.iter().min().copied().unwrap(), sizes.iter().max().copied().unwrap())
}

#[test]
fn addresses_under_way_together_are_those_of_table_6() {
    for d in CUBES {
        let (pairs, odd) = (1 << (d - 1), (1 << (d - 1)) % d);
        let together = |scheme| together(scheme, d);
        let least = if odd > 0 { 2 * odd } else { 2 * d };
        assert_eq!(together(Scheme::Pairs), (least, 2 * d), "{d}");
        // If there is one group only, the group of the others is missing.
        let all_mixed = d + odd == pairs;
        assert_eq!(together(Scheme::Mixed), (if all_mixed { 2 * pairs } else { 2 * d }, 2 * (d + odd)), "{d}");
        assert_eq!(together(Scheme::Wrapped), (2 * d, 2 * d), "{d}");
    }
}

#[test]
fn table_6_has_these_numbers() {
    let row = |d: usize, number: usize| {
        let scheme = Scheme::all().nth(number - 1).unwrap();
        let exchange = exchange(scheme, d);
        let (steps, spans) = (exchange.steps().count(), spans_of_pairs(&exchange, d));
        let (shortest, longest) = (spans.values().min().unwrap(), spans.values().max().unwrap());
        let (least, most) = together(scheme, d);
        format!("{d} {number} {steps} {shortest} {longest} {least} {most}")
    };
    let found: Vec<String> =
        [5, 6, 7, 9, 10].into_iter().flat_map(|d| (1..=3).map(move |number| row(d, number))).collect();
    assert_eq!(found, printed("Table 6"));
}

#[test]
fn groups_hold_every_address_once() {
    for d in CUBES {
        for scheme in Scheme::all() {
            let exchange = exchange(scheme, d);
            let mut all: Vec<usize> = exchange.groups.iter().flat_map(|group| addresses(group, d)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..1 << d).collect::<Vec<_>>(), "{scheme:?} {d}");
        }
    }
}

#[test]
fn blocks_are_as_few_and_as_small_as_can_be() {
    for d in CUBES {
        let pairs = 1_usize << (d - 1);
        let odd = pairs % d;
        let claimed = [(d, pairs.div_ceil(d)), (pairs, 1), (d + odd, pairs.div_ceil(d + odd)), (d, pairs.div_ceil(d))];
        for (scheme, (transfers, largest)) in Scheme::all().zip(claimed) {
            let exchange = exchange(scheme, d);
            let lengths: Vec<usize> = exchange.table().rows.iter().map(Vec::len).collect();
            assert_eq!((lengths.len(), lengths.iter().max()), (transfers, Some(&largest)), "{scheme:?} {d}");
            assert!(lengths.iter().all(|&length| length + 1 >= largest), "{scheme:?} {d}: {lengths:?}");
            let blocks = exchange.wide(usize::MAX);
            assert_eq!(blocks.len(), transfers);
            is_exchange(d, largest, blocks.iter().map(Vec::as_slice));
            let all = exchange.steps().map(<[Crossing]>::len).sum::<usize>();
            assert_eq!((blocks.iter().map(Vec::len).sum::<usize>(), all), (d * pairs, d * pairs));
        }
    }
}

#[test]
fn wide_channels_are_used_in_proportion() {
    for d in 1..=13_usize {
        let pairs = 1_usize << (d - 1);
        for width in [1, 2, 3, 4, 5, 7, 8, 16, 100, 1000, usize::MAX] {
            for scheme in Scheme::all() {
                let exchange = exchange(scheme, d);
                let steps = exchange.wide(width);
                is_exchange(d, width, steps.iter().map(Vec::as_slice));
                // The steps of single elements, and the blocks that they make, which are the
                // minimum.
                let (single, blocks) = match scheme {
                    Scheme::Pairs => (d * pairs.div_ceil(d), d),
                    Scheme::Wrapped => (pairs, pairs),
                    Scheme::Mixed => (pairs, d + pairs % d),
                    Scheme::Necklaces => (pairs, d),
                };
                let expected = if width <= single / blocks { single.div_ceil(width) } else { blocks };
                assert_eq!(steps.len(), expected, "{scheme:?} {d} {width}");
            }
        }
        assert_eq!(exchange(Scheme::Necklaces, d).wide(0), exchange(Scheme::Necklaces, d).wide(usize::MAX));
    }
}

/// Returns the crossings of each member in a system of lines, by step.
fn drawn(d: usize, c: usize, line: impl Fn(usize, usize) -> Entry) -> Vec<BTreeMap<usize, usize>> {
    let mut members = vec![BTreeMap::new(); d];
    let mut used = BTreeSet::new();
    for i in 0..d - c {
        for (j, member) in members.iter_mut().enumerate() {
            let entry = line(i, j);
            assert!(entry.step < d && entry.dimension < d && row(entry, d).unwrap() < d - c, "{d} {c}: {entry:?}");
            assert!(used.insert((row(entry, d), entry.step)), "{d} {c}: {entry:?} is on two lines");
            assert_eq!(member.insert(entry.step, entry.dimension), None, "{d} {c}: {j} twice in step {}", entry.step);
        }
    }
    members
}

#[test]
fn both_systems_of_lines_are_schedules_of_necklaces() {
    for d in 2..=24_usize {
        for c in 1..d {
            let systems = [
                Some(drawn(d, c, |i, j| greedy(d, c, i, j).unwrap())),
                diagonal(d, c, 0, 0).map(|_| drawn(d, c, |i, j| diagonal(d, c, i, j).unwrap())),
            ];
            assert_eq!(systems[1].is_none(), 2 * c == d);
            for members in systems.into_iter().flatten() {
                let words: Vec<usize> =
                    members.iter().map(|member| member.values().map(|bit| 1 << bit).sum()).collect();
                for (j, &word) in words.iter().enumerate() {
                    assert_eq!(word.count_ones() as usize, d - c, "{d} {c}");
                    let rotated = (words[0] << j | words[0] >> (d - j)) & ((1 << d) - 1);
                    assert_eq!(word, rotated, "{d} {c} {j}");
                }
                assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), d, "{d} {c}: a full necklace");
            }
        }
    }
}

#[test]
fn lines_beyond_the_table_are_none() {
    let far = usize::MAX;
    for (d, c, i, j) in [
        (0, 0, 0, 0),
        (0, 1, 0, 0),
        (3, 3, 0, 0),
        (3, 5, 0, 0),
        (5, 1, 4, 0),
        (5, 1, 0, 5),
        (5, 1, far, far),
        (far, 1, far - 2, 1),
    ] {
        assert_eq!((greedy(d, c, i, j), diagonal(d, c, i, j)), (None, None), "{d} {c} {i} {j}");
    }
    assert_eq!(row(Entry { dimension: 0, step: 9 }, 3), None);
    assert_eq!(row(Entry { dimension: 0, step: 0 }, 0), None);
    assert_eq!(row(Entry { dimension: 0, step: 2 }, 3), Some(1));
}

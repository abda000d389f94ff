//! Exchanges within a cube, element by element, in blocks and over wide channels: what Johnsson &
//! Ho claim of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::Algorithm;
use necklace::algorithm::alltoall::NecklaceExchange;
use necklace::algorithm::cube::lines::{Entry, diagonal, greedy};
use necklace::algorithm::cube::{Crossing, Exchange, Scheme};
use necklace::collective::Collective;
use necklace::schedule::{Block, End, Problem, Volume, verify_shares};
use necklace::topology::Hypercube;

use super::tables::printed;

/// The dimensions of the cubes that are looked at.
const CUBES: std::ops::RangeInclusive<usize> = 1..=16;

fn exchange(scheme: Scheme, d: usize) -> Exchange {
    Exchange::new(scheme, d).unwrap()
}

/// That in no step an address crosses twice or a dimension is crossed more than `width` times, and
/// that all addresses cross their bits, each once.
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

/// The number of steps that each complement pair is under way.
fn spans_of_pairs(exchange: &Exchange) -> BTreeMap<usize, usize> {
    let opposite = (1 << exchange.dimensions()) - 1;
    let mut ends = BTreeMap::new();
    for (t, step) in exchange.steps().enumerate() {
        for crossing in step {
            let pair = crossing.address.min(crossing.address ^ opposite);
            ends.entry(pair).or_insert((t, t)).1 = t;
        }
    }
    ends.into_iter().map(|(pair, (first, last))| (pair, last - first + 1)).collect()
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
            // All channels in all steps, except for the remainder of the first scheme.
            let idle = exchange.steps().filter(|step| step.len() < d).count();
            let left_over = scheme == Scheme::Pairs && odd > 0;
            assert_eq!(idle, if left_over { d } else { 0 }, "{scheme:?} {d}");
            // The table is of pairs; no address is under way for longer than its pair.
            let longest = *exchange.spans().unwrap().end();
            assert!(longest <= span && longest >= d, "{scheme:?} {d}: {longest}");
            if scheme != Scheme::Necklaces {
                let spans = spans_of_pairs(&exchange);
                assert_eq!((spans.values().min(), spans.values().max()), (Some(&d), Some(&span)), "{scheme:?} {d}");
            }
        }
        assert_eq!(exchange(Scheme::Necklaces, d).spans().unwrap().end(), &d);
    }
}

/// The least and the most addresses that are under way together: those of a group; of the second
/// scheme, whose group is everything, those of the pairs that cross in a step.
fn together(exchange: &Exchange, scheme: Scheme) -> (usize, usize) {
    let opposite = (1 << exchange.dimensions()) - 1;
    let active = |step: &[Crossing]| {
        let pairs = step.iter().flat_map(|crossing| [crossing.address, crossing.address ^ opposite]);
        pairs.collect::<BTreeSet<_>>().len()
    };
    let sizes: Vec<usize> = match scheme {
        Scheme::Wrapped => exchange.steps().map(active).collect(),
        _ => exchange.groups().iter().map(|group| group.addresses().len()).collect(),
    };
    (sizes.iter().min().copied().unwrap(), sizes.iter().max().copied().unwrap())
}

#[test]
fn concurrent_addresses_equal_table_6() {
    for d in CUBES {
        let (pairs, odd) = (1 << (d - 1), (1 << (d - 1)) % d);
        let together = |scheme| together(&exchange(scheme, d), scheme);
        let least = if odd > 0 { 2 * odd } else { 2 * d };
        assert_eq!(together(Scheme::Pairs), (least, 2 * d), "{d}");
        // Where there is one group only, it is that of the others which is missing.
        let all_mixed = d + odd == pairs;
        assert_eq!(together(Scheme::Mixed), (if all_mixed { 2 * pairs } else { 2 * d }, 2 * (d + odd)), "{d}");
        assert_eq!(together(Scheme::Wrapped), (2 * d, 2 * d), "{d}");
    }
}

#[test]
fn table_6_in_numbers() {
    let row = |d: usize, number: usize| {
        let scheme = Scheme::all().nth(number - 1).unwrap();
        let exchange = exchange(scheme, d);
        let (steps, spans) = (exchange.steps().count(), spans_of_pairs(&exchange));
        let (shortest, longest) = (spans.values().min().unwrap(), spans.values().max().unwrap());
        let (least, most) = together(&exchange, scheme);
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
            let mut all: Vec<usize> = exchange.groups().iter().flat_map(|group| group.addresses()).copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..1 << d).collect::<Vec<_>>(), "{scheme:?} {d}");
            for group in exchange.groups() {
                let known: BTreeSet<usize> = group.addresses().iter().copied().collect();
                assert!(group.steps().iter().flatten().all(|crossing| known.contains(&crossing.address)));
            }
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
            let lengths: Vec<usize> = exchange.table().rows().iter().map(Vec::len).collect();
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
                // The steps of single elements, and the blocks that they make: of those there are
                // no fewer.
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

/// The crossings of a system of lines: of each member, by step.
fn drawn(d: usize, c: usize, line: impl Fn(usize, usize) -> Entry) -> Vec<BTreeMap<usize, usize>> {
    let mut members = vec![BTreeMap::new(); d];
    let mut used = BTreeSet::new();
    for i in 0..d - c {
        for (j, member) in members.iter_mut().enumerate() {
            let entry = line(i, j);
            assert!(entry.step < d && entry.dimension < d && entry.row(d).unwrap() < d - c, "{d} {c}: {entry:?}");
            assert!(used.insert((entry.row(d), entry.step)), "{d} {c}: {entry:?} is on two lines");
            assert_eq!(member.insert(entry.step, entry.dimension), None, "{d} {c}: {j} twice in step {}", entry.step);
        }
    }
    members
}

#[test]
fn both_line_systems_are_schedules_of_necklaces() {
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

fn on_cube(d: usize) -> Problem {
    Problem::new(Arc::new(Hypercube::new(d).unwrap()), Collective::Alltoall).unwrap()
}

fn every_form() -> impl Iterator<Item = NecklaceExchange> {
    let forms = |scheme| [0, 1, 3].map(|width| NecklaceExchange::new(scheme).width(width));
    Scheme::all().flat_map(forms)
}

#[test]
fn shares_are_translations_of_rank_0s_share() {
    for d in 0..=8 {
        let problem = on_cube(d);
        // Of the larger cubes the form that is executed, and that of single elements.
        let forms = every_form().filter(|form| {
            d <= 6 || form.name().starts_with("necklace-exchange:scheme=4") || form.name() == "necklace-exchange"
        });
        for form in forms {
            let translated = |by: usize, rounds: &[necklace::schedule::RankRound]| -> Vec<_> {
                let moved = |rank: i32| Rank::new(rank as usize ^ by);
                let blocks = |end: &End| -> BTreeSet<Block> {
                    end.blocks
                        .iter()
                        .map(|block| Block::new(moved(block.source()), moved(block.destination())))
                        .collect()
                };
                let ends =
                    |ends: &[End]| -> Vec<_> { ends.iter().map(|end| (end.peer.index() ^ by, blocks(end))).collect() };
                rounds.iter().map(|round| (ends(&round.sends), ends(&round.receives))).collect()
            };
            let of = |rank: usize| form.share(&problem, Rank::new(rank)).unwrap().collect::<Vec<_>>();
            let first = of(0);
            for rank in 0..1 << d {
                assert_eq!(translated(0, &of(rank)), translated(rank, &first), "{} {d} {rank}", form.name());
            }
        }
    }
}

#[test]
fn every_channel_is_busy_in_every_step() {
    for d in 1..=8_usize {
        let problem = on_cube(d);
        for scheme in Scheme::all() {
            let form = NecklaceExchange::new(scheme).width(1);
            let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
            assert_eq!(
                proof.contradicts(&form.claims(&problem).completed(form.about().ports)),
                [],
                "{} {d}",
                form.name()
            );
            if scheme == Scheme::Pairs {
                continue;
            }
            for round in form.shares(&problem).unwrap() {
                let round = round.round;
                assert!(round.transfers.iter().all(|transfer| transfer.blocks.len() == 1));
                let channels: BTreeSet<(Rank, Rank)> =
                    round.transfers.iter().map(|it| (it.source, it.destination)).collect();
                assert_eq!((round.transfers.len(), channels.len()), (d << d, d << d), "{} {d}", form.name());
            }
        }
    }
}

/// What lies together in memory lies together in messages: blocks by destinations, and of one
/// destination by sources.
#[test]
fn messages_are_in_order() {
    let problem = on_cube(5);
    for form in every_form() {
        for rank in [0, 13, 31] {
            for round in form.share(&problem, Rank::new(rank)).unwrap() {
                for end in round.sends.iter().chain(&round.receives) {
                    let ends: Vec<(i32, i32)> =
                        end.blocks.iter().map(|block| (block.destination(), block.source())).collect();
                    assert!(ends.is_sorted(), "{} rank {rank}: {ends:?}", form.name());
                }
            }
        }
    }
}

#[test]
fn every_form_keeps_its_claims() {
    for d in 0..=6 {
        let problem = on_cube(d);
        for form in every_form() {
            let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
            assert_eq!(
                proof.contradicts(&form.claims(&problem).completed(form.about().ports)),
                [],
                "{} {d}",
                form.name()
            );
            assert!(proof.keeps(form.about().ports));
        }
    }
}

#[test]
fn six_dimensional_cube_takes_6_rounds_and_32_blocks() {
    let (form, problem) = (NecklaceExchange::default(), on_cube(6));
    let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
    assert_eq!((proof.startups, proof.transmission, proof.contention_free), (6, Volume::from(32), true));
    // Blocks of five or six: ceil(32 / 6) at most.
    let sizes: BTreeSet<usize> = form
        .shares(&problem)
        .unwrap()
        .flat_map(|joined| joined.round.transfers.into_iter().map(|transfer| transfer.blocks.len()))
        .collect();
    assert_eq!(sizes, BTreeSet::from([5, 6]));
}

#[test]
fn generating_table_has_no_further_lines() {
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
    assert_eq!(Entry { dimension: 0, step: 9 }.row(3), None);
    assert_eq!(Entry { dimension: 0, step: 0 }.row(0), None);
    assert_eq!(Entry { dimension: 0, step: 2 }.row(3), Some(1));
}

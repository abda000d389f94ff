//! The verifier agrees with a naive replay: a table of single chunks, contributors as lists. The
//! replay stops where the verifier's rules say that a violation has no effect.
use std::collections::{BTreeMap, BTreeSet};

use crate::fixtures::*;
use necklace::Rank;
use necklace::collective::Collective;
use necklace::schedule::{Block, Combine, Ports, Round, Schedule, ViolationKind, verify};
use quickcheck::{Arbitrary, Gen};

type Unit = (i32, i32, u32);

type Table = Vec<BTreeMap<Unit, Vec<Rank>>>;

#[derive(Debug, Default, PartialEq)]
struct Replay {
    /// Round, rank, what it sends or reads without holding it.
    not_held: BTreeSet<(usize, usize, Unit)>,
    /// How often contributions met themselves.
    twice: usize,
    /// Rank, what it lacks or has wrong at the end.
    wrong: BTreeSet<(usize, Unit)>,
}

/// Returns whether the naive replay finds nothing wrong.
pub(crate) fn is_correct(schedule: &Schedule) -> bool {
    replay(schedule) == Replay::default()
}

fn units(block: Block, of: &BTreeMap<(i32, i32), u32>) -> Vec<Unit> {
    let (source, destination) = (block.source(), block.destination());
    let chunks = *of.get(&(source, destination)).unwrap_or(&1);
    let range = if block.of() == 1 { 0..chunks } else { block.first()..block.first() + block.count() };
    range.map(|chunk| (source, destination, chunk)).collect()
}

/// Into how many chunks a schedule cuts each block.
fn cuts(schedule: &Schedule) -> BTreeMap<(i32, i32), u32> {
    let moved = schedule.rounds.iter().flat_map(|round| &round.transfers).flat_map(|transfer| transfer.blocks.clone());
    let steps = schedule.rounds.iter().flat_map(|round| &round.local).flat_map(|(_, step)| [step.from, step.into]);
    moved.chain(steps).map(|block| ((block.source(), block.destination()), block.of())).collect()
}

fn replay(schedule: &Schedule) -> Replay {
    let of = &cuts(schedule);
    let problem = &schedule.outline.problem;
    let (n, collective) = (problem.ranks(), problem.collective());
    let fill = |holding: Vec<(Block, Vec<Rank>)>| {
        let each = |(block, who): (Block, Vec<Rank>)| units(block, of).into_iter().map(move |u| (u, who.clone()));
        holding.into_iter().flat_map(each).collect()
    };
    let mut hold: Table = (0..n).map(|i| fill(collective.before(n, rank(i)))).collect();
    let want: Table = (0..n).map(|i| fill(collective.after(n, rank(i)))).collect();
    let mut found = Replay::default();
    for (number, round) in schedule.rounds.iter().enumerate() {
        let mut arrivals = Vec::new();
        for t in &round.transfers {
            for unit in t.blocks.iter().flat_map(|&block| units(block, of)) {
                match hold[t.source.index()].get(&unit).cloned() {
                    Some(who) => arrivals.push((t.destination.index(), unit, who, t.combine)),
                    None => drop(found.not_held.insert((number, t.source.index(), unit))),
                }
                if collective.is_personalised() {
                    hold[t.source.index()].remove(&unit);
                }
            }
        }
        let mut meet = |held: &mut BTreeMap<Unit, Vec<Rank>>, unit: Unit, who: Vec<Rank>, combine: Combine| {
            let have = held.get(&unit).cloned().filter(|_| combine != Combine::Replace).unwrap_or_default();
            if have.iter().any(|rank| who.contains(rank)) {
                found.twice += 1;
                return;
            }
            held.insert(unit, if combine == Combine::Left { [who, have].concat() } else { [have, who].concat() });
        };
        for (to, unit, who, combine) in arrivals {
            meet(&mut hold[to], unit, who, combine);
        }
        for (at, step) in &round.local {
            for (from, into) in units(step.from, of).into_iter().zip(units(step.into, of)) {
                match hold[at.index()].get(&from).cloned() {
                    Some(who) => meet(&mut hold[at.index()], into, who, step.combine),
                    None => drop(found.not_held.insert((number, at.index(), from))),
                }
            }
        }
    }
    for i in 0..n {
        for (unit, who) in &want[i] {
            let sorted = |who: &Vec<Rank>| {
                let mut who = who.clone();
                if problem.commutative() {
                    who.sort_unstable();
                }
                who
            };
            if hold[i].get(unit).map(sorted) != Some(sorted(who)) {
                found.wrong.insert((i, *unit));
            }
        }
    }
    found
}

/// Returns the verifier's violations in the terms of the naive replay.
fn verdict(schedule: &Schedule) -> Replay {
    let mut found = Replay::default();
    let Err(violations) = verify(schedule) else { return found };
    let of = cuts(schedule);
    for violation in violations.all() {
        let block = violation.location.block.unwrap_or(Block::RESULT);
        let chunks = units(block, &of).into_iter();
        let at = violation.location.rank.map_or(0, Rank::index);
        match violation.kind {
            ViolationKind::NotHeld => {
                let sender = violation.location.transfer.map_or(at, |(source, _)| source.index());
                found.not_held.extend(chunks.map(|unit| (violation.location.round.unwrap(), sender, unit)));
            }
            ViolationKind::CountedTwice { .. } => found.twice += block.count() as usize,
            ViolationKind::NotDelivered { .. }
            | ViolationKind::WrongContributors { .. }
            | ViolationKind::WrongOrder { .. } => {
                found.wrong.extend(chunks.map(|unit| (at, unit)));
            }
            // Things that the naive replay does not look for, and that have no effect.
            ViolationKind::Redundant { .. } | ViolationKind::ReplacedTwice { .. } => {}
            ref other => panic!("{other} in a schedule made without"),
        }
    }
    found
}

#[derive(Clone, Debug)]
struct Random(Schedule);

fn below(g: &mut Gen, n: usize) -> usize {
    usize::arbitrary(g) % n
}

impl Arbitrary for Random {
    fn arbitrary(g: &mut Gen) -> Self {
        // Half of the time a good schedule with something changed, so that much of it is delivered.
        let fixtures = all();
        let base = if bool::arbitrary(g) {
            fixtures[below(g, fixtures.len())].schedule.clone()
        } else {
            let n = 2 + below(g, 4);
            let names: Vec<_> = Collective::names().collect();
            let name = names[below(g, names.len())];
            let collective = Collective::named(name, rank(below(g, n))).unwrap();
            let rounds = vec![Round::default(); below(g, 4)];
            let made = schedule(&format!("complete:{n}"), collective, Ports::Unlimited, false, rounds);
            if bool::arbitrary(g) { ordered(made) } else { made }
        };
        let mut made = base;
        (made.outline.ports, made.outline.contention_free) = (Ports::Unlimited, false);
        let n = made.outline.problem.ranks();
        let mut of = cuts(&made);
        if matches!(made.outline.problem.collective(), Collective::Custom(_)) {
            of.extend((0..n as i32).map(|i| ((i, -1), 1)));
        }
        let fresh = [1, 1, 2, 3][below(g, 4)];
        let mut block = |g: &mut Gen| {
            let (s, d) = [(-1, -1), (-2, 0), (0, -1), (1, -1), (-1, 0), (-1, 1), (0, 1), (1, 0)][below(g, 8)];
            let of = *of.entry((s, d)).or_insert(fresh);
            let first = u32::arbitrary(g) % of;
            Block::raw(s, d).chunks(first, of, 1 + u32::arbitrary(g) % (of - first)).unwrap()
        };
        let combine = |g: &mut Gen| [Combine::Replace, Combine::Left, Combine::Right][below(g, 3)];
        for round in &mut made.rounds {
            for _ in 0..below(g, 4) {
                let source = below(g, n);
                let destination = (source + 1 + below(g, n.max(2) - 1)) % n;
                let blocks = vec![block(g)];
                let at = below(g, round.transfers.len() + 1);
                round.transfers.insert(at, combined(send(source, destination, blocks), combine(g)));
            }
            for _ in 0..below(g, 3) {
                let (from, into) = (block(g), block(g));
                if (from.count(), from.of()) == (into.count(), into.of()) && from.whole() != into.whole() {
                    let at = below(g, round.local.len() + 1);
                    round.local.insert(at, local(below(g, n), from, into, combine(g)));
                }
            }
            if !round.transfers.is_empty() && below(g, 4) == 0 {
                let at = below(g, round.transfers.len());
                round.transfers.remove(at);
            }
        }
        Self(made)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let this = self.clone();
        let rounds = self.0.rounds.iter().enumerate();
        let places: Vec<(usize, usize, bool)> = rounds
            .flat_map(|(r, round)| {
                let transfers = (0..round.transfers.len()).map(move |t| (r, t, true));
                transfers.chain((0..round.local.len()).map(move |t| (r, t, false)))
            })
            .collect();
        Box::new(places.into_iter().map(move |(r, t, transfer)| {
            let mut smaller = this.clone();
            let round = &mut smaller.0.rounds[r];
            if transfer {
                round.transfers.remove(t);
            } else {
                round.local.remove(t);
            }
            smaller
        }))
    }
}

#[test]
fn verifier_agrees_with_a_naive_replay() {
    fn agrees(random: Random) -> Result<(), String> {
        let (naive, found) = (replay(&random.0), verdict(&random.0));
        if naive == found { Ok(()) } else { Err(format!("naive replay: {naive:?}\nverifier: {found:?}")) }
    }
    quickcheck::QuickCheck::new().tests(20_000).quickcheck(agrees as fn(Random) -> Result<(), String>);
}

#[test]
fn naive_replay_accepts_the_fixtures() {
    for Fixture { name, schedule, .. } in all() {
        assert!(is_correct(&schedule), "{name}: {:?}", replay(&schedule));
    }
}

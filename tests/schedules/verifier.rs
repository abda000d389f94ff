//! The verifier accepts what is right, with the figures that a hand counts, and agrees with a naive
//! replay.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fixtures::*;
use necklace::Rank;
use necklace::algorithm::alltoall::{DirectRotated, Ring};
use necklace::algorithm::{About, Algorithm, Claims, registry};
use necklace::collective::{Collective, Custom};
use necklace::schedule::{
    Block, Combine, End, Mismatch, Ports, Problem, RankRound, Round, SampleError, Schedule, Share, Verifier,
    ViolationKind, Volume, verify, verify_sample, verify_shares,
};
use necklace::topology::parse;
use quickcheck::{Arbitrary, Gen};

/// start-ups, transmission, hops, messages, busiest channel, all channels
type Counted = (u64, Volume, u64, u64, Volume, Volume);

fn counted(schedule: &Schedule) -> Counted {
    let proof = verify(schedule).unwrap_or_else(|violations| panic!("{violations}\n{:#?}", schedule.rounds));
    let hops = (proof.startups, proof.transmission, proof.hops, proof.messages);
    (hops.0, hops.1, hops.2, hops.3, proof.busiest_channel_total, proof.link_blocks)
}

fn whole(blocks: u64) -> Volume {
    Volume::from(blocks)
}

#[test]
fn every_fixture_is_verified() {
    for Fixture { name, schedule, .. } in all() {
        let proof = verify(&schedule).unwrap_or_else(|violations| panic!("{name}: {violations}"));
        assert_eq!(proof.rounds, schedule.rounds.len() as u64, "{name}");
        assert!(proof.keeps(schedule.outline.ports), "{name}: {proof}");
        assert!(proof.contention_free || !schedule.outline.contention_free, "{name}: {proof}");
    }
}

#[test]
fn figures_are_those_counted_by_hand() {
    let w = whole;
    // Each of 5 ranks sends 4 messages of a block over a channel of their own.
    assert_eq!(counted(&direct_alltoall(5)), (4, w(4), 4, 4, w(1), w(20)));
    // 3 rounds of 4 blocks; each of the 24 channels of the cube is used once.
    assert_eq!(counted(&cube_alltoall(3)), (3, w(12), 3, 3, w(4), w(96)));
    // Every one of 6 channels carries all but one of the 6 blocks.
    assert_eq!(counted(&ring_allgather(6)), (5, w(5), 5, 5, w(5), w(30)));
    // The same by halves, both ways at once.
    let half = |n| Volume::new(n, 2);
    assert_eq!(counted(&two_way_allgather(6)), (5, half(5), 5, 10, half(5), w(30)));
    // 1, 2, 4, 1 sends; the root is in all rounds.
    assert_eq!(counted(&binomial_broadcast(9, 4)), (4, w(4), 4, 4, w(1), w(8)));
    assert_eq!(counted(&binomial_reduce(9)), (4, w(4), 4, 1, w(1), w(8)));
    // 3 hops and 4 more chunks of a fifth each; 15 chunks are moved over 3 channels.
    assert_eq!(counted(&pipelined_broadcast(4, 5)), (7, Volume::new(7, 5), 7, 5, w(1), w(3)));
    assert_eq!(counted(&doubling_allreduce(3)), (3, w(3), 3, 3, w(1), w(24)));
    // 2 (n - 1) rounds of an n-th.
    assert_eq!(counted(&ring_allreduce(4)), (6, Volume::new(6, 4), 6, 6, Volume::new(6, 4), w(6)));
    assert_eq!(counted(&ring_reduce_scatter(4)), (3, w(3), 3, 3, w(3), w(12)));
    // 5 - 1, 5 - 2 and 5 - 4 sends; the first round only copies.
    assert_eq!(counted(&scan(5)), (3, w(3), 3, 3, w(1), w(8)));
    assert_eq!(counted(&exscan(4)), (3, w(3), 3, 1, w(1), w(3)));
    // 4, 2 and 1 blocks: 4 + 2 * 2 + 4 * 1 in all.
    assert_eq!(counted(&halving_scatter(3)), (3, w(7), 3, 3, w(4), w(12)));
    // On a ring of 5 two blocks come from either side: 2 + 1 hops each.
    assert_eq!(counted(&direct_gather(5, 4)), (1, w(1), 2, 1, w(2), w(6)));
    // 1, 2 and 4 blocks of 8 ranks each; on a complete network no channel twice.
    assert_eq!(counted(&dissemination_barrier(3)), (3, w(7), 3, 3, w(4), w(56)));
    assert_eq!(counted(&custom_neighbours()), (1, w(1), 2, 2, w(1), w(16)));
}

#[test]
fn channels_ports_and_phases_are_counted() {
    let gather = verify(&direct_gather(5, 4)).unwrap();
    // Two transfers come over each of the root's channels, in the one round.
    assert_eq!((gather.max_transfers_on_a_channel, gather.max_sends, gather.max_receives), (2, 1, 4));
    assert_eq!((gather.transmission, gather.channel_transmission), (whole(1), whole(2)));
    assert_eq!((gather.contention_free, gather.ports()), (false, Ports::OneSend));

    let cube = verify(&cube_alltoall(3)).unwrap();
    assert_eq!((cube.rearrangements, cube.ports()), (2, Ports::One));
    let two_way = verify(&two_way_allgather(5)).unwrap();
    assert_eq!((two_way.max_sends, two_way.same_value, two_way.ports()), (2, false, Ports::All));
    assert_eq!(verify(&custom_neighbours()).unwrap().ports(), Ports::SameValue);

    // Phases in which nothing is sent need no order of their own.
    let mut idle = ring_allreduce(3);
    idle.outline.phases.extend(["c".to_owned(), "d".to_owned()]);
    idle.rounds.push(Round::default().in_phase(3));
    let idle = verify(&idle).unwrap();
    assert_eq!((idle.rounds, idle.startups, idle.rearrangements), (5, 4, 1));
}

#[test]
fn proof_contradicts_wrong_claims() {
    let proof = verify(&cube_alltoall(3)).unwrap();
    let mut claims = Claims::default();
    claims.startups = Some(3);
    claims.transmission = Some(whole(12));
    claims.hops = Some(3);
    claims.rearrangements = Some(2);
    claims.messages = Some(3);
    claims.volume = Some(whole(12));
    claims.contention_free = true;
    assert_eq!(proof.contradicts(&claims), []);
    let mut wrong = claims;
    (wrong.startups, wrong.messages, wrong.transmission) = (Some(4), None, Some(Volume::new(25, 2)));
    let figures: Vec<_> = proof.contradicts(&wrong).into_iter().map(|contradiction| contradiction.figure).collect();
    assert_eq!(figures, ["start-ups", "transmission"]);
}

#[test]
fn single_rank_needs_no_transfers() {
    for name in Collective::names() {
        let collective = Collective::named(name, rank(0)).unwrap();
        // An exclusive scan leaves rank 0 with nothing, all others with what they have.
        let proof = verify(&schedule("line:1", collective, Ports::One, true, vec![])).unwrap();
        assert_eq!((proof.rounds, proof.transmission, proof.ports()), (0, Volume::ZERO, Ports::One), "{name}");
    }
}

#[test]
fn empty_schedule_delivers_nothing() {
    for name in Collective::names() {
        let collective = Collective::named(name, rank(1)).unwrap();
        let violations = verify(&schedule("ring:3", collective, Ports::One, true, vec![])).unwrap_err();
        let expected = match name {
            "alltoall" | "allgather" | "barrier" => 6,
            "allreduce" | "reduce_scatter" => 3,
            "scatter" | "gather" | "broadcast" | "scan" | "exscan" => 2,
            "reduce" => 1,
            other => panic!("{other} is new"),
        };
        assert_eq!(violations.count(), expected, "{name}: {violations}");
    }
}

#[test]
fn block_in_many_chunks_costs_no_more_than_one() {
    let block = Block::from(rank(0));
    let k = u32::MAX;
    let halves = [block.chunks(0, k, k / 2).unwrap(), block.chunks(k / 2, k, k - k / 2).unwrap()];
    let rounds = vec![round(vec![send(0, 1, vec![halves[0]])]), round(vec![send(0, 1, vec![halves[1]])])];
    let both = schedule("line:2", Collective::Broadcast { root: rank(0) }, Ports::One, true, rounds.clone());
    assert_eq!(verify(&both).unwrap().busiest_channel_total, whole(1));
    let one = Schedule::new(both.outline, rounds[..1].to_vec());
    let violations = verify(&one).unwrap_err();
    assert_eq!(violations.all().iter().map(|v| v.location.block).collect::<Vec<_>>(), [Some(halves[1])]);
}

#[test]
fn shares_verify_like_the_schedule() {
    let problem = ring_allgather(5).outline.problem;
    let shares = |faulty| OneWay { faulty }.shares(&problem).unwrap();
    let proof = verify_shares(shares(None)).unwrap();
    assert_eq!(proof, verify(&shares(None).collect().unwrap()).unwrap());
    assert_eq!(proof, verify(&ring_allgather(5)).unwrap());
    assert_eq!(proof.contradicts(&OneWay { faulty: None }.claims(&problem)), []);

    // What two ranks disagree about does not arrive.
    let violations = verify_shares(shares(Some(rank(2)))).unwrap_err();
    let first = &violations.all()[0];
    assert_eq!((first.location.round, first.location.transfer), (Some(1), Some((rank(1), rank(2)))));
    assert!(matches!(first.kind, ViolationKind::Unmatched(_)));
    let lost = Some(Block::from(rank(0)));
    assert!(violations.all()[1..].iter().all(|violation| violation.location.block == lost), "{violations}");
    assert_eq!(violations.count(), 1 + 2 + 3);
}

#[test]
fn unmatched_ends_are_violations() {
    let whole = ring_allgather(3);
    let mut verifier = Verifier::new(&whole.outline);
    verifier.round(&whole.rounds[0]);
    let end = End::new(rank(2), vec![Block::from(rank(0))]);
    let mismatch = Mismatch::new(rank(1), rank(2), None, Some(end));
    verifier.mismatch(mismatch.clone());
    verifier.round(&whole.rounds[1]);
    let violations = verifier.finish().unwrap_err();
    assert_eq!(violations.count(), 1);
    let violation = &violations.all()[0];
    assert_eq!((violation.location.round, violation.location.transfer), (Some(1), Some((rank(1), rank(2)))));
    assert_eq!(violation.kind, ViolationKind::Unmatched(Box::new(mismatch)));
    assert_eq!(violation.to_string(), "round 1, 1 to 2: awaited block [0, -1], nothing sent");
}

#[test]
fn too_large_schedules_are_refused_at_once() {
    for (topology, collective) in [
        ("ring:2000000000", Collective::Broadcast { root: rank(7) }),
        ("torus:1000x1000", Collective::Alltoall),
        ("hypercube:14", Collective::Allgather),
    ] {
        let schedule = schedule(topology, collective, Ports::One, true, vec![round(vec![send(0, 1, vec![])])]);
        let violations = verify(&schedule).unwrap_err();
        assert_eq!(violations.count(), 1);
        assert!(matches!(violations.all()[0].kind, ViolationKind::TooLarge { limit: Verifier::LIMIT, .. }));
    }
    let small = ring_allgather(8);
    let mut verifier = Verifier::with_limit(&small.outline, 79);
    small.rounds.iter().for_each(|round| verifier.round(round));
    assert!(matches!(
        verifier.finish().unwrap_err().all()[0].kind,
        ViolationKind::TooLarge { found: 80, limit: 79, .. }
    ));
}

#[test]
fn idle_ranks_cost_nothing() {
    let n = 1 << 16;
    assert_eq!(counted(&doubling_allreduce(16)).0, 16);
    let idle = verify(&schedule(&format!("ring:{n}"), Collective::Allreduce, Ports::One, true, vec![])).unwrap_err();
    assert_eq!((idle.count(), idle.all().len() as u64), (n, n));
}

#[test]
fn alltoall_on_1024_nodes_is_verified_round_by_round() {
    let (dimensions, n) = (10, 1_usize << 10);
    let outline = schedule("hypercube:10", Collective::Alltoall, Ports::One, true, vec![]).outline;
    let mut verifier = Verifier::new(&outline);
    for bit in 0..dimensions {
        let low = (1_usize << bit) - 1;
        // Bits below are the destination's by now, those above still the source's.
        let transfer = |i: usize| {
            let destinations = move |high: usize| (high << (bit + 1)) | (!i & (1 << bit)) | (i & low);
            let sources = (0..=low).map(move |s| (i & !low) | s);
            let blocks = sources
                .flat_map(|s| (0..n >> (bit + 1)).map(move |high| Block::new(rank(s), rank(destinations(high)))));
            send(i, i ^ (1 << bit), blocks.collect())
        };
        verifier.round(&round((0..n).map(transfer).collect()));
    }
    let proof = verifier.finish().unwrap();
    assert_eq!(proof.transmission, whole(10 * 512));
}

#[test]
fn flawed_custom_collective_is_a_violation() {
    let block = Block::from(rank(0));
    let plain = vec![(block, vec![rank(0)])];
    let with = |pre: Vec<Vec<(Block, Vec<Rank>)>>, post| {
        let collective = Collective::Custom(Arc::new(Custom::new(pre, post)));
        let violations = verify(&schedule("line:2", collective, Ports::One, true, vec![])).unwrap_err();
        violations.all().iter().map(|violation| violation.kind.clone()).collect::<Vec<_>>()
    };
    let none = || vec![vec![], vec![]];
    assert_eq!(with(vec![vec![]], none()), [ViolationKind::ConditionRanks { expected: 2, found: 1 }]);
    let twice = vec![plain.clone(), [plain.clone(), plain.clone()].concat()];
    assert_eq!(with(twice, none()), [ViolationKind::StatedTwice]);
    let cut = vec![plain.clone(), vec![(part(block, 1, 2, 1), vec![rank(0)])]];
    assert_eq!(with(cut, none()), [ViolationKind::Cut { expected: 1, found: 2 }]);
    let by = |who: &[usize]| vec![vec![], vec![(block, who.iter().copied().map(rank).collect())]];
    assert_eq!(with(none(), by(&[0, 2])), [ViolationKind::ContributorRange { contributor: rank(2), ranks: 2 }]);
    assert_eq!(with(by(&[1, 0, 1]), none()), [ViolationKind::ContributorTwice { contributor: rank(1) }]);
    let far = vec![vec![], vec![(Block::raw(-5, 2), vec![rank(0)])]];
    assert_eq!(with(far, none()), [ViolationKind::BlockRange { found: 2, ranks: 2 }]);
}

#[test]
fn block_on_one_rank_before_and_after_is_personalised() {
    // A block that goes from rank 0 to rank 1, and one that stays at 0.
    let own = |i: i32| (Block::new(rank(0), rank(i as usize)), vec![rank(0)]);
    let verified = |post: Vec<Vec<(Block, Vec<Rank>)>>, rounds: Vec<Round>| {
        let collective = Collective::Custom(Arc::new(Custom::new(vec![vec![own(0), own(1)], vec![]], post)));
        verify(&schedule("line:2", collective, Ports::One, true, rounds))
    };
    let moved = vec![vec![own(0)], vec![own(1)]];
    let sent = |from: usize, block: i32| round(vec![send(from, 1 - from, vec![own(block).0])]);
    // It may come back, which would be for nothing if it had stayed too.
    assert!(verified(moved.clone(), vec![sent(0, 1), sent(0, 0), sent(1, 0)]).is_ok());
    let away = verified(moved, vec![sent(0, 1), sent(0, 0)]).unwrap_err();
    assert_eq!(away.all().len(), 1, "{away}");
    // Where two shall have it, or none need, it stays where it is sent from.
    for post in [vec![vec![own(0), own(1)], vec![own(1)]], vec![vec![own(0)], vec![]]] {
        assert!(verified(post.clone(), vec![sent(0, 1)]).is_ok());
        assert!(verified(post, vec![sent(0, 1), sent(1, 1)]).is_err());
    }
}

// A naive replay: a table of single chunks, contributors as lists, and nothing clever. It stops
// where the verifier's rules say that something wrong has no effect.

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

/// What the verifier says, in the naive replay's terms.
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
        assert_eq!(replay(&schedule), Replay::default(), "{name}");
    }
}

#[test]
fn samples_of_correct_schedules_pass() {
    let mut cases = 0;
    for topology in ["torus:4x4", "hypercube:3", "complete:7", "mesh:3x2", "line:1"] {
        for algorithm in registry() {
            let collective = Collective::named(algorithm.about().collective, rank(0)).unwrap();
            let problem = Problem::new(parse(topology).unwrap(), collective).unwrap();
            let Ok(shares) = algorithm.shares(&problem) else { continue };
            if problem.collective().is_reduction() {
                let refused = verify_sample(&**algorithm, &problem, [rank(0)], |_| ());
                assert!(matches!(refused, Err(SampleError::Contributors { .. })));
                continue;
            }
            let proof = verify_shares(shares).unwrap();
            let rounds = algorithm.share(&problem, rank(0)).unwrap().count();
            let all = verify_sample(&**algorithm, &problem, problem.all(), |_| ()).unwrap();
            assert_eq!((all.ranks, all.of, all.rounds), (problem.ranks(), problem.ranks(), rounds));
            assert!(all.messages >= proof.messages && all.blocks as f64 >= proof.volume.as_f64());
            for one in problem.all() {
                let sample = verify_sample(&**algorithm, &problem, [one], |_| ()).unwrap();
                assert!(sample.ranks == 1 && sample.messages <= all.messages);
            }
            cases += 1;
        }
    }
    assert!(cases > 20, "only {cases} cases");
}

/// A ring in which one rank, in one round, does what the others may or may not know of.
struct Spoilt {
    by: Rank,
    spoil: fn(&mut End),
    /// Whether the next rank says the same.
    agreed: bool,
}

impl Spoilt {
    const ROUND: usize = 3;
}

impl Algorithm for Spoilt {
    fn about(&self) -> &About {
        Ring.about()
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims::default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (spoil, next) = (self.spoil, Rank::new((self.by.index() + 1) % problem.ranks()));
        let (sends, receives) = (rank == self.by, rank == next && self.agreed);
        Box::new(Ring.rounds(problem, rank).enumerate().map(move |(number, mut round)| {
            if number == Self::ROUND {
                round.sends.iter_mut().filter(|_| sends).for_each(spoil);
                round.receives.iter_mut().filter(|_| receives).for_each(spoil);
            }
            round
        }))
    }
}

/// Straight messages, to another rank in each round; one rank sends one more, which its receiver
/// does not list.
struct Unlisted {
    round: usize,
}

impl Unlisted {
    const FROM: usize = 2;
    const TO: usize = 5;
}

impl Algorithm for Unlisted {
    fn about(&self) -> &About {
        DirectRotated.about()
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims::default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let mut rounds: Vec<RankRound> = DirectRotated.rounds(problem, rank).collect();
        if rank.index() == Self::FROM {
            rounds.resize_with(rounds.len().max(self.round + 1), RankRound::default);
            rounds[self.round].sends.push(End::new(Rank::new(Self::TO), vec![]));
        }
        Box::new(rounds.into_iter())
    }
}

#[test]
fn samples_find_messages_missing_from_shares() {
    let problem = Problem::new(parse("complete:9").unwrap(), Collective::Alltoall).unwrap();
    // It lists one of that sender's in the third of 8 rounds.
    for round in [0, 1, 2, 5, 7, 8] {
        let found = verify_sample(&Unlisted { round }, &problem, [rank(Unlisted::TO)], |_| ());
        let Err(SampleError::Violated(violations)) = found else { panic!("round {round}: {found:?}") };
        let all: Vec<_> =
            violations.all().iter().map(|violation| (violation.location.round, &violation.kind)).collect();
        assert!(matches!(all[..], [(Some(at), ViolationKind::Unmatched(_))] if at == round), "round {round}: {all:?}");
    }
    // Nothing of that concerns another rank.
    assert!(verify_sample(&Unlisted { round: 5 }, &problem, [rank(0)], |_| ()).is_ok());
}

#[test]
fn samples_find_violations_of_their_ranks() {
    let problem = Problem::new(parse("ring:9").unwrap(), Collective::Alltoall).unwrap();
    let by = rank(4);
    let faults = |spoil, agreed, of: usize| -> Vec<ViolationKind> {
        match verify_sample(&Spoilt { by, spoil, agreed }, &problem, [rank(of)], |_| ()) {
            Ok(_) => vec![],
            Err(SampleError::Violated(violations)) => violations.all().iter().map(|v| v.kind.clone()).collect(),
            Err(other) => panic!("{other}"),
        }
    };
    let forgets: fn(&mut End) = |end| end.blocks.truncate(end.blocks.len() - 1);
    let invents: fn(&mut End) = |end| end.blocks[0] = Block::new(Rank::new(8), Rank::new(8));
    // Whoever sends or awaits the message finds that they do not agree about it.
    for of in [4, 5] {
        assert!(matches!(faults(forgets, false, of)[0], ViolationKind::Unmatched(_)), "rank {of}");
    }
    // Where they do agree, the sender is found to send what it does not hold, the receiver to lack
    // something.
    assert!(faults(invents, true, 4).iter().any(|fault| matches!(fault, ViolationKind::NotHeld)));
    assert!(!faults(forgets, true, 5).is_empty());
    // Ranks that have no part in it are in order.
    for of in [0, 2, 7] {
        assert!(faults(forgets, false, of).is_empty() && faults(invents, true, of).is_empty(), "rank {of}");
    }
}

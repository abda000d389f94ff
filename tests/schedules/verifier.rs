//! The verifier accepts what is right, with the figures that a hand counts, and refuses what is
//! incomplete or too large.
use std::iter::repeat_with;
use std::sync::Arc;

use crate::fixtures::*;
use necklace::Rank;
use necklace::algorithm::alltoall::Direct;
use necklace::algorithm::{About, Algorithm, Claims};
use necklace::collective::{Collective, Custom};
use necklace::error::BuildError;
use necklace::machine::Machine;
use necklace::schedule::draw::{DrawError, View, draw_shares};
use necklace::schedule::{
    Block, End, JsonError, Mismatch, Ports, Problem, RankRound, Round, SampleError, Schedule, Share, Verifier,
    ViolationKind, Volume, share_json, verify, verify_sample, verify_shares,
};
use necklace::simulate::Simulation;
use necklace::topology::parse;

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
        let schedule = schedule("ring:3", collective, Ports::One, true, vec![]);
        let violations = verify(&schedule).unwrap_err();
        let collective = &schedule.outline.problem.collective();
        let missing = (0..3).map(rank).map(|rank| {
            let before = collective.before(3, rank);
            collective.after(3, rank).iter().filter(|wanted| !before.contains(wanted)).count() as u64
        });
        assert_eq!(violations.count(), missing.sum::<u64>(), "{name}: {violations}");
        assert!(violations.count() > 0, "{name}");
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

    // A transfer on which two ranks disagree does not arrive.
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

/// The limit of `Verifier::new`.
const LIMIT: u64 = 1 << 27;

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
        assert!(matches!(violations.all()[0].kind, ViolationKind::TooLarge { limit: LIMIT, .. }));
    }
    let small = ring_allgather(8);
    let mut verifier = Verifier::with_limit(&small.outline, 79);
    small.rounds.iter().for_each(|round| verifier.round(round));
    assert!(matches!(
        verifier.finish().unwrap_err().all()[0].kind,
        ViolationKind::TooLarge { found: 80, limit: 79, .. }
    ));
}

/// Messages to all, and empty rounds without end after those of one rank.
struct Endless(usize);

impl Algorithm for Endless {
    fn about(&self) -> &About {
        Direct.about()
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Direct.claims(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let rounds = Direct.rounds(problem, rank);
        if rank.index() == self.0 { Box::new(rounds.chain(repeat_with(RankRound::default))) } else { rounds }
    }
}

#[test]
fn endless_shares_are_refused_at_the_limit() {
    let problem = Problem::new(parse("complete:2").unwrap(), Collective::Alltoall).unwrap();
    let limit = (1 << 20) + 2 * 2;
    assert_eq!(problem.max_rounds(), limit);
    let violations = verify_shares(Endless(1).shares(&problem).unwrap()).unwrap_err();
    let [violation] = violations.all() else { panic!("{violations}") };
    assert_eq!(violation.location.round, Some(limit));
    assert!(
        violation.to_string().ends_with("too large to verify: 1048581 rounds or more, at most 1048580 are allowed"),
        "{violation}"
    );
    assert_eq!(violations.figures().rounds, limit as u64);
    let collected = Endless(1).shares(&problem).unwrap().collect();
    let Err(BuildError::Rounds { rank: endless, .. }) = collected else { panic!("{collected:?}") };
    assert_eq!(endless, rank(1));
    let view = View::default();
    let written = share_json(Endless(1).shares(&problem).unwrap(), std::io::sink()).unwrap_err();
    assert!(matches!(written, JsonError::Build(BuildError::Rounds { .. })), "{written}");
    let drawn = draw_shares(Endless(1).shares(&problem).unwrap(), &view).unwrap_err();
    assert!(matches!(drawn, DrawError::Build(BuildError::Rounds { .. })), "{drawn}");
    let played = Simulation::new(&Machine::PARAGON, 8).play(&Endless(1), &problem);
    assert_eq!(
        played.unwrap_err().to_string(),
        format!("rank 1 has more than {limit} rounds, the maximum of a schedule")
    );
}

#[test]
fn endless_share_of_a_peer_is_refused_by_a_sample() {
    let problem = Problem::new(parse("complete:2").unwrap(), Collective::Alltoall).unwrap();
    let sample = verify_sample(&Endless(1), &problem, [rank(0)], |_| ());
    let Err(SampleError::Violated(violations)) = sample else { panic!("{sample:?}") };
    assert!(matches!(violations.all()[0].kind, ViolationKind::TooLarge { .. }), "{violations}");
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
    // It may come back, which would be redundant if it had stayed too.
    assert!(verified(moved.clone(), vec![sent(0, 1), sent(0, 0), sent(1, 0)]).is_ok());
    let away = verified(moved, vec![sent(0, 1), sent(0, 0)]).unwrap_err();
    assert_eq!(away.all().len(), 1, "{away}");
    // If two ranks must have it in the end, or none, it stays where it is sent from.
    for post in [vec![vec![own(0), own(1)], vec![own(1)]], vec![vec![own(0)], vec![]]] {
        assert!(verified(post.clone(), vec![sent(0, 1)]).is_ok());
        assert!(verified(post, vec![sent(0, 1), sent(1, 1)]).is_err());
    }
}

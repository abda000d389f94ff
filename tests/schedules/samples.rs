//! Verification of some ranks' part of a schedule.

use crate::fixtures::*;
use necklace::Rank;
use necklace::algorithm::alltoall::{DirectRotated, Ring};
use necklace::algorithm::{About, Algorithm, Claims, registry};
use necklace::collective::Collective;
use necklace::schedule::{
    Block, End, Problem, RankRound, SampleError, Share, ViolationKind, verify_sample, verify_shares,
};
use necklace::topology::parse;

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
    // Both the sender and the receiver find the mismatch.
    for of in [4, 5] {
        assert!(matches!(faults(forgets, false, of)[0], ViolationKind::Unmatched(_)), "rank {of}");
    }
    // If they agree, the sender sends a block that it does not hold, and the receiver lacks one.
    assert!(faults(invents, true, 4).iter().any(|fault| matches!(fault, ViolationKind::NotHeld)));
    assert!(!faults(forgets, true, 5).is_empty());
    // Ranks that have no part in it are in order.
    for of in [0, 2, 7] {
        assert!(faults(forgets, false, of).is_empty() && faults(invents, true, of).is_empty(), "rank {of}");
    }
}

//! Verification of algorithms and schedules that users bring.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::algorithm::Algorithm;
use crate::error::ArgumentError;
use crate::hash::Mix;
use crate::ids::Rank;
use crate::schedule::{memory_to_verify, verify_shares};
use crate::vocabulary::{BuildError, Combine, End, LocalStep, Problem, RankRound, Route};

/// The name and digest by which ranks compare a verified algorithm, or the error that was found.
pub(super) type Certificate = Result<Arc<str>, ArgumentError>;

/// The most memory in bytes that the proof of an algorithm's schedule may take. Every process of a
/// host takes it at once.
const AFFORDABLE: u128 = 64 << 20;

/// Verifies an algorithm's schedule for a problem, and returns the algorithm's name with a digest.
///
/// Verifies the whole schedule if `whole` is set or if the proof is affordable; otherwise nothing
/// but that the algorithm fits.
///
/// # Errors
///
/// [`BuildError::Unfit`] if the algorithm does not fit the problem, [`BuildError::Rounds`] if a
/// share does not end, [`ArgumentError::InvalidSchedule`] if its schedule violates a rule.
pub(super) fn certify(algorithm: &dyn Algorithm, problem: &Problem, whole: bool) -> Certificate {
    algorithm.fits(problem)?;
    let whole = whole || memory_to_verify(algorithm, problem)? <= AFFORDABLE;
    let (name, ranks) = (algorithm.name(), problem.ranks());
    let digest = if whole {
        let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
        let proof = verify_shares(algorithm.shares(problem)?).map_err(|violations| ArgumentError::InvalidSchedule {
            algorithm: name.clone(),
            collective: collective.clone(),
            topology: topology.clone(),
            violations: violations.into(),
        })?;
        log::debug!("verified {name} for {collective} on {topology}: {} rounds", proof.rounds);
        digest(algorithm, problem, problem.all())?
    } else {
        let root = problem.collective().root().map_or(ranks / 3, Rank::index);
        let some = [0, ranks / 2, ranks - 1, root].map(Rank::new);
        digest(algorithm, problem, some)?
    };
    Ok(format!("{name} [{digest:016x}]").into())
}

/// Hashes an algorithm's promises and the rounds of some ranks. The hash distinguishes schedules;
/// it is not cryptographic.
fn digest(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    ranks: impl IntoIterator<Item = Rank>,
) -> Result<u64, BuildError> {
    let mut hash = Mix::default();
    let promised =
        format!("{} {:?} {:?}", algorithm.ports(problem), algorithm.claims(problem), algorithm.phases(problem));
    hash.write(promised.as_bytes());
    for rank in ranks {
        read(algorithm, problem, rank, |round| add(&mut hash, &round))?;
        hash.write_u64(u64::MAX);
    }
    Ok(hash.finish())
}

/// Calls `visit` with the rounds of a rank.
///
/// # Errors
///
/// As [`Algorithm::share`]; [`BuildError::Rounds`] if there are more than
/// [`Problem::max_rounds`].
pub(super) fn read(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    rank: Rank,
    mut visit: impl FnMut(RankRound),
) -> Result<(), BuildError> {
    let limit = problem.max_rounds();
    for (number, round) in algorithm.share(problem, rank)?.enumerate() {
        if number == limit {
            return Err(BuildError::Rounds { algorithm: algorithm.name(), rank, limit });
        }
        visit(round);
    }
    Ok(())
}

/// Adds a round to a hash. Every list follows its length, so different rounds give different input.
fn add(hash: &mut Mix, round: &RankRound) {
    let RankRound { phase, sends, receives, local } = round;
    hash.write_u64(*phase as u64);
    for ends in [sends, receives] {
        hash.write_u64(ends.len() as u64);
        for End { peer, blocks, combine, route } in ends {
            let nodes = if let Route::Via(nodes) = route { &nodes[..] } else { &[] };
            let numbers = [peer.index() as u64, code(*combine), nodes.len() as u64, blocks.len() as u64];
            numbers.into_iter().chain(nodes.iter().map(|node| node.index() as u64)).for_each(|n| hash.write_u64(n));
            blocks.iter().for_each(|block| block.hash(hash));
        }
    }
    hash.write_u64(local.len() as u64);
    for LocalStep { from, into, combine } in local {
        (from, into).hash(hash);
        hash.write_u64(code(*combine));
    }
}

fn code(combine: Combine) -> u64 {
    match combine {
        Combine::Replace => 0,
        Combine::Left => 1,
        Combine::Right => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::alltoall::{Direct, DirectRotated};
    use crate::algorithm::find;
    use crate::block::Block;
    use crate::collective::Collective;
    use crate::topology::parse;
    use crate::vocabulary::Schedule;

    fn problem(topology: &str) -> Problem {
        Problem::new(parse(topology).unwrap(), Collective::Alltoall).unwrap()
    }

    #[test]
    fn certificates_of_different_schedules_differ() {
        let ring = problem("ring:8");
        let names = ["ring", "direct", "direct-xor", "bruck", "bruck:radix=3"];
        let of = |name: &str, problem: &Problem| {
            let algorithm = find(&Collective::Alltoall, name).unwrap();
            let words = certify(&*algorithm, problem, false).unwrap();
            words.rsplit_once(" [").unwrap().1.to_owned()
        };
        let digests = names.map(|name| of(name, &ring));
        assert_eq!(digests, names.map(|name| of(name, &ring)));
        for (i, digest) in digests.iter().enumerate() {
            assert!(!digests[..i].contains(digest), "{digests:?}");
        }
        assert_ne!(of("direct", &problem("ring:7")), of("direct", &ring));
    }

    #[test]
    fn digest_covers_every_part_of_a_round() {
        let end = |blocks: &[i32]| End::new(Rank::new(1), blocks.iter().map(|&to| Block::raw(0, to)).collect());
        let step = |combine| LocalStep { from: Block::raw(0, 1), into: Block::raw(0, 2), combine };
        let sends = |sends: Vec<End>| RankRound { sends, ..RankRound::default() };
        let rounds = [
            RankRound::default(),
            RankRound { phase: 1, ..RankRound::default() },
            sends(vec![end(&[1])]),
            sends(vec![end(&[2])]),
            sends(vec![end(&[1, 2])]),
            sends(vec![end(&[1]), end(&[2])]),
            sends(vec![end(&[1]).combined(Combine::Left)]),
            sends(vec![end(&[1]).via(vec![])]),
            sends(vec![end(&[1]).via([0, 1].map(crate::ids::Node::new).to_vec())]),
            RankRound { receives: vec![end(&[1])], ..RankRound::default() },
            RankRound { local: vec![step(Combine::Left)], ..RankRound::default() },
            RankRound { local: vec![step(Combine::Right)], ..RankRound::default() },
        ];
        let hashes = rounds.map(|round| {
            let mut hash = Mix::default();
            add(&mut hash, &round);
            hash.finish()
        });
        // A route of no nodes hashes like the default route: neither has nodes.
        let same = |i: usize| (0..i).filter(|&j| hashes[i] == hashes[j]).collect::<Vec<_>>();
        assert_eq!((0..hashes.len()).flat_map(same).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn digest_of_some_ranks_tells_large_schedules_apart() {
        let large = problem("complete:1500");
        assert!(memory_to_verify(&Direct, &large).unwrap() > AFFORDABLE);
        let [direct, rotated] = [&Direct as &dyn Algorithm, &DirectRotated].map(|one| certify(one, &large, false));
        assert_ne!(direct.unwrap().split_once(' ').unwrap().1, rotated.unwrap().split_once(' ').unwrap().1);
        // This one is small enough to be verified as a whole.
        let fits = problem("complete:500");
        assert!(memory_to_verify(&DirectRotated, &fits).unwrap() <= AFFORDABLE);
    }

    #[test]
    fn invalid_schedule_has_no_certificate() {
        let ring = problem("ring:4");
        let mut schedule: Schedule = Direct.shares(&ring).unwrap().collect().unwrap();
        schedule.rounds[0].transfers.pop();
        let refused = certify(&crate::algorithm::Fixed::new(schedule), &ring, true);
        let Err(ArgumentError::InvalidSchedule { violations, .. }) = refused else { panic!("{refused:?}") };
        let words = violations.to_string();
        assert!(violations.count() == 1 && words.contains("not delivered"), "{words}");
    }
}

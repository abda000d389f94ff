//! Algorithms and schedules of a program's own, for the suites on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use necklace::algorithm::{About, Algorithm, Claims, find, registry};
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::error::ArgumentError;
use necklace::schedule::{Block, End, Ports, Problem, RankRound, Schedule, Share, from_json, share_json};
use necklace::topology::Topology;
use necklace::transport::Cause;
use necklace::{Communicator, Error, Rank};

use super::definitions::{block, poisoned, same};
use super::failures::{POISON, one_failure, run};
use crate::jobs::on;

/// How an algorithm differs from the one that it replaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Twist {
    /// The same.
    None,
    /// Nothing in its last round.
    LosesRound,
    /// Its first message without the first block, at the sender alone.
    SendsLess,
    /// Its first message with a block that is not there.
    SendsForeign,
    /// Its first message twice.
    SendsTwice,
    /// Empty rounds after its last one, without end.
    NeverEnds,
    /// Nothing on other networks than of an even number of ranks.
    IsEven,
}

/// An algorithm of the registry under another name.
pub(super) struct Mine {
    inner: Arc<dyn Algorithm>,
    about: About,
    twist: Twist,
    pub(super) made: AtomicUsize,
}

impl Mine {
    pub(super) fn new(inner: &Arc<dyn Algorithm>, twist: Twist) -> Arc<Self> {
        let mut about = inner.about().clone();
        about.name = "mine";
        Arc::new(Self { inner: Arc::clone(inner), about, twist, made: AtomicUsize::new(0) })
    }

    pub(super) fn like(collective: &Collective, name: &str, twist: Twist) -> Arc<Self> {
        Self::new(&find(collective, name).unwrap(), twist)
    }
}

impl Algorithm for Mine {
    fn about(&self) -> &About {
        &self.about
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let odd = self.twist == Twist::IsEven && problem.ranks() % 2 == 1;
        if odd { Some("an even number of ranks".to_owned()) } else { self.inner.lacks(problem) }
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.inner.claims(problem)
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        self.inner.phases(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.made.fetch_add(1, Ordering::Relaxed);
        let mut rounds: Vec<RankRound> = self.inner.rounds(problem, rank).collect();
        let first = rounds.iter_mut().flat_map(|round| &mut round.sends).next();
        match (self.twist, first) {
            (Twist::SendsLess, Some(end)) => drop(end.blocks.remove(0)),
            (Twist::SendsForeign, Some(end)) => end.blocks.push(Block::temporary(7)),
            (Twist::SendsTwice, Some(_)) => {
                let ends = &mut rounds.iter_mut().find(|round| !round.sends.is_empty()).unwrap().sends;
                ends.push(ends[0].clone());
            }
            (Twist::LosesRound, _) => {
                let phase = rounds.pop().map_or(0, |last| last.phase);
                rounds.push(RankRound::default().in_phase(phase));
            }
            (Twist::NeverEnds, _) => {
                let phase = rounds.last().map_or(0, |last| last.phase);
                let idle = move || RankRound::default().in_phase(phase);
                return Box::new(rounds.into_iter().chain(std::iter::repeat_with(idle)));
            }
            _ => {}
        }
        Box::new(rounds.into_iter())
    }
}

/// In round r, ranks whose numbers and the shift add up to r, modulo the number of ranks, exchange.
pub(super) struct Pairs {
    pub(super) shift: usize,
}

impl Algorithm for Pairs {
    fn about(&self) -> &About {
        const ABOUT: About = About::new("alltoall", "pairs", Ports::One)
            .summary("in each round with the rank that adds up to the round")
            .source("these tests")
            .claims("N rounds");
        &ABOUT
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims::default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (ranks, shift) = (problem.ranks(), self.shift);
        Box::new((0..ranks).map(move |round| {
            let peer = Rank::new((2 * ranks + round - shift % ranks - rank.index()) % ranks);
            let with = |block| if peer == rank { vec![] } else { vec![End::new(peer, vec![block])] };
            let (sends, receives) = (with(Block::new(rank, peer)), with(Block::new(peer, rank)));
            RankRound::new(sends, receives)
        }))
    }
}

pub(super) fn problem(network: &Arc<dyn Topology>, collective: &Collective) -> Problem {
    Problem::new(Arc::clone(network), collective.clone()).unwrap().ordered()
}

/// The schedule that an algorithm makes, as it comes from a file.
pub(super) fn schedule(network: &Arc<dyn Topology>, collective: &Collective, name: &str) -> Schedule {
    let shares = find(collective, name).unwrap().shares(&problem(network, collective)).unwrap();
    from_json(&String::from_utf8(share_json(shares, vec![]).unwrap()).unwrap()).unwrap()
}

/// The algorithms that fit a network and have a schedule, each with a collective from or to a rank
/// in the middle.
pub(super) fn fitting(network: &Arc<dyn Topology>) -> Vec<(Collective, Arc<dyn Algorithm>)> {
    let all = registry().iter().filter(|row| row.priced_as().is_none()).map(|row| {
        let root = Rank::new(network.nodes() / 2);
        (Collective::named(row.about().collective, root).unwrap(), Arc::clone(row))
    });
    all.filter(|(collective, row)| row.fits(&problem(network, collective)).is_ok()).collect()
}

pub(super) const NETWORKS: [&str; 7] =
    ["complete:1", "line:2", "ring:5", "torus:2x4", "mesh:3x3", "hypercube:3", "torus:4x4"];

/// Exchanges i + 2 j elements from rank i to rank j.
pub(super) fn varying(comm: &mut Communicator) {
    let (me, size) = (comm.rank(), comm.size());
    let places = |counts: &[usize]| {
        let place = |i: usize| counts[..i].iter().sum::<usize>();
        (0..counts.len()).map(place).collect::<Vec<_>>()
    };
    let out: Vec<usize> = (0..size).map(|to| me + 2 * to).collect();
    let back: Vec<usize> = (0..size).map(|from| from + 2 * me).collect();
    let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, out[to])).collect();
    let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me, back[from])).collect();
    let mut receive = poisoned(wanted.len());
    comm.alltoallv(&send, (&out, &places(&out)), &mut receive, (&back, &places(&back))).unwrap();
    same(comm, "alltoallv", &receive, &wanted);
    let mut plan = comm.alltoallv_init::<u64>((&out, &places(&out)), (&back, &places(&back))).unwrap();
    receive.fill(POISON);
    plan.execute(comm, &send, &mut receive).unwrap();
    same(comm, "planned alltoallv", &receive, &wanted);
}

/// Asserts that a call is refused with these words, and that nothing was received.
#[track_caller]
pub(super) fn is_wrong(outcome: Result<(), Error>, receive: &[u64], words: &[&str]) {
    let error = outcome.expect_err("it should be wrong");
    let Some(ArgumentError::InvalidSchedule { violations, .. }) = error.argument() else { panic!("{error}") };
    let said = error.to_string();
    assert!(violations.count() > 0 && words.iter().all(|word| said.contains(word)), "{words:?} are not in {said}");
    assert!(receive.iter().all(|&element| element == POISON), "{receive:x?}");
}

/// Asserts that a rank with another algorithm or schedule of the same name is found.
pub(super) fn differs(ranks: usize, dissenter: usize, most: &How, odd: &How) {
    let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
        let how = if comm.rank() == dissenter { odd } else { most };
        let (send, mut receive) = (vec![1_u64; ranks], vec![POISON; ranks]);
        let outcome = comm.using(how).alltoall(&send, &mut receive);
        outcome.and_then(|()| comm.barrier())
    });
    let failure = one_failure(&outcomes);
    let Cause::Disagree { rank_a, call_a, rank_b, call_b, .. } = &failure.cause else { panic!("{failure}") };
    assert!([rank_a, rank_b].iter().any(|rank| rank.index() == dissenter), "{failure}");
    // Every rank needs messages of all others, so all find the difference, which is the digest.
    let digest = |words: &str| {
        let (_, digest) = words.split_once(&format!("by {} [", odd.name())).unwrap_or_else(|| panic!("{failure}"));
        digest.split_once(']').unwrap().0.to_owned()
    };
    assert_ne!(digest(call_a), digest(call_b), "{failure}");
}

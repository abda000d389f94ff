//! Algorithms and schedules that users bring.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use necklace::algorithm::{About, Algorithm, Claims, alltoall::Direct, find, registry};
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::error::{ArgumentError, BuildError};
use necklace::permutation::BitMap;
use necklace::schedule::{
    Block, End, Placement, Ports, Problem, RankRound, Schedule, Share, from_json, share_json, to_json,
};
use necklace::topology::Topology;
use necklace::transport::Cause;
use necklace::{Communicator, Error, Node, Options, Rank};

use super::definitions::{Dice, alltoall, block, everything, performs, poisoned, same};
use super::failures::{POISON, one_failure, run};
use crate::jobs::{Job, on, topology, watched};

/// What an algorithm does that stands in for another one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Twist {
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
    /// Nothing on other networks than of an even number of ranks.
    IsEven,
}

/// An algorithm of the registry under another name.
struct Mine {
    inner: Arc<dyn Algorithm>,
    about: About,
    twist: Twist,
    made: AtomicUsize,
}

impl Mine {
    fn new(inner: &Arc<dyn Algorithm>, twist: Twist) -> Arc<Self> {
        let mut about = inner.about().clone();
        about.name = "mine";
        Arc::new(Self { inner: Arc::clone(inner), about, twist, made: AtomicUsize::new(0) })
    }

    fn like(collective: &Collective, name: &str, twist: Twist) -> Arc<Self> {
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
            _ => {}
        }
        Box::new(rounds.into_iter())
    }
}

/// Pairs exchange: in round r ranks whose numbers and the shift add up to r, modulo their number.
struct Pairs {
    shift: usize,
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

fn problem(network: &Arc<dyn Topology>, collective: &Collective) -> Problem {
    Problem::new(Arc::clone(network), collective.clone()).unwrap().ordered()
}

/// The schedule that an algorithm makes, as it comes from a file.
fn schedule(network: &Arc<dyn Topology>, collective: &Collective, name: &str) -> Schedule {
    let shares = find(collective, name).unwrap().shares(&problem(network, collective)).unwrap();
    from_json(&String::from_utf8(share_json(shares, vec![]).unwrap()).unwrap()).unwrap()
}

/// The algorithms that fit a network and have a schedule, each with a collective from or to a rank
/// in the middle.
fn fitting(network: &Arc<dyn Topology>) -> Vec<(Collective, Arc<dyn Algorithm>)> {
    let all = registry().iter().filter(|row| row.priced_as().is_none()).map(|row| {
        let root = Rank::new(network.nodes() / 2);
        (Collective::named(row.about().collective, root).unwrap(), Arc::clone(row))
    });
    all.filter(|(collective, row)| row.fits(&problem(network, collective)).is_ok()).collect()
}

fn explained(comm: &Communicator) -> String {
    comm.explain(&Collective::Alltoall, 8).unwrap().algorithm.name()
}

const NETWORKS: [&str; 7] = ["complete:1", "line:2", "ring:5", "torus:2x4", "mesh:3x3", "hypercube:3", "torus:4x4"];

pub(super) fn an_algorithm_of_ones_own_does_every_collective() {
    for text in NETWORKS {
        watched(text, move || {
            let network = topology(text);
            let all: Vec<_> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| (collective, How::from(Mine::new(&row, Twist::None))))
                .collect();
            let run = Job::on(network).run(|mut comm| {
                for (collective, how) in &all {
                    for elements in [0, 3] {
                        performs(&mut comm.using(how), collective, elements);
                    }
                    comm.choose(collective.name(), how).unwrap();
                    performs(&mut comm, collective, 2);
                    let choice = comm.explain(collective, 16).unwrap();
                    assert!(choice.named && choice.algorithm.name().starts_with("mine"), "{choice}");
                    assert_eq!(choice.candidates.last().unwrap().algorithm.name(), choice.algorithm.name());
                    if comm.rank() == 0 {
                        comm.prove(collective, 16).unwrap();
                    }
                }
                everything::<u64>(&mut comm, 2);
            });
            run.unwrap();
        });
    }
}

pub(super) fn pairs_of_ones_own_exchange_blocks_of_any_lengths() {
    for text in ["complete:1", "ring:2", "complete:7", "torus:3x4"] {
        watched(text, move || {
            let run = on(text).run(|mut comm| {
                let pairs: Arc<dyn Algorithm> = Arc::new(Pairs { shift: 3 });
                let by_schedule = How::from(schedule(comm.topology(), &Collective::Alltoall, "bruck"));
                alltoall::<[f32; 3]>(&mut comm.using(Arc::clone(&pairs)), 3);
                for how in [How::from("bruck"), pairs.into(), by_schedule] {
                    varying(&mut comm.using(&how));
                    varying(&mut comm);
                    comm.choose("alltoallv", &how).unwrap();
                    varying(&mut comm);
                    comm.choose("alltoallv", "auto").unwrap();
                }
            });
            run.unwrap();
        });
    }
}

/// From i to j go i + 2 j elements.
fn varying(comm: &mut Communicator) {
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

pub(super) fn schedules_read_from_json_do_every_collective() {
    for text in NETWORKS {
        watched(text, move || {
            let network = topology(text);
            let all: Vec<_> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| (schedule(&network, &collective, &row.name()).into(), collective))
                .collect::<Vec<(How, _)>>();
            let run = Job::on(network).run(|mut comm| {
                for (how, collective) in &all {
                    performs(&mut comm.using(how), collective, 3);
                    comm.choose(collective.name(), how).unwrap();
                    performs(&mut comm, collective, 2);
                    assert!(comm.explain(collective, 16).unwrap().to_string().contains("schedule \""));
                    if comm.rank() == 0 {
                        comm.prove(collective, 16).unwrap();
                    }
                    comm.choose(collective.name(), "auto").unwrap();
                }
            });
            run.unwrap();
        });
    }
}

pub(super) fn what_is_used_for_one_call_is_forgotten_after_it() {
    watched("one call", || {
        let run = on("hypercube:4").choose("alltoall", "ring").run(|mut comm| {
            let own = How::from(Arc::new(Pairs { shift: 0 }));
            assert_eq!(explained(&comm.using(&own)), "pairs");
            assert_eq!(explained(&comm), "ring");
            {
                let mut outer = comm.using("bruck:radix=4");
                assert_eq!(explained(&outer), "bruck:radix=4");
                assert_eq!(explained(&outer.using(&own)), "pairs");
                assert_eq!(explained(&outer), "bruck:radix=4");
                alltoall::<u64>(&mut outer, 2);
                // What is chosen meanwhile counts afterwards.
                outer.choose("alltoall", "direct").unwrap();
                assert_eq!(explained(&outer), "bruck:radix=4");
                // Calls that a communicator makes by itself are its own affair.
                let part = outer.split(0, 0).unwrap();
                assert_eq!(explained(&part), "direct");
            }
            assert_eq!(explained(&comm), "direct");
            let map = BitMap::consecutive_to_cyclic(8, 4).unwrap();
            let (send, mut receive) = ([1_u8; 16], [0; 16]);
            for way in ["exchange", "straight"] {
                let report = comm.using(way).permute(&map, &send, &mut receive).unwrap();
                assert_eq!(report.method.to_string().contains("straight"), way == "straight", "{report}");
            }
            alltoall::<u64>(&mut comm, 2);
        });
        run.unwrap();
    });
}

pub(super) fn a_call_that_fails_leaves_the_choice_before_it() {
    watched("failing", || {
        let run = on("ring:6").choose("alltoall", "ring").run(|mut comm| {
            let (send, mut receive) = ([1_u64; 6], [POISON; 6]);
            let unfit = comm.using("direct-xor").alltoall(&send, &mut receive);
            assert!(
                matches!(
                    unfit.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unfit { .. }))
                ),
                "{unfit:?}"
            );
            let unknown = comm.using("brick").alltoall(&send, &mut receive);
            assert!(
                matches!(
                    unknown.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unknown { .. }))
                ),
                "{unknown:?}"
            );
            let other = comm.using("torus-exchange").barrier();
            assert!(
                matches!(
                    other.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unknown { .. }))
                ),
                "{other:?}"
            );
            let length = comm.using("bruck").alltoall(&send, &mut receive[1..]);
            assert!(
                matches!(length.as_ref().err().and_then(Error::argument), Some(ArgumentError::Length { .. })),
                "{length:?}"
            );
            let pairs = How::from(Arc::new(Pairs { shift: 0 }));
            let way = comm.using(&pairs).permute(&BitMap::bit_reversal(4).unwrap(), &[0_u8; 4], &mut [0; 4]);
            assert!(way.is_err());
            let way = comm.choose("permute", &pairs);
            assert!(
                matches!(
                    way.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unfit { .. }))
                ),
                "{way:?}"
            );
            let kind = comm.using(&pairs).allgather(&[1_u64], &mut receive);
            assert!(kind.unwrap_err().to_string().contains("it is for alltoall"));
            assert!(receive.iter().all(|&element| element == POISON), "{receive:x?}");
            assert_eq!(explained(&comm), "ring");
            everything::<u64>(&mut comm, 2);
            // Also where what is used goes on a shelf: nothing of it stays.
            let mut using = comm.using("brick");
            using.barrier().unwrap_err();
            drop(using);
            everything::<u64>(&mut comm, 2);
        });
        run.unwrap();
    });
}

pub(super) fn plans_are_kept_apart_by_what_they_use() {
    watched("plans", || {
        let run = on("complete:4").run(|mut comm| {
            // Of this rank alone.
            let mine = Mine::like(&Collective::Alltoall, "ring", Twist::None);
            let chosen = Mine::like(&Collective::Alltoall, "direct", Twist::None);
            comm.choose("alltoall", Arc::clone(&chosen)).unwrap();
            let made = || [&mine, &chosen].map(|one| one.made.load(Ordering::Relaxed));
            alltoall::<u64>(&mut comm, 2);
            alltoall::<u64>(&mut comm.using(Arc::clone(&mine)), 2);
            let before = made();
            assert!(before.iter().all(|&made| made > 0), "{before:?}");
            for _ in 0..3 {
                alltoall::<u64>(&mut comm, 2);
                alltoall::<u64>(&mut comm.using(Arc::clone(&mine)), 2);
                alltoall::<u64>(&mut comm.using("bruck"), 2);
                comm.choose("allgather", "ring").unwrap();
            }
            assert_eq!(made(), before);
            // For another length there is another plan, but what was proved stays proved.
            let how = How::from(Arc::clone(&mine));
            alltoall::<u64>(&mut comm.using(&how), 3);
            let once = made()[0];
            alltoall::<u64>(&mut comm.using(&how), 4);
            let (first, second) = (once - before[0], made()[0] - once);
            assert!(second < first, "{first} shares were made, then {second}");
            comm.choose("alltoall", "auto").unwrap();
            alltoall::<u64>(&mut comm, 2);
            assert_eq!(made()[1], before[1]);
        });
        run.unwrap();
    });
}

pub(super) fn persistent_plans_go_by_what_was_chosen_at_their_making() {
    watched("persistent", || {
        let run = on("ring:6").run(|mut comm| {
            let (me, size) = (comm.rank(), comm.size());
            let how = How::from(schedule(comm.topology(), &Collective::Alltoall, "ring"));
            let hows = [Arc::new(Pairs { shift: 1 }).into(), how, "bruck:radix=3".into()];
            let mut plans = hows.map(|how| comm.using(how).alltoall_init::<u64>(2).unwrap());
            let words: Vec<&str> = plans.iter().map(|plan| plan.description()).collect();
            assert!(words[0].contains("by pairs [") && words[0].contains("] on ring:6"), "{words:?}");
            assert!(
                words[1].contains("by schedule \"ring\" [") && words[2].contains("by bruck:radix=3 on"),
                "{words:?}"
            );
            comm.choose("alltoall", "direct").unwrap();
            let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, 2)).collect();
            let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me, 2)).collect();
            for plan in &mut plans {
                let mut receive = poisoned(wanted.len());
                plan.execute(&mut comm, &send, &mut receive).unwrap();
                same(&comm, "planned alltoall", &receive, &wanted);
            }
        });
        run.unwrap();
    });
}

/// That a call is refused as wrong, in words that say so, and nothing has come.
#[track_caller]
fn is_wrong(outcome: Result<(), Error>, receive: &[u64], words: &[&str]) {
    let error = outcome.expect_err("it should be wrong");
    let Some(ArgumentError::InvalidSchedule { violations, .. }) = error.argument() else { panic!("{error}") };
    let said = error.to_string();
    assert!(violations.count() > 0 && words.iter().all(|word| said.contains(word)), "{words:?} are not in {said}");
    assert!(receive.iter().all(|&element| element == POISON), "{receive:x?}");
}

pub(super) fn algorithms_that_are_wrong_are_refused_before_anything_moves() {
    watched("wrong", || {
        let run = on("ring:5").run(|mut comm| {
            let (send, mut receive) = ([1_u64; 5], [POISON; 5]);
            for (twist, words) in [
                (Twist::LosesRound, "not delivered"),
                (Twist::SendsLess, "awaited"),
                (Twist::SendsForeign, "block [-9, 0]"),
                (Twist::SendsTwice, "nothing awaited"),
            ] {
                let how = How::from(Mine::like(&Collective::Alltoall, "ring", twist));
                let outcome = comm.using(&how).alltoall(&send, &mut receive);
                is_wrong(outcome, &receive, &["mine is not a valid schedule of alltoall on ring:5", words]);
                // It does not become right by being asked again, planned, chosen, or for other
                // lengths.
                is_wrong(comm.using(&how).alltoall(&send, &mut receive), &receive, &[words]);
                is_wrong(comm.using(&how).alltoall_init::<u64>(3).map(drop), &receive, &[words]);
                let (one, places) = ([1; 5], [0, 1, 2, 3, 4]);
                let outcome = comm.using(&how).alltoallv(&send, (&one, &places), &mut receive, (&one, &places));
                is_wrong(outcome, &receive, &[words]);
                comm.choose("alltoall", &how).unwrap();
                is_wrong(comm.alltoall(&send, &mut receive), &receive, &[words]);
                assert!(comm.prove(&Collective::Alltoall, 8).unwrap_err().to_string().contains(words));
                comm.choose("alltoall", "auto").unwrap();
            }
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn an_algorithm_that_refuses_a_network_is_not_chosen() {
    watched("refusal", || {
        let run = on("ring:5").choose("alltoall", "ring").run(|mut comm| {
            let even = How::from(Mine::like(&Collective::Alltoall, "direct", Twist::IsEven));
            let mut outcomes = vec![comm.choose("alltoall", &even), comm.choose("alltoallv", &even)];
            let mut using = comm.using(&even);
            outcomes.push(using.alltoall(&[1_u64; 5], &mut [0; 5]));
            outcomes.push(using.explain(&Collective::Alltoall, 8).map(drop));
            outcomes.push(using.prove(&Collective::Alltoall, 8).map(drop));
            drop(using);
            for outcome in outcomes {
                let error = outcome.unwrap_err();
                let Some(ArgumentError::Build(BuildError::Unfit { algorithm, needs, .. })) = error.argument() else {
                    panic!("{error}")
                };
                assert_eq!((algorithm.as_str(), needs.as_str()), ("mine", "an even number of ranks"));
            }
            // An algorithm of the registry can be brought as a value, too; what the backend does
            // itself is but a name.
            comm.choose("alltoall", Arc::new(Direct)).unwrap();
            let native = find(&Collective::Alltoall, "native").unwrap();
            assert_eq!(comm.choose("alltoall", native).is_ok(), crate::jobs::is_native());
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn schedules_of_something_else_are_refused_with_both_named() {
    watched("something else", || {
        let ring = topology("ring:6");
        let rotated = Placement::new((0..6).map(|i| Node::new((i + 1) % 6)).collect(), 6).unwrap();
        let placed = Problem::placed(Arc::clone(&ring), rotated, Collective::Alltoall).unwrap();
        let placed = find(&Collective::Alltoall, "ring").unwrap().shares(&placed).unwrap().collect().unwrap();
        let at = |root| Collective::Broadcast { root: Rank::new(root) };
        let cases = [
            (schedule(&ring, &Collective::Allgather, "ring"), "it is for allgather"),
            (schedule(&topology("ring:5"), &Collective::Alltoall, "ring"), "alltoall among 5 ranks on ring:5"),
            (schedule(&topology("line:6"), &Collective::Alltoall, "direct"), "alltoall among 6 ranks on line:6"),
            (placed, "alltoall among 6 ranks placed on it on ring:6, which are placed otherwise here"),
        ]
        .map(|(schedule, words)| (How::from(schedule), words));
        let broadcast = How::from(schedule(&ring, &at(2), "binomial"));
        let run = Job::on(ring).run(|mut comm| {
            for (how, words) in &cases {
                let outcomes = [
                    comm.choose("alltoall", how),
                    comm.choose("alltoallv", how),
                    comm.using(how).alltoall(&[1_u64; 6], &mut [0; 6]),
                ];
                for outcome in outcomes {
                    let error = outcome.unwrap_err();
                    assert!(
                        matches!(error.argument(), Some(ArgumentError::Build(BuildError::Unfit { .. }))),
                        "{error}"
                    );
                    let said = error.to_string();
                    assert!(said.contains("does not fit alltoall on ring:6") && said.contains(words), "{said}");
                }
            }
            comm.choose("broadcast", &broadcast).unwrap();
            performs(&mut comm, &at(2), 3);
            let said = comm.broadcast(&mut [0_u64], 1).unwrap_err().to_string();
            assert!(said.contains("broadcast from root 1") && said.contains("broadcast from root 2"), "{said}");
            assert!(comm.choose("custom", &broadcast).is_err());
            comm.choose("broadcast", "auto").unwrap();
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
    watched("the same by another name", || {
        // A graph's text says nothing; its links are compared. Where ranks sit is theirs.
        let options = |seed| {
            let order: Vec<Node> = Dice(seed).order(6).into_iter().map(Node::new).collect();
            Placement::new(order, 6).unwrap()
        };
        let network = topology("ring:6");
        let placed = Problem::placed(network, options(1), Collective::Alltoall).unwrap();
        let made = find(&Collective::Alltoall, "ring").unwrap().shares(&placed).unwrap().collect().unwrap();
        let text = to_json(&made).replace("\"ring:6\"", "\"graph\"");
        let edges = "\"edges\":[[0,1],[1,2],[2,3],[3,4],[4,5],[0,5]],\"rounds\"";
        let how = How::from(from_json(&text.replace("\"rounds\"", edges)).unwrap());
        let job = on("ring:6").options(Options::default().placement(options(1)));
        job.run(|mut comm| {
            alltoall::<u64>(&mut comm.using(&how), 3);
            comm.using(&how).prove(&Collective::Alltoall, 8).unwrap();
        })
        .unwrap();
    });
}

pub(super) fn schedules_that_are_wrong_are_refused_before_anything_moves() {
    watched("wrong schedules", || {
        let ring = topology("ring:4");
        let right = schedule(&ring, &Collective::Alltoall, "ring");
        let spoilt = |spoil: fn(&mut Schedule)| {
            let mut schedule = right.clone();
            spoil(&mut schedule);
            How::from(schedule)
        };
        let wrong = [
            (spoilt(|all| drop(all.rounds.pop())), "not delivered"),
            (spoilt(|all| drop(all.rounds[0].transfers.remove(1))), "not held"),
            (spoilt(|all| all.rounds.swap(0, 2)), "not held"),
            (spoilt(|all| all.rounds[0].transfers[0].blocks.push(Block::raw(0, 99))), "99"),
            (spoilt(|all| all.rounds[0].transfers[0].destination = all.rounds[0].transfers[0].source), "itself"),
        ];
        let stray = [
            spoilt(|all| all.rounds[1].transfers[0].destination = Rank::new(4)),
            spoilt(|all| {
                let mut far = all.rounds[0].transfers[0].clone();
                (far.source, far.destination) = (Rank::new(17), Rank::new(18));
                all.rounds[0].transfers.push(far);
            }),
        ];
        // Right where the operation commutes, and only there.
        let mut unordered = schedule(&ring, &Collective::Scan, "recursive-doubling");
        for transfer in unordered.rounds.iter_mut().flat_map(|round| &mut round.transfers) {
            transfer.combine = necklace::schedule::Combine::Right;
        }
        let unordered = How::from(unordered);
        let run = Job::on(ring).run(|mut comm| {
            let (send, mut receive) = ([1_u64; 4], [POISON; 4]);
            for (how, words) in &wrong {
                is_wrong(comm.using(how).alltoall(&send, &mut receive), &receive, &["on ring:4", words]);
            }
            for how in &stray {
                let said = comm.using(how).alltoall(&send, &mut receive).unwrap_err().to_string();
                assert!(said.contains("it has ranks 0 to 3"), "{said}");
                assert!(comm.choose("alltoall", how).is_err());
            }
            let last = necklace::op::by("last", |_, right| right);
            is_wrong(comm.using(&unordered).scan(&send, &mut receive, last), &receive, &["scan"]);
            comm.using(&unordered).scan(&send, &mut receive, necklace::op::Sum).unwrap();
            assert_eq!(receive, [comm.rank() as u64 + 1; 4]);
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

/// What ranks learn where one of them uses something else of the same name.
fn differs(ranks: usize, dissenter: usize, most: &How, odd: &How) {
    let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
        let how = if comm.rank() == dissenter { odd } else { most };
        let (send, mut receive) = (vec![1_u64; ranks], vec![POISON; ranks]);
        let outcome = comm.using(how).alltoall(&send, &mut receive);
        outcome.and_then(|()| comm.barrier())
    });
    let failure = one_failure(&outcomes);
    let Cause::Disagree { rank_a, call_a, rank_b, call_b } = &failure.cause else { panic!("{failure}") };
    assert!([rank_a, rank_b].iter().any(|rank| rank.index() == dissenter), "{failure}");
    // No rank is through before it has heard from all others: what differs is the digest.
    let digest = |words: &str| {
        let (_, digest) = words.split_once(&format!("by {} [", odd.name())).unwrap_or_else(|| panic!("{failure}"));
        digest.split_once(']').unwrap().0.to_owned()
    };
    assert_ne!(digest(call_a), digest(call_b), "{failure}");
}

pub(super) fn algorithms_of_one_name_that_differ_between_ranks_are_found() {
    for (ranks, dissenter) in [(2, 0), (2, 1), (3, 1), (5, 4)] {
        watched(&format!("rank {dissenter} of {ranks}"), move || {
            differs(ranks, dissenter, &Arc::new(Pairs { shift: 0 }).into(), &Arc::new(Pairs { shift: 1 }).into());
        });
    }
}

pub(super) fn schedules_of_one_name_that_differ_between_ranks_are_found() {
    for (ranks, dissenter) in [(2, 1), (5, 2)] {
        watched(&format!("rank {dissenter} of {ranks}"), move || {
            let network = topology(&format!("complete:{ranks}"));
            let most = schedule(&network, &Collective::Alltoall, "direct-rotated");
            // The same messages, and a round in which there are none.
            let mut odd = most.clone();
            odd.rounds.insert(0, odd.rounds[0].clone());
            odd.rounds[0].transfers.clear();
            differs(ranks, dissenter, &most.into(), &odd.into());
        });
    }
}

pub(super) fn parts_inherit_what_fits_them() {
    watched("parts", || {
        let run = on("torus:4x6").run(|mut comm| {
            let (row, column) = (comm.rank() as u32 / 6, comm.rank() as u32 % 6);
            let whole = How::from(schedule(comm.topology(), &Collective::Allgather, "ring"));
            comm.choose("alltoall", "torus-exchange").unwrap();
            comm.choose("alltoallv", Mine::like(&Collective::Alltoall, "direct", Twist::IsEven)).unwrap();
            comm.choose("allgather", &whole).unwrap();
            comm.choose("broadcast", Mine::like(&at_zero(), "binomial", Twist::IsEven)).unwrap();
            let chosen = |comm: &Communicator| {
                [Collective::Alltoall, Collective::Allgather, at_zero()].map(|collective| {
                    let choice = comm.explain(&collective, 8).unwrap();
                    choice.named.then(|| choice.algorithm.name())
                })
            };
            let (exchange, mine) = (Some("torus-exchange".to_owned()), Some("mine".to_owned()));
            // All ranks on all nodes: the same problem.
            let mut all = comm.split(0, 0).unwrap();
            assert_eq!(chosen(&all), [exchange.clone(), Some("schedule \"ring\"".to_owned()), mine.clone()]);
            // A ring of 6, and a ring of 4, to parts of which nothing is known.
            let mut along = comm.split(row, 0).unwrap();
            assert_eq!(chosen(&along), [exchange.clone(), None, mine.clone()]);
            let mut third = along.split(column % 2, 0).unwrap();
            assert_eq!((third.topology().text().as_str(), chosen(&third)), ("complete:3", [None, None, None]));
            // Those of another order sit elsewhere.
            let mut back = comm.split(0, -(comm.rank() as i64)).unwrap();
            assert_eq!(chosen(&back)[1], None);
            for part in [&mut all, &mut along, &mut third, &mut back, &mut comm] {
                everything::<u64>(part, 2);
                varying(part);
            }
        });
        run.unwrap();
    });
}

fn at_zero() -> Collective {
    Collective::Broadcast { root: Rank::new(0) }
}

pub(super) fn random_choices_do_what_the_collective_means() {
    for seed in 0..6 {
        let text = NETWORKS[1 + seed as usize];
        watched(&format!("{text}, seed {seed}"), move || {
            let network = topology(text);
            let hows: Vec<(Collective, [How; 3])> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| {
                    let own = Mine::new(&row, Twist::None).into();
                    let read = schedule(&network, &collective, &row.name()).into();
                    (collective, [row.name().into(), own, read])
                })
                .collect();
            let run = Job::on(network).options(Options::default().cache(4, 1 << 16)).run(|comm| {
                let (mut dice, mut comms) = (Dice(seed), vec![comm]);
                for _ in 0..60 {
                    let (collective, hows) = &hows[dice.below(hows.len())];
                    let (how, elements) = (&hows[dice.below(3)], dice.below(4));
                    let which = dice.below(comms.len());
                    match dice.below(4) {
                        0 => comms[which].choose(collective.name(), how).unwrap(),
                        1 => comms[which].choose(collective.name(), "auto").unwrap(),
                        2 if comms.len() < 4 => {
                            let part = comms[which].split(0, 0).unwrap();
                            comms.push(part);
                        }
                        _ => performs(&mut comms[which].using(how), collective, elements),
                    }
                    performs(&mut comms[which], collective, elements);
                }
            });
            run.unwrap();
        });
    }
}

//! The exchange in two balanced phases, for blocks of any lengths.

use std::collections::{BTreeSet, HashMap};

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Block, Problem, RankRound};
use quickcheck::QuickCheck;

use crate::claims::proof;
use crate::fixtures::alltoall;

fn shares(problem: &Problem, name: &str) -> Vec<Vec<RankRound>> {
    let algorithm = find(problem.collective(), name).unwrap();
    problem.all().map(|rank| algorithm.share(problem, rank).unwrap().collect()).collect()
}

/// The number of elements of a chunk, if its block has this many.
fn elements(block: Block, length: u64) -> u64 {
    let cut = |i: u32| length * u64::from(i) / u64::from(block.of());
    cut(block.first() + block.count()) - cut(block.first())
}

/// The number of elements that each rank sends to each other in each round.
fn sent(problem: &Problem, name: &str, length: impl Fn(usize, usize) -> u64) -> Vec<HashMap<(usize, usize), u64>> {
    let shares = shares(problem, name);
    let mut all = vec![HashMap::new(); shares.iter().map(Vec::len).max().unwrap()];
    for (rank, rounds) in shares.into_iter().enumerate() {
        for (number, round) in rounds.into_iter().enumerate() {
            for end in round.sends {
                let of = |block: Block| elements(block, length(block.source() as usize, block.destination() as usize));
                *all[number].entry((rank, end.peer.index())).or_default() +=
                    end.blocks.into_iter().map(of).sum::<u64>();
            }
        }
    }
    all
}

/// The sum over rounds of what the busiest channel carries.
fn busiest(problem: &Problem, name: &str, length: impl Fn(usize, usize) -> u64) -> u64 {
    let topology = problem.topology();
    let node = |rank| problem.placement().node(Rank::new(rank));
    let load = |round: HashMap<(usize, usize), u64>| {
        let mut channels = HashMap::new();
        for ((from, to), elements) in round {
            for hop in topology.route(node(from), node(to)).windows(2) {
                *channels.entry((hop[0], hop[1])).or_default() += elements;
            }
        }
        channels.into_values().max().unwrap_or(0_u64)
    };
    sent(problem, name, length).into_iter().map(load).sum()
}

const EXCHANGES: [&str; 5] = ["half-rings", "cayley-exchange", "window-exchange", "balanced-routes", "direct"];

/// With any exchange, two phases take twice what it takes for blocks of (N - 1)/N of the length.
#[test]
fn two_phases_are_verified() {
    let mut done = BTreeSet::new();
    for text in [
        "complete:1",
        "complete:2",
        "ring:2",
        "ring:3",
        "ring:6",
        "line:5",
        "mesh:3x4",
        "torus:4x4",
        "torus:3x5",
        "torus:2x4x3",
        "hypercube:4",
        "ghc:3,2",
        "how:9,3,1",
        "how-wrap:9,2,1",
        "binary-tree:3",
        "complete:17",
    ] {
        let problem = alltoall(text);
        let (n, collective) = (problem.ranks() as u64, problem.collective());
        for within in EXCHANGES {
            let one = find(collective, within).unwrap();
            let two = find(collective, &format!("two-phase:within={within}")).unwrap();
            assert_eq!(one.fits(&problem).is_ok(), two.fits(&problem).is_ok(), "{within} on {text}");
            if one.fits(&problem).is_err() {
                continue;
            }
            let [one, two] = [one, two].map(|algorithm| proof(&*algorithm, &problem));
            assert_eq!(two.startups, 2 * one.startups, "{within} on {text}");
            assert_eq!(two.channel_transmission * n, one.channel_transmission * (2 * (n - 1)), "{within} on {text}");
            assert_eq!(two.contention_free, one.contention_free);
            done.insert(within);
        }
        proof(&*find(collective, "two-phase").unwrap(), &problem);
    }
    assert_eq!(done.len(), EXCHANGES.len());
    for text in ["complete:40", "torus:4x4x4"] {
        proof(&*find(&Collective::Alltoall, "two-phase").unwrap(), &alltoall(text));
    }
}

/// All that a rank sends, and all that it receives, goes through all ranks in equal parts, whatever
/// the lengths are.
#[test]
fn relays_have_equal_parts_of_any_lengths() {
    fn balanced(ranks: u8, lengths: Vec<u16>) -> bool {
        let ranks = usize::from(ranks % 12) + 2;
        let length = |from: usize, to: usize| {
            let all = lengths.len().max(1);
            lengths.get((from * ranks + to) % all).map_or(0, |&length| u64::from(length))
        };
        let problem = alltoall(&format!("complete:{ranks}"));
        let [first, second] = &sent(&problem, "two-phase", length)[..] else { return false };
        let others = |own: usize| (0..ranks).filter(move |&other| other != own);
        // Each chunk differs by less than an element from its part.
        let n = ranks as u64;
        let near = |found: u64, all: u64| (found * n).abs_diff(all) <= n * n;
        (0..ranks).all(|rank| {
            others(rank).all(|relay| {
                let from: u64 = others(rank).map(|to| length(rank, to)).sum();
                let into: u64 = others(rank).map(|source| length(source, rank)).sum();
                near(first[&(rank, relay)], from) && near(second[&(relay, rank)], into)
            })
        })
    }
    QuickCheck::new().tests(60).quickcheck(balanced as fn(u8, Vec<u16>) -> bool);
}

/// Blocks of one element have only one chunk that is not empty.
#[test]
fn short_blocks_go_through_different_relays() {
    for ranks in [2, 8, 9, 30] {
        let problem = alltoall(&format!("complete:{ranks}"));
        for phase in sent(&problem, "two-phase", |_, _| 1) {
            assert!(phase.values().all(|&elements| elements <= 1), "{ranks} ranks");
        }
    }
}

/// The table of the documentation: long blocks, one from each rank, whose routes share channels.
#[test]
fn long_blocks_of_a_permutation_load_all_channels() {
    const LONG: u64 = 64_000;
    type Permutation = fn(usize) -> usize;
    let across: Permutation = |source| source % 8 * 8 + source / 8;
    let on: Permutation = |source| (source + 31) % 64;
    let opposite: Permutation = |source| 63 - source;
    for (text, permutation, direct, two) in [
        ("torus:8x8", across, 400, 188),
        ("mesh:8x8", across, 700, 375),
        ("hypercube:6", across, 400, 100),
        ("torus:8x8", on, 400, 200),
        ("mesh:8x8", on, 400, 400),
        ("hypercube:6", on, 100, 100),
        ("torus:8x8", opposite, 200, 200),
        ("mesh:8x8", opposite, 400, 400),
        ("hypercube:6", opposite, 100, 100),
    ] {
        let problem = alltoall(text);
        let length = |from: usize, to: usize| if from != to && permutation(from) == to { LONG } else { 0 };
        for (name, hundredths) in [("direct", direct), ("two-phase", two)] {
            let found = busiest(&problem, name, length) * 100;
            assert_eq!((found + LONG / 2) / LONG, hundredths, "{name} on {text}");
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    for (text, name, expected) in [
        ("mesh:3x3", "two-phase:within=half-rings", "within=half-rings: it needs a torus"),
        ("complete:129", "two-phase", "it needs at most 128 ranks; there are 129; use direct"),
    ] {
        let problem = alltoall(text);
        let error = find(problem.collective(), name).unwrap().fits(&problem).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = find(&Collective::Alltoall, "two-phase:within=ring").err().unwrap().to_string();
    assert!(error.contains("half-rings") && error.contains("within"), "{error}");
}

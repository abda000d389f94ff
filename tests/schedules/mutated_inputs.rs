//! Mutated texts are refused with an error of bounded length, or accepted; they never panic.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use necklace::algorithm::{Values, find, registry};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Problem, verify};
use necklace::topology::parse;
use quickcheck::{Arbitrary, Gen};

/// The mutants of each kind of text.
const MUTANTS: usize = 40_000;

/// The links of larger networks are not compared, so that each mutant takes little time.
const MOST_NODES: usize = 24;

/// The longest message of an error, in bytes. Errors quote only the beginning of a long input.
const LONGEST: usize = 2000;

/// Texts that mutations insert: delimiters, numbers at the limits, and what is not ASCII.
const PIECES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "007",
    "65536",
    "4294967296",
    "18446744073709551616",
    "1e309",
    "0.5",
    ":",
    ",",
    "=",
    "x",
    "@",
    " ",
    "\n",
    "\0",
    "\"",
    "\\",
    "[",
    "}",
    "null",
    "\u{202e}",
    "\u{1f48d}",
];

/// Returns a mutant of one of the texts.
fn mutant(texts: &[String], random: &mut Gen) -> String {
    let pick = |random: &mut Gen| random.choose(texts).unwrap().clone();
    let mut text: Vec<char> = pick(random).chars().collect();
    for _ in 0..1 + usize::arbitrary(random) % 4 {
        let at = usize::arbitrary(random) % (text.len() + 1);
        let end = (at + 1 + usize::arbitrary(random) % 6).min(text.len());
        match u8::arbitrary(random) % 7 {
            0 => drop(text.drain(at..end)),
            1 => text.truncate(at),
            2 => drop(text.splice(at..at, random.choose(&PIECES).unwrap().chars())),
            3 => drop(text.splice(at..end, random.choose(&PIECES).unwrap().chars())),
            4 => {
                let repeated = text[at..end].repeat(1 + usize::arbitrary(random) % 100);
                drop(text.splice(at..at, repeated));
            }
            5 => {
                let other: Vec<char> = pick(random).chars().collect();
                let from = usize::arbitrary(random) % (other.len() + 1);
                drop(text.splice(at.., other[from..].iter().copied()));
            }
            _ => text.iter_mut().skip(at).take(1).for_each(|c| *c = char::arbitrary(random)),
        }
    }
    text.into_iter().collect()
}

/// Tries mutants of these texts. `attempt` returns `Err` if a text is refused.
fn campaign<E: Display>(texts: &[String], attempt: impl Fn(&str) -> Result<(), E>) {
    for text in texts {
        if let Err(error) = attempt(text) {
            panic!("{text:?}, which is no mutant, is refused: {error}");
        }
    }
    let mut random = Gen::new(100);
    let mut refused = 0;
    for _ in 0..MUTANTS {
        let text = mutant(texts, &mut random);
        let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&text).map_err(|error| error.to_string())));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(message)) => {
                refused += 1;
                assert!(!message.is_empty() && message.len() <= LONGEST, "{text:?} is refused by {message:?}");
            }
            Err(_) => panic!("{text:?} panics"),
        }
    }
    assert!(refused > MUTANTS / 4, "{refused} of {MUTANTS} mutants are refused");
}

fn networks() -> Vec<String> {
    let texts = [
        "line:5",
        "ring:6",
        "mesh:3x4",
        "torus:4x4x1",
        "hypercube:4",
        "ghc:3,2",
        "ghc:2x3x4",
        "how:4,2,2",
        "complete:7",
    ];
    texts.map(str::to_owned).to_vec()
}

#[test]
fn mutated_topologies_never_panic() {
    campaign(&networks(), |text| {
        let topology = parse(text)?;
        if topology.nodes() <= MOST_NODES {
            assert_eq!(parse(&topology.text()).unwrap().edges(), topology.edges(), "{text}");
        }
        Ok::<_, necklace::topology::ParseError>(())
    });
}

/// Returns the names of all algorithms with a schedule, without and with parameters.
fn algorithms() -> Vec<String> {
    let scheduled = registry().iter().filter(|algorithm| algorithm.about().name != "native");
    scheduled
        .flat_map(|algorithm| {
            let name = format!("{} {}", algorithm.about().collective, algorithm.about().name);
            let values = |parameter: &necklace::algorithm::Parameter| match parameter.values {
                Values::Words(words) => words[parameter.default].to_owned(),
                _ => parameter.default.to_string(),
            };
            let with = algorithm.parameters().iter().map(|p| format!("{name}:{}={}", p.key, values(p)));
            with.chain([name.clone()]).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn mutated_algorithms_never_panic() {
    let networks: Vec<_> = networks().iter().map(|text| parse(text).unwrap()).collect();
    campaign(&algorithms(), |text| {
        let (collective, name) = text.split_once(' ').unwrap_or(("alltoall", text));
        let collective = Collective::named(collective, necklace::Rank::new(0)).unwrap_or(Collective::Alltoall);
        let algorithm = find(&collective, name)?;
        for topology in networks.iter().filter(|topology| topology.nodes() <= 8) {
            let problem = Problem::new(topology.clone(), collective.clone()).unwrap();
            if let Ok(shares) = algorithm.shares(&problem) {
                let schedule = shares.collect().unwrap();
                verify(&schedule).unwrap_or_else(|violations| panic!("{text} on {topology:?}: {violations}"));
            }
        }
        Ok::<_, necklace::error::BuildError>(())
    });
}

#[test]
fn mutated_machines_never_panic() {
    let texts = ["free", "paragon", "paragon:message=110us,hop=0", "free:startup=1us,byte=0.4ns,channel=2ns"];
    campaign(&texts.map(str::to_owned), |text| {
        let machine: Machine = text.parse()?;
        assert_eq!(machine.to_string().parse::<Machine>().unwrap(), machine, "{text}");
        Ok::<_, necklace::machine::MachineError>(())
    });
}

//! The exchange of networks that look the same from every node, in as many rounds as the diameter,
//! at the least load of a channel.

use std::sync::Arc;

use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Ports, Problem, Volume, to_json, verify};
use necklace::select::{Terms, select};
use necklace::topology::parse;
use necklace_tests::checker::check_schedule;
use quickcheck::{QuickCheck, TestResult};

fn problem(text: &str) -> Problem {
    Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap()
}

fn named(parameters: &str) -> Arc<dyn Algorithm> {
    find(&Collective::Alltoall, &format!("cayley-exchange{parameters}")).unwrap()
}

/// The claims are those of verified schedules: see
/// `every_algorithm_keeps_its_claims_wherever_it_fits`.
fn claimed(text: &str, parameters: &str) -> (u64, Volume) {
    let (problem, algorithm) = (problem(text), named(parameters));
    algorithm.fits(&problem).unwrap_or_else(|error| panic!("{error}"));
    let claims = algorithm.claims(&problem);
    assert!(claims.contention_free, "{text}");
    (claims.startups.unwrap(), claims.transmission.unwrap())
}

/// The least start-ups and blocks of a torus, by the table of lower bounds: the diameter, and
/// N fl(k^2/4) / 2k for the longest extent k, with each of the two channels of a dimension.
fn least_of_torus(extents: &[u64]) -> (u64, Volume) {
    let nodes: u64 = extents.iter().product();
    let along = |&k: &u64| match k {
        2 => Volume::new(nodes / 2, 1),
        _ => Volume::new(nodes / k * (k * k / 4), 2),
    };
    (extents.iter().map(|k| k / 2).sum(), extents.iter().map(along).max().unwrap())
}

/// Whether half of the blocks for the opposite nodes of a dimension is a whole number of blocks.
fn divides(extents: &[u64]) -> bool {
    let nodes: u64 = extents.iter().product();
    extents.iter().all(|k| !k.is_multiple_of(2) || *k == 2 || (nodes / k).is_multiple_of(2))
}

/// Rings and tori of two and three dimensions, with equal and unequal extents, odd and even: as
/// many start-ups as the diameter, and the least load of a channel, at once. Where the blocks for
/// opposite nodes cannot be shared between both ways, those in two chunks are.
#[test]
fn tori_take_the_diameter_and_the_least_load() {
    let lines = (4..=40).map(|k| vec![k]);
    let planes = (2..=24).flat_map(|a| (2..=24).step_by(3).map(move |b| vec![a, b]));
    let spaces = (2..=6).flat_map(|a| (3..=6).flat_map(move |b| (3..=7).map(move |c| vec![a, b, c])));
    let larger = [vec![12, 12], vec![30, 7], vec![8, 8, 8], vec![2, 4, 4, 4], vec![3, 3, 3, 3, 3]];
    for extents in lines.chain(planes).chain(spaces).chain(larger) {
        let text = format!("torus:{}", extents.iter().map(u64::to_string).collect::<Vec<_>>().join("x"));
        let (startups, least) = least_of_torus(&extents);
        assert_eq!(claimed(&text, ":chunks=2"), (startups, least), "{text}");
        if divides(&extents) {
            assert_eq!(claimed(&text, ""), (startups, least), "{text}");
        }
    }
}

/// Johnsson & Ho's optimum on cubes, d start-ups and N/2 blocks, and that of generalized
/// hypercubes: a start-up for each digit, and N/k blocks for the shortest extent k.
#[test]
fn cubes_take_a_round_for_each_digit() {
    for d in 2..=10 {
        assert_eq!(claimed(&format!("hypercube:{d}"), ""), (d, (1_u64 << (d - 1)).into()), "hypercube:{d}");
    }
    for (text, startups, blocks) in [
        ("ghc:4,2", 2, 4),
        ("ghc:7,2", 2, 7),
        ("ghc:5,3", 3, 25),
        ("ghc:3,4", 4, 27),
        ("ghc:2x3x4", 3, 12),
        ("ghc:20,2", 2, 20),
    ] {
        assert_eq!(claimed(text, ""), (startups, blocks.into()), "{text}");
    }
}

/// The loads of channels that the document of lower bounds has for single blocks (A7: 6, 35 and
/// 53), or better, in as many rounds as the diameter; and within 1.08 of the bound for blocks in
/// chunks, for all windows of up to 40 nodes that wrap round and some of up to 256, and in two
/// dimensions.
#[test]
fn windows_that_wrap_round_are_near_the_bound() {
    for (text, startups, blocks) in [("how-wrap:16,3,1", 3, 6), ("how-wrap:40,3,1", 7, 35), ("how-wrap:64,4,1", 8, 53)]
    {
        assert_eq!(claimed(text, ""), (startups, blocks.into()), "{text}");
    }
    assert_eq!(claimed("how-wrap:40,3,1", ":batches=10"), (10, 35.into()));
    for (p, w) in (20..=40).flat_map(|p| (1..=(p - 2) / 2).map(move |w| (p, w))) {
        let text = format!("how-wrap:{p},{w},1");
        let (startups, blocks) = ["", ":chunks=2", ":chunks=4", ":chunks=16"]
            .map(|chunks| claimed(&text, chunks))
            .into_iter()
            .min_by_key(|(_, blocks)| *blocks)
            .unwrap();
        let bound = (p * p / 4) as f64 / (w * (w + 1)) as f64;
        assert_eq!(startups as usize, (p / 2_usize).div_ceil(w), "{text}");
        assert!(blocks.as_f64() <= 1.07 * bound, "{text}: {} of {bound}", blocks.as_f64());
    }
    for (p, w) in [(256, 127), (200, 99), (150, 64), (200, 85), (255, 99)] {
        let (_, blocks) = claimed(&format!("how-wrap:{p},{w},1"), ":chunks=16");
        let bound = (p * p / 4) as f64 / (w * (w + 1)) as f64;
        assert!(blocks.as_f64() <= 1.06 * bound, "how-wrap:{p},{w},1: {} of {bound}", blocks.as_f64());
    }
    for (p, w) in (4..20).flat_map(|p| (1..=(p - 2) / 2).map(move |w| (p, w))) {
        let text = format!("how-wrap:{p},{w},1");
        let chunks = ["", ":chunks=2", ":chunks=4", ":chunks=16"];
        let blocks = chunks.map(|chunks| claimed(&text, chunks).1).into_iter().min().unwrap();
        let bound = (p * p / 4) as f64 / (w * (w + 1)) as f64;
        assert!(blocks.as_f64() <= 1.042 * bound, "{text}: {} of {bound}", blocks.as_f64());
    }
    for (p, w) in (5..=14).flat_map(|p| (1..=(p - 2) / 2).map(move |w| (p, w))) {
        let text = format!("how-wrap:{p},{w},2");
        let blocks = ["", ":chunks=2", ":chunks=4"].map(|chunks| claimed(&text, chunks).1).into_iter().min().unwrap();
        let bound = (p * (p * p / 4)) as f64 / (w * (w + 1)) as f64;
        assert!(blocks.as_f64() <= 1.08 * bound, "{text}: {} of {bound}", blocks.as_f64());
    }
}

/// Rings, tori, generalized hypercubes and windows, any number of batches and chunks: delivered,
/// without contention, as claimed, accepted by the independent checker.
#[test]
fn exchanges_are_verified() {
    fn holds(extents: (usize, usize, usize), window: usize, batches: usize, chunks: usize) -> TestResult {
        let (a, b, c) = (2 + extents.0 % 9, 2 + extents.1 % 5, 2 + extents.2 % 3);
        let wraps = 4 + extents.0 % 9;
        let window = 1 + window % ((wraps - 2) / 2);
        for text in [
            format!("torus:{a}x{b}x{c}"),
            format!("torus:{a}x{b}"),
            format!("ring:{}", a + 3),
            format!("ghc:{b}x{c}x{b}"),
            format!("how-wrap:{wraps},{window},1"),
            format!("how-wrap:{wraps},{window},2"),
        ] {
            let problem = problem(&text);
            let rows = problem.topology().factors().unwrap();
            let complete = rows.len() == 1 && rows[0].is_complete();
            let diameter: usize = rows.iter().map(|row| row.distance(0, row.extent() / 2)).sum();
            let batches = if batches.is_multiple_of(3) { 0 } else { diameter + batches % 7 };
            let algorithm = named(&format!(":batches={batches},chunks={}", chunks % 5));
            assert_eq!(algorithm.fits(&problem).is_err(), complete, "{text}");
            if complete {
                continue;
            }
            let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
            let proof = verify(&schedule).unwrap_or_else(|faults| panic!("{} on {text}: {faults}", algorithm.name()));
            assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{} on {text}", algorithm.name());
            assert!(proof.keeps(Ports::All) && proof.contention_free, "{text}");
            assert!(proof.startups >= diameter as u64, "{text}");
            let small = problem.ranks() <= 64;
            let accepted = |json: &str| check_schedule(json, &["--ports", "all"]).is_none_or(|checked| checked.is_ok());
            assert!(!small || accepted(&to_json(&schedule)), "{} on {text}", algorithm.name());
        }
        TestResult::passed()
    }
    QuickCheck::new().tests(10).quickcheck(holds as fn((usize, usize, usize), usize, usize, usize) -> TestResult);
}

#[test]
fn exchange_is_refused_where_it_does_not_fit() {
    let error = |text: &str, parameters: &str| named(parameters).fits(&problem(text)).unwrap_err().to_string();
    for text in ["mesh:4x4", "line:5", "how:8,2,1", "binary-tree:3"] {
        let needs = "a product of rings, complete networks and windows that wrap round";
        assert!(error(text, "").contains(needs) && error(text, "").contains(text), "{}", error(text, ""));
    }
    for text in ["complete:6", "ghc:5,1", "ring:3", "how-wrap:5,2,1"] {
        assert!(error(text, "").ends_with(" is a complete network; use direct"), "{}", error(text, ""));
    }
    let batches = error("torus:5x7", ":batches=4");
    assert!(batches.contains("batches=4: it needs at least 5, the diameter"), "{batches}");
    let large = error("torus:512x512", "");
    assert!(large.contains("it needs at most 65536 nodes; there are 262144"), "{large}");
    let long = error("ring:4096", "");
    assert!(long.contains("at most 1048576 steps from a node to all others; there are 4194304"), "{long}");
    let wide = error("how-wrap:50000,24000,1", "");
    assert!(wide.contains("the windows of how-wrap:50000,24000,1 are too long and wide; use direct"), "{wide}");
    let chunks = error("torus:128x128", ":chunks=16");
    assert!(chunks.contains("chunks=16: it needs at most 1 on torus:128x128"), "{chunks}");
    assert!(find(&Collective::Alltoall, "cayley-exchange:chunks=17").is_err());
}

/// Many more rounds than a row has nodes: no sum of jumps is longer than the row, and rounds end with
/// the chunks over a channel.
#[test]
fn batches_beyond_the_load_of_a_channel_are_not_made() {
    assert_eq!(claimed("torus:4x5", ":batches=65536").0, 12);
    for (text, chunks) in [("how-wrap:64,3,1", 16), ("how-wrap:24,3,2", 1)] {
        let (startups, blocks) = claimed(text, &format!(":batches=65536,chunks={chunks}"));
        assert_eq!(blocks * chunks, startups.into(), "{text}");
    }
}

/// A machine that charges for start-ups and channels: `auto` takes it for long blocks, in chunks
/// where that helps, and a name without chunks does so too.
#[test]
fn auto_takes_the_exchange_for_long_blocks() {
    let channels = Machine::FREE.with_channel(1000).with_startup(10_000_000);
    for (text, chunks) in [("how-wrap:20,3,1", 2), ("ring:8", 2), ("torus:8x8", 0), ("torus:8x4", 0)] {
        let problem = problem(text);
        let chosen = |name| select(&problem, name, &Terms::new(1 << 20, &channels)).unwrap().algorithm.name();
        let expected =
            if chunks == 0 { "cayley-exchange".to_owned() } else { format!("cayley-exchange:chunks={chunks}") };
        assert_eq!(chosen("auto"), expected, "{text}");
        assert_eq!(chosen("cayley-exchange"), expected, "{text}");
    }
}

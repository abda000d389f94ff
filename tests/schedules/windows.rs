//! Collectives on networks of overlapping windows, beside Wang's figures.

use std::sync::Arc;

use necklace::algorithm::{candidates, find};
use necklace::bounds::{Bounds, Search};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::{Machine, Switching};
use necklace::schedule::{Ports, Problem, Proof, Volume, to_json, verify, verify_shares};
use necklace::select::{Terms, select};
use necklace::topology::{Factor, parse};
use necklace_tests::checker::check_schedule;
use quickcheck::{QuickCheck, TestResult};

use crate::fixtures::alltoall_proof;

fn proof(text: &str, collective: &Collective, algorithm: &str) -> Proof {
    let problem = Problem::new(parse(text).unwrap(), collective.clone()).unwrap();
    let algorithm = find(collective, algorithm).unwrap();
    let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
    assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{text}");
    proof
}

/// Appendix A: the printed runs take five exchanges, in which no channel carries two messages, and
/// end with every message at its destination. Errata 5.13: 13, 21 and 77 rounds where the formula
/// of section 5.5.2 has 10, 14 and 26, which the cut in the middle forbids.
#[test]
fn how_greedy_takes_the_rounds_of_the_appendix() {
    let formula = |p: u64, w: u64| 2 * (p - 1).div_ceil(w);
    for (p, w, rounds) in [(10_u64, 3_u64, 5), (11, 4, 5), (16, 3, 13), (20, 3, 21), (40, 3, 77)] {
        let proof = alltoall_proof(&format!("how:{p},{w},1"), "how-greedy");
        assert_eq!((proof.startups, proof.hops), (rounds, rounds), "p = {p}, w = {w}");
        assert_eq!(proof.transmission, rounds.into());
        assert!(proof.contention_free && proof.keeps(Ports::All));
        let cut = (p * p / 4).div_ceil(w * (w + 1) / 2);
        assert!(rounds >= cut);
        assert_eq!(cut > formula(p, w), p >= 16, "the cut of p = {p}");
    }
}

/// In the first round of the tables 5.8 and of both printed runs, nodes within the window exchange,
/// and in the next, the farthest messages leave every node over all its channels.
#[test]
fn how_greedy_begins_as_in_table_5_8() {
    let problem = Problem::new(parse("how:10,3,1").unwrap(), Collective::Alltoall).unwrap();
    let schedule = find(&Collective::Alltoall, "how-greedy").unwrap().shares(&problem).unwrap().collect().unwrap();
    let of_round = |number: usize, node: usize| {
        let sent = schedule.rounds[number].transfers.iter().filter(|transfer| transfer.source.index() == node);
        let mut blocks: Vec<(i32, i32)> =
            sent.flat_map(|transfer| &transfer.blocks).map(|block| (block.source(), block.destination())).collect();
        blocks.sort_unstable();
        blocks
    };
    assert_eq!(of_round(0, 0), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(of_round(0, 5), [(5, 2), (5, 3), (5, 4), (5, 6), (5, 7), (5, 8)]);
    assert_eq!(of_round(1, 0), [(0, 7), (0, 8), (0, 9)]);
    assert_eq!(of_round(1, 5), [(5, 0), (5, 1), (5, 9)]);
}

/// Section 6.5 has one exchange along rows and one along columns, each of messages of as many
/// blocks as a row has nodes (errata 5.14: 2 sqrt(p) exchanges of single blocks in all).
#[test]
fn how_greedy_exchanges_along_each_dimension() {
    for (extent, window, dimensions) in [(5_u64, 3, 2), (6, 2, 2), (4, 2, 3), (3, 1, 3)] {
        let row = alltoall_proof(&format!("how:{extent},{window},1"), "how-greedy").startups;
        let proof = alltoall_proof(&format!("how:{extent},{window},{dimensions}"), "how-greedy");
        assert_eq!(proof.startups, row * u64::from(dimensions));
        assert_eq!(proof.transmission, (row * u64::from(dimensions) * extent.pow(dimensions - 1)).into());
        assert_eq!(proof.rearrangements, u64::from(dimensions) - 1);
    }
    // Lines and complete networks are windows too.
    assert_eq!(alltoall_proof("complete:9", "how-greedy").startups, 1);
    assert_eq!(alltoall_proof("ghc:3x4", "how-greedy").startups, 2);
    assert!(alltoall_proof("mesh:4x3", "how-greedy").contention_free);
}

#[test]
fn how_greedy_is_refused_where_it_does_not_fit() {
    let error = |text: &str| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        find(&Collective::Alltoall, "how-greedy").unwrap().fits(&problem).unwrap_err().to_string()
    };
    for text in ["how-wrap:8,2,1", "torus:4x4", "how:129,2,1", "binary-tree:3"] {
        let needs = "windows, lines and complete networks of at most 128 nodes each, with rank i on node i";
        assert!(error(text).contains(needs) && error(text).contains(text), "{}", error(text));
    }
}

/// Rings along rows have dilation 1 in windows, so that each dimension takes as many rounds as a
/// ring, without contention: an all-to-all broadcast under model 1 takes p - 1 steps (section
/// 5.3.1), in two dimensions (sqrt(p) - 1)(sqrt(p) + 1) blocks (section 6.3.1, errata 5.15).
#[test]
fn rings_along_windows_are_rings_of_neighbours() {
    for text in ["how:12,3,1", "how:5,3,2", "how:4,2,3", "how-wrap:12,3,1", "how-wrap:6,2,2", "how-wrap:8,3,2"] {
        let topology = parse(text).unwrap();
        let rows = topology.factors().unwrap();
        let rounds: u64 = rows.iter().map(|row| row.extent() as u64 - 1).sum();
        let ranks = topology.nodes() as u64;
        let complete = rows.iter().any(|row| matches!(row, Factor::Complete(_)));
        for collective in [Collective::Allgather, Collective::ReduceScatter] {
            let proof = proof(text, &collective, "by-dimension");
            assert_eq!(proof.transmission, (ranks - 1).into(), "{text}");
            assert!(proof.contention_free && proof.keeps(Ports::One));
            assert!(complete || (proof.startups, proof.hops) == (rounds, rounds), "{text}");
        }
    }
}

/// All collectives that work by dimension do so on windows, in one dimension and more, for every
/// root.
#[test]
fn collectives_by_dimension_are_verified_on_windows() {
    fn holds(extent: usize, window: usize, dimensions: usize, root: usize) -> TestResult {
        let (extent, dimensions) = (2 + extent % 6, 1 + dimensions % 3);
        let window = 1 + window % (extent - 1);
        if extent.pow(dimensions as u32) > 130 {
            return TestResult::discard();
        }
        for kind in ["how", "how-wrap"] {
            let text = format!("{kind}:{extent},{window},{dimensions}");
            let topology = parse(&text).unwrap();
            let root = necklace::Rank::new(root % topology.nodes());
            let names = "allgather reduce_scatter allreduce scan exscan alltoall";
            let rooted = "broadcast reduce scatter gather";
            for name in names.split(' ').chain(rooted.split(' ')) {
                let collective = Collective::named(name, root).unwrap();
                let problem = Problem::new(Arc::clone(&topology), collective.clone()).unwrap();
                let by_dimension = find(&collective, "by-dimension").unwrap();
                for algorithm in [Arc::clone(&by_dimension)].into_iter().chain(by_dimension.variants(&problem)) {
                    let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
                    let proof = verify(&schedule).unwrap_or_else(|faults| panic!("{name} on {text}: {faults}"));
                    assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{name} on {text}");
                    let accepted = check_schedule(&to_json(&schedule), &[]).is_none_or(|checked| checked.is_ok());
                    assert!(accepted || schedule.rounds.len() > 40, "{name} on {text}");
                }
            }
        }
        TestResult::passed()
    }
    QuickCheck::new().tests(12).quickcheck(holds as fn(usize, usize, usize, usize) -> TestResult);
}

/// The cut between the halves bounds an exchange from below. The greedy one takes at most twice as
/// long, rounded up, and a quarter more for windows of up to 3.
#[test]
fn greedy_exchange_is_near_the_cut() {
    for (p, w) in (12..33).step_by(4).flat_map(|p| (1..p / 3).map(move |w| (p, w))) {
        let text = format!("how:{p},{w},1");
        let problem = Problem::new(parse(&text).unwrap(), Collective::Alltoall).unwrap();
        let least = Bounds::of(&problem).transmission(Ports::All, true, true).whole().unwrap_or_default();
        let rounds = alltoall_proof(&text, "how-greedy").startups;
        let cut = (p as u64 * p as u64 / 4).div_ceil(w as u64 * (w as u64 + 1) / 2);
        assert!(least <= rounds && cut <= rounds && rounds <= 2 * cut + 1, "{text}: {rounds}, {cut}");
        assert!(w > 3 || 4 * rounds <= 5 * cut, "{text}: {rounds}, {cut}");
    }
}

/// The exchange with balanced routes stays within a tenth of the cut of the halves from 20 nodes on
/// if blocks are cut, and beats the greedy one. In two dimensions, all are in use all the time.
#[test]
fn window_exchange_is_at_the_cut() {
    let ratio = |text: &str, chunks: usize| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let proof = alltoall_proof(text, &format!("window-exchange:load=1,chunks={chunks}"));
        assert!(proof.contention_free && proof.hops == proof.startups, "{text}");
        let least = Bounds::of(&problem).transmission(Ports::All, true, true).as_f64();
        proof.channel_transmission.as_f64() / least
    };
    for (text, chunks) in [
        ("how:20,2,1", 1),
        ("how:20,3,1", 1),
        ("how:20,6,1", 8),
        ("how:24,8,1", 8),
        ("how:21,10,1", 16),
        ("how:27,13,1", 16),
        ("how:40,20,1", 16),
        ("how:50,7,1", 16),
        ("how:25,13,1", 24),
        ("how:34,17,1", 24),
        ("how:31,29,1", 16),
        ("how:64,20,1", 16),
        ("how:65,3,1", 1),
        ("how:100,5,1", 1),
        ("how:66,33,1", 24),
        ("how:43,21,1", 24),
        ("how:55,28,1", 32),
        ("how:100,61,1", 32),
        ("how:8,3,2", 4),
    ] {
        let ratio = ratio(text, chunks);
        assert!((1.0..=1.1).contains(&ratio), "{text}: {ratio}");
    }
    // By their claims, because a proof of so many nodes takes long. The first has jumps of more than 255.
    for (text, chunks) in [("how:260,258,1", 16), ("how:257,16,1", 1)] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let algorithm = find(problem.collective(), &format!("window-exchange:load=1,chunks={chunks}")).unwrap();
        algorithm.fits(&problem).unwrap();
        let claims = algorithm.claims(&problem);
        let least = Bounds::of(&problem).transmission(Ports::All, true, true).as_f64();
        let ratio = claims.channel_transmission.or(claims.transmission).unwrap().as_f64() / least;
        assert!((1.0..=1.1).contains(&ratio), "{text}: {ratio}");
    }
    // `auto` does not consider rows that take so long, and the name alone takes one schedule.
    let problem = Problem::new(parse("how:300,40,1").unwrap(), Collective::Alltoall).unwrap();
    assert!(candidates(&problem).iter().all(|algorithm| algorithm.about().name != "window-exchange"));
    let by_name = find(problem.collective(), "window-exchange").unwrap().alternatives(&problem);
    assert_eq!(by_name.iter().map(|one| one.name()).collect::<Vec<_>>(), ["window-exchange:load=1,chunks=4"]);
    let widest = alltoall_proof("how:270,268,1", "window-exchange:load=1");
    assert!(widest.contention_free && widest.channel_transmission <= 2.into(), "{widest:?}");
    for text in ["how:16,3,1", "how:20,3,1", "how:24,5,1", "how:32,4,1"] {
        let [greedy, balanced] =
            ["how-greedy", "window-exchange:load=1"].map(|name| alltoall_proof(text, name).startups);
        assert!(balanced < greedy, "{text}: {balanced}, {greedy}");
    }
}

/// Lines and meshes, beyond the papers (A2m): as many rounds as the nodes of a row, for each
/// dimension, and the cut between the halves, if a round takes a quarter of a row's nodes over a
/// channel.
#[test]
fn meshes_are_exchanged_at_the_cut() {
    for (text, load, rounds, blocks) in [
        ("line:8", 2, 8, 16),
        ("line:10", 1, 25, 25),
        ("line:32", 8, 32, 256),
        ("mesh:8x8", 2, 16, 128),
        ("mesh:16x16", 4, 32, 1024),
        ("mesh:5x5", 1, 12, 30),
        ("mesh:4x4x4", 1, 12, 64),
        ("mesh:4x6", 2, 10, 36),
        ("mesh:4x8", 2, 16, 64),
        ("mesh:5x7", 2, 12, 60),
        ("mesh:8x4x4", 2, 24, 256),
    ] {
        let proof = alltoall_proof(text, &format!("window-exchange:load={load}"));
        assert_eq!((proof.startups, proof.transmission), (rounds, blocks.into()), "{text}");
        assert!(proof.contention_free && proof.keeps(Ports::All) && proof.hops == rounds, "{text}");
    }
}

/// Loads, chunks, one to three dimensions: delivered, without contention, as claimed, accepted by
/// the independent checker.
#[test]
fn window_exchanges_are_verified() {
    fn holds(extent: usize, window: usize, dimensions: usize, load: usize, chunks: usize) -> TestResult {
        let (extent, dimensions) = (4 + extent % 7, 1 + dimensions % 3);
        let window = 2 + window % (extent - 3);
        if extent.pow(dimensions as u32) > 130 {
            return TestResult::discard();
        }
        let text = match window % 3 {
            0 => format!("mesh:{extent}x{window}x{dimensions}"),
            _ => format!("how:{extent},{window},{dimensions}"),
        };
        let problem = Problem::new(parse(&text).unwrap(), Collective::Alltoall).unwrap();
        let name = format!("window-exchange:load={},chunks={}", 1 + load % 9, 1 + chunks % 3);
        let algorithm = find(&Collective::Alltoall, &name).unwrap();
        let complete = problem.topology().factors().unwrap().iter().all(|row| row.is_complete());
        assert_eq!(algorithm.fits(&problem).is_err(), complete, "{text}");
        if complete {
            return TestResult::discard();
        }
        let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
        let proof = verify(&schedule).unwrap_or_else(|faults| panic!("{name} on {text}: {faults}"));
        assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{name} on {text}");
        assert!(proof.keeps(Ports::All));
        let checked = check_schedule(&to_json(&schedule), &["--ports", "all"]);
        assert!(checked.is_none_or(|checked| checked.is_ok()), "{text}");
        TestResult::passed()
    }
    QuickCheck::new().tests(15).quickcheck(holds as fn(usize, usize, usize, usize, usize) -> TestResult);
}

#[test]
fn window_exchange_is_refused_where_it_does_not_fit() {
    for text in [
        "line:257",
        "ghc:4,2",
        "how:5,4,2",
        "how:257,15,1",
        "how:401,16,1",
        "torus:4x4",
        "how-wrap:5,2,1",
        "how-wrap:20,3,1",
    ] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let error = find(&Collective::Alltoall, "window-exchange").unwrap().fits(&problem).unwrap_err().to_string();
        assert!(
            error.contains("of at most 256 nodes each, or 400 if the window is at least 16") && error.contains(text),
            "{error}"
        );
    }
}

/// By price, `auto` takes the exchange for long blocks, cut where that helps, and what the thesis
/// has stays available by name.
#[test]
fn auto_takes_the_balanced_exchange_for_long_blocks() {
    // A machine that charges for start-ups and channels.
    let channels = Machine::FREE.with_channel(1000).with_startup(10_000_000);
    for text in ["how:24,8,1", "how:6,3,2"] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let chosen = |bytes| select(&problem, "auto", &Terms::new(bytes, &channels)).unwrap().algorithm.name();
        assert!(chosen(1 << 20).starts_with("window-exchange"), "{text}: {}", chosen(1 << 20));
        // A number of chunks that is given stays, when the load is chosen by price.
        let given = select(&problem, "window-exchange:chunks=5", &Terms::new(1 << 20, &channels)).unwrap().algorithm;
        assert!(
            ["load=1,chunks=5", "load=8,chunks=5"].iter().any(|ends| given.name().ends_with(ends)),
            "{text}: {}",
            given.name()
        );
    }
}

/// Long blocks stay within a tenth of the least price, from 20 nodes on, by what `auto` takes on a
/// machine that charges for bytes over channels, also where messages are stored and forwarded.
#[test]
fn auto_stays_within_a_tenth_of_the_bound_for_long_blocks() {
    const BYTES: u64 = 1 << 24;
    let machine = Machine::FREE.with_channel(1000).with_startup(1000).with_switching(Switching::StoreAndForward);
    for text in [
        "how:20,3,1",
        "how:43,21,1",
        "how:55,27,1",
        "how:64,5,1",
        "how:130,3,1",
        "how:150,100,1",
        "how:257,40,1",
        "how:300,50,1",
        "how:257,250,1",
        "how:500,2,1",
        "how:600,60,1",
        "how:1100,550,1",
        "how:1500,2,1",
        "how:4500,10,1",
        "how-wrap:20,3,1",
        "how-wrap:90,11,1",
        "how-wrap:300,3,1",
        "how-wrap:596,146,1",
        "how-wrap:610,152,1",
        "how-wrap:1000,200,1",
        "how-wrap:5000,3,1",
    ] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let chosen = select(&problem, "auto", &Terms::new(BYTES, &machine)).unwrap().algorithm;
        let demand = Demand::claimed(&*chosen, &problem).unwrap();
        assert_eq!(demand.uncertain(&machine), [""; 0], "{text}: {}", chosen.name());
        let least = Demand::least(&Search::of(&problem), Ports::Unlimited);
        let [price, least] = [demand, least].map(|demand| demand.price(&machine, BYTES).total as f64);
        assert!((1.0..=1.1).contains(&(price / least)), "{text}: {} is at {}", chosen.name(), price / least);
    }
}

/// The direct exchange over routes that use all lengths alike: on long rows within a tenth of the
/// cut bound, which default routes exceed about (w + 1) / 2 times; as claimed in any number of
/// dimensions and chunks.
#[test]
fn direct_over_balanced_routes_is_near_the_bound() {
    for (text, most) in
        [("how:300,3,1", 1.01), ("how:260,12,1", 1.02), ("how-wrap:300,3,1", 1.0), ("how-wrap:257,20,1", 1.06)]
    {
        let row = parse(text).unwrap();
        let Factor::Windows { extent, window, wraps } = row.factors().unwrap()[0] else { panic!("{text}") };
        let links = window * (window + 1) / if wraps { 1 } else { 2 };
        let bound = (extent * extent / 4) as f64 / links as f64;
        let busiest = proof(text, &Collective::Alltoall, "direct-balanced").channel_transmission.as_f64();
        assert!((bound..=most * bound).contains(&busiest), "{text}: {busiest} of {bound}");
        let default = proof(text, &Collective::Alltoall, "direct").channel_transmission.as_f64();
        assert!(default > 0.4 * (window + 1) as f64 * bound, "{text}: {default} of {bound}");
    }
    fn holds(extent: usize, window: usize, dimensions: usize, chunks: usize, wraps: bool) -> TestResult {
        let dimensions = 1 + dimensions % 3;
        let name = format!("direct-balanced:chunks={}", 1 + chunks % 5);
        let extent = 4 + extent % [30, 6, 2][dimensions - 1];
        let window = 2 + window % (extent - 2);
        let text = format!("how{}:{extent},{window},{dimensions}", if wraps { "-wrap" } else { "" });
        let problem = Problem::new(parse(&text).unwrap(), Collective::Alltoall).unwrap();
        let algorithm = find(problem.collective(), &name).unwrap();
        let complete = problem.topology().factors().unwrap()[0].is_complete();
        assert_eq!(algorithm.fits(&problem).is_err(), complete, "{text}");
        if complete {
            return TestResult::discard();
        }
        let proof = proof(&text, &Collective::Alltoall, &name);
        assert_eq!((proof.startups, proof.transmission), (1, Volume::new(1, 1 + chunks as u64 % 5)), "{text}");
        let bound = (extent * extent / 4).div_ceil(window * (window + 1)) as u64;
        assert!(!wraps || dimensions > 1 || proof.channel_transmission <= (bound + 1).into(), "{text}");
        let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
        assert!(check_schedule(&to_json(&schedule), &[]).is_none_or(|checked| checked.is_ok()), "{text}");
        TestResult::passed()
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(usize, usize, usize, usize, bool) -> TestResult);
    let error = |text: &str, name: &str| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        find(problem.collective(), name).unwrap().fits(&problem).unwrap_err().to_string()
    };
    for text in ["torus:4x4", "how:9,1,1", "complete:5"] {
        let found = error(text, "direct-balanced");
        assert!(found.contains("with a window of 2 or more, not complete") && found.contains(text), "{found}");
    }
    for (text, name, wanted) in [
        (
            "how-wrap:400,2,2",
            "direct-balanced",
            "it needs at most 8388608 hops from a node to all others; how-wrap:400,2,2 has ",
        ),
        (
            "how-wrap:9000,2,1",
            "direct-balanced",
            "it needs at most 8388608 hops from a node to all others; how-wrap:9000,2,1 has ",
        ),
        (
            "how:4096,2,1",
            "direct-balanced:chunks=64",
            "P^2 / W times the number of chunks is 536870912; expected 1 to 16777216",
        ),
        ("how:8193,20,1", "direct-balanced", "P is 8193; expected 2 to 8192"),
        ("how:5000,300,1", "direct-balanced", "P W is 1500000; expected 1 to 1048576"),
        ("how-wrap:4096,65,1", "direct-balanced", "P W^2 is 17305600; expected 1 to 16777216"),
    ] {
        assert!(error(text, name).contains(wanted), "{}", error(text, name));
    }
}

//! Exchanges round rings and dimension by dimension: verified, and at the textbook's cost.

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem, Proof, Volume};
use necklace::topology::parse;
use quickcheck::quickcheck;

use crate::claims::proof;
use crate::fixtures::alltoall_proof;

/// Start-ups and blocks.
fn terms(proof: &Proof) -> (u64, Volume) {
    (proof.startups, proof.transmission)
}

#[test]
fn one_way_ring_costs_equation_4_7_and_both_ways_half() {
    for p in 1..=40_u64 {
        for kind in ["ring", "line"] {
            let text = format!("{kind}:{p}");
            let (one_way, both_ways) = (alltoall_proof(&text, "ring"), alltoall_proof(&text, "ring-both"));
            assert_eq!(terms(&one_way), (p - 1, Volume::new(p, 2) * (p - 1)), "{text}");
            assert_eq!(terms(&both_ways), (p - 1, (p * p / 4).into()), "{text}");
            let hop = if kind == "ring" || p < 2 { 1 } else { p - 1 };
            for proof in [one_way, both_ways] {
                assert!(proof.contention_free && proof.ports() == Ports::One, "{text}");
                assert_eq!(proof.hops, hop * (p - 1), "{text}");
            }
        }
    }
}

#[test]
fn by_dimension_costs_equation_4_8_on_a_square_mesh() {
    for side in 2..=9_u64 {
        let p = side * side;
        for kind in ["mesh", "torus"] {
            let proof = alltoall_proof(&format!("{kind}:{side}x{side}"), "by-dimension:within=ring");
            assert_eq!(terms(&proof), (2 * (side - 1), Volume::from(p * (side - 1))), "{kind} {side}");
            assert!(proof.contention_free && proof.ports() == Ports::One && proof.rearrangements == 1);
        }
    }
}

#[test]
fn by_dimension_follows_the_kind_of_each_factor() {
    let default = |text| terms(&alltoall_proof(text, "by-dimension"));
    for text in ["torus:5x4", "mesh:5x4", "ring:7", "line:6", "torus:1x6x1"] {
        assert_eq!(default(text), terms(&alltoall_proof(text, "by-dimension:within=ring")), "{text}");
    }
    for text in ["complete:9", "ghc:3x4", "hypercube:4", "torus:2x2x2", "hypercube:0"] {
        assert_eq!(default(text), terms(&alltoall_proof(text, "by-dimension:within=direct-rotated")), "{text}");
    }
    // Rows of four, then columns of three, complete both: single rounds to each other member.
    assert_eq!(default("ghc:3x4"), (3 + 2, (3 * 3 + 2 * 4).into()));
    // One exchange per dimension, of half of the held blocks.
    assert_eq!(default("hypercube:4"), (4, (4 * 8).into()));
    // A triangle is complete: two single messages in it, then one way round the line of four.
    assert_eq!(default("torus:3x4"), (2 + 3, (2 * 4 + 3 * 6).into()));
}

#[test]
fn direct_rows_then_columns_take_two_rounds() {
    let proof = alltoall_proof("torus:5x6", "by-dimension:within=direct");
    assert_eq!(terms(&proof), (2, (5 + 6).into()));
    assert_eq!((proof.messages, proof.volume), (5 + 4, Volume::from(5 * 5 + 4 * 6)));
    assert_eq!((proof.max_sends, proof.ports()), (5, Ports::Unlimited));
    // Complete rows have a channel for each.
    assert_eq!(alltoall_proof("complete:7", "by-dimension:within=direct").ports(), Ports::All);
}

#[test]
fn network_that_is_no_product_is_refused() {
    let graph = necklace::topology::Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
    let graph = Problem::new(std::sync::Arc::new(graph), Collective::Alltoall).unwrap();
    let problem = Problem::new(parse("complete:4").unwrap(), Collective::Alltoall).unwrap();
    let two = necklace::schedule::Placement::identity(2);
    let two = Problem::placed(problem.topology().clone(), two, Collective::Alltoall).unwrap();
    let algorithm = find(&Collective::Alltoall, "by-dimension").unwrap();
    assert!(algorithm.fits(&problem).is_ok());
    assert!(algorithm.fits(&graph).unwrap_err().to_string().contains("needs a product"));
    assert!(algorithm.fits(&two).unwrap_err().to_string().contains("there are 2 on 4"));
    let message = find(&Collective::Alltoall, "by-dimension:within=bruck").err().unwrap().to_string();
    assert!(message.contains("within=kind|ring|ring-both|direct-rotated|direct"), "{message}");
}

quickcheck! {
    fn every_product_is_exchanged_in_every_way(kind: u8, extents: (u8, u8, u8), within: u8, ring: bool) -> bool {
        let kind = ["mesh", "torus", "ghc", "hypercube", "complete"][usize::from(kind % 5)];
        let (a, b, c) = (extents.0 % 7 + 1, extents.1 % 6 + 1, extents.2 % 3 + 1);
        let text = match kind {
            "hypercube" => format!("hypercube:{a}"),
            "complete" => format!("complete:{}", a * b),
            grid => format!("{grid}:{a}x{b}x{c}"),
        };
        let within = ["kind", "ring", "ring-both", "direct-rotated", "direct"][usize::from(within % 5)];
        let proof = alltoall_proof(&text, &format!("by-dimension:within={within}"));
        let round = alltoall_proof(&text, if ring { "ring" } else { "ring-both" });
        proof.messages <= round.messages.max(1)
    }
}

/// Rows of windows are shifted by jumps of a window, and columns too, by one more where a row wraps.
#[test]
fn shift_goes_through_windows_by_jumps() {
    let shift = |text: &str, by: usize| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Shift { by }).unwrap();
        let algorithm = find(problem.collective(), "by-dimension").unwrap();
        let proof = proof(&*algorithm, &problem);
        assert!(proof.contention_free && proof.keeps(Ports::One), "{text} by {by}");
        proof.startups
    };
    for (kind, p) in ["how", "how-wrap"].into_iter().flat_map(|kind| (2..12_usize).map(move |p| (kind, p))) {
        for (window, by) in (1..p).flat_map(|window| (0..p).map(move |by| (window, by))) {
            let text = format!("{kind}:{p},{window},1");
            let is_complete = parse(&text).unwrap().channels() == p * (p - 1);
            let jumps = if is_complete { by.min(1) } else { by.min(p - by).div_ceil(window) };
            assert_eq!(shift(&text, by), jumps as u64, "{text} by {by}");
        }
    }
    for text in ["how:4,2,3", "how-wrap:5,1,2", "how:7,3,2", "how-wrap:7,2,2"] {
        let nodes = parse(text).unwrap().nodes();
        let most = (0..nodes).map(|by| shift(text, by)).max();
        let expected = if text == "how:4,2,3" { 3 } else { 2 * (7_u64 / 2).div_ceil(2) };
        assert!(most.is_some_and(|most| most <= expected), "{text}: {most:?}");
    }
}

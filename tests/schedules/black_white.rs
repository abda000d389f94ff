//! Black and white nodes (Juurlink, Sibeyn & Rao 1998, section 7.2): half the start-ups of a gossip
//! around whole rows, with one port and the fewest blocks.

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Problem, Proof, Volume};
use necklace::topology::parse;

use crate::bridgeheads::problem;
use crate::claims::proof;

const NAME: &str = "black-white";

/// Proves the allgather, and of few ranks the reductions that go the same way.
fn proved(topology: &str) -> Proof {
    let down = problem(topology);
    if down.ranks() <= 64 {
        for collective in [Collective::ReduceScatter, Collective::Allreduce] {
            let problem = Problem::new(parse(topology).unwrap(), collective).unwrap();
            proof(&*find(problem.collective(), NAME).unwrap(), &problem);
        }
    }
    proof(&*find(&Collective::Allgather, NAME).unwrap(), &down)
}

/// All ranks receive the blocks of the N - 1 others, one message at a time.
fn takes(topology: &str, startups: usize) {
    let proof = proved(topology);
    let (ranks, figures) = (problem(topology).ranks() as u64, proof);
    assert_eq!(figures.startups, startups as u64, "{topology}");
    assert_eq!(figures.received, Volume::from(ranks - 1), "{topology}");
    assert!(figures.contention_free, "{topology}");
}

#[test]
fn squares_of_even_extents_take_half_the_startups_of_their_rows() {
    for n in (4..=30).step_by(2) {
        for kind in ["torus", "mesh"] {
            takes(&format!("{kind}:{n}x{n}"), n);
        }
    }
}

#[test]
fn more_dimensions_take_half_the_startups_too() {
    for (topology, startups) in [
        ("torus:4x4x4", 6),
        ("mesh:4x4x4", 6),
        ("torus:6x6x6", 9),
        ("mesh:6x6x6", 9),
        ("torus:8x8x8", 12),
        ("torus:4x4x4x4", 8),
        ("torus:4x4x4x4x4", 10),
    ] {
        takes(topology, startups);
    }
}

#[test]
fn unequal_extents_take_as_many_startups_as_the_largest() {
    for (rows, columns) in (2..=16).step_by(2).flat_map(|rows| (2..=16).step_by(2).map(move |columns| (rows, columns)))
    {
        let largest = rows.max(columns);
        if largest > 2 {
            for kind in ["torus", "mesh"] {
                assert_eq!(proved(&format!("{kind}:{rows}x{columns}")).startups, largest);
            }
        }
    }
    for (topology, startups) in [("torus:2x4x6", 9), ("mesh:6x2x4", 9), ("torus:2x2x4", 6), ("torus:8x4x2x2", 16)] {
        assert_eq!(proved(topology).startups, startups, "{topology}");
    }
}

#[test]
fn other_networks_are_refused() {
    for (topology, instead) in [
        ("ring:8", "circgos"),
        ("line:4", "circgos"),
        ("hypercube:4", "high-dim-gos"),
        ("torus:2x2x2", "high-dim-gos"),
        ("torus:4x5", "high-dim-gos"),
        ("mesh:3x4", "high-dim-gos"),
        ("complete:16", ""),
        ("ghc:4,2", ""),
        ("how:8,3,1", ""),
        ("torus:4096x2", ""),
    ] {
        let lacks = find(&Collective::Allgather, NAME).unwrap().lacks(&problem(topology));
        let needs = "it needs a product of two or more rings or lines of even extents, not all 2 and together at most 4096, with rank i on node i; this is ";
        let hint = if instead.is_empty() { String::new() } else { format!("; use {instead}") };
        assert_eq!(lacks.unwrap(), format!("{needs}{topology}{hint}"));
        if !instead.is_empty() {
            assert!(find(&Collective::Allgather, instead).unwrap().fits(&problem(topology)).is_ok(), "{topology}");
        }
    }
}

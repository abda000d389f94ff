//! Balanced trees on tori with the axes in any order: the least transmission, in verified
//! schedules.

use necklace::algorithm::{candidates, find};
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem, Volume};
use necklace::topology::parse;

use crate::claims::proof;

fn problem(text: &str, collective: Collective) -> Problem {
    Problem::new(parse(text).unwrap(), collective).unwrap()
}

#[test]
fn balanced_trees_send_the_least_on_tori_with_axes_in_any_order() {
    let texts = [
        "torus:2x4x2",
        "torus:2x2x4",
        "torus:4x2x2",
        "torus:3x5x4",
        "torus:2x5",
        "torus:5x2",
        "mesh:2x1x2",
        "torus:1x5x2",
        "torus:2x30",
        "torus:30x2",
        "torus:17x23",
        "torus:29x30",
        "torus:30x29",
    ];
    for text in texts {
        let problem = problem(text, Collective::Allgather);
        let channels = problem.topology().channels() / problem.ranks();
        let least = (problem.ranks() - 1).div_ceil(channels);
        let distance = |node| problem.topology().distance(necklace::Node::new(0), necklace::Node::new(node));
        let diameter = (0..problem.ranks()).map(distance).max().unwrap();
        let more = format!("balanced-trees:rounds={least}");
        for (name, rounds) in [("balanced-trees", diameter), (&*more, least.max(diameter))] {
            let proof = proof(&*find(problem.collective(), name).unwrap(), &problem);
            assert!(proof.contention_free && proof.keeps(Ports::All), "{name} on {text}");
            assert_eq!(proof.transmission, Volume::from(least as u64), "{name} on {text}");
            assert!((diameter as u64..=rounds as u64).contains(&proof.startups), "{name} on {text}");
        }
    }
}

/// As many start-ups as the diameter, and the least transmission.
#[test]
fn balanced_trees_keep_their_claims_on_extents_of_2_to_30() {
    let rings = (2..=30).map(|n| format!("ring:{n}"));
    let squares = (2..=30).filter(|n| n % 3 == 0 || *n < 12).map(|n| format!("torus:{n}x{n}"));
    let unequal = (2..=30).step_by(4).map(|n| format!("torus:{n}x{}", 32 - n));
    for text in rings.chain(squares).chain(unequal) {
        let problem = problem(&text, Collective::Allgather);
        let proof = proof(&*find(problem.collective(), "balanced-trees").unwrap(), &problem);
        let distance = |node| problem.topology().distance(necklace::Node::new(0), necklace::Node::new(node));
        let diameter = (0..problem.ranks()).map(distance).max().unwrap() as u64;
        let channels = problem.topology().channels() / problem.ranks();
        let least = (problem.ranks() - 1).div_ceil(channels) as u64;
        assert_eq!((proof.startups, proof.transmission), (diameter, Volume::from(least)), "{text}");
    }
}

#[test]
fn balanced_trees_have_variants_only_where_they_may_send_less() {
    let variants = |text: &str| {
        let candidates = candidates(&problem(text, Collective::Allgather)).into_iter();
        candidates.map(|one| one.name()).filter(|name| name.starts_with("balanced-trees:")).collect::<Vec<_>>()
    };
    for text in ["torus:29x2", "torus:17x5", "complete:9", "mesh:4x4"] {
        assert_eq!(variants(text), [""; 0], "{text}");
    }
    assert_eq!(variants("torus:4x4"), ["balanced-trees:parts=4"]);
    assert_eq!(variants("torus:2x5x2"), ["balanced-trees:rounds=5", "balanced-trees:parts=4"]);
    // The channels of a node carry 9 / 3 blocks: whole ones by a path that is not the shortest.
    assert_eq!(variants("torus:2x5"), [""; 0]);
    for collective in [Collective::Allgather, Collective::ReduceScatter] {
        let problem = problem("torus:2x5", collective);
        for name in ["balanced-trees", "balanced-trees:parts=3"] {
            let proof = proof(&*find(problem.collective(), name).unwrap(), &problem);
            assert_eq!((proof.startups, proof.transmission), (3, Volume::from(3)), "{name}");
        }
    }
}

#[test]
fn balanced_trees_take_as_many_rounds_as_the_diameter_or_more() {
    for (text, diameter) in [("torus:5x6", 5), ("hypercube:4", 4), ("ring:9", 4), ("ghc:3x4", 2), ("mesh:2x2", 2)] {
        for collective in [Collective::Allgather, Collective::ReduceScatter, Collective::Allreduce] {
            let problem = problem(text, collective);
            let lacks = |rounds: usize| {
                let name = format!("balanced-trees:rounds={rounds}");
                find(problem.collective(), &name).unwrap().lacks(&problem)
            };
            for rounds in 1..diameter {
                let wanted = format!("rounds={rounds}: it needs at least {diameter}, the diameter");
                assert_eq!(lacks(rounds), Some(wanted), "{text}");
            }
            assert_eq!([0, diameter, 1 << 16].map(lacks), [None, None, None], "{text}");
        }
    }
}

#[test]
fn balanced_trees_point_to_packed_trees_on_meshes() {
    let problem = problem("mesh:3x3", Collective::Allgather);
    let lacks = find(problem.collective(), "balanced-trees").unwrap().lacks(&problem);
    let wanted = "it needs a product of rings, complete networks and windows that wrap round, with rank i on node i; on other networks of up to 1024 nodes use tree-packing";
    assert_eq!(lacks.as_deref(), Some(wanted));
    let packing = find(problem.collective(), "tree-packing").unwrap();
    assert!(packing.fits(&problem).is_ok());
    let refused = |text: &str| packing.lacks(&self::problem(text, Collective::Allgather));
    let alike = "it is not for products of rings, complete networks and windows that wrap round; use balanced-trees";
    assert_eq!(["complete:5", "torus:40x40"].map(refused), [(); 2].map(|()| Some(alike.to_owned())));
    assert_eq!(refused("mesh:40x40").as_deref(), Some("it needs at most 1024 ranks; there are 1600; use high-dim-gos"));
}

//! Collectives with a root from bridgeheads: every schedule verified and counted.

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::Problem;
use necklace::topology::parse;

use crate::claims::proof;

pub(crate) fn rooted(topology: &str, name: &str, root: usize) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::named(name, Rank::new(root)).unwrap()).unwrap()
}

/// Proves the collectives with a root, or two of them, from every root of a network, for some numbers
/// of bridgeheads. Each root has one number of steps more than the least.
fn rooted_proved(topology: &str, names: &[&str], heads: impl Fn(usize) -> Vec<usize>) {
    let has_one_port = !topology.starts_with("line") && !topology.starts_with("mesh");
    for (root, name) in
        (0..parse(topology).unwrap().nodes()).flat_map(|root| names.iter().map(move |name| (root, name)))
    {
        let problem = rooted(topology, name, root);
        let proved = |text: &str| proof(&*find(problem.collective(), text).unwrap(), &problem);
        proved("bridgeheads");
        proved("bridgeheads:colours=one");
        if ["gather", "scatter"].contains(name) {
            continue;
        }
        for a in heads(root) {
            let b = (a / 2).max(1) + root % 4;
            proved(&format!("bridgeheads:a={a},b={b}"));
            if has_one_port {
                let b = (a - 1).max(1) + root % 4;
                proved(&format!("bridgeheads:a={a},b={b},ports=one"));
            }
        }
    }
}

/// Broadcast and gather, and these in reverse, from every root.
#[test]
fn collectives_with_a_root_go_through_bridgeheads() {
    let all = ["broadcast", "reduce", "gather", "scatter"];
    for n in 1..=30 {
        for topology in [format!("ring:{n}"), format!("line:{n}")] {
            if n <= 9 {
                rooted_proved(&topology, &all, |_| (1..=n).collect());
            } else {
                // A network has either these or their reverse, and each root one number.
                rooted_proved(
                    &topology,
                    if n % 2 == 0 { &["broadcast", "gather"] } else { &["reduce", "scatter"] },
                    |root| vec![1 + 7 * root % n],
                );
            }
        }
    }
    for (topology, longest) in [
        ("torus:4x4", 4),
        ("torus:5x3", 5),
        ("torus:2x7", 7),
        ("mesh:4x5", 5),
        ("mesh:2x2x3", 3),
        ("hypercube:4", 2),
        ("torus:1x9", 9),
    ] {
        rooted_proved(topology, &all, |root| vec![1 + root % longest, longest]);
    }
    rooted_proved("torus:3x4x5", &["reduce", "gather"], |root| vec![1 + root % 5]);
    rooted_proved("mesh:7x7", &["broadcast", "scatter"], |root| vec![1 + root % 7]);
}

/// Rounds that cut the block into numbers of parts without a common divisor.
#[test]
fn many_steps_cut_a_block_into_parts_of_one_size() {
    for (topology, text) in [
        ("ring:16", "bridgeheads:a=3,b=100"),
        ("mesh:16x4", "bridgeheads:a=3,b=70"),
        ("line:5", "bridgeheads:a=3,b=8192"),
        ("torus:9x8", "bridgeheads:a=9"),
    ] {
        for name in ["broadcast", "reduce"] {
            let problem = rooted(topology, name, 3);
            proof(&*find(problem.collective(), text).unwrap(), &problem);
        }
    }
    let problem = rooted("ring:9", "broadcast", 0);
    let error = find(problem.collective(), "bridgeheads:a=3,b=8193").unwrap().fits(&problem).unwrap_err();
    assert!(matches!(error, BuildError::Unfit { needs, .. } if needs == "b=8193: it needs at most 8192"));
}

/// Each start-up triples the nodes that have the block, or whose blocks are in one place.
#[test]
fn collectives_with_a_root_take_logarithms_to_base_3() {
    for n in 3..=30_u64 {
        let logarithm = (0..).find(|&power| 3_u64.pow(power) >= n).unwrap();
        for (name, text) in [("broadcast", "bridgeheads:a=3,b=1"), ("gather", "bridgeheads")] {
            let collective = Collective::named(name, Rank::new(n as usize / 3)).unwrap();
            let problem = Problem::new(parse(&format!("ring:{n}")).unwrap(), collective).unwrap();
            let proof = proof(&*find(problem.collective(), text).unwrap(), &problem);
            assert_eq!(proof.startups, u64::from(logarithm), "{name} on ring:{n}");
        }
    }
}

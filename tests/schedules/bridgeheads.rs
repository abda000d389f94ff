//! Gossiping from bridgeheads (Juurlink, Sibeyn & Rao 1998): every schedule verified and counted,
//! for extents 2 to 30, and the figures of the paper.

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::{Ports, Problem, Proof, Volume, verify_sample};
use necklace::topology::parse;

use crate::bridgehead_roots::rooted;
use crate::claims::proof;

pub(crate) fn problem(text: &str) -> Problem {
    Problem::new(parse(text).unwrap(), Collective::Allgather).unwrap()
}

/// Proves the allgather, and of few ranks the reductions that go the same way.
fn proved(topology: &str, algorithm: &str) -> Proof {
    let ranks = problem(topology).ranks();
    if ranks <= 27 || ranks == 64 {
        reductions_proved(topology, algorithm);
    }
    proof(&*find(&Collective::Allgather, algorithm).unwrap(), &problem(topology))
}

fn reductions_proved(topology: &str, algorithm: &str) {
    for collective in [Collective::ReduceScatter, Collective::Allreduce] {
        let problem = Problem::new(parse(topology).unwrap(), collective).unwrap();
        proof(&*find(problem.collective(), algorithm).unwrap(), &problem);
    }
}

fn fits(topology: &str, algorithm: &str) -> bool {
    find(&Collective::Allgather, algorithm).unwrap().fits(&problem(topology)).is_ok()
}

/// All a of up to 16 nodes, and every second of more, the even or the odd ones in turn; for each the
/// least b, one more and twice as many.
#[test]
fn rings_and_lines_of_2_to_30_nodes_gossip_with_many_parameters() {
    for kind in ["ring", "line"] {
        for n in 2..=30 {
            let topology = format!("{kind}:{n}");
            proved(&topology, "circgos");
            for a in (1..=n).filter(|a| n <= 16 || (n / 2 + a) % 2 == 0) {
                let least = if a == 1 { 1 } else { a / 2 };
                for b in [least, least + 1, 2 * least] {
                    proved(&topology, &format!("circgos:a={a},b={b}"));
                }
            }
        }
    }
}

#[test]
fn squares_of_2_to_30_gossip_from_diagonals_and_by_axis() {
    for (kind, parity) in [("torus", 0), ("mesh", 1)] {
        // Of the large ones, a torus of even and a mesh of odd extents, and both of 30.
        for n in (2..=30_usize).filter(|n| *n <= 16 || n % 2 == parity || *n == 30) {
            let topology = format!("{kind}:{n}x{n}");
            // Beyond half of n, they are as n.
            for a in (2..=n).filter(|a| (n <= 9 && (2 * a <= n + 1 || *a == n)) || *a == 2 + n % 8) {
                proved(&topology, &format!("torgos:a={a}"));
            }
            if n > 16 && n % 4 == 2 {
                proved(&topology, "high-dim-gos");
            }
            if n <= 16 {
                proved(&topology, "torgos:colours=one");
                proved(&topology, "high-dim-gos");
                proved(&topology, "high-dim-gos:a=1,colours=one");
                proved(&topology, &format!("high-dim-gos:a={n}"));
            }
        }
    }
}

/// If a divides the side, one row stands for all nodes when claims are counted.
#[test]
fn claims_on_fitting_diagonals_are_exact_with_any_steps() {
    for (extents, a, parameters) in [
        ("8x8", 2, ["b=5", "b=3,growth=4", "colours=one"]),
        ("8x8", 4, ["b=2", "b=7", "b=9,growth=2,colours=one"]),
        ("9x9", 3, ["b=1", "b=4", "b=8,growth=9"]),
        ("12x12", 2, ["b=6,growth=6", "b=3,growth=3,colours=one", "b=40"]),
        ("12x12", 6, ["b=3", "b=1,growth=2", "b=20"]),
        ("15x15", 5, ["b=2", "b=17", "growth=3"]),
        ("6x6x6", 3, ["b=1", "b=5,growth=2", "b=2,colours=one"]),
        ("4x4x4x4", 2, ["b=1", "b=6", "b=3,colours=one"]),
    ] {
        let algorithm = if extents.matches('x').count() == 1 { "torgos" } else { "cubgos" };
        for parameters in parameters {
            proved(&format!("torus:{extents}"), &format!("{algorithm}:a={a},{parameters}"));
        }
    }
    for n in [6, 8, 9, 12] {
        for a in (2..n).filter(|a| n % a == 0) {
            proved(&format!("torus:{n}x{n}"), &format!("torgos:a={a},b={},ports=one,colours=one", a + 1));
        }
    }
}

/// Large networks are counted where few nodes stand for all.
#[test]
fn large_networks_take_parameters_that_few_nodes_stand_for() {
    for (topology, algorithm, right) in [
        ("torus:243x243", "torgos:a=9", true),
        ("torus:243x243", "torgos:a=10", false),
        ("torus:81x81x81", "cubgos:a=27", true),
        ("torus:65x65", "torgos", true),
        ("torus:65x65", "torgos:growth=3", true),
        ("torus:65x65", "torgos:a=3", false),
        ("torus:17x17x17", "cubgos", true),
        ("torus:81x81x81", "cubgos:a=2", false),
        ("torus:100x100", "high-dim-gos:a=7,b=3", true),
        ("mesh:100x100", "high-dim-gos:a=7,b=3", true),
        ("mesh:100x100", "torgos:a=10", false),
        ("ring:4096", "circgos:a=7", true),
        ("ring:4097", "circgos:a=7", false),
    ] {
        assert_eq!(fits(topology, algorithm), right, "{algorithm} on {topology}");
    }
    for (topology, algorithm, needs) in [
        (
            "torus:243x243",
            "torgos:a=10",
            "a=10: for more than 4096 ranks it needs a divisor of 243, the nodes of a row: 3, 9, 27, 81, 243",
        ),
        ("mesh:100x100", "torgos", "on lines it needs at most 4096 ranks; there are 10000"),
        ("ring:4097", "circgos", "it needs extents of at most 4096 together; they are 4097; use balanced-trees"),
    ] {
        let error = find(&Collective::Allgather, algorithm).unwrap().fits(&problem(topology)).unwrap_err();
        assert!(error.to_string().contains(needs), "{error}");
    }
}

/// Larger cubes are too many blocks to verify as a whole: the parts of a few ranks are, with those
/// of their peers.
#[test]
fn cubes_of_9_to_30_gossip_from_generalized_diagonals() {
    for topology in ["torus:9x9x9", "torus:10x10x10", "mesh:9x9x9"] {
        proof(&*find(&Collective::Allgather, "cubgos").unwrap(), &problem(topology));
    }
    for n in [12, 15, 16, 21, 27, 30] {
        let problem = problem(&format!("torus:{n}x{n}x{n}"));
        let algorithm = find(&Collective::Allgather, "cubgos").unwrap();
        let sample = [0, problem.ranks() / 2 + 1].map(necklace::Rank::new);
        let checked = verify_sample(&*algorithm, &problem, sample, |_| ());
        let checked = checked.unwrap_or_else(|error| panic!("{n}: {error}"));
        assert_eq!(Some(checked.rounds as u64), algorithm.claims(&problem).startups, "{n}");
    }
}

/// HIGH-DIM-GOS (section 4.3) chooses the parameters of each phase. Lemma 6: the start-ups of
/// Approach 2-1, a logarithmic gossip along the rows and one from all nodes along the columns.
#[test]
fn phases_have_parameters_of_their_own() {
    for n in 3..=16_u64 {
        let log = (0..).find(|&power| 3_u64.pow(power) >= n).unwrap();
        let proof = proved(&format!("torus:{n}x{n}"), &format!("high-dim-gos:a=1,b=1,a2={n}"));
        assert_eq!(proof.startups, n / 2 + 2 * u64::from(log), "{n}");
        if n <= 9 {
            // Approach 2-2-1.
            let proof = proved(&format!("torus:{n}x{n}x{n}"), &format!("high-dim-gos:a=1,b=1,a3={n}"));
            assert_eq!(proof.startups, n / 2 + 4 * u64::from(log), "{n}");
        }
    }
    for (topology, parameters) in [
        ("torus:9x14", "a=2,b=1,a2=5,b2=4"),
        ("torus:6x5", "a=6,a2=1,b2=2"),
        ("torus:7x7", "a=3,a2=7,colours=one"),
        ("torus:8x6", "a=2,a2=4,b2=6,ports=one"),
        ("mesh:11x8", "a=3,b=2,a2=8"),
        ("mesh:5x9", "a2=2"),
        ("torus:3x4x5", "a=1,a2=5"),
        ("torus:3x4x5", "a=1,b=1,a3=5"),
        ("torus:5x4x3", "a=2,a2=3,a3=1,b3=2"),
        ("torus:3x4x5", "a=3,a2=1,a3=4,colours=one"),
        ("torus:4x3x5", "a=2,a2=3,a3=5,ports=one"),
        ("mesh:3x4x3x2", "a=1,a2=2,b2=2,a3=3"),
        ("mesh:4x5x4", "a=2,b=2,a2=4,b2=3"),
    ] {
        proved(topology, &format!("high-dim-gos:{parameters}"));
    }
}

/// A round without messages would count as a start-up in the search.
#[test]
fn every_round_of_a_gossip_on_diagonals_has_messages() {
    let squares = [5, 8, 11, 13, 14]
        .into_iter()
        .flat_map(|n| ["mesh", "torus"].map(|kind| (format!("{kind}:{n}x{n}"), "torgos", n)));
    let cubes = (2..=5).flat_map(|n| ["mesh", "torus"].map(|kind| (format!("{kind}:{n}x{n}x{n}"), "cubgos", n)));
    for (topology, name, n) in squares.chain(cubes) {
        for a in 2..=n {
            let proof = proof(&*find(&Collective::Allgather, &format!("{name}:a={a}")).unwrap(), &problem(&topology));
            assert_eq!(proof.startups, proof.rounds, "{name}:a={a} on {topology}");
        }
    }
}

#[test]
fn concentrations_in_three_and_four_steps_are_reversed() {
    for topology in ["ring:54", "ring:55", "ring:81", "line:81"] {
        for algorithm in ["circgos:a=1", "circgos:a=2", "circgos"] {
            proved(topology, algorithm);
            reductions_proved(topology, algorithm);
        }
    }
}

#[test]
fn more_steps_than_there_are_blocks_are_harmless() {
    for (topology, algorithm) in
        [("ring:9", "circgos:a=3,b=9"), ("line:10", "circgos:a=2,b=10"), ("torus:6x6", "torgos:a=2,b=24")]
    {
        proved(topology, algorithm);
        reductions_proved(topology, algorithm);
    }
}

#[test]
fn unequal_extents_gossip_by_axis() {
    proved("torus:30x4", "high-dim-gos:a=5,b=2");
    proved("torus:30x4", "high-dim-gos:a=30,b=15");
    proved("mesh:3x20", "high-dim-gos:a=4,b=3");
    for (a, b) in (2..=30).zip((2..=30).rev()).chain([(2, 30), (7, 12), (16, 3)]) {
        proved(&format!("torus:{a}x{b}"), "high-dim-gos");
        proved(&format!("mesh:{a}x{b}"), "high-dim-gos:a=2");
    }
    for text in ["torus:3x4x5", "mesh:5x2x3", "torus:2x2x7", "torus:4x3x2x2"] {
        proved(text, "high-dim-gos");
    }
}

#[test]
fn cubes_gossip_from_generalized_diagonals() {
    for kind in ["torus", "mesh"] {
        for n in 2..=8_usize {
            for a in (2..=n).filter(|a| *a == n || 2 * *a <= n) {
                proved(&format!("{kind}:{n}x{n}x{n}"), &format!("cubgos:a={a}"));
            }
        }
        proved(&format!("{kind}:4x4x4"), "cubgos:a=2,b=3,colours=one");
        proved(&format!("{kind}:3x3x3x3"), "cubgos");
        proved(&format!("{kind}:4x4x4x4"), "cubgos");
        proved(&format!("{kind}:5x5x5x5"), "cubgos:a=2,b=3");
    }
    proved("hypercube:5", "cubgos");
}

/// Section 4.1: Approach 1 takes n / 2 start-ups of a block each, Approach 2 the two logarithms.
/// Lemma 5, with halves and logarithms rounded to steps.
#[test]
fn start_ups_are_those_of_the_lemmas() {
    let startups = |topology: &str, algorithm: &str| proved(topology, algorithm).startups;
    for n in 3..=30_u64 {
        let ring = format!("ring:{n}");
        assert_eq!(startups(&ring, &format!("circgos:a={n}")), n / 2);
        let log = |n: u64| (0..).find(|&power| 3_u64.pow(power) >= n).unwrap();
        assert_eq!(startups(&ring, "circgos:a=1"), 2 * u64::from(log(n)), "{ring}");
    }
    for (n, a, b, logs) in [(27_u64, 3_u64, 1_u64, 2_u64), (27, 3, 2, 2), (16, 4, 2, 1), (25, 5, 4, 1), (9, 3, 2, 1)] {
        let concentrate = (0..).find(|&power| 3_u64.pow(power) >= n / a).unwrap();
        let wanted = u64::from(concentrate) + a / 2 + logs * b;
        assert_eq!(startups(&format!("ring:{n}"), &format!("circgos:a={a},b={b}")), wanted, "{n}, {a}, {b}");
        for (d, name) in [(2, "torgos"), (3, "cubgos")] {
            if n > 9 && d == 3 {
                continue;
            }
            let torus = format!("torus:{}", vec![n.to_string(); d as usize].join("x"));
            let columns = (d - 1) * (logs + 1) * (a / 2);
            assert_eq!(startups(&torus, &format!("{name}:a={a},b={b}")), wanted + columns, "{torus}, {a}, {b}");
        }
    }
}

/// One send and one receive at a time (section 7.2), on all rings and products of rings.
#[test]
fn one_port_suffices_on_rings_and_tori() {
    for n in 2..=30 {
        let ring = format!("ring:{n}");
        proved(&ring, "circgos:ports=one");
        for a in 1..=n {
            let least = if a == 1 { 1 } else { a - 1 };
            for b in [least, least + 1, 2 * least].map(|b| b.min(n)) {
                proved(&ring, &format!("circgos:a={a},b={b},ports=one"));
            }
        }
    }
    for n in 2..=12_usize {
        let torus = format!("torus:{n}x{n}");
        proved(&torus, "high-dim-gos:ports=one");
        for a in (2..=n).filter(|a| n % a == 0) {
            proved(&torus, &format!("torgos:a={a},ports=one"));
        }
    }
    for (topology, algorithm) in [
        ("torus:3x4x5", "high-dim-gos"),
        ("torus:2x7", "high-dim-gos"),
        ("hypercube:4", "high-dim-gos:a=1"),
        ("torus:4x4x4", "cubgos:a=4"),
        ("torus:6x6x6", "cubgos"),
        ("torus:3x3x3x3", "cubgos"),
    ] {
        let separator = if algorithm.contains(':') { ',' } else { ':' };
        let text = format!("{algorithm}{separator}ports=one");
        proved(topology, &text);
        assert_eq!(find(&Collective::Allgather, &text).unwrap().about().ports, Ports::One);
    }
}

/// The algorithms of Fig. 6 on 64 nodes, and their start-ups: n - 1 or 2 log_2 n along each row.
#[test]
fn one_port_takes_the_startups_of_section_7_2() {
    for (algorithm, startups) in [
        ("high-dim-gos:a=8,ports=one", 14),
        ("high-dim-gos:a=1,b=1,ports=one", 12),
        ("high-dim-gos:a=1,b=1,a2=8,ports=one", 13),
        ("torgos:a=2,b=1,ports=one", 8),
        ("black-white", 8),
    ] {
        let proof = proved("torus:8x8", algorithm);
        assert!(proof.keeps(Ports::One) && proof.contention_free, "{algorithm}");
        assert_eq!(proof.startups, startups, "{algorithm}");
    }
}

/// Colours use several channels of a node at once, which one port cannot.
#[test]
fn one_port_implies_one_colour() {
    for (name, given) in [
        ("torgos:a=4,ports=one", "torgos:a=4,colours=one,ports=one"),
        ("high-dim-gos:ports=one", "high-dim-gos:ports=one,colours=one"),
        ("high-dim-gos:a=2,ports=one", "high-dim-gos:a=2,colours=all,ports=one"),
    ] {
        let [short, long] = [name, given].map(|text| find(&Collective::Allgather, text).unwrap());
        assert_eq!([short.name(), long.name()], [name, name]);
        assert_eq!(short.settings(), long.settings());
        let proof = proved("torus:8x8", name);
        assert!(proof.keeps(Ports::One), "{name}");
    }
    let problem = rooted("torus:4x5", "broadcast", 3);
    let broadcast = find(problem.collective(), "bridgeheads:a=2,colours=one,ports=one").unwrap();
    assert_eq!(broadcast.name(), "bridgeheads:a=2,ports=one");
    assert!(proof(&*broadcast, &problem).keeps(Ports::One));
}

/// Section 7.2: n - 1 steps if all nodes are bridgeheads, and twice the logarithm to base 2 if one
/// is. The paper's times are those of nodes that do not send and receive at once.
#[test]
fn one_port_takes_the_start_ups_of_the_paper() {
    for n in 2..=30_u64 {
        let ring = format!("ring:{n}");
        let all = proved(&ring, &format!("circgos:a={n},ports=one"));
        assert_eq!((all.startups, all.transmission), (n - 1, Volume::from(n - 1)), "{ring}");
        let log = u64::from((n - 1).checked_ilog2().map_or(0, |log| log + 1));
        assert_eq!(proved(&ring, "circgos:a=1,b=1,ports=one").startups, 2 * log, "{ring}");
    }
}

/// Theorem 4: the transfer time is within a / (a - 1) of the least.
#[test]
fn transmission_on_diagonals_is_near_the_bound() {
    for (topology, name, a) in [("torus:9x9", "torgos", 9), ("torus:16x16", "torgos", 16), ("torus:8x8x8", "cubgos", 8)]
    {
        let problem = problem(topology);
        let channels = 2 * topology.matches('x').count() as u64 + 2;
        let took = proved(topology, &format!("{name}:a={a}")).transmission;
        let received = Volume::from(problem.ranks() as u64 - 1);
        assert!(took * channels * (a - 1) <= received * (a + 1), "{topology}: {took}");
    }
}

/// Section 7.2 has a parameter each for the bridgeheads and for the factor of a round. The best
/// settings of Figure 5 on 64 nodes are (a, 2, 1): each start-up doubles the nodes that have all.
#[test]
fn bridgeheads_grow_by_a_factor_of_their_own() {
    for log in 1..=6_u64 {
        let text = format!("circgos:a={},b=1,growth=2,ports=one", 1 << log);
        assert_eq!(proved("ring:64", &text).startups, 2 * (6 - log) + (1 << log) - 1, "{text}");
    }
    for n in (5..=30).step_by(5) {
        for growth in [3, 2, 4].into_iter().chain([n / 2, n]) {
            for a in [1, 2, 3, n / 2] {
                if growth > 2 || a > 1 {
                    proved(&format!("ring:{n}"), &format!("circgos:a={a},growth={growth}"));
                    proved(&format!("line:{n}"), &format!("circgos:a={a},b={},growth={growth}", growth / 2 + 1));
                }
                proved(&format!("ring:{n}"), &format!("circgos:a={a},growth={growth},ports=one"));
            }
        }
    }
    for topology in ["ring:2", "line:2"] {
        proved(topology, "circgos:a=1,growth=2");
    }
    proved("hypercube:3", "high-dim-gos:a=1,growth=2");
    for (topology, algorithm) in [
        ("torus:13x13", "torgos:a=3,growth=2"),
        ("torus:16x16", "torgos:a=2,b=2,growth=4"),
        ("mesh:12x12", "torgos:a=4,growth=2"),
        ("torus:7x10", "high-dim-gos:a=2,a2=4,growth=3"),
        ("torus:8x8x8", "cubgos:a=2,growth=4"),
        ("torus:12x12", "torgos:a=4,growth=2,ports=one"),
    ] {
        proved(topology, algorithm);
    }
}

#[test]
fn unfit_networks_and_parameters_are_refused_with_a_remedy() {
    let lacks = |topology: &str, algorithm: &str| {
        let error = find(&Collective::Allgather, algorithm).unwrap().fits(&problem(topology)).unwrap_err();
        match error {
            BuildError::Unfit { needs, .. } => needs,
            other => panic!("{other}"),
        }
    };
    let cases = [
        ("ring:27", "circgos:a=40", "a=40: it needs 1 to 27, the nodes of a row"),
        ("ring:27", "circgos:a=8,b=3", "b=3: with a=8 it needs at least 4"),
        ("ring:27", "circgos:a=3,b=28", "b=28: it needs at most 27"),
        ("torus:9x9", "torgos:a=2,b=37", "b=37: it needs at most 36"),
        ("ring:27", "circgos:b=3", "b=3: it needs a too, which says how large b must be"),
        ("torus:9x9", "torgos:a=10", "a=10: it needs 2 to 9, the nodes of a row"),
        ("torus:9x9", "high-dim-gos:a=1,a2=10", "a2=10: it needs 1 to 9, the nodes of a row"),
        ("torus:9x9", "high-dim-gos:b2=4", "b2=4: it needs a2 too, which says how large b2 must be"),
        ("torus:9x9", "high-dim-gos:a3=3", "a3=3: it needs three or more rings or lines; there are 2"),
        ("torus:9x9", "high-dim-gos:a=3,b3=3", "b3=3: it needs three or more rings or lines; there are 2"),
        ("torus:4x4x4", "high-dim-gos:b3=4", "b3=4: it needs a3 too, which says how large b3 must be"),
        ("torus:4x4x4", "high-dim-gos:a3=5", "a3=5: it needs 1 to 4, the nodes of a row"),
        ("torus:4x4x4", "high-dim-gos:a3=4,b3=1", "b3=1: with a3=4 it needs at least 2"),
        ("torus:9x9", "high-dim-gos:a=1,a2=8,b2=3", "b2=3: with a2=8 it needs at least 4"),
        ("ring:27", "circgos:a=1,growth=2", "growth=2: with a single bridgehead it needs 3 to 27"),
        ("ring:3", "circgos:a=1,growth=2", "growth=2: with a single bridgehead it needs 3"),
        ("ring:2", "circgos:a=1,growth=3", "growth=3: it needs 2"),
        ("ring:27", "circgos:a=9,b=1,growth=4", "b=1: with growth=4 it needs at least 2"),
        ("ring:27", "circgos:a=8,b=6,ports=one", "b=6: with a=8 it needs at least 7"),
        (
            "line:27",
            "circgos:ports=one",
            "ports=one: blocks go round in one direction; it needs a ring or a product of rings",
        ),
        (
            "mesh:9x9",
            "torgos:ports=one",
            "ports=one: blocks go round in one direction; it needs a ring or a product of rings",
        ),
        ("torus:9x9", "torgos:a=1", "a=1: on diagonals it needs at least 2"),
        (
            "torus:9x9",
            "torgos:a=4,ports=one",
            "a=4: with ports=one blocks go round equally spaced bridgeheads; it needs a divisor of 9, the nodes of a row: 3, 9",
        ),
        ("torus:9x9", "circgos", "it needs a ring or a line; the extents are 9x9; use high-dim-gos"),
        ("torus:5000x2", "circgos", "it needs a ring or a line; the extents are 5000x2"),
        (
            "mesh:17x17x17",
            "torgos",
            "it needs two rings or lines of the same extent; the extents are 17x17x17; use high-dim-gos",
        ),
        ("mesh:17x17x17", "cubgos", "on lines it needs at most 4096 ranks; there are 4913; use high-dim-gos"),
        (
            "torus:9x8",
            "torgos",
            "it needs two rings or lines of the same extent; the extents are 9x8; use high-dim-gos",
        ),
        ("ring:9", "torgos", "it needs two rings or lines of the same extent; the extents are 9; use circgos"),
        ("mesh:3x3x3", "torgos", "it needs two rings or lines of the same extent; the extents are 3x3x3; use cubgos"),
        ("ring:9", "high-dim-gos", "it needs a product of two or more rings or lines; the extents are 9; use circgos"),
        (
            "torus:9x9",
            "cubgos",
            "it needs three or more rings or lines of the same extent; the extents are 9x9; use torgos",
        ),
        (
            "torus:3x3x4",
            "cubgos",
            "it needs three or more rings or lines of the same extent; the extents are 3x3x4; use high-dim-gos",
        ),
        (
            "how:9,2,1",
            "circgos",
            "it needs a ring or a line; how:9,2,1 is not a product of rings and lines with rank i on node i; use tree-packing",
        ),
        (
            "complete:5",
            "high-dim-gos",
            "it needs a product of two or more rings or lines; complete:5 is not a product of rings and lines with rank i on node i; use balanced-trees",
        ),
    ];
    for (topology, algorithm, wanted) in &cases {
        assert_eq!(lacks(topology, algorithm), *wanted, "{algorithm} on {topology}");
    }
    for (topology, algorithm, wanted) in &cases {
        if let Some((_, instead)) = wanted.split_once("; use ") {
            assert!(fits(topology, instead), "{instead} instead of {algorithm} on {topology}");
        }
    }
    assert!(fits("ring:27", "circgos:a=1,b=1") && fits("torus:29x29", "torgos:a=3"));
    let error = find(&Collective::Allgather, "circgos:a=x").err().unwrap().to_string();
    assert!(error.contains("a=x") && error.contains("a=0..65536"), "{error}");
}

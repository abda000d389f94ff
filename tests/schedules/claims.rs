//! What algorithms promise is what their schedules do: every row of the registry on every topology
//! that it fits, verified and counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fixtures::beaten;
use necklace::algorithm::{Algorithm, Settings, Values, alltoall::TorusExchange, find, registry};
use necklace::bounds::Bounds;
use necklace::collective::Collective;
use necklace::schedule::{Placement, Ports, Problem, Proof, RankAmounts, Volume, verify_shares};
use necklace::topology::{Graph, Grid, Topology, parse};
use necklace::{Node, Rank};

/// The problem of an algorithm, with this root, or this distance of a shift.
fn problem(topology: &Arc<dyn Topology>, algorithm: &dyn Algorithm, root: usize) -> Problem {
    let collective = match Collective::named(algorithm.about().collective, Rank::new(root)).unwrap() {
        Collective::Shift { .. } => Collective::Shift { by: root },
        collective => collective,
    };
    Problem::new(Arc::clone(topology), collective).unwrap().ordered()
}

/// The problem, and, of a reduction, the one in which contributions combine in any order.
fn orders(problem: Problem) -> Vec<Problem> {
    let is_reduction = problem.collective().is_reduction();
    let free = Problem::new(Arc::clone(problem.topology()), problem.collective().clone()).unwrap();
    std::iter::once(problem).chain(is_reduction.then_some(free)).collect()
}

pub(crate) fn proof(algorithm: &dyn Algorithm, problem: &Problem) -> Proof {
    let name = || format!("{} for {} on {}", algorithm.name(), problem.collective(), problem.topology().text());
    let proof = verify_shares(algorithm.shares(problem).unwrap());
    let proof = proof.unwrap_or_else(|violations| panic!("{}: {violations}", name()));
    let claims = algorithm.claims(problem).completed(algorithm.about().ports);
    assert_eq!(proof.contradicts(&claims), [], "{}", name());
    if let Some(hops) = claims.hops {
        assert_eq!(claims.chained_hops.unwrap_or(hops), proof.chained_hops, "chained hops of {}", name());
    }
    if let Some(forwarded) = claims.forwarded_transmission {
        let chained = claims.chained_forwarded.unwrap_or(forwarded);
        assert_eq!(chained, proof.chained_forwarded, "blocks times chained hops of {}", name());
    }
    assert_eq!(beaten(&Bounds::of(problem), &proof), [""; 0], "{}", name());
    assert!(proof.keeps(algorithm.about().ports), "{}", name());
    for rank in problem.all().step_by(problem.ranks().div_ceil(8)) {
        let counted = algorithm.rounds(problem, rank).map(RankAmounts::from);
        assert!(algorithm.amounts(problem, rank).eq(counted), "{}, rank {rank}", name());
    }
    proof
}

#[test]
fn every_algorithm_keeps_its_claims_wherever_it_fits() {
    let texts = [
        "ring:1",
        "ring:2",
        "ring:3",
        "ring:4",
        "ring:7",
        "ring:8",
        "ring:13",
        "ring:16",
        "line:1",
        "line:2",
        "line:5",
        "line:8",
        "complete:1",
        "complete:2",
        "complete:3",
        "complete:8",
        "complete:11",
        "complete:16",
        "complete:27",
        "hypercube:0",
        "hypercube:1",
        "hypercube:3",
        "hypercube:5",
        "ghc:1,1",
        "ghc:4,2",
        "ghc:2x8x2",
        "ghc:3,3",
        "ghc:2x3x4",
        "how:7,3,1",
        "how:6,2,1",
        "how:13,5,1",
        "how:5,2,2",
        "how:4,2,2",
        "how:3,2,3",
        "how-wrap:8,2,1",
        "how-wrap:6,2,2",
        "how-wrap:13,3,1",
        "how-wrap:5,1,2",
        "line:2",
        "mesh:2x2x2",
        "mesh:3x5",
        "mesh:4x4",
        "torus:4x4",
        "torus:2x2x2",
        "torus:8x4",
        "torus:4x4x4",
        "torus:3x5",
        "torus:1x4",
        "torus:8x12",
        "torus:4x2x2x4",
    ];
    let mut cases = 0;
    for text in texts {
        let topology = parse(text).unwrap();
        for algorithm in registry() {
            let of_one = problem(&topology, algorithm.as_ref(), 0);
            let is_one_of_many = of_one.collective().root().or(of_one.collective().distance().map(Rank::new)).is_some();
            let roots = match topology.nodes() {
                nodes if is_one_of_many && nodes <= 16 => nodes,
                nodes if is_one_of_many => nodes.min(2),
                _ => 1,
            };
            for problem in (0..roots).flat_map(|root| orders(problem(&topology, algorithm.as_ref(), root))) {
                let variants = algorithm.variants(&problem);
                let fitting = variants.iter().chain([algorithm]).filter(|one| one.fits(&problem).is_ok());
                for algorithm in fitting.filter(|one| !is_long(&***one, &problem)) {
                    proof(algorithm.as_ref(), &problem);
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 400, "only {cases} cases");
}

/// Returns whether an algorithm names each block many times: `two-phase` among tens of ranks, which
/// has tests of its own, or a pipeline of hundreds of chunks, whose rounds are like those of fewer.
pub(crate) fn is_long(algorithm: &dyn Algorithm, problem: &Problem) -> bool {
    algorithm.about().name == "two-phase" && problem.ranks() > 32 || is_long_pipeline(algorithm)
}

fn is_long_pipeline(algorithm: &dyn Algorithm) -> bool {
    algorithm.name().split_once("chunks=").is_some_and(|(_, chunks)| chunks.parse::<usize>().unwrap() > 64)
}

/// On ten ranks, pipelines have variants of up to 256 chunks.
#[test]
fn long_pipelines_keep_their_claims() {
    let mut cases = 0;
    for algorithm in registry() {
        for problem in orders(problem(&parse("ring:10").unwrap(), algorithm.as_ref(), 3)) {
            let variants = algorithm.variants(&problem).into_iter();
            for long in variants.filter(|one| is_long_pipeline(&**one) && one.fits(&problem).is_ok()) {
                proof(&*long, &problem);
                cases += 1;
            }
        }
    }
    assert!(cases > 8, "only {cases} cases");
}

/// A star, whose leaves all send to the root in all rounds of a reduction; two complete networks
/// with a bridge; Petersen's graph; and a torus with ranks in another order than the nodes.
#[test]
fn edge_disjoint_trees_keep_their_claims_on_any_network() {
    let clique = |first: usize| (0..4).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
    let star = Graph::from_edges((1..5).map(|leaf| (0, leaf)));
    let bridge = Graph::from_edges(clique(0).chain(clique(4)).chain([(3, 4)]));
    let petersen = Graph::from_edges((0..5).flat_map(|u| [(u, (u + 1) % 5), (u, u + 5), (u + 5, (u + 2) % 5 + 5)]));
    let graphs = [(star, 1), (bridge, 1), (petersen, 3)];
    let graphs = graphs.map(|(graph, trees)| (Arc::new(graph.unwrap()) as Arc<dyn Topology>, trees));
    for (topology, trees) in
        graphs.into_iter().chain([(parse("torus:3x4").unwrap(), 4), (parse("mesh:3x4").unwrap(), 2)])
    {
        let nodes = topology.nodes();
        let backwards = Placement::new((0..nodes).rev().map(Node::new).collect(), nodes).unwrap();
        for (collective, root) in
            ["broadcast", "reduce"].into_iter().flat_map(|name| (0..nodes).map(move |root| (name, root)))
        {
            let collective = Collective::named(collective, Rank::new(root)).unwrap();
            for placement in [Placement::identity(nodes), backwards.clone()] {
                let problem = Problem::placed(Arc::clone(&topology), placement, collective.clone()).unwrap();
                for chunks in [1, 2, 7] {
                    let algorithm = find(&collective, &format!("edge-disjoint-trees:chunks={chunks}")).unwrap();
                    let proof = proof(algorithm.as_ref(), &problem);
                    assert_eq!(proof.transmission, Volume::new(proof.startups, trees * chunks));
                }
            }
        }
    }
}

/// Rings, lines, squares and unequal extents, with the root in the middle: H + k - 1 rounds of one
/// chunk of k over each of T trees, as many as the channels of a node that has the fewest.
#[test]
fn edge_disjoint_trees_keep_their_claims_on_extents_of_2_to_30() {
    let rows = (4..=30).flat_map(|n| [format!("ring:{n}"), format!("line:{}", n - 1)]);
    let squares = (2..=30).filter(|n| n % 4 < 2 || *n < 10).map(|n| (n, n));
    let unequal = (2..=30).filter(|n| n % 3 == 2).map(|n| (n, 32 - n));
    let planes = squares.chain(unequal).flat_map(|(m, n)| [format!("torus:{m}x{n}"), format!("mesh:{m}x{n}")]);
    let cubes = ["torus:3x4x5", "torus:9x9x9", "mesh:2x7x10", "mesh:10x10x10", "hypercube:9"].map(str::to_owned);
    for text in rows.chain(planes).chain(cubes) {
        let topology = parse(&text).unwrap();
        let (nodes, root) = (topology.nodes(), topology.nodes() / 2);
        let trees = (0..nodes).map(|node| topology.neighbours(Node::new(node)).len()).min().unwrap() as u64;
        for (collective, chunks) in [("broadcast", 3), ("reduce", 1)] {
            let problem =
                Problem::new(Arc::clone(&topology), Collective::named(collective, Rank::new(root)).unwrap()).unwrap();
            let algorithm = find(problem.collective(), &format!("edge-disjoint-trees:chunks={chunks}")).unwrap();
            let proof = proof(algorithm.as_ref(), &problem);
            assert_eq!(proof.transmission, Volume::new(proof.startups, trees * chunks), "{collective} on {text}");
        }
    }
}

/// Some extents as numbers, and the formulas of Table 1.
#[test]
fn torus_exchange_costs_equal_suh_and_shins() {
    let vectors: [(&[usize], [u64; 3]); 12] = [
        (&[8, 8], [6, 192, 14]),
        (&[8, 12], [8, 384, 22]),
        (&[12, 8], [8, 384, 22]),
        (&[12, 12], [8, 576, 22]),
        (&[4, 8], [6, 96, 14]),
        (&[8, 16], [10, 640, 30]),
        (&[16, 32], [18, 4608, 62]),
        (&[8, 8, 8], [9, 2304, 21]),
        (&[12, 8, 4], [12, 2304, 33]),
        (&[4, 8, 12], [12, 2304, 33]),
        (&[4, 4, 4, 4], [8, 1024, 12]),
        (&[4, 4, 4, 4, 4], [10, 5 * 1024, 15]),
    ];
    for (extents, [startups, blocks, hops]) in vectors {
        let topology: Arc<dyn Topology> = Arc::new(Grid::torus(extents).unwrap());
        let problem = problem(&topology, &TorusExchange, 0);
        let proof = proof(&TorusExchange, &problem);
        let n = extents.len() as u64;
        let (longest, nodes) = (*extents.iter().max().unwrap() as u64, topology.nodes() as u64);
        assert_eq!([startups, hops], [n * (longest / 4 + 1), n * (longest - 1)]);
        assert_eq!(Volume::from(blocks), Volume::new(n * (longest + 4) * nodes, 8));
        assert_eq!((proof.startups, proof.transmission, proof.hops), (startups, blocks.into(), hops), "{extents:?}");
        // Between each two of the n + 2 phases; with extents of 4 the first n have no round.
        assert_eq!(proof.rearrangements, if longest > 4 { n + 1 } else { 1 }, "{extents:?}");
        assert!(proof.contention_free && proof.ports() == Ports::One, "{extents:?}");
    }
}

#[test]
fn in_12_by_12_the_busiest_channel_carries_432_blocks() {
    let topology: Arc<dyn Topology> = Arc::new(Grid::torus(&[12, 12]).unwrap());
    let proof = proof(&TorusExchange, &problem(&topology, &TorusExchange, 0));
    assert_eq!(proof.busiest_channel_total, Volume::from(432));
}

#[test]
fn unfit_algorithm_is_refused_with_the_unmet_need() {
    let refused = [
        ("torus-exchange", "mesh:8x8", "needs a torus"),
        ("torus-exchange", "complete:16", "needs a torus"),
        ("mesh-exchange", "torus:8x6", "needs a mesh"),
        ("mesh-exchange", "hypercube:4", "needs a mesh"),
        ("direct-xor", "ring:6", "there are 6"),
    ];
    for (name, text, reason) in refused {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let algorithm = find(problem.collective(), name).unwrap();
        let message = algorithm.share(&problem, Rank::new(0)).err().unwrap().to_string();
        assert!(message.contains(reason) && message.contains(name) && message.contains(text), "{message}");
    }
}

#[test]
fn unknown_name_or_parameter_is_refused_with_alternatives() {
    let message = |name| find(&Collective::Alltoall, name).err().unwrap().to_string();
    assert!(message("brick").contains("direct-rotated"), "{}", message("brick"));
    assert_eq!(message("ring:radix=4"), "ring: found \"radix=4\", expected no parameters");
    assert_eq!(message("ring:"), "ring: found \"\", expected no parameters");
}

#[test]
fn every_name_finds_its_algorithm() {
    for row in registry() {
        let problem = problem(&parse("ring:64").unwrap(), row.as_ref(), 0);
        assert_eq!((row.name(), row.settings()), (row.about().name.to_owned(), Settings::default()));
        let mut names = BTreeSet::from([row.name()]);
        for variant in row.variants(&problem) {
            let name = variant.name();
            let found = find(problem.collective(), &name).unwrap();
            assert_eq!((found.name(), found.settings()), (name.clone(), variant.settings()));
            assert!(name.starts_with(&format!("{}:", row.about().name)) && names.insert(name.clone()), "{name}");
        }
        for parameter in row.parameters() {
            let other = match parameter.values {
                Values::Number { least, most } => {
                    if parameter.default == most {
                        least
                    } else {
                        parameter.default + 1
                    }
                }
                Values::Words(words) => (parameter.default + 1) % words.len(),
                other => panic!("{other:?}"),
            };
            let settings = Settings::default().with(parameter, other);
            assert_eq!(row.with(&settings).unwrap().settings(), settings, "{}", parameter.key);
        }
    }
}

//! Packed trees on networks without a text, and with ranks anywhere: every schedule verified and
//! counted.

use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Placement, Ports, Problem, Proof, Volume};
use necklace::topology::{Graph, Topology, parse};

use crate::claims::proof;

/// Proves the allgather and the reductions that go the same way, by default and with more rounds.
fn proved(topology: &Arc<dyn Topology>, placement: &Placement) -> Vec<Proof> {
    let collectives = [Collective::Allgather, Collective::ReduceScatter, Collective::Allreduce];
    let proofs = collectives.into_iter().flat_map(|collective| {
        let problem = Problem::placed(Arc::clone(topology), placement.clone(), collective).unwrap();
        ["tree-packing", "tree-packing:rounds=12", "tree-packing:rounds=40"].map(|text| {
            let proof = proof(&*find(problem.collective(), text).unwrap(), &problem);
            assert!(proof.contention_free && proof.keeps(Ports::All));
            proof
        })
    });
    proofs.collect()
}

fn graph(edges: impl IntoIterator<Item = (usize, usize)>) -> Arc<dyn Topology> {
    Arc::new(Graph::from_edges(edges).unwrap())
}

#[test]
fn packed_trees_keep_their_claims_on_irregular_networks() {
    let clique = |first: usize| (first..first + 5).flat_map(move |a| (first..a).map(move |b| (a, b)));
    let mesh = parse("mesh:4x4").unwrap().edges().into_iter().map(|(a, b)| (a.index(), b.index()));
    let networks = [
        graph((1..23).map(|v| (v, (v - 1) / 2))),
        graph((1..9).map(|v| (0, v))),
        graph(clique(0).chain(clique(5)).chain([(0, 5)])),
        graph((1..20).map(|v| (v - 1, v)).chain([(0, 7), (3, 15), (11, 4)])),
        graph((0..14).flat_map(|v| [(v, v + 1), (v, v + 2)]).chain([(14, 15)])),
        graph(mesh.filter(|edge| *edge != (5, 6) && *edge != (0, 1))),
    ];
    for network in networks {
        proved(&network, &Placement::identity(network.nodes()));
    }
}

/// Lines, squares and unequal extents. No network takes less than a corner's share of a channel.
#[test]
fn packed_trees_keep_their_claims_on_extents_of_2_to_30() {
    let lines = (3..=30).map(|n| format!("line:{n}"));
    let squares = (3..=30).filter(|n| n % 4 == 2 || *n < 8).map(|n| format!("mesh:{n}x{n}"));
    let unequal = (2..=30).step_by(3).map(|n| format!("mesh:{n}x{}", 32 - n));
    for text in lines.chain(squares).chain(unequal) {
        let problem = Problem::new(parse(&text).unwrap(), Collective::Allgather).unwrap();
        let proof = proof(&*find(problem.collective(), "tree-packing").unwrap(), &problem);
        let fewest = problem.topology().neighbours(Node::new(0)).len();
        assert!(proof.contention_free && proof.keeps(Ports::All), "{text}");
        assert!(proof.transmission >= Volume::from((problem.ranks() - 1).div_ceil(fewest) as u64), "{text}");
    }
}

#[test]
fn packed_trees_follow_the_placement_of_ranks() {
    for text in ["mesh:4x3", "torus:3x3", "line:7"] {
        let network = parse(text).unwrap();
        let nodes = network.nodes();
        let placement = Placement::new((0..nodes).map(|rank| Node::new(rank * 5 % nodes)).collect(), nodes).unwrap();
        let proofs = proved(&network, &placement);
        let channels = network.neighbours(Node::new(0)).len() as u64;
        assert_eq!(proofs[0].transmission, Volume::from((nodes as u64 - 1).div_ceil(channels)), "{text}");
    }
}

#[test]
fn packed_trees_leave_homogeneous_networks_to_balanced_trees() {
    let packing = find(&Collective::Allgather, "tree-packing").unwrap();
    let lacks = |text: &str| packing.lacks(&Problem::new(parse(text).unwrap(), Collective::Allgather).unwrap());
    assert_eq!(["mesh:3x3", "line:5", "mesh:32x32"].map(lacks), [None, None, None]);
    for text in ["torus:4x4", "hypercube:3", "complete:5", "ring:1", "mesh:2x2", "mesh:33x32"] {
        assert!(lacks(text).is_some(), "{text}");
    }
}

#[test]
fn packed_trees_take_as_many_rounds_as_the_diameter_or_more() {
    let tree = graph((1..23).map(|v| (v, (v - 1) / 2)));
    for (network, diameter) in [(parse("mesh:3x5").unwrap(), 6), (parse("line:9").unwrap(), 8), (tree, 7)] {
        let problem = Problem::new(network, Collective::Allgather).unwrap();
        let lacks = |rounds: usize| find(problem.collective(), &format!("tree-packing:rounds={rounds}")).unwrap();
        let lacks = |rounds: usize| lacks(rounds).lacks(&problem);
        for rounds in [1, diameter - 1] {
            let wanted = format!("rounds={rounds}: it needs at least {diameter}, the diameter");
            assert_eq!(lacks(rounds), Some(wanted));
        }
        assert_eq!([0, diameter, diameter + 1, 1 << 16].map(lacks), [None, None, None, None]);
    }
}

/// On irregular networks `auto` also considers more rounds, on meshes there is no use for them.
#[test]
fn packed_trees_have_variants_only_where_rounds_help() {
    let packing = find(&Collective::Allgather, "tree-packing").unwrap();
    let rounds = |network: Arc<dyn Topology>| {
        let problem = Problem::new(network, Collective::Allgather).unwrap();
        packing.variants(&problem).iter().map(|variant| variant.name()).collect::<Vec<_>>()
    };
    assert_eq!(rounds(parse("mesh:6x7").unwrap()), [""; 0]);
    let tree = graph((1..31).map(|v| (v, (v - 1) / 2)));
    assert_eq!(rounds(tree), ["tree-packing:rounds=16", "tree-packing:rounds=32"]);
    // Among many ranks, as far as the packing does not take long.
    assert_eq!(rounds(parse("mesh:3x100").unwrap()), ["tree-packing:rounds=202"]);
    assert_eq!(rounds(parse("mesh:3x200").unwrap()), [""; 0]);
}

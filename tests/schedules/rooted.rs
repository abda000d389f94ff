//! Collectives with a root: what messages straight from the root, or to it, take of the network.

use std::sync::Arc;

use crate::claims::proof;
use necklace::algorithm::{Algorithm, candidates, find};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::{Placement, Problem, Volume};
use necklace::select::{Terms, select};
use necklace::simulate::Simulation;
use necklace::topology::{Graph, Topology, parse};
use necklace::{Node, Rank};

const ROOTED: [&str; 4] = ["broadcast", "reduce", "gather", "scatter"];

fn problem(topology: &str, collective: &str, root: usize) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::named(collective, Rank::new(root)).unwrap()).unwrap()
}

/// Asserts that everything is claimed, as it is counted.
fn claims_all(algorithm: &dyn Algorithm, problem: &Problem) {
    let name = || format!("{} for {} on {}", algorithm.name(), problem.collective(), problem.topology().text());
    let counted = Demand::counted(&proof(algorithm, problem), problem);
    assert_eq!(Demand::claimed(algorithm, problem).unwrap(), counted, "{}", name());
}

/// Ring of 16, 1 MiB: the two channels of the root carry 8 MiB of direct messages.
#[test]
fn auto_knows_what_direct_messages_share() {
    let machine: Machine = "free:startup=10us,channel=1ns,hop=0.1us".parse().unwrap();
    for (topology, collective) in
        ["ring:16", "torus:4x4", "mesh:3x5", "line:9"].into_iter().flat_map(|text| ROOTED.map(|name| (text, name)))
    {
        let problem = problem(topology, collective, 0);
        let choice = select(&problem, "auto", &Terms::new(1 << 20, &machine)).unwrap();
        let time = |one: &dyn Algorithm| Simulation::new(&machine, 1 << 20).play(one, &problem).unwrap().time;
        let direct = find(problem.collective(), "direct").unwrap();
        assert!(time(&*choice.algorithm) <= time(&*direct), "{choice}");
        let direct = choice.candidates.iter().find(|one| one.algorithm.name() == "direct").unwrap();
        assert_eq!(direct.at_least, [""; 0], "{choice}");
        if ["broadcast", "reduce"].contains(&collective) {
            assert_ne!(choice.algorithm.name(), "direct", "{choice}");
        }
    }
}

#[test]
fn direct_messages_claim_what_is_counted_for_every_root() {
    let clique = |first: usize| (0..4).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
    let bridge = Graph::from_edges(clique(0).chain(clique(4)).chain([(3, 4)])).unwrap();
    let texts = ["ring:1", "ring:2", "ring:3", "ring:7", "ring:16", "line:2", "line:9", "mesh:3x5", "mesh:1x4"];
    let more = ["torus:4x4", "torus:3x4x2", "hypercube:4", "ghc:3x4", "ghc:4,2", "complete:6"];
    let networks = texts.into_iter().chain(more).map(|text| parse(text).unwrap());
    for topology in networks.chain([Arc::new(bridge) as Arc<dyn Topology>]) {
        let nodes = topology.nodes();
        let order = |count: usize| (0..count).map(|rank| Node::new((5 * rank + 2) % nodes)).collect();
        let mut placements = vec![Placement::identity(nodes)];
        if nodes % 5 > 0 {
            placements.extend([order(nodes), order(nodes.div_ceil(2))].map(|one| Placement::new(one, nodes).unwrap()));
        }
        for placement in placements {
            for (collective, root) in
                ROOTED.into_iter().flat_map(|name| (0..placement.ranks()).map(move |at| (name, at)))
            {
                let collective = Collective::named(collective, Rank::new(root)).unwrap();
                let problem = Problem::placed(Arc::clone(&topology), placement.clone(), collective).unwrap();
                for name in ["direct", "direct-parts"] {
                    let Ok(algorithm) = find(problem.collective(), name) else { continue };
                    claims_all(&*algorithm, &problem);
                }
            }
        }
    }
}

/// Of a million nodes, the last dimension is corrected first on the way from the root, and so is
/// the first one last on the way to it.
#[test]
fn direct_messages_are_claimed_on_large_products() {
    let found = |topology, collective| {
        let problem = problem(topology, collective, 5);
        let demand = Demand::claimed(&*find(problem.collective(), "direct").unwrap(), &problem).unwrap();
        assert_eq!(demand.at_least, [""; 0], "{collective} on {topology}");
        (demand.channel, demand.hops)
    };
    assert_eq!(found("torus:1024x2048", "broadcast"), (Volume::from(1024 * 1024), 512 + 1024));
    assert_eq!(found("torus:1024x2048", "gather"), (Volume::from(512 * 2048), 512 + 1024));
    assert_eq!(found("mesh:10x1000", "scatter"), (Volume::from(10 * 994), 9 + 994));
    assert_eq!(found("mesh:10x1000", "reduce"), (Volume::from(9 * 1000), 9 + 994));
}

/// The algorithms that do not claim all that a machine may charge for, even on few ranks. Along
/// lines, ranks that have had parts of the block are sent shorter messages, some over two channels.
fn is_uncertain(problem: &Problem, name: &str) -> bool {
    let text = problem.topology().text();
    let lines = text.starts_with("mesh") || text.starts_with("line");
    lines && problem.collective().name() == "broadcast" && name == "scatter-allgather"
}

/// So that `auto` compares prices, not bounds, whatever the machine charges for.
#[test]
fn collectives_claim_all_demands_among_few_ranks() {
    let petersen = Graph::from_edges((0..5).flat_map(|u| [(u, (u + 1) % 5), (u, u + 5), (u + 5, (u + 2) % 5 + 5)]));
    let texts = ["ring:2", "ring:13", "ring:16", "line:8", "torus:4x4", "torus:3x4", "mesh:3x5", "mesh:8x2"];
    let networks = texts.into_iter().chain(["hypercube:4", "ghc:4,2", "ghc:3x4", "complete:6"]);
    let networks = networks.map(|text| parse(text).unwrap()).chain([Arc::new(petersen.unwrap()) as Arc<dyn Topology>]);
    for topology in networks {
        for collective in Collective::all(Rank::new(1)) {
            let problem = Problem::new(Arc::clone(&topology), collective).unwrap();
            for algorithm in candidates(&problem) {
                let Ok(demand) = Demand::claimed(&*algorithm, &problem) else { continue };
                let name = || format!("{} for {} on {}", algorithm.name(), problem.collective(), topology.text());
                assert_eq!(demand.at_least.is_empty(), !is_uncertain(&problem, &algorithm.name()), "{}", name());
            }
        }
    }
}

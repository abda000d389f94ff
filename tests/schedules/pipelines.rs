//! The numbers of chunks that `auto` considers for pipelines.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Ports, Problem};
use necklace::select::{Terms, select};
use necklace::topology::parse;

fn problem(topology: &str, collective: &str, root: usize) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::named(collective, Rank::new(root)).unwrap()).unwrap()
}

/// `auto` comes near the bound, half of which a pipeline of 64 chunks adds where it is 36 ranks
/// deep.
#[test]
fn pipelines_of_long_blocks_have_enough_chunks_to_fill() {
    let machine: Machine = "free:startup=10us,channel=1ns,hop=0.1us".parse().unwrap();
    let cases = [
        ("ring:36", 64 << 20, "edge-disjoint-trees:chunks=256", 2),
        ("torus:32x32", 1 << 30, "edge-disjoint-trees:chunks=1024", 4),
        ("torus:4x4", 64 << 20, "edge-disjoint-trees:chunks=64", 4),
    ];
    for (text, bytes, name, channels) in cases {
        for collective in ["broadcast", "reduce"] {
            let problem = problem(text, collective, 5);
            let choice = select(&problem, "auto", &Terms::new(bytes, &machine).keeping(Ports::All)).unwrap();
            let best = choice.algorithm.name();
            // On a ring, bridgeheads do as well.
            assert!(best == name || best.starts_with("bridgeheads") && text == "ring:36", "{choice}");
            for name in [name, &best] {
                let price = choice.candidates.iter().find(|one| one.algorithm.name() == name).unwrap().price.clone();
                let ratio = price.unwrap().total as f64 / (bytes / channels * 1000) as f64;
                assert!(ratio < 1.25, "{collective} on {text}: {name} {ratio}");
            }
        }
    }
}

/// More chunks are no use where pipelines fill soon.
#[test]
fn deep_pipelines_have_variants_of_more_chunks() {
    let names = |text: &str, collective: &str, name: &str| {
        let problem = problem(text, collective, 0);
        let algorithm = find(problem.collective(), name).unwrap();
        let chunks = |one: &Arc<dyn Algorithm>| one.name().split_once("chunks=").unwrap().1.parse::<usize>().unwrap();
        algorithm.variants(&problem).iter().map(chunks).collect::<Vec<_>>()
    };
    for (text, most) in [("ring:2", 0), ("ring:9", 64), ("ring:10", 256), ("ring:34", 1024), ("ring:1000", 4096)] {
        for (collective, name) in [("broadcast", "chain"), ("reduce", "chain"), ("scan", "chain"), ("exscan", "chain")]
        {
            let most_offered = names(text, collective, name).into_iter().filter(|&chunks| chunks > 1).max();
            assert_eq!(most_offered.unwrap_or(0), most, "{name} for {collective} on {text}");
        }
    }
    assert_eq!(names("complete:1000", "broadcast", "binary-tree"), [4, 64]);
    assert_eq!(names("torus:32x32", "broadcast", "edge-disjoint-trees"), [1, 4, 64, 256, 1024]);
    assert_eq!(names("hypercube:6", "broadcast", "edge-disjoint-trees"), [1, 4, 64]);
}

//! The numbers of chunks that are compared for pipelines.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::{Hosts, Ports, Problem};
use necklace::select::{Terms, select};
use necklace::topology::parse;

const PIPELINES: [(&str, &str); 8] = [
    ("broadcast", "chain"),
    ("broadcast", "binary-tree"),
    ("broadcast", "edge-disjoint-trees"),
    ("reduce", "chain"),
    ("reduce", "binary-tree"),
    ("reduce", "edge-disjoint-trees"),
    ("scan", "chain"),
    ("exscan", "chain"),
];

fn problem(topology: &str, collective: &str, root: usize) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::named(collective, Rank::new(root)).unwrap()).unwrap()
}

fn demand(problem: &Problem, algorithm: &str) -> Demand {
    Demand::claimed(&*find(problem.collective(), algorithm).unwrap(), problem).unwrap()
}

/// No number of chunks that fills a pipeline to a 64th is cheaper than the one that a name takes by
/// more than a third of a percent.
#[test]
fn name_alone_takes_the_number_of_chunks_of_the_least_price() {
    let mut machines: Vec<Machine> = ["free:startup=10us,channel=1ns,hop=0.1us", "free:startup=10us,byte=1ns"]
        .map(|text| text.parse().unwrap())
        .to_vec();
    machines.push(machines[1].with_message(1_000_000).with_cores(2));
    let mut taken = std::collections::BTreeSet::new();
    for (text, hosts) in [("ring:9", 9), ("torus:3x4", 2), ("complete:12", 12), ("hypercube:3", 1), ("ring:2", 2)] {
        for (collective, name) in PIPELINES {
            let free = problem(text, collective, 1);
            let hosts = Hosts::of_consecutive(free.ranks(), hosts);
            let problem = free.on_hosts(hosts).unwrap();
            if find(problem.collective(), name).unwrap().fits(&problem).is_err() {
                continue;
            }
            // The depth is that of one chunk.
            let most = 64 * demand(&problem, &format!("{name}:chunks=1")).startups;
            let all: Vec<Demand> =
                (1..=most).map(|chunks| demand(&problem, &format!("{name}:chunks={chunks}"))).collect();
            for machine in &machines {
                for bytes in [0, 8, 1000, 1 << 16, 1 << 20, 1 << 30] {
                    let choice = select(&problem, name, &Terms::new(bytes, machine)).unwrap();
                    let total = |demand: &Demand| demand.price(machine, bytes).total;
                    let price = total(&Demand::claimed(&*choice.algorithm, &problem).unwrap());
                    let least = all.iter().map(total).min().unwrap();
                    let case = format!("{collective} on {text}, {bytes} bytes: {}", choice.algorithm.name());
                    assert!(3 * 100 * price <= (3 * 100 + 1) * least, "{case} {price}, least {least}");
                    taken.insert(choice.algorithm.name());
                }
            }
        }
    }
    assert!(taken.len() > 30, "only {taken:?}");
}

#[test]
fn given_number_of_chunks_is_kept() {
    let problem = problem("torus:8x8", "broadcast", 3);
    let machine: Machine = "free:startup=10us,byte=1ns".parse().unwrap();
    for name in ["chain:chunks=16", "binary-tree:chunks=1", "edge-disjoint-trees:chunks=65536"] {
        let choice = select(&problem, name, &Terms::new(1 << 20, &machine)).unwrap();
        assert_eq!(choice.algorithm.name(), name);
    }
    for name in ["chain", "chain:chunks=0"] {
        let open = find(problem.collective(), name).unwrap();
        assert_eq!(open.name(), "chain");
        let sixteen = find(problem.collective(), "chain:chunks=16").unwrap();
        assert_eq!(open.claims(&problem), sixteen.claims(&problem));
        assert!(problem.all().all(|rank| open.rounds(&problem, rank).eq(sixteen.rounds(&problem, rank))));
    }
}

/// Two numbers of chunks that auto compares at first are a factor of 4 apart. The number that it
/// takes is one of many in between.
#[test]
fn auto_is_as_cheap_as_any_number_of_chunks() {
    let machine: Machine = "free:startup=10us,channel=1ns,hop=0.1us".parse().unwrap();
    let cases = [("torus:8x8", 1 << 18), ("torus:32x32", 1 << 20), ("hypercube:6", 1 << 30), ("ring:1000", 1 << 30)];
    for (text, bytes) in cases {
        for collective in ["broadcast", "reduce"] {
            let problem = problem(text, collective, 5);
            let choice = select(&problem, "auto", &Terms::new(bytes, &machine).keeping(Ports::All)).unwrap();
            let total = |demand: Demand| demand.price(&machine, bytes).total;
            let price = total(Demand::claimed(&*choice.algorithm, &problem).unwrap());
            for chunks in (1..100).chain([150, 200, 300, 400, 600, 800, 1200, 3000, 7400]) {
                let other = total(demand(&problem, &format!("edge-disjoint-trees:chunks={chunks}")));
                assert!(3 * 100 * price <= (3 * 100 + 1) * other, "{choice}, chunks={chunks} {other}");
            }
        }
    }
}

/// No broadcast or reduce takes less than the bytes over the channels of the root. A pipeline adds
/// the time to fill, and start-ups.
#[test]
fn pipelines_of_long_blocks_come_near_the_bound() {
    let machine: Machine = "free:startup=10us,channel=1ns,hop=0.1us".parse().unwrap();
    let bytes = 1 << 30;
    for (text, channels) in [("ring:36", 2), ("torus:32x32", 4), ("torus:4x4", 4), ("hypercube:6", 6)] {
        for collective in ["broadcast", "reduce"] {
            let problem = problem(text, collective, 5);
            let choice = select(&problem, "auto", &Terms::new(bytes, &machine).keeping(Ports::All)).unwrap();
            let price = Demand::claimed(&*choice.algorithm, &problem).unwrap().price(&machine, bytes).total;
            let bound = u128::from(bytes / channels * 1000);
            assert!((bound..bound * 11 / 10).contains(&price), "{choice}");
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
    for (text, most) in [("ring:2", 16), ("ring:9", 64), ("ring:10", 256), ("ring:34", 1024), ("ring:1000", 16384)] {
        for (collective, name) in [("broadcast", "chain"), ("reduce", "chain"), ("scan", "chain"), ("exscan", "chain")]
        {
            assert_eq!(names(text, collective, name).last(), Some(&most), "{name} for {collective} on {text}");
        }
    }
    assert_eq!(names("complete:1000", "broadcast", "binary-tree"), [1, 4, 16, 64]);
    assert_eq!(names("torus:32x32", "broadcast", "edge-disjoint-trees"), [1, 4, 16, 64, 256, 1024]);
    assert_eq!(names("hypercube:6", "reduce", "edge-disjoint-trees"), [1, 4, 16, 64]);
}

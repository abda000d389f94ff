//! Algorithms on two levels: their schedules, claims, and what crosses between hosts.

use std::sync::Arc;

use crate::claims::{is_long, proof};
use crate::plans::check;
use necklace::Rank;
use necklace::algorithm::{Algorithm, find, registry};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::error::BuildError;
use necklace::machine::Machine;
use necklace::schedule::{Hosts, Problem, from_json, to_json, verify, verify_shares};
use necklace::select::{Terms, select};
use necklace::topology::{Complete, parse};

/// The hosts of each rank: equal, unequal, interleaved, with a host of one rank.
const PARTITIONS: &[&[usize]] = &[
    &[0, 0, 1],
    &[0, 1, 0],
    &[0, 1, 1],
    &[0, 0, 1, 1],
    &[0, 1, 1, 0],
    &[0, 1, 1, 1, 1],
    &[0, 1, 2, 3, 3],
    &[0, 1, 2, 0, 1, 2],
    &[0, 0, 0, 1, 2, 2],
    &[0, 0, 0, 0, 0, 1, 2],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 1, 2, 3, 4, 5, 6, 6, 6],
    &[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    &[0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4],
    &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0],
    &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
    &[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
];

fn two_level() -> impl Iterator<Item = &'static Arc<dyn Algorithm>> {
    registry().iter().filter(|algorithm| algorithm.about().name == "two-level")
}

fn problem(network: &str, collective: &str, root: usize, hosts: &Hosts) -> Problem {
    let collective = Collective::named(collective, Rank::new(root)).unwrap();
    Problem::new(parse(network).unwrap(), collective).unwrap().on_hosts(hosts.clone()).unwrap()
}

/// The networks of this many nodes.
fn networks(nodes: usize) -> Vec<String> {
    let product = [(6, "mesh:2x3"), (8, "hypercube:3"), (12, "torus:3x4"), (15, "torus:3x5"), (16, "ghc:4,2")];
    let product = product.into_iter().filter(|&(size, _)| size == nodes).map(|(_, text)| text.to_owned());
    ["complete", "ring", "line"].iter().map(|kind| format!("{kind}:{nodes}")).chain(product).collect()
}

/// The blocks that cross between hosts, by host: those that leave it and those that enter it.
fn crossing(algorithm: &dyn Algorithm, problem: &Problem) -> Vec<(u64, u64)> {
    let hosts = problem.hosts().unwrap();
    let mut crossing = vec![(0, 0); hosts.count()];
    for rank in problem.all() {
        for send in algorithm.rounds(problem, rank).flat_map(|round| round.sends) {
            let [from, to] = [rank, send.peer].map(|rank| hosts.host(rank).unwrap());
            if from != to {
                crossing[from].0 += send.blocks.len() as u64;
                crossing[to].1 += send.blocks.len() as u64;
            }
        }
    }
    crossing
}

#[test]
fn two_level_schedules_keep_their_claims_on_all_partitions() {
    let mut cases = 0;
    for partition in PARTITIONS {
        let hosts = Hosts::of_names(*partition);
        for network in networks(partition.len()) {
            for algorithm in two_level() {
                let collective = algorithm.about().collective;
                let roots = if problem(&network, collective, 0, &hosts).collective().root().is_some() {
                    partition.len()
                } else {
                    1
                };
                for free in (0..roots).map(|root| problem(&network, collective, root, &hosts)) {
                    proof(algorithm.as_ref(), &free);
                    // Executed in memory, and compared with the definition.
                    check(algorithm.as_ref(), &free, usize::from(collective != "barrier"));
                    cases += 1;
                    let ordered = free.ordered();
                    let is_reduction = ordered.collective().is_reduction();
                    let fits = algorithm.fits(&ordered);
                    assert_eq!(fits.is_ok(), !is_reduction || hosts.are_consecutive(), "{collective}, {partition:?}");
                    if fits.is_ok() {
                        proof(algorithm.as_ref(), &ordered);
                        check(algorithm.as_ref(), &ordered, usize::from(collective != "barrier"));
                    }
                }
            }
        }
    }
    assert!(cases > 500, "only {cases} cases");
}

#[test]
fn two_level_costs_equal_the_formulas() {
    let log = |n: usize| u64::from(n.next_power_of_two().trailing_zeros());
    for partition in PARTITIONS {
        let hosts = Hosts::of_names(*partition);
        let (n, h) = (partition.len(), hosts.count());
        let m = (0..h).map(|host| hosts.ranks_on(host).len()).max().unwrap();
        let doubling = u64::from(h.ilog2()) + if h.is_power_of_two() { 0 } else { 2 };
        for algorithm in two_level() {
            let collective = algorithm.about().collective;
            let problem = problem(&format!("complete:{n}"), collective, n / 2, &hosts);
            let root = problem.collective().root().and_then(|root| hosts.host(root));
            let proof = proof(algorithm.as_ref(), &problem);
            let startups = match collective {
                "broadcast" | "reduce" | "gather" | "scatter" => log(h) + log(m),
                "allreduce" => 2 * log(m) + doubling,
                _ => 2 * log(m) + log(h),
            };
            assert_eq!(proof.startups, startups, "{collective}, {partition:?}");
            for (host, (out, into)) in crossing(algorithm.as_ref(), &problem).into_iter().enumerate() {
                let others = (n - hosts.ranks_on(host).len()) as u64;
                let away = u64::from(root != Some(host));
                match collective {
                    "broadcast" => assert_eq!(into, away, "{partition:?}, host {host}"),
                    "reduce" => assert_eq!(out, away, "{partition:?}, host {host}"),
                    "gather" => assert!(away == 0 || out + others >= n as u64, "{partition:?}, host {host}"),
                    "scatter" => assert!(away == 0 || into + others >= n as u64, "{partition:?}, host {host}"),
                    "allreduce" => {
                        let most = u64::from(h.ilog2()) + u64::from(!h.is_power_of_two());
                        assert!(out <= most && into <= most, "{partition:?}, host {host}: {out} out, {into} in");
                    }
                    _ => assert_eq!(into, others, "{collective}, {partition:?}, host {host}"),
                }
            }
        }
    }
}

#[test]
fn two_level_is_refused_without_two_hosts_and_a_pair() {
    let network = || Arc::new(Complete::new(6).unwrap());
    for algorithm in two_level() {
        let collective = Collective::named(algorithm.about().collective, Rank::new(1)).unwrap();
        let unknown = Problem::new(network(), collective).unwrap();
        let refused = |problem: &Problem| algorithm.fits(problem).unwrap_err().to_string();
        assert!(refused(&unknown).contains("the hosts of these ranks are unknown"), "{}", refused(&unknown));
        let on = |each| unknown.clone().on_hosts(Hosts::of_consecutive(6, each)).unwrap();
        assert!(refused(&on(6)).contains("there are 6 ranks on 1 host"), "{}", refused(&on(6)));
        assert!(refused(&on(1)).contains("there are 6 ranks on 6 hosts"), "{}", refused(&on(1)));
        assert!(algorithm.fits(&on(5)).is_ok());
    }
    let barrier = Problem::new(network(), Collective::Barrier).unwrap();
    let error = barrier.on_hosts(Hosts::of_consecutive(5, 2)).unwrap_err();
    assert!(matches!(error, BuildError::Hosts { found: 5, ranks: 6, .. }), "{error:?}");
}

#[test]
fn two_level_works_for_a_thousand_ranks() {
    for (network, each) in [("complete:1000", 48), ("torus:32x32", 32)] {
        let nodes = parse(network).unwrap().nodes();
        let hosts = Hosts::of_consecutive(nodes, each);
        for collective in ["broadcast", "reduce", "allreduce"] {
            let problem = problem(network, collective, nodes / 3, &hosts).ordered();
            let algorithm = find(problem.collective(), "two-level").unwrap();
            let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
            assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{collective} on {network}");
        }
    }
}

#[test]
fn claimed_demand_at_hosts_equals_the_count() {
    for (partition, network) in PARTITIONS.iter().flat_map(|one| networks(one.len()).into_iter().map(move |n| (one, n)))
    {
        let hosts = Hosts::of_names(*partition);
        let free = |row: &Arc<dyn Algorithm>| problem(&network, row.about().collective, partition.len() / 2, &hosts);
        let with_variants =
            registry().iter().flat_map(|row| [vec![Arc::clone(row)], row.variants(&free(row))].concat());
        for algorithm in with_variants.filter(|one| !is_long(&**one, &free(one))) {
            let free = free(&algorithm);
            let Ok(shares) = algorithm.shares(&free) else { continue };
            let counted = Demand::counted(&verify_shares(shares).unwrap(), &free);
            let claimed = Demand::claimed(algorithm.as_ref(), &free).unwrap();
            assert_eq!(claimed.host, counted.host, "{} for {} on {network}", algorithm.name(), free.collective());
            assert_eq!(claimed.work, counted.work, "{} for {} on {network}", algorithm.name(), free.collective());
            let machine = Machine::FREE.with_host(3);
            let expected = if free.collective().name() == "barrier" { 0 } else { 3 * counted.host.bytes(100) };
            assert_eq!(claimed.price(&machine, 100).total, expected, "{}", algorithm.name());
            assert_eq!(claimed.uncertain(&machine), [""; 0]);
        }
    }
}

#[test]
fn work_of_a_host_takes_its_time_divided_by_the_cores() {
    let demand = |collective: &str, algorithm: &str, hosts: &Hosts| {
        let problem = problem("complete:8", collective, 0, hosts);
        Demand::claimed(&*find(problem.collective(), algorithm).unwrap(), &problem).unwrap()
    };
    let machine = Machine::FREE.with_startup(1000).with_message(10).with_byte(3).with_combination(2);
    let price = |demand: &Demand, cores| demand.price(&machine.with_cores(cores), 100);

    // Eight ranks receive, combine and send a block in each of three rounds.
    let doubling = demand("allreduce", "recursive-doubling", &Hosts::of_consecutive(8, 8));
    let path = 3 * (1000 + 2 * 10 + 100 * (3 + 2));
    for (cores, total) in [(0, path), (8, path), (9, path), (2, 4 * path), (1, 8 * path)] {
        let price = price(&doubling, cores);
        assert_eq!((price.total, price.cores), (total, total - path), "{cores} cores");
    }
    // On two hosts each has half of the work.
    let halves = demand("allreduce", "recursive-doubling", &Hosts::of_consecutive(8, 4));
    assert_eq!(price(&halves, 1).total, 4 * path);
    // The root of a broadcast does not wait.
    let broadcast = demand("broadcast", "direct", &Hosts::of_consecutive(8, 8));
    assert_eq!(price(&broadcast, 1).total, 7 * (1000 + 2 * 10 + 100 * 3));
    // Where hosts are not known, each rank has a core.
    let unknown = Problem::new(parse("complete:8").unwrap(), Collective::Allreduce).unwrap();
    let unknown = Demand::claimed(&*find(unknown.collective(), "recursive-doubling").unwrap(), &unknown).unwrap();
    assert_eq!(price(&unknown, 1).total, path);
}

#[test]
fn auto_is_two_level_where_bytes_between_hosts_are_dear() {
    // Scattered: where hosts are ranges of ranks, or residues, some trees of ranks cross as seldom.
    let scattered = Hosts::of_names((0..32).map(|rank| rank * 7 % 32 / 8));
    let chosen = |problem: &Problem, machine: &Machine, bytes| {
        select(problem, "auto", &Terms::new(bytes, machine)).unwrap().algorithm.name()
    };
    let dear = Machine::TCP.with_host(3_000);
    for collective in ["broadcast", "allreduce", "allgather"] {
        let known = problem("complete:32", collective, 5, &scattered);
        assert_eq!(chosen(&known, &dear, 1 << 10), "two-level", "{collective}");
        // Nothing is charged unless the price is set and hosts are known.
        let unknown = Problem::new(Arc::clone(known.topology()), known.collective().clone()).unwrap();
        assert_ne!(chosen(&known, &Machine::TCP, 1 << 10), "two-level", "{collective}");
        assert_eq!(chosen(&unknown, &dear, 1 << 10), chosen(&unknown, &Machine::TCP, 1 << 10), "{collective}");
    }
}

#[test]
fn bytes_between_hosts_of_many_ranks_are_a_lower_bound() {
    let problem = problem("complete:129", "broadcast", 0, &Hosts::of_consecutive(129, 8));
    let demand = Demand::claimed(&*find(problem.collective(), "binomial").unwrap(), &problem).unwrap();
    assert_eq!(demand.uncertain(&Machine::TCP.with_host(1)), ["transmission by host"]);
    assert_eq!(demand.uncertain(&Machine::TCP.with_cores(2)), ["work of a host"]);
    assert_eq!(demand.uncertain(&Machine::TCP), [""; 0]);
}

#[test]
fn two_level_schedules_are_written_and_read_as_json() {
    let hosts = Hosts::of_consecutive(6, 2);
    let problem = problem("ring:6", "allreduce", 0, &hosts).ordered();
    let algorithm = find(problem.collective(), "two-level").unwrap();
    let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
    let text = to_json(&schedule);
    let read = from_json(&text).unwrap();
    assert_eq!(read.rounds, schedule.rounds);
    assert_eq!(read.outline.algorithm, "two-level");
    verify(&read).unwrap();
}

//! Which algorithm does it, and that it is right.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use necklace::algorithm::{Algorithm, registry};
use necklace::collective::Collective;
use necklace::error::{ArgumentError, BuildError};
use necklace::machine::Machine;
use necklace::op::{Sum, by};
use necklace::schedule::{Placement, Problem};
use necklace::topology::{Graph, Neighbours, Topology};
use necklace::{Communicator, Error, Node, Options, Rank};

use super::definitions::{
    Dice, allgather, alltoall, broadcast, composition, ends, everything, performs, performs_in_any_order,
    performs_in_every_form,
};
use crate::jobs::{self, Job, topology, watched};

fn topologies() -> Vec<Arc<dyn Topology>> {
    let texts = [
        "ring:1",
        "line:2",
        "ring:3",
        "line:5",
        "ring:8",
        "ring:13",
        "mesh:3x3",
        "mesh:3x4",
        "mesh:4x2",
        "torus:3x5",
        "torus:2x2x2",
        "torus:4x4",
        "torus:8x4",
        "hypercube:4",
        "ghc:3,2",
        "ghc:2x4",
        "how:5,2,1",
        "how:6,2,1",
        "how-wrap:7,2,1",
        "complete:7",
        "complete:16",
        "complete:32",
    ];
    let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5)]).unwrap();
    let networks = texts.into_iter().map(topology).chain([Arc::new(graph) as Arc<dyn Topology>]);
    let mut networks: Vec<_> = networks.filter(|network| network.nodes() <= jobs::many_calls()).collect();
    networks.sort_by_key(|network| network.nodes());
    networks
}

/// Returns `native` in place of this algorithm if the backend has collectives of its own.
fn or_native(name: &'static str) -> &'static str {
    if jobs::is_native() { "native" } else { name }
}

/// Calls a collective by its typed method, if the suites have one, and by its value, for every root
/// or, on many ranks, for some.
fn call(comm: &mut Communicator, collective: &str, elements: usize) {
    // On many ranks, three roots.
    let step = if comm.size() <= 8 { 1 } else { comm.size() / 2 - 1 };
    match collective {
        "alltoall" => alltoall::<[f32; 3]>(comm, elements),
        "allgather" => allgather::<[f32; 3]>(comm, elements),
        "allreduce" | "scan" => {
            ends::<[f32; 3]>(comm, elements);
            composition(comm, elements);
        }
        "broadcast" => (0..comm.size()).step_by(step).for_each(|root| broadcast::<[f32; 3]>(comm, elements, root)),
        _ => {}
    }
    for root in (0..comm.size()).step_by(step) {
        let collective = Collective::named(collective, Rank::new(root)).unwrap();
        // On more ranks, waiting takes most of the time where ranks share cores.
        let perform = if comm.size() <= 9 { performs_in_every_form } else { performs };
        perform(comm, &collective, elements);
        if collective.root().is_none() {
            break;
        }
    }
}

fn is_unfit<T>(result: &Result<T, Error>) -> bool {
    let argument = result.as_ref().err().and_then(Error::argument);
    matches!(argument, Some(ArgumentError::Build(BuildError::Unfit { .. })))
}

/// Returns the algorithms to try on each network: those that fit on every other network that they
/// fit, or the only one, the others on every other network. Where many calls take long, networks of
/// more than half of the largest size try only algorithms that fit and that no smaller network tries.
fn turns(networks: &[Arc<dyn Topology>]) -> Vec<Vec<Arc<dyn Algorithm>>> {
    let mut turns = vec![vec![]; networks.len()];
    for (row, algorithm) in registry().iter().enumerate() {
        let (mut fitting, mut unfit, mut largest) = (row % 2, row, 0);
        let fits = |network: &Arc<dyn Topology>| {
            let root = Rank::new(network.nodes() / 2);
            let collective = Collective::named(algorithm.about().collective, root).unwrap();
            algorithm.fits(&Problem::new(Arc::clone(network), collective).unwrap()).is_ok()
        };
        let fits: Vec<bool> = networks.iter().map(fits).collect();
        let only = fits.iter().filter(|fits| **fits).count() == 1;
        for ((network, turn), fits) in networks.iter().zip(&mut turns).zip(fits) {
            if network.nodes() > jobs::many_calls() / 2 && !(fits && largest == 0) {
                continue;
            }
            let count = if fits { &mut fitting } else { &mut unfit };
            *count += 1;
            if *count % 2 == 1 || fits && only {
                turn.push(Arc::clone(algorithm));
                largest = if fits { largest.max(network.nodes()) } else { largest };
            }
        }
        // No rank here has a host or a node of a Gray code.
        let elsewhere = ["two-level", "gray"].contains(&algorithm.about().name) || algorithm.priced_as().is_some();
        assert!(largest > 2 || elsewhere, "{} is tried on {largest} ranks", algorithm.name());
    }
    turns
}

pub(super) fn every_fitting_algorithm_executes_its_collective() {
    let networks = topologies();
    for (network, turn) in networks.iter().cloned().zip(turns(&networks)) {
        watched(&network.text(), move || {
            let run = Job::on(Arc::clone(&network)).run(|mut comm| {
                for algorithm in &turn {
                    let (kind, name) = (algorithm.about().collective, algorithm.name());
                    let collective = Collective::named(kind, Rank::new(comm.size() / 2)).unwrap();
                    let problem = Problem::new(Arc::clone(&network), collective.clone()).unwrap();
                    let native = jobs::is_native() && algorithm.priced_as().is_some();
                    if !native && algorithm.fits(&problem.clone().ordered()).is_err() {
                        if algorithm.fits(&problem).is_ok() {
                            comm.choose(kind, &name).unwrap();
                            for elements in [0, 3] {
                                performs_in_any_order(&mut comm, &collective, elements);
                            }
                            let me = Rank::new(comm.rank());
                            let [before, after] =
                                [collective.before(comm.size(), me), collective.after(comm.size(), me)];
                            let (send, mut receive) = (vec![0_u64; before.len()], vec![0; after.len()]);
                            let refused =
                                comm.perform(&collective, &send, &mut receive, by("first", |left: u64, _| left));
                            assert!(is_unfit(&refused), "{name}: {refused:?}");
                            // Later collectives are checked by reductions too.
                            comm.choose(kind, "auto").unwrap();
                            continue;
                        }
                        let refused = comm.choose(kind, &name);
                        assert!(is_unfit(&refused), "{name}: {refused:?}");
                        continue;
                    }
                    comm.choose(kind, &name).unwrap();
                    for elements in [0, 3] {
                        call(&mut comm, kind, elements);
                    }
                    // On many ranks, each would find the prices for all on the same cores.
                    if comm.size() <= 9 || comm.rank() == 0 {
                        let choice = comm.explain(&collective, 36).unwrap();
                        let mut alternatives = algorithm.alternatives(&problem.clone().ordered());
                        if alternatives.is_empty() {
                            alternatives.push(Arc::clone(algorithm));
                        }
                        let is_chosen = |one: &Arc<dyn Algorithm>| one.name() == choice.algorithm.name();
                        assert!(choice.named && alternatives.iter().any(is_chosen), "{name}: {choice}");
                        let text = choice.to_string();
                        assert!(text.contains(&name) && text.contains(kind) && text.contains("36"), "{text}");
                    }
                    if algorithm.priced_as().is_some() {
                        let proof = comm.prove(&collective, 36);
                        assert!(
                            matches!(
                                proof.as_ref().err().and_then(Error::argument),
                                Some(ArgumentError::Build(BuildError::Unscheduled { .. }))
                            ),
                            "{name}: {proof:?}"
                        );
                    } else if comm.rank() == 0 {
                        comm.prove(&collective, 36).unwrap_or_else(|e| panic!("{name}: {e}"));
                    }
                }
            });
            run.unwrap();
        });
    }
}

pub(super) fn invalid_parameters_are_refused_with_what_is_accepted() {
    watched("parameters", || {
        let run = Job::on(topology("torus:3x4")).run(|mut comm| {
            let explained = |comm: &Communicator| comm.explain(&Collective::Alltoall, 8).unwrap().algorithm.name();
            for name in ["bruck", "bruck:radix=3", "bruck:radix=5,ports=all", "bruck:radix=12", "bruck:radix=1000"] {
                comm.choose("alltoall", name).unwrap();
                comm.choose("alltoallv", name).unwrap();
                assert_eq!(explained(&comm), name);
                everything::<u64>(&mut comm, 2);
            }
            comm.choose("alltoall", "bruck:ports=one,radix=2").unwrap();
            assert_eq!(explained(&comm), "bruck");
            let cases = [
                ("bruck:radix=1", "radix=1", "radix=2..2147483647"),
                ("bruck:base=3", "base=3", "radix=2..2147483647 or ports=one|all"),
                ("bruck:ports=all,ports=all", "ports=all", "ports only once"),
                ("direct:radix=2", "radix=2", "no parameters"),
            ];
            for (name, what, right) in cases {
                let error = comm.choose("alltoall", name).unwrap_err();
                match error.argument() {
                    Some(ArgumentError::Build(BuildError::Parameters { found, expected, .. })) => {
                        assert_eq!((found.as_str(), expected.as_str()), (what, right));
                    }
                    _ => panic!("{name}: {error}"),
                }
            }
            assert_eq!(explained(&comm), "bruck");
        });
        run.unwrap();
    });
}

pub(super) fn auto_considers_variants() {
    watched("variants", || {
        // Messages dearer than rounds: as few of them as can be.
        let options = Options::default().machine(Machine::THREADS.with_startup(1 << 40).with_message(1 << 42));
        let run = Job::on(topology("complete:16")).options(options).run(|mut comm| {
            let choice = comm.explain(&Collective::Alltoall, 8).unwrap();
            assert_eq!(choice.algorithm.name(), or_native("bruck"), "{choice}");
            for variant in ["bruck:radix=4 ", "bruck:radix=4,ports=all ", "bruck:radix=3 "] {
                assert!(choice.to_string().contains(variant), "{choice}");
            }
            everything::<u64>(&mut comm, 2);
        });
        run.unwrap();
        let options = Options::default().machine(Machine::THREADS.with_startup(1 << 40).with_message(1 << 38));
        let run = Job::on(topology("complete:16")).options(options).run(|mut comm| {
            let choice = comm.explain(&Collective::Alltoall, 8).unwrap();
            // 2 rounds of 3 messages: 3.5 rounds' worth; 1 round of 15 costs 4.75.
            assert_eq!(choice.algorithm.name(), or_native("bruck:radix=4,ports=all"), "{choice}");
            everything::<u64>(&mut comm, 2);
        });
        run.unwrap();
    });
}

pub(super) fn auto_explains_its_choice_equally_on_every_rank() {
    for network in topologies() {
        watched(&network.text(), move || {
            let explained = Job::on(network).run(|mut comm| {
                comm.choose("alltoall", "direct").unwrap();
                comm.choose("alltoall", "auto").unwrap();
                let mut texts = vec![];
                for bytes in [0, 1, 64, 4096, 1 << 20, usize::MAX] {
                    for kind in ["alltoall", "allgather", "allreduce", "scan", "broadcast", "barrier"] {
                        let choice = comm.explain(&Collective::named(kind, Rank::new(0)).unwrap(), bytes).unwrap();
                        assert!(!choice.named);
                        let prices = choice.candidates.iter().filter_map(|c| c.price.as_ref().ok()).map(|p| p.total);
                        let chosen = choice.candidates.iter().find(|c| c.algorithm.name() == choice.algorithm.name());
                        assert_eq!(chosen.unwrap().price.as_ref().ok().map(|p| p.total), prices.min());
                        texts.push(choice.to_string());
                    }
                }
                texts
            });
            let explained = explained.unwrap();
            assert!(explained.iter().all(|texts| *texts == explained[0]));
        });
    }
}

/// The time is that of the calls by one algorithm with one length of blocks.
pub(super) fn explain_shows_the_measured_time_of_earlier_calls() {
    watched("measured", || {
        let run = jobs::run(3, |mut comm| {
            let measured = |comm: &Communicator, collective: &Collective, bytes: usize| {
                let choice = comm.explain(collective, bytes).unwrap();
                let text = choice.to_string();
                let all: Vec<_> =
                    choice.candidates.iter().filter_map(|one| Some((one.algorithm.name(), one.measured?))).collect();
                assert_eq!(text.matches(" us measured").count(), all.len(), "{text}");
                for (name, one) in &all {
                    let is_line = |line: &&str| line.trim_start().starts_with(&format!("{name} "));
                    let line = text.lines().find(is_line).unwrap();
                    assert!(line.ends_with(&format!("shortest of {} timed calls on this rank", one.calls)), "{line}");
                    assert!(!one.shortest.is_zero() && one.shortest.as_secs() < 60, "{one:?}");
                }
                all.into_iter().map(|(name, one)| (name, one.calls)).collect::<Vec<_>>()
            };
            let of =
                |all: &[(&str, u64)]| all.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect::<Vec<_>>();
            let alltoall = |comm: &mut Communicator| comm.alltoall(&[1_u64; 6], &mut [0; 6]).unwrap();
            assert_eq!(measured(&comm, &Collective::Alltoall, 16), []);
            comm.choose("alltoall", "ring").unwrap();
            assert_eq!(measured(&comm, &Collective::Alltoall, 16), []);
            (0..100).for_each(|_| alltoall(&mut comm));
            assert_eq!(measured(&comm, &Collective::Alltoall, 16), of(&[("ring", 17)]));
            // Calls of other algorithms, types and buffers.
            (0..3).for_each(|_| alltoall(&mut comm.using("direct")));
            comm.alltoall(&[1_u32; 12], &mut [0; 12]).unwrap();
            assert_eq!(measured(&comm, &Collective::Alltoall, 16), of(&[("direct", 3), ("ring", 18)]));
            for other in [0, 8, 15, 17] {
                assert_eq!(measured(&comm, &Collective::Alltoall, other), []);
            }
            assert_eq!(measured(&comm, &Collective::Allgather, 16), []);
            // The length of blocks has no meaning for a barrier.
            comm.choose("barrier", "dissemination").unwrap();
            comm.barrier().unwrap();
            assert_eq!(measured(&comm, &Collective::Barrier, 5), of(&[("dissemination", 1)]));
            comm.choose("allreduce", "ring").unwrap();
            let refused = comm.allreduce(&[1_u64; 2], &mut [0; 3], Sum);
            assert!(refused.is_err() && measured(&comm, &Collective::Allreduce, 16).is_empty());
            comm.allreduce(&[1_u64; 2], &mut [0; 2], Sum).unwrap();
            assert_eq!(measured(&comm, &Collective::Allreduce, 16), of(&[("ring", 1)]));
        });
        run.unwrap();
    });
}

pub(super) fn machine_of_rank_0_is_used_by_all() {
    watched("machines", || {
        let ranks = jobs::endpoints(16).into_iter().map(|endpoint| {
            thread::spawn(move || {
                // To rank 0 rounds are dear, to the others bytes and messages are.
                let machine = match endpoint.rank().index() {
                    0 => Machine::THREADS.with_startup(1 << 40).with_message(0).with_byte(0),
                    rank => Machine::THREADS.with_startup(0).with_message(rank as u64).with_byte(1 << 40),
                };
                let options = Options::default().machine(machine);
                let mut comm = Communicator::with_options(endpoint, topology("torus:4x4"), options).unwrap();
                everything::<u64>(&mut comm, 2);
                comm.explain(&Collective::Alltoall, 64).unwrap().to_string()
            })
        });
        let explained: Vec<String> = ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(explained.iter().all(|text| *text == explained[0]), "{explained:?}");
        let direct = format!("64 bytes a block: {},", or_native("direct"));
        assert!(explained[0].contains(&direct), "{}", explained[0]);
    });
}

pub(super) fn collectives_work_under_any_placement() {
    for seed in 0..3 {
        watched(&format!("placement {seed}"), move || {
            let nodes: Vec<Node> = Dice(seed).order(16).into_iter().map(Node::new).collect();
            let placement = Placement::new(nodes, 16).unwrap();
            let job = Job::on(topology("torus:4x4")).options(Options::default().placement(placement.clone()));
            job.run(|mut comm| {
                assert_eq!(*comm.placement(), placement);
                for algorithm in ["torus-exchange", "ring", "direct-xor", "direct", "direct-rotated"] {
                    comm.choose("alltoall", algorithm).unwrap();
                    comm.choose("alltoallv", algorithm).unwrap();
                    everything::<u64>(&mut comm, 3);
                    if comm.rank() == 5 {
                        comm.prove(&Collective::Alltoall, 8).unwrap();
                    }
                }
                // A row is the nodes of a row, whichever ranks sit there.
                let row = comm.placement().node(Rank::new(comm.rank())).index() / 4;
                let mut row = comm.split(row as u32, 0).unwrap();
                assert_eq!(row.topology().text(), "ring:4");
                everything::<u64>(&mut row, 3);
            })
            .unwrap();
        });
    }
}

pub(super) fn small_cache_does_not_change_results() {
    for (plans, bytes) in [(0, 0), (1, usize::MAX), (2, 10_000), (usize::MAX, 0)] {
        watched(&format!("{plans} plans of {bytes} bytes"), move || {
            let job = Job::on(topology("torus:4x4")).options(Options::default().cache(plans, bytes));
            job.run(|mut comm| (0..6).for_each(|turn| everything::<u64>(&mut comm, 10 * (turn % 3)))).unwrap();
        });
    }
}

pub(super) fn agreeing_calls_work_without_fingerprints() {
    watched("no fingerprints", || {
        let job = Job::on(topology("torus:4x4")).options(Options::default().fingerprints(false));
        job.choose("alltoall", "torus-exchange").run(|mut comm| everything::<u64>(&mut comm, 5)).unwrap();
    });
}

pub(super) fn proof_figures_equal_the_papers() {
    watched("proof", || {
        let proofs = Job::on(topology("torus:4x4")).choose("alltoall", "torus-exchange").run(|comm| {
            let proof = comm.prove(&Collective::Alltoall, 64).unwrap();
            (proof.startups, proof.transmission.to_string(), proof.hops, proof.contention_free)
        });
        assert_eq!(proofs.unwrap(), vec![(4, "32".to_owned(), 6, true); 16]);
    });
}

/// A graph that counts how often it is asked for a route.
#[derive(Debug)]
struct Routed {
    graph: Graph,
    asked: AtomicUsize,
}

impl Topology for Routed {
    fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        self.graph.neighbours(node)
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.graph.distance(from, to)
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.graph.route(from, to)
    }

    fn text(&self) -> String {
        "routed".to_owned()
    }
}

pub(super) fn messages_are_counted_once_for_all_block_sizes() {
    watched("counted once", || {
        let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]).unwrap();
        let network = Arc::new(Routed { graph, asked: AtomicUsize::new(0) });
        let asked = || network.asked.load(Ordering::Relaxed);
        let counts = Job::on(Arc::clone(&network) as Arc<dyn Topology>).run(|mut comm| {
            let counts = [1, 2, 70, 3000].map(|elements| {
                alltoall::<u64>(&mut comm, elements);
                comm.barrier().unwrap();
                // No rank continues before all have read it.
                let asked = asked();
                comm.barrier().unwrap();
                asked
            });
            comm.close().unwrap();
            counts
        });
        let counts = counts.unwrap();
        assert!(counts[0][0] > 0, "{counts:?}");
        assert!(counts.iter().flatten().all(|&count| count == counts[0][0]), "{counts:?}");
    });
}

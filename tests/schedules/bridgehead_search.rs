//! The search for the parameters of bridgeheads: a name alone, and `auto`, take the cheapest.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::{Ports, Problem};
use necklace::select::{Terms, select};
use necklace::topology::parse;

use crate::bridgehead_roots::rooted;
use crate::bridgeheads::problem;

/// Asserts that a name takes parameters at most `percent` dearer than the cheapest of these
/// demands, and returns the algorithm.
pub(crate) fn near_the_least(
    problem: &Problem,
    name: &str,
    demands: &[Demand],
    (machine, bytes, percent): (&Machine, u64, u128),
) -> Arc<dyn Algorithm> {
    let least = demands.iter().map(|demand| demand.price(machine, bytes).total).min().unwrap();
    let chosen = select(problem, name, &Terms::new(bytes, machine)).unwrap();
    let price = Demand::claimed(&*chosen.algorithm, problem).unwrap().price(machine, bytes).total;
    let found = format!("{} on {}, {machine}", chosen.algorithm.name(), problem.topology().text());
    assert!(100 * price <= (100 + percent) * least, "{found}, {bytes} bytes: {price}, not {least}");
    assert!(chosen.named && chosen.algorithm.name().starts_with(name), "{found}");
    chosen.algorithm
}

#[test]
fn name_alone_takes_the_best_parameters_of_each_phase() {
    let problem = problem("torus:8x8");
    let all = |a: usize| (1.max(a / 2)..=a + 1).map(move |b| (a, b));
    let all: Vec<_> = [1, 2, 3, 4, 8].into_iter().flat_map(all).collect();
    let both = all.iter().flat_map(|first| all.iter().map(move |later| (*first, *later)));
    let demands: Vec<_> = both
        .map(|((a, b), (a2, b2))| {
            let text = format!("high-dim-gos:a={a},b={b},a2={a2},b2={b2}");
            Demand::claimed(&*find(&Collective::Allgather, &text).unwrap(), &problem).unwrap()
        })
        .collect();
    let mut of_their_own = 0;
    for startup in [0, 2, 5, 10, 20, 1000] {
        let machine = Machine::FREE.with_channel(1000).with_startup(startup * 1000);
        let chosen = near_the_least(&problem, "high-dim-gos", &demands, (&machine, 1, 1));
        of_their_own += usize::from(chosen.name().contains("a2="));
        let given = select(&problem, "high-dim-gos:a2=5", &Terms::new(1, &machine)).unwrap().algorithm.name();
        assert!(given.starts_with("high-dim-gos:a=") && (given.contains("a2=5") || given.contains("a=5")), "{given}");
    }
    assert!(of_their_own > 0);
}

#[test]
fn name_alone_takes_the_best_parameters_of_three_phases() {
    let numbers = [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2), (4, 0), (9, 0)];
    let all = || numbers.into_iter();
    let phases = all().flat_map(|first| all().flat_map(move |second| all().map(move |third| [first, second, third])));
    let names: Vec<String> = phases
        .map(|[(a, b), (a2, b2), (a3, b3)]| format!("high-dim-gos:a={a},b={b},a2={a2},b2={b2},a3={a3},b3={b3}"))
        .collect();
    let (mut apart, mut fitting) = (0, 0);
    for text in ["torus:4x4x4", "mesh:4x4x4", "torus:2x3x4", "torus:9x9x9"] {
        let problem = problem(text);
        let all = names.iter().map(|name| find(&Collective::Allgather, name).unwrap());
        let all: Vec<_> = all.filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
        let demands: Vec<_> = all.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
        fitting += demands.len();
        for startup in [0, 2, 5, 10, 20, 50, 100, 300, 1000] {
            let machine = Machine::FREE.with_channel(1000).with_startup(startup * 1000);
            let chosen = near_the_least(&problem, "high-dim-gos", &demands, (&machine, 1, 1));
            apart += usize::from(chosen.name().contains("a3="));
            // What is given stays, whether the other phases are open or not.
            for given in ["a3=3", "a2=2", "a2=2,a3=4", "a=2,a3=3", "a=1,b=1,a2=2,b2=1"] {
                let chosen = select(&problem, &format!("high-dim-gos:{given}"), &Terms::new(1, &machine)).unwrap();
                let settings = chosen.algorithm.settings();
                let of = |key| {
                    let parameters = chosen.algorithm.parameters();
                    settings.of(parameters.iter().find(|parameter| parameter.key == key).unwrap())
                };
                let or = |given, before| if given > 0 { given } else { before };
                let taken = [of("a"), or(of("a2"), of("a")), or(of("a3"), or(of("a2"), of("a")))];
                let fits = match given {
                    "a3=3" => taken[2] == 3,
                    "a2=2" => taken[1..] == [2, 2],
                    "a2=2,a3=4" => taken[1..] == [2, 4],
                    "a=2,a3=3" => taken == [2, 2, 3],
                    _ => taken == [1, 2, 2] && of("b") == 1 && of("b2") == 1,
                };
                assert!(fits, "{text}, {startup}, {given}: {}", chosen.algorithm.name());
            }
        }
    }
    assert!(apart > 0 && fitting > 300, "{apart} of {fitting}");
}

/// The search of the paper's tables, by counted prices: a name without parameters is as cheap as
/// the best of all a and b, within a hundredth.
#[test]
fn name_alone_takes_the_parameters_of_the_least_price() {
    let rings = [2, 3, 4, 9, 16, 25, 27, 30].map(|n| (format!("ring:{n}"), "circgos", n));
    let lines = [3, 10, 16, 27].map(|n| (format!("line:{n}"), "circgos", n));
    let tori = [2, 6, 8, 9, 12].map(|n| (format!("torus:{n}x{n}"), "torgos", n));
    let others = [("torus:4x4x4", "cubgos", 4), ("mesh:9x9", "torgos", 9), ("torus:9x5", "high-dim-gos", 9)];
    let others = others.map(|(text, name, n)| (text.to_owned(), name, n));
    for (text, name, n) in rings.into_iter().chain(lines).chain(tori).chain(others) {
        let problem = problem(&text);
        let all = (1..=n).flat_map(|a| (1.max(a / 2)..2 * a.max(3)).map(move |b| format!("{name}:a={a},b={b}")));
        let all: Vec<_> = all.map(|text| find(&Collective::Allgather, &text).unwrap()).collect();
        let fitting: Vec<_> = all.into_iter().filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
        let demands: Vec<_> = fitting.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
        // From a start-up that costs nothing to one that costs a thousand blocks.
        for startup in [0, 2, 10, 50, 200, 1000] {
            let machine = Machine::FREE.with_channel(1000).with_startup(startup * 1000);
            near_the_least(&problem, name, &demands, (&machine, 1, 1));
        }
    }
}

/// Machines that charge for every message: a name alone is nearly as cheap as the best of all a, b
/// and factors of a round on lines and meshes too, where a node in the middle sends more than
/// others.
#[test]
fn name_alone_takes_nearly_the_least_if_messages_have_a_price() {
    let lines = [3, 10, 17, 31, 33, 41].map(|n| (format!("line:{n}"), "circgos", n));
    let rings = [9, 16, 23].map(|n| (format!("ring:{n}"), "circgos", n));
    let meshes = [(3, 3), (9, 9), (5, 7), (12, 7)].map(|(a, b)| (format!("mesh:{a}x{b}"), "high-dim-gos", a.max(b)));
    for (text, name, n) in lines.into_iter().chain(rings).chain(meshes) {
        let problem = problem(&text);
        // Larger factors than the first that reaches all nodes of a row give no other numbers of steps.
        let growths = |a: usize| (2..10).filter(move |growth| *growth == 2 || a * (growth - 1) < n);
        let numbers = (1..=n).flat_map(|a| (1..a + 6).flat_map(move |b| growths(a).map(move |growth| (a, b, growth))));
        let names = numbers.map(|(a, b, growth)| format!("{name}:a={a},b={b},growth={growth}"));
        let all = names.map(|text| find(&Collective::Allgather, &text).unwrap());
        let fitting: Vec<_> = all.filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
        let demands: Vec<_> = fitting.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
        for machine in [Machine::TCP, Machine::PARAGON] {
            for bytes in [8, 512, 1 << 14] {
                near_the_least(&problem, name, &demands, (&machine, bytes, 2));
            }
        }
    }
}

/// Among many ranks the search leaves out parameters, but not those that are the best for some
/// price of a start-up.
#[test]
fn name_alone_takes_the_best_first_phase_among_many_ranks() {
    let machine = Machine::FREE.with_channel(1_000_000).with_startup(10_000_000);
    let cases = [
        ("torus:100x100", 1, "a=15,b=9,a2=100"),
        ("torus:100x100", 3, "a=17,b=12,a2=100"),
        ("mesh:90x90", 8, "a=30,b=15,a2=90"),
    ];
    for (text, bytes, given) in cases {
        let problem = problem(text);
        let total = |name: &str| {
            let chosen = select(&problem, name, &Terms::new(bytes, &machine)).unwrap().algorithm;
            Demand::claimed(&*chosen, &problem).unwrap().price(&machine, bytes).total
        };
        assert!(total("high-dim-gos") <= total(&format!("high-dim-gos:{given}")), "{text}, {bytes} bytes");
    }
}

/// On diagonals the factor of a round divides the distance of bridgeheads.
#[test]
fn name_alone_on_diagonals_takes_the_best_factor_of_a_round() {
    let divisors = |n: usize| (2..=n).filter(move |factor| n.is_multiple_of(*factor));
    for (text, name, n) in [("torus:27x27", "torgos", 27), ("torus:16x16", "torgos", 16), ("torus:8x8x8", "cubgos", 8)]
    {
        let problem = problem(text);
        let growths = divisors(n).flat_map(|a| divisors(n / a).map(move |growth| (a, growth)));
        let all = growths.flat_map(|(a, growth)| {
            (growth / 2..=2 * growth).map(move |b| format!("{name}:a={a},b={b},growth={growth}"))
        });
        let all = all.map(|text| find(&Collective::Allgather, &text).unwrap());
        let fitting: Vec<_> = all.filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
        assert!(fitting.len() > 10, "{text}");
        let demands: Vec<_> = fitting.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
        for startup in [0, 1, 2, 5, 10, 50] {
            let machine = Machine::FREE.with_channel(1000).with_startup(startup * 1000);
            near_the_least(&problem, name, &demands, (&machine, 1, 1));
        }
    }
}

/// Among many ranks not all parameters are tried, but the least transmission is found.
#[test]
fn long_blocks_on_large_rings_take_all_nodes_as_bridgeheads() {
    for (text, name, n) in [("ring:600", "circgos", 600), ("line:1024", "circgos", 1024), ("torus:30x30", "torgos", 30)]
    {
        let machine = Machine::FREE.with_channel(1000).with_startup(1);
        let chosen = select(&problem(text), name, &Terms::new(1 << 20, &machine)).unwrap().algorithm.name();
        assert_eq!(chosen, format!("{name}:a={n}"), "{text}");
    }
}

/// `auto` compares a few parameters of each algorithm, and then all of those near the cheapest.
#[test]
fn auto_is_as_cheap_as_a_name_alone() {
    let networks =
        ["ring:15", "ring:36", "ring:100", "line:40", "torus:8x8", "torus:18x18", "torus:9x5", "torus:5x5x5"];
    let networks =
        networks.into_iter().chain(["torus:1x30", "torus:3x3x3x3", "mesh:12x12", "mesh:3x40", "ring:3", "ring:4"]);
    let charges_for_rounds = Machine::FREE.with_channel(1000).with_startup(10_000_000).with_hop(100_000);
    let machines = [charges_for_rounds, Machine::PARAGON, Machine::TCP];
    for (text, machine) in networks.flat_map(|text| machines.map(|machine| (text, machine))) {
        for (ports, words) in [(Ports::All, ""), (Ports::All, ":colours=one"), (Ports::One, ":ports=one")] {
            let collectives = ["allgather", "reduce_scatter", "allreduce", "broadcast", "reduce"];
            let lengths = [8, 512, 4096, 1 << 20];
            for (collective, bytes) in collectives.into_iter().flat_map(|one| lengths.map(|bytes| (one, bytes))) {
                let collective = Collective::named(collective, Rank::new(0)).unwrap();
                let problem = Problem::new(parse(text).unwrap(), collective.clone()).unwrap();
                let terms = Terms::new(bytes, &machine).keeping(ports);
                let price = |name: &str| {
                    let chosen = select(&problem, name, &terms).ok()?.algorithm;
                    let price = Demand::claimed(&*chosen, &problem).unwrap().price(&machine, bytes).total;
                    Some((price, chosen.name()))
                };
                let (auto, taken) = price("auto").unwrap();
                for name in ["circgos", "high-dim-gos", "torgos", "cubgos", "bridgeheads"] {
                    let Some((least, name)) = price(&format!("{name}{words}")) else { continue };
                    let found =
                        format!("{text}, {machine}, {collective}, {bytes}: {taken} at {auto}, {name} at {least}");
                    assert!(1000 * auto <= 1005 * least, "{found}");
                }
            }
        }
    }
}

/// With one port, messages of recursive doubling wait for each other on a long ring.
#[test]
fn auto_takes_bridgeheads_by_one_port_on_large_rings_and_tori() {
    let machine = Machine::FREE.with_channel(1000).with_startup(10_000_000).with_hop(100_000);
    for (text, name) in [("ring:256", "circgos"), ("torus:32x32", "torgos")] {
        let problem = problem(text);
        let chosen = select(&problem, "auto", &Terms::new(128, &machine).keeping(Ports::One)).unwrap().algorithm;
        let (taken, is_one) = (chosen.name(), chosen.keeps(&problem, Ports::One));
        assert!(is_one && taken.starts_with(name) && taken.contains("ports=one"), "{text}: {taken}");
    }
}

/// Of a broadcast every eighth number of steps is tried, which costs little.
#[test]
fn broadcast_by_name_alone_is_nearly_as_cheap_as_any() {
    for (text, n) in [("ring:5", 5_usize), ("ring:16", 16), ("line:11", 11), ("torus:6x6", 6), ("hypercube:4", 2)] {
        let problem =
            Problem::new(parse(text).unwrap(), Collective::named("broadcast", Rank::new(1)).unwrap()).unwrap();
        let all = (1..=n).flat_map(|a| (1.max(a / 2)..80).map(move |b| format!("bridgeheads:a={a},b={b}")));
        let all: Vec<_> = all.map(|text| find(problem.collective(), &text).unwrap()).collect();
        let fitting: Vec<_> = all.into_iter().filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
        let demands: Vec<_> = fitting.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
        for bytes in [1, 100, 10_000, 300_000] {
            let machine = Machine::FREE.with_channel(1000).with_startup(10_000_000);
            near_the_least(&problem, "bridgeheads", &demands, (&machine, bytes, 5));
        }
    }
}

#[test]
fn given_parameters_are_kept_by_the_search() {
    let problem = problem("ring:27");
    let chosen = |name: &str, startup: u64| {
        let machine = Machine::FREE.with_channel(1).with_startup(startup);
        select(&problem, name, &Terms::new(1, &machine)).unwrap().algorithm.name()
    };
    assert_eq!(chosen("circgos:a=3,b=2", 50), "circgos:a=3,b=2");
    assert!(chosen("circgos:a=3", 50).starts_with("circgos:a=3,b="));
    assert_ne!(chosen("circgos:a=3", 0), chosen("circgos:a=3", 1000));
    assert_eq!(chosen("circgos:a=27", 50), "circgos:a=27");
}

/// The search takes the same time and finds the same for all roots.
#[test]
fn choices_of_a_and_b_do_not_depend_on_the_root() {
    for topology in ["ring:12", "line:9", "mesh:3x4", "torus:4x4"] {
        for name in ["broadcast", "reduce"] {
            let names = |root| {
                let problem = rooted(topology, name, root);
                let algorithm = find(problem.collective(), "bridgeheads").unwrap();
                let all = [algorithm.variants(&problem), algorithm.alternatives(&problem)];
                all.map(|all| all.iter().map(|one| one.name()).collect::<Vec<_>>())
            };
            let of_first = names(0);
            assert!(of_first.iter().all(|names| (1..16).contains(&names.len())), "{of_first:?}");
            assert!((1..parse(topology).unwrap().nodes()).all(|root| names(root) == of_first), "{topology}");
        }
    }
}

/// Edge-disjoint trees are for up to 1024 nodes.
#[test]
fn auto_is_as_cheap_as_pipelines_on_large_tori() {
    let machine = Machine::FREE.with_channel(1000).with_startup(10_000_000).with_hop(100_000);
    for (text, bytes) in [("torus:34x34", 64 << 20), ("torus:34x34", 1 << 30), ("mesh:40x36", 256 << 20)] {
        let problem =
            Problem::new(parse(text).unwrap(), Collective::named("broadcast", Rank::new(0)).unwrap()).unwrap();
        let price = |name: &str| {
            let chosen = select(&problem, name, &Terms::new(bytes, &machine)).unwrap().algorithm;
            Demand::claimed(&*chosen, &problem).unwrap().price(&machine, bytes).total
        };
        let [auto, bridgeheads] = ["auto", "bridgeheads"].map(price);
        assert!(1000 * auto <= 1005 * bridgeheads, "{text}, {bytes}: {auto}, {bridgeheads}");
    }
}

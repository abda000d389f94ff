//! The search for the parameters of bridgeheads at the prices of machines: a name alone is nearly
//! as cheap as explicit parameters where messages, hops and ports have prices, and on unequal
//! extents.

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::topology::parse;

use crate::bridgehead_search::near_the_least;

/// Prices of messages, of ports and of hops, beside those of start-ups and of channels.
fn machines() -> Vec<Machine> {
    let near = Machine::FREE.with_channel(1000).with_startup(10_000_000);
    vec![
        Machine::TCP,
        Machine::MPI,
        Machine::PARAGON,
        near,
        near.with_hop(1_000_000),
        near.with_startup(300_000).with_hop(4_000_000),
    ]
}

/// Asserts that a name alone is at most `percent` dearer than all these parameters, at the prices
/// of all machines.
fn as_cheap_as_any(
    (topology, collective, name): (&str, &str, &str),
    parameters: &[(usize, usize)],
    lengths: &[u64],
    percent: u128,
) {
    let collective = Collective::named(collective, Rank::new(0)).unwrap();
    let problem = Problem::new(parse(topology).unwrap(), collective).unwrap();
    let all = parameters.iter().map(|(a, b)| find(problem.collective(), &format!("{name}:a={a},b={b}")).unwrap());
    let fitting: Vec<_> = all.filter(|algorithm| algorithm.fits(&problem).is_ok()).collect();
    assert!(fitting.len() > 2, "{topology}, {name}");
    let demands: Vec<_> = fitting.iter().map(|one| Demand::claimed(&**one, &problem).unwrap()).collect();
    for (machine, &bytes) in machines().iter().flat_map(|machine| lengths.iter().map(move |bytes| (machine, bytes))) {
        near_the_least(&problem, name, &demands, (machine, bytes, percent));
    }
}

/// An axis of two has half the parts of the others in a round, and all are under way at once.
#[test]
fn broadcast_and_reduction_by_name_are_nearly_as_cheap_as_any() {
    let networks = [
        ("torus:8x2", 8),
        ("torus:16x2", 16),
        ("torus:5x4x2", 5),
        ("torus:7x8x2", 8),
        ("torus:5x5", 5),
        ("torus:5x5x5", 5),
        ("mesh:4x4x4", 4),
        ("torus:9x5", 9),
        ("mesh:3x11", 11),
        ("hypercube:5", 2),
        ("torus:11x11x11", 11),
        ("torus:12x12x12", 12),
        ("ring:40", 40),
    ];
    let steps = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];
    for (topology, n) in networks {
        let heads = (1..=n).filter(|a| *a <= 5 || a % 3 == 0 || *a == n);
        let parameters: Vec<_> = heads.flat_map(|a| steps.map(|more| (a, (a / 2).max(1) + more))).collect();
        for collective in ["broadcast", "reduce"] {
            let lengths = [1, 64, 512, 10_000, 100_000, 1 << 20, 16 << 20];
            // The search rounds the distances along a line.
            let percent = if topology == "mesh:3x11" { 3 } else { 2 };
            as_cheap_as_any((topology, collective, "bridgeheads"), &parameters, &lengths, percent);
        }
    }
}

#[test]
fn gossips_by_name_are_nearly_as_cheap_as_any() {
    let networks = [
        ("ring:57", "circgos", 57),
        ("line:53", "circgos", 53),
        ("ring:9", "circgos", 9),
        ("torus:5x4", "high-dim-gos", 5),
        ("torus:8x2", "high-dim-gos", 8),
        ("mesh:3x8", "high-dim-gos", 8),
        ("torus:5x4x2", "high-dim-gos", 5),
        ("torus:8x8", "torgos", 8),
        ("torus:20x20", "torgos", 20),
        ("mesh:7x7", "torgos", 7),
        ("torus:7x7x7", "cubgos", 7),
        ("torus:14x14x14", "cubgos", 14),
    ];
    for (topology, name, n) in networks {
        let heads = (1..=n).filter(|a| *a <= 3 || a % 7 == 0 || n % a == 0);
        let parameters: Vec<_> = heads.flat_map(|a| [0, 1, 3, 8].map(move |more| (a, (a / 2).max(1) + more))).collect();
        for collective in ["allgather", "reduce_scatter", "allreduce"] {
            let lengths = [1, 64, 512, 4096, 1 << 20];
            as_cheap_as_any((topology, collective, name), &parameters, &lengths, 2);
        }
    }
}

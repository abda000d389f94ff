//! How arrays are permuted, what that costs, and by whose prices.

use necklace::algorithm::Algorithm;
use necklace::communicator::Options;
use necklace::launch::Launch;
use necklace::machine::Machine;
use necklace::permutation::{BitMap, Method, Permutation};
use necklace::schedule::{Placement, verify_shares};
use necklace::topology::parse;

use super::oracle::{permuted, proved};

#[test]
fn exchange_costs_half_the_elements_and_gray_code_nothing() {
    for d in 1..=4_usize {
        let network = format!("hypercube:{d}");
        for bits in 2 * d..=2 * d + 3 {
            let half = 1 << (bits - d - 1);
            let exchanged = |map: &BitMap| {
                let motion = permuted(&network, map);
                assert_eq!(motion.method, Method::Exchange((1 << d) - 1), "{map}");
                assert_eq!((motion.rounds, motion.messages, motion.transmission), (d, d * d, half), "{map}");
                assert_eq!(motion.sent, d as u64 * half);
            };
            let all: Vec<usize> = (0..bits).collect();
            let exchange = BitMap::axis_exchange(bits, &all[bits - d..], &all[..d]).unwrap();
            exchanged(&exchange);
            exchanged(&BitMap::bit_reversal(bits).unwrap());
            exchanged(&BitMap::consecutive_to_cyclic(bits, d).unwrap());
            let gray = BitMap::to_gray(bits, bits - d, d).unwrap();
            exchanged(&exchange.then(&gray).unwrap());
            exchanged(&gray.inverse().then(&exchange).unwrap());
        }
    }
    // The paper's example: (a7 a6 a5 a4 a3 | a2 a1 a0) to (a7 a6 a0 a1 a2 | a3 a4 a5), in four
    // sub-cubes.
    let map = BitMap::moving(&[5, 4, 3, 2, 1, 0, 6, 7]).unwrap();
    let motion = permuted("hypercube:5", &map);
    assert_eq!((motion.method, motion.rounds, motion.transmission), (Method::Exchange(0b111), 3, 4));
}

#[test]
fn direct_shuffles_and_reversals_hardly_share_channels() {
    for d in 2..=6_usize {
        let network = format!("hypercube:{d}");
        for bits in d + 1..=d + 3 {
            let each = 1_u64 << (bits - d);
            // The most elements over a channel.
            let load = |map: BitMap| {
                let permutation = proved(&network, &map).straight();
                assert_eq!(permutation.method(), Method::Straight, "{map}");
                let proof = verify_shares(permutation.shares(&permutation.problem().unwrap()).unwrap()).unwrap();
                assert_eq!(proof.rounds, 1);
                let load = proof.channel_transmission.whole().unwrap() * permutation.block();
                assert_eq!(permutation.channel(), Some(load), "{map}");
                load
            };
            // No less is possible: all go over d channels, and a rank has d; or half as many, on
            // average.
            assert_eq!(load(BitMap::vector_reversal(bits).unwrap()), each);
            for by in 1..d.min(bits - d + 1) {
                assert_eq!(load(BitMap::generalized_shuffle(bits, by).unwrap()), each / 2, "{d} {bits} {by}");
            }
            // The other way round the routes of a cube, which cross low dimensions first, meet.
            let met = if d > 2 { 2 * each } else { each };
            assert_eq!(load(BitMap::unshuffle(bits).unwrap()), met, "{d} {bits}");
        }
    }
}

#[test]
fn documented_loads_on_cubes_are_current() {
    let page = include_str!("../../../doc/notes/cubes.md");
    let reversed: Vec<usize> = (0..6).chain((6..12).rev()).collect();
    for (name, map) in [
        ("transpose of 64 x 64", BitMap::transpose(6, 6)),
        ("shuffle", BitMap::shuffle(12)),
        ("generalized shuffle by 3", BitMap::generalized_shuffle(12, 3)),
        ("unshuffle", BitMap::unshuffle(12)),
        ("vector reversal", BitMap::vector_reversal(12)),
        ("bit reversal of the ranks' numbers", BitMap::moving(&reversed)),
    ] {
        let permutation = proved("hypercube:6", &map.unwrap());
        let (way, rounds) = match permutation.method() {
            Method::Exchange(0b11_1111) => ("one", 6),
            Method::Exchanges(0b11_1111) => ("two", 12),
            other => panic!("{name}: {other}"),
        };
        let channel = permutation.channel().unwrap();
        let row =
            format!("| {name} | {} | {way} | {channel}, {rounds} rounds |", permutation.straight().channel().unwrap());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn ranks_off_a_cube_send_directly() {
    let map = BitMap::bit_reversal(6).unwrap();
    // In the last two networks, ranks that differ in two bits are neighbours too, so no rank
    // forwards.
    for network in ["ring:8", "line:8", "torus:2x4", "complete:8", "ghc:2x4"] {
        assert_eq!(permuted(network, &map).method, Method::Straight, "{network}");
    }
    for network in ["mesh:2x2x2", "ghc:2x2x2", "torus:2x2x2"] {
        assert_eq!(permuted(network, &map).method, Method::Exchange(0b111), "{network}");
    }
    // Two dimensions may form a cube even if the network does not.
    let exchange = BitMap::axis_exchange(6, &[3, 5], &[0, 1]).unwrap();
    assert_eq!(permuted("ghc:2x4", &exchange).method, Method::Exchange(0b101));
    assert_eq!(permuted("ghc:4x2", &exchange).method, Method::Exchange(0b101));
}

#[test]
fn cheaper_method_is_used_unless_one_is_chosen() {
    let network = Machine::FREE.with_startup(1000).with_channel(10).with_byte(10);
    let slow = network.with_message(1000).with_byte(0);
    let rounds = Machine::FREE.with_startup(1_000_000).with_byte(1);
    let messages = Machine::FREE.with_message(1_000_000).with_byte(100);
    let exchange = BitMap::consecutive_to_cyclic(12, 5).unwrap();
    let on = |network: &str, machine: Machine, chosen: &'static str, map: &BitMap, bytes: usize| {
        let options = Options::default().machine(machine);
        let topology = parse(network).unwrap();
        let job = Launch::threads().topology(topology).options(options).choose("permute", chosen);
        let ways = job.run(|mut comm| comm.permute_init::<u8>(map, bytes).unwrap().1.method).unwrap();
        assert!(ways.iter().all(|way| *way == ways[0]));
        ways[0]
    };
    let way = |machine, chosen, map: &BitMap, bytes| on("hypercube:5", machine, chosen, map, bytes);
    let cube = Method::Exchange(0b11111);
    // Either way half of the elements go over a channel. Straight is a round instead of 5, and 31
    // messages and blocks sent instead of 25 and 80.
    for (machine, bytes, expected) in [
        (network, 8, Method::Straight),
        (slow, 8, cube),
        (rounds, 8, Method::Straight),
        (messages, 8, cube),
        (messages, 100_000, Method::Straight),
        (Machine::THREADS, 8, Method::Straight),
        (Machine::FREE, 8, Method::Straight),
    ] {
        assert_eq!(way(machine, "auto", &exchange, bytes), expected, "{machine} {bytes}");
        assert_eq!(way(machine, "exchange", &exchange, bytes), cube);
        assert_eq!(way(machine, "straight", &exchange, bytes), Method::Straight);
        for chosen in ["auto", "straight"] {
            assert_eq!(way(machine, chosen, &BitMap::shuffle(12).unwrap(), bytes), Method::Straight);
        }
        for chosen in ["auto", "exchange", "straight"] {
            assert_eq!(way(machine, chosen, &BitMap::identity(12).unwrap(), bytes), Method::Local);
        }
    }
    // As the page says of threads and of processes of one host.
    let of_all = |d: usize, machine: Machine, bytes: u64| {
        let topology = parse(&format!("hypercube:{d}")).unwrap();
        let map = BitMap::transpose(d, d).unwrap();
        Permutation::new(map, topology, Placement::identity(1 << d)).unwrap().cheaper(&machine, bytes).method()
    };
    for (machine, most) in [(Machine::THREADS, 9), (Machine::TCP, 4), (Machine::MPI, 5)] {
        assert_eq!(
            (of_all(most, machine, 1), of_all(most + 1, machine, 1 << 20)),
            (Method::Straight, Method::Straight)
        );
        assert_eq!(of_all(most + 1, machine, 1), Method::Exchange((2 << most) - 1), "{machine}");
    }
    // If the whole network is no cube, it is unknown which channels direct messages share.
    let part = BitMap::axis_exchange(6, &[3, 5], &[0, 1]).unwrap();
    assert_eq!(on("ghc:2x4", network, "auto", &part, 8), Method::Exchange(0b101));
    assert_eq!(on("ghc:2x4", rounds, "auto", &part, 8), Method::Straight);
    assert_eq!(on("ring:8", network, "auto", &part, 8), Method::Straight);
}

/// If a cube has more nodes than there are ranks, only figures that are counted at ranks are
/// claimed.
#[test]
fn subcube_of_ranks_is_permuted_by_exchanges() {
    for (network, ranks, map) in [
        ("hypercube:3", 4, BitMap::vector_reversal(6)),
        ("hypercube:4", 4, BitMap::transpose(2, 2)),
        ("hypercube:6", 2, BitMap::bit_reversal(60)),
    ] {
        let map = map.unwrap();
        let bits = map.bits();
        let made = Permutation::new(map, parse(network).unwrap(), Placement::identity(ranks)).unwrap();
        let straight = made.clone().straight();
        assert_eq!(straight.channel(), None);
        assert_eq!(made.clone().cheaper(&Machine::FREE.with_channel(1), 1).method(), made.method(), "{network}");
        if bits < 10 {
            let problem = straight.problem().unwrap();
            let proof = verify_shares(straight.shares(&problem).unwrap()).unwrap();
            assert_eq!(proof.contradicts(&straight.claims(&problem).completed(straight.about().ports)), []);
        }
    }
}

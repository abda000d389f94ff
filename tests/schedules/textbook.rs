//! What textbooks print of alltoall on flat networks, rings and cubes, counted from verified
//! schedules.

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem, Proof, Volume};
use necklace::topology::parse;
use quickcheck::QuickCheck;

mod grama;

use crate::fixtures::alltoall_proof;

/// The factors of t_s and of t_w m in the time of a schedule that shares no channel and no port.
fn coefficients(proof: &Proof) -> (u64, Volume) {
    assert!(proof.contention_free && proof.ports() == Ports::One, "{proof}");
    assert_eq!(proof.transmission, proof.channel_transmission);
    (proof.startups, proof.transmission)
}

/// T = (t_s + t_w m p/2)(p - 1), round a ring, and along a line by cut-through.
#[test]
fn ring_costs_equation_4_7() {
    for p in 2..=64 {
        for network in ["ring", "line", "complete"] {
            let proof = alltoall_proof(&format!("{network}:{p}"), "ring");
            assert_eq!(coefficients(&proof), (p - 1, Volume::new(p * (p - 1), 2)), "{network}:{p}");
        }
    }
}

/// The texts of the binary cube of this many dimensions.
fn cubes(d: usize) -> [String; 4] {
    let twos = vec!["2"; d].join("x");
    [format!("hypercube:{d}"), format!("torus:{twos}"), format!("mesh:{twos}"), format!("ghc:2,{d}")]
}

/// T = (t_s + t_w m p/2) log p, each round between neighbours.
#[test]
fn logarithmic_exchange_on_a_cube_costs_equation_4_9() {
    for d in 1..=6 {
        let p = 1 << d;
        for cube in cubes(d) {
            let (proof, log) = (alltoall_proof(&cube, "cube-log"), d as u64);
            assert_eq!(coefficients(&proof), (log, Volume::new(p * log, 2)), "{cube}");
            assert_eq!((proof.hops, proof.rearrangements), (log, log - 1), "{cube}");
        }
    }
}

/// T = (t_s + t_w m)(p - 1), by E-cube routes.
#[test]
fn exchange_by_pairs_on_a_cube_costs_equation_4_10() {
    for d in 1..=6 {
        let p = 1 << d;
        for cube in cubes(d) {
            let proof = alltoall_proof(&cube, "cube-xor");
            assert_eq!(coefficients(&proof), (p - 1, Volume::from(p - 1)), "{cube}");
            // Half of log p bits are set on average.
            assert_eq!(proof.hops, p / 2 * d as u64, "{cube}");
        }
    }
}

#[test]
fn exchange_by_pairs_on_complete_factors_is_contention_free() {
    // Hops: N (1 - 1/k) for each extent k.
    for (network, hops) in [("ghc:4,2", 24), ("ghc:8x2x4", 56 + 32 + 48), ("ghc:16x1", 15), ("complete:32", 31)] {
        let proof = alltoall_proof(network, "cube-xor");
        assert_eq!((coefficients(&proof).0, proof.hops), (proof.startups, hops), "{network}");
    }
    for network in ["ring:8", "torus:4x4", "mesh:2x4", "complete:12", "ghc:4x6"] {
        let problem = Problem::new(parse(network).unwrap(), Collective::Alltoall).unwrap();
        let refused = find(problem.collective(), "cube-xor").unwrap().fits(&problem).unwrap_err().to_string();
        assert!(refused.contains("needs a cube") && refused.contains(network), "{refused}");
    }
}

#[test]
fn logarithmic_exchange_delivers_on_other_networks() {
    for network in ["ring:1", "ring:16", "line:8", "torus:4x8", "ghc:4,2", "complete:32", "mesh:2x8"] {
        let proof = alltoall_proof(network, "cube-log");
        assert!(proof.keeps(Ports::One), "{network}");
    }
}

/// For each digit position of the numbers below `n`: its digits' values, each with how many numbers
/// have it.
fn digits(n: u64, radix: u64) -> Vec<Vec<u64>> {
    let mut positions = vec![];
    let mut weight = 1;
    while weight < n {
        let mut values = vec![0; radix as usize];
        (0..n).for_each(|o| values[(o / weight % radix) as usize] += 1);
        positions.push(values);
        weight *= radix;
    }
    positions
}

#[test]
fn bruck_delivers_for_any_number_of_ranks_in_any_radix() {
    for n in 1..=40 {
        for radix in 2..=n + 1 {
            let digits = digits(n, radix);
            // Positions, messages, blocks, and the largest message of each position.
            let positions = digits.len() as u64;
            let messages = digits.iter().flat_map(|values| &values[1..]).filter(|&&numbers| numbers > 0).count() as u64;
            let blocks: u64 = digits.iter().flat_map(|values| &values[1..]).sum();
            let largest: u64 = digits.iter().filter_map(|values| values[1..].iter().max()).sum();
            let one = alltoall_proof(&format!("complete:{n}"), &format!("bruck:radix={radix}"));
            assert_eq!(coefficients(&one), (messages, Volume::from(blocks)), "{n} ranks, radix {radix}");
            let all = alltoall_proof(&format!("complete:{n}"), &format!("bruck:radix={radix},ports=all"));
            assert_eq!(
                (all.startups, all.transmission),
                (positions, Volume::from(largest)),
                "{n} ranks, radix {radix}"
            );
            assert!(all.contention_free && all.messages == messages && all.volume == blocks.into());
        }
    }
}

#[test]
fn bruck_of_powers_of_the_radix_is_as_printed() {
    for (radix, k) in [(2, 1), (2, 6), (3, 3), (4, 3), (5, 2), (8, 2)] {
        let n = u64::pow(radix, k);
        let k = u64::from(k);
        let proof = alltoall_proof(&format!("complete:{n}"), &format!("bruck:radix={radix}"));
        assert_eq!(coefficients(&proof), ((radix - 1) * k, Volume::from((radix - 1) * (n / radix) * k)));
        let all = alltoall_proof(&format!("complete:{n}"), &format!("bruck:radix={radix},ports=all"));
        assert_eq!(coefficients_of_all_port_models_are_as_printed(&all), (k, Volume::from(n / radix * k)));
    }
}

fn coefficients_of_all_port_models_are_as_printed(proof: &Proof) -> (u64, Volume) {
    assert!(proof.contention_free, "{proof}");
    (proof.startups, proof.transmission)
}

#[test]
fn bruck_of_radix_n_sends_each_block_once() {
    for n in 2..=20 {
        let proof = alltoall_proof(&format!("ring:{n}"), &format!("bruck:radix={n}"));
        assert_eq!((proof.startups, proof.transmission, proof.volume), (n - 1, (n - 1).into(), (n - 1).into()));
        let proof = alltoall_proof(&format!("ring:{n}"), &format!("bruck:radix={n},ports=all"));
        assert_eq!((proof.startups, proof.messages, proof.volume), (1, n - 1, (n - 1).into()));
    }
}

#[test]
fn flat_algorithms_deliver_on_random_networks() {
    fn holds(kind: u8, a: u8, b: u8, radix: u8, all: bool) -> bool {
        let (a, b) = (1 + a % 9, 1 + b % 9);
        let network = match kind % 5 {
            0 => format!("ring:{}", a * b),
            1 => format!("mesh:{a}x{b}"),
            2 => format!("torus:{a}x{b}"),
            3 => format!("ghc:{a}x{b}"),
            _ => format!("complete:{}", a * b),
        };
        let ports = if all { ",ports=all" } else { "" };
        alltoall_proof(&network, &format!("bruck:radix={}{ports}", 2 + radix % 90));
        if (a * b).is_power_of_two() {
            alltoall_proof(&network, "cube-log");
        }
        true
    }
    QuickCheck::new().tests(200).quickcheck(holds as fn(u8, u8, u8, u8, bool) -> bool);
}

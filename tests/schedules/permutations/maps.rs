//! Maps do what their names say, and any map what it says.

use necklace::local;
use necklace::permutation::{BitMap, Method};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::oracle::{permuted, permuted_to, proved};

type Goes = Box<dyn Fn(u64) -> u64 + Sync>;

/// All permutations that have names, with what these mean for an index.
fn named(bits: usize, rank_bits: usize) -> Vec<(&'static str, BitMap, Goes)> {
    let (size, ranks) = (1_u64 << bits, 1_u64 << rank_bits);
    let each = size / ranks;
    let axis = rank_bits.min(bits - rank_bits);
    let [low, high] = [0, bits - axis].map(|first| (first..first + axis).collect::<Vec<_>>());
    let cyclic = BitMap::consecutive_to_cyclic(bits, rank_bits).unwrap();
    let gray = BitMap::to_gray(bits, bits - rank_bits, rank_bits).unwrap();
    // Rows and columns of a matrix, and what rotates an address.
    let transposed = |rows: u64| move |x: u64| x % (size / rows) * rows + x / (size / rows);
    let times = |factor: u64| move |x: u64| if x == size - 1 { x } else { factor * x % (size - 1) };
    let dealt = move |x: u64| x % ranks * each + x / ranks;
    let coded = move |x: u64| ((x / each) ^ (x / each / 2)) * each + x % each;
    let swapped = move |x: u64| {
        let [least, most] = [1 << axis, size >> axis];
        x % least * most + x % most / least * least + x / most
    };
    let reversed = move |x: u64| (0..bits).fold(0, |sum, bit| 2 * sum + (x >> bit) % 2);
    let decoded = move |x: u64| (0..size).find(|y| y ^ (y / 2) == x).unwrap();
    vec![
        ("identity", BitMap::identity(bits).unwrap(), Box::new(|x| x)),
        ("axis exchange", BitMap::axis_exchange(bits, &low, &high).unwrap(), Box::new(swapped)),
        ("transpose", BitMap::transpose(rank_bits, bits - rank_bits).unwrap(), Box::new(transposed(ranks))),
        (
            "transpose of half",
            BitMap::transpose(bits / 2, bits - bits / 2).unwrap(),
            Box::new(transposed(1 << (bits / 2))),
        ),
        ("bit reversal", BitMap::bit_reversal(bits).unwrap(), Box::new(reversed)),
        ("vector reversal", BitMap::vector_reversal(bits).unwrap(), Box::new(move |x| size - 1 - x)),
        (
            "complement of places",
            BitMap::complement(bits, each - 1).unwrap(),
            Box::new(move |x| x / each * each + each - 1 - x % each),
        ),
        ("shuffle", BitMap::shuffle(bits).unwrap(), Box::new(times(2))),
        ("unshuffle", BitMap::unshuffle(bits).unwrap(), Box::new(move |x| x / 2 + x % 2 * (size / 2))),
        ("generalized shuffle", BitMap::generalized_shuffle(bits, 2).unwrap(), Box::new(times(4))),
        ("to cyclic", cyclic.clone(), Box::new(dealt)),
        ("to consecutive", BitMap::cyclic_to_consecutive(bits, rank_bits).unwrap(), Box::new(transposed(ranks))),
        ("to Gray", gray.clone(), Box::new(coded)),
        ("from Gray", BitMap::from_gray(bits, 0, bits).unwrap(), Box::new(decoded)),
        ("to cyclic, in Gray code", cyclic.then(&gray).unwrap(), Box::new(move |x| coded(dealt(x)))),
    ]
}

#[test]
fn named_permutations_are_correct_on_every_network() {
    for (network, rank_bits) in [
        ("hypercube:3", 3),
        ("hypercube:2", 2),
        ("complete:8", 3),
        ("ring:8", 3),
        ("torus:2x4", 3),
        ("complete:1", 0),
        ("line:2", 1),
        ("torus:2x2x2", 3),
        ("ghc:2x2x2", 3),
        ("ghc:2x4", 3),
    ] {
        for bits in rank_bits..=8 {
            for (name, map, goes) in named(bits, rank_bits) {
                let motion = permuted_to(network, &map, &*goes);
                let permutation = proved(network, &map);
                assert_eq!(motion.method, permutation.method(), "{name} of 2^{bits} on {network}");
            }
        }
    }
}

/// A map and a number of ranks.
#[derive(Clone, Debug)]
struct Case {
    rank_bits: usize,
    map: BitMap,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let rank_bits = usize::arbitrary(g) % 4;
        let bits = rank_bits + usize::arbitrary(g) % 5;
        let mut map = BitMap::identity(bits).unwrap();
        for _ in 0..usize::arbitrary(g) % 4 {
            let mut to: Vec<usize> = (0..bits).collect();
            (0..bits).for_each(|bit| to.swap(bit, usize::arbitrary(g) % bits));
            map = map.then(&BitMap::moving(&to).unwrap()).unwrap();
            if bits > 0 {
                let first = usize::arbitrary(g) % bits;
                map = map.then(&BitMap::to_gray(bits, first, bits - first).unwrap()).unwrap();
                let add = u64::arbitrary(g) & ((1 << bits) - 1);
                let columns: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
                map = map.then(&BitMap::linear(&columns, add).unwrap()).unwrap();
            }
        }
        Self { rank_bits, map }
    }
}

#[test]
fn any_map_moves_every_element_to_its_address() {
    fn holds(Case { rank_bits, map }: Case) -> bool {
        for network in [format!("hypercube:{rank_bits}"), format!("line:{}", 1 << rank_bits)] {
            let motion = permuted(&network, &map);
            assert_eq!(motion.method, proved(&network, &map).method());
        }
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(Case) -> bool);
}

/// Also of straight messages, whose channels are known without counting.
#[test]
fn claims_hold_for_any_map_on_any_cube() {
    fn holds(Case { rank_bits, map }: Case, more: u8) -> bool {
        let dimensions = map.bits().min(rank_bits + more as usize % 4);
        let twos = vec!["2"; dimensions].join("x");
        let networks = ["torus", "mesh", "ghc"].map(|kind| format!("{kind}:{twos}"));
        for network in networks.into_iter().filter(|_| dimensions > 1).chain([format!("hypercube:{dimensions}")]) {
            assert!(proved(&network, &map).straight().channel().is_some());
        }
        true
    }
    QuickCheck::new().tests(200).quickcheck(holds as fn(Case, u8) -> bool);
}

#[test]
fn empty_and_large_elements_are_permuted() {
    let done = local::run_on("hypercube:2", |mut comm| {
        let map = BitMap::consecutive_to_cyclic(4, 2).unwrap();
        comm.permute::<u64>(&map, &[], &mut []).unwrap();
        // More elements than pieces may be listed, but they are four pieces a rank.
        comm.choose("permute", "exchange").unwrap();
        let rows = BitMap::axis_exchange(27, &[23, 24], &[25, 26]).unwrap();
        let (_, motion) = comm.permute_init::<u8>(&rows, 1).unwrap();
        motion
    });
    for motion in done.unwrap() {
        assert_eq!((motion.method, motion.rounds, motion.transmission), (Method::Exchange(0b11), 2, 1 << 24));
    }
}

#[test]
fn maps_and_reports_have_readable_text() {
    let map = BitMap::transpose(2, 2).unwrap().then(&BitMap::complement(4, 0b101).unwrap()).unwrap();
    assert_eq!(map.to_string(), "0->2 1->3 2->0 3->1 +0b101 of 4 bits");
    assert_eq!(BitMap::identity(3).unwrap().to_string(), "identity of 3 bits");
    assert_eq!(BitMap::to_gray(2, 0, 2).unwrap().to_string(), "1->0+1 of 2 bits");
    let motion = permuted("hypercube:2", &map).to_string();
    let words = "by an exchange within bits [0, 1] of the ranks: 2 rounds, 4 messages, 4 elements sent, at most 2 to one rank, 2 over a channel";
    assert_eq!(motion, words);
    let alone = permuted("hypercube:1", &BitMap::vector_reversal(1).unwrap()).to_string();
    assert_eq!(alone, "straight: 1 round, 1 message, 1 element sent, at most 1 to one rank, 1 over a channel");
}

#[test]
fn alternating_maps_and_lengths_use_their_own_plans() {
    let done = local::run_on("hypercube:2", |mut comm| {
        let maps = [BitMap::bit_reversal(6).unwrap(), BitMap::shuffle(6).unwrap(), BitMap::transpose(3, 3).unwrap()];
        // Maps and lengths in turn; each time all elements are where they belong.
        for turn in 0..12 {
            let map = &maps[turn % 3];
            let wide = 1 + turn % 2;
            let first = comm.rank() * 16;
            let at = |place: usize| first + place;
            let own: Vec<usize> = (0..16).flat_map(|place| vec![at(place); wide]).collect();
            let mut arrived = vec![0; 16 * wide];
            comm.permute(map, &own, &mut arrived).unwrap();
            for (i, element) in arrived.into_iter().enumerate() {
                assert_eq!(map.apply(element as u64), at(i / wide) as u64, "{turn}");
            }
        }
    });
    assert_eq!(done.unwrap().len(), 4);
}

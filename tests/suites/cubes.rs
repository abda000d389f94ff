//! Cubes and their sub-cubes: exchanges by necklaces, with all ports at once, and permutations of
//! arrays.

use necklace::collective::Collective;
use necklace::permutation::{BitMap, Method};

use super::definitions::{alltoall, everything};
use crate::jobs::{on, watched};

const EXCHANGES: [&str; 5] = [
    "necklace-exchange",
    "necklace-exchange:scheme=1",
    "necklace-exchange:scheme=2",
    "necklace-exchange:scheme=3,width=2",
    "necklace-exchange:width=1",
];

pub(super) fn cubes_exchange_by_necklaces() {
    for dimensions in 0..=4 {
        watched("a cube", move || {
            on(&format!("hypercube:{dimensions}"))
                .run(|mut comm| {
                    for exchange in EXCHANGES {
                        comm.choose("alltoall", exchange).unwrap();
                        for length in [0, 1, 7] {
                            alltoall::<u64>(&mut comm, length);
                        }
                        assert!(comm.prove(&Collective::Alltoall, 8).unwrap().contention_free);
                    }
                    alltoall::<u8>(&mut comm, 10_000);
                })
                .unwrap();
        });
    }
}

pub(super) fn subcubes_of_any_dimensions_exchange_concurrently() {
    watched("sub-cubes", || {
        on("hypercube:4")
            .run(|mut comm| {
                // The bits of a rank's number that the members of a part agree in.
                for (fixed, left) in [(0b1100, 2), (0b0101, 2), (0b0010, 3), (0b1011, 1), (0b1111, 0)] {
                    let colour = (comm.rank() & fixed) as u32;
                    let mut part = comm.split(colour, 0).unwrap();
                    assert_eq!(part.size(), 1 << left);
                    if left > 0 {
                        let text = part.topology().text();
                        assert!(
                            [format!("hypercube:{left}"), "ring:4".into(), "line:2".into()].contains(&text),
                            "{text}"
                        );
                    }
                    for exchange in EXCHANGES {
                        part.choose("alltoall", exchange).unwrap();
                        alltoall::<u64>(&mut part, 5);
                    }
                    assert!(part.prove(&Collective::Alltoall, 8).unwrap().contention_free);
                    everything::<u8>(&mut part, 1);
                }
            })
            .unwrap();
    });
}

/// Permutes elements that hold their first address, and checks where each one arrives.
fn permuted(comm: &mut necklace::Communicator, map: &BitMap, way: Method) {
    let each = (1 << map.bits()) / comm.size();
    let address = |place: usize| (comm.rank() * each + place) as u64;
    let own: Vec<u64> = (0..each).map(address).collect();
    let mut arrived = vec![0; each];
    comm.choose("permute", "exchange").unwrap();
    let report = comm.permute(map, &own, &mut arrived).unwrap();
    assert_eq!(report.method, way, "{map}");
    for (place, element) in arrived.into_iter().enumerate() {
        assert_eq!(map.apply(element), (comm.rank() * each + place) as u64, "{map}");
    }
}

pub(super) fn arrays_are_permuted_on_cubes_and_on_their_parts() {
    watched("arrays", || {
        on("hypercube:3")
            .run(|mut comm| {
                let (all, all_twice) = (Method::Exchange(0b111), Method::Exchanges(0b111));
                permuted(&mut comm, &BitMap::transpose(4, 4).unwrap(), all);
                permuted(&mut comm, &BitMap::bit_reversal(7).unwrap(), all);
                permuted(&mut comm, &BitMap::consecutive_to_cyclic(6, 3).unwrap(), all);
                permuted(&mut comm, &BitMap::axis_exchange(6, &[3, 5], &[0, 1]).unwrap(), Method::Exchange(0b101));
                permuted(&mut comm, &BitMap::shuffle(6).unwrap(), all_twice);
                permuted(&mut comm, &BitMap::unshuffle(7).unwrap(), all_twice);
                permuted(&mut comm, &BitMap::moving(&[0, 1, 4, 2, 3]).unwrap(), Method::Straight);
                permuted(&mut comm, &BitMap::moving(&[0, 1, 3, 2, 4]).unwrap(), Method::Exchanges(0b11));
                permuted(&mut comm, &BitMap::vector_reversal(5).unwrap(), Method::Straight);
                let mut face = comm.split(comm.rank() as u32 & 2, 0).unwrap();
                permuted(&mut face, &BitMap::transpose(2, 3).unwrap(), Method::Exchange(0b11));
            })
            .unwrap();
    });
}

//! Invalid permutations, and the errors about them.

use std::sync::Arc;

use necklace::algorithm::Algorithm;
use necklace::communicator::PermuteReport;
use necklace::error::{ArgumentError, BuildError};
use necklace::permutation::{BitMap, Permutation};
use necklace::schedule::Placement;
use necklace::topology::{Graph, parse};
use necklace::{Communicator, Error, Node, local};

#[test]
fn arrays_that_do_not_fit_the_ranks_are_refused() {
    let map = BitMap::shuffle(4).unwrap();
    let refused = local::run(3, |mut comm| comm.permute(&map, &[0_u8; 16], &mut [0; 16]).unwrap_err());
    for error in refused.unwrap() {
        assert!(
            matches!(error.argument(), Some(ArgumentError::Build(BuildError::Array { bits: 4, ranks: 3, .. }))),
            "{error}"
        );
    }
    let errors = local::run(4, |mut comm| {
        let few = comm.permute(&BitMap::shuffle(1).unwrap(), &[0_u8; 1], &mut [0; 1]).unwrap_err();
        let odd = comm.permute(&map, &[0_u8; 6], &mut [0; 6]).unwrap_err();
        let short = comm.permute(&map, &[0_u8; 8], &mut [0; 4]).unwrap_err();
        let large = comm.permute_init::<u8>(&BitMap::bit_reversal(40).unwrap(), 1).unwrap_err();
        let larger = comm.permute_init::<u64>(&BitMap::bit_reversal(62).unwrap(), 100).unwrap_err();
        // The communicator still works.
        let mut dealt = [0; 4];
        let own: Vec<usize> = (0..4).map(|place| 4 * comm.rank() + place).collect();
        comm.permute(&map, &own, &mut dealt).unwrap();
        assert_eq!(map.apply(dealt[3] as u64), 4 * comm.rank() as u64 + 3);
        let way = comm.choose("permute", "direct").unwrap_err();
        [few, odd, short, large, larger, way]
    });
    for [few, odd, short, large, larger, way] in errors.unwrap() {
        let known = "expected one of auto, exchange, straight";
        assert!(
            matches!(way.argument(), Some(ArgumentError::Build(BuildError::Unknown { .. })))
                && way.to_string().contains(known),
            "{way}"
        );
        assert!(
            matches!(few.argument(), Some(ArgumentError::Build(BuildError::Array { bits: 1, ranks: 4, .. }))),
            "{few}"
        );
        assert!(
            matches!(odd.argument(), Some(ArgumentError::Part { found: 6, part: 4, bits: 4, ranks: 4, .. })),
            "{odd}"
        );
        assert!(
            matches!(short.argument(), Some(ArgumentError::Length { what: "receive buffer", found: 4, .. })),
            "{short}"
        );
        assert!(
            matches!(large.argument(), Some(ArgumentError::Pieces { pieces: 274877906944, most: 16777216, .. })),
            "{large}"
        );
        assert!(matches!(larger.argument(), Some(ArgumentError::Plan(_))), "{larger}");
    }
}

#[test]
fn ranks_with_different_maps_disagree() {
    let results = local::run(4, |mut comm| {
        let map = if comm.rank() == 2 { BitMap::shuffle(4) } else { BitMap::unshuffle(4) };
        // A rank that exchanges nothing with a disagreeing rank may get the failure at its next
        // call. The barrier keeps any rank from getting it before it has called.
        let begun = comm.barrier();
        let permuted = begun.and_then(|()| comm.permute(&map.unwrap(), &[0_u8; 4], &mut [0; 4]));
        permuted.and_then(|_| comm.barrier()).unwrap_err().to_string()
    });
    assert!(results.unwrap().iter().all(|error| error.contains("permute")));
}

#[test]
fn permutation_is_refused_for_another_problem() {
    let of = |network: &str, nodes: Option<[usize; 4]>, map: BitMap| {
        let topology = parse(network).unwrap();
        let placement = match nodes {
            Some(nodes) => Placement::new(nodes.map(Node::new).to_vec(), topology.nodes()).unwrap(),
            None => Placement::identity(4),
        };
        Permutation::new(map, topology, placement).unwrap()
    };
    let shuffle = || BitMap::shuffle(4).unwrap();
    let one = of("hypercube:2", None, shuffle());
    assert!(one.fits(&one.problem().unwrap()).is_ok());
    for other in [
        of("hypercube:2", None, BitMap::bit_reversal(4).unwrap()),
        of("hypercube:2", None, BitMap::identity(4).unwrap()),
        of("line:4", None, shuffle()),
        of("hypercube:2", Some([1, 0, 2, 3]), shuffle()),
    ] {
        assert!(one.fits(&other.problem().unwrap()).is_err() && other.fits(&one.problem().unwrap()).is_err());
    }
    // Graphs are alike by name.
    let [square, path] = [vec![(0, 1), (0, 2), (1, 3), (2, 3)], vec![(0, 1), (1, 2), (2, 3)]].map(|edges| {
        let graph = Arc::new(Graph::from_edges(edges).unwrap());
        Permutation::new(shuffle(), graph, Placement::identity(4)).unwrap()
    });
    assert!(square.fits(&square.problem().unwrap()).is_ok() && square.fits(&path.problem().unwrap()).is_err());
}

#[test]
fn invalid_maps_are_errors_of_calls() {
    let call = |comm: &mut Communicator| -> Result<PermuteReport, Error> {
        comm.permute(&BitMap::moving(&[0, 0])?, &[0_u8; 2], &mut [0; 2])
    };
    for error in local::run(2, |mut comm| call(&mut comm).unwrap_err()).unwrap() {
        assert!(
            matches!(error.argument(), Some(ArgumentError::Map(_))) && error.to_string().ends_with("duplicate bit 0"),
            "{error}"
        );
    }
}

#[test]
fn permutations_are_of_ranks_on_nodes() {
    let made = |ranks: Vec<usize>, nodes| {
        let placement = Placement::new(ranks.into_iter().map(Node::new).collect(), nodes).unwrap();
        Permutation::new(BitMap::shuffle(4).unwrap(), parse("hypercube:2").unwrap(), placement).unwrap_err()
    };
    assert!(matches!(made((0..8).collect(), 8), BuildError::Ranks { ranks: 8, nodes: 4, .. }));
    assert!(matches!(made(vec![], 4), BuildError::Ranks { ranks: 0, .. }));
    let far = made(vec![0, 300], 800);
    assert!(matches!(far, BuildError::Placement { nodes: 4, other: None, .. }), "{far}");
    assert!(far.to_string().contains("300"), "{far}");
}

#[test]
fn number_of_listed_blocks_is_limited() {
    let of = |bits: usize, d: usize| {
        let topology = parse(&format!("hypercube:{d}")).unwrap();
        Permutation::new(BitMap::bit_reversal(bits).unwrap(), topology, Placement::identity(1 << d)).unwrap()
    };
    let error = of(26, 13).problem().unwrap_err();
    assert!(
        matches!(error, BuildError::Blocks { found, limit, .. } if (found, limit) == (1 << 26, 1 << 24)),
        "{error}"
    );
    assert!(error.to_string().contains("permutation 0->25") && error.to_string().contains("67108864"), "{error}");
    assert!(of(26, 13).fits(&of(4, 2).problem().unwrap()).is_err());
}

#[test]
fn invalid_maps_are_refused() {
    let errors = [
        (BitMap::axis_exchange(4, &[0, 4], &[1, 2]), "bit 4 of addresses of 4 bits"),
        (BitMap::axis_exchange(4, &[0, 1], &[2, 9]), "bit 9 of addresses of 4 bits"),
        (BitMap::axis_exchange(4, &[0, 1], &[1, 2]), "duplicate bit 1"),
        (BitMap::axis_exchange(4, &[0, 1], &[2]), "an axis of 2 bits cannot be exchanged with one of 1 bits"),
        (BitMap::moving(&[0, 0, 1]), "duplicate bit 0"),
        (BitMap::moving(&[0, 3, 1]), "bit 3 of addresses of 3 bits"),
        (BitMap::linear(&[0b01, 0b01], 0), "addresses that differ by 0b11 have the same image"),
        (BitMap::linear(&[0b01, 0b100], 0), "bit 2 of addresses of 2 bits"),
        (BitMap::cyclic_to_consecutive(4, 5), "bit 4 of addresses of 4 bits"),
        (BitMap::consecutive_to_cyclic(4, 5), "bit 4 of addresses of 4 bits"),
        (BitMap::complement(4, 0b10010), "bit 4 of addresses of 4 bits"),
        (BitMap::to_gray(4, 3, 2), "bit 4 of addresses of 4 bits"),
        (BitMap::from_gray(4, usize::MAX, 2), "of addresses of 4 bits"),
        (BitMap::transpose(usize::MAX, 2), "at most 62 are supported"),
        (BitMap::identity(65), "addresses of 65 bits; at most 62 are supported"),
    ];
    for (map, words) in errors {
        let error = map.map(|map| map.to_string()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}, instead of {words}");
    }
}

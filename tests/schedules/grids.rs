//! The exchanges on tori and meshes of all extents: verified, and at the cost that their headers'
//! tables state.

use std::sync::Arc;

use necklace::algorithm::alltoall::{BidirectionalExchange, HalfRings, MeshExchange, TorusExchange};
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem, Proof, Volume, verify_shares};
use necklace::topology::Grid;
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// Everything delivered, the claims kept, no contention, and one of these ports.
fn proof_with(ports: fn(Ports) -> bool, algorithm: &dyn Algorithm, grid: Grid) -> Proof {
    let extents = grid.extents().to_vec();
    let problem = Problem::new(Arc::new(grid), Collective::Alltoall).unwrap();
    let name = || format!("{} on {extents:?}", algorithm.name());
    let proof = verify_shares(algorithm.shares(&problem).unwrap());
    let proof = proof.unwrap_or_else(|violations| panic!("{}: {violations}", name()));
    assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{}", name());
    assert!(proof.contention_free && ports(proof.ports()), "{}", name());
    proof
}

fn proof(algorithm: &dyn Algorithm, grid: Grid) -> Proof {
    proof_with(|ports| ports == Ports::One, algorithm, grid)
}

/// Start-ups, blocks, hops, rearrangements.
fn cost(proof: &Proof) -> [u64; 4] {
    [proof.startups, proof.transmission.whole().unwrap(), proof.hops, proof.rearrangements]
}

fn on_torus(extents: &[usize]) -> Proof {
    proof(&TorusExchange, Grid::torus(extents).unwrap())
}

fn on_mesh(extents: &[usize]) -> Proof {
    proof(&MeshExchange::default(), Grid::mesh(extents).unwrap())
}

fn on_folded_mesh(extents: &[usize]) -> Proof {
    let folded = find(&Collective::Alltoall, "mesh-exchange:rings=folded").unwrap();
    proof(folded.as_ref(), Grid::mesh(extents).unwrap())
}

/// Section 4 and Table 1 of Suh & Shin, from the extents that count.
fn mesh_of_the_paper(extents: &[usize]) -> [u64; 4] {
    let counting: Vec<u64> = extents.iter().filter(|&&extent| extent > 1).map(|&extent| extent as u64).collect();
    let (n, nodes) = (counting.len() as u64, counting.iter().product::<u64>());
    let longest = *counting.iter().max().unwrap();
    let rearrangements = if longest > 2 { n } else { 0 };
    [n * longest / 2, n * longest * nodes / 4, n * ((longest - 2).pow(2) + 2) / 2, rearrangements]
}

#[test]
fn even_mesh_costs_equal_suh_and_shins() {
    let vectors: [(&[usize], [u64; 3]); 3] =
        [(&[6, 6], [6, 108, 18]), (&[4, 8], [8, 128, 38]), (&[6, 10], [10, 300, 66])];
    for (extents, figures) in vectors {
        assert_eq!(mesh_of_the_paper(extents)[..3], figures, "{extents:?}");
    }
    let others: [&[usize]; 14] = [
        &[10, 6],
        &[10, 10],
        &[2, 2],
        &[2, 6],
        &[4, 4],
        &[2, 2, 2],
        &[8, 12, 1],
        &[4, 1, 4],
        &[6, 6, 6],
        &[4, 6, 2],
        &[2, 4, 6],
        &[8, 2, 4],
        &[4, 4, 4, 4],
        &[2, 6, 2, 4],
    ];
    for extents in others.into_iter().chain(vectors.map(|(extents, _)| extents)) {
        assert_eq!(cost(&on_mesh(extents)), mesh_of_the_paper(extents), "{extents:?}");
    }
}

/// Over folded rings: the paper has no schedule for these.
#[test]
fn meshes_with_odd_extents_take_their_dimensions_in_turn() {
    for extents in [&[5, 7][..], &[7, 9], &[3, 3, 3], &[2, 5], &[1, 6], &[8], &[2], &[3], &[9], &[4, 7, 2], &[3, 1, 5]]
    {
        let nodes: u64 = extents.iter().map(|&k| k as u64).product();
        let of = |term: fn(u64) -> u64| extents.iter().map(|&k| term(k as u64)).sum::<u64>();
        let blocks: u64 = extents.iter().map(|&k| k as u64).map(|k| k * k / 4 * (nodes / k)).sum();
        let phases = of(|k| u64::from(k > 1));
        let expected = [of(|k| k - 1), blocks, of(|k| (2 * (k - 1)).saturating_sub(u64::from(k == 2))), phases - 1];
        assert_eq!(cost(&on_mesh(extents)), expected, "{extents:?}");
    }
}

#[test]
fn equal_even_extents_of_a_mesh_with_an_odd_one_go_together() {
    // 6x6: 2 rounds of 12 blocks a phase and 2 of 18 for each of 5 layers; then the 5 in turn.
    assert_eq!(cost(&on_mesh(&[6, 6, 5])), [6 + 4, 5 * 84 + 6 * 36, 2 * 9 + 8, 3]);
    assert_eq!(cost(&on_mesh(&[4, 3, 4])), [4 + 2, 3 * 32 + 2 * 16, 2 * 3 + 4, 3]);
}

#[test]
fn folded_rings_cost_no_more_on_square_meshes() {
    for (extents, figures) in [(&[6, 6][..], [6, 84, 18]), (&[12, 12], [12, 576, 42]), (&[8, 8, 8], [12, 2304, 39])] {
        let [startups, blocks, hops, rearrangements] = cost(&on_folded_mesh(extents));
        assert_eq!([startups, blocks, hops], figures, "{extents:?}");
        let paper = mesh_of_the_paper(extents);
        assert!(startups == paper[0] && blocks < paper[1] && hops <= paper[2] && rearrangements == paper[3]);
    }
    // Extents that are not equal take turns; where the paper is not followed anyway nothing
    // changes.
    assert_eq!(cost(&on_folded_mesh(&[4, 6])), [3 + 5, 6 * 4 + 4 * 9, 6 + 10, 1]);
    assert_eq!(cost(&on_folded_mesh(&[6, 5])), cost(&on_mesh(&[6, 5])));
    let problem = |extents| Problem::new(Arc::new(Grid::mesh(extents).unwrap()), Collective::Alltoall).unwrap();
    let variants = |extents| MeshExchange::default().variants(&problem(extents)).len();
    assert_eq!((variants(&[6, 6]), variants(&[4, 6]), variants(&[6, 5]), variants(&[8])), (1, 1, 0, 0));
}

/// The header's second table, for tori without two equal multiples of four.
#[test]
fn tori_of_other_extents_take_their_dimensions_in_turn() {
    let cases: [&[usize]; 20] = [
        &[6, 6],
        &[6, 10],
        &[10, 10],
        &[6, 6, 6],
        &[5, 7],
        &[7, 9],
        &[3, 3, 3],
        &[2, 2],
        &[1, 6],
        &[2, 5],
        &[2, 2, 2],
        &[4, 6],
        &[8, 3],
        &[2],
        &[3],
        &[4],
        &[8],
        &[13],
        &[16],
        &[4, 5, 6],
    ];
    for extents in cases {
        let nodes: u64 = extents.iter().map(|&k| k as u64).product();
        let (mut startups, mut blocks, mut hops, mut phases, mut units) = (0, Volume::ZERO, 0, 0, 0);
        for k in extents.iter().map(|&k| k as u64).filter(|&k| k > 1) {
            let l = k / 2;
            hops += k - 1;
            if k % 2 == 0 {
                startups += l;
                blocks += Volume::new(nodes * (l * l / 4), l) + Volume::new(nodes, 2);
                phases += u64::from(k > 2);
                units = 1;
            } else {
                startups += k - 1;
                blocks += Volume::new(nodes * (k * k / 4), k);
                phases += 1;
            }
        }
        let expected = [startups, blocks.whole().unwrap(), hops, phases + units - 1];
        assert_eq!(cost(&on_torus(extents)), expected, "{extents:?}");
    }
}

#[test]
fn equal_multiples_of_four_go_together_on_a_torus_with_others() {
    // 8x8: 6 start-ups, 192 blocks and 14 hops for each of 3 layers; then the 3 in turn.
    assert_eq!(cost(&on_torus(&[8, 3, 8])), [6 + 2, 3 * 192 + 2 * 64, 14 + 2, 4]);
    // 4x4: no cells to walk through; 6: its cells, then halves, then units of all.
    assert_eq!(cost(&on_torus(&[6, 4, 4])), [4 + 3, 6 * 32 + 64 + 48, 6 + 5, 2]);
}

#[test]
fn extents_of_1_do_not_count() {
    for (extents, without) in
        [(&[8, 12, 1][..], &[8, 12][..]), (&[4, 1, 4], &[4, 4]), (&[1, 6], &[6]), (&[1, 3, 1, 5], &[3, 5])]
    {
        assert_eq!(cost(&on_torus(extents)), cost(&on_torus(without)), "{extents:?}");
        assert_eq!(cost(&on_mesh(extents)), cost(&on_mesh(without)), "{extents:?}");
    }
    for extents in [&[1][..], &[1, 1], &[1, 1, 1]] {
        assert_eq!(cost(&on_torus(extents)), [0; 4]);
        assert_eq!(cost(&on_mesh(extents)), [0; 4]);
    }
}

/// Where there is a choice, no dimension costs more start-ups or blocks than round a ring of
/// channels the shorter way.
#[test]
fn tori_in_turn_cost_no_more_than_half_rings() {
    for extents in [&[6, 6][..], &[10, 6], &[4, 6], &[2, 6], &[8, 3], &[8, 3, 8], &[6, 4, 4], &[5, 7], &[16], &[22]] {
        let nodes: u64 = extents.iter().map(|&k| k as u64).product();
        let half_rings = extents.iter().map(|&k| k as u64).map(|k| (k - 1, k * k / 4 * (nodes / k)));
        let (startups, blocks) = half_rings.fold((0, 0), |(s, b), (t, c)| (s + t, b + c));
        let [found, sent, ..] = cost(&on_torus(extents));
        assert!(found <= startups && sent <= blocks, "{extents:?}: {found}, {sent} to {startups}, {blocks}");
    }
}

/// Start-ups and blocks of the exchange in both directions, n dimensions of equal extents together.
fn in_both_directions(extent: u64, n: u32) -> [u64; 2] {
    let (nodes, n, circle) = (extent.pow(n), u64::from(n), extent / (2 * u64::from(n)));
    // To the cells; half of the blocks to the halves of cells; by a line of two or three nodes.
    let (lines, within) = if n == 2 { (1, nodes / 2) } else { (2, 2 * nodes / 3) };
    [n * (circle + lines), n * (circle * circle / 4 * (nodes / circle) + nodes / 2 + within)]
}

#[test]
fn exchange_in_both_directions_takes_fewer_blocks() {
    let claims = |extents: &[usize], algorithm: &dyn Algorithm| {
        let problem = Problem::new(Arc::new(Grid::torus(extents).unwrap()), Collective::Alltoall).unwrap();
        algorithm.fits(&problem).map(|()| algorithm.claims(&problem))
    };
    let figures = |extents: &[usize], algorithm: &dyn Algorithm| {
        let claims = claims(extents, algorithm).unwrap();
        [claims.startups.unwrap(), claims.transmission.unwrap().whole().unwrap()]
    };
    let known: [(&[usize], [u64; 2]); 10] = [
        (&[12, 12], [8, 480]),
        (&[16, 16], [10, 1024]),
        (&[8, 16], [10, 512]),
        (&[32, 32], [18, 6144]),
        (&[64, 64], [34, 40960]),
        (&[128, 128], [66, 294912]),
        (&[32768, 32768], in_both_directions(32768, 2)),
        (&[8, 8], in_both_directions(8, 2)),
        (&[20, 20], in_both_directions(20, 2)),
        (&[12, 12, 12], in_both_directions(12, 3)),
    ];
    for (extents, expected) in known {
        assert_eq!(figures(extents, &BidirectionalExchange), expected, "{extents:?}");
        let [startups, blocks] = figures(extents, &TorusExchange);
        assert!(expected[0] <= startups && expected[1] <= blocks, "{extents:?}: {startups}, {blocks}");
    }
    // 1 + 16/K times the bound N K/8 where 8 divides K.
    for extent in (8..=256).step_by(8) {
        let extent = extent as u64;
        let blocks = figures(&[extent as usize; 2], &BidirectionalExchange)[1];
        assert_eq!(8 * blocks, (extent + 16) * extent * extent, "{extent}");
    }
    for extents in [&[16][..], &[6, 6], &[9, 9], &[16, 4], &[16, 1], &[1]] {
        let error = claims(extents, &BidirectionalExchange).unwrap_err().to_string();
        assert!(error.contains("needs a torus with n >= 2 dimensions that are multiples of 2n"), "{error}");
    }
}

#[test]
fn exchange_in_both_directions_is_verified() {
    let tori: [&[usize]; 16] = [
        &[4, 4],
        &[4, 4, 4],
        &[8, 8],
        &[12, 8],
        &[8, 12],
        &[12, 12],
        &[16, 8],
        &[20, 12],
        &[8, 2, 8],
        &[8, 8, 3],
        &[5, 8, 8],
        &[1, 12, 8, 1],
        &[2, 8, 12, 2],
        &[24, 8],
        &[16, 16],
        // Three dimensions together.
        &[12, 8, 8],
    ];
    for extents in tori {
        let proof = proof(&BidirectionalExchange, Grid::torus(extents).unwrap());
        assert!(proof.volume <= on_torus(extents).volume, "{extents:?}");
    }
}

fn over_all_channels(extents: &[usize]) -> Proof {
    let proof = proof_with(|ports| ports != Ports::Unlimited, &HalfRings, Grid::torus(extents).unwrap());
    assert_eq!(proof.hops, proof.startups, "{extents:?}");
    proof
}

#[test]
fn half_rings_load_all_channels_alike() {
    let known: [(&[usize], [u64; 2]); 11] = [
        (&[8, 8], [8, 64]),
        (&[5, 7], [6, 30]),
        (&[4, 4, 4], [6, 32]),
        (&[3, 4, 5], [6, 36]),
        (&[5, 5, 5], [6, 75]),
        (&[9, 9], [8, 90]),
        (&[6, 6], [6, 27]),
        (&[2, 2, 2], [3, 4]),
        (&[7], [3, 6]),
        (&[8], [4, 8]),
        (&[1, 1], [0, 0]),
    ];
    for (extents, expected) in known {
        let [startups, blocks, ..] = cost(&over_all_channels(extents));
        assert_eq!([startups, blocks], expected, "{extents:?}");
    }
    // A ring of two has half of the blocks in its only round, the longest ring less in its first.
    let mixed = over_all_channels(&[2, 5]);
    assert_eq!((mixed.startups, mixed.transmission), (4, Volume::from(6 + 1)));
    // Half of the blocks cross the middle, over two channels for each of the nodes beside it.
    for extent in (4..=12).step_by(2) {
        let nodes = (extent * extent) as u64;
        let bound = Volume::new(nodes * nodes / 4, 2 * extent as u64);
        assert_eq!(over_all_channels(&[extent, extent]).channel_transmission, bound, "{extent}");
    }
}

/// Claims are formulas: the largest networks there can be take no time, and nothing overflows.
#[test]
fn claims_for_the_largest_networks() {
    let two = &[2; 30][..];
    for extents in [&[1 << 30][..], &[2, 1 << 29], &[2147483647], &[32768, 65535], &[4, 1 << 28], &[46340, 46340], two]
    {
        let claims = |algorithm: &dyn Algorithm, grid| {
            algorithm.claims(&Problem::new(Arc::new(grid), Collective::Alltoall).unwrap())
        };
        let torus = claims(&TorusExchange, Grid::torus(extents).unwrap());
        let mesh = claims(&MeshExchange::default(), Grid::mesh(extents).unwrap());
        let nodes: u64 = extents.iter().map(|&k| k as u64).product();
        let rings = claims(&HalfRings, Grid::torus(extents).unwrap());
        for claims in [torus, mesh, rings] {
            assert!(claims.transmission.unwrap() >= Volume::from(nodes / 2) && claims.startups.unwrap() > 0);
        }
    }
}

/// At most this many nodes.
const NODES: usize = 150;

#[derive(Clone, Debug)]
struct Extents(Vec<usize>);

impl Arbitrary for Extents {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut extents = vec![];
        let mut nodes = 1;
        for _ in 0..1 + usize::arbitrary(g) % 4 {
            let extent = 1 + usize::arbitrary(g) % 16;
            if nodes * extent <= NODES {
                nodes *= extent;
                extents.push(extent);
            }
        }
        Self(extents)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let all = self.0.shrink().filter(|extents| !extents.is_empty() && extents.iter().all(|&extent| extent > 0));
        Box::new(all.filter(|extents| extents.iter().product::<usize>() <= NODES).map(Self))
    }
}

#[test]
fn grids_of_random_extents_keep_their_claims() {
    fn property(Extents(extents): Extents) -> bool {
        let (torus, mesh) = (on_torus(&extents), on_mesh(&extents));
        on_folded_mesh(&extents);
        over_all_channels(&extents);
        let nodes: usize = extents.iter().product();
        let least = Volume::from(nodes as u64 - 1);
        torus.volume >= least && mesh.volume >= least
    }
    QuickCheck::new().tests(150).quickcheck(property as fn(Extents) -> bool);
}

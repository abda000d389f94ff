//! Plans move the right bytes: every algorithm of the registry, executed on a machine inside the
//! test and compared with the definition of its collective.

use std::collections::HashMap;
use std::sync::Arc;

use crate::claims::is_long;
use crate::machine::{Memory, POISON, execute, plans};
use necklace::algorithm::alltoall::{BidirectionalExchange, Bruck, Direct, Ring, TorusExchange};
use necklace::algorithm::{About, Algorithm, Claims, candidates, find, registry};
use necklace::collective::Collective;
use necklace::plan::{Buffer, Layout, Lengths, Place, PlanError, Reduction, Run, compile};
use necklace::schedule::{Block, Combine, End, LocalStep, Ports, Problem, RankRound, Share};
use necklace::topology::{Grid, Topology, parse};
use necklace::{Node, Rank};
use quickcheck::QuickCheck;

const ELEMENT: usize = 2;

fn one(run: Run) -> Place {
    Place::from(run)
}

fn blocks(holding: Vec<(Block, Vec<Rank>)>) -> Vec<Block> {
    holding.into_iter().map(|(block, _)| block).collect()
}

fn layout(problem: &Problem, rank: usize, elements: usize) -> Layout {
    let (size, rank) = (problem.ranks(), Rank::new(rank));
    let before = blocks(problem.collective().before(size, rank));
    let after = blocks(problem.collective().after(size, rank));
    Layout::consecutive(ELEMENT, elements, &before, &after).unwrap()
}

/// The bytes of what a rank contributes to a block: different for every element, so that nothing is
/// mistaken.
fn content(holder: usize, block: Block, elements: usize) -> Vec<u8> {
    let element = |i: usize| {
        let mixed =
            (holder as u32).wrapping_mul(31) ^ (block.destination() as u32).wrapping_mul(1013) ^ (i as u32) << 3;
        (mixed.wrapping_mul(2_654_435_761) >> 16) as u16
    };
    (0..elements).flat_map(|i| element(i).to_le_bytes()).collect()
}

/// An operation on elements of two bytes.
struct OnPairs(fn(&[u8], &[u8]) -> [u8; 2]);

/// Not commutative: composition of affine maps x -> a x + b (mod 256), an element being (a, b).
/// First left, then right.
const AFFINE: OnPairs =
    OnPairs(|left, right| [left[0].wrapping_mul(right[0]), left[1].wrapping_mul(right[0]).wrapping_add(right[1])]);

const SUM: OnPairs = OnPairs(|left, right| [left[0].wrapping_add(right[0]), left[1].wrapping_add(right[1])]);

impl OnPairs {
    fn all(&self, contributions: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
        let compose = |mut left: Vec<u8>, right: Vec<u8>| {
            self.append(&mut left, &right);
            left
        };
        contributions.reduce(compose).unwrap_or_default()
    }
}

impl Reduction for OnPairs {
    fn merge(&self, into: &mut [u8], left: &[u8], right: &[u8]) {
        for ((into, left), right) in into.chunks_mut(ELEMENT).zip(left.chunks(ELEMENT)).zip(right.chunks(ELEMENT)) {
            into.copy_from_slice(&self.0(left, right));
        }
    }

    fn prepend(&self, into: &mut [u8], left: &[u8]) {
        for (into, left) in into.chunks_mut(ELEMENT).zip(left.chunks(ELEMENT)) {
            into.copy_from_slice(&self.0(left, into));
        }
    }

    fn append(&self, into: &mut [u8], right: &[u8]) {
        for (into, right) in into.chunks_mut(ELEMENT).zip(right.chunks(ELEMENT)) {
            into.copy_from_slice(&self.0(into, right));
        }
    }
}

/// Executes an algorithm for blocks of this many elements and compares every rank's output with the
/// definition.
pub(crate) fn check(algorithm: &dyn Algorithm, problem: &Problem, elements: usize) {
    let size = problem.ranks();
    let op = if problem.commutative() { &SUM } else { &AFFINE };
    let plans = plans(algorithm, problem, |rank| layout(problem, rank, elements));
    let memory = problem.all().map(|rank| {
        let before = problem.collective().before(size, rank);
        let input = before.iter().flat_map(|(block, _)| content(rank.index(), *block, elements)).collect();
        let after = problem.collective().after(size, rank).len();
        Memory { input, output: vec![POISON; after * elements * ELEMENT] }
    });
    let outputs = execute(&plans, memory.collect(), Some(op));
    // Ranks that want the same block from the same contributors want the same bytes.
    let mut results = HashMap::new();
    for rank in problem.all() {
        let after = problem.collective().after(size, rank);
        // In a scan everyone contributes the block that is named for its own result.
        let is_prefix = matches!(problem.collective(), Collective::Scan | Collective::Exscan);
        let given = |by: Rank, block| if is_prefix { Block::result(by) } else { block };
        let combine = |(block, contributors): &(Block, Vec<Rank>)| {
            op.all(contributors.iter().map(|by| content(by.index(), given(*by, *block), elements)))
        };
        let mut wanted = Vec::new();
        for result in after {
            wanted.extend_from_slice(results.entry(result).or_insert_with_key(combine));
        }
        assert_eq!(
            outputs[rank.index()],
            wanted,
            "{} of {elements} elements on {}, rank {rank}",
            algorithm.name(),
            problem.topology().text()
        );
    }
}

fn topologies() -> Vec<Arc<dyn Topology>> {
    let rings = [1, 2, 3, 4, 5, 7, 8, 12, 13, 16].into_iter().map(Grid::ring);
    let tori: [&[usize]; 6] = [&[4, 4], &[2, 2, 2], &[4, 8], &[8, 8], &[3, 5], &[4, 4, 4]];
    let meshes: [&[usize]; 3] = [&[4, 6], &[3, 5], &[2, 3, 4]];
    let grids = rings.chain(tori.map(Grid::torus)).chain(meshes.map(Grid::mesh));
    grids.map(|grid| Arc::new(grid.unwrap()) as Arc<dyn Topology>).collect()
}

#[test]
fn every_algorithm_delivers_the_definition_of_its_collective() {
    let mut done = 0;
    for topology in topologies() {
        for algorithm in registry() {
            let root = Rank::new(topology.nodes() / 2);
            let collective = Collective::named(algorithm.about().collective, root).unwrap();
            // A barrier's blocks have no bytes.
            let sizes: &[usize] = match topology.nodes() {
                _ if collective == Collective::Barrier => &[0],
                nodes if nodes <= 16 => &[0, 1, 3],
                _ => &[3],
            };
            let free = Problem::new(Arc::clone(&topology), collective).unwrap();
            let variants = algorithm.variants(&free);
            for algorithm in variants.iter().chain([algorithm]).filter(|one| !is_long(&***one, &free)) {
                // In rank order, if it can do that.
                let ordered = Some(free.clone().ordered()).filter(|problem| algorithm.fits(problem).is_ok());
                let Some(problem) = ordered.or(Some(free.clone()).filter(|free| algorithm.fits(free).is_ok())) else {
                    continue;
                };
                sizes.iter().for_each(|&elements| check(algorithm.as_ref(), &problem, elements));
                done += sizes.len();
            }
        }
    }
    assert!(done > 300, "only {done} cases");
}

#[test]
fn every_number_of_ranks_up_to_40_delivers_the_definition() {
    deliver(1..=40);
}

/// Multiples of 2 to 11, all from 61 to 66, and those with the slow cases: 43, 52, 61 and 70.
#[test]
fn some_numbers_of_ranks_from_43_to_70_deliver_the_definition() {
    deliver([43, 45, 48, 50, 52, 55, 56, 60].into_iter().chain(61..=66).chain([70]));
}

/// Checks every algorithm on these numbers of ranks, with every root and also empty blocks on few.
fn deliver(numbers: impl Iterator<Item = usize>) {
    let mut done = 0;
    for ranks in numbers {
        let roots = if ranks <= 9 { (0..ranks).collect() } else { vec![ranks * 5 / 7] };
        // The slow cases with the first sizes, and 16, 25, 34 .. 70.
        let all = ranks <= 9 || ranks % 9 == 7;
        let networks = if all { &["complete", "ring", "line"][..] } else { &["complete"] };
        for (network, algorithm) in networks.iter().flat_map(|network| registry().iter().map(move |row| (network, row)))
        {
            let topology = parse(&format!("{network}:{ranks}")).unwrap();
            for &root in &roots {
                let collective = Collective::named(algorithm.about().collective, Rank::new(root)).unwrap();
                let sizes: &[usize] = match collective {
                    Collective::Barrier => &[0],
                    _ if ranks <= 9 => &[0, 1, 3],
                    _ => &[1],
                };
                let has_root = collective.root().is_some();
                let free = Problem::new(Arc::clone(&topology), collective).unwrap();
                for problem in [free.clone().ordered(), free] {
                    if algorithm.fits(&problem).is_ok() && !is_long(&**algorithm, &problem) {
                        sizes.iter().for_each(|&elements| check(algorithm.as_ref(), &problem, elements));
                        done += sizes.len();
                    }
                    if !problem.collective().is_reduction() {
                        break;
                    }
                }
                if !has_root {
                    break;
                }
            }
        }
    }
    assert!(done > 1000, "only {done} cases");
}

#[test]
fn alltoall_in_place_is_alltoall() {
    for topology in topologies() {
        let problem = Problem::new(topology, Collective::Alltoall).unwrap();
        for algorithm in candidates(&problem).iter().filter(|algorithm| algorithm.fits(&problem).is_ok()) {
            let size = problem.ranks();
            let swap = |rank: usize| {
                move |block: Block| {
                    let other = if block.source() == rank as i32 { block.destination() } else { block.source() };
                    Block::new(Rank::new(other as usize), Rank::new(rank))
                }
            };
            let plans = plans(algorithm.as_ref(), &problem, |rank| layout(&problem, rank, 2).in_place(swap(rank)));
            let filled = |rank: usize, from: fn(usize, usize) -> (usize, usize)| -> Vec<u8> {
                (0..size)
                    .flat_map(|other| {
                        let (s, d) = from(rank, other);
                        content(s, Block::new(Rank::new(s), Rank::new(d)), 2)
                    })
                    .collect()
            };
            let memory = (0..size).map(|rank| Memory { input: vec![], output: filled(rank, |r, o| (r, o)) });
            let outputs = execute(&plans, memory.collect(), None);
            for (rank, output) in outputs.into_iter().enumerate() {
                assert_eq!(output, filled(rank, |r, o| (o, r)), "{} of {size} ranks", algorithm.name());
            }
        }
    }
}

#[test]
fn allreduce_in_place_is_allreduce() {
    for size in 1..10 {
        let problem = Problem::new(Arc::new(Grid::ring(size).unwrap()), Collective::Allreduce).unwrap();
        let algorithm = &necklace::algorithm::allreduce::RecursiveDoubling;
        let plans = plans(algorithm, &problem, |rank| layout(&problem, rank, 5).in_place(|block| block));
        let own = |rank| content(rank, Block::RESULT, 5);
        let memory = (0..size).map(|rank| Memory { input: vec![], output: own(rank) }).collect();
        let wanted = AFFINE.all((0..size).map(own));
        assert!(execute(&plans, memory, Some(&AFFINE)).into_iter().all(|output| output == wanted), "{size} ranks");
    }
}

/// A matrix of 4-byte elements, block j being column j: the transpose of a matrix straight from and
/// into its columns.
#[test]
fn strided_blocks_are_sent_and_received_in_place() {
    let (size, rows) = (16_usize, 3_usize);
    let problem = Problem::new(Arc::new(Grid::torus(&[4, 4]).unwrap()), Collective::Alltoall).unwrap();
    let column =
        |buffer, j: usize| Run { buffer, offset: 4 * j as u64, len: 4, stride: 4 * size as u64, count: rows as u64 };
    let strided = |rank: usize| {
        let ranks = || (0..size).map(Rank::new);
        let me = Rank::new(rank);
        let length = (size * rows * 4) as u64;
        let before = ranks().map(|j| (Block::new(me, j), one(column(Buffer::Input, j.index())))).collect();
        let after = ranks().map(|j| (Block::new(j, me), one(column(Buffer::Output, j.index())))).collect();
        Layout::new(4, Lengths::Equal(rows as u64)).with_input(before, length).with_output(after, length)
    };
    let entry = |rank: usize, row: usize, to: usize| (rank * 10_000 + row * 100 + to) as u32;
    for algorithm in [&Direct as &dyn Algorithm, &Ring, &Bruck::default(), &TorusExchange] {
        let plans = plans(algorithm, &problem, strided);
        let memory = (0..size).map(|rank| {
            let cells = (0..rows).flat_map(|row| (0..size).map(move |to| (row, to)));
            let input = cells.flat_map(|(row, to)| entry(rank, row, to).to_le_bytes()).collect();
            Memory { input, output: vec![POISON; size * rows * 4] }
        });
        for (rank, output) in execute(&plans, memory.collect(), None).into_iter().enumerate() {
            let cells = (0..rows).flat_map(|row| (0..size).map(move |from| (row, from)));
            let wanted: Vec<u8> = cells.flat_map(|(row, from)| entry(from, row, rank).to_le_bytes()).collect();
            assert_eq!(output, wanted, "{}, rank {rank}", algorithm.name());
        }
    }
    let direct = &plans(&Direct, &problem, strided)[5];
    let round = &direct.program().rounds()[0];
    for message in round.sends.iter().chain(&round.receives) {
        assert_eq!(direct.program().runs(message).len(), 1, "a column is one run");
    }
}

#[test]
fn blocks_of_different_lengths_go_through_relays() {
    let problem = Problem::new(Arc::new(Grid::torus(&[4, 4]).unwrap()), Collective::Alltoall).unwrap();
    let size = problem.ranks();
    let length = |s: usize, d: usize| (s * 7 + d * 3) % 5;
    let all = || (0..size).flat_map(|s| (0..size).map(move |d| (s, d)));
    let uneven = |rank: usize| {
        let mut at = [0_u64; 2];
        let mut next = |buffer, s: usize, d: usize| {
            let bytes = (length(s, d) * ELEMENT) as u64;
            let at = &mut at[usize::from(buffer == Buffer::Output)];
            *at += bytes;
            (Block::new(Rank::new(s), Rank::new(d)), one(Run::new(buffer, *at - bytes, bytes)))
        };
        let before = (0..size).map(|d| next(Buffer::Input, rank, d)).collect();
        let after = (0..size).map(|s| next(Buffer::Output, s, rank)).collect();
        let table = all().map(|(s, d)| (Block::new(Rank::new(s), Rank::new(d)), length(s, d) as u64));
        let layout = Layout::new(ELEMENT as u64, Lengths::Each(table.collect()));
        layout.with_input(before, at[0]).with_output(after, at[1])
    };
    let bytes = |s: usize, d: usize| content(s, Block::new(Rank::new(s), Rank::new(d)), length(s, d));
    for algorithm in [&Direct as &dyn Algorithm, &Ring, &Bruck::default(), &TorusExchange] {
        let plans = plans(algorithm, &problem, uneven);
        let memory = (0..size).map(|rank| Memory {
            input: (0..size).flat_map(|d| bytes(rank, d)).collect(),
            output: vec![POISON; (0..size).map(|s| length(s, rank) * ELEMENT).sum()],
        });
        for (rank, output) in execute(&plans, memory.collect(), None).into_iter().enumerate() {
            assert_eq!(output, (0..size).flat_map(|s| bytes(s, rank)).collect::<Vec<_>>(), "{}", algorithm.name());
        }
    }
}

#[test]
fn blocks_in_user_buffers_are_not_copied() {
    let problem = Problem::new(Arc::new(Grid::torus(&[8, 8]).unwrap()), Collective::Alltoall).unwrap();
    for (algorithm, scratch) in [(&Direct as &dyn Algorithm, false), (&TorusExchange, true)] {
        for plan in plans(algorithm, &problem, |rank| layout(&problem, rank, 1)) {
            assert_eq!(plan.copied(), ELEMENT as u64, "only a rank's block for itself is copied");
            assert_eq!(plan.program().sizes().scratch > 0, scratch);
            let runs = |buffer: Buffer| {
                let messages =
                    plan.program().rounds().iter().flat_map(|round| round.sends.iter().chain(&round.receives));
                messages
                    .flat_map(|m| plan.program().runs(m))
                    .filter(|run| run.buffer == buffer)
                    .map(Run::bytes)
                    .sum::<u64>()
            };
            // Each of the 63 blocks for others leaves the input once; each of the 63 from others
            // lands in the output once.
            assert_eq!((runs(Buffer::Input), runs(Buffer::Output)), (63 * ELEMENT as u64, 63 * ELEMENT as u64));
        }
    }
}

#[test]
fn combined_messages_arrive_in_few_pieces() {
    // What is the receiver's own in one piece of the output, or two where ranks wrap; the rest in
    // one piece of scratch.
    let cases = [("cube-log", "hypercube:6", 2), ("bruck", "complete:64", 3), ("bruck:radix=3", "complete:50", 3)];
    for (name, topology, most) in cases {
        let problem = Problem::new(parse(topology).unwrap(), Collective::Alltoall).unwrap();
        let algorithm = find(problem.collective(), name).unwrap();
        let mut pieces = 0;
        for plan in plans(algorithm.as_ref(), &problem, |rank| layout(&problem, rank, 1)) {
            let program = plan.program();
            let count = |message| program.runs(message).iter().map(|run| run.count).sum::<u64>();
            for round in program.rounds() {
                assert!(round.receives.iter().all(|message| count(message) <= most), "{name}");
                pieces += round.sends.iter().map(count).sum::<u64>();
            }
        }
        // A rank sends (N/2) log N blocks and more, from this many pieces.
        let ranks = problem.ranks() as u64;
        assert!(pieces <= ranks * 2 * ranks, "{name}: {} pieces a rank of {ranks}", pieces / ranks);
    }
}

#[test]
fn bruck_moves_bytes_for_any_ranks_and_radix() {
    fn holds(ranks: u8, radix: u8, all: bool, elements: u8) -> bool {
        let ranks = 1 + usize::from(ranks) % 40;
        let problem = Problem::new(Arc::new(Grid::ring(ranks).unwrap()), Collective::Alltoall).unwrap();
        let (radix, ports) = (2 + usize::from(radix) % (ranks + 1), if all { "all" } else { "one" });
        let bruck = find(problem.collective(), &format!("bruck:radix={radix},ports={ports}")).unwrap();
        check(&*bruck, &problem, usize::from(elements % 4));
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u8, u8, bool, u8) -> bool);
}

/// An all-port broadcast of chunks both ways round a ring, and a reduction by hand: what later
/// algorithms will need.
#[derive(Debug)]
struct BothWays;

static BOTH_WAYS: About = About::new("broadcast", "both-ways", Ports::All)
    .summary("four chunks in a pipeline, both ways round a ring")
    .source("this test")
    .needs("a ring")
    .claims("nothing");

impl Algorithm for BothWays {
    fn about(&self) -> &About {
        &BOTH_WAYS
    }

    fn lacks(&self, _: &Problem) -> Option<String> {
        None
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims::default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        // The root's block in four chunks; one a round each way, so that several are on their way
        // at once.
        let size = problem.ranks();
        let root = problem.collective().root().unwrap();
        let block = Block::from(root);
        let place = (rank.index() + size - root.index()) % size;
        let (right, left) = (size / 2, (size - 1) / 2);
        let chunk = move |i: usize| vec![block.chunks(i as u32, 4, 1).unwrap()];
        let at = move |place: usize| Rank::new((place + root.index()) % size);
        Box::new((0..size / 2 + 4).map(move |t| {
            let mut round = RankRound::default();
            for i in t.saturating_sub(size)..4.min(t + 1) {
                let hop = t - i;
                if hop < right {
                    if place == hop {
                        round.sends.push(End::new(at(place + 1), chunk(i)))
                    }
                    if place == hop + 1 {
                        round.receives.push(End::new(at(hop), chunk(i)))
                    }
                }
                if hop < left {
                    let from = (size - hop) % size;
                    if place == from {
                        round.sends.push(End::new(at(from + size - 1), chunk(i)))
                    }
                    if place == (from + size - 1) % size {
                        round.receives.push(End::new(at(from), chunk(i)))
                    }
                }
            }
            round
        }))
    }
}

#[test]
fn separate_chunks_end_as_one_block() {
    for size in [2, 3, 5, 8] {
        let root = Rank::new(size - 1);
        let problem = Problem::new(Arc::new(Grid::ring(size).unwrap()), Collective::Broadcast { root }).unwrap();
        for elements in [0, 1, 3, 4, 11] {
            check(&BothWays, &problem, elements);
        }
    }
}

#[test]
fn messages_of_a_pair_in_one_round_keep_their_order() {
    // Rank 0 sends two messages to rank 1, one of them combined on arrival.
    let whole = Block::from(Rank::new(0));
    let (a, b) = (whole.chunks(0, 2, 1).unwrap(), whole.chunks(1, 2, 1).unwrap());
    let ends = |peer| vec![End::new(Rank::new(peer), vec![b]), End::new(Rank::new(peer), vec![a])];
    let lay = |before: &[Block], after: &[Block]| Layout::consecutive(1, 6, before, after).unwrap();
    let sender = RankRound::new(ends(1), vec![]);
    let receiver = RankRound::new(vec![], ends(0));
    let plans =
        [compile([sender], &lay(&[whole], &[whole])).unwrap(), compile([receiver], &lay(&[], &[whole])).unwrap()];
    let memory = vec![
        Memory { input: b"abcdef".to_vec(), output: vec![POISON; 6] },
        Memory { input: vec![], output: vec![POISON; 6] },
    ];
    assert_eq!(execute(&plans, memory, None), [b"abcdef", b"abcdef"]);
}

#[test]
fn inconsistent_shares_and_layouts_are_refused() {
    let whole = Block::from(Rank::new(0));
    let layout = Layout::consecutive(1, 6, &[whole], &[whole]).unwrap();
    let sends = |block| RankRound::new(vec![End::new(Rank::new(1), vec![block])], vec![]);
    let missing = compile([sends(Block::RESULT)], &layout);
    assert!(matches!(missing, Err(PlanError::Missing { block: Block::RESULT, round: 0, .. })), "{missing:?}");
    let cut = compile([sends(whole.chunks(0, 2, 1).unwrap()), sends(whole.chunks(0, 3, 1).unwrap())], &layout);
    assert!(matches!(cut, Err(PlanError::Cut { one: 2, other: 3, .. })), "{cut:?}");
    let undelivered = compile([], &Layout::consecutive(1, 6, &[], &[whole]).unwrap());
    assert!(matches!(undelivered, Err(PlanError::Missing { .. })), "{undelivered:?}");
    let local = LocalStep::new(Block::RESULT, whole, Combine::Left);
    let missing = compile([RankRound::default().with_local(vec![local])], &layout);
    assert!(matches!(missing, Err(PlanError::Missing { .. })), "{missing:?}");
    let pair = whole.chunks(0, 2, 2).unwrap();
    let uneven = LocalStep::new(pair, Block::temporary(0), Combine::Replace);
    let uneven = compile([RankRound::default().with_local(vec![uneven])], &layout);
    assert!(matches!(uneven, Err(PlanError::Step { .. })), "{uneven:?}");
    let huge = Layout::new(8, Lengths::Equal(u64::MAX / 2)).with_input(vec![], 6).with_output(vec![], 6);
    let arrival = RankRound::new(vec![], vec![End::new(Rank::new(1), vec![whole])]);
    assert_eq!(compile([arrival.clone()], &huge), Err(PlanError::Bytes));
    let large = Layout::new(1, Lengths::Equal(1 << 62)).with_input(vec![], 6).with_output(vec![], 6);
    assert_eq!(compile([arrival.clone(), arrival.clone(), arrival], &large), Err(PlanError::Bytes));
    let long = Layout::consecutive(usize::MAX, 2, &[whole], &[]);
    assert!(matches!(long, Err(PlanError::Overflow { .. })), "{long:?}");
    let beyond = layout.clone().with_input(layout.before.clone(), 5);
    assert!(matches!(compile([], &beyond), Err(PlanError::Place { input: 5, .. })), "{:?}", compile([], &beyond));
    let into_input = layout.clone().with_output(vec![(whole, one(Run::new(Buffer::Input, 0, 6)))], layout.output);
    assert!(matches!(compile([], &into_input), Err(PlanError::Place { .. })));
    let other = Block::from(Rank::new(1));
    let at = |offset| one(Run::new(Buffer::Output, offset, 6));
    let shared = layout.clone().with_output(vec![(whole, at(0)), (other, at(5))], 11);
    assert!(matches!(compile([], &shared), Err(PlanError::Shared { offset: 5, .. })));
    // Of 7 bytes, the first half is 3 and the second 4.
    let odd = Layout::consecutive(1, 7, &[whole], &[whole]).unwrap();
    let step = |combine| LocalStep::new(whole.chunks(0, 2, 1).unwrap(), whole.chunks(1, 2, 1).unwrap(), combine);
    for combine in [Combine::Replace, Combine::Left] {
        let uneven = compile([RankRound::default().with_local(vec![step(combine)])], &odd);
        assert!(matches!(uneven, Err(PlanError::Length { expected: 4, found: 3, .. })), "{uneven:?}");
    }
    let input = layout.input;
    let wrong = layout.with_input(vec![(whole, one(Run::new(Buffer::Input, 0, 5)))], input);
    assert!(matches!(compile([], &wrong), Err(PlanError::Length { expected: 6, found: 5, .. })));
}

#[test]
fn value_can_be_combined_with_itself() {
    let (own, copy) = (Block::from(Rank::new(0)), Block::temporary(0));
    let steps: [&[_]; 3] = [
        &[(own, copy, Combine::Replace), (copy, own, Combine::Left)],
        &[(own, copy, Combine::Replace), (own, copy, Combine::Right), (copy, own, Combine::Left)],
        &[(own, copy, Combine::Replace), (copy, own, Combine::Left), (copy, own, Combine::Left)],
    ];
    for steps in steps {
        let local = steps.iter().map(|&(from, into, combine)| LocalStep::new(from, into, combine)).collect();
        multiplied(steps.len(), &RankRound::default().with_local(local));
    }
}

/// Executes a round that combines rank 0's block with itself this many times, in place and not.
fn multiplied(times: usize, round: &RankRound) {
    let own = Block::from(Rank::new(0));
    let layout = Layout::consecutive(ELEMENT, 3, &[own], &[own]).unwrap();
    let input = content(0, own, 3);
    let wanted = AFFINE.all((0..times).map(|_| input.clone()));
    for (layout, memory) in [
        (layout.clone(), Memory { input: input.clone(), output: vec![POISON; 6] }),
        (layout.in_place(|block| block), Memory { input: vec![], output: input }),
    ] {
        let plan = compile([round.clone()], &layout).unwrap();
        assert_eq!(execute(&[plan], vec![memory], Some(&AFFINE))[0], wanted);
    }
}

/// The blocks of a dimension are between its two directions while those of another are sent.
#[test]
fn exchange_in_both_directions_delivers_on_circles_of_three() {
    let torus = Grid::torus(&[12, 12]).unwrap();
    check(&BidirectionalExchange, &Problem::new(Arc::new(torus), Collective::Alltoall).unwrap(), 2);
}

#[test]
fn placement_does_not_change_results() {
    let torus: Arc<dyn Topology> = Arc::new(Grid::torus(&[4, 4]).unwrap());
    let nodes = (0..16).map(|i| Node::new((i * 5 + 3) % 16)).collect();
    let placement = necklace::schedule::Placement::new(nodes, 16).unwrap();
    let problem = Problem::placed(torus, placement, Collective::Alltoall).unwrap();
    check(&TorusExchange, &problem, 2);
}

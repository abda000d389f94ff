//! The frame of a round has an arrow for each of its transfers, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::schedule::draw::{Frames, View, draw};
use necklace::schedule::{Block, Outline, Placement, Ports, Problem, Round, Route, Schedule, Transfer};
use necklace::topology::{Graph, Topology, parse};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::by_rounds;
use super::reading::{Point, distance, read};
use crate::fixtures::plain::Plain;
use crate::fixtures::{all, rank, round, schedule, send, via};

/// Draws a schedule a frame a round, and holds each frame against its round.
pub(crate) fn drawn_by_rounds(schedule: &Schedule) {
    let frames = read(&draw(schedule, &by_rounds()).unwrap());
    let busy: Vec<&Round> = schedule.rounds.iter().filter(|round| !round.transfers.is_empty()).collect();
    if busy.is_empty() {
        assert!(frames.len() == 1 && frames[0].arrows.is_empty());
        return;
    }
    assert_eq!(frames.len(), busy.len());
    for (frame, round) in frames.iter().zip(busy) {
        assert_eq!(frame.nodes.len(), schedule.outline.problem.topology().nodes());
        assert_eq!(frame.arrows.len(), round.transfers.len());
        let mut used: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (arrow, transfer) in frame.arrows.iter().zip(&round.transfers) {
            let ends = (transfer.source.index(), transfer.destination.index());
            assert_eq!((arrow.source, arrow.destination, arrow.transfers), (ends.0, ends.1, 1));
            let route = nodes_of(schedule, transfer);
            route.windows(2).for_each(|hop| *used.entry((hop[0], hop[1])).or_default() += 1);
            // From the sender to the receiver, past the nodes between. The head is what is left to
            // the receiver.
            let node = |at: Option<&usize>| frame.nodes[*at.unwrap()];
            let first = arrow.pieces.first().and_then(|piece| piece.first()).copied().unwrap();
            let last = arrow.pieces.last().and_then(|piece| piece.last()).copied().unwrap();
            assert!(distance(first, node(route.first())) < 20.0, "{first:?}");
            assert!(distance(last, node(route.last())) < 20.0, "{last:?}");
            // Neither comes from under its node nor goes there.
            let [from, to] = [arrow.pieces.first(), arrow.pieces.last()].map(|piece| piece.unwrap().as_slice());
            let seen = |p: &Point, at: Point| distance(*p, at) > frame.radius;
            assert!(from.iter().take(2).all(|p| seen(p, node(route.first()))), "{from:?}");
            assert!(to.iter().rev().take(2).all(|p| seen(p, node(route.last()))), "{to:?}");
            for &via in &route {
                let beside = from_path(frame.nodes[via], &arrow.pieces);
                assert!(beside < 38.0, "{route:?} leaves {via}: {beside}");
            }
        }
        assert_eq!(frame.marks, used.values().filter(|&&transfers| transfers > 1).count());
        let lines: BTreeSet<String> = frame.arrows.iter().map(|arrow| format!("{:?}", arrow.pieces)).collect();
        assert_eq!(lines.len(), frame.arrows.len(), "arrows hide each other");
    }
}

/// How far a point is from the lines between points that follow each other.
fn from_path(p: Point, pieces: &[Vec<Point>]) -> f64 {
    let to_segment = |a: Point, b: Point| {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let square = (dx * dx + dy * dy).max(1e-9);
        let t = (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / square).clamp(0.0, 1.0);
        distance(p, (a.0 + dx * t, a.1 + dy * t))
    };
    let segments = pieces.iter().flat_map(|piece| piece.windows(2));
    segments.map(|ends| to_segment(ends[0], ends[1])).fold(f64::INFINITY, f64::min)
}

fn nodes_of(schedule: &Schedule, transfer: &Transfer) -> Vec<usize> {
    let problem = &schedule.outline.problem;
    let at = |rank| problem.placement().node(rank);
    let nodes = match &transfer.route {
        Route::Via(nodes) => nodes.clone(),
        _ => problem.topology().route(at(transfer.source), at(transfer.destination)),
    };
    nodes.into_iter().map(Node::index).collect()
}

#[test]
fn every_transfer_is_an_arrow_along_its_route() {
    for fixture in all() {
        drawn_by_rounds(&fixture.schedule);
    }
}

#[test]
fn every_network_shows_its_transfers() {
    let networks = [
        "line:1",
        "ring:1",
        "ring:2",
        "ring:3",
        "ring:20",
        "line:6",
        "mesh:1x1",
        "mesh:1x4",
        "mesh:4x1",
        "mesh:2x2",
        "mesh:3x4",
        "torus:1x3",
        "torus:2x3",
        "torus:2x2x2",
        "torus:4x4",
        "torus:3x3x3",
        "mesh:2x3x2x2",
        "torus:2x1x2x1x3",
        "hypercube:0",
        "hypercube:1",
        "hypercube:3",
        "hypercube:4",
        "complete:1",
        "complete:2",
        "complete:3",
        "complete:7",
        "complete:12",
        "ghc:3,2",
        "ghc:4x3",
        "ghc:4x3x2",
        "how:7,3,1",
        "how:4,2,2",
        "how-wrap:7,2,1",
    ];
    for text in networks {
        let topology = parse(text).unwrap();
        for algorithm in registry() {
            let collective = Collective::named(algorithm.about().collective, rank(0)).unwrap();
            let problem = Problem::new(Arc::clone(&topology), collective).unwrap();
            let Ok(shares) = algorithm.shares(&problem) else { continue };
            drawn_by_rounds(&shares.collect().unwrap());
        }
    }
}

/// Any transfers between ranks that sit anywhere on any connected network.
#[derive(Clone, Debug)]
struct Any(Schedule);

impl Arbitrary for Any {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut below = |n: usize| usize::arbitrary(g) % n;
        let nodes = 1 + below(24);
        let mut edges: Vec<(usize, usize)> = (1..nodes).map(|v| (v, below(v))).collect();
        for _ in 0..below(12) {
            let (u, v) = (below(nodes), below(nodes));
            edges.extend((u != v).then_some((u, v)));
        }
        let topology = Arc::new(Plain::new(Graph::new(nodes, edges).unwrap(), "plain <&\"'>"));
        let mut seats: Vec<Node> = (0..nodes).map(Node::new).collect();
        (0..nodes).for_each(|i| seats.swap(i, below(nodes)));
        seats.truncate(1 + below(nodes));
        let ranks = seats.len();
        let placement = Placement::new(seats.clone(), nodes).unwrap();
        let rounds = (0..below(5)).map(|number| {
            let transfers = (0..below(12)).map(|_| {
                let (from, to) = (below(ranks), below(ranks));
                let blocks = vec![Block::from(rank(from)); below(4)];
                // Now and then a walk of its own instead of the shortest way.
                if below(4) > 0 {
                    return send(from, to, blocks);
                }
                let mut walk = vec![seats[from]];
                for _ in 0..below(5) {
                    let next = topology.neighbours(walk[walk.len() - 1]);
                    walk.extend((!next.is_empty()).then(|| next[below(next.len().max(1))]));
                }
                walk.extend(topology.route(walk[walk.len() - 1], seats[to]).into_iter().skip(1));
                via(send(from, to, blocks), &walk.into_iter().map(Node::index).collect::<Vec<_>>())
            });
            round(transfers.collect()).in_phase(number / 2)
        });
        let rounds: Vec<Round> = rounds.collect();
        let problem = Problem::placed(topology, placement, Collective::Allgather).unwrap();
        let phases = vec!["one".to_owned(), "two".to_owned()];
        Self(Schedule::new(Outline::new(problem, "any", Ports::Unlimited).with_phases(phases), rounds))
    }
}

#[test]
fn any_transfers_on_any_graph_are_drawn() {
    fn holds(Any(schedule): Any, focus: usize) -> bool {
        drawn_by_rounds(&schedule);
        let transfers = || schedule.rounds.iter().flat_map(|round| &round.transfers);
        let total = |view: &View| {
            let arrows = read(&draw(&schedule, view).unwrap()).into_iter().flat_map(|frame| frame.arrows);
            arrows.map(|arrow| arrow.transfers).sum::<u64>()
        };
        let phases = View::default().with_frames(Frames::Phases);
        assert_eq!(total(&phases), transfers().count() as u64);
        let focus = rank(focus % schedule.outline.problem.ranks());
        let own = transfers().filter(|transfer| transfer.source == focus || transfer.destination == focus).count();
        total(&View::default().with_focus(focus)) == own as u64
    }
    QuickCheck::new().tests(300).quickcheck(holds as fn(Any, usize) -> bool);
}

#[test]
fn transfer_to_itself_or_without_blocks_is_drawn() {
    let transfers = vec![send(1, 1, vec![Block::from(rank(1))]), send(0, 2, vec![])];
    let odd = schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    drawn_by_rounds(&odd);
}

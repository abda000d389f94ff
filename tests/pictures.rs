//! Pictures are sound documents that show what the schedule says: an arrow a transfer, along its route, inside the page.
#![allow(clippy::unwrap_used, reason = "a test that finds nothing has failed")]

mod fixtures;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixtures::{all, direct_alltoall, rank, ring_allgather, round, scan, schedule, send, via};
use necklace::Node;
use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::schedule::draw::{DrawError, Frames, MAX_ARROWS, MAX_FRAMES, MAX_NODES, View, draw, draw_shares};
use necklace::schedule::{Block, Outline, Placement, Ports, Problem, Round, Route, Schedule, Shares, Transfer};
use necklace::topology::{Graph, Neighbours, Topology, parse};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use roxmltree::{Document, Node as Element};

/// A point.
type Point = (f64, f64);

/// An arrow as it is read from a picture: its ends by their words, the transfers that it stands for, its pieces.
struct Arrow {
    source: usize,
    destination: usize,
    transfers: u64,
    pieces: Vec<Vec<Point>>,
}

/// A frame: its arrows, the centres of the nodes, the channels that are marked.
struct Frame {
    caption: String,
    arrows: Vec<Arrow>,
    nodes: Vec<Point>,
    radius: f64,
    marks: usize,
}

fn attribute<'a>(element: Element<'a, '_>, name: &str) -> &'a str {
    element.attribute(name).unwrap_or_else(|| panic!("no {name} on {}", element.tag_name().name()))
}

fn number(text: &str) -> f64 {
    let number: f64 = text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"));
    assert!(number.is_finite());
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert!(decimals <= 1, "{text:?} has more than one decimal");
    number
}

fn pair(text: &str) -> Point {
    let (x, y) = text.split_once(' ').unwrap_or_else(|| panic!("{text:?} is no point"));
    (number(x), number(y))
}

/// The points of path data, piece by piece, control points included.
fn pieces(data: &str) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        let numbers: Vec<&str> = rest[1..end].split_whitespace().collect();
        let points: Vec<Point> = numbers.chunks(2).map(|xy| (number(xy[0]), number(xy[1]))).collect();
        match (command, points.len()) {
            ('M', 1) => pieces.push(points),
            ('L', 1) | ('Q', 2) => pieces.last_mut().expect("a path starts with M").extend(points),
            ('z', 0) => {}
            _ => panic!("{data:?}"),
        }
        rest = &rest[end..];
    }
    pieces
}

/// Where an element's own coordinates start.
fn origin(element: Element<'_, '_>) -> Point {
    let moves = element.ancestors().filter_map(|element| element.attribute("transform"));
    moves.fold((0.0, 0.0), |(x, y), text| {
        let (dx, dy) = pair(text.strip_prefix("translate(").and_then(|text| text.strip_suffix(')')).unwrap());
        (x + dx, y + dy)
    })
}

/// The points of an element, in its own coordinates.
fn points(element: Element<'_, '_>) -> Vec<Point> {
    let at = |name| number(attribute(element, name));
    match element.tag_name().name() {
        "path" => pieces(attribute(element, "d")).concat(),
        "circle" => {
            let (x, y, r) = (at("cx"), at("cy"), at("r"));
            vec![(x - r, y - r), (x + r, y + r)]
        }
        "rect" => {
            let (x, y) = (element.attribute("x").map_or(0.0, number), element.attribute("y").map_or(0.0, number));
            vec![(x, y), (x + at("width"), y + at("height"))]
        }
        "text" => vec![(at("x"), at("y"))],
        "svg" | "title" | "desc" | "defs" | "g" | "use" => vec![],
        other => panic!("<{other}>"),
    }
}

/// The frames of a picture that is well-formed, stays inside its page, and can stand in Markdown.
fn read(picture: &str) -> Vec<Frame> {
    let document = Document::parse(picture).unwrap_or_else(|error| panic!("{error}: {picture}"));
    assert!(picture.lines().all(|line| !line.trim().is_empty()), "an empty line would end it in Markdown");
    assert!(picture.lines().next().is_some_and(|line| line.starts_with("<svg ") && line.ends_with('>')));
    let svg = document.root_element();
    let page: Vec<f64> = attribute(svg, "viewBox").split(' ').map(number).collect();
    assert_eq!((page[0], page[1]), (0.0, 0.0));
    let inside = |(x, y): Point, (dx, dy): Point| {
        let (x, y) = (x + dx, y + dy);
        assert!((-0.1..=page[2] + 0.1).contains(&x) && (-0.1..=page[3] + 0.1).contains(&y), "({x}, {y}) in {page:?}");
    };
    let child = |name| svg.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text());
    assert!(child("title").is_some_and(|text| !text.is_empty()) && child("desc").is_some_and(|text| !text.is_empty()));

    let named: BTreeMap<&str, Element<'_, '_>> =
        svg.descendants().filter_map(|element| Some((element.attribute("id")?, element))).collect();
    for element in svg.descendants().filter(Element::is_element) {
        if element.has_tag_name("use") {
            let used = named[attribute(element, "href").strip_prefix('#').unwrap()];
            let at = origin(element);
            used.descendants().filter(Element::is_element).flat_map(points).for_each(|p| inside(p, at));
        } else if !element.ancestors().any(|element| element.has_tag_name("defs")) {
            let at = origin(element);
            points(element).into_iter().for_each(|p| inside(p, at));
        }
    }
    let frames = svg.children().filter(|child| child.attribute("class") == Some("frame"));
    frames.map(|frame| frame_of(frame, &named)).collect()
}

fn frame_of(frame: Element<'_, '_>, named: &BTreeMap<&str, Element<'_, '_>>) -> Frame {
    let texts = frame.children().filter(|child| child.has_tag_name("text")).filter_map(|text| text.text());
    let arrow = |path: Element<'_, '_>| {
        let words = path.children().find(|child| child.has_tag_name("title")).and_then(|title| title.text()).unwrap();
        let (ends, _) = words.split_once(':').unwrap();
        let (source, destination) = ends.split_once(" to ").unwrap();
        Arrow {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            transfers: path.attribute("data-transfers").map_or(1, |number| number.parse().unwrap()),
            pieces: pieces(attribute(path, "d")),
        }
    };
    let class = |name: &'static str| frame.descendants().filter(move |e| e.attribute("class") == Some(name));
    let used = frame.descendants().filter_map(|element| element.attribute("href"));
    let nodes = used.filter_map(|name| named.get(name.strip_prefix('#')?)).flat_map(|group| group.descendants());
    let nodes = nodes.filter(|element| element.has_tag_name("circle"));
    let arrows: Vec<Arrow> = class("transfer").map(arrow).collect();
    let border = frame.children().find(|child| child.has_tag_name("rect")).unwrap();
    let (wide, high) = (number(attribute(border, "width")), number(attribute(border, "height")));
    for element in frame.descendants().filter(|element| ["path", "text"].contains(&element.tag_name().name())) {
        let ((x0, y0), (dx, dy)) = (origin(frame), origin(element));
        for (x, y) in points(element) {
            let (x, y) = (x + dx - x0, y + dy - y0);
            assert!((0.0..=wide).contains(&x) && (0.0..=high).contains(&y), "({x}, {y}) in {wide} x {high}");
        }
    }
    let heads: Vec<Vec<Point>> = class("heads").flat_map(|path| pieces(attribute(path, "d"))).collect();
    assert_eq!(heads.len(), arrows.len(), "an arrow has a head");
    let tips = heads.iter().map(|head| head[0]);
    let ends: Vec<Point> = arrows.iter().filter_map(|arrow| arrow.pieces.last()?.last().copied()).chain(tips).collect();
    for node in nodes.clone() {
        let (centre, radius) =
            ((number(attribute(node, "cx")), number(attribute(node, "cy"))), number(attribute(node, "r")));
        // Numbers are rounded.
        let hidden = ends.iter().find(|&&end| distance(end, centre) < radius - 0.1);
        assert_eq!(hidden, None, "an arrow ends under the node at {centre:?}");
    }
    Frame {
        caption: texts.collect::<Vec<_>>().join(" "),
        arrows,
        nodes: nodes.clone().map(|node| (number(attribute(node, "cx")), number(attribute(node, "cy")))).collect(),
        radius: nodes.clone().map(|node| number(attribute(node, "r"))).fold(f64::INFINITY, f64::min),
        marks: class("shared").flat_map(|group| group.children()).filter(|child| child.has_tag_name("path")).count(),
    }
}

fn by_rounds() -> View {
    View { frames: Frames::Rounds, ..View::default() }
}

fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
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
        Route::Default => problem.topology().route(at(transfer.source), at(transfer.destination)),
    };
    nodes.into_iter().map(Node::index).collect()
}

/// Draws a schedule a frame a round, and holds each frame against its round.
fn drawn_by_rounds(schedule: &Schedule) {
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
            // From the sender to the receiver, past the nodes between. The head is what is left to the receiver.
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
        "complete:20",
        "ghc:3,2",
        "ghc:4x3",
        "ghc:4x3x2",
        "ghc:5x5",
    ];
    for text in networks {
        let topology = parse(text).unwrap();
        for algorithm in registry() {
            let collective = Collective::named(algorithm.about().collective, rank(0)).unwrap();
            let problem = Problem::new(Arc::clone(&topology), collective).unwrap();
            let Ok(shares) = Shares::new(&**algorithm, &problem) else { continue };
            drawn_by_rounds(&shares.collect().unwrap());
        }
    }
}

/// A network that tells nothing but its links.
#[derive(Clone, Debug)]
struct Plain(Graph);

impl Topology for Plain {
    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        self.0.neighbours(node)
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.0.distance(from, to)
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        self.0.route(from, to)
    }

    fn text(&self) -> String {
        "plain <&\"'>".to_owned()
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
        let topology = Arc::new(Plain(Graph::new(nodes, edges).unwrap()));
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
            Round { phase: number / 2, ..round(transfers.collect()) }
        });
        let rounds: Vec<Round> = rounds.collect();
        let problem = Problem::placed(topology, placement, Collective::Allgather).unwrap();
        let (algorithm, ports) = ("any".to_owned(), Ports::Unlimited);
        let phases = vec!["one".to_owned(), "two".to_owned()];
        Self(Schedule { outline: Outline { problem, algorithm, ports, contention_free: false, phases }, rounds })
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
        let phases = View { frames: Frames::Phases, ..View::default() };
        assert_eq!(total(&phases), transfers().count() as u64);
        let focus = rank(focus % schedule.outline.problem.ranks());
        let own = transfers().filter(|transfer| transfer.source == focus || transfer.destination == focus).count();
        total(&View { focus: Some(focus), ..View::default() }) == own as u64
    }
    QuickCheck::new().tests(300).quickcheck(holds as fn(Any, usize) -> bool);
}

/// The only frame of these transfers.
fn single(network: &str, transfers: Vec<Transfer>) -> Frame {
    let schedule = schedule(network, Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    let mut frames = read(&draw(&schedule, &View::default()).unwrap());
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

#[test]
fn arrows_keep_to_the_right_and_clear_of_each_other() {
    let there_and_back = single("line:4", vec![send(0, 3, vec![]), send(3, 0, vec![]), send(0, 2, vec![])]);
    let heights = |arrow: &Arrow| arrow.pieces[0][1..arrow.pieces[0].len() - 1].iter().map(|p| p.1).collect::<Vec<_>>();
    let line = there_and_back.nodes[0].1;
    let [there, back, shorter] = &there_and_back.arrows[..] else { panic!("three arrows") };
    // To the right of who goes right is below.
    assert!(heights(there).iter().all(|&y| y > line) && heights(back).iter().all(|&y| y < line));
    let most = |arrow| heights(arrow).into_iter().fold(f64::MIN, f64::max);
    assert!(most(there) >= most(shorter) + 2.0, "{} {}", most(there), most(shorter));
    // Many of them make the frame larger.
    let peers = (0..6).flat_map(|i| (0..6).filter(move |&j| i != j).map(move |j| send(i, j, vec![])));
    single("line:6", peers.collect());
}

#[test]
fn links_that_wrap_leave_on_one_side_and_come_back_on_the_other() {
    let frame =
        single("torus:4x5", vec![send(4, 0, vec![]), send(0, 4, vec![]), send(15, 0, vec![]), send(5, 8, vec![])]);
    let (low, high) = (frame.nodes[0], frame.nodes[19]);
    let ends = |arrow: &Arrow| {
        assert_eq!(arrow.pieces.len(), 2);
        (*arrow.pieces[0].last().unwrap(), arrow.pieces[1][0])
    };
    let (right, left) = (ends(&frame.arrows[0]), ends(&frame.arrows[1]));
    assert!(right.0.0 > high.0 && right.1.0 < low.0, "{right:?}");
    assert!(left.0.0 < low.0 && left.1.0 > high.0, "{left:?}");
    let down = ends(&frame.arrows[2]);
    assert!(down.0.1 > high.1 && down.1.1 < low.1, "{down:?}");
    let shorter = ends(&frame.arrows[3]);
    assert!(shorter.0.0 < low.0 && shorter.1.0 > high.0, "{shorter:?}");
    // Extents of two have one link.
    assert_eq!(single("torus:2x2", vec![send(0, 1, vec![])]).arrows[0].pieces.len(), 1);
}

#[test]
fn the_same_schedule_gives_the_same_bytes() {
    for fixture in all() {
        let one = draw(&fixture.schedule, &View::default()).unwrap();
        assert_eq!(one, draw(&fixture.schedule, &View::default()).unwrap());
    }
}

#[test]
fn names_cannot_break_out() {
    let mut odd = ring_allgather(4);
    let name = "</title><script>&\"']]>\n\n\0\u{ffff} - \u{7}";
    odd.outline.algorithm = name.to_owned();
    odd.outline.phases = vec![name.to_owned(), name.repeat(40)];
    odd.rounds[1].phase = 1;
    odd.rounds[2].phase = 7;
    for title in [None, Some(name.to_owned()), Some(String::new()), Some("x".repeat(3000))] {
        let view = View { title: title.clone(), ..View::default() };
        if title.as_deref() == Some("") {
            assert!(Document::parse(&draw(&odd, &view).unwrap()).is_ok());
        } else {
            assert_eq!(read(&draw(&odd, &view).unwrap()).len(), 3);
        }
    }
}

#[test]
fn rounds_without_transfers_have_a_frame_only_if_asked_for() {
    let scan = scan(4);
    assert!(scan.rounds[0].transfers.is_empty());
    assert_eq!(read(&draw(&scan, &by_rounds()).unwrap()).len(), 2);
    let asked = View { frames: Frames::Range(0..2), ..View::default() };
    let frames = read(&draw(&scan, &asked).unwrap());
    assert_eq!(frames.iter().map(|frame| frame.arrows.len()).collect::<Vec<_>>(), [0, 3]);
    assert!(frames[0].caption.contains("nothing is sent"), "{}", frames[0].caption);

    let idle = schedule("ring:4", Collective::Barrier, Ports::One, true, vec![]);
    drawn_by_rounds(&idle);
}

#[test]
fn a_rank_may_send_to_itself_or_nothing() {
    let transfers = vec![send(1, 1, vec![Block::from(rank(1))]), send(0, 2, vec![])];
    let odd = schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    drawn_by_rounds(&odd);
}

#[test]
fn few_rounds_are_drawn_one_by_one_and_many_by_phase_or_in_part() {
    let frames = |schedule: &Schedule| read(&draw(schedule, &View::default()).unwrap());
    let (few, many) = (frames(&ring_allgather(13)), frames(&ring_allgather(14)));
    assert_eq!((few.len(), many.len()), (12, 1));
    // The same transfers in all rounds are one arrow each.
    assert_eq!(many[0].arrows.len(), 14);
    assert!(many[0].arrows.iter().all(|arrow| arrow.transfers == 13));
    assert!(many[0].caption.starts_with("rounds 0 to 12 182 transfers of 1 block, 1 hop"), "{}", many[0].caption);
    // However many rounds that takes.
    let mut long = ring_allgather(14);
    long.rounds = long.rounds.iter().cycle().take(80_000).cloned().collect();
    assert_eq!(frames(&long)[0].arrows.len(), 14);
    // A round that has no room ends the frames before it.
    let crowd = |rounds: &[usize]| {
        let round = |&many: &usize| round(vec![send(0, 1, vec![]); many]);
        schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, rounds.iter().map(round).collect())
    };
    assert_eq!(frames(&crowd(&[1, 2, MAX_ARROWS + 1, 1])).len(), 2);
    assert_eq!(frames(&crowd(&[1, MAX_ARROWS, 1])).len(), 1);
    // Others would cover each other.
    let picture = draw(&direct_alltoall(14), &View::default()).unwrap();
    assert_eq!(read(&picture).len(), 6);
    assert!(picture.contains("rounds 0 to 5 of 13"));
}

#[test]
fn captions_count_what_is_there() {
    let (block, other) = (Block::from(rank(0)), Block::from(rank(1)));
    let transfers = vec![send(0, 3, vec![block, other]), send(1, 2, vec![other])];
    let two = schedule("line:4", Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    let frames = read(&draw(&two, &View::default()).unwrap());
    assert_eq!(frames[0].caption, "round 0 2 transfers of up to 2 blocks, up to 3 hops; up to 2 share a channel");
    assert_eq!(frames[0].marks, 1);
}

#[test]
fn what_is_too_much_is_refused_with_what_would_be_right() {
    let error = |schedule: &Schedule, view: &View| draw(schedule, view).unwrap_err();
    let empty = |text: &str| schedule(text, Collective::Alltoall, Ports::One, true, vec![]);
    let large = error(&empty(&format!("complete:{}", MAX_NODES + 1)), &View::default());
    assert!(matches!(large, DrawError::Nodes { found, .. } if found == MAX_NODES + 1));
    assert!(large.to_string().contains("at most 4096"), "{large}");
    read(&draw(&empty(&format!("complete:{MAX_NODES}")), &View::default()).unwrap());

    let once = || round(vec![send(0, 1, vec![])]);
    let long = |rounds| schedule("ring:4", Collective::Allgather, Ports::One, true, vec![once(); rounds]);
    let full = read(&draw(&long(MAX_FRAMES), &by_rounds()).unwrap());
    assert_eq!(full.len(), MAX_FRAMES);
    let many = error(&long(MAX_FRAMES + 1), &by_rounds());
    assert!(matches!(many, DrawError::Large { what: "frames", limit: MAX_FRAMES, .. }));
    assert!(many.to_string().contains("show fewer rounds"), "{many}");

    let range = |range| View { frames: Frames::Range(range), ..View::default() };
    assert_eq!(read(&draw(&long(100), &range(70..75)).unwrap()).len(), 5);
    assert!(matches!(error(&long(100), &range(0..100)), DrawError::Large { what: "frames", .. }));
    assert!(matches!(error(&long(3), &range(1..4)), DrawError::Range { rounds: 3, .. }));
    assert!(matches!(error(&long(3), &range(2..2)), DrawError::Range { rounds: 3, .. }));
    assert!(matches!(error(&long(0), &range(0..1)), DrawError::Range { rounds: 0, .. }));

    let crowd = vec![round(vec![send(0, 1, vec![]); MAX_ARROWS + 1])];
    let crowd = schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, crowd);
    for frames in [Frames::Auto, Frames::Rounds, Frames::Phases] {
        let view = View { frames, ..View::default() };
        assert!(matches!(error(&crowd, &view), DrawError::Large { what: "arrows", found, .. } if found > MAX_ARROWS));
    }
    let walk: Vec<usize> = (0..200_000).map(|i| i % 4).collect();
    let far = |times| {
        let rounds = vec![round(vec![via(send(0, 3, vec![]), &walk); times])];
        schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, rounds)
    };
    assert!(draw(&far(2), &View::default()).unwrap().len() < 25_000_000);
    let more = error(&far(3), &View::default());
    assert!(matches!(more, DrawError::Large { what: "nodes on the way of arrows", .. }));
}

#[test]
fn what_is_not_there_is_refused() {
    let one = |transfer| schedule("ring:4", Collective::Allgather, Ports::One, true, vec![round(vec![transfer])]);
    let error = |transfer| draw(&one(transfer), &View::default()).unwrap_err();
    assert!(matches!(error(send(0, 4, vec![])), DrawError::Rank { ranks: 4, .. }));
    assert!(matches!(error(send(9, 0, vec![])), DrawError::Rank { ranks: 4, .. }));
    assert!(matches!(error(via(send(0, 1, vec![]), &[])), DrawError::Route { round: 0, nodes: 4, .. }));
    assert!(matches!(error(via(send(0, 1, vec![]), &[0, 4, 1])), DrawError::Route { round: 0, nodes: 4, .. }));
    let view = View { focus: Some(rank(4)), ..View::default() };
    assert!(matches!(draw(&one(send(0, 1, vec![])), &view), Err(DrawError::Rank { ranks: 4, .. })));
    // A way that is none on this network is drawn all the same: that is what the schedule says.
    read(&draw(&one(via(send(0, 1, vec![]), &[2, 0, 3])), &View::default()).unwrap());
}

#[test]
fn shares_are_drawn_as_the_schedule_that_they_make() {
    let problem = Problem::new(parse("torus:4x4").unwrap(), Collective::Alltoall).unwrap();
    let algorithm = necklace::algorithm::alltoall::TorusExchange;
    let shares = || Shares::new(&algorithm, &problem).unwrap();
    let whole = draw(&shares().collect().unwrap(), &View::default()).unwrap();
    assert_eq!(draw_shares(shares(), &View::default()).unwrap(), whole);

    let problem = Problem::new(parse("ring:4").unwrap(), Collective::Allgather).unwrap();
    let faulty = fixtures::OneWay { faulty: Some(rank(2)) };
    let shares = Shares::new(&faulty, &problem).unwrap();
    assert!(matches!(draw_shares(shares, &View::default()), Err(DrawError::Build(_))));
}

/// The plain picture of a registered algorithm, if it can do that.
fn picture(network: &str, collective: Collective, algorithm: &str, view: &View) -> String {
    let algorithm = necklace::algorithm::find(&collective, algorithm).unwrap();
    let problem = Problem::new(parse(network).unwrap(), collective).unwrap();
    draw_shares(Shares::new(&*algorithm, &problem).unwrap(), view).unwrap()
}

#[test]
fn numbers_do_not_cover_each_other() {
    for network in ["torus:2x2", "mesh:2x2", "mesh:2x3", "hypercube:2", "ring:5"] {
        let picture = picture(network, Collective::Alltoall, "direct", &by_rounds());
        let document = Document::parse(&picture).unwrap();
        let grounds = document.descendants().filter(|element| element.attribute("fill-opacity").is_some());
        let grounds: Vec<Vec<Point>> = grounds.map(points).collect();
        assert!(grounds.len() >= 4, "{network}");
        for (i, a) in grounds.iter().enumerate() {
            let covers = |b: &Vec<Point>| {
                a[0].0 < b[1].0 - 0.1 && b[0].0 < a[1].0 - 0.1 && a[0].1 < b[1].1 - 0.1 && b[0].1 < a[1].1 - 0.1
            };
            assert!(!grounds[..i].iter().any(covers), "{network}: {a:?}");
        }
    }
}

#[test]
fn what_part_of_the_rounds_is_shown_is_said() {
    let range = |range| View { frames: Frames::Range(range), ..View::default() };
    let shown = |asked| draw(&ring_allgather(12), &range(asked)).unwrap();
    assert!(shown(0..3).contains("Shown are rounds 0 to 2 of 11."));
    assert_eq!(shown(0..3).matches("rounds 0 to 2 of 11").count(), 2, "description and legend");
    assert!(shown(4..5).contains("Shown are round 4 of 11."));
    assert!(!shown(0..11).contains("of 11"));
}

#[test]
fn where_arrows_are_too_many_to_be_told_apart_one_ranks_are_shown() {
    let note = "Shown are 126 of 4032 transfers, too many to be told apart, only those of rank 0";
    let automatic = picture("torus:8x8", Collective::Alltoall, "direct", &View::default());
    assert!(automatic.contains(note), "{}", &automatic[..900]);
    let frames = read(&automatic);
    assert_eq!((frames.len(), frames[0].arrows.len()), (1, 126));
    assert!(frames[0].arrows.iter().all(|arrow| arrow.source == 0 || arrow.destination == 0));
    // How many share a channel is of all that are sent.
    let most = |caption: &str| {
        caption
            .split_once("up to ")
            .and_then(|(_, rest)| rest.split_once("hops; up to "))
            .map(|(_, most)| most.to_owned())
    };
    let all = picture("torus:8x8", Collective::Alltoall, "direct", &by_rounds());
    let every = read(&all);
    assert_eq!((every[0].arrows.len(), most(&every[0].caption)), (4032, most(&frames[0].caption)));
    // Who says what to show gets that.
    let focus = View { focus: Some(rank(9)), ..View::default() };
    let chosen = picture("torus:8x8", Collective::Alltoall, "direct", &focus);
    assert!(![all, chosen].iter().any(|picture| picture.contains("told apart")));
    // What can be told apart is shown.
    for network in ["torus:2x2", "hypercube:2", "complete:8"] {
        assert!(
            !picture(network, Collective::Alltoall, "direct", &View::default()).contains("told apart"),
            "{network}"
        );
    }
    // One rank's arrows are no fewer where it sends them all.
    let star = (1..64).map(|to| send(0, to, vec![])).collect::<Vec<_>>();
    assert_eq!(single("line:64", star).arrows.len(), 63);
}

#[test]
fn a_phase_looks_the_same_in_all_pictures_and_unlike_others() {
    let mut looks: BTreeMap<String, String> = BTreeMap::new();
    let mut most = 0;
    for network in ["torus:4x4", "torus:12x12", "torus:4x4x4", "mesh:4x6", "hypercube:5", "ghc:4x3x2", "ring:300"] {
        let topology = parse(network).unwrap();
        for algorithm in registry().iter().filter(|algorithm| algorithm.about().collective == "alltoall") {
            let problem = Problem::new(Arc::clone(&topology), Collective::Alltoall).unwrap();
            let Ok(shares) = Shares::new(&**algorithm, &problem) else { continue };
            let outline = shares.outline().clone();
            let phases = outline.phases.len();
            if phases < 2 {
                continue;
            }
            // A transfer a phase.
            let rounds = (0..phases).map(|phase| Round { phase, ..round(vec![send(0, 1, vec![])]) }).collect();
            let picture = draw(&Schedule { outline, rounds }, &View::default()).unwrap();
            let document = Document::parse(&picture).unwrap();
            let legend = document.descendants().find(|element| element.attribute("class") == Some("legend")).unwrap();
            let mut dashes = BTreeSet::new();
            for sign in legend.children().filter(|child| child.has_tag_name("g")) {
                let line = sign.first_element_child().unwrap();
                let name = sign.next_sibling_element().and_then(|text| text.text()).unwrap();
                let dash = line.attribute("stroke-dasharray").unwrap_or("");
                assert!(dashes.insert(dash), "{network}: {name} is not told from another in grey");
                let look = format!("{} {dash}", attribute(line, "stroke"));
                assert_eq!(looks.entry(name.to_owned()).or_insert(look.clone()), &look, "{network}: {name}");
            }
            assert_eq!(dashes.len(), phases, "{network}");
            most = most.max(phases);
        }
    }
    assert_eq!(most, 9);
    assert!(looks.contains_key("units") && looks.contains_key("halves of cells"));
}

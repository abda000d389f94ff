//! The content of a frame: the network, the arrows, the marks of shared channels.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::arrows::{Lanes, channel, lanes, path, shape};
use super::courses::Course;
use super::frames::{Arrow, Frame, Sizes};
use super::layout::Layout;
use super::looks::{Look, SHARED, TEXT, WHITE};
use super::point::{Point, point};
use super::svg::{Escaped, Number, width};
use super::words;
use crate::ids::Rank;
use crate::topology::Embedding;
use crate::vocabulary::Outline;

const SHARED_NUMBER: &str = "#8a3300";
const LINK: &str = "#c9c9c9";
/// The colours of links of a host that no link of the guest takes, and that some take.
const IDLE: &str = "#e4e4e4";
const TAKEN: &str = "#a9a9a9";
const NODE: &str = "#555555";
/// The attribute of text around its place.
const CENTRED: &str = "text-anchor=\"middle\"";
/// The width of arrows that are too dense to tell apart.
const CROWDED: f64 = 0.5;
/// The maximum number of arrows, and of shared channels, that have numbers beside them.
const MAX_NUMBERS: usize = 40;
const MAX_SHARED_NUMBERS: usize = 120;

/// A bounding box.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) low: Point,
    pub(super) high: Point,
}

impl Bounds {
    fn around(at: Point, reach: f64) -> Self {
        Self { low: at - point(reach, reach), high: at + point(reach, reach) }
    }

    pub(super) fn with(self, other: Self) -> Self {
        let low = point(self.low.x.min(other.low.x), self.low.y.min(other.low.y));
        Self { low, high: point(self.high.x.max(other.high.x), self.high.y.max(other.high.y)) }
    }

    fn add(&mut self, at: Point, reach: f64) {
        *self = self.with(Self::around(at, reach));
    }
}

/// The links and nodes, which all frames share.
pub(super) struct Network {
    pub(super) links: String,
    pub(super) nodes: String,
    pub(super) bounds: Bounds,
}

impl Network {
    pub(super) fn new(outline: &Outline, layout: &Layout, focus: Option<Rank>) -> Self {
        let mut network =
            Self { links: String::new(), nodes: String::new(), bounds: Bounds::around(layout.at[0], 0.0) };
        let topology = outline.problem.topology();
        network.link(layout, topology.embedding());
        for node in 0..layout.at.len() {
            let rank = outline.problem.placement().rank(crate::ids::Node::new(node));
            network.node(layout, node, rank, rank.is_some() && rank == focus);
        }
        network
    }

    /// Draws the links. On the host of an embedding they show how many links of the guest take
    /// them.
    fn link(&mut self, layout: &Layout, embedding: Option<&Embedding>) {
        let taken = embedding.map(taken);
        let mut lines: BTreeMap<usize, String> = BTreeMap::new();
        for &(u, v) in &layout.links {
            let guests = taken.as_ref().map_or(0, |taken| taken.get(&(u, v)).copied().unwrap_or(0));
            let lines = lines.entry(guests).or_default();
            self.line(layout, (u, v), lines);
            if layout.arc(v, u).is_some() {
                self.line(layout, (v, u), lines);
            }
        }
        for (guests, lines) in lines {
            let (colour, more) = match taken {
                None => (LINK, String::new()),
                Some(_) if guests == 0 => (IDLE, String::new()),
                Some(_) => (TAKEN, format!(" stroke-width=\"{}\" data-guests=\"{guests}\"", broad(guests))),
            };
            let _ = writeln!(self.links, "<path d=\"{lines}\" fill=\"none\" stroke=\"{colour}\"{more}/>");
        }
    }

    /// Adds the line of a channel.
    fn line(&mut self, layout: &Layout, (u, v): (usize, usize), lines: &mut String) {
        let (a, b) = (layout.at[u], layout.at[v]);
        match layout.course(u, v) {
            Course::Through(points) => {
                let _ = write!(lines, "M{a}");
                for p in points.into_iter().chain([b]) {
                    self.bounds.add(p, 0.0);
                    let _ = write!(lines, "L{p}");
                }
            }
            Course::Around(out, back) => {
                let _ = write!(lines, "M{a}L{out}M{back}L{b}");
                self.bounds.add(out, 1.0);
                self.bounds.add(back, 1.0);
            }
        }
    }

    fn node(&mut self, layout: &Layout, node: usize, rank: Option<Rank>, focus: bool) {
        let (at, labelled) = (layout.at[node], layout.scale.labelled);
        // The tips of arrows keep a distance.
        let radius = layout.scale.radius + if focus { 0.5 } else { 0.0 };
        self.bounds.add(at, radius + 1.0);
        let (fill, stroke) = match rank {
            None => (WHITE, LINK),
            Some(_) if focus => (TEXT, TEXT),
            Some(_) => (if labelled { WHITE } else { NODE }, NODE),
        };
        let (x, y, radius) = (Number(at.x), Number(at.y), Number(radius));
        let _ =
            writeln!(self.nodes, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>");
        if let Some(rank) = rank.filter(|_| labelled) {
            let colour = if focus { WHITE } else { TEXT };
            let line = Line { at: at + point(0.0, 3.3), size: 9.5, more: CENTRED, colour };
            line.write(&mut self.nodes, &rank.to_string());
        }
    }
}

/// Returns the number of links of the guest that take each link of the host.
fn taken(embedding: &Embedding) -> HashMap<(usize, usize), usize> {
    let mut taken = HashMap::new();
    for (from, to) in embedding.guest().edges() {
        for hop in embedding.path(from, to).windows(2) {
            let (u, v) = (hop[0].index(), hop[1].index());
            *taken.entry((u.min(v), u.max(v))).or_default() += 1;
        }
    }
    taken
}

/// Returns the width of a link that links of the guest take.
fn broad(guests: usize) -> Number {
    Number((0.6 + 0.6 * guests as f64).min(6.0))
}

/// A frame and the place of what it shows.
struct Scene<'a> {
    layout: &'a Layout,
    frame: &'a Frame,
    lanes: Lanes,
}

/// The content of one frame, from the lowest layer to the highest.
pub(super) struct Body {
    pub(super) bands: String,
    pub(super) arrows: String,
    /// The marks of the nodes that send.
    pub(super) senders: String,
    pub(super) numbers: String,
    /// The centres and widths of the numbers.
    written: Vec<(Point, f64)>,
    pub(super) bounds: Bounds,
}

impl Body {
    /// Draws a frame. `sizes` are those of the whole picture. `marks` tells whether the nodes that
    /// send have a mark.
    pub(super) fn new(layout: &Layout, frame: &Frame, look: &Look, sizes: Sizes, marks: bool) -> Self {
        let bounds = Bounds::around(layout.at[0], 0.0);
        let [bands, arrows, senders, numbers] = [const { String::new() }; 4];
        let mut body = Self { bands, arrows, senders, numbers, written: Vec::new(), bounds };
        let scene = Scene { layout, frame, lanes: lanes(layout, &frame.arrows) };
        body.arrows(&scene, look, sizes);
        body.bands(&scene);
        if marks {
            body.senders(&scene, look);
        }
        body
    }

    fn senders(&mut self, scene: &Scene<'_>, look: &Look) {
        let Scene { layout, frame, .. } = scene;
        let (colour, radius) = (look.colour, Number(layout.scale.radius));
        let (fill, wide) = if layout.scale.labelled { ("none", 2.0) } else { (colour, 1.0) };
        let _ = writeln!(
            self.senders,
            "<g class=\"senders\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"{}\">",
            Number(wide)
        );
        for at in frame.senders().into_iter().map(|node| layout.at[node]) {
            let (x, y) = (Number(at.x), Number(at.y));
            let _ = writeln!(self.senders, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
        }
        self.senders += "</g>\n";
    }

    fn arrows(&mut self, scene: &Scene<'_>, look: &Look, sizes: Sizes) {
        let Scene { layout, frame, lanes } = scene;
        if frame.arrows.is_empty() {
            return;
        }
        let colour = look.colour;
        let alike = if lanes.crowded { Some(CROWDED) } else { (!sizes.differ()).then_some(layout.scale.stroke) };
        let thick = |stroke: Option<f64>| {
            stroke.map_or(String::new(), |stroke| format!(" stroke-width=\"{}\"", Number(stroke)))
        };
        let numbered = frame.sizes().differ() && frame.arrows.len() <= MAX_NUMBERS;
        let (mut full, mut hollow) = (String::new(), String::new());
        let _ = writeln!(
            self.arrows,
            "<g fill=\"none\" stroke=\"{colour}\" stroke-linejoin=\"round\"{}{}>",
            thick(alike),
            look.dashes()
        );
        for (arrow, &offset) in frame.arrows.iter().zip(&lanes.offsets) {
            let stroke = alike.unwrap_or_else(|| thickness(layout, arrow, sizes));
            let shape = shape(layout, &arrow.route, offset, 2.0 * (stroke + layout.scale.stroke));
            let [tip, left, right] = shape.head;
            shape.pieces.iter().flatten().chain(&shape.head).for_each(|&p| self.bounds.add(p, 2.0));
            let several =
                if arrow.transfers == 1 { String::new() } else { format!(" data-transfers=\"{}\"", arrow.transfers) };
            let _ = writeln!(
                self.arrows,
                "<path class=\"transfer\"{several} d=\"{}\"{}><title>{}</title></path>",
                path(&shape.pieces, layout.scale.radius.min(5.0) + 1.0),
                thick(Some(stroke).filter(|_| alike.is_none())),
                words::arrow(arrow)
            );
            let heads = if arrow.combined { &mut hollow } else { &mut full };
            let _ = write!(heads, "M{tip}L{left}L{right}z");
            // In the middle of a hop: nodes are between them.
            let hops = arrow.hops().max(1);
            let share = ((hops / 2) as f64 + 0.5) / hops as f64;
            if numbered {
                let shares = [share, share - 0.15 / hops as f64, share + 0.15 / hops as f64];
                let places = shares.into_iter().filter_map(|share| along(&shape.pieces, share));
                self.number(places, colour, &arrow.volume.to_string());
            }
        }
        self.arrows += "</g>\n";
        for (heads, fill) in [(full, colour), (hollow, WHITE)].iter().filter(|(heads, _)| !heads.is_empty()) {
            let _ = writeln!(
                self.arrows,
                "<path class=\"heads\" d=\"{heads}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>"
            );
        }
    }

    /// Marks channels that several transfers share in one round.
    fn bands(&mut self, scene: &Scene<'_>) {
        let Scene { layout, frame, lanes } = scene;
        if frame.shared.is_empty() {
            return;
        }
        let mut reach: HashMap<(usize, usize), (f64, f64)> = HashMap::new();
        for (arrow, &offset) in frame.arrows.iter().zip(&lanes.offsets) {
            for hop in arrow.route.windows(2) {
                let (least, most) = reach.entry((hop[0], hop[1])).or_insert((offset, offset));
                (*least, *most) = (least.min(offset), most.max(offset));
            }
        }
        let lane = layout.scale.lane;
        let numbered = frame.shared.len() <= MAX_SHARED_NUMBERS && layout.scale.labelled;
        let _ = writeln!(self.bands, "<g class=\"shared\" fill=\"none\" stroke=\"{SHARED}\">");
        for (&(from, to), transfers) in &frame.shared {
            let (least, most) = reach.get(&(from, to)).copied().unwrap_or_default();
            let pieces = channel(layout, from, to, (least + most) / 2.0);
            let wide = (most - least) + 1.4 * lane;
            pieces.iter().flatten().for_each(|&p| self.bounds.add(p, wide / 2.0));
            let _ = writeln!(self.bands, "<path d=\"{}\" stroke-width=\"{}\"/>", path(&pieces, 0.0), Number(wide));
            if numbered {
                // Many arrows leave no room beside the channel.
                let (on, beside) = ((least + most) / 2.0, most + 2.2 * lane);
                let offsets = if lanes.crowded { [on, beside] } else { [beside, on] };
                let shares = [0.5, 0.35, 0.65, 0.25, 0.75];
                let places = shares.into_iter().flat_map(|share| offsets.map(|offset| (offset, share)));
                let places = places.filter_map(|(offset, share)| along(&channel(layout, from, to, offset), share));
                self.number(places, SHARED_NUMBER, &format!("×{transfers}"));
            }
        }
        self.bands += "</g>\n";
    }

    /// Writes a number with a background, at the first of the places where it covers no other
    /// number, or else at the first place.
    fn number(&mut self, places: impl Iterator<Item = Point>, colour: &str, number: &str) {
        let wide = width(number, 8.0) + 2.0;
        let mut places = places.peekable();
        let Some(&first) = places.peek() else { return };
        let apart = |at: Point, &(other, width): &(Point, f64)| {
            (at.x - other.x).abs() >= (wide + width) / 2.0 + 0.1 || (at.y - other.y).abs() >= 9.1
        };
        let at = places.find(|&at| self.written.iter().all(|other| apart(at, other))).unwrap_or(first);
        self.written.push((at, wide));
        self.bounds.add(at, wide.max(9.0) / 2.0);
        let (x, y) = (Number(at.x - wide / 2.0), Number(at.y - 4.5));
        let _ = writeln!(
            self.numbers,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"9\" rx=\"2\" fill=\"{WHITE}\" fill-opacity=\"0.85\"/>",
            Number(wide)
        );
        Line { at: at + point(0.0, 2.9), size: 8.0, more: CENTRED, colour }.write(&mut self.numbers, number);
    }
}

/// Returns the width of an arrow, which grows with its blocks.
fn thickness(layout: &Layout, arrow: &Arrow, sizes: Sizes) -> f64 {
    let scale = layout.scale;
    let share = (arrow.volume.as_f64() / sizes.most.as_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let (thinnest, thickest) = (0.7 * scale.stroke, (1.8 * scale.stroke).min(0.75 * scale.lane));
    thinnest + (thickest - thinnest) * share.sqrt()
}

/// The place and the looks of a line of text.
pub(super) struct Line<'a> {
    pub(super) at: Point,
    pub(super) size: f64,
    /// Further attributes.
    pub(super) more: &'a str,
    pub(super) colour: &'a str,
}

impl Line<'_> {
    /// Writes the line with this text.
    pub(super) fn write(&self, out: &mut String, text: &str) {
        let Self { at, size, more, colour } = *self;
        let gap = if more.is_empty() { "" } else { " " };
        let (x, y, size) = (Number(at.x), Number(at.y), Number(size));
        let text = Escaped(text);
        let _ =
            writeln!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{gap}{more} fill=\"{colour}\">{text}</text>");
    }
}

/// Returns the point at a fraction of a line.
fn along(pieces: &[Vec<Point>], share: f64) -> Option<Point> {
    let steps = || pieces.iter().flat_map(|piece| piece.windows(2)).map(|pair| (pair[0], pair[1] - pair[0]));
    let mut left = share * steps().map(|(_, way)| way.length()).sum::<f64>();
    for (from, way) in steps() {
        if way.length() >= left {
            return Some(from + way.unit() * left);
        }
        left -= way.length();
    }
    pieces.last()?.last().copied()
}

//! Puts frames on a page: title, captions, legend.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::View;
use super::arrows::{Lanes, channel, lanes, shape};
use super::frames::{Arrow, Frame};
use super::layout::{Course, Layout};
use super::point::{Point, point};
use super::svg::{Escaped, Number, lines, width};
use crate::ids::Node;
use crate::schedule::{Outline, Volume};

/// A phase's colour and dashes. Colours are told apart by all kinds of sight, and are dark enough for white paper.
struct Look {
    colour: &'static str,
    dashes: &'static str,
}

const LOOKS: [Look; 6] = [
    Look { colour: "#0072b2", dashes: "" },
    Look { colour: "#c24e00", dashes: "8 2" },
    Look { colour: "#00785a", dashes: "3.5 1.5" },
    Look { colour: "#a83279", dashes: "9 2 2 2" },
    Look { colour: "#333333", dashes: "" },
    Look { colour: "#7a6200", dashes: "4 3" },
];

/// Channels that are shared.
const SHARED: &str = "#f6c7ad";
const LINK: &str = "#c9c9c9";
const NODE: &str = "#555555";
const TEXT: &str = "#222222";
const QUIET: &str = "#555555";

const TITLE: f64 = 15.0;
const CAPTION: f64 = 11.0;
const SMALL: f64 = 10.0;
const LEADING: f64 = 1.3;
const MARGIN: f64 = 14.0;
/// How thick arrows are that are too many to be told apart.
const CROWDED: f64 = 0.5;
/// How wide frames side by side may be, unless one alone is wider.
const PAGE: f64 = 890.0;
const LEAST_FRAME: f64 = 204.0;
/// Numbers beside arrows, and beside channels, are written where there are no more of them.
const MAX_NUMBERS: usize = 40;
const MAX_SHARED_NUMBERS: usize = 120;

/// The document.
pub(super) fn page(outline: &Outline, view: &View, layout: &Layout, frames: &[Frame], note: Option<String>) -> String {
    let title = view.title.clone().unwrap_or_else(|| heading(outline));
    let page = Page { outline, view, layout, frames, sizes: Sizes::of(frames) };
    let bodies: Vec<Body> = frames.iter().map(|frame| page.body(frame)).collect();
    let network = page.network();
    let bounds = bodies.iter().fold(network.bounds, |bounds, body| bounds.with(body.bounds));
    let inner = bounds.high - bounds.low;
    let frame_width = (inner.x + 2.0 * SMALL).max(LEAST_FRAME).ceil();
    let columns = columns(frames.len(), frame_width);
    let page_width = (columns as f64 * (frame_width + MARGIN) + MARGIN).max(360.0);

    let room = page_width - 2.0 * MARGIN;
    let title_lines = lines(&title, TITLE, room, 4);
    let captions: Vec<Vec<String>> = frames.iter().map(|frame| page.caption(frame, frame_width)).collect();
    let caption_lines = captions.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let frame_height = (inner.y + SMALL * 2.0 + caption_lines * CAPTION * LEADING).ceil();
    let top = MARGIN + title_lines.len() as f64 * TITLE * LEADING;
    let rows = frames.len().div_ceil(columns) as f64;
    let legend_top = top + rows * (frame_height + MARGIN) + SMALL;
    let (legend, legend_height) = page.legend(note.as_deref(), legend_top, room);
    let page_height = (legend_top + legend_height + MARGIN * 0.5).ceil();

    let mut out = String::new();
    let size = format!("{} {}", Number(page_width), Number(page_height));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size}\" width=\"{}\" height=\"{}\" role=\"img\" \
         font-family=\"Helvetica, Arial, sans-serif\">",
        Number(page_width),
        Number(page_height)
    );
    let _ = writeln!(out, "<title>{}</title>", Escaped(&title));
    let _ = writeln!(out, "<desc>{}</desc>", Escaped(&page.described(&title, note.as_deref())));
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#ffffff\"/>");
    // Equal names are equal networks, also where a page includes several pictures.
    let name = format!("{:016x}", fingerprint(&network.links) ^ fingerprint(&network.nodes).rotate_left(1));
    let Network { links, nodes, .. } = &network;
    let _ = writeln!(out, "<defs><g id=\"links-{name}\">\n{links}</g>\n<g id=\"nodes-{name}\">\n{nodes}</g></defs>");
    for (i, line) in title_lines.iter().enumerate() {
        let at = point(MARGIN, MARGIN + (i as f64 + 0.8) * TITLE * LEADING - 4.0);
        text(&mut out, at, TITLE, "font-weight=\"bold\"", TEXT, line);
    }
    for (i, (body, caption)) in bodies.iter().zip(&captions).enumerate() {
        let (row, column) = ((i / columns) as f64, (i % columns) as f64);
        let corner = point(MARGIN + column * (frame_width + MARGIN), top + row * (frame_height + MARGIN)).rounded();
        let _ = writeln!(out, "<g class=\"frame\" transform=\"translate({corner})\">");
        let _ = writeln!(
            out,
            "<rect width=\"{}\" height=\"{}\" rx=\"4\" fill=\"none\" stroke=\"#dddddd\"/>",
            Number(frame_width),
            Number(frame_height)
        );
        for (i, line) in caption.iter().enumerate() {
            let at = point(SMALL, (i as f64 + 1.0) * CAPTION * LEADING + 1.0);
            let (weight, colour) = if i == 0 { ("font-weight=\"bold\"", TEXT) } else { ("", QUIET) };
            text(&mut out, at, CAPTION, weight, colour, line);
        }
        let centre = point((frame_width - inner.x) / 2.0, SMALL + caption_lines * CAPTION * LEADING) - bounds.low;
        let _ = writeln!(out, "<g transform=\"translate({})\">", centre.rounded());
        out += &body.bands;
        let _ = writeln!(out, "<use href=\"#links-{name}\"/>");
        out += &body.arrows;
        let _ = writeln!(out, "<use href=\"#nodes-{name}\"/>");
        out += &body.numbers;
        out += "</g>\n</g>\n";
    }
    out += &legend;
    out += "</svg>\n";
    out
}

/// `alltoall on torus:12x12, 144 ranks: torus-exchange`.
fn heading(outline: &Outline) -> String {
    let Outline { problem, algorithm, .. } = outline;
    let (topology, ranks) = (problem.topology().text(), many(problem.ranks() as u64, "rank"));
    let by = if algorithm.is_empty() { String::new() } else { format!(": {algorithm}") };
    format!("{} on {topology}, {ranks}{by}", problem.collective())
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn blocks(volume: Volume) -> String {
    format!("{volume} block{}", if volume == Volume::from(1) { "" } else { "s" })
}

/// How many frames stand side by side: as many as have room, rows being filled evenly.
fn columns(frames: usize, width: f64) -> usize {
    let most = ((PAGE - MARGIN) / (width + MARGIN)).max(1.0) as usize;
    frames.div_ceil(frames.div_ceil(most).max(1)).max(1)
}

fn text(out: &mut String, at: Point, size: f64, more: &str, colour: &str, text: &str) {
    let gap = if more.is_empty() { "" } else { " " };
    let (x, y) = (Number(at.x), Number(at.y));
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"{gap}{more} fill=\"{colour}\">{}</text>",
        Number(size),
        Escaped(text)
    );
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// What is drawn, and how far it reaches.
struct Body {
    bands: String,
    arrows: String,
    numbers: String,
    bounds: Bounds,
}

struct Network {
    links: String,
    nodes: String,
    bounds: Bounds,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: Point,
    high: Point,
}

impl Bounds {
    fn around(at: Point, reach: f64) -> Self {
        Self { low: at - point(reach, reach), high: at + point(reach, reach) }
    }

    fn with(self, other: Self) -> Self {
        let low = point(self.low.x.min(other.low.x), self.low.y.min(other.low.y));
        Self { low, high: point(self.high.x.max(other.high.x), self.high.y.max(other.high.y)) }
    }
}

/// The largest transfers and whether all are alike.
#[derive(Clone, Copy)]
struct Sizes {
    least: Volume,
    most: Volume,
}

impl Sizes {
    fn of(frames: &[Frame]) -> Self {
        let mut volumes = frames.iter().flat_map(|frame| &frame.arrows).map(|arrow| arrow.volume);
        let first = volumes.next().unwrap_or_default();
        volumes.fold(Self { least: first, most: first }, |sizes, volume| Self {
            least: sizes.least.min(volume),
            most: sizes.most.max(volume),
        })
    }

    fn differ(self) -> bool {
        self.least != self.most
    }
}

struct Page<'a> {
    outline: &'a Outline,
    view: &'a View,
    layout: &'a Layout,
    frames: &'a [Frame],
    sizes: Sizes,
}

impl Page<'_> {
    /// Links and nodes, which all frames have in common.
    fn network(&self) -> Network {
        let layout = self.layout;
        let radius = layout.scale.radius;
        let mut bounds = Bounds::around(layout.at[0], 0.0);
        let mut links = String::new();
        for &(u, v) in &layout.links {
            let (a, b) = (layout.at[u], layout.at[v]);
            match layout.course(u, v) {
                Course::Through(points) => {
                    let _ = write!(links, "M{a}");
                    for p in points.into_iter().chain([b]) {
                        bounds = bounds.with(Bounds::around(p, 0.0));
                        let _ = write!(links, "L{p}");
                    }
                }
                Course::Around(out, back) => {
                    let _ = write!(links, "M{a}L{out}M{back}L{b}");
                    bounds = bounds.with(Bounds::around(out, 1.0)).with(Bounds::around(back, 1.0));
                }
            }
        }
        if !links.is_empty() {
            links = format!("<path d=\"{links}\" fill=\"none\" stroke=\"{LINK}\"/>\n");
        }
        let mut nodes = String::new();
        let problem = &self.outline.problem;
        for (node, &at) in layout.at.iter().enumerate() {
            bounds = bounds.with(Bounds::around(at, radius + 1.0));
            let rank = problem.placement().rank(Node::new(node)).filter(|rank| rank.index() < problem.ranks());
            let own = rank.is_some() && rank == self.view.focus;
            let (fill, stroke) = match (rank, layout.scale.labelled) {
                (None, _) => ("#ffffff", LINK),
                _ if own => ("#222222", "#222222"),
                (Some(_), true) => ("#ffffff", NODE),
                (Some(_), false) => (NODE, NODE),
            };
            let radius = Number(if own { radius * 1.15 } else { radius });
            let (x, y) = (Number(at.x), Number(at.y));
            let _ =
                writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>");
            if let (Some(rank), true) = (rank, layout.scale.labelled) {
                let colour = if own { "#ffffff" } else { TEXT };
                let at = at + point(0.0, 3.3);
                text(&mut nodes, at, 9.5, "text-anchor=\"middle\"", colour, &rank.to_string());
            }
        }
        Network { links, nodes, bounds }
    }

    /// A frame's arrows, and what lies under them.
    fn body(&self, frame: &Frame) -> Body {
        let layout = self.layout;
        let look = &LOOKS[frame.phase % LOOKS.len()];
        let Lanes { offsets, crowded } = lanes(layout, &frame.arrows);
        let mut body = Body { under: String::new(), over: String::new(), bounds: Bounds::around(layout.at[0], 0.0) };
        self.bands(frame, &offsets, &mut body);
        if frame.arrows.is_empty() {
            return body;
        }
        let dashes =
            if look.dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", look.dashes) };
        let colour = look.colour;
        let (mut shafts, mut full, mut hollow, mut numbers) =
            (String::new(), String::new(), String::new(), String::new());
        // Whether each has a thickness of its own.
        let own = self.sizes.differ() && !crowded;
        let numbered = self.frame_sizes(frame).differ() && frame.arrows.len() <= MAX_NUMBERS;
        for (arrow, &offset) in frame.arrows.iter().zip(&offsets) {
            let thick = if crowded { CROWDED } else { self.thickness(arrow) };
            let head = 2.0 * (thick + layout.scale.stroke);
            let shape = shape(layout, &arrow.route, offset, head);
            let [tip, left, right] = shape.head;
            for &p in shape.pieces.iter().flatten().chain(&shape.head) {
                body.bounds = body.bounds.with(Bounds::around(p, 2.0));
            }
            let heads = if arrow.combined { &mut hollow } else { &mut full };
            let _ = write!(heads, "M{tip}L{left}L{right}z");
            let thick = if own { format!(" stroke-width=\"{}\"", Number(thick)) } else { String::new() };
            let several =
                if arrow.transfers == 1 { String::new() } else { format!(" data-transfers=\"{}\"", arrow.transfers) };
            let _ = writeln!(
                shafts,
                "<path class=\"transfer\"{several} d=\"{}\"{thick}><title>{}</title></path>",
                path(&shape.pieces, layout.scale.radius.min(5.0) + 1.0),
                words(arrow)
            );
            if numbered && let Some(at) = middle(&shape.pieces) {
                number(&mut numbers, at, colour, &arrow.volume.to_string());
            }
        }
        let thick = if own {
            String::new()
        } else {
            format!(" stroke-width=\"{}\"", Number(if crowded { CROWDED } else { self.plain() }))
        };
        let _ = writeln!(body.over, "<g fill=\"none\" stroke=\"{colour}\"{thick}{dashes}>\n{shafts}</g>");
        for (heads, fill) in [(full, colour), (hollow, "#ffffff")] {
            if !heads.is_empty() {
                let _ = writeln!(
                    body.over,
                    "<path class=\"heads\" d=\"{heads}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>"
                );
            }
        }
        body.over += &numbers;
        body
    }

    /// Marks channels that several transfers share in one round.
    fn bands(&self, frame: &Frame, offsets: &[f64], body: &mut Body) {
        if frame.shared.is_empty() {
            return;
        }
        let mut reach: std::collections::HashMap<(usize, usize), (f64, f64)> = std::collections::HashMap::new();
        for (arrow, &offset) in frame.arrows.iter().zip(offsets) {
            for hop in arrow.route.windows(2) {
                let (least, most) = reach.entry((hop[0], hop[1])).or_insert((offset, offset));
                (*least, *most) = (least.min(offset), most.max(offset));
            }
        }
        let numbered = frame.shared.len() <= MAX_SHARED_NUMBERS && self.layout.scale.labelled;
        let _ = writeln!(body.under, "<g class=\"shared\" fill=\"none\" stroke=\"{SHARED}\">");
        for (&(from, to), transfers) in &frame.shared {
            let (least, most) = reach.get(&(from, to)).copied().unwrap_or_default();
            let pieces = channel(self.layout, from, to, (least + most) / 2.0);
            let wide = (most - least) + 1.4 * self.layout.scale.lane;
            for &p in pieces.iter().flatten() {
                body.bounds = body.bounds.with(Bounds::around(p, wide / 2.0));
            }
            let _ = writeln!(body.under, "<path d=\"{}\" stroke-width=\"{}\"/>", path(&pieces, 0.0), Number(wide));
            if numbered {
                let aside = channel(self.layout, from, to, most + 2.2 * self.layout.scale.lane);
                if let Some(at) = middle(&aside) {
                    body.bounds = body.bounds.with(Bounds::around(at, 8.0));
                    number(&mut body.over, at, "#8a3300", &format!("×{transfers}"));
                }
            }
        }
        body.under += "</g>\n";
    }

    fn plain(&self) -> f64 {
        self.layout.scale.stroke
    }

    /// How thick an arrow is: the more blocks, the thicker.
    fn thickness(&self, arrow: &Arrow) -> f64 {
        if !self.sizes.differ() {
            return self.plain();
        }
        let share = (arrow.volume.as_f64() / self.sizes.most.as_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let (thinnest, thickest) = (0.7 * self.plain(), (1.8 * self.plain()).min(0.75 * self.layout.scale.lane));
        thinnest + (thickest - thinnest) * share.sqrt()
    }

    fn frame_sizes(&self, frame: &Frame) -> Sizes {
        Sizes::of(std::slice::from_ref(frame))
    }

    fn phase_name(&self, phase: usize) -> String {
        self.outline.phases.get(phase).cloned().unwrap_or_else(|| format!("phase {phase}"))
    }

    /// `round 3` or `rounds 0 to 6`.
    fn rounds(&self, frame: &Frame) -> String {
        match frame.rounds {
            0 => "no rounds".to_owned(),
            1 => format!("round {}", frame.first),
            n if n == frame.last - frame.first + 1 => format!("rounds {} to {}", frame.first, frame.last),
            n => format!("{n} rounds from {} to {}", frame.first, frame.last),
        }
    }

    /// Which rounds, which phase, and what is in it.
    fn words(&self, frame: &Frame) -> (String, String) {
        let several = self.outline.phases.len() > 1;
        let rounds = self.rounds(frame);
        let which = if several { format!("{rounds}: {}", self.phase_name(frame.phase)) } else { rounds };
        if frame.arrows.is_empty() {
            return (which, "nothing is sent".to_owned());
        }
        let Sizes { least, most } = self.frame_sizes(frame);
        let hops = frame.arrows.iter().map(Arrow::hops);
        let (nearest, farthest) = (hops.clone().min().unwrap_or(0), hops.max().unwrap_or(0));
        let up_to = |same| if same { "" } else { "up to " };
        let (size, far) = (blocks(most), many(farthest as u64, "hop"));
        let (size_up_to, far_up_to) = (up_to(least == most), up_to(nearest == farthest));
        let transfers = many(frame.transfers, "transfer");
        let mut what = format!("{transfers} of {size_up_to}{size}, {far_up_to}{far}");
        if let Some(most) = frame.shared.values().max() {
            let _ = write!(what, "; up to {most} share a channel");
        }
        (which, what)
    }

    fn caption(&self, frame: &Frame, frame_width: f64) -> Vec<String> {
        let room = frame_width - 2.0 * SMALL;
        let (which, what) = self.words(frame);
        // The first line alone is bold.
        let mut caption = lines(&which, CAPTION * 1.05, room, 1);
        caption.extend(lines(&what, CAPTION, room, 4));
        caption
    }

    /// The picture in words.
    fn described(&self, title: &str, note: Option<&str>) -> String {
        let mut description = format!("{title}.");
        if let Some(note) = note {
            let _ = write!(description, " Shown are {note}.");
        }
        for frame in self.frames {
            let (which, what) = self.words(frame);
            let _ = write!(description, " {which}: {what}.");
        }
        description
    }

    /// What signs mean, and how much room that takes.
    fn legend(&self, note: Option<&str>, top: f64, room: f64) -> (String, f64) {
        let mut items: Vec<(String, String)> = Vec::new();
        let phases: BTreeSet<usize> =
            self.frames.iter().filter(|frame| !frame.arrows.is_empty()).map(|frame| frame.phase).collect();
        let several = self.outline.phases.len() > 1;
        for &phase in phases.iter().filter(|_| several) {
            items.push((sample(&LOOKS[phase % LOOKS.len()], false), self.phase_name(phase)));
        }
        let look = phases.first().map_or(&LOOKS[0], |phase| &LOOKS[phase % LOOKS.len()]);
        let arrows = || self.frames.iter().flat_map(|frame| &frame.arrows);
        if arrows().any(|arrow| arrow.combined) {
            items.push((sample(look, true), "combined with what is held".to_owned()));
        }
        if self.frames.iter().any(|frame| !frame.shared.is_empty()) {
            let band = format!("<path d=\"M0 -3.5H24\" stroke=\"{SHARED}\" stroke-width=\"9\"/>");
            items.push((band, "channel that several transfers share in one round".to_owned()));
        }
        let mut say = |words: String| items.push((String::new(), words));
        let problem = &self.outline.problem;
        if self.sizes.differ() {
            say(format!("the more blocks, the thicker ({} to {})", self.sizes.least, self.sizes.most));
        }
        if arrows().any(|arrow| arrow.transfers > 1) {
            say("transfers of several rounds that are alike are one arrow".to_owned());
        }
        if let Some(rank) = self.view.focus {
            say(format!("only what rank {rank} sends and receives"));
        }
        if self.layout.wraps() {
            say("links that leave the picture come back on the other side".to_owned());
        }
        if self.layout.scale.labelled {
            say("numbers are ranks".to_owned());
        }
        if problem.ranks() < problem.topology().nodes() {
            say("nodes without a rank are pale".to_owned());
        }
        self.layout.unseen.clone().into_iter().for_each(&mut say);
        note.map(str::to_owned).into_iter().for_each(&mut say);
        let mut out = String::from("<g class=\"legend\">\n");
        let (mut x, mut y) = (MARGIN, top);
        let line = SMALL * 1.6;
        for (sign, words) in &items {
            let sign_width = if sign.is_empty() { 0.0 } else { 30.0 };
            let wanted = sign_width + width(words, SMALL);
            if x > MARGIN && x + wanted > MARGIN + room {
                (x, y) = (MARGIN, y + line);
            }
            if !sign.is_empty() {
                let _ = writeln!(out, "<g fill=\"none\" transform=\"translate({})\">{sign}</g>", point(x, y));
            }
            for (i, words) in lines(words, SMALL, room - sign_width, 3).iter().enumerate() {
                y += if i > 0 { line } else { 0.0 };
                text(&mut out, point(x + sign_width, y), SMALL, "", QUIET, words);
            }
            x += wanted + 18.0;
        }
        out += "</g>\n";
        (out, if items.is_empty() { 0.0 } else { y - top + line })
    }
}

/// An arrow for the legend.
fn sample(Look { colour, dashes }: &Look, hollow: bool) -> String {
    let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    let fill = if hollow { "#ffffff" } else { colour };
    format!(
        "<path d=\"M0 -3.5H19\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}/>\
         <path d=\"M24 -3.5L18 -6V-1z\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>"
    )
}

/// `0 to 4: 32 blocks, 4 hops`.
fn words(arrow: &Arrow) -> String {
    let several = if arrow.transfers == 1 { String::new() } else { format!("{} transfers of up to ", arrow.transfers) };
    let hops = many(arrow.hops() as u64, "hop");
    format!("{} to {}: {several}{}, {hops}", arrow.source, arrow.destination, blocks(arrow.volume))
}

/// A number on a ground of its own.
fn number(out: &mut String, at: Point, colour: &str, text: &str) {
    let wide = width(text, 8.0) + 2.0;
    let corner = at - point(wide / 2.0, 4.5);
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"9\" rx=\"2\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>",
        Number(corner.x),
        Number(corner.y),
        Number(wide)
    );
    self::text(out, at + point(0.0, 2.9), 8.0, "text-anchor=\"middle\"", colour, text);
}

/// The point half-way along the longest piece.
fn middle(pieces: &[Vec<Point>]) -> Option<Point> {
    let length = |piece: &[Point]| piece.windows(2).map(|pair| (pair[1] - pair[0]).length()).sum::<f64>();
    let piece = pieces.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let mut left = length(piece) / 2.0;
    for pair in piece.windows(2) {
        let way = pair[1] - pair[0];
        if way.length() >= left {
            return Some(pair[0] + way.unit() * left);
        }
        left -= way.length();
    }
    piece.last().copied()
}

/// Path data, with corners rounded by so much.
fn path(pieces: &[Vec<Point>], round: f64) -> String {
    let mut out = String::new();
    for piece in pieces {
        for (i, &p) in piece.iter().enumerate() {
            let Some(before) = i.checked_sub(1).map(|i| piece[i]) else {
                let _ = write!(out, "M{p}");
                continue;
            };
            let Some(&after) = piece.get(i + 1) else {
                let _ = write!(out, "L{p}");
                continue;
            };
            let (back, on) = (before - p, after - p);
            let turn = back.unit().dot(on.unit());
            if turn < -0.9999 {
                continue;
            }
            let round = round.min(back.length() / 2.0).min(on.length() / 2.0);
            if round < 0.3 {
                let _ = write!(out, "L{p}");
            } else {
                let _ = write!(out, "L{}Q{p} {}", p + back.unit() * round, p + on.unit() * round);
            }
        }
    }
    out
}

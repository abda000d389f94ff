//! The page: title, frames in rows, legend.

use std::fmt::Write;

use super::View;
use super::body::{Body, Bounds, Line, Network};
use super::frames::{Frame, Shown, Sizes};
use super::layout::Layout;
use super::looks::{CAPTION, LEADING, Looks, MARGIN, TEXT, TITLE};
use super::point::{Point, point};
use super::svg::{Escaped, Number, lines, width};
use super::words;
use crate::vocabulary::Outline;

const QUIET: &str = "#555555";
const BOLD: &str = "font-weight=\"bold\"";
const SMALL: f64 = 10.0;
/// The maximum width of frames side by side, unless a single frame is wider.
const PAGE: f64 = 890.0;
const LEAST_PAGE: f64 = 360.0;
const LEAST_FRAME: f64 = 204.0;

/// Returns the document.
pub(super) fn page(outline: &Outline, view: &View, layout: &Layout, shown: &Shown) -> String {
    let Shown { frames, focus, note } = shown;
    let note = note.as_deref();
    let sizes = Sizes::of(frames);
    let network = Network::new(outline, layout, *focus);
    let looks = Looks::new(outline);
    let marks = shown.marks_senders(outline);
    let body = |frame: &Frame| Body::new(layout, frame, looks.of(outline, frame.phase), sizes, marks);
    let bodies: Vec<Body> = frames.iter().map(body).collect();
    let bounds = bodies.iter().fold(network.bounds, |bounds, body| bounds.with(body.bounds));
    let grid = Grid::new(outline, frames, bounds);

    let room = grid.width - 2.0 * MARGIN;
    let title = view.title.clone().unwrap_or_else(|| words::title(outline));
    let title_lines = lines(&title, TITLE, room, 4);
    let top = MARGIN + title_lines.len() as f64 * TITLE * LEADING;
    let legend_top = top + grid.height + SMALL;
    let legend = words::Legend { outline, view, layout, looks: &looks, shown }.entries();
    let (legend, legend_height) = written(&legend, legend_top, room);
    let (wide, high) = (Number(grid.width), Number((legend_top + legend_height + MARGIN * 0.5).ceil()));

    let mut out = String::new();
    // The first line is a whole tag, as Markdown requires.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         style=\"max-width:100%;height:auto\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\">"
    );
    let _ = writeln!(out, "<title>{}</title>", Escaped(&title));
    let _ = writeln!(out, "<desc>{}</desc>", Escaped(&words::description(outline, frames, &title, note)));
    let _ = writeln!(out, "<rect width=\"{wide}\" height=\"{high}\" rx=\"6\" fill=\"#ffffff\"/>");
    let name = network.name();
    let Network { links, nodes, .. } = &network;
    let _ = writeln!(out, "<defs><g id=\"links-{name}\">\n{links}</g><g id=\"nodes-{name}\">\n{nodes}</g></defs>");
    for (i, line) in title_lines.iter().enumerate() {
        let at = point(MARGIN, MARGIN + (i as f64 + 0.8) * TITLE * LEADING - 4.0);
        Line { at, size: TITLE, more: BOLD, colour: TEXT }.write(&mut out, line);
    }
    for (i, body) in bodies.iter().enumerate() {
        out += &grid.frame(i, grid.corner(i, top), body, &name);
    }
    out += &legend;
    out += "</svg>\n";
    out
}

impl Network {
    /// Returns a name for references. Equal networks have equal names, so that a page can include
    /// several pictures.
    fn name(&self) -> String {
        let bytes = self.links.bytes().chain(self.nodes.bytes());
        // FNV-1a.
        let hash = bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }
}

/// Frames in rows.
struct Grid {
    /// The number of lines of a caption.
    captions: Vec<Vec<String>>,
    /// The size of a frame.
    frame: Point,
    /// The origin of the network in a frame.
    origin: Point,
    columns: usize,
    width: f64,
    height: f64,
}

impl Grid {
    fn new(outline: &Outline, frames: &[Frame], bounds: Bounds) -> Self {
        let inner = bounds.high - bounds.low;
        let wide = (inner.x + 2.0 * SMALL).max(LEAST_FRAME).ceil();
        let captions: Vec<Vec<String>> = frames.iter().map(|frame| caption(outline, frame, wide)).collect();
        let caption = captions.iter().map(Vec::len).max().unwrap_or(0) as f64 * CAPTION * LEADING;
        let high = (inner.y + 2.0 * SMALL + caption).ceil();
        // As many side by side as fit, with rows of even length.
        let most = ((PAGE - MARGIN) / (wide + MARGIN)).max(1.0) as usize;
        let rows = frames.len().div_ceil(most).max(1);
        let columns = frames.len().div_ceil(rows).max(1);
        Self {
            captions,
            frame: point(wide, high),
            origin: (point((wide - inner.x) / 2.0, SMALL + caption) - bounds.low).rounded(),
            columns,
            width: (columns as f64 * (wide + MARGIN) + MARGIN).max(LEAST_PAGE),
            height: rows as f64 * (high + MARGIN),
        }
    }

    /// Returns the corner of a frame, if the rows start at `top`.
    fn corner(&self, number: usize, top: f64) -> Point {
        let (row, column) = ((number / self.columns) as f64, (number % self.columns) as f64);
        let steps = self.frame + point(MARGIN, MARGIN);
        point(MARGIN + column * steps.x, top + row * steps.y).rounded()
    }

    fn frame(&self, number: usize, corner: Point, body: &Body, network: &str) -> String {
        let mut out = String::new();
        let (wide, high) = (Number(self.frame.x), Number(self.frame.y));
        let _ = writeln!(out, "<g class=\"frame\" transform=\"translate({corner})\">");
        let _ = writeln!(out, "<rect width=\"{wide}\" height=\"{high}\" rx=\"4\" fill=\"none\" stroke=\"#dddddd\"/>");
        for (i, line) in self.captions.get(number).into_iter().flatten().enumerate() {
            let at = point(SMALL, (i as f64 + 1.0) * CAPTION * LEADING + 1.0);
            let (more, colour) = if i == 0 { (BOLD, TEXT) } else { ("", QUIET) };
            Line { at, size: CAPTION, more, colour }.write(&mut out, line);
        }
        let Body { bands, arrows, senders, numbers, .. } = body;
        let _ = write!(
            out,
            "<g transform=\"translate({})\">\n{bands}<use href=\"#links-{network}\"/>\n{arrows}\
             <use href=\"#nodes-{network}\"/>\n{senders}{numbers}</g>\n</g>\n",
            self.origin
        );
        out
    }
}

/// Returns the lines of a frame's caption, the first of which is bold.
fn caption(outline: &Outline, frame: &Frame, wide: f64) -> Vec<String> {
    let room = wide - 2.0 * SMALL;
    let (which, what) = words::caption(outline, frame);
    let mut caption = lines(&which, 1.05 * CAPTION, room, 1);
    caption.extend(lines(&what, CAPTION, room, 4));
    caption
}

/// Returns the legend, which starts at `top`, and its height.
fn written(items: &[(String, String)], top: f64, room: f64) -> (String, f64) {
    let mut out = String::from("<g class=\"legend\">\n");
    let (mut x, mut y) = (MARGIN, top);
    let line = SMALL * 1.6;
    for (sign, words) in items {
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
            let line = Line { at: point(x + sign_width, y), size: SMALL, more: "", colour: QUIET };
            line.write(&mut out, words);
        }
        x += wanted + 18.0;
    }
    out += "</g>\n";
    (out, if items.is_empty() { 0.0 } else { y - top + line })
}

//! Pictures of spanning trees, level by level.

use std::fmt::Write;

use super::body::Line;
use super::looks::{CAPTION, LEADING, MARGIN, TEXT, TITLE, WHITE};
use super::point::{Point, point};
use super::svg::{Escaped, Number, lines};
use super::view::{DrawError, MAX_NODES};
use crate::algorithm::spanning_trees::SpanningTree;
use crate::ids::Node;
use crate::topology::Topology;

const EDGE: &str = "#555555";
/// The fill of nodes that are elsewhere in another tree.
const MOVED: &str = "#f6c7ad";
const LEAST_WIDTH: f64 = 360.0;
/// The distance of levels.
const LEVEL: f64 = 52.0;
const HEIGHT: f64 = 16.0;
const LETTER: f64 = 9.0;

/// Draws a spanning tree of a network as SVG, with the root above. Needs the feature `draw`.
///
/// In a product network, nodes are labelled by their coordinates. Nodes whose parent in another
/// tree, if one is given, is not that in this tree are shaded.
///
/// Each node is a `<rect class="node">` with its description as `<title>`. The document is like
/// that of [`draw`](super::draw()).
///
/// ```
/// use necklace::Node;
/// use necklace::algorithm::spanning_trees::balanced;
/// use necklace::schedule::draw::draw_tree;
/// use necklace::topology::parse;
///
/// let [ghc, how] = ["ghc:5,2", "how:5,3,2"].map(|text| parse(text).unwrap());
/// let [before, tree] = [&ghc, &how].map(|network| balanced(&**network, Node::new(0)).unwrap());
/// let picture = draw_tree(&tree, &*how, Some(&before), "From GH(5, 2) to HOW(5, 3, 2)")?;
/// assert!(picture.contains("<title>04 below 03, level 2</title>"));
/// # Ok::<(), necklace::schedule::draw::DrawError>(())
/// ```
///
/// # Errors
///
/// [`DrawError::Nodes`] for more than 4096 nodes, [`DrawError::Tree`] if the tree has another
/// number of nodes than the network.
pub fn draw_tree(
    tree: &SpanningTree,
    network: &dyn Topology,
    before: Option<&SpanningTree>,
    title: &str,
) -> Result<String, DrawError> {
    let found = tree.nodes();
    if found != network.nodes() {
        return Err(DrawError::Tree { topology: network.text(), nodes: network.nodes(), found });
    }
    if found > MAX_NODES {
        return Err(DrawError::Nodes { topology: network.text(), found });
    }
    let labels = labels(network);
    let longest = labels.iter().map(String::len).max().unwrap_or(0);
    let wide = (longest as f64 * 0.62 * LETTER + 6.0).ceil().max(HEIGHT);
    let places = places(tree, wide + 6.0);
    let right = places.iter().map(|at| at.x).fold(0.0, f64::max);
    let width = (right + wide / 2.0 + MARGIN).max(LEAST_WIDTH);
    let title_lines = lines(title, TITLE, width - 2.0 * MARGIN, 4);
    let top = MARGIN + title_lines.len() as f64 * TITLE * LEADING + HEIGHT;
    let bottom = top + tree.height() as f64 * LEVEL + HEIGHT;
    let is_moved = |node: Node| before.is_some_and(|before| before.parent(node) != tree.parent(node));
    let nodes = || (0..found).map(Node::new);
    let has_moved = nodes().any(is_moved);
    let height = bottom + if has_moved { CAPTION * LEADING } else { 0.0 } + MARGIN;

    let (w, h) = (Number(width), Number(height.ceil()));
    let mut out = String::new();
    // The first line is a whole tag, as Markdown requires.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         style=\"max-width:100%;height:auto\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\">"
    );
    let label = |node: Node| labels.get(node.index()).map_or("", String::as_str);
    let _ = writeln!(out, "<title>{}</title>", Escaped(title));
    let _ = writeln!(
        out,
        "<desc>A spanning tree of {} from {}: {found} nodes, {} levels below the root, with subtrees of {} nodes.</desc>",
        Escaped(&network.text()),
        label(tree.root()),
        tree.height(),
        tree.subtrees().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    );
    let _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\" rx=\"6\" fill=\"{WHITE}\"/>");
    for (i, line) in title_lines.iter().enumerate() {
        let at = point(MARGIN, MARGIN + (i as f64 + 0.8) * TITLE * LEADING - 4.0);
        Line { at, size: TITLE, more: "font-weight=\"bold\"", colour: TEXT }.write(&mut out, line);
    }
    let place = |node: Node| places[node.index()] + point(0.0, top);
    let _ = write!(out, "<path fill=\"none\" stroke=\"{EDGE}\" stroke-width=\"0.8\" d=\"");
    for (node, above) in nodes().filter_map(|node| Some((node, tree.parent(node)?))) {
        let (from, to) = (place(above) + point(0.0, HEIGHT / 2.0), place(node) - point(0.0, HEIGHT / 2.0));
        let _ = write!(out, "M{from}L{to}");
    }
    out += "\"/>\n";
    for node in nodes() {
        let (at, fill) = (place(node), if is_moved(node) { MOVED } else { WHITE });
        let corner = at - point(wide / 2.0, HEIGHT / 2.0);
        let words = match tree.parent(node) {
            Some(above) => format!("{} below {}, level {}", label(node), label(above), tree.depth(node)),
            None => format!("{}, the root", label(node)),
        };
        let (x, y, words) = (Number(corner.x), Number(corner.y), Escaped(&words));
        let _ = writeln!(
            out,
            "<rect class=\"node\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"{EDGE}\" stroke-width=\"0.8\"><title>{words}</title></rect>"
        );
        let at = at + point(0.0, LETTER * 0.36);
        Line { at, size: LETTER, more: "text-anchor=\"middle\"", colour: TEXT }.write(&mut out, label(node));
    }
    if has_moved {
        let at = point(MARGIN, bottom + CAPTION);
        let line = Line { at, size: CAPTION, more: "", colour: TEXT };
        line.write(&mut out, "shaded: below another node than in the tree that it comes from");
    }
    out += "</svg>\n";
    Ok(out)
}

/// Returns the labels of nodes: their coordinates in a product, or their numbers.
fn labels(network: &dyn Topology) -> Vec<String> {
    let rows = network.factors().filter(|rows| rows.len() > 1).unwrap_or_default();
    let gap = if rows.iter().all(|row| row.extent() <= 10) { "" } else { "," };
    let label = |node: usize| {
        let mut rest = node;
        let mut coordinates: Vec<String> = vec![];
        for row in rows.iter().rev() {
            coordinates.push((rest % row.extent().max(1)).to_string());
            rest /= row.extent().max(1);
        }
        coordinates.reverse();
        if rows.is_empty() { node.to_string() } else { coordinates.join(gap) }
    };
    (0..network.nodes()).map(label).collect()
}

/// Returns the places of all nodes: leaves side by side, other nodes above the middle of what is
/// below them.
fn places(tree: &SpanningTree, step: f64) -> Vec<Point> {
    let mut children: Vec<Vec<usize>> = vec![vec![]; tree.nodes()];
    for node in (0..tree.nodes()).map(Node::new) {
        if let Some(above) = tree.parent(node) {
            children[above.index()].push(node.index());
        }
    }
    let mut places = vec![point(0.0, 0.0); tree.nodes()];
    let (mut next, mut stack) = (MARGIN + step / 2.0, vec![(tree.root().index(), false)]);
    while let Some((node, below_are_placed)) = stack.pop() {
        let y = tree.depth(Node::new(node)) as f64 * LEVEL;
        let below = &children[node];
        match (below.first(), below.last()) {
            (Some(_), _) if !below_are_placed => {
                stack.push((node, true));
                stack.extend(below.iter().rev().map(|&child| (child, false)));
            }
            (Some(&first), Some(&last)) => places[node] = point((places[first].x + places[last].x) / 2.0, y),
            _ => {
                places[node] = point(next, y);
                next += step;
            }
        }
    }
    places
}

//! A picture read back: well-formed, inside its page, and what its arrows say.

use std::collections::BTreeMap;

use necklace_test_loops::path::{number, pieces};
use roxmltree::{Document, Node as Element};

pub(crate) use necklace_test_loops::path::Point;

/// An arrow as it is read from a picture: its ends by their words, the transfers that it stands
/// for, its pieces.
pub(crate) struct Arrow {
    pub(crate) source: usize,
    pub(crate) destination: usize,
    pub(crate) transfers: u64,
    pub(crate) pieces: Vec<Vec<Point>>,
}

/// A frame: its arrows, the centres of the nodes, the channels that are marked.
pub(crate) struct Frame {
    pub(crate) caption: String,
    pub(crate) arrows: Vec<Arrow>,
    pub(crate) nodes: Vec<Point>,
    pub(crate) radius: f64,
    pub(crate) marks: usize,
}

/// The frames of a picture that is well-formed, stays inside its page, and can stand in Markdown.
pub(crate) fn read(picture: &str) -> Vec<Frame> {
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

/// The points of an element, in its own coordinates.
pub(crate) fn points(element: Element<'_, '_>) -> Vec<Point> {
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

/// Where an element's own coordinates start.
fn origin(element: Element<'_, '_>) -> Point {
    let moves = element.ancestors().filter_map(|element| element.attribute("transform"));
    moves.fold((0.0, 0.0), |(x, y), text| {
        let (dx, dy) = pair(text.strip_prefix("translate(").and_then(|text| text.strip_suffix(')')).unwrap());
        (x + dx, y + dy)
    })
}

pub(crate) fn attribute<'a>(element: Element<'a, '_>, name: &str) -> &'a str {
    element.attribute(name).unwrap_or_else(|| panic!("no {name} on {}", element.tag_name().name()))
}

fn pair(text: &str) -> Point {
    let (x, y) = text.split_once(' ').unwrap_or_else(|| panic!("{text:?} is no point"));
    (number(x), number(y))
}

pub(crate) fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

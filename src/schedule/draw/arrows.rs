//! The lines of arrows: along their routes, side by side where they share a channel, rounded at corners.

use std::collections::HashMap;
use std::fmt::Write;

use super::frames::Arrow;
use super::layout::{Course, Layout};
use super::point::{Point, point};

/// Arrows that share a channel are told apart up to so many.
const MAX_LANES: u32 = 64;
/// From so many lanes, or hops a node, on arrows are as thin as lines can be.
const MANY_LANES: u32 = 8;
const MANY_HOPS: usize = 12;

/// An arrow on the page.
pub(super) struct Shape {
    /// Its line, in pieces where it leaves the picture and comes back.
    pub(super) pieces: Vec<Vec<Point>>,
    /// Its head: tip, left, right.
    pub(super) head: [Point; 3],
}

/// Where the arrows of a frame run.
pub(super) struct Lanes {
    /// How far each is from the middle of its links, to the right of its direction: at least so far that it passes beside
    /// the nodes on its way, and for no two on one channel alike (while there are at most [`MAX_LANES`]).
    pub(super) offsets: Vec<f64>,
    /// Whether they are so many that they cannot be told apart.
    pub(super) crowded: bool,
}

pub(super) fn lanes(layout: &Layout, arrows: &[Arrow]) -> Lanes {
    let scale = layout.scale;
    let mut order: Vec<usize> = (0..arrows.len()).collect();
    // Short ones inside.
    order.sort_by_key(|&i| arrows[i].route.len());
    let mut taken: HashMap<(usize, usize), u64> = HashMap::new();
    let mut lanes = vec![0; arrows.len()];
    for i in order {
        let channels = || channels(&arrows[i].route);
        let used = channels().fold(0, |used, channel| used | taken.get(&channel).copied().unwrap_or(0));
        let lane = used.trailing_ones();
        lanes[i] = if lane < MAX_LANES { lane } else { i as u32 % MAX_LANES };
        for channel in channels() {
            *taken.entry(channel).or_default() |= 1 << lanes[i];
        }
    }
    let base = |arrow: &Arrow| {
        let beside = if arrow.hops() > 1 { scale.radius + 0.6 * scale.lane } else { 0.45 * scale.radius };
        beside.max(0.8 * scale.lane)
    };
    let most = lanes.iter().copied().max().unwrap_or(0);
    let widest = arrows.iter().map(base).fold(0.0, f64::max);
    // What runs the other way beside the next row needs room too.
    let lane = scale.lane.min((0.47 * scale.spacing - widest).max(0.0) / f64::from(most.max(1)));
    let offsets = arrows.iter().zip(lanes).map(|(arrow, own)| base(arrow) + lane * f64::from(own)).collect();
    let hops: usize = arrows.iter().map(Arrow::hops).sum();
    Lanes { offsets, crowded: most >= MANY_LANES || hops > MANY_HOPS * layout.at.len() }
}

/// The channels of a route; of one that stays where it is, the node's own.
fn channels(route: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let stays = route.first().filter(|_| route.len() == 1);
    stays.map(|&node| (node, node)).into_iter().chain(route.windows(2).map(|hop| (hop[0], hop[1])))
}

/// The line and the head of an arrow that runs so far to the right of its route.
pub(super) fn shape(layout: &Layout, route: &[usize], offset: f64, head: f64) -> Shape {
    let radius = layout.scale.radius;
    let mut pieces = centre(layout, route);
    for piece in &mut pieces {
        *piece = beside(piece, offset);
    }
    if let (Some(&from), Some(&to)) = (route.first(), route.last()) {
        if route.iter().all(|&node| node == from) {
            pieces = vec![round_trip(layout.at[from], radius, offset)];
        } else {
            if let Some(first) = pieces.first_mut() {
                attach(first, steps(layout, route), layout.at[from], radius, radius + 3.0);
            }
            if let Some(last) = pieces.last_mut() {
                last.reverse();
                attach(last, steps(layout, &route[route.len() - 2..]), layout.at[to], radius, radius + head + 3.0);
                last.reverse();
            }
        }
    }
    let mut shape = Shape { pieces, head: [Point::default(); 3] };
    let to = route.last().map(|&to| layout.at[to]);
    if let (Some(to), Some([.., tip])) = (to, shape.pieces.last_mut().map(Vec::as_mut_slice)) {
        // Into the node, wherever the line comes from.
        let way = (to - *tip).unit();
        let back = *tip - way * head;
        let half = way.right() * (0.4 * head);
        shape.head = [*tip, back - half, back + half];
        // The line must not show beside the tip.
        *tip = *tip - way * (0.8 * head);
    }
    shape
}

/// Whether the arrows can be told apart: their lines are on the average two apart or more. There is room for them beside the
/// channels that they use, and no more of it than the network has.
pub(super) fn legible(layout: &Layout, arrows: &[Arrow]) -> bool {
    let mut used: HashMap<(usize, usize), f64> = HashMap::new();
    let mut lines = 0.0;
    for (from, to) in arrows.iter().flat_map(|arrow| channels(&arrow.route)) {
        let pieces = || centre(layout, &[from, to]);
        let step = |step: &[Point]| (step[1] - step[0]).length();
        let length = || pieces().iter().flat_map(|piece| piece.windows(2)).map(step).sum();
        lines += *used.entry((from, to)).or_insert_with(length);
    }
    let spacing = layout.scale.spacing;
    let extent = |of: fn(&Point) -> f64| {
        let ends = layout
            .at
            .iter()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        ends.1 - ends.0 + spacing
    };
    let beside = 0.47 * spacing * used.values().sum::<f64>();
    2.0 * lines <= beside.min(extent(|p| p.x) * extent(|p| p.y))
}

/// A channel's own line, so far to its right.
pub(super) fn channel(layout: &Layout, from: usize, to: usize, offset: f64) -> Vec<Vec<Point>> {
    centre(layout, &[from, to]).iter().map(|piece| beside(piece, offset)).collect()
}

/// In how many straight steps a route's first hop runs until the next node or the picture's border.
fn steps(layout: &Layout, route: &[usize]) -> usize {
    match *route {
        [from, to, ..] => match layout.course(from, to) {
            Course::Through(points) => points.len() + 1,
            Course::Around(..) => 1,
        },
        _ => 1,
    }
}

/// The middle line of a route.
fn centre(layout: &Layout, route: &[usize]) -> Vec<Vec<Point>> {
    let mut done = Vec::new();
    let mut piece: Vec<Point> = route.first().map(|&node| layout.at[node]).into_iter().collect();
    for hop in route.windows(2) {
        match layout.course(hop[0], hop[1]) {
            Course::Through(points) => piece.extend(points),
            Course::Around(out, back) => {
                piece.push(out);
                done.push(std::mem::replace(&mut piece, vec![back]));
            }
        }
        piece.push(layout.at[hop[1]]);
    }
    done.push(piece);
    done
}

/// A line that runs beside another, so far to the right.
fn beside(line: &[Point], offset: f64) -> Vec<Point> {
    let mut line = line.to_vec();
    line.dedup_by(|a, b| (*a - *b).length() < 1e-6);
    let right = |i: usize| (line[i + 1] - line[i]).unit().right();
    let mut moved = Vec::with_capacity(line.len());
    for i in 0..line.len() {
        let before = i.checked_sub(1).map(right);
        let after = (i + 1 < line.len()).then(|| right(i));
        let (before, after) = match (before, after) {
            (None, None) => (Point::default(), Point::default()),
            (Some(one), None) | (None, Some(one)) => (one, one),
            (Some(before), Some(after)) => (before, after),
        };
        let turn = before.dot(after);
        // Where a line turns back, the point that both sides meet in would be far from the node.
        if turn > -0.05 {
            moved.push(line[i] + (before + after) * (offset / (1.0 + turn)));
        } else {
            moved.extend([line[i] + before * offset, line[i] + after * offset]);
        }
    }
    moved
}

/// Lets a line that begins beside a node begin at it, joining it after so long a way but within its first hop, which has so
/// many steps.
fn attach(line: &mut Vec<Point>, steps: usize, node: Point, radius: f64, along: f64) {
    let hop: f64 = line.windows(2).take(steps).map(|step| (step[1] - step[0]).length()).sum();
    let mut left = along.min(0.42 * hop);
    let Some((passed, joint)) = line.windows(2).take(steps).enumerate().find_map(|(i, step)| {
        let way = step[1] - step[0];
        let there = way.length() >= left;
        let joint = step[0] + way.unit() * left;
        left -= way.length();
        there.then_some((i, joint))
    }) else {
        return;
    };
    line.splice(..=passed, [node + (joint - node).unit() * (radius + 0.8), joint]);
}

/// From a node to itself, the farther out the larger the offset.
fn round_trip(node: Point, radius: f64, offset: f64) -> Vec<Point> {
    let (near, far) = (radius + 2.0, radius + offset);
    let around = [(-0.4, -0.8, near), (-0.8, -1.7, far), (0.0, -2.2, far), (0.8, -1.7, far), (0.4, -0.8, near)];
    around.map(|(x, y, size)| node + point(x, y) * size).to_vec()
}

/// Path data, with corners rounded by so much.
pub(super) fn path(pieces: &[Vec<Point>], round: f64) -> String {
    let mut out = String::new();
    for piece in pieces {
        for (i, &p) in piece.iter().enumerate() {
            let (before, after) = (i.checked_sub(1).map(|i| piece[i]), piece.get(i + 1));
            let (Some(before), Some(&after)) = (before, after) else {
                let _ = write!(out, "{}{p}", if before.is_none() { 'M' } else { 'L' });
                continue;
            };
            let (back, on) = (before - p, after - p);
            if back.unit().dot(on.unit()) < -0.9999 {
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

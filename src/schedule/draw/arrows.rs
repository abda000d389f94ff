//! The lines of arrows: along their routes, side by side on shared channels, with rounded corners.

use std::collections::HashMap;
use std::fmt::Write;

use super::courses::Course;
use super::frames::Arrow;
use super::layout::Layout;
use super::point::{Point, point};

/// The maximum number of arrows side by side on a channel.
const MAX_LANES: u32 = 64;
/// The number of lanes, or of hops for each node, from which on arrows are thinnest.
const MANY_LANES: u32 = 8;
const MANY_HOPS: usize = 12;

/// An arrow on the page.
pub(super) struct Shape {
    /// Its line, in several pieces if it leaves the picture and comes back.
    pub(super) pieces: Vec<Vec<Point>>,
    /// Its head: tip, left, right.
    pub(super) head: [Point; 3],
}

/// The lanes of the arrows of a frame.
pub(super) struct Lanes {
    /// The distance of each arrow from the middle of its links, to the right of its direction. It
    /// is large enough to pass beside the nodes of its route, and different for all arrows on a
    /// channel (up to [`MAX_LANES`]).
    pub(super) offsets: Vec<f64>,
    /// Whether the arrows are too dense to tell apart.
    pub(super) crowded: bool,
}

pub(super) fn lanes(layout: &Layout, arrows: &[Arrow]) -> Lanes {
    let scale = layout.scale;
    let mut order: Vec<usize> = (0..arrows.len()).collect();
    // Short arrows are inside.
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
    // Leaves room for arrows of the opposite direction beside the next row.
    let lane = scale.lane.min((0.47 * scale.spacing - widest).max(0.0) / f64::from(most.max(1)));
    let offsets = arrows.iter().zip(lanes).map(|(arrow, own)| base(arrow) + lane * f64::from(own)).collect();
    let hops: usize = arrows.iter().map(Arrow::hops).sum();
    Lanes { offsets, crowded: most >= MANY_LANES || hops > MANY_HOPS * layout.at.len() }
}

/// Returns the channels of a route; for a route of one node, a loop at that node.
fn channels(route: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let stays = route.first().filter(|_| route.len() == 1);
    stays.map(|&node| (node, node)).into_iter().chain(route.windows(2).map(|hop| (hop[0], hop[1])))
}

/// Returns the line and the head of an arrow at a distance to the right of its route.
pub(super) fn shape(layout: &Layout, route: &[usize], offset: f64, head: f64) -> Shape {
    let node = |node: usize| Disc { at: layout.at[node], radius: layout.scale.radius };
    let mut pieces = centre(layout, route);
    for piece in &mut pieces {
        *piece = beside(piece, offset);
    }
    if let (Some(&from), Some(&to)) = (route.first(), route.last()) {
        if route.iter().all(|&node| node == from) {
            pieces = vec![node(from).round_trip(offset)];
        } else {
            if let Some(first) = pieces.first_mut() {
                node(from).attach(first, steps(layout, route), 3.0);
            }
            if let Some(last) = pieces.last_mut() {
                last.reverse();
                node(to).attach(last, steps(layout, &route[route.len() - 2..]), head + 3.0);
                last.reverse();
            }
        }
    }
    let mut shape = Shape { pieces, head: [Point::default(); 3] };
    let to = route.last().map(|&to| layout.at[to]);
    if let (Some(to), Some([.., tip])) = (to, shape.pieces.last_mut().map(Vec::as_mut_slice)) {
        // Points into the node from any direction.
        let way = (to - *tip).unit();
        let back = *tip - way * head;
        let half = way.right() * (0.4 * head);
        shape.head = [*tip, back - half, back + half];
        // The line must not show beside the tip.
        *tip = *tip - way * (0.8 * head);
    }
    shape
}

/// Returns whether the arrows can be told apart: the mean distance of their lines is at least two
/// units. The room for them is beside the channels that they use.
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

/// Returns the line of a channel, at a distance to its right.
pub(super) fn channel(layout: &Layout, from: usize, to: usize, offset: f64) -> Vec<Vec<Point>> {
    centre(layout, &[from, to]).iter().map(|piece| beside(piece, offset)).collect()
}

/// Returns the number of straight steps of a route's first hop, up to the next node or the border.
fn steps(layout: &Layout, route: &[usize]) -> usize {
    match *route {
        [from, to, ..] => match layout.course(from, to) {
            Course::Through(points) => points.len() + 1,
            Course::Around(..) => 1,
        },
        _ => 1,
    }
}

/// Returns the middle line of a route.
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

/// Returns a parallel of a line, at a distance to its right.
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
        // If a line turns back, its two sides would meet far from the node.
        if turn > -0.05 {
            moved.push(line[i] + (before + after) * (offset / (1.0 + turn)));
        } else {
            moved.extend([line[i] + before * offset, line[i] + after * offset]);
        }
    }
    moved
}

/// A node of the picture.
#[derive(Clone, Copy)]
struct Disc {
    at: Point,
    radius: f64,
}

impl Disc {
    /// Moves the start of a line to this node. The line joins its lane at the distance `beyond` from
    /// the edge, within its first hop of `steps` steps.
    fn attach(self, line: &mut Vec<Point>, steps: usize, beyond: f64) {
        let Self { at, radius } = self;
        let hop: f64 = line.windows(2).take(steps).map(|step| (step[1] - step[0]).length()).sum();
        let mut left = (radius + beyond).min(0.42 * hop);
        let Some((passed, joint)) = line.windows(2).take(steps).enumerate().find_map(|(i, step)| {
            let way = step[1] - step[0];
            let there = way.length() >= left;
            let joint = step[0] + way.unit() * left;
            left -= way.length();
            there.then_some((i, joint))
        }) else {
            return;
        };
        line.splice(..=passed, [at + (joint - at).unit() * (radius + 0.8), joint]);
    }

    /// Returns a loop at this node, whose size grows with the offset.
    fn round_trip(self, offset: f64) -> Vec<Point> {
        let (near, far) = (self.radius + 2.0, self.radius + offset);
        let around = [(-0.4, -0.8, near), (-0.8, -1.7, far), (0.0, -2.2, far), (0.8, -1.7, far), (0.4, -0.8, near)];
        around.map(|(x, y, size)| self.at + point(x, y) * size).to_vec()
    }
}

/// Returns path data, with corners rounded by `round`.
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

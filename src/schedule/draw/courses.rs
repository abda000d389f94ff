//! The lines of channels: straight, bent, or out of the picture and back.

use super::point::Point;

/// The line of a channel.
pub(super) enum Course {
    /// A line from one node through these points to the other. Without points it is straight.
    Through(Vec<Point>),
    /// A line that leaves the picture at one point and comes back at the other.
    Around(Point, Point),
}

/// The arcs of overlapping windows in a dimension: the longer a jump, the farther from its row.
#[derive(Clone, Copy)]
pub(super) struct Arcs {
    pub(super) extent: usize,
    pub(super) window: usize,
    pub(super) wraps: bool,
    /// The distance of neighbours in the smallest layout, by which heights are measured.
    pub(super) spacing: f64,
}

impl Arcs {
    /// Returns the distance of the arcs of a jump from the row: 0 between neighbours.
    fn height(self, jump: usize) -> f64 {
        let (least, most) = (self.spacing / 3.0, 2.0 * self.spacing);
        let longer = self.window.saturating_sub(2).max(1) as f64;
        let gap = (0.26 * self.spacing).min((most - least) / longer);
        if jump < 2 { 0.0 } else { least + gap * (jump - 2) as f64 }
    }

    /// Returns the height of the longest jump.
    pub(super) fn reach(self) -> f64 {
        self.height(self.window)
    }

    /// Returns the line of the channel between two coordinates at two points, to the right of its
    /// direction, so that each direction has its own side of the row. A channel that wraps round
    /// leaves the picture `stub` beyond the last node. `None` for coordinates without a link, and
    /// for neighbours that a straight line joins.
    pub(super) fn course(self, (from, at): (usize, Point), (to, end): (usize, Point), step: Point) -> Option<Course> {
        let Self { extent, window, wraps, .. } = self;
        let jump = from.abs_diff(to);
        let round = extent - jump;
        if wraps && round < jump && round <= window {
            let (beyond, before) = if from > to { (extent - 1 - from, to) } else { (from, extent - 1 - to) };
            let out = if from > to { step } else { -step };
            let aside = out.unit().right() * self.height(round);
            let stub = out.unit() * (0.5 * self.spacing);
            return Some(Course::Around(
                at + out * beyond as f64 + stub + aside,
                end - out * before as f64 - stub + aside,
            ));
        }
        let bend = self.height(jump) / (end - at).length().max(1.0);
        (2..=window).contains(&jump).then(|| Course::Through(bent(at, end, bend)))
    }
}

/// Returns points on an arc between two points. `bend` is its distance from the straight line, to
/// the right, in lengths of the line.
pub(super) fn bent(a: Point, b: Point, bend: f64) -> Vec<Point> {
    const PIECES: usize = 8;
    if bend == 0.0 {
        return Vec::new();
    }
    let way = b - a;
    let at = |t: f64| a + way * t + way.right() * (4.0 * bend * t * (1.0 - t));
    (1..PIECES).map(|i| at(i as f64 / PIECES as f64)).collect()
}

//! Points and vectors of the plane: x to the right, y down. The operations give the same results on
//! every machine.

use std::ops::{Add, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

pub(super) const fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

impl Point {
    pub(super) fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    pub(super) fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y
    }

    /// Returns the unit vector of the same direction; for the zero vector, the one to the right.
    pub(super) fn unit(self) -> Self {
        let length = self.length();
        if length > 1e-9 { self * (1.0 / length) } else { point(1.0, 0.0) }
    }

    /// Returns the vector after a quarter turn to the right.
    pub(super) fn right(self) -> Self {
        point(-self.y, self.x)
    }

    /// Rounds both coordinates to integers.
    pub(super) fn rounded(self) -> Self {
        point(self.x.round(), self.y.round())
    }

    /// Returns the distance from the straight line between two points.
    pub(super) fn off_segment(self, a: Self, b: Self) -> f64 {
        let (along, square) = (b - a, (b - a).dot(b - a));
        let t = if square > 0.0 { ((self - a).dot(along) / square).clamp(0.0, 1.0) } else { 0.0 };
        (self - (a + along * t)).length()
    }
}

impl Add for Point {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        point(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        point(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Point {
    type Output = Self;
    fn mul(self, times: f64) -> Self {
        point(self.x * times, self.y * times)
    }
}

impl Neg for Point {
    type Output = Self;
    fn neg(self) -> Self {
        point(-self.x, -self.y)
    }
}

/// Returns the i-th of n points on a circle around the origin, clockwise from the top. Sines may
/// differ by a bit between machines; after rounding they are equal.
pub(super) fn on_circle(i: usize, n: usize, radius: f64) -> Point {
    let (sine, cosine) = (std::f64::consts::TAU * i as f64 / n.max(1) as f64).sin_cos();
    let rounded = |x: f64| (x * 1e6).round() / 1e6;
    point(rounded(sine), -rounded(cosine)) * radius
}

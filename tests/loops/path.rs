//! Reads the paths of pictures.

/// A point of a picture.
pub type Point = (f64, f64);

/// Returns the points of path data, piece by piece, control points included.
#[must_use]
pub fn pieces(data: &str) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let end = rest.bytes().skip(1).position(|byte| byte.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        let numbers: Vec<&str> = rest[1..end].split_ascii_whitespace().collect();
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

/// Reads a finite number with at most one decimal.
#[must_use]
pub fn number(text: &str) -> f64 {
    let number: f64 = text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"));
    assert!(number.is_finite());
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert!(decimals <= 1, "{text:?} has more than one decimal");
    number
}

//! Boxes that divide an array: whether they overlap or leave gaps.

use std::ops::Range;

use super::ArrayError;

/// A box of an array: a range of each axis.
pub(super) type Box = Vec<Range<usize>>;

/// Checks that boxes lie in an array, are disjoint and leave nothing out.
pub(super) fn check(boxes: &[Box], shape: &[usize]) -> Result<(), ArrayError> {
    if boxes.is_empty() {
        return Err(ArrayError::NoBoxes);
    }
    for (rank, range) in boxes.iter().enumerate() {
        let inside = |(range, &extent): (&Range<usize>, &usize)| range.start <= range.end && range.end <= extent;
        if range.len() != shape.len() || !range.iter().zip(shape).all(inside) {
            return Err(ArrayError::BoxRange { rank, range: range.clone(), shape: shape.to_vec() });
        }
    }
    let mut full: Vec<usize> = (0..boxes.len()).filter(|&rank| volume(&boxes[rank]) > 0).collect();
    // By the start along the first axis: those that may meet a box are the next ones.
    full.sort_by_key(|&rank| (boxes[rank][0].start, rank));
    for (i, &rank) in full.iter().enumerate() {
        let near = full[i + 1..].iter().take_while(|&&other| boxes[other][0].start < boxes[rank][0].end);
        if let Some(&other) = near.clone().find(|&&other| meet(&boxes[rank], &boxes[other])) {
            let ranks = (rank.min(other), rank.max(other));
            return Err(ArrayError::BoxOverlap { ranks, boxes: (boxes[ranks.0].clone(), boxes[ranks.1].clone()) });
        }
    }
    let covered: u128 = boxes.iter().map(|range| volume(range)).sum();
    if covered == shape.iter().map(|&extent| extent as u128).product() {
        return Ok(());
    }
    let all: Vec<&Box> = full.iter().map(|&rank| &boxes[rank]).collect();
    Err(ArrayError::BoxGap { index: gap(&all, shape, 0).unwrap_or_default() })
}

fn volume(range: &[Range<usize>]) -> u128 {
    range.iter().map(|range| range.len() as u128).product()
}

fn meet(a: &[Range<usize>], b: &[Range<usize>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.start < b.end && b.start < a.end)
}

/// Returns the first index that no box has, from an axis on: along each axis the first is 0 or the
/// end of a box.
fn gap(boxes: &[&Box], shape: &[usize], axis: usize) -> Option<Vec<usize>> {
    if axis == shape.len() {
        return boxes.is_empty().then(Vec::new);
    }
    let mut at: Vec<usize> = boxes.iter().map(|range| range[axis].end).chain([0]).collect();
    at.sort_unstable();
    at.dedup();
    at.into_iter().filter(|&at| at < shape[axis]).find_map(|at| {
        let with: Vec<&Box> = boxes.iter().copied().filter(|range| range[axis].contains(&at)).collect();
        let mut rest = gap(&with, shape, axis + 1)?;
        rest.insert(0, at);
        Some(rest)
    })
}

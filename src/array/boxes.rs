//! Boxes that divide an array: whether they overlap or leave gaps.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::ArrayError;

/// A box of an array: a range of each axis.
pub(super) type Box = Vec<Range<usize>>;

/// Checks that boxes lie in an array, are disjoint and leave nothing out. The array, and so each
/// box, has less than 2^63 indices.
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
    // By the start along the axis that divides most: those that may meet a box are the next ones.
    let starts = |&axis: &usize| full.iter().map(|&rank| boxes[rank][axis].start).collect::<HashSet<_>>().len();
    let axis = (0..shape.len()).max_by_key(starts).unwrap_or(0);
    full.sort_by_key(|&rank| (boxes[rank][axis].start, rank));
    for (i, &rank) in full.iter().enumerate() {
        let near = full[i + 1..].iter().take_while(|&&other| boxes[other][axis].start < boxes[rank][axis].end);
        if let Some(&other) = near.clone().find(|&&other| meet(&boxes[rank], &boxes[other])) {
            let ranks = (rank.min(other), rank.max(other));
            return Err(ArrayError::BoxOverlap { ranks, boxes: (boxes[ranks.0].clone(), boxes[ranks.1].clone()) });
        }
    }
    let covered: u128 = boxes.iter().map(|range| volume(range)).sum();
    if covered == shape.iter().map(|&extent| extent as u128).product() {
        return Ok(());
    }
    let all = full.iter().map(|&rank| &boxes[rank]).collect();
    Err(ArrayError::BoxGap { index: gap(all, shape) })
}

fn volume(range: &[Range<usize>]) -> u128 {
    range.iter().map(|range| range.len() as u128).product()
}

fn meet(a: &[Range<usize>], b: &[Range<usize>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.start < b.end && b.start < a.end)
}

/// Returns the first index that no box has. The boxes are disjoint and do not cover the array. Axis
/// by axis, this is the first position at which they cover too little.
fn gap(mut boxes: Vec<&Box>, shape: &[usize]) -> Vec<usize> {
    let mut index = Vec::with_capacity(shape.len());
    for axis in 0..shape.len() {
        let wanted: u128 = shape[axis + 1..].iter().map(|&extent| extent as u128).product();
        // The volumes of the boxes that begin and of those that end at each position.
        let mut changes = BTreeMap::from([(0, (0, 0))]);
        for range in &boxes {
            let beyond = volume(&range[axis + 1..]);
            changes.entry(range[axis].start).or_insert((0, 0)).0 += beyond;
            changes.entry(range[axis].end).or_insert((0, 0)).1 += beyond;
        }
        let mut covered = 0;
        let first = changes.into_iter().find(|(_, (begins, ends))| {
            covered = covered + begins - ends;
            covered < wanted
        });
        let at = first.map_or(0, |(at, _)| at);
        boxes.retain(|range| range[axis].contains(&at));
        index.push(at);
    }
    index
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    #[test]
    fn first_gap_is_found_in_any_box_that_is_left_out() {
        let mut boxes: Vec<Box> = Vec::new();
        for (x, y) in [(0..2, 0..3), (2..5, 0..1), (2..5, 1..3)] {
            for z in [0..1, 1..4] {
                boxes.push(vec![x.clone(), y.clone(), z]);
            }
        }
        assert_eq!(check(&boxes, &[5, 3, 4]), Ok(()));
        for left_out in 0..boxes.len() {
            let mut some = boxes.clone();
            let missing = some.remove(left_out);
            let index = missing.iter().map(|range| range.start).collect();
            assert_eq!(check(&some, &[5, 3, 4]), Err(ArrayError::BoxGap { index }));
        }
    }

    /// Does not finish if each axis doubles the time.
    #[test]
    fn gap_of_many_axes_is_found() {
        let axes = 40;
        let whole: Box = (0..axes).map(|_| 0..2).chain(iter::once(0..axes)).collect();
        let shape: Vec<usize> = whole.iter().map(|range| range.end).collect();
        let mut boxes = Vec::new();
        for layer in 0..axes {
            for half in 0..2 {
                let mut range = whole.clone();
                range[axes] = layer..layer + 1;
                range[layer] = half..half + 1;
                boxes.push(range);
            }
        }
        boxes.remove(1);
        let mut index = vec![0; axes + 1];
        index[0] = 1;
        assert_eq!(check(&boxes, &shape), Err(ArrayError::BoxGap { index }));
    }
}

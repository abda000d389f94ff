//! A layout of any graph in which distances on the page approximate those in the graph.
//!
//! Source: Gansner, Koren & North, *Graph drawing by stress majorization*, 2004. Each node moves to
//! the mean of the positions that the other nodes prefer for it, with larger weights for near
//! nodes. It uses arithmetic and square roots only, in a fixed order, so that all machines draw the
//! same.

use std::collections::VecDeque;

use super::point::{Point, point};

/// The maximum work, in pairs of nodes.
const EFFORT: usize = 60_000_000;

/// Returns a position for each node, with neighbours about `spacing` apart.
pub(super) fn layout(nodes: usize, links: &[(usize, usize)], neighbours: &[Vec<usize>], spacing: f64) -> Vec<Point> {
    let hops: Vec<Vec<u16>> = (0..nodes).map(|node| distances(node, neighbours)).collect();
    let mut at = start(&hops);
    let sweeps = (EFFORT / nodes.saturating_mul(nodes).max(1)).clamp(5, 300);
    for _ in 0..sweeps {
        for u in 0..nodes {
            at[u] = wanted(u, &at, &hops[u]);
        }
    }
    scaled(turned(at), links, spacing)
}

/// Returns the hops from a node to each node.
fn distances(from: usize, neighbours: &[Vec<usize>]) -> Vec<u16> {
    let mut hops = vec![u16::MAX; neighbours.len()];
    let mut queue = VecDeque::from([from]);
    hops[from] = 0;
    while let Some(u) = queue.pop_front() {
        for &v in &neighbours[u] {
            if hops[v] == u16::MAX {
                hops[v] = hops[u].saturating_add(1);
                queue.push_back(v);
            }
        }
    }
    // Nodes out of reach are put at the border.
    let farthest = hops.iter().copied().filter(|&h| h != u16::MAX).max().unwrap_or(0);
    hops.iter_mut().filter(|h| **h == u16::MAX).for_each(|h| *h = farthest.saturating_add(1));
    hops
}

/// Returns start positions by the distances from nodes at the ends of the graph: an unfolded
/// picture, which the sweeps smooth.
fn start(hops: &[Vec<u16>]) -> Vec<Point> {
    let farthest = |of: &dyn Fn(usize) -> u16| (0..hops.len()).rev().max_by_key(|&node| of(node)).unwrap_or(0);
    let left = farthest(&|node| hops[0][node]);
    let right = farthest(&|node| hops[left][node]);
    let top = farthest(&|node| hops[left][node].min(hops[right][node]));
    let bottom = farthest(&|node| hops[top][node]);
    let apart = |a: usize, b: usize, node: usize| f64::from(hops[a][node]) - f64::from(hops[b][node]);
    // Nodes with equal distances must not start at the same position.
    let aside = |node: usize| (node * 7919 % 101) as f64 / 404.0;
    (0..hops.len())
        .map(|node| point(apart(left, right, node) + aside(node), apart(top, bottom, node) + aside(node * 31 + 7)))
        .collect()
}

/// Returns the mean of the positions that the other nodes prefer for a node.
fn wanted(u: usize, at: &[Point], hops: &[u16]) -> Point {
    let (mut sum, mut weights) = (point(0.0, 0.0), 0.0);
    for (v, &hops) in hops.iter().enumerate().filter(|&(v, _)| v != u) {
        let hops = f64::from(hops.max(1));
        let weight = 1.0 / (hops * hops);
        sum = sum + (at[v] + (at[u] - at[v]).unit() * hops) * weight;
        weights += weight;
    }
    if weights > 0.0 { sum * (1.0 / weights) } else { at[u] }
}

/// Rotates the layout so that its longest side is horizontal.
fn turned(at: Vec<Point>) -> Vec<Point> {
    let middle = at.iter().fold(point(0.0, 0.0), |sum, &p| sum + p) * (1.0 / at.len().max(1) as f64);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for &p in &at {
        let d = p - middle;
        (xx, xy, yy) = (xx + d.x * d.x, xy + d.x * d.y, yy + d.y * d.y);
    }
    // The eigenvector of the larger eigenvalue.
    let half = (xx - yy) / 2.0;
    let larger = (xx + yy) / 2.0 + (half * half + xy * xy).sqrt();
    let axis = if xy.abs() > 1e-9 { point(larger - yy, xy).unit() } else { point(1.0, 0.0) };
    let axis = if xy.abs() <= 1e-9 && yy > xx { point(0.0, 1.0) } else { axis };
    at.into_iter().map(|p| point((p - middle).dot(axis), (p - middle).dot(axis.right()))).collect()
}

/// Scales the layout until the mean length of links is `spacing` and no two nodes touch.
fn scaled(at: Vec<Point>, links: &[(usize, usize)], spacing: f64) -> Vec<Point> {
    let lengths = links.iter().map(|&(u, v)| (at[u] - at[v]).length());
    let mean = lengths.sum::<f64>() / links.len().max(1) as f64;
    let nearest = (0..at.len()).flat_map(|u| (0..u).map(move |v| (u, v))).map(|(u, v)| (at[u] - at[v]).length());
    let nearest = nearest.fold(f64::INFINITY, f64::min);
    let enough = |length: f64, least: f64| if length > 1e-3 && length.is_finite() { least / length } else { 0.0 };
    let times = enough(mean, spacing).max(enough(nearest, 0.6 * spacing).min(3.0 * enough(mean, spacing)));
    let times = if times > 0.0 { times } else { spacing };
    at.into_iter().map(|p| p * times).collect()
}

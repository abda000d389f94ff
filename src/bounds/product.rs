//! Bounds by formula, for products of lines, rings and complete networks with a rank on every node.

use super::Bounds;
use super::need::{Distances, Need};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::{Axis, Kind, axes};
use crate::vocabulary::Problem;

pub(super) fn bounds(problem: &Problem, need: &Need) -> Option<Bounds> {
    let topology = problem.topology();
    let axes = axes(&**topology).filter(|_| problem.ranks() == topology.nodes())?;
    let nodes = problem.ranks() as u128;
    let centre = need.centre().map(|rank| coordinates(&axes, problem.placement().node(Rank::new(rank)).index() as u64));
    let along = |axis: usize| Along { axis: axes[axis], lines: nodes / u128::from(axes[axis].extent), need };
    let all = || (0..axes.len()).map(along);

    let carried = |axis: usize| {
        let Along { axis: Axis { extent, .. }, lines, .. } = along(axis);
        match (need.distances(), &centre) {
            (Distances::Pairs, _) => axes[axis].distances() * lines * lines,
            (Distances::Root, Some(at)) => distances_from(axes[axis], at[axis].min(extent - 1)) * lines,
            _ => 0,
        }
    };
    let channels: u128 = all().map(|along| along.channels()).sum();
    let total = match need.distances() {
        Distances::Blocks(blocks) => blocks,
        _ => (0..axes.len()).map(carried).sum(),
    };
    let dimension = (0..axes.len()).map(|axis| Volume::ratio(carried(axis), along(axis).channels())).max();
    let cuts = (0..axes.len()).map(|axis| along(axis).cut(centre.as_ref().map(|at| at[axis])));
    let degree = |axis: Axis, at: Option<u64>| match axis.kind {
        Kind::Line => 1 + u64::from(at.is_some_and(|at| at > 0 && at + 1 < axis.extent)),
        Kind::Ring => 2,
        Kind::Complete => axis.extent - 1,
    };
    let fewest: u64 = axes.iter().map(|&axis| degree(axis, None)).sum();
    let most: u64 = axes.iter().map(|&axis| degree(axis, Some(1))).sum();
    let node = Volume::ratio(need.across(1, false), fewest.into());
    let root = centre.as_ref().map(|at| {
        let degree: u64 = axes.iter().zip(at).map(|(&axis, &at)| degree(axis, Some(at))).sum();
        Volume::ratio(need.across(1, true), degree.into())
    });
    let distance = axes.iter().enumerate().map(|(i, axis)| match (&centre, axis.kind) {
        (Some(at), Kind::Line) => at[i].max(axis.extent - 1 - at[i]),
        _ => axis.diameter(),
    });
    Some(Bounds {
        average: Volume::ratio(total, channels),
        dimension,
        cut: cuts.chain([node]).chain(root).max().unwrap_or_default(),
        forwarded: Volume::ratio(total, nodes),
        relayed: all().map(|along| along.relayed()).max().unwrap_or_default(),
        distance: distance.sum(),
        spread: (problem.ranks() as u64, most),
        ..Bounds::default()
    })
}

/// A dimension, and the number of lines along it.
struct Along<'n> {
    axis: Axis,
    lines: u128,
    need: &'n Need,
}

impl Along<'_> {
    fn channels(&self) -> u128 {
        self.axis.channels() * self.lines
    }

    /// Returns the best cut across the dimension, between the nodes of `j` consecutive coordinates
    /// and the others. The volume across divided by the channels is largest for one coordinate, for
    /// half of them, or beside the root.
    fn cut(&self, root: Option<u64>) -> Volume {
        let extent = self.axis.extent;
        let beside = root.map_or([1, 1], |root| [root, root + 1]);
        let sizes = [1, extent / 2, extent - 1].into_iter().chain(beside).filter(|j| (1..extent).contains(j));
        let volume = |j: u64| {
            let channels = match self.axis.kind {
                Kind::Line => 1,
                Kind::Ring => 2,
                Kind::Complete => u128::from(j) * u128::from(extent - j),
            };
            let inside = u64::try_from(u128::from(j) * self.lines).unwrap_or(u64::MAX);
            let across = |root_inside| self.need.across(inside, root_inside);
            let across = match (self.axis.kind, root) {
                (Kind::Line, Some(root)) => across(root < j),
                (_, _) => across(true).max(across(false)),
            };
            Volume::ratio(across, channels * self.lines)
        };
        sizes.map(volume).max().unwrap_or_default()
    }

    /// Returns the volume that the nodes of a middle coordinate must send in an alltoall along a
    /// line: their own blocks and those that they forward.
    fn relayed(&self) -> Volume {
        let (Kind::Line, Distances::Pairs) = (self.axis.kind, self.need.distances()) else { return Volume::ZERO };
        let extent = u128::from(self.axis.extent);
        let x = (extent - 1) / 2;
        Volume::ratio(((x + 1) * (extent - 1 - x) + x * (extent - x)) * self.lines, 1)
    }
}

/// Returns the sum of the distances from one coordinate to all.
fn distances_from(axis: Axis, at: u64) -> u128 {
    let (extent, at) = (u128::from(axis.extent), u128::from(at));
    match axis.kind {
        Kind::Line => at * (at + 1) / 2 + (extent - 1 - at) * (extent - at) / 2,
        _ => axis.distances() / extent,
    }
}

fn coordinates(axes: &[Axis], node: u64) -> Vec<u64> {
    let mut rest = node;
    let mut at: Vec<u64> = axes
        .iter()
        .rev()
        .map(|axis| {
            let digit = rest % axis.extent;
            rest /= axis.extent;
            digit
        })
        .collect();
    at.reverse();
    at
}

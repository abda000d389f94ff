//! Networks that look the same from every node, as groups: products of rings and complete networks.
//!
//! Nodes are vectors of coordinates, added modulo the extents. The channels of every node are the
//! same steps.

use std::cmp::Reverse;

use super::loads::in_order;
use crate::topology::{Axis, Kind};
use crate::vocabulary::Problem;

/// The nodes as vectors of coordinates, the last one fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) axes: Vec<Axis>,
}

/// A channel of every node, by the address of the node that it leads to from node 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The number among the steps of a node.
    pub(super) index: usize,
    pub(super) to: usize,
}

impl Group {
    pub(super) fn of(problem: &Problem) -> Option<Self> {
        let axes = in_order(problem)?;
        axes.iter().all(|axis| axis.kind != Kind::Line || axis.extent == 2).then_some(Self { axes })
    }

    /// Returns the group with its axes in descending order, and the address here of each address
    /// there.
    pub(super) fn sorted(&self) -> (Self, Vec<usize>) {
        let (mut axes, mut stride) = (vec![], 1);
        for &axis in self.axes.iter().rev() {
            axes.push((axis, stride));
            stride *= axis.extent as usize;
        }
        axes.reverse();
        axes.sort_by_key(|(axis, _)| Reverse((axis.extent, steps_along(axis))));
        let addresses = axes.iter().fold(vec![0], |all, &(axis, stride)| {
            let along = |at: usize| (0..axis.extent as usize).map(move |coordinate| at + coordinate * stride);
            all.into_iter().flat_map(along).collect()
        });
        (Self { axes: axes.into_iter().map(|(axis, _)| axis).collect() }, addresses)
    }

    /// Combines the coordinates of two addresses.
    fn with(&self, a: usize, b: usize, of: impl Fn(usize, usize, usize) -> usize) -> usize {
        let (mut rest, mut stride, mut sum) = ((a, b), 1, 0);
        for axis in self.axes.iter().rev() {
            let extent = axis.extent as usize;
            sum += of(rest.0 % extent, rest.1 % extent, extent) % extent * stride;
            (rest, stride) = ((rest.0 / extent, rest.1 / extent), stride * extent);
        }
        sum
    }

    pub(super) fn add(&self, a: usize, b: usize) -> usize {
        self.with(a, b, |a, b, _| a + b)
    }

    pub(super) fn subtract(&self, a: usize, b: usize) -> usize {
        self.with(a, b, |a, b, extent| a + extent - b)
    }

    /// Returns the number of steps of a node.
    pub(super) fn steps(&self) -> usize {
        self.axes.iter().map(steps_along).sum()
    }

    /// Returns the diameter of the network.
    pub(super) fn diameter(&self) -> usize {
        self.axes.iter().map(|axis| axis.diameter() as usize).sum()
    }

    /// Returns the distance of an address from node 0, and the last steps of all shortest paths to
    /// it.
    pub(super) fn paths(&self, address: usize) -> (usize, Vec<Step>) {
        let (mut rest, mut stride, mut first) = (address, 1, 0);
        let (mut distance, mut steps) = (0, vec![]);
        for axis in self.axes.iter().rev() {
            let extent = axis.extent as usize;
            let at = rest % extent;
            let mut step =
                |index: usize, coordinate: usize| steps.push(Step { index: first + index, to: coordinate * stride });
            if at > 0 {
                match axis.kind {
                    Kind::Complete => step(at - 1, at),
                    Kind::Line | Kind::Ring => {
                        if 2 * at <= extent {
                            step(0, 1);
                        }
                        if 2 * at >= extent && extent > 2 {
                            step(1, extent - 1);
                        }
                    }
                }
                distance += if axis.kind == Kind::Complete { 1 } else { at.min(extent - at) };
            }
            (rest, stride, first) = (rest / extent, stride * extent, first + steps_along(axis));
        }
        (distance, steps)
    }
}

fn steps_along(axis: &Axis) -> usize {
    match axis.kind {
        Kind::Complete => axis.extent as usize - 1,
        Kind::Line => 1,
        Kind::Ring => 2,
    }
}

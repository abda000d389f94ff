//! Networks that look the same from every node, as groups: products of rings, complete networks and
//! windows that wrap round.
//!
//! Nodes are vectors of coordinates, added modulo the extents. The channels of every node are the
//! same steps.

use std::cmp::Reverse;

use super::loads::factors_in_order;
use super::window_row::WindowRow;
use crate::vocabulary::Problem;

/// The nodes as vectors of coordinates, the last one fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) rows: Vec<WindowRow>,
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
        let rows: Vec<WindowRow> = factors_in_order(problem)?.into_iter().map(WindowRow::from).collect();
        rows.iter().all(|row| row.wraps || row.is_complete()).then_some(Self { rows })
    }

    /// Returns the group with its axes in descending order, and the address here of each address
    /// there.
    pub(super) fn sorted(&self) -> (Self, Vec<usize>) {
        let (mut rows, mut stride) = (vec![], 1);
        for &row in self.rows.iter().rev() {
            rows.push((row, stride));
            stride *= row.extent;
        }
        rows.reverse();
        rows.sort_by_key(|(row, _)| Reverse((row.extent, row.steps())));
        let addresses = rows.iter().fold(vec![0], |all, &(row, stride)| {
            let along = |at: usize| (0..row.extent).map(move |coordinate| at + coordinate * stride);
            all.into_iter().flat_map(along).collect()
        });
        (Self { rows: rows.into_iter().map(|(row, _)| row).collect() }, addresses)
    }

    /// Combines the coordinates of two addresses.
    fn with(&self, a: usize, b: usize, of: impl Fn(usize, usize, usize) -> usize) -> usize {
        let (mut rest, mut stride, mut sum) = ((a, b), 1, 0);
        for &WindowRow { extent, .. } in self.rows.iter().rev() {
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
        self.rows.iter().map(|row| row.steps()).sum()
    }

    /// Returns where each step leads to from node 0, those along the last row first.
    pub(super) fn all_steps(&self) -> Vec<usize> {
        let (mut stride, mut all) = (1, vec![]);
        for row in self.rows.iter().rev() {
            all.extend((0..row.steps()).map(|index| row.step(index) * stride));
            stride *= row.extent;
        }
        all
    }

    /// Returns the diameter of the network.
    pub(super) fn diameter(&self) -> usize {
        self.rows.iter().map(|row| row.diameter()).sum()
    }

    /// Returns the distance of an address from node 0, and the last steps of all shortest paths to
    /// it.
    pub(super) fn paths(&self, address: usize) -> (usize, Vec<Step>) {
        let (mut rest, mut stride, mut first) = (address, 1, 0);
        let (mut distance, mut steps) = (0, vec![]);
        for row in self.rows.iter().rev() {
            let at = rest % row.extent;
            if at > 0 {
                let left = row.distance(at);
                let candidates = if row.is_complete() { at - 1..at } else { 0..row.steps() };
                let last = candidates.filter(|&index| row.distance(row.back(at, index)) + 1 == left);
                steps.extend(last.map(|index| Step { index: first + index, to: row.step(index) * stride }));
                distance += left;
            }
            (rest, stride, first) = (rest / row.extent, stride * row.extent, first + row.steps());
        }
        (distance, steps)
    }
}

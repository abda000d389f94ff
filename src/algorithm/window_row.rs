//! Rows of a product as rows of windows: a line has windows of one node on either side, and a
//! complete row has one window.

use super::loads::factors_in_order;
use crate::topology::Factor;
use crate::vocabulary::Problem;

/// A row in which each node is linked to those at most `window` away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowRow {
    pub(super) extent: usize,
    pub(super) window: usize,
    /// Whether windows wrap round. Then a row has two nodes more than two windows, or more.
    pub(super) wraps: bool,
}

impl From<Factor> for WindowRow {
    fn from(row: Factor) -> Self {
        let extent = row.extent();
        let (window, wraps) = match row {
            _ if row.is_complete() => (extent.saturating_sub(1), false),
            Factor::Windows { window, wraps, .. } => (window, wraps),
            Factor::Ring(_) => (1, true),
            _ => (1, false),
        };
        Self { extent, window, wraps }
    }
}

impl WindowRow {
    /// Returns the rows of a product with rank i on node i, if none has more than `most` nodes.
    /// `None` for a complete network.
    pub(super) fn of_product(problem: &Problem, most: usize) -> Option<Vec<Self>> {
        let rows = factors_in_order(problem)?;
        let complete = rows.len() < 2 && rows.iter().all(|row| row.is_complete());
        let fits = !complete && rows.iter().all(|row| row.extent() <= most);
        fits.then(|| rows.into_iter().map(Self::from).collect())
    }

    pub(super) fn is_complete(self) -> bool {
        self.extent <= self.window + 1
    }

    /// Returns the largest distance of a row that is complete or wraps.
    pub(super) fn diameter(self) -> usize {
        self.distance(self.extent / 2)
    }

    /// Returns the distance of a coordinate from 0 in a row that is complete or wraps.
    pub(super) fn distance(self, to: usize) -> usize {
        match self.is_complete() {
            true => usize::from(to > 0),
            false => to.min(self.extent - to).div_ceil(self.window.max(1)),
        }
    }

    /// Returns the number of channels of a node of a row that is complete or wraps.
    pub(super) fn steps(self) -> usize {
        if self.is_complete() { self.extent.saturating_sub(1) } else { 2 * self.window }
    }

    /// Returns the coordinate to which a channel leads from 0, by its number: those that lead up
    /// come first.
    pub(super) fn step(self, index: usize) -> usize {
        match index.checked_sub(self.window) {
            Some(down) if !self.is_complete() => self.extent - 1 - down,
            _ => index + 1,
        }
    }

    /// Returns the coordinate from which a channel leads to this one.
    pub(super) fn back(self, to: usize, index: usize) -> usize {
        (to + self.extent - self.step(index)) % self.extent
    }

    /// Returns the coordinate this many nodes up, if there is one.
    pub(super) fn up(self, from: usize, by: usize) -> Option<usize> {
        let to = from + by;
        if self.wraps { Some(to % self.extent) } else { Some(to).filter(|&to| to < self.extent) }
    }

    /// Returns the coordinate this many nodes down, if there is one.
    pub(super) fn down(self, from: usize, by: usize) -> Option<usize> {
        match self.wraps {
            true => Some((from + self.extent - by % self.extent) % self.extent),
            false => from.checked_sub(by),
        }
    }
}

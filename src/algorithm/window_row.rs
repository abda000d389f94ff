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

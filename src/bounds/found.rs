//! The computation of bounds: by formulas, or by a search of the network.

use std::sync::OnceLock;

use super::need::Need;
use super::{Bounds, product, search};
use crate::collective::Traffic;
use crate::vocabulary::Problem;

impl Bounds {
    /// Computes the bounds of a problem.
    ///
    /// In products of lines, rings and complete networks with a rank on every node, takes time in
    /// proportion to the number of dimensions. Other networks are searched from every node if the
    /// number of nodes times the number of nodes and channels is below 2^26. On larger ones the
    /// search starts from fewer nodes, evenly chosen, and the bounds are weaker.
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        let ranks = problem.ranks() as u64;
        let need = Need::new(problem.collective(), ranks);
        if ranks < 2 || problem.collective().traffic() == Traffic::Unknown {
            return Self::default();
        }
        let found = product::bounds(problem, &need).unwrap_or_else(|| search::bounds(problem, &need));
        let gathers = problem.collective().gathers();
        let forwarded = found.forwarded;
        let relayed = found.relayed.max(forwarded).max(need.port());
        Self {
            port: need.port(),
            received: need.received(gathers),
            relayed,
            combined: need.combined(problem.collective()),
            gathers,
            ..found
        }
    }
}

/// The bounds of a problem, computed at their first use and kept.
#[derive(Clone, Debug)]
pub struct Search {
    problem: Problem,
    bounds: OnceLock<Bounds>,
}

impl Search {
    /// Returns the search for a problem, without starting it.
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        Self { problem: problem.clone(), bounds: OnceLock::new() }
    }

    /// Returns the problem.
    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Returns [`Bounds::of`] the problem.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        self.bounds.get_or_init(|| Bounds::of(&self.problem))
    }
}

//! How bounds are found: by formulas, or by a search of the network.

use std::sync::OnceLock;

use super::need::Need;
use super::{Bounds, product, search};
use crate::collective::Traffic;
use crate::vocabulary::Problem;

impl Bounds {
    /// Those of a problem.
    ///
    /// Products of lines, rings and complete networks with a rank on every node take time in proportion to the number of
    /// dimensions. Of other networks every node is searched around, as long as nodes times nodes and channels stay below
    /// 2^26; beyond, as many nodes as that allows, evenly chosen, and the bounds are weaker.
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
        Self { port: need.port(), relayed: found.relayed.max(forwarded).max(need.port()), gathers, ..found }
    }
}

/// The bounds of a problem, searched for when they are first asked for, and kept.
#[derive(Clone, Debug)]
pub struct Search {
    problem: Problem,
    bounds: OnceLock<Bounds>,
}

impl Search {
    /// Of this problem. Nothing is searched yet.
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        Self { problem: problem.clone(), bounds: OnceLock::new() }
    }

    /// What is searched.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// [`Bounds::of`] the problem.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        self.bounds.get_or_init(|| Bounds::of(&self.problem))
    }
}

//! A schedule: its problem, its promises, its rounds.

use super::{Ports, Problem, Round};

/// A schedule without its rounds: its problem and its promises.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outline {
    /// The problem that the schedule solves.
    pub problem: Problem,
    /// The algorithm's name with its parameters, or any name that the author gave.
    pub algorithm: String,
    /// The port model that the schedule keeps to.
    pub ports: Ports,
    /// Whether the schedule promises that no channel carries two transfers in one round.
    pub contention_free: bool,
    /// The names of the phases.
    pub phases: Vec<String>,
}

impl Outline {
    /// Returns the outline of a schedule that promises no freedom from contention and has one
    /// phase, named after the algorithm.
    #[must_use]
    pub fn new(problem: Problem, algorithm: impl Into<String>, ports: Ports) -> Self {
        let algorithm = algorithm.into();
        Self { problem, phases: vec![algorithm.clone()], algorithm, ports, contention_free: false }
    }

    /// Promises that no channel carries two transfers in one round.
    #[must_use]
    pub fn contention_free(self) -> Self {
        Self { contention_free: true, ..self }
    }

    /// Sets the names of the phases.
    #[must_use]
    pub fn with_phases(self, phases: Vec<String>) -> Self {
        Self { phases, ..self }
    }
}

/// A whole schedule in memory: for small machines, for export, and for schedules that are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schedule {
    /// The problem and the promises.
    pub outline: Outline,
    /// The rounds, in order.
    pub rounds: Vec<Round>,
}

impl Schedule {
    /// Returns a schedule of these rounds.
    #[must_use]
    pub fn new(outline: Outline, rounds: Vec<Round>) -> Self {
        Self { outline, rounds }
    }
}

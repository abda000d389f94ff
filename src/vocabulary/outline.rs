//! A schedule: what it is of, what it promises, its rounds.

use super::{Ports, Problem, Round};

/// What a schedule is of, and what it promises; all but its rounds.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What it schedules.
    pub problem: Problem,
    /// The name of the algorithm, with its parameters, or whatever its author calls it.
    pub algorithm: String,
    /// The port model that it keeps to.
    pub ports: Ports,
    /// Whether it promises that no channel carries two transfers in one round.
    pub contention_free: bool,
    /// The names of its phases.
    pub phases: Vec<String>,
}

/// A whole schedule in memory: for small machines, for export, and for schedules from elsewhere.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What it is a schedule of.
    pub outline: Outline,
    /// Its rounds.
    pub rounds: Vec<Round>,
}

//! Builds the library's `Problem` from the command line.

use std::sync::Arc;

use necklace::Rank;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::{Hosts, Problem};
use necklace::topology::Topology;

/// Returns the problem for a network and a collective. Reductions combine in rank order unless
/// their operation commutes, as they do when executed.
pub(crate) fn problem(
    topology: Arc<dyn Topology>,
    collective: Collective,
    commutative: bool,
) -> Result<Problem, BuildError> {
    let problem = Problem::new(topology, collective)?;
    Ok(if problem.collective().is_reduction() && !commutative { problem.ordered() } else { problem })
}

/// Puts each `each` consecutive ranks on a host, if given.
pub(crate) fn on_hosts(problem: Problem, each: Option<u32>) -> Result<Problem, BuildError> {
    let Some(each) = each else { return Ok(problem) };
    let hosts = Hosts::of_consecutive(problem.ranks(), each as usize);
    problem.on_hosts(hosts)
}

/// Checks the text of a collective: a name, or a shift by another distance than 1.
pub(crate) fn collective(text: &str) -> Result<String, String> {
    let known = || format!("expected one of {}; shift:by=N for a shift by N", names());
    Collective::named(text, Rank::default()).map(|_| text.to_owned()).ok_or_else(known)
}

/// Returns the names of all collectives.
pub(crate) fn names() -> String {
    Collective::names().collect::<Vec<_>>().join(", ")
}

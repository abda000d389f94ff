//! Builds the library's `Problem` from the command line.

use std::sync::Arc;

use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::Problem;
use necklace::topology::Topology;

/// Returns the problem for a network and a collective. Reductions combine in rank order unless their
/// operation commutes, as they do when executed.
pub(crate) fn problem(
    topology: Arc<dyn Topology>,
    collective: Collective,
    commutative: bool,
) -> Result<Problem, BuildError> {
    let problem = Problem::new(topology, collective)?;
    Ok(if problem.collective().is_reduction() && !commutative { problem.ordered() } else { problem })
}

//! What the command line asks for, as the library's problem.

use std::sync::Arc;

use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::Problem;
use necklace::topology::Topology;

/// The problem that the command line describes. Contributions are combined in rank order, as they are when it runs.
pub(crate) fn problem(topology: Arc<dyn Topology>, collective: Collective) -> Result<Problem, BuildError> {
    let problem = Problem::new(topology, collective)?;
    Ok(if problem.collective().is_reduction() { problem.ordered() } else { problem })
}

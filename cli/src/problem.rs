//! Builds the library's `Problem` from the command line.

use std::sync::Arc;

use necklace::Rank;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::{Hosts, Problem};
use necklace::select::{Terms, select};
use necklace::topology::Topology;

use crate::output::Failure;

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

/// Returns the failure of a choice for a problem. It names `--commutative` if that is all that the
/// algorithm, or `auto`, needs.
pub(crate) fn failure(error: BuildError, problem: &Problem, terms: &Terms) -> Failure {
    let fits_in_any_order = |name: &str| -> Result<(), BuildError> {
        let free = Problem::new(Arc::clone(problem.topology()), problem.collective().clone())?;
        let free = match problem.hosts() {
            Some(hosts) => free.on_hosts(hosts.clone())?,
            None => free,
        };
        select(&free, name, terms).map(drop)
    };
    match &error {
        BuildError::Unfit { algorithm, .. } if !problem.commutative() && fits_in_any_order(algorithm).is_ok() => {
            Failure::Usage(format!("{error}; add --commutative if the operation commutes"))
        }
        _ => error.into(),
    }
}

/// Puts each `each` consecutive ranks on a host, if given.
pub(crate) fn on_hosts(problem: Problem, each: Option<u32>) -> Result<Problem, BuildError> {
    let Some(each) = each else { return Ok(problem) };
    let hosts = Hosts::of_consecutive(problem.ranks(), each as usize);
    problem.on_hosts(hosts)
}

/// Parses a collective, such as `alltoall` or `shift:by=5`.
pub(crate) fn collective(text: &str) -> Result<Collective, String> {
    let known = || format!("expected one of {}", Collective::syntax());
    Collective::named(text, Rank::default()).ok_or_else(known)
}

/// Returns the help of an option that names a collective.
pub(crate) fn help(what: &str) -> String {
    format!("{what} C, one of {}", Collective::syntax())
}

/// Returns the collective with the root that the command line gives, if any.
pub(crate) fn rooted(collective: &Collective, root: Option<u32>) -> Result<Collective, Failure> {
    let Some(root) = root else { return Ok(collective.clone()) };
    let rooted = Collective::named(&collective.text(), Rank::new(root as usize));
    let rooted = rooted.filter(|collective| collective.root().is_some());
    rooted.ok_or_else(|| Failure::Usage(format!("{collective} has no root; leave out --root {root}")))
}

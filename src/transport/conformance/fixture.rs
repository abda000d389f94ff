//! The backend under test.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::transport::Endpoint;

/// Makes jobs of the backend under test.
pub trait Fixture: fmt::Debug + Send + Sync {
    /// Starts a fresh job and returns its endpoints, by rank. The suite drives each from a thread
    /// of its own.
    ///
    /// # Errors
    ///
    /// A description of why the job cannot start. The check fails with it.
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String>;

    /// Returns the promises that the backend keeps beyond those that every backend must keep.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Returns the timeout of rounds that must succeed. It should be long. A check that takes twice
    /// as long fails as hung.
    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Returns the timeout of rounds that must fail by it: the shortest that the backend keeps.
    fn short_timeout(&self) -> Duration {
        Duration::from_millis(300)
    }

    /// Returns how many jobs of the backend [`run_all`](super::run_all) may run at once: 1 unless
    /// overridden. Most checks wait for a timeout, so the suite takes a third of the time with 4.
    fn jobs_at_once(&self) -> usize {
        1
    }
}

/// Promises that a backend may lack, if its documentation says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// A deadline names the rank at the end of the wait-for chain, and does not pass while that
    /// rank makes progress.
    pub follows_wait_chains: bool,
    /// A rank may drop its endpoint without having opened a context, and ranks that wait for it in
    /// that context fail.
    pub detects_unopened: bool,
    /// Size of the largest job, in ranks.
    pub max_ranks: usize,
}

impl Default for Abilities {
    /// All promises, and jobs of any size.
    fn default() -> Self {
        Self { follows_wait_chains: true, detects_unopened: true, max_ranks: usize::MAX }
    }
}

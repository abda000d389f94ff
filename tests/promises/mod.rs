//! The promises of transports, for jobs of any backend in any wrapping.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use necklace::Rank;
use necklace::transport::conformance::{self, Fixture};
use necklace::transport::{ContextId, Endpoint, OpenError, Transport};

/// Jobs of a backend, each endpoint in some wrapping.
struct Wrapped<S, W> {
    start: S,
    deadline: Duration,
    at_once: usize,
    wrap: W,
}

impl<S, W> fmt::Debug for Wrapped<S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wrapped")
    }
}

impl<S, W> Fixture for Wrapped<S, W>
where
    S: Fn(usize) -> Vec<Arc<dyn Endpoint>> + Send + Sync,
    W: Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync,
{
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        Ok((self.start)(size).into_iter().map(&self.wrap).collect())
    }

    fn short_timeout(&self) -> Duration {
        self.deadline
    }

    fn jobs_at_once(&self) -> usize {
        self.at_once
    }
}

/// Runs the conformance suite of transports on jobs whose endpoints are wrapped, `at_once` of them
/// at once.
pub fn check_conformance(
    start: impl Fn(usize) -> Vec<Arc<dyn Endpoint>> + Send + Sync,
    deadline: Duration,
    at_once: usize,
    wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync,
) {
    conformance::run_all(&Wrapped { start, deadline, at_once, wrap }).unwrap_or_else(|broken| panic!("{broken}"));
}

/// An endpoint in boxes, whose transports are in boxes.
#[derive(Debug)]
pub struct Boxed(Box<Arc<dyn Endpoint>>);

impl Boxed {
    /// Puts an endpoint into boxes.
    pub fn new(endpoint: Arc<dyn Endpoint>) -> Self {
        Self(Box::new(endpoint))
    }
}

impl Endpoint for Boxed {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        Ok(Box::new(self.0.open(context, members)?))
    }
}

//! Ranks as threads of this process: for tests, for one machine, for a first try.
//!
//! Inside an ordinary `#[test]` function, or anywhere:
//!
//! ```
//! let heard = necklace::local::run(4, |mut comm| {
//!     let mut from = [0; 4];
//!     comm.allgather(&[comm.rank()], &mut from).unwrap();
//!     from
//! });
//! assert_eq!(heard.unwrap(), [[0, 1, 2, 3]; 4]);
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::communicator::{Communicator, How, Options};
use crate::error::{Error, panic_words};
use crate::load::load;
use crate::topology::{Complete, Topology};
use crate::transport::{Endpoint, local};

/// Runs the closure on `ranks` threads, each with its communicator, and returns their results by rank.
///
/// The network is complete: every rank reaches every rank directly.
///
/// # Errors
///
/// [`Error::Rank`] with the first rank that panicked (the others get an error in their calls);
/// [`Error::Environment`] for no ranks or too many; [`Error::Failed`] if calls of some ranks failed before
/// another rank started, or if ranks left a communicator after different calls and no message had shown
/// it.
pub fn run<R: Send>(ranks: usize, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    let topology = Complete::new(ranks).ok_or_else(|| no_such_job(ranks))?;
    Job::on(Arc::new(topology)).run(body)
}

/// Runs the closure on a network given by its text, with a thread for each node.
///
/// # Errors
///
/// Those of [`run`], and [`Error::Environment`] if the text does not describe a topology.
pub fn run_on<R: Send>(topology: &str, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    Job::on(load(topology).map_err(|e| Error::Environment(e.to_string()))?).run(body)
}

fn no_such_job(ranks: usize) -> Error {
    Error::Environment(format!("a job of {ranks} threads: it may have 1 to {}", local::MAX_RANKS))
}

/// What wraps each rank's endpoint.
type Wrap = dyn Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Sync + Send;

/// A job of threads, with options.
pub struct Job {
    topology: Arc<dyn Topology>,
    options: Options,
    wrap: Option<Box<Wrap>>,
    algorithms: Vec<(String, How)>,
}

impl Job {
    /// Makes a job with a thread on every node of a network.
    #[must_use]
    pub fn on(topology: Arc<dyn Topology>) -> Self {
        Self { topology, options: Options::default(), wrap: None, algorithms: Vec::new() }
    }

    /// Sets the options of every communicator.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Chooses an algorithm for a collective on every communicator, as [`Communicator::choose`] does: by
    /// name, an algorithm of your own, or a schedule, which is verified once for all threads.
    #[must_use]
    pub fn choose(mut self, collective: &str, how: impl Into<How>) -> Self {
        self.algorithms.push((collective.to_owned(), how.into()));
        self
    }

    /// Wraps the endpoint of each rank: in a [trace](crate::transport::trace), in
    /// [faults](crate::transport::fault), or in a wrapper of your own.
    #[must_use]
    pub fn wrap(self, wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Sync + Send + 'static) -> Self {
        Self { wrap: Some(Box::new(wrap)), ..self }
    }

    /// Runs the closure on every rank and returns the results by rank.
    ///
    /// # Errors
    ///
    /// Those of [`run`] and of [`Communicator::with_options`].
    pub fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        let ranks = self.topology.nodes();
        let (supervisor, endpoints) = local::supervised(ranks).map_err(|_| no_such_job(ranks))?;
        let first: Mutex<Option<Error>> = Mutex::new(None);
        let fail = |error: Error| {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        let rank_body = |endpoint: Arc<dyn Endpoint>| {
            let rank = endpoint.rank();
            match catch_unwind(AssertUnwindSafe(|| self.communicator(endpoint).map(&body))) {
                Ok(Ok(result)) => return Some(result),
                Ok(Err(error)) => fail(error),
                Err(payload) => {
                    let message = panic_words(&*payload);
                    fail(Error::Rank { rank, how: format!("panicked: {message}") });
                    supervisor.panicked(rank, message);
                }
            }
            None
        };
        let results: Vec<Option<R>> = thread::scope(|scope| {
            let start = |endpoint: Arc<dyn Endpoint>| {
                let rank = endpoint.rank();
                let body = || rank_body(endpoint);
                let thread = thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, body);
                thread.map_err(|e| fail(Error::Rank { rank, how: format!("could not be started: {e}") })).ok()
            };
            let threads: Vec<_> = endpoints.into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect()
        });
        match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => match supervisor.discord() {
                Some(discord) => Err(discord.into()),
                None => Ok(results.into_iter().flatten().collect()),
            },
        }
    }

    fn communicator(&self, endpoint: Arc<dyn Endpoint>) -> Result<Communicator, Error> {
        let endpoint = self.wrap.as_ref().map_or_else(|| Arc::clone(&endpoint), |wrap| wrap(Arc::clone(&endpoint)));
        let mut comm = Communicator::with_options(endpoint, Arc::clone(&self.topology), self.options.clone())?;
        for (collective, how) in &self.algorithms {
            comm.choose(collective, how)?;
        }
        Ok(comm)
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topology, options, algorithms, .. } = self;
        let mut job = f.debug_struct("Job");
        job.field("topology", topology)
            .field("options", options)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}

//! Runs a closure on the ranks of this process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::backend::{JoinedJob, Supervise};
use crate::communicator::Communicator;
use crate::error::{Error, JobCause, JobError};
use crate::ids::Rank;
use crate::quote::panic_message;
use crate::transport::{Disagreement, Endpoint, renumbered};

/// Runs the closure on every rank and returns the results by rank. Each rank has its own thread,
/// or, if this process is the rank, runs on this thread.
pub(super) fn run<R: Send>(
    JoinedJob { endpoints, supervisor }: JoinedJob,
    on_threads: bool,
    communicator: impl Fn(Arc<dyn Endpoint>) -> Result<Communicator, JobError> + Sync,
    body: impl Fn(Communicator) -> R + Sync,
) -> Result<Vec<R>, JobError> {
    let first: Mutex<Option<JobError>> = Mutex::new(None);
    // The error of a rank that panics is stored before the others are told: they may panic as well.
    let fail = |error: JobError| {
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    };
    let rank_body = |endpoint: Arc<dyn Endpoint>| {
        let rank = endpoint.rank();
        match catch_unwind(AssertUnwindSafe(|| communicator(endpoint).map(&body))) {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(error)) => fail(error),
            Err(payload) => {
                let message = panic_message(&*payload);
                fail(panicked(rank, message, supervisor.as_deref()));
                if let Some(supervisor) = &supervisor {
                    supervisor.panicked(rank, message);
                }
            }
        }
        None
    };
    let results: Vec<Option<R>> = if on_threads {
        thread::scope(|scope| {
            let start = |endpoint: Arc<dyn Endpoint>| {
                let rank = endpoint.rank();
                let body = || rank_body(endpoint);
                let thread = thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, body);
                thread.map_err(|error| fail(JobError::of(rank, JobCause::Thread(Arc::new(error))))).ok()
            };
            let threads: Vec<_> = endpoints.into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect()
        })
    } else {
        endpoints.into_iter().map(rank_body).collect()
    };
    if let Some(error) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(match supervisor {
            Some(supervisor) => supervisor.failed(error),
            None => error,
        });
    }
    supervisor.map_or(Ok(()), Supervise::end)?;
    Ok(results.into_iter().flatten().collect())
}

/// Returns the error of a rank that has panicked. If the message quotes the failure of a call, as
/// that of `unwrap` does, another rank failed first, and the error is that failure.
fn panicked(rank: Rank, message: &str, supervisor: Option<&dyn Supervise>) -> JobError {
    let quotes = |Disagreement { failure, members, .. }: &Disagreement| {
        message.contains(&failure.named(&renumbered(members)).to_string())
    };
    let failures = supervisor.map_or_else(Vec::new, |supervisor| supervisor.failures(rank));
    match failures.into_iter().find(quotes) {
        Some(failed) => Error::from(failed).into(),
        None => JobError::of(rank, JobCause::Panicked(message.to_owned())),
    }
}

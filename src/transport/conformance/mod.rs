//! Checks that a backend keeps the [contract](super) of transports.
//!
//! A [`Fixture`] starts jobs of the backend under test. [`run_all`] runs every check on a fresh
//! job, with each rank in a thread of this process. A backend of processes passes its endpoints to
//! threads for that.
//!
//! ```
//! # #[cfg(feature = "local")] {
//! use std::sync::Arc;
//!
//! use necklace::transport::{Endpoint, conformance, local};
//!
//! #[derive(Debug)]
//! struct Threads;
//!
//! impl conformance::Fixture for Threads {
//!     fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
//!         local::job(size).map_err(|error| error.to_string())
//!     }
//! }
//!
//! // `run_all` runs every check; here is one.
//! let (name, check) = conformance::CHECKS[2];
//! assert_eq!(name, "empty_messages_are_awaited");
//! check(&Threads).unwrap();
//! # }
//! ```

mod contexts;
mod delivery;
mod failing;
mod fixture;
mod refusal;
pub(super) mod scenario;
mod test_group;
mod waiting;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::contexts::{
    contexts_in_opposite_orders_by_one_thread_time_out, contexts_in_opposite_orders_by_two_threads_complete,
    failed_context_leaves_other_contexts_intact, idle_context_does_not_block_another,
    invalid_or_repeated_open_is_refused, members_are_ranked_in_the_order_given,
};
use self::delivery::{
    empty_messages_are_awaited, large_messages_arrive_in_both_directions, messages_of_one_pair_match_by_index,
    random_programs_deliver_every_byte, ranks_run_rounds_ahead_of_a_late_rank, repeated_calls_deliver_their_own_data,
};
use self::failing::{
    departure_fails_waiting_ranks, departure_spares_ranks_that_need_nothing_more,
    first_failure_is_common_and_permanent, panic_fails_waiting_ranks, rank_that_never_opened_fails_waiting_ranks,
};
pub use self::fixture::{Abilities, Fixture};
use self::refusal::{
    different_fingerprint_of_an_unawaited_rank_is_found, different_fingerprints_of_two_peers_are_found,
    message_to_itself_is_refused, wrong_length_is_refused_before_any_write,
};
use self::waiting::{
    buffers_are_not_accessed_after_a_round, busy_rank_is_awaited_until_the_arrival_timeout,
    progressing_rank_is_awaited_past_the_deadline, silent_rank_fails_all_at_the_deadline,
};
use crate::quote::debug_as_text;

/// A check of one promise. It returns an error that describes how the backend breaks it.
pub type Check = fn(&dyn Fixture) -> Result<(), String>;

macro_rules! checks {
    ($($check:ident),* $(,)?) => { [$((stringify!($check), $check as Check)),*] };
}

/// All checks, with their names.
pub const CHECKS: &[(&str, Check)] = &checks![
    random_programs_deliver_every_byte,
    large_messages_arrive_in_both_directions,
    empty_messages_are_awaited,
    messages_of_one_pair_match_by_index,
    repeated_calls_deliver_their_own_data,
    ranks_run_rounds_ahead_of_a_late_rank,
    message_to_itself_is_refused,
    wrong_length_is_refused_before_any_write,
    different_fingerprints_of_two_peers_are_found,
    different_fingerprint_of_an_unawaited_rank_is_found,
    silent_rank_fails_all_at_the_deadline,
    busy_rank_is_awaited_until_the_arrival_timeout,
    progressing_rank_is_awaited_past_the_deadline,
    buffers_are_not_accessed_after_a_round,
    first_failure_is_common_and_permanent,
    departure_fails_waiting_ranks,
    departure_spares_ranks_that_need_nothing_more,
    panic_fails_waiting_ranks,
    rank_that_never_opened_fails_waiting_ranks,
    invalid_or_repeated_open_is_refused,
    members_are_ranked_in_the_order_given,
    failed_context_leaves_other_contexts_intact,
    idle_context_does_not_block_another,
    contexts_in_opposite_orders_by_two_threads_complete,
    contexts_in_opposite_orders_by_one_thread_time_out,
];

/// Error of [`run_all`]: the checks that failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{} of {} checks failed: {}", failed.len(), CHECKS.len(), self.list())]
pub struct FailedChecks {
    /// The names of the checks, and their errors.
    pub failed: Vec<(&'static str, String)>,
}

debug_as_text!(FailedChecks);

impl FailedChecks {
    fn list(&self) -> String {
        let lines: Vec<String> = self.failed.iter().map(|(name, error)| format!("\n  {name}: {error}")).collect();
        lines.concat()
    }
}

/// Runs all checks, as many at once as the fixture [allows](Fixture::jobs_at_once).
///
/// # Errors
///
/// All checks that failed, in the order of [`CHECKS`].
pub fn run_all(fixture: &dyn Fixture) -> Result<(), FailedChecks> {
    let next = AtomicUsize::new(0);
    let errors = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, check)) = CHECKS.get(number) else { break };
            if let Err(error) = check(fixture) {
                errors.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (*name, error));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..fixture.jobs_at_once() {
            scope.spawn(work);
        }
        work();
    });
    let failed: Vec<_> = errors.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect();
    if failed.is_empty() { Ok(()) } else { Err(FailedChecks { failed }) }
}

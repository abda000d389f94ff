//! Checks of the [contract](super) of transports, for any backend.
//!
//! A [`Fixture`] makes jobs of the backend under test. [`run_all`] runs every check on a fresh job,
//! with each rank in a thread of this process; a backend of processes puts its endpoints into
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
//! // `run_all` runs all of them; here is one.
//! let (name, check) = conformance::CHECKS[2];
//! assert_eq!(name, "empty_messages_are_awaited");
//! check(&Threads).unwrap();
//! # }
//! ```

mod contexts;
mod crew;
mod delivery;
mod draw;
mod failing;
mod fixture;
mod refusal;
mod waiting;

use self::contexts::{
    a_failed_context_leaves_the_others_alone, contexts_are_driven_in_opposite_orders_by_threads,
    contexts_driven_in_opposite_orders_by_one_thread_end, members_are_numbered_as_they_are_named,
    messages_for_a_context_that_nobody_drives_block_no_other, what_cannot_be_opened_is_refused,
};
use self::delivery::{
    calls_follow_each_other, empty_messages_are_awaited, large_messages_arrive, messages_of_a_pair_keep_their_order,
    random_programs_arrive, ranks_run_ahead_of_each_other,
};
use self::failing::{
    a_departure_fails_those_who_wait, a_departure_harms_nobody_who_has_all, a_failure_is_everybodys_and_stays,
    a_panic_fails_those_who_wait, a_rank_that_never_opened_fails_those_who_wait,
};
pub use self::fixture::{Abilities, Fixture};
use self::refusal::{
    another_fingerprint_is_found, another_fingerprint_of_a_rank_not_awaited_is_found,
    another_length_is_refused_before_a_byte_lands, messages_to_itself_are_refused,
};
use self::waiting::{
    a_rank_that_gets_on_is_waited_for, busy_rank_is_not_a_silent_one, memory_is_the_callers_after_a_round,
    silence_ends_at_the_deadline,
};

/// A check of one promise: an error says how the backend breaks it.
pub type Check = fn(&dyn Fixture) -> Result<(), String>;

macro_rules! checks {
    ($($check:ident),* $(,)?) => { [$((stringify!($check), $check as Check)),*] };
}

/// All checks, by name.
pub const CHECKS: &[(&str, Check)] = &checks![
    random_programs_arrive,
    large_messages_arrive,
    empty_messages_are_awaited,
    messages_of_a_pair_keep_their_order,
    calls_follow_each_other,
    ranks_run_ahead_of_each_other,
    messages_to_itself_are_refused,
    another_length_is_refused_before_a_byte_lands,
    another_fingerprint_is_found,
    another_fingerprint_of_a_rank_not_awaited_is_found,
    silence_ends_at_the_deadline,
    busy_rank_is_not_a_silent_one,
    a_rank_that_gets_on_is_waited_for,
    memory_is_the_callers_after_a_round,
    a_failure_is_everybodys_and_stays,
    a_departure_fails_those_who_wait,
    a_departure_harms_nobody_who_has_all,
    a_panic_fails_those_who_wait,
    a_rank_that_never_opened_fails_those_who_wait,
    what_cannot_be_opened_is_refused,
    members_are_numbered_as_they_are_named,
    a_failed_context_leaves_the_others_alone,
    messages_for_a_context_that_nobody_drives_block_no_other,
    contexts_are_driven_in_opposite_orders_by_threads,
    contexts_driven_in_opposite_orders_by_one_thread_end,
];

/// The promises that a backend does not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{} of {} checks failed: {}", broken.len(), CHECKS.len(), self.list())]
pub struct Broken {
    /// The checks that failed, and what they say.
    pub broken: Vec<(&'static str, String)>,
}

impl Broken {
    fn list(&self) -> String {
        let lines: Vec<String> = self.broken.iter().map(|(name, words)| format!("\n  {name}: {words}")).collect();
        lines.concat()
    }
}

/// Runs all checks.
///
/// # Errors
///
/// All promises that the backend does not keep.
pub fn run_all(fixture: &dyn Fixture) -> Result<(), Broken> {
    let broken: Vec<_> =
        CHECKS.iter().filter_map(|(name, check)| check(fixture).err().map(|words| (*name, words))).collect();
    if broken.is_empty() { Ok(()) } else { Err(Broken { broken }) }
}

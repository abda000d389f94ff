//! The conformance suite can fail: each of these backends breaks one promise, and the check of that
//! promise says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::Rank;
use necklace::plan::{Message, Run};
use necklace::transport::conformance::{self, Check, Fixture};
use necklace::transport::fault::{Fault, Faulty, What};
use necklace::transport::{Cause, ContextId, Endpoint, Failure, OpenError, RoundIo, Signature, Transport, local};

/// The fault of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Nothing: all that follows is due to the mutation.
    None,
    SwapsMessagesOfAPair,
    CorruptsAByte,
    WritesBesideTheMessage,
    SkipsEmptyMessages,
    KeepsOneRoundOfAnyContextAtATime,
    TakesMessagesToItself,
    IgnoresLengths,
    WritesBeforeItChecksTheLength,
    IgnoresFingerprints,
    IgnoresTheDeadline,
    TakesBusyForSilent,
    BlamesNobody,
    TellsEachRankAnotherFailure,
    ForgetsItsFailure,
    FailsAnewEachTime,
    NeverLeaves,
    FailsWhenItLeaves,
    NumbersMembersInItsOwnOrder,
    OpensTwice,
    HasOneFailureForAllContexts,
}

#[derive(Debug)]
struct Broken {
    inner: Arc<dyn Endpoint>,
    how: Mutant,
    /// Held during a round, by one that can do only one at a time.
    busy: Arc<Mutex<()>>,
    /// The failure of all contexts, of one that mixes them up.
    failed: Arc<Mutex<Option<Failure>>>,
}

impl Endpoint for Broken {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let mut members = members.to_vec();
        if self.how == Mutant::NumbersMembersInItsOwnOrder {
            members.sort_unstable();
        }
        let inner = match self.inner.open(context, &members) {
            Err(OpenError::InUse(_)) if self.how == Mutant::OpensTwice => {
                self.inner.open(context.child(1, 1), &members)?
            }
            opened => opened?,
        };
        let (how, busy, failed) = (self.how, self.busy.clone(), self.failed.clone());
        Ok(Box::new(BrokenTransport { inner: Some(inner), how, busy, failed, rounds: 0 }))
    }
}

#[derive(Debug)]
struct BrokenTransport {
    /// Empty only while it is dropped.
    inner: Option<Box<dyn Transport>>,
    how: Mutant,
    busy: Arc<Mutex<()>>,
    failed: Arc<Mutex<Option<Failure>>>,
    rounds: u64,
}

impl BrokenTransport {
    fn inner(&self) -> &dyn Transport {
        self.inner.as_deref().unwrap()
    }

    fn altered(&self, mut failure: Failure) -> Failure {
        match self.how {
            Mutant::TellsEachRankAnotherFailure => failure.observer = self.rank(),
            Mutant::BlamesNobody => failure.culprit = None,
            Mutant::FailsAnewEachTime => failure.call = self.rounds,
            _ => {}
        }
        failure
    }
}

impl Transport for BrokenTransport {
    fn rank(&self) -> Rank {
        self.inner().rank()
    }

    fn size(&self) -> usize {
        self.inner().size()
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        self.rounds += 1;
        let (rank, how, inner) = (self.rank(), self.how, self.inner.as_mut().unwrap());
        let signature = Signature::new(1, "anything");
        let program = io.program();
        let first_run = |message: &Message| program.runs(message).iter().find(|run| run.bytes() > 0).copied();
        let receives = io.receives();
        let mut all = io.sends().iter().chain(receives);
        match how {
            Mutant::SkipsEmptyMessages if all.clone().all(|message| message.bytes == 0) => return Ok(()),
            Mutant::TakesMessagesToItself if all.any(|message| message.peer == rank) => return Ok(()),
            Mutant::HasOneFailureForAllContexts => {
                if let Some(failure) = &*self.failed.lock().unwrap() {
                    return Err(failure.clone());
                }
            }
            _ => {}
        }
        let io_timeouts = io.timeouts;
        let mut inner_io = io.reborrow();
        match how {
            Mutant::IgnoresFingerprints => inner_io.signature = &signature,
            Mutant::IgnoresTheDeadline => inner_io.timeouts = Duration::from_secs(3600).into(),
            Mutant::TakesBusyForSilent => inner_io.timeouts = io_timeouts.shortest().into(),
            _ => {}
        }
        let busy = (how == Mutant::KeepsOneRoundOfAnyContextAtATime).then(|| self.busy.lock());
        let outcome = inner.round(inner_io);
        drop(busy);
        let output = io.buffers().output;
        let targets: Vec<Run> = receives.iter().filter_map(first_run).collect();
        match (how, &outcome) {
            (Mutant::SwapsMessagesOfAPair, Ok(())) if targets.len() > 1 && targets[0].len == targets[1].len => {
                let [a, b] = [targets[0], targets[1]].map(|run| run.offset as usize);
                (0..targets[0].len as usize).for_each(|i| output.swap(a + i, b + i));
            }
            (Mutant::CorruptsAByte, Ok(())) => {
                if let Some(byte) = targets.first().and_then(|run| output.get_mut(run.offset as usize)) {
                    *byte ^= 1;
                }
            }
            (Mutant::WritesBesideTheMessage, Ok(())) => {
                if let Some(last) = output.last_mut() {
                    *last ^= 1;
                }
            }
            (Mutant::WritesBeforeItChecksTheLength, Err(_)) => {
                targets.iter().for_each(|run| output[run.offset as usize] ^= 1);
            }
            (Mutant::IgnoresLengths, Err(Failure { cause: Cause::Length { .. }, .. })) => return Ok(()),
            (Mutant::ForgetsItsFailure, Err(_)) if self.rounds > 1 => return Ok(()),
            (Mutant::HasOneFailureForAllContexts, Err(failure)) => {
                *self.failed.lock().unwrap() = Some(failure.clone());
            }
            _ => {}
        }
        outcome.map_err(|failure| self.altered(failure))
    }

    fn abort(&mut self, failure: Failure) {
        self.inner.as_mut().unwrap().abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.inner().failure().map(|failure| self.altered(failure))
    }
}

impl Drop for BrokenTransport {
    fn drop(&mut self) {
        let mut inner = self.inner.take().unwrap();
        match self.how {
            Mutant::NeverLeaves => std::mem::forget(inner),
            Mutant::FailsWhenItLeaves => {
                let observer = inner.rank();
                let cause = Cause::aborted(observer, "it leaves");
                inner.abort(Failure::new(0, "", observer, cause));
            }
            _ => {}
        }
    }
}

/// Jobs of a broken backend.
#[derive(Debug)]
struct Jobs(Mutant);

impl Fixture for Jobs {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        let failed = Arc::new(Mutex::new(None));
        let wrap = |inner| {
            let (busy, failed) = (Arc::new(Mutex::new(())), failed.clone());
            Arc::new(Broken { inner, how: self.0, busy, failed }) as Arc<dyn Endpoint>
        };
        Ok(local::job(size).map_err(|error| error.to_string())?.into_iter().map(wrap).collect())
    }

    /// Short, since some of these hang; long enough for those that do not.
    fn timeout(&self) -> Duration {
        Duration::from_secs(3)
    }
}

/// The check of that name.
fn named(name: &str) -> Check {
    let found = conformance::CHECKS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no check {name}")).1
}

fn objects(how: Mutant, check: Check) {
    assert_eq!(check(&Jobs(Mutant::None)), Ok(()));
    let words = check(&Jobs(how)).expect_err(&format!("no check fails for a backend that {how:?}"));
    assert!(!words.is_empty());
}

macro_rules! mutants {
    ($($name:ident: $how:ident, $check:ident;)*) => {$(
        #[test]
        fn $name() {
            objects(Mutant::$how, named(stringify!($check)));
        }
    )*};
}

mutants! {
    swapped_messages_are_noticed: SwapsMessagesOfAPair, messages_of_one_pair_match_by_index;
    swapped_messages_of_repeated_calls_are_noticed: SwapsMessagesOfAPair, repeated_calls_deliver_their_own_data;
    corrupt_byte_is_noticed: CorruptsAByte, random_programs_deliver_every_byte;
    corrupt_byte_of_a_large_message_is_noticed: CorruptsAByte, large_messages_arrive_in_both_directions;
    corrupt_byte_in_a_smaller_context_is_noticed: CorruptsAByte, members_are_ranked_in_the_order_given;
    write_beside_the_message_is_noticed: WritesBesideTheMessage, random_programs_deliver_every_byte;
    skipped_empty_messages_are_noticed: SkipsEmptyMessages, empty_messages_are_awaited;
    accepted_message_to_itself_is_noticed: TakesMessagesToItself, message_to_itself_is_refused;
    ignored_lengths_are_noticed: IgnoresLengths, wrong_length_is_refused_before_any_write;
    early_writes_are_noticed: WritesBeforeItChecksTheLength, wrong_length_is_refused_before_any_write;
    ignored_fingerprints_are_noticed: IgnoresFingerprints, different_fingerprints_of_two_peers_are_found;
    ignored_fingerprints_of_others_are_noticed: IgnoresFingerprints, different_fingerprint_of_an_unawaited_rank_is_found;
    endless_wait_is_noticed: IgnoresTheDeadline, silent_rank_fails_all_at_the_deadline;
    endless_wait_of_two_contexts_is_noticed:
        IgnoresTheDeadline, contexts_in_opposite_orders_by_one_thread_time_out;
    busy_rank_taken_for_a_silent_one_is_noticed: TakesBusyForSilent, busy_rank_is_awaited_until_the_arrival_timeout;
    ignored_arrival_timeout_is_noticed: IgnoresTheDeadline, busy_rank_is_awaited_until_the_arrival_timeout;
    deadline_without_a_culprit_is_noticed: BlamesNobody, silent_rank_fails_all_at_the_deadline;
    different_failures_are_noticed: TellsEachRankAnotherFailure, first_failure_is_common_and_permanent;
    different_deadlines_are_noticed: TellsEachRankAnotherFailure, silent_rank_fails_all_at_the_deadline;
    forgotten_failure_is_noticed: ForgetsItsFailure, first_failure_is_common_and_permanent;
    changing_failure_is_noticed: FailsAnewEachTime, first_failure_is_common_and_permanent;
    ignored_departure_is_noticed: NeverLeaves, departure_fails_waiting_ranks;
    ignored_panic_is_noticed: NeverLeaves, panic_fails_waiting_ranks;
    departure_that_fails_the_context_is_noticed: FailsWhenItLeaves, departure_spares_ranks_that_need_nothing_more;
    members_in_another_order_are_noticed: NumbersMembersInItsOwnOrder, members_are_ranked_in_the_order_given;
    context_open_twice_is_noticed: OpensTwice, invalid_or_repeated_open_is_refused;
    failure_of_all_contexts_is_noticed: HasOneFailureForAllContexts, failed_context_leaves_other_contexts_intact;
    contexts_that_block_each_other_are_noticed:
        KeepsOneRoundOfAnyContextAtATime, idle_context_does_not_block_another;
}

/// Jobs whose process 0 follows a script.
#[derive(Debug)]
struct Scripted(What);

impl Fixture for Scripted {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        let script = [Fault::of(Rank::new(0), self.0.clone())];
        let wrap = |inner| Arc::new(Faulty::new(inner, &script)) as Arc<dyn Endpoint>;
        Ok(local::job(size).map_err(|error| error.to_string())?.into_iter().map(wrap).collect())
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[test]
fn lost_shortened_or_foreign_messages_are_detected() {
    for what in [What::Drop(Rank::new(1)), What::Truncate { to: Rank::new(1), bytes: 5 }, What::Fingerprint(77)] {
        for check in ["large_messages_arrive_in_both_directions", "random_programs_deliver_every_byte"].map(named) {
            assert!(check(&Scripted(what.clone())).is_err(), "no check fails for {what:?}");
        }
    }
}

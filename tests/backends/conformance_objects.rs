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
        let signature = Signature { fingerprint: 1, description: "anything".into() };
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
                let (observer, culprit) = (inner.rank(), None);
                let cause = Cause::Aborted { rank: observer, reason: "it leaves".into() };
                inner.abort(Failure { call: 0, description: "".into(), round: 0, observer, culprit, cause });
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
    fn patience(&self) -> Duration {
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
    let words = check(&Jobs(how)).expect_err(&format!("nobody notices a backend that {how:?}"));
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
    swapped_messages_are_noticed: SwapsMessagesOfAPair, messages_of_a_pair_keep_their_order;
    swapped_messages_are_noticed_among_others: SwapsMessagesOfAPair, calls_follow_each_other;
    a_corrupt_byte_is_noticed: CorruptsAByte, random_programs_arrive;
    a_corrupt_byte_of_much_is_noticed: CorruptsAByte, large_messages_arrive;
    a_corrupt_byte_is_noticed_in_contexts_of_some: CorruptsAByte, members_are_numbered_as_they_are_named;
    a_byte_beside_the_message_is_noticed: WritesBesideTheMessage, random_programs_arrive;
    skipped_empty_messages_are_noticed: SkipsEmptyMessages, empty_messages_are_awaited;
    messages_to_itself_are_noticed: TakesMessagesToItself, messages_to_itself_are_refused;
    ignored_lengths_are_noticed: IgnoresLengths, another_length_is_refused_before_a_byte_lands;
    early_writes_are_noticed: WritesBeforeItChecksTheLength, another_length_is_refused_before_a_byte_lands;
    ignored_fingerprints_are_noticed: IgnoresFingerprints, another_fingerprint_is_found;
    ignored_fingerprints_of_others_are_noticed: IgnoresFingerprints, another_fingerprint_of_a_rank_not_awaited_is_found;
    an_endless_wait_is_noticed: IgnoresTheDeadline, silence_ends_at_the_deadline;
    an_endless_wait_of_two_contexts_is_noticed:
        IgnoresTheDeadline, contexts_driven_in_opposite_orders_by_one_thread_end;
    busy_ranks_taken_for_silent_are_noticed: TakesBusyForSilent, busy_rank_is_not_a_silent_one;
    busy_ranks_that_nobody_gives_up_are_noticed: IgnoresTheDeadline, busy_rank_is_not_a_silent_one;
    a_deadline_without_a_culprit_is_noticed: BlamesNobody, silence_ends_at_the_deadline;
    different_failures_are_noticed: TellsEachRankAnotherFailure, a_failure_is_everybodys_and_stays;
    different_deadlines_are_noticed: TellsEachRankAnotherFailure, silence_ends_at_the_deadline;
    a_forgotten_failure_is_noticed: ForgetsItsFailure, a_failure_is_everybodys_and_stays;
    a_changing_failure_is_noticed: FailsAnewEachTime, a_failure_is_everybodys_and_stays;
    an_unnoticed_departure_is_noticed: NeverLeaves, a_departure_fails_those_who_wait;
    an_unnoticed_panic_is_noticed: NeverLeaves, a_panic_fails_those_who_wait;
    a_departure_that_harms_is_noticed: FailsWhenItLeaves, a_departure_harms_nobody_who_has_all;
    members_in_another_order_are_noticed: NumbersMembersInItsOwnOrder, members_are_numbered_as_they_are_named;
    a_context_open_twice_is_noticed: OpensTwice, what_cannot_be_opened_is_refused;
    a_failure_of_all_contexts_is_noticed: HasOneFailureForAllContexts, a_failed_context_leaves_the_others_alone;
    contexts_that_block_each_other_are_noticed:
        KeepsOneRoundOfAnyContextAtATime, messages_for_a_context_that_nobody_drives_block_no_other;
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

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[test]
fn lost_shortened_or_foreign_messages_are_detected() {
    for what in [What::Drop(Rank::new(1)), What::Truncate { to: Rank::new(1), bytes: 5 }, What::Fingerprint(77)] {
        for check in ["large_messages_arrive", "random_programs_arrive"].map(named) {
            assert!(check(&Scripted(what.clone())).is_err(), "nobody notices {what:?}");
        }
    }
}

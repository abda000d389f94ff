//! Watches for faults while a round waits: a rank that it needs has gone or makes another call, or
//! a deadline has passed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Mismatch;
use super::frame::{Header, Kind, MessageId};
use super::lane::Lane;
use super::limits::{MAX_SUSPENSIONS, TICK, grace};
use super::state::Engine;
use super::status::Reply;
use crate::ids::Rank;
use crate::transport::{
    Cause, ContextId, Deadline, Failure, RankStatus, Signature, Snapshot, Timeouts, Traversal, out_of_step,
};

/// The culprit, if it is known, and the cause of a failure.
pub(crate) type Diagnosis = (Option<Rank>, Cause);

/// The round that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundInfo<'a> {
    pub(crate) id: ContextId,
    /// This process's rank.
    pub(crate) rank: Rank,
    pub(crate) call: u64,
    pub(crate) signature: &'a Signature,
    pub(crate) round: u32,
    pub(crate) timeouts: Timeouts,
}

impl RoundInfo<'_> {
    pub(crate) fn failure(&self, (culprit, cause): Diagnosis) -> Failure {
        let &Self { rank: observer, call, signature, round, .. } = self;
        Failure { call, description: signature.description.clone(), round, observer, culprit, cause }
    }
}

/// The time for which a rank waits before it asks the rank that it waits for what that calls. The
/// interval doubles each time. Two ranks that wait for each other in different calls send nothing
/// that could show it.
const PROBE: Duration = Duration::from_millis(200);

/// The state of a wait.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The engine's time when it last looked for faults.
    now: Instant,
    /// The time when something last moved, here or along the chain.
    since: Instant,
    paused: bool,
    /// The context's progress, and the engine's number of departures, when last checked.
    progress: u64,
    departures: Option<u64>,
    /// The time when a needed rank was found to have left.
    missed: Option<Instant>,
    /// The time when the watch last ran, and the number of suspensions of the process before that.
    looked: Instant,
    suspensions: u32,
    /// The times when it last swept all connections, and last checked early messages.
    swept: Instant,
    patrolled: Instant,
    /// Whether the peer was asked what it called after a mismatch.
    asked: bool,
    /// The time after which to ask the rank that it waits for what that calls; and the rank that
    /// was asked.
    probe: Duration,
    probed: Option<Rank>,
    /// The current traversal of the wait-for graph.
    traversal: Option<Traversal>,
    /// The result of the last traversal.
    found: Option<Finding>,
    /// The time when a traversal last ended at a rank that replies but has not called.
    answered: Option<Instant>,
    /// The time when the last traversal ended; the next begins some time later.
    last_traversal: Instant,
}

/// The end of a chain in the wait-for graph.
#[derive(Debug)]
struct Finding {
    snapshot: Snapshot,
    deadline: Deadline,
    /// Whether no process on the chain made progress since the traversal before, if there was one.
    still: bool,
    culprit: Option<Rank>,
    chain: Arc<str>,
}

impl Watch {
    pub(crate) fn begin(now: Instant) -> Self {
        Self {
            now,
            since: now,
            paused: false,
            progress: u64::MAX,
            departures: None,
            missed: None,
            looked: now,
            suspensions: 0,
            swept: now,
            patrolled: now,
            asked: false,
            probe: PROBE,
            probed: None,
            traversal: None,
            found: None,
            answered: None,
            last_traversal: now,
        }
    }

    /// Restarts the wait after progress.
    fn restart(&mut self, now: Instant) {
        (self.since, self.last_traversal, self.answered) = (now, now, None);
        (self.traversal, self.found) = (None, None);
    }

    /// Returns how long nothing has moved.
    pub(crate) fn waited(&self) -> Duration {
        self.now.duration_since(self.since)
    }

    /// Returns whether this is the first pause.
    pub(crate) fn is_first_pause(&mut self) -> bool {
        !std::mem::replace(&mut self.paused, true)
    }

    /// Returns whether a sweep is due, and counts it as done.
    pub(crate) fn is_time_to_sweep(&mut self, now: Instant) -> bool {
        let due = now.duration_since(self.swept) >= TICK;
        if due {
            self.swept = now;
        }
        due
    }

    /// Extends the deadlines if this process was suspended or had no processor. It may have replies
    /// that it has not read, and has not sent requests that were due. The number of extensions is
    /// limited.
    fn account_for_suspension(&mut self, now: Instant, timeouts: Timeouts) {
        let suspended = now.duration_since(std::mem::replace(&mut self.looked, now));
        if suspended > grace(timeouts.shortest()) && self.suspensions < MAX_SUSPENSIONS {
            let share = if self.found.is_some() { 0.75 } else { 0.4 };
            let before = |timeout: Duration| now.checked_sub(timeout.mul_f64(share));
            if let Some(since) = before(timeouts.arrival) {
                self.since = self.since.max(since);
            }
            if let Some(answered) = before(timeouts.silence) {
                self.answered = self.answered.max(Some(answered));
            }
            // The next traversal begins at once.
            self.last_traversal = before(timeouts.shortest()).unwrap_or(now);
            (self.traversal, self.asked) = (None, false);
            self.suspensions += 1;
        }
    }

    /// Returns the culprit and the cause if something is wrong.
    pub(crate) fn fault(&mut self, engine: &mut Engine, info: &RoundInfo<'_>) -> Option<Diagnosis> {
        self.now = engine.now;
        let context = engine.contexts.get(&info.id)?;
        if context.agreement.is_pending() {
            return None;
        }
        let (active, now) = (context.active.as_ref()?, self.now);
        if context.progress != self.progress {
            (self.progress, self.suspensions, self.probe) = (context.progress, 0, PROBE);
            self.restart(now);
        }
        self.account_for_suspension(now, info.timeouts);
        if let Some(mismatch) = active.mismatch.clone() {
            return match mismatch {
                Mismatch::Length(cause) => Some((None, cause)),
                Mismatch::OtherCall(from, theirs) => self.disagreement(engine, info, (from, theirs)),
            };
        }
        if let Some(gone) = self.gone(engine, info) {
            // A rank that has left may have completed its call, and this rank may be in another
            // one. Messages and statuses of others can show that.
            if now.duration_since(*self.missed.get_or_insert(now)) < TICK {
                return None;
            }
            engine.sweep(self.now);
            engine.check_early_messages(info.id);
            let context = engine.contexts.get_mut(&info.id)?;
            let left = context.lanes.get(context.process(gone.0?)).and_then(|lane| lane.left.as_ref());
            let fingerprint = left.filter(|left| left.how.is_none()).and_then(|left| left.fingerprint(info.call));
            let other = fingerprint.filter(|other| *other != info.signature.fingerprint);
            let active = context.active.as_mut()?;
            if let (None, Some(fingerprint)) = (&active.mismatch, other) {
                active.mismatch = Some(Mismatch::OtherCall(gone.0?, theirs(info, fingerprint)));
            }
            return active.mismatch.is_none().then_some(gone);
        }
        if now.duration_since(self.patrolled) >= TICK {
            self.patrolled = now;
            engine.check_early_messages(info.id);
        }
        let waited = now.duration_since(self.since);
        self.compare(engine, info, waited);
        self.deadline(engine, info)
    }

    /// Returns a fault if a rank that it needs has left.
    fn gone(&mut self, engine: &Engine, info: &RoundInfo<'_>) -> Option<Diagnosis> {
        if self.departures == Some(engine.departures) {
            return None;
        }
        let context = engine.contexts.get(&info.id)?;
        let needed = |lane: &Lane| lane.into.is_awaited() || lane.out.is_pending();
        let mut members =
            (0..).map(Rank::new).zip(&context.members).filter(|(_, member)| needed(&context.lanes[member.index()]));
        let gone = members.find_map(|(rank, member)| {
            let how = engine.gone(context, member.index(), info.call)?;
            Some((Some(rank), Cause::Gone { rank, how }))
        });
        if gone.is_none() {
            self.departures = Some(engine.departures);
        }
        gone
    }

    /// Asks the rank that it waits for what that calls, from time to time, and records a mismatch.
    fn compare(&mut self, engine: &mut Engine, info: &RoundInfo<'_>, waited: Duration) -> Option<()> {
        let context = engine.contexts.get(&info.id)?;
        let Some(asked) = self.probed else {
            // There is one status request at a time.
            if self.traversal.is_none() && waited >= self.probe.min(info.timeouts.shortest() / 8) {
                let process = context.awaits()?;
                self.probed = context.rank_of(process);
                engine.ask(info.id, process, info.id, info.call);
            }
            return None;
        };
        let status = match engine.reply(info.id, grace(info.timeouts.shortest())) {
            Reply::Pending => return None,
            Reply::Status(status) => Some(status),
            Reply::Missing => None,
        };
        (self.probed, self.probe) = (None, waited.saturating_mul(2));
        let RankStatus { posted, signature, .. } = status?;
        // The rank may not have reached that call.
        let fingerprint = signature.filter(|_| posted.is_some_and(|(call, _)| call >= info.call))?.0;
        if fingerprint != info.signature.fingerprint {
            let active = engine.contexts.get_mut(&info.id)?.active.as_mut()?;
            active.mismatch.get_or_insert(Mismatch::OtherCall(asked, theirs(info, fingerprint)));
        }
        None
    }

    /// Returns a fault for a message of another call or round, once its sender has reported what it
    /// called.
    fn disagreement(
        &mut self,
        engine: &mut Engine,
        info: &RoundInfo<'_>,
        (from, theirs): (Rank, Header),
    ) -> Option<Diagnosis> {
        let call = info.call.min(theirs.message_id.call);
        if !std::mem::replace(&mut self.asked, true) {
            self.traversal = None;
            let asked = engine.contexts.get(&info.id)?.process(from);
            engine.ask(info.id, asked, info.id, call);
        }
        let signature = match engine.reply(info.id, grace(info.timeouts.shortest())) {
            Reply::Pending => return None,
            Reply::Status(status) => status.signature,
            Reply::Missing => None,
        };
        let context = engine.contexts.get(&info.id)?;
        // A rank that has left reported it when it left.
        let left = context.lanes.get(context.process(from)).and_then(|lane| lane.left.as_ref());
        let signature = signature.or_else(|| left?.called(call).cloned());
        let equal = theirs.message_id.call == info.call;
        let (fingerprint, description) = signature.unwrap_or((theirs.fingerprint, "something else".into()));
        let (call_a, call_b) = match context.called(call) {
            // If the two are in different calls, they differed in the earlier one, which one of
            // them has completed.
            Some(mine) if mine.fingerprint != fingerprint => (mine.description, description),
            _ if equal && theirs.fingerprint != info.signature.fingerprint => {
                (info.signature.description.clone(), description)
            }
            _ => {
                let MessageId { call: at, round, .. } = theirs.message_id;
                let mine = format!("{} (call {}, round {})", info.signature.description, info.call, info.round);
                let step = out_of_step(info.call, at);
                let round = if at == call { format!(", round {round}") } else { String::new() };
                (mine.into(), format!("{description} (call {call}{round}){step}").into())
            }
        };
        Some((None, Cause::Disagree { rank_a: info.rank, call_a, rank_b: from, call_b }))
    }

    /// Returns the fault of the rank at the end of the chain, if its deadline has passed.
    ///
    /// Traversals begin after two fifths of the shorter timeout, and as long after each other. The
    /// arrival timeout counts from the last progress of any rank on the chain. The silence timeout
    /// counts also from the last time that the rank at the end replied. A failure needs two
    /// traversals with the same result, since distant ranks may make progress meanwhile; one, if
    /// there was no time for more and the chain has an end.
    fn deadline(&mut self, engine: &mut Engine, info: &RoundInfo<'_>) -> Option<Diagnosis> {
        let timeouts = info.timeouts;
        let silent = self.now.duration_since(self.answered.map_or(self.since, |answered| answered.max(self.since)));
        let due = silent >= timeouts.silence;
        let step = timeouts.shortest().mul_f64(0.4);
        let begins = self.traversal.is_none() && self.now.duration_since(self.last_traversal) >= step;
        if begins && due {
            // There is one status request at a time, and this one matters more.
            self.probed = None;
        }
        if begins && self.probed.is_none() {
            self.traversal = engine.traverse(info.id);
        }
        if let Some(traversal) = &mut self.traversal {
            // From the deadline on, each rank that is asked has less time to reply, but enough to
            // read the question.
            let grace = if due { (step / 4).max(4 * TICK) } else { grace(timeouts.shortest()) };
            if engine.advance(info.id, traversal, grace) {
                let (snapshot, deadline) = (traversal.snapshot(), traversal.deadline()?);
                let context = engine.contexts.get(&info.id)?;
                let culprit = traversal.culprit().and_then(|process| context.rank_of(process.index()));
                let chain = Arc::<str>::from(traversal.describe(&context.members));
                let before = self.found.take();
                let moved = before.as_ref().is_some_and(|before| !before.snapshot.is_still(&snapshot));
                // Replies that seem to close a cycle may describe different moments.
                let still = !moved && (before.is_some() || !traversal.is_cycle());
                (self.traversal, self.last_traversal) = (None, self.now);
                if moved {
                    // A rank on the chain made progress, so the time starts again.
                    (self.since, self.answered) = (self.now, None);
                }
                if deadline == Deadline::Arrival {
                    self.answered = Some(self.now);
                    let (waited, description) = (self.waited(), &info.signature.description);
                    log::info!("call {} ({description}) has waited for {waited:.0?}: {chain}", info.call);
                }
                self.found = Some(Finding { snapshot, deadline, still, culprit, chain });
            }
        }
        let found = self.found.as_ref().filter(|found| found.still && self.traversal.is_none())?;
        let elapsed = match found.deadline {
            Deadline::Silence => silent,
            Deadline::Arrival => self.now.duration_since(self.since),
        };
        let (deadline, waited) = (found.deadline, timeouts.of(found.deadline));
        let cause = || Cause::Deadline { deadline, waited, chain: Arc::clone(&found.chain) };
        (elapsed >= waited).then(|| (found.culprit, cause()))
    }
}

/// Returns the header that a rank would send in the same call with that fingerprint.
fn theirs(info: &RoundInfo<'_>, fingerprint: u64) -> Header {
    let message_id = MessageId { call: info.call, ..MessageId::default() };
    Header { message_id, fingerprint, ..Header::new(Kind::RequestToSend, info.id) }
}

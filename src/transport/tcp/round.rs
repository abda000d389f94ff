//! One round: what it moves, and how it waits.

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use super::context::{Doubt, Turn};
use super::engine::Engine;
use super::frame::{Header, Kind, Stamp};
use super::lane::Lane;
use super::process::{Process, TICK};
use super::verdict::grace;
use super::walk::{Look, Reply, Walk};
use super::words::Standing;
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::bases::Bases;
use crate::transport::{Cause, ContextId, Failure, RoundIo, Signature, Transport};

/// One context of a process.
#[derive(Debug)]
pub(super) struct Tcp {
    process: Arc<Process>,
    id: ContextId,
    rank: Rank,
    size: usize,
    /// The last call and round, and when it was over.
    last: Option<(u64, u32)>,
    over: Instant,
}

/// How long it does so without giving way.
const EAGER: Duration = Duration::from_micros(10);

/// A cause, and whose fault it is.
type Fault = (Option<Rank>, Cause);

/// What a round is of.
#[derive(Clone, Copy, Debug)]
struct About<'a> {
    call: u64,
    signature: &'a Signature,
    round: u32,
    timeout: Duration,
}

/// How long a rank looks again and again before it sleeps, where each has a core of its own.
const SPIN: Duration = Duration::from_micros(50);

/// How often a deadline is put off since this process has slept.
const MOST_NAPS: u32 = 8;

/// How long a rank waits before it asks the one it waits for what that calls; then for twice as long. Two that wait for each
/// other in different calls send nothing that could tell.
const PROBE: Duration = Duration::from_millis(200);

/// What a round knows of its waiting.
#[derive(Debug)]
struct Wait {
    /// When something moved last, or the chain of who waits for whom did.
    since: Instant,
    /// The count of what the context got done, and of departures, as last seen.
    progress: u64,
    departures: Option<u64>,
    /// When it looked last, and how often it had slept before that.
    looked: Instant,
    naps: u32,
    /// When it last read what nobody waits for, and looked at it.
    swept: Instant,
    patrolled: Instant,
    /// Whether it has asked what another calls.
    asked: bool,
    /// When to ask the one it waits for what that calls; and whom it has asked.
    probe: Duration,
    probed: Option<Rank>,
    walk: Option<Walk>,
    /// What it saw at the end of the chain, half of the deadline ago, and now.
    looks: [Option<Look>; 2],
}

impl Wait {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            progress: u64::MAX,
            departures: None,
            looked: now,
            naps: 0,
            swept: now,
            patrolled: now,
            asked: false,
            probe: PROBE,
            probed: None,
            walk: None,
            looks: [None; 2],
        }
    }

    /// Where this process was stopped, or had no processor, answers may have come that it has not read, and it has not asked
    /// when it would have: so it has some time left, whatever the clock says. Not any number of times.
    fn look(&mut self, now: Instant, timeout: Duration) {
        let slept = now.duration_since(std::mem::replace(&mut self.looked, now));
        if slept > grace(timeout) && self.naps < MOST_NAPS {
            let spent = timeout.mul_f64(if self.looks[0].is_some() { 0.75 } else { 0.4 });
            self.since = self.since.max(now.checked_sub(spent).unwrap_or(now));
            (self.walk, self.looks[1], self.asked) = (None, None, false);
            self.naps += 1;
        }
    }
}

impl Tcp {
    pub(super) fn new(process: Arc<Process>, id: ContextId, rank: Rank, size: usize) -> Self {
        Self { process, id, rank, size, last: None, over: Instant::now() }
    }

    /// What is wrong with a round that this rank was given, if something is.
    fn refusal(&mut self, io: &RoundIo<'_>) -> Option<String> {
        let now = (io.call, io.number());
        if self.last.replace(now).is_some_and(|last| last >= now) {
            return Some(format!("call {}, round {} does not come after the last one", now.0, now.1));
        }
        // Those of a round are in order of their peers.
        let (sends, receives) = (io.sends(), io.receives());
        let peers = || sends.iter().chain(receives).map(|message| message.peer);
        if peers().any(|peer| peer == self.rank) {
            return Some("a message between a rank and itself".to_owned());
        }
        let beyond = peers().find(|peer| peer.index() >= self.size)?;
        Some(format!("a message with rank {beyond} of {}", self.size))
    }

    fn failure_of(&self, about: &About<'_>, (culprit, cause): Fault) -> Failure {
        let &About { call, signature, round, .. } = about;
        Failure { call, words: signature.words.clone(), round, observer: self.rank, culprit, cause }
    }

    /// Waits a little: looking again and again for as long as that is cheaper than to sleep, then asleep.
    fn pause<'p>(
        &'p self,
        mut engine: MutexGuard<'p, Engine>,
        messages: (&[Message], &[Message]),
        wait: &mut Wait,
    ) -> MutexGuard<'p, Engine> {
        let waited = wait.since.elapsed();
        if self.process.spins() && engine.active.len() == 1 && waited < SPIN {
            if waited > EAGER {
                // The other may be on this very core.
                drop(engine);
                std::thread::yield_now();
                engine = self.process.lock();
            }
            engine.look(self.id, messages);
            return engine;
        }
        let mut engine = self.process.sleep(engine);
        if wait.swept.elapsed() >= TICK {
            engine.sweep();
            wait.swept = Instant::now();
        }
        engine
    }

    /// What is wrong, if something is.
    fn fault(&self, engine: &mut Engine, wait: &mut Wait, about: &About<'_>) -> Option<Fault> {
        let context = engine.contexts.get(&self.id)?;
        if context.proposal.is_some() {
            return None;
        }
        let (turn, now) = (context.turn.as_ref()?, Instant::now());
        if context.progress != wait.progress {
            *wait = Wait {
                progress: context.progress,
                since: now,
                naps: 0,
                probe: PROBE,
                walk: None,
                looks: [None; 2],
                ..*wait
            };
        }
        wait.look(now, about.timeout);
        if let Some(doubt) = turn.doubt.clone() {
            return match doubt {
                Doubt::Known(cause) => Some((None, cause)),
                Doubt::Of(from, theirs) => self.disagreement(engine, wait, about, (from, theirs)),
            };
        }
        if wait.departures != Some(engine.departures) {
            wait.departures = Some(engine.departures);
            let needed =
                |lane: &Lane| !lane.into.awaited.is_empty() || !lane.out.waiting.is_empty() || lane.out.settling;
            let mut members =
                context.members.iter().enumerate().filter(|(_, member)| needed(&context.lanes[member.index()]));
            let gone = members.find_map(|(rank, member)| {
                engine.gone(context, member.index(), about.call).map(|how| (Rank::new(rank), how))
            });
            if let Some((rank, how)) = gone {
                return Some((Some(rank), Cause::Gone { rank, how }));
            }
        }
        if now.duration_since(wait.patrolled) >= TICK {
            wait.patrolled = now;
            engine.patrol(self.id);
        }
        let waited = now.duration_since(wait.since);
        self.compare(engine, wait, about, waited);
        self.deadline(engine, wait, about, waited)
    }

    /// Asks the one it waits for what that calls, now and then; what differs is a doubt.
    fn compare(&self, engine: &mut Engine, wait: &mut Wait, about: &About<'_>, waited: Duration) -> Option<()> {
        let context = engine.contexts.get(&self.id)?;
        let Some(asked) = wait.probed else {
            // One question at a time.
            if wait.walk.is_none() && waited >= wait.probe.min(about.timeout / 8) {
                let process = context.awaits()?;
                wait.probed = context.rank_of(process);
                engine.ask(self.id, process, self.id, about.call);
            }
            return None;
        };
        let standing = match engine.reply(self.id, grace(about.timeout)) {
            Reply::Pending => return None,
            Reply::Standing(standing) => Some(standing),
            Reply::None => None,
        };
        (wait.probed, wait.probe) = (None, waited.saturating_mul(2));
        let Standing { posted, said, .. } = standing?;
        // It may not have come to that call.
        let fingerprint = said.filter(|_| posted.is_some_and(|(call, _)| call >= about.call))?.0;
        if fingerprint != about.signature.fingerprint {
            let stamp = Stamp { call: about.call, ..Stamp::default() };
            let theirs = Header { stamp, fingerprint, ..Header::new(Kind::Offer, self.id) };
            let turn = engine.contexts.get_mut(&self.id)?.turn.as_mut()?;
            turn.doubt.get_or_insert(Doubt::Of(asked, theirs));
        }
        None
    }

    /// That a rank has sent something of another call or round; once it has said what it called.
    fn disagreement(
        &self,
        engine: &mut Engine,
        wait: &mut Wait,
        about: &About<'_>,
        (from, theirs): (Rank, Header),
    ) -> Option<Fault> {
        let call = about.call.min(theirs.stamp.call);
        if !std::mem::replace(&mut wait.asked, true) {
            wait.walk = None;
            let asked = engine.contexts.get(&self.id)?.process(from);
            engine.ask(self.id, asked, self.id, call);
        }
        let said = match engine.reply(self.id, grace(about.timeout)) {
            Reply::Pending => return None,
            Reply::Standing(standing) => standing.said,
            Reply::None => None,
        };
        let context = engine.contexts.get(&self.id)?;
        let equal = theirs.stamp.call == about.call;
        let (fingerprint, words) = said.unwrap_or((theirs.fingerprint, "something else".into()));
        let (ones, others) = match context.called(call) {
            // If the calls are not the same, one of the two was through with the call in which they parted.
            Some(mine) if mine.fingerprint != fingerprint => (mine.words.clone(), words),
            _ if equal && theirs.fingerprint != about.signature.fingerprint => (about.signature.words.clone(), words),
            _ => {
                let Stamp { call, round, .. } = theirs.stamp;
                let mine = format!("{} (call {}, round {})", about.signature.words, about.call, about.round);
                (mine.into(), format!("{words} (call {call}, round {round})").into())
            }
        };
        Some((None, Cause::Disagree { one: self.rank, ones, other: from, others }))
    }

    /// That nothing has happened for too long; looked at twice, since somebody may get on far away.
    fn deadline(&self, engine: &mut Engine, wait: &mut Wait, about: &About<'_>, waited: Duration) -> Option<Fault> {
        let (timeout, due) = (about.timeout, waited >= about.timeout);
        let next = usize::from(wait.looks[0].is_some());
        if due {
            wait.probed = None;
        }
        if wait.probed.is_none() && wait.looks[1].is_none() && (due || waited >= timeout.mul_f64([0.4, 0.8][next])) {
            if wait.walk.is_none() {
                wait.walk = Walk::begin(engine, self.id);
            }
            wait.looks[next] = wait.walk.as_mut()?.advance(engine, grace(timeout), due);
            if next == 0 && wait.looks[0].is_some() && !due {
                wait.walk = None;
            }
        }
        if !due {
            return None;
        }
        let looks = wait.looks;
        let still = match looks {
            [Some(before), Some(now)] => before.is_still(&now),
            // There was no time for more than one.
            _ => true,
        };
        if still {
            let (walk, context) = (wait.walk.as_ref()?, engine.contexts.get(&self.id)?);
            let cause = Cause::Deadline { waited: timeout, chain: walk.words(context).into() };
            return Some((walk.culprit(context), cause));
        }
        // Somebody on the chain got something done since: the deadline starts again.
        *wait = Wait { since: Instant::now(), walk: None, looks: [looks[1], None], ..*wait };
        None
    }
}

impl Transport for Tcp {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        let process = Arc::clone(&self.process);
        let refusal = self.refusal(&io);
        let about = About { call: io.call, signature: io.signature, round: io.number(), timeout: io.timeout };
        let (program, index, messages) = (io.program(), io.index(), (io.sends(), io.receives()));
        let bases = Bases::of(&mut io.buffers());
        // Declared before the engine is locked, so that it is dropped after that is let go of.
        let mut posted = Posted { process: &process, id: self.id, turn: false };
        let mut engine = process.lock();
        if self.over.elapsed() >= TICK {
            // Who comes late first hears what has been said meanwhile: the call may have failed.
            engine = process.glance(engine);
        }
        if let Some(reason) = refusal {
            let cause = Cause::Aborted { rank: self.rank, reason: reason.into() };
            engine.propose(self.id, self.failure_of(&about, (Some(self.rank), cause)));
        } else if engine.failure(self.id).is_none() && !engine.is_undecided(self.id) {
            posted.turn = true;
            // SAFETY: what `io` lends stays where it is until this returns, and before that, even if something here panics,
            // `posted` withdraws the turn; the buffers are reached through these pointers alone.
            #[allow(unsafe_code)]
            let turn = unsafe { Turn::new((program, index), bases, about.call, about.signature, about.timeout) };
            engine.post(self.id, turn, about.signature, messages);
        }
        let mut wait = Wait::new();
        loop {
            let done = posted.turn && !engine.is_undecided(self.id) && engine.is_done(self.id);
            // A failure in a later call is none of what is done here.
            let failure = engine.failure(self.id).filter(|failure| !done || failure.call <= about.call).cloned();
            if done || failure.is_some() {
                engine.withdraw(self.id);
                posted.turn = false;
                process.wake(&engine);
                drop(engine);
                self.over = Instant::now();
                return failure.map_or(Ok(()), Err);
            }
            if let Some(fault) = self.fault(&mut engine, &mut wait, &about) {
                engine.propose(self.id, self.failure_of(&about, fault));
            }
            engine = self.pause(engine, messages, &mut wait);
        }
    }

    fn abort(&mut self, failure: Failure) {
        let mut engine = self.process.lock();
        engine.propose(self.id, failure);
    }

    fn failure(&self) -> Option<Failure> {
        let mut engine = self.process.lock();
        // What was proposed is decided on soon, one way or another.
        while engine.is_undecided(self.id) {
            engine = self.process.sleep(engine);
            engine.sweep();
        }
        engine.failure(self.id).cloned()
    }
}

/// Whether a turn is posted; if so, it is withdrawn when this is dropped.
#[derive(Debug)]
struct Posted<'p> {
    process: &'p Process,
    id: ContextId,
    turn: bool,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        if self.turn {
            self.process.lock().withdraw(self.id);
        }
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.process.leave(self.id);
    }
}

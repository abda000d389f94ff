//! What a round watches for while it waits: whether somebody it needs has gone, or calls something else, or whether nothing has
//! happened for too long.

use std::time::{Duration, Instant};

use super::context::Doubt;
use super::frame::{Header, Kind, Stamp};
use super::lane::Lane;
use super::limits::{MOST_NAPS, TICK, grace};
use super::state::Engine;
use super::walk::{Look, Reply, Walk};
use super::words::Standing;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure, Signature};

/// A cause, and whose fault it is.
pub(crate) type Fault = (Option<Rank>, Cause);

/// What a round is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) id: ContextId,
    /// Whose it is.
    pub(crate) rank: Rank,
    pub(crate) call: u64,
    pub(crate) signature: &'a Signature,
    pub(crate) round: u32,
    pub(crate) timeout: Duration,
}

impl About<'_> {
    pub(crate) fn failure(&self, (culprit, cause): Fault) -> Failure {
        let &Self { rank: observer, call, signature, round, .. } = self;
        Failure { call, words: signature.words.clone(), round, observer, culprit, cause }
    }
}

/// How long a rank waits before it asks the one it waits for what that calls; then for twice as long. Two that wait for each
/// other in different calls send nothing that could tell.
const PROBE: Duration = Duration::from_millis(200);

/// What a round knows of its waiting.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The time, looked at once for all that is done between two pauses.
    now: Instant,
    /// When something moved last, or the chain of who waits for whom did.
    since: Instant,
    paused: bool,
    /// The count of what the context got done, and of departures, as last seen.
    progress: u64,
    departures: Option<u64>,
    /// When it found that somebody it needs has left.
    missed: Option<Instant>,
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

impl Watch {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self {
            now,
            since: now,
            paused: false,
            progress: u64::MAX,
            departures: None,
            missed: None,
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

    /// The time, as last looked at.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Looks at the time.
    pub(crate) fn tick(&mut self) {
        self.now = Instant::now();
    }

    /// For how long nothing has moved.
    pub(crate) fn waited(&self) -> Duration {
        self.now.duration_since(self.since)
    }

    /// Whether it has not waited yet.
    pub(crate) fn is_first_pause(&mut self) -> bool {
        !std::mem::replace(&mut self.paused, true)
    }

    /// Whether what nobody waits for is to be read; then it is taken for done.
    pub(crate) fn is_time_to_sweep(&mut self) -> bool {
        let due = self.now.duration_since(self.swept) >= TICK;
        if due {
            self.swept = self.now;
        }
        due
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

    /// What is wrong, if something is.
    pub(crate) fn fault(&mut self, engine: &mut Engine, about: &About<'_>) -> Option<Fault> {
        let context = engine.contexts.get(&about.id)?;
        if context.proposal.is_some() {
            return None;
        }
        let (turn, now) = (context.turn.as_ref()?, self.now);
        if context.progress != self.progress {
            *self = Self {
                progress: context.progress,
                since: now,
                naps: 0,
                probe: PROBE,
                walk: None,
                looks: [None; 2],
                ..*self
            };
        }
        self.look(now, about.timeout);
        if let Some(doubt) = turn.doubt.clone() {
            return match doubt {
                Doubt::Known(cause) => Some((None, cause)),
                Doubt::Of(from, theirs) => self.disagreement(engine, about, (from, theirs)),
            };
        }
        if let Some(gone) = self.gone(engine, about) {
            // Who has left may have done what it was to do, and this rank something else: what others have said tells.
            if now.duration_since(*self.missed.get_or_insert(now)) < TICK {
                return None;
            }
            engine.sweep();
            engine.patrol(about.id);
            let context = engine.contexts.get_mut(&about.id)?;
            let left = context.lanes.get(context.process(gone.0?)).and_then(|lane| lane.left.as_ref());
            let said = left.filter(|left| left.how.is_none()).and_then(|left| left.called(about.call));
            let other = said.map(|(fingerprint, _)| *fingerprint).filter(|other| *other != about.signature.fingerprint);
            let turn = context.turn.as_mut()?;
            if let (None, Some(fingerprint)) = (&turn.doubt, other) {
                turn.doubt = Some(Doubt::Of(gone.0?, theirs(about, fingerprint)));
            }
            return turn.doubt.is_none().then_some(gone);
        }
        if now.duration_since(self.patrolled) >= TICK {
            self.patrolled = now;
            engine.patrol(about.id);
        }
        let waited = now.duration_since(self.since);
        self.compare(engine, about, waited);
        self.deadline(engine, about, waited)
    }

    /// That somebody it needs has left.
    fn gone(&mut self, engine: &Engine, about: &About<'_>) -> Option<Fault> {
        if self.departures == Some(engine.departures) {
            return None;
        }
        let context = engine.contexts.get(&about.id)?;
        let needed = |lane: &Lane| !lane.into.awaited.is_empty() || !lane.out.waiting.is_empty() || lane.out.settling;
        let mut members =
            (0..).map(Rank::new).zip(&context.members).filter(|(_, member)| needed(&context.lanes[member.index()]));
        let gone = members.find_map(|(rank, member)| {
            let how = engine.gone(context, member.index(), about.call)?;
            Some((Some(rank), Cause::Gone { rank, how }))
        });
        if gone.is_none() {
            self.departures = Some(engine.departures);
        }
        gone
    }

    /// Asks the one it waits for what that calls, now and then; what differs is a doubt.
    fn compare(&mut self, engine: &mut Engine, about: &About<'_>, waited: Duration) -> Option<()> {
        let context = engine.contexts.get(&about.id)?;
        let Some(asked) = self.probed else {
            // One question at a time.
            if self.walk.is_none() && waited >= self.probe.min(about.timeout / 8) {
                let process = context.awaits()?;
                self.probed = context.rank_of(process);
                engine.ask(about.id, process, about.id, about.call);
            }
            return None;
        };
        let standing = match engine.reply(about.id, grace(about.timeout)) {
            Reply::Pending => return None,
            Reply::Standing(standing) => Some(standing),
            Reply::None => None,
        };
        (self.probed, self.probe) = (None, waited.saturating_mul(2));
        let Standing { posted, said, .. } = standing?;
        // It may not have come to that call.
        let fingerprint = said.filter(|_| posted.is_some_and(|(call, _)| call >= about.call))?.0;
        if fingerprint != about.signature.fingerprint {
            let turn = engine.contexts.get_mut(&about.id)?.turn.as_mut()?;
            turn.doubt.get_or_insert(Doubt::Of(asked, theirs(about, fingerprint)));
        }
        None
    }

    /// That a rank has sent something of another call or round; once it has said what it called.
    fn disagreement(
        &mut self,
        engine: &mut Engine,
        about: &About<'_>,
        (from, theirs): (Rank, Header),
    ) -> Option<Fault> {
        let call = about.call.min(theirs.stamp.call);
        if !std::mem::replace(&mut self.asked, true) {
            self.walk = None;
            let asked = engine.contexts.get(&about.id)?.process(from);
            engine.ask(about.id, asked, about.id, call);
        }
        let said = match engine.reply(about.id, grace(about.timeout)) {
            Reply::Pending => return None,
            Reply::Standing(standing) => standing.said,
            Reply::None => None,
        };
        let context = engine.contexts.get(&about.id)?;
        // Who has left has said it then.
        let left = context.lanes.get(context.process(from)).and_then(|lane| lane.left.as_ref());
        let said = said.or_else(|| left?.called(call).cloned());
        let equal = theirs.stamp.call == about.call;
        let (fingerprint, words) = said.unwrap_or((theirs.fingerprint, "something else".into()));
        let (ones, others) = match context.called(call) {
            // If the calls are not the same, one of the two was through with the call in which they parted.
            Some(mine) if mine.fingerprint != fingerprint => (mine.words, words),
            _ if equal && theirs.fingerprint != about.signature.fingerprint => (about.signature.words.clone(), words),
            _ => {
                let Stamp { call, round, .. } = theirs.stamp;
                let mine = format!("{} (call {}, round {})", about.signature.words, about.call, about.round);
                (mine.into(), format!("{words} (call {call}, round {round})").into())
            }
        };
        Some((None, Cause::Disagree { one: about.rank, ones, other: from, others }))
    }

    /// That nothing has happened for too long; looked at twice, since somebody may get on far away.
    fn deadline(&mut self, engine: &mut Engine, about: &About<'_>, waited: Duration) -> Option<Fault> {
        let (timeout, due) = (about.timeout, waited >= about.timeout);
        let next = usize::from(self.looks[0].is_some());
        if due {
            self.probed = None;
        }
        if self.probed.is_none() && self.looks[1].is_none() && (due || waited >= timeout.mul_f64([0.4, 0.8][next])) {
            if self.walk.is_none() {
                self.walk = Walk::begin(engine, about.id);
            }
            self.looks[next] = self.walk.as_mut()?.advance(engine, grace(timeout), due);
            if next == 0 && self.looks[0].is_some() && !due {
                self.walk = None;
            }
        }
        if !due {
            return None;
        }
        let looks = self.looks;
        let still = match looks {
            [Some(before), Some(now)] => before.is_still(&now),
            // There was no time for more than one.
            _ => true,
        };
        if still {
            let (walk, context) = (self.walk.as_ref()?, engine.contexts.get(&about.id)?);
            let cause = Cause::Deadline { waited: timeout, chain: walk.words(context).into() };
            return Some((walk.culprit(context), cause));
        }
        // Somebody on the chain got something done since: the deadline starts again.
        *self = Self { since: self.now, walk: None, looks: [looks[1], None], ..*self };
        None
    }
}

/// What a rank would have announced that has the same call as this one, with that fingerprint.
fn theirs(about: &About<'_>, fingerprint: u64) -> Header {
    let stamp = Stamp { call: about.call, ..Stamp::default() };
    Header { stamp, fingerprint, ..Header::new(Kind::Offer, about.id) }
}

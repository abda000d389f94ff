//! Who waits for whom: from a rank that has waited too long to the one that everybody waits for, by
//! asking each where it stands.
//!
//! A rank that waits names one of those it waits for. Any will do: while a program is sound, each
//! of them is in an earlier round, or outside of any, so that the chain ends at a rank that does
//! not wait. A chain that leaves its context goes on where the same thread of the same process
//! waits. One that ends nowhere is a circle: two contexts driven in opposite orders, say.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::codec::{RankStatus, write_status};
use super::connection::Connection;
use super::context::Context;
use super::frame::{Header, Kind, MessageId};
use super::inquiry::Inquiry;
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::{ContextId, Deadline, rank_name};

/// Bytes that wait for somebody to read them, from where on it gets no more answers.
const MOST_ANSWERS: usize = 1 << 20;

/// What became of a question.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It may still be answered.
    Pending,
    RankStatus(RankStatus),
    /// No answer came in time.
    None,
}

impl Engine {
    /// Asks a process where it stands in the context `about`, and what it called in that call, on
    /// behalf of a context.
    pub(crate) fn ask(&mut self, id: ContextId, asked: usize, about: ContextId, call: u64) {
        self.questions += 1;
        let number = self.questions;
        let status = (asked == self.me).then(|| self.status(about, call));
        if let Some(context) = self.contexts.get_mut(&id) {
            context.inquiry = Some(Inquiry { number, asked, since: Instant::now(), status });
        }
        if asked != self.me {
            let message_id = MessageId { call, ..MessageId::default() };
            self.say(asked, Header { message_id, bytes: number, ..Header::new(Kind::Question, about) }, &[]);
            self.pump_out(asked);
        }
    }

    /// What became of the question of a context, which is done with if there is anything to say.
    pub(crate) fn reply(&mut self, id: ContextId, grace: Duration) -> Reply {
        let Some(context) = self.contexts.get_mut(&id) else { return Reply::None };
        let Some(inquiry) = &mut context.inquiry else { return Reply::None };
        // Who is gone will not answer.
        let hears = self.connections[inquiry.asked].as_ref().is_some_and(Connection::is_open);
        let reply = match inquiry.status.take() {
            Some(status) => Reply::RankStatus(status),
            None if hears && inquiry.since.elapsed() < grace => return Reply::Pending,
            None => Reply::None,
        };
        context.inquiry = None;
        reply
    }

    /// Whether so many answers wait to be read that no more are given.
    pub(crate) fn is_full(&self, to: usize) -> bool {
        self.connections[to].as_ref().is_none_or(|connection| connection.queue.len() > MOST_ANSWERS)
    }

    /// Answers a question, unless so many answers wait to be read that nobody can need them all.
    pub(crate) fn answer(&mut self, from: usize, question: Header) {
        if self.is_full(from) {
            return;
        }
        let status = write_status(&self.status(question.context, question.message_id.call));
        self.say(from, Header { bytes: question.bytes, ..Header::new(Kind::Answer, question.context) }, &status);
        self.owe(from);
    }

    /// An answer has come.
    pub(crate) fn answered(&mut self, from: usize, number: u64, status: RankStatus) {
        self.contexts.values_mut().for_each(|context| context.answered(from, number, &status));
        let inquiries = self.contexts.values_mut().filter_map(|context| context.inquiry.as_mut());
        for inquiry in inquiries.filter(|inquiry| (inquiry.asked, inquiry.number) == (from, number)) {
            inquiry.status = Some(status.clone());
        }
    }

    fn status(&self, about: ContextId, call: u64) -> RankStatus {
        let Some(context) = self.contexts.get(&about) else {
            return RankStatus { failed: self.failed(), ..RankStatus::default() };
        };
        let here = context.awaits().map(|process| (about, process as u32));
        RankStatus {
            posted: context.at(),
            awaits: here.or_else(|| self.elsewhere(context)),
            progress: context.progress,
            left: context.presence == super::context::Presence::Left,
            failed: self.failed(),
            said: context.called(call).map(|signature| (signature.fingerprint, signature.description)),
        }
    }

    /// In which other context this process waits, by the thread that drives this one, if that is
    /// known.
    fn elsewhere(&self, context: &Context) -> Option<(ContextId, u32)> {
        let others = self.active.iter().filter_map(|id| self.contexts.get(id));
        let same = |other: &&Context| context.driver == 0 || context.driver == other.driver;
        let mut waiting = others.filter(same).filter_map(|other| Some((other.id, other.awaits()? as u32)));
        waiting.next()
    }

    fn failed(&self) -> Option<ContextId> {
        self.contexts.values().find(|context| context.failure.is_some()).map(|context| context.id)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Walk {
    home: ContextId,
    hops: Vec<Hop>,
    /// The call that the last hop waits in, if it is known.
    call: Option<u64>,
    look: Look,
    end: Option<End>,
    failed: Option<ContextId>,
}

/// A process waits for another, in a context.
#[derive(Clone, Copy, Debug)]
struct Hop {
    context: ContextId,
    from: usize,
    to: usize,
}

#[derive(Clone, Debug)]
enum End {
    Gone(Arc<str>),
    Left,
    NotCalled,
    Busy(u32),
    GoneOn(u64),
    Circle,
    /// A circle of others, in another context; or they keep each other waiting in turn.
    Elsewhere,
    Mute,
}

/// A chain is followed so far at least, and past each process twice: who makes up answers leads
/// nobody on for ever.
const MOST_HOPS: usize = 1024;

/// What has to stay the same for a deadline to hold: who is the last in the context where the chain
/// begins, and that nobody there got anything done. What goes on in other contexts does not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    last: usize,
    /// Of all but the last.
    progress: u64,
    /// Of the last, if it says.
    own: Option<u64>,
}

impl Look {
    /// Whether nothing got done between the two. Who says nothing gets nothing done.
    pub(crate) fn is_still(&self, other: &Self) -> bool {
        let own = self.own.is_none() || other.own.is_none() || self.own == other.own;
        (self.last, self.progress) == (other.last, other.progress) && own
    }
}

impl Walk {
    /// Begins with this process, which waits in a context. `None` if it does not.
    pub(crate) fn begin(engine: &mut Engine, home: ContextId) -> Option<Self> {
        let context = engine.contexts.get(&home)?;
        let (call, to) = (context.active.as_ref()?.call, context.awaits()?);
        let (from, progress) = (engine.me, context.progress);
        engine.ask(home, to, home, call);
        let look = Look { last: to, progress, own: None };
        let hops = vec![Hop { context: home, from, to }];
        Some(Self { home, hops, call: Some(call), look, end: None, failed: None })
    }

    /// Goes as far as answers have come. What it has found, if it is at its end; that is where it
    /// is if `now`.
    pub(crate) fn advance(&mut self, engine: &mut Engine, grace: Duration, now: bool) -> Option<Look> {
        while self.end.is_none() {
            let Hop { context, to, .. } = *self.hops.last()?;
            let call = engine.contexts.get(&self.home)?.active.as_ref()?.call;
            let gone = engine.contexts.get(&self.home).and_then(|home| engine.gone(home, to, call));
            if let Some(how) = gone.filter(|_| context == self.home) {
                self.end = Some(End::Gone(how));
                break;
            }
            let status = match engine.reply(self.home, if now { Duration::ZERO } else { grace }) {
                Reply::Pending => return None,
                Reply::None => {
                    self.end = Some(End::Mute);
                    break;
                }
                Reply::RankStatus(status) => status,
            };
            if context == self.home {
                self.look.own = Some(status.progress);
            }
            let Some((next, peer)) = status.awaits else {
                self.failed = status.failed;
                self.end = Some(self.ending(&status));
                break;
            };
            let hop = Hop { context: next, from: to, to: peer as usize };
            let met = |other: &Hop| (other.context, other.from) == (hop.context, hop.from);
            let met = self.hops.iter().position(met);
            let too_long = self.hops.len() >= MOST_HOPS.max(2 * engine.connections.len());
            if too_long || met.is_some() || peer as usize >= engine.connections.len() {
                let is_here = self.hops[met.unwrap_or(0)..].iter().any(|hop| hop.context == self.home);
                self.end = Some(if is_here && met.is_some() { End::Circle } else { End::Elsewhere });
                break;
            }
            self.hops.push(hop);
            self.call = status.posted.filter(|_| next == context).map(|(call, _)| call);
            if next == self.home {
                let own = self.look.own.take().unwrap_or(0);
                self.look = Look { last: hop.to, progress: self.look.progress.wrapping_add(own), own: None };
            }
            engine.ask(self.home, hop.to, next, call);
        }
        Some(self.look)
    }

    fn ending(&self, status: &RankStatus) -> End {
        match (status.left, status.posted, self.call) {
            (true, ..) => End::Left,
            (_, None, _) => End::NotCalled,
            (_, Some((at, _)), Some(call)) if at < call => End::NotCalled,
            (_, Some((at, round)), Some(call)) if at == call => End::Busy(round),
            (_, Some((at, _)), _) => End::GoneOn(at),
        }
    }

    /// Returns the deadline that counts for what is at the end; `None` if it is not there yet.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.end.as_ref().map(|end| match end {
            End::NotCalled | End::Busy(_) | End::Elsewhere => Deadline::Arrival,
            End::Gone(_) | End::Left | End::GoneOn(_) | End::Circle | End::Mute => Deadline::Silence,
        })
    }

    /// Whose fault it is, by its rank in the context where it began.
    pub(crate) fn culprit(&self, home: &Context) -> Option<Rank> {
        let last = match self.end {
            Some(End::Circle) => return None,
            // Answers are not given all at once, so those others may be well; who waits for them
            // here is at fault here.
            Some(End::Elsewhere) => self.hops.iter().rfind(|hop| hop.context == self.home),
            _ => self.hops.last(),
        };
        home.rank_of(last?.to)
    }

    /// The chain in words. Ranks are numbered as in the context where it began, wherever they wait,
    /// and as in the job if that is another number.
    pub(crate) fn words(&self, home: &Context) -> String {
        let name = |process: usize| match home.rank_of(process) {
            Some(rank) => rank_name(rank, &home.members),
            None => format!("rank {process} of the job"),
        };
        let one_context = self.hops.iter().all(|hop| hop.context == self.home);
        let mut words = String::new();
        for (i, Hop { context, from, to }) in self.hops.iter().enumerate() {
            let subject = if i == 0 { name(*from) } else { ", which".to_owned() };
            let place = if one_context { String::new() } else { format!(" in context {context}") };
            // Writing to a string does not fail.
            let _ = write!(words, "{subject} waits{place} for {}", name(*to));
        }
        let ending = match &self.end {
            Some(End::Gone(how)) => format!(", which {how}"),
            Some(End::Left) => ", which has left".to_owned(),
            Some(End::NotCalled) => ", which has not called".to_owned(),
            Some(End::Busy(round)) => format!(", which is busy elsewhere after round {round}"),
            Some(End::GoneOn(call)) => format!(", which has gone on to call {call}"),
            Some(End::Circle) => ", and so in a circle".to_owned(),
            Some(End::Elsewhere) => ", and so on".to_owned(),
            Some(End::Mute) | None => ", which does not answer".to_owned(),
        };
        words.push_str(&ending);
        if let Some(context) = self.failed {
            let _ = write!(words, "; context {context}, of which it is a member too, has failed");
        }
        words
    }
}

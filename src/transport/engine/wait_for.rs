//! Follows the wait-for graph: from a rank that has waited too long to the rank that holds up the
//! others, by asking one after another for its status.
//!
//! A waiting rank names one of the ranks that it waits for. Any will do: in a correct program, each
//! of them is in an earlier round or in none, so the chain ends at a rank that does not wait. A
//! chain that leaves its context continues where the same thread of the same process waits. A chain
//! without an end is a cycle, for example of two contexts that are driven in opposite orders.

use std::time::Duration;

use super::codec::RankStatus;
use super::connection::Connection;
use super::context::Context;
use super::frame::{Header, Kind, MessageId};
use super::inquiry::Inquiry;
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::{ChainEnd, ContextId, Deadline, WaitEdge, describe};

/// Maximum number of queued bytes; a peer that leaves more unread gets no further replies.
const MAX_QUEUED: usize = 1 << 20;

/// The result of a status request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The reply may still arrive.
    Pending,
    Status(RankStatus),
    /// No reply arrived in time.
    Missing,
}

impl Engine {
    /// Asks a process for its status in the context `about`, and what it called there in a given
    /// call. The request belongs to the context `id`.
    pub(crate) fn ask(&mut self, id: ContextId, asked: usize, about: ContextId, call: u64) {
        self.status_requests += 1;
        let number = self.status_requests;
        let (since, status) = (self.now, (asked == self.me).then(|| self.status(about, call)));
        if let Some(context) = self.contexts.get_mut(&id) {
            context.inquiry = Some(Inquiry { number, asked, since, status });
        }
        if asked != self.me {
            let message_id = MessageId { call, ..MessageId::default() };
            self.enqueue(asked, Header { message_id, bytes: number, ..Header::new(Kind::StatusRequest, about) }, &[]);
            self.pump_out(asked);
        }
    }

    /// Returns the result of a context's status request. The request is over unless it is pending.
    pub(crate) fn reply(&mut self, id: ContextId, grace: Duration) -> Reply {
        let Some(context) = self.contexts.get_mut(&id) else { return Reply::Missing };
        let Some(inquiry) = &mut context.inquiry else { return Reply::Missing };
        // A process that is gone will not reply.
        let open = self.connections[inquiry.asked].as_ref().is_some_and(Connection::is_open);
        let reply = match inquiry.status.take() {
            Some(status) => Reply::Status(status),
            None if open && self.now.duration_since(inquiry.since) < grace => return Reply::Pending,
            None => Reply::Missing,
        };
        context.inquiry = None;
        reply
    }

    /// Returns whether too many bytes are queued for a process to send it more replies.
    pub(crate) fn is_full(&self, to: usize) -> bool {
        self.connections[to].as_ref().is_none_or(|connection| connection.queue.len() > MAX_QUEUED)
    }

    /// Answers a status request, unless so many replies are queued that the peer cannot need them
    /// all.
    pub(crate) fn answer(&mut self, from: usize, question: Header) {
        if self.is_full(from) {
            return;
        }
        let status = encode(&self.status(question.context, question.message_id.call));
        self.enqueue(
            from,
            Header { bytes: question.bytes, ..Header::new(Kind::StatusReply, question.context) },
            &status,
        );
        self.mark_due(from);
    }

    /// Records a status reply.
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
        RankStatus {
            posted: context.at(),
            awaits: context.awaited().or_else(|| self.elsewhere(context)),
            progress: context.progress,
            left: context.presence == super::context::Presence::Left,
            failed: self.failed(),
            signature: context.called(call).map(|signature| (signature.fingerprint, signature.description)),
        }
    }

    /// Returns in which other context this process waits, on the thread that drives this context,
    /// for which process and in which call, if that is known.
    fn elsewhere(&self, context: &Context) -> Option<(ContextId, u32, u64)> {
        let others = self.active.iter().filter_map(|id| self.contexts.get(id));
        let same = |other: &&Context| context.driver == 0 || context.driver == other.driver;
        others.filter(same).find_map(Context::awaited)
    }

    fn failed(&self) -> Option<ContextId> {
        self.contexts.values().find(|context| context.failure.is_some()).map(|context| context.id)
    }
}

/// A traversal of the wait-for graph; see the [module](self).
#[derive(Debug)]
pub(crate) struct Traversal {
    home: ContextId,
    edges: Vec<WaitEdge>,
    /// The call that the last edge waits in.
    call: u64,
    snapshot: Snapshot,
    end: Option<ChainEnd>,
    failed: Option<ContextId>,
}

/// Minimum number of edges that are followed. The limit is two per process if that is more, so that
/// made-up replies cannot extend a traversal for ever.
const MAX_EDGES: usize = 1024;

/// The state that must stay the same for a deadline to hold: the last process in the context where
/// the chain begins, and the progress of those before it. Other contexts do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    last: usize,
    /// The progress of all but the last.
    progress: u64,
    /// The progress of the last, if it replies.
    own: Option<u64>,
}

impl Snapshot {
    /// Returns whether no process made progress between two snapshots. A process that does not
    /// reply makes none.
    pub(crate) fn is_still(&self, other: &Self) -> bool {
        let own = self.own.is_none() || other.own.is_none() || self.own == other.own;
        (self.last, self.progress) == (other.last, other.progress) && own
    }
}

impl Traversal {
    /// Begins at this process, which waits in a context. Returns `None` if it does not wait.
    pub(crate) fn begin(engine: &mut Engine, home: ContextId) -> Option<Self> {
        let context = engine.contexts.get(&home)?;
        let (call, to) = (context.active.as_ref()?.call, context.awaits()?);
        let (from, progress) = (engine.me, context.progress);
        engine.ask(home, to, home, call);
        let snapshot = Snapshot { last: to, progress, own: None };
        let edges = vec![WaitEdge { context: home, from: Rank::new(from), to: Rank::new(to) }];
        Some(Self { home, edges, call, snapshot, end: None, failed: None })
    }

    /// Continues as far as replies have arrived, and returns a snapshot if the traversal has ended.
    /// Each rank has the time `grace` to reply.
    pub(crate) fn advance(&mut self, engine: &mut Engine, grace: Duration) -> Option<Snapshot> {
        while self.end.is_none() {
            let WaitEdge { context, to: last, .. } = *self.edges.last()?;
            let to = last.index();
            let call = engine.contexts.get(&self.home)?.active.as_ref()?.call;
            let gone = engine.contexts.get(&self.home).and_then(|home| engine.gone(home, to, call));
            if let Some(how) = gone.filter(|_| context == self.home) {
                self.end = Some(ChainEnd::Gone(how));
                break;
            }
            let status = match engine.reply(self.home, grace) {
                Reply::Pending => return None,
                Reply::Missing => {
                    self.end = Some(ChainEnd::Unresponsive);
                    break;
                }
                Reply::Status(status) => status,
            };
            if context == self.home {
                self.snapshot.own = Some(status.progress);
            }
            let Some((next, peer, awaited)) = status.awaits else {
                self.failed = status.failed;
                self.end = Some(ChainEnd::of_idle(status.left, status.posted, Some(self.call)));
                break;
            };
            let peer = peer as usize;
            let met = |other: &WaitEdge| (other.context, other.from) == (next, last);
            let met = self.edges.iter().position(met);
            let too_long = self.edges.len() >= MAX_EDGES.max(2 * engine.connections.len());
            if too_long || met.is_some() || peer >= engine.connections.len() {
                let is_here = self.edges[met.unwrap_or(0)..].iter().any(|edge| edge.context == self.home);
                self.end = Some(if is_here && met.is_some() { ChainEnd::Cycle } else { ChainEnd::CycleElsewhere });
                break;
            }
            self.edges.push(WaitEdge { context: next, from: last, to: Rank::new(peer) });
            self.call = awaited;
            if next == self.home {
                let own = self.snapshot.own.take().unwrap_or(0);
                self.snapshot = Snapshot { last: peer, progress: self.snapshot.progress.wrapping_add(own), own: None };
            }
            engine.ask(self.home, peer, next, call);
        }
        Some(self.snapshot)
    }

    /// Returns whether the chain has led back to a rank on it.
    pub(crate) fn is_cycle(&self) -> bool {
        matches!(self.end, Some(ChainEnd::Cycle | ChainEnd::CycleElsewhere))
    }

    /// Returns the deadline that applies to the end of the chain; `None` if the traversal has not
    /// ended.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.end.as_ref().map(ChainEnd::deadline)
    }

    /// Returns the culprit, as its rank in the context where the chain begins.
    pub(crate) fn culprit(&self, home: &Context) -> Option<Rank> {
        let last = match self.end {
            Some(ChainEnd::Cycle) => return None,
            // Replies do not all describe the same moment, so the processes of that cycle may be
            // well. The process that this context waits for is the culprit here.
            Some(ChainEnd::CycleElsewhere) => self.edges.iter().rfind(|edge| edge.context == self.home),
            _ => self.edges.last(),
        };
        home.rank_of(last?.to.index())
    }

    /// Describes the chain; see [`describe`].
    pub(crate) fn describe(&self, home: &Context) -> String {
        let end = self.end.as_ref().unwrap_or(&ChainEnd::Unresponsive);
        describe(&self.edges, end, (self.home, &home.members), self.failed)
    }
}

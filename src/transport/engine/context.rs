//! The state of a context in one process.

use std::collections::VecDeque;
use std::time::Duration;

use super::agreement::Agreement;
use super::frame::{Header, MessageId};
use super::inquiry::Inquiry;
use super::lane::Lane;
use super::library::LibraryCalls;
use super::limits::REMEMBERED;
use super::receiving::Incoming;
use super::sending::Outgoing;
use crate::ids::Rank;
use crate::plan::{Message, Program, Run};
use crate::transport::bases::Bases;
use crate::transport::{
    Cause, ContextId, Failure, History, MemberHistory, Signature, Timeouts, WaitingIn, disagreement,
};

/// The state of a context; see the [module](self). It exists from when this process opens it, or
/// when the first frame for it arrives.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: ContextId,
    /// The process of each member; empty until this process opens it.
    pub(crate) members: Box<[Rank]>,
    pub(crate) presence: Presence,
    /// The process from which the first frame came.
    pub(crate) first: usize,
    /// The lane to each process.
    pub(crate) lanes: Box<[Lane]>,
    /// The round that this process drives.
    pub(crate) active: Option<ActiveRound>,
    /// The call and the round that it drives, or drove last.
    pub(crate) posted: Option<(u64, u32)>,
    /// The thread that drives it, or drove it last.
    pub(crate) driver: u64,
    /// The last changes of what this process calls, latest first. Each has the number of its first
    /// call.
    calls: VecDeque<(u64, Signature)>,
    /// The timeouts of its last round.
    pub(crate) timeouts: Timeouts,
    /// Counts progress.
    pub(crate) progress: u64,
    /// The digest of all calls of this process, once it has concluded.
    pub(crate) history: Option<History>,
    pub(crate) agreement: Agreement,
    pub(crate) inquiry: Option<Inquiry>,
    /// The calls that a library executes, if there is one.
    pub(crate) library: Option<Box<dyn LibraryCalls>>,
}

/// Whether this process has opened or left the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It has not opened the context yet.
    Expected,
    Open,
    Left,
}

/// A round under way.
///
/// Its pointers refer to memory that the thread which drives the round lends. This thread stays in
/// `Transport::round` until it has removed the active round from the context, under the engine's
/// lock. So the memory lives at least as long as the active round.
#[derive(Debug)]
pub(crate) struct ActiveRound {
    program: *const Program,
    round: usize,
    pub(crate) bases: Bases,
    pub(crate) call: u64,
    pub(crate) number: u32,
    pub(crate) fingerprint: u64,
    pub(crate) timeouts: Timeouts,
    /// Number of lanes that still have something to receive, and to send.
    pub(crate) incoming: usize,
    pub(crate) outgoing: usize,
    /// A message has arrived that is not the awaited one.
    pub(crate) mismatch: Option<Mismatch>,
    /// The thread that drives it; 0 if that is not known.
    pub(crate) driver: u64,
}

// SAFETY: its pointers refer to memory that is lent by a thread which waits until the active round
// is over. Meanwhile only the holder of the engine's lock accesses that memory, on whichever
// thread.
#[allow(unsafe_code)]
unsafe impl Send for ActiveRound {}

/// The difference between a message and the awaited one.
#[derive(Clone, Debug)]
pub(crate) enum Mismatch {
    /// It belongs to another call or round.
    OtherCall(Rank, Header),
    /// It is the awaited message, with another length.
    Length(Cause),
}

impl Context {
    pub(crate) fn new(id: ContextId, processes: usize, first: usize) -> Self {
        Self {
            id,
            members: Box::default(),
            presence: Presence::Expected,
            first,
            lanes: (0..processes).map(|_| Lane::default()).collect(),
            active: None,
            posted: None,
            driver: 0,
            calls: VecDeque::with_capacity(REMEMBERED + 1),
            timeouts: Timeouts::new(Duration::from_secs(10), Duration::from_secs(10)),
            progress: 0,
            history: None,
            agreement: Agreement::default(),
            inquiry: None,
            library: None,
        }
    }

    /// Returns the rank of a process in the context.
    pub(crate) fn rank_of(&self, process: usize) -> Option<Rank> {
        let member = Rank::new(process);
        if self.members.get(process) == Some(&member) {
            return Some(member);
        }
        self.members.iter().position(|other| *other == member).map(Rank::new)
    }

    /// Returns the process of a rank.
    pub(crate) fn process(&self, rank: Rank) -> usize {
        self.members.get(rank.index()).map_or(usize::MAX, |process| process.index())
    }

    /// Records the signature of a call.
    pub(crate) fn record_call(&mut self, call: u64, signature: &Signature) {
        if let Some(library) = &self.library {
            return library.record(call, signature);
        }
        if self.calls.front().is_none_or(|(_, last)| last.fingerprint != signature.fingerprint) {
            self.calls.push_front((call, signature.clone()));
            self.calls.truncate(REMEMBERED);
        }
    }

    /// Returns what this process called in a call, if that is still recorded.
    pub(crate) fn called(&self, call: u64) -> Option<Signature> {
        if let Some(library) = &self.library {
            return library.called(call);
        }
        self.calls.iter().find(|(first, _)| *first <= call).map(|(_, signature)| signature.clone())
    }

    /// Returns the last changes of what this process called: the number of the first call, and the
    /// fingerprint.
    pub(crate) fn changes(&self) -> Vec<(u64, u64)> {
        if let Some(library) = &self.library {
            return library.changes();
        }
        self.calls.iter().map(|(first, signature)| (*first, signature.fingerprint)).collect()
    }

    /// Returns a failure if a member has left after other calls than this process made.
    pub(crate) fn disagreement(&self, me: Rank, other: Rank) -> Option<Failure> {
        let left = self.lanes.get(self.process(other))?.left.as_ref().filter(|left| left.how.is_none())?;
        let (history, theirs) = (self.history?, left.history?);
        if !self.agreement.is_sound() || history == theirs {
            return None;
        }
        let changes = self.changes();
        let mine = |call| self.called(call).map(|signature| signature.description);
        let since = left.changes.iter().map(|(first, _)| *first).max();
        let others =
            |call| left.signature.as_ref().filter(|_| Some(call) >= since).map(|(_, description)| description.clone());
        let mine = MemberHistory { rank: me, history, changes: &changes, describe: &mine };
        let theirs = MemberHistory { rank: other, history: theirs, changes: &left.changes, describe: &others };
        disagreement(&mine, &theirs)
    }

    /// Returns the failure for a message that this process, which leaves, has not awaited in any
    /// call. Members that call the same leave none.
    pub(crate) fn surplus(&self, me: usize) -> Option<Failure> {
        let mut senders = (0..).map(Rank::new).zip(&self.members);
        senders.find_map(|(from, process)| {
            let into = &self.lanes[process.index()].into;
            let header = into.unexpected.first().map(|(header, _)| header).or(into.window.announced())?;
            self.surplus_message((from, self.rank_of(me)?), &header)
        })
    }

    /// Returns the failure for this message, unless another failure explains it.
    pub(crate) fn surplus_message(&self, (from, me): (Rank, Rank), header: &Header) -> Option<Failure> {
        let MessageId { call, round, .. } = header.message_id;
        let concluded = self.history.is_some() && self.agreement.is_sound();
        if !concluded || header.bytes == 0 {
            return None;
        }
        let description = self.called(call).map_or_else(|| "a call".into(), |signature| signature.description);
        let cause = Cause::Length { from, to: me, expected: 0, found: header.bytes };
        Some(Failure { call, description, round, observer: me, culprit: None, cause })
    }

    /// Returns the call and the round that it is in, or was in last, including calls that a library
    /// executes.
    pub(crate) fn at(&self) -> Option<(u64, u32)> {
        let library = self.library.as_ref().and_then(|library| library.latest());
        self.posted.max(library.map(|call| (call, 0)))
    }

    /// Returns how this process waits in the context, if it does.
    pub(super) fn waits(&self) -> Option<WaitingIn> {
        let (process, call) = (self.awaits()? as u32, self.active.as_ref()?.call);
        Some(WaitingIn { context: self.id, process, call, progress: self.progress })
    }

    /// Returns one of the processes that it waits for.
    pub(crate) fn awaits(&self) -> Option<usize> {
        self.active.as_ref()?;
        let awaited = self.lanes.iter().position(|lane| lane.into.is_awaited());
        awaited.or_else(|| self.lanes.iter().position(|lane| lane.out.is_pending()))
    }
}

impl ActiveRound {
    /// Makes a round under way.
    ///
    /// # Safety
    ///
    /// Until it is dropped, the program must stay in place, and the buffers must be accessed
    /// through this active round alone.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn new(
        (program, round): (&Program, usize),
        bases: Bases,
        call: u64,
        signature: &Signature,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            number: program.rounds()[round].number,
            program,
            round,
            bases,
            call,
            fingerprint: signature.fingerprint,
            timeouts,
            incoming: 0,
            outgoing: 0,
            mismatch: None,
            driver: 0,
        }
    }

    fn program(&self) -> &Program {
        // SAFETY: the caller of `new` promises that the program stays in place.
        #[allow(unsafe_code)]
        unsafe {
            &*self.program
        }
    }

    /// Returns the next message to send on a lane.
    pub(crate) fn next_out(&self, out: &Outgoing) -> Option<&Message> {
        let messages = &self.program().rounds()[self.round].sends;
        messages.get(out.next()? as usize)
    }

    /// Returns the next message to receive on a lane.
    pub(crate) fn next_in(&self, into: &Incoming) -> Option<&Message> {
        let messages = &self.program().rounds()[self.round].receives;
        messages.get(into.next()? as usize)
    }

    pub(crate) fn runs(&self, message: &Message) -> &[Run] {
        self.program().runs(message)
    }

    pub(crate) fn message_id(&self, message: &Message) -> MessageId {
        MessageId { call: self.call, round: self.number, index: message.index }
    }

    /// Returns the header that begins or announces a message.
    pub(crate) fn header(&self, kind: super::frame::Kind, context: ContextId, message: &Message) -> Header {
        let message_id = self.message_id(message);
        Header { message_id, bytes: message.bytes, fingerprint: self.fingerprint, ..Header::new(kind, context) }
    }

    /// Returns how a message that arrives differs from the awaited one, if it does.
    pub(crate) fn mismatch(&self, (from, me): (Rank, Rank), header: &Header, awaited: &Message) -> Option<Mismatch> {
        if (header.message_id, header.fingerprint) != (self.message_id(awaited), self.fingerprint) {
            return Some(Mismatch::OtherCall(from, *header));
        }
        let (expected, found) = (awaited.bytes, header.bytes);
        (expected != found).then_some(Mismatch::Length(Cause::Length { from, to: me, expected, found }))
    }
}

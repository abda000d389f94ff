//! A context, as one process sees it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::frame::{Header, MessageId};
use super::inquiry::Inquiry;
use super::lane::{Incoming, Lane, Outgoing};
use super::limits::REMEMBERED;
use super::outside::Outside;
use super::watchdog::Watchdog;
use crate::ids::Rank;
use crate::plan::{Message, Program, Run};
use crate::transport::bases::Bases;
use crate::transport::{Cause, ContextId, Failure, History, MemberHistory, Signature, Timeouts, disagreement};

/// See the [module](self). It begins when this process opens it, or when the first word of it
/// comes.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: ContextId,
    /// The process of each member; empty until this process opens it.
    pub(crate) members: Box<[Rank]>,
    pub(crate) presence: Presence,
    /// Who was the first to say something of it.
    pub(crate) first: usize,
    /// By process.
    pub(crate) lanes: Box<[Lane]>,
    /// The round that this process drives.
    pub(crate) active: Option<ActiveRound>,
    /// The call and the round it drives, or drove last.
    pub(crate) posted: Option<(u64, u32)>,
    /// Which thread did.
    pub(crate) driver: u64,
    /// What it has been calling: the last changes, the latest first, each from which call on.
    said: VecDeque<(u64, Signature)>,
    /// Those of its last round.
    pub(crate) timeouts: Timeouts,
    /// Counts whatever it gets done.
    pub(crate) progress: u64,
    pub(crate) failure: Option<Failure>,
    /// What this process has called in all, once it is through.
    pub(crate) history: Option<History>,
    /// Whether there is a failure, or a proposal of one: to be seen without the engine's lock.
    pub(crate) troubled: Arc<AtomicBool>,
    /// What this process proposes, found by itself or by others, and to whom.
    pub(crate) proposal: Option<Proposal>,
    /// Who has proposed something to this process, and not taken it back; and who has asked whether
    /// it may decide itself.
    pub(crate) turned: Vec<usize>,
    pub(crate) asking: Vec<usize>,
    /// How often one that could not decide has asked after all.
    pub(crate) returns: u32,
    /// Processes that were asked to decide, and did not; and those that said that they cannot.
    pub(crate) mute: Vec<usize>,
    pub(crate) unable: Vec<usize>,
    /// Whether this process has said that it cannot.
    pub(crate) declined: bool,
    pub(crate) inquiry: Option<Inquiry>,
    /// Calls that are with a library beneath, where there is one; and what is known of the one
    /// under way.
    pub(crate) outside: Option<Arc<Outside>>,
    pub(crate) watchdog: Option<Watchdog>,
}

/// Where this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It has not opened it yet.
    Expected,
    Open,
    Left,
}

/// A failure on its way to whoever decides.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) failure: Failure,
    pub(crate) to: usize,
    pub(crate) since: Instant,
    /// Those who might decide next, and how often something had been read from each.
    pub(crate) next: Vec<(usize, u64)>,
    /// Whether all others were asked, where this process is to decide.
    pub(crate) asked: bool,
    /// How often the same one was turned to again.
    pub(crate) again: u32,
}

/// A round under way.
///
/// Its pointers are to what the thread lends that drives the round. It stays in `Transport::round`
/// until it has taken the active round out of the context again, under the lock of the engine, so what they
/// point to lives as long as the active round is there.
#[derive(Debug)]
pub(crate) struct ActiveRound {
    program: *const Program,
    round: usize,
    pub(crate) bases: Bases,
    pub(crate) call: u64,
    pub(crate) number: u32,
    pub(crate) fingerprint: u64,
    pub(crate) timeouts: Timeouts,
    /// Lanes on which something is still to come, and to go.
    pub(crate) incoming: usize,
    pub(crate) outgoing: usize,
    /// Something that came is not what is awaited.
    pub(crate) doubt: Option<Doubt>,
}

// SAFETY: what it points to is lent by a thread that waits until the active round is over; whoever holds
// the lock of the engine may touch it meanwhile, in whichever thread.
#[allow(unsafe_code)]
unsafe impl Send for ActiveRound {}

/// What is wrong with something that came.
#[derive(Clone, Debug)]
pub(crate) enum Doubt {
    /// It is a message of another call, or round.
    Of(Rank, Header),
    /// It is the message, but not as long.
    Known(Cause),
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
            said: VecDeque::with_capacity(REMEMBERED + 1),
            timeouts: Timeouts::new(Duration::from_secs(10), Duration::from_secs(10)),
            progress: 0,
            failure: None,
            history: None,
            troubled: Arc::default(),
            proposal: None,
            turned: Vec::new(),
            asking: Vec::new(),
            returns: 0,
            mute: Vec::new(),
            unable: Vec::new(),
            declined: false,
            inquiry: None,
            outside: None,
            watchdog: None,
        }
    }

    /// The rank of a process in the context.
    pub(crate) fn rank_of(&self, process: usize) -> Option<Rank> {
        let member = Rank::new(process);
        if self.members.get(process) == Some(&member) {
            return Some(member);
        }
        self.members.iter().position(|other| *other == member).map(Rank::new)
    }

    /// The process of a rank.
    pub(crate) fn process(&self, rank: Rank) -> usize {
        self.members.get(rank.index()).map_or(usize::MAX, |process| process.index())
    }

    /// Remembers what a call is.
    pub(crate) fn say(&mut self, call: u64, signature: &Signature) {
        if let Some(outside) = &self.outside {
            return outside.say(call, signature);
        }
        if self.said.front().is_none_or(|(_, last)| last.fingerprint != signature.fingerprint) {
            self.said.push_front((call, signature.clone()));
            self.said.truncate(REMEMBERED);
        }
    }

    /// What this process called in that call, if it remembers.
    pub(crate) fn called(&self, call: u64) -> Option<Signature> {
        if let Some(outside) = &self.outside {
            return outside.called(call);
        }
        self.said.iter().find(|(first, _)| *first <= call).map(|(_, signature)| signature.clone())
    }

    /// The last changes of what this process called: from which call on, and the fingerprint.
    pub(crate) fn changes(&self) -> Vec<(u64, u64)> {
        if let Some(outside) = &self.outside {
            return outside.changes();
        }
        self.said.iter().map(|(first, signature)| (*first, signature.fingerprint)).collect()
    }

    /// That a member has left after other calls than this process, if it has.
    pub(crate) fn disagreement(&self, me: Rank, other: Rank) -> Option<Failure> {
        let left = self.lanes.get(self.process(other))?.left.as_ref().filter(|left| left.how.is_none())?;
        let (history, theirs) = (self.history?, left.history?);
        if self.failure.is_some() || self.proposal.is_some() || history == theirs {
            return None;
        }
        let changes = self.changes();
        let mine = |call| self.called(call).map(|said| said.description);
        let since = left.changes.iter().map(|(first, _)| *first).max();
        let others = |call| left.said.as_ref().filter(|_| Some(call) >= since).map(|(_, words)| words.clone());
        let mine = MemberHistory { rank: me, history, changes: &changes, describe: &mine };
        let theirs = MemberHistory { rank: other, history: theirs, changes: &left.changes, describe: &others };
        disagreement(&mine, &theirs)
    }

    /// The call and the round it is in, or was in last, with a library beneath or not.
    pub(crate) fn at(&self) -> Option<(u64, u32)> {
        let outside = self.outside.as_ref().and_then(|outside| outside.posted());
        self.posted.max(outside.map(|call| (call, 0)))
    }

    /// One of those it waits for.
    pub(crate) fn awaits(&self) -> Option<usize> {
        self.active.as_ref()?;
        let awaited = self.lanes.iter().position(|lane| !lane.into.awaited.is_empty());
        awaited.or_else(|| self.lanes.iter().position(|lane| !lane.out.waiting.is_empty() || lane.out.settling))
    }
}

impl ActiveRound {
    /// # Safety
    ///
    /// The program stays where it is, and the buffers are for this active round alone, until it is dropped.
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
            doubt: None,
        }
    }

    fn program(&self) -> &Program {
        // SAFETY: it is where it was when the active round was made, as `new` was promised.
        #[allow(unsafe_code)]
        unsafe {
            &*self.program
        }
    }

    /// The message that is to go next on a lane.
    pub(crate) fn next_out(&self, out: &Outgoing) -> Option<&Message> {
        let messages = &self.program().rounds()[self.round].sends;
        if out.waiting.is_empty() { None } else { messages.get(out.waiting.start as usize) }
    }

    /// The message that is to come next on a lane.
    pub(crate) fn next_in(&self, into: &Incoming) -> Option<&Message> {
        let messages = &self.program().rounds()[self.round].receives;
        if into.awaited.is_empty() { None } else { messages.get(into.awaited.start as usize) }
    }

    pub(crate) fn runs(&self, message: &Message) -> &[Run] {
        self.program().runs(message)
    }

    pub(crate) fn message_id(&self, message: &Message) -> MessageId {
        MessageId { call: self.call, round: self.number, index: message.index }
    }

    /// What a message sent is announced by.
    pub(crate) fn header(&self, kind: super::frame::Kind, context: ContextId, message: &Message) -> Header {
        let message_id = self.message_id(message);
        Header { message_id, bytes: message.bytes, fingerprint: self.fingerprint, ..Header::new(kind, context) }
    }

    /// Why what came is not the message that is awaited, if it is not.
    pub(crate) fn doubt(&self, (from, me): (Rank, Rank), header: &Header, awaited: &Message) -> Option<Doubt> {
        if (header.message_id, header.fingerprint) != (self.message_id(awaited), self.fingerprint) {
            return Some(Doubt::Of(from, *header));
        }
        let (expected, found) = (awaited.bytes, header.bytes);
        (expected != found).then_some(Doubt::Known(Cause::Length { from, to: me, expected, found }))
    }
}

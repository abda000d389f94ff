//! The state of a round in progress.

use std::sync::Arc;
use std::time::Instant;

use super::folds::Folds;
use super::group::{Group, Member, MessageId, RoundDescriptor};
use super::job::Job;
use super::outbox::Outbox;
use super::peer_messages::{PeerCounts, PeerMessages, Protocol};
use crate::ids::Rank;
use crate::plan::{Fold, Message, Pieces};
use crate::transport::{Cause, Deadline, Failure, Snapshot, Timeouts};

/// This rank as a member of a context: the job, the group, and its rank in the group.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) job: Arc<Job>,
    pub(super) group: Arc<Group>,
    pub(super) me: usize,
}

impl Membership {
    pub(super) fn rank(&self) -> Rank {
        Rank::new(self.me)
    }

    pub(super) fn own(&self) -> &Member {
        self.group.member(self.me)
    }

    /// Returns the index of the first message whose peer is this rank or one after it. `messages`
    /// are in order of their peers, and `guess` is checked first.
    #[inline]
    pub(super) fn search(&self, messages: &[Message], guess: usize) -> usize {
        let is_before = |message: &Message| message.peer.index() < self.me;
        // If every rank sends to every rank, the guess is right, and no search is needed.
        let (before, after) = messages.split_at(guess.min(messages.len()));
        let is_right = before.last().is_none_or(is_before) && !after.first().is_some_and(is_before);
        if is_right { before.len() } else { messages.partition_point(is_before) }
    }

    /// Returns the index of the first message whose peer is after this rank, or as an error an
    /// invalid peer: the rank itself, or one that is not in the context.
    #[inline]
    pub(super) fn after_me(&self, messages: &[Message]) -> Result<usize, Rank> {
        let after = self.search(messages, self.me);
        let itself = messages.get(after).filter(|message| message.peer.index() == self.me);
        let beyond = messages.last().filter(|message| message.peer.index() >= self.group.size());
        beyond.or(itself).map_or(Ok(after), |message| Err(message.peer))
    }

    /// Fails because of an invalid peer.
    #[cold]
    pub(super) fn refuse_peer(&self, descriptor: &RoundDescriptor<'_>, peer: Rank) -> Failure {
        if peer == self.rank() {
            self.refuse(descriptor, "a message between a rank and itself".to_owned())
        } else {
            self.refuse(descriptor, format!("a message with rank {peer} of {}", self.group.size()))
        }
    }

    /// Fails because this rank was given an invalid round.
    #[cold]
    pub(super) fn refuse(&self, descriptor: &RoundDescriptor<'_>, reason: String) -> Failure {
        self.fail(descriptor, (Some(self.rank()), Cause::Aborted { rank: self.rank(), reason: reason.into() }))
    }

    /// Fails the context. Returns its first failure.
    #[cold]
    pub(super) fn fail(&self, descriptor: &RoundDescriptor<'_>, (culprit, cause): RoundError) -> Failure {
        self.group.fail(Failure {
            call: descriptor.call,
            description: descriptor.signature.description.clone(),
            round: descriptor.round().number,
            observer: self.rank(),
            culprit,
            cause,
        })
    }

    /// Fails the context of the started calls of this one, if it is open.
    #[cold]
    pub(super) fn fail_started_calls(&self, failure: Failure) {
        let started = self.job.registry().group(self.group.context.of_started_calls());
        if let Some(started) = started {
            started.fail(failure);
        }
    }

    /// Fills `pending` with the messages to take. The messages from ranks after this one come
    /// first, so that not all receivers begin with the same sender.
    #[inline]
    pub(super) fn await_all(
        &self,
        pending: &mut Vec<PeerMessages>,
        receives: &[Message],
        after: usize,
        eager_only: bool,
    ) {
        pending.clear();
        if eager_only {
            let part = |i: usize| PeerMessages {
                peer: receives[i].peer,
                first: i as u32,
                end: i as u32 + 1,
                protocol: Protocol::Eager,
            };
            pending.extend((after..receives.len()).map(part));
            pending.extend((0..after).map(part));
            return;
        }
        pending.extend(PeerMessages::all(&self.group, receives));
        let after = pending.partition_point(|part| (part.first as usize) < after);
        pending.rotate_left(after);
    }

    /// Moves the messages to combine to the front of those to take, in their order. Returns false
    /// if one of them does not come straight from the sender's memory, so that none is combined.
    #[inline]
    pub(super) fn fold_first(&self, pending: &mut [PeerMessages], folds: &[Fold], receives: &[Message]) -> bool {
        let messages = || folds.iter().filter_map(Fold::message);
        let is_rendezvous = |message: u32| {
            let message = message as usize;
            receives.get(message..message + 1).is_some_and(|message| !self.group.is_eager(message))
        };
        if folds.is_empty() || !messages().all(is_rendezvous) {
            return false;
        }
        for (at, message) in messages().enumerate() {
            let is = |part: &PeerMessages| part.first == message && part.protocol == Protocol::Rendezvous;
            match pending[at..].iter().position(is) {
                Some(found) => pending.swap(at, at + found),
                None => return false,
            }
        }
        true
    }
}

/// State of a wait within a round.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Number of polls since the last progress.
    pub(super) polls: u32,
    /// The time when the wait began, set once the rank is about to park.
    pub(super) since: Option<Instant>,
    /// The last sample of the wait-for chain.
    pub(super) sample: Option<ChainSample>,
    /// The number of its rendezvous messages that were not released at the last poll.
    pub(super) outstanding: u32,
    /// The number of members that had left at the last check.
    pub(super) departures: u32,
}

/// A sample of the wait-for chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainSample {
    pub(super) snapshot: Snapshot,
    /// The deadline that applies to the end of the chain.
    pub(super) deadline: Deadline,
    pub(super) at: Instant,
}

/// Error of a round: the culprit, if it is known, and the cause.
pub(super) type RoundError = (Option<Rank>, Cause);

/// Polls before a rank parks, if each has a core of its own: about ten microseconds.
pub(super) const SPINS: u32 = 500;
/// The number of those that come first, without a pause in between. A pause would take as long as
/// an exchange of small messages.
pub(super) const UNPAUSED_SPINS: u32 = 60;
/// Polls before a rank parks if ranks share cores. It yields after each of them.
pub(super) const YIELDS: u32 = 2;

impl Wait {
    /// Begins a wait with this number of outstanding rendezvous messages.
    pub(super) fn new(outstanding: u32) -> Self {
        Self { outstanding, ..Self::default() }
    }

    /// Whether the rank parks after this poll, if the poll finds nothing.
    #[inline]
    pub(super) fn is_last_poll(&self, core_each: bool) -> bool {
        self.polls >= if core_each { SPINS } else { YIELDS }
    }

    /// Whether it has polled more often than an exchange of small messages takes.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.polls >= UNPAUSED_SPINS / 4
    }
}

/// A round in progress.
#[derive(Debug)]
pub(super) struct ActiveRound<'a> {
    pub(super) membership: &'a Membership,
    /// Describes what this rank sends. What it receives goes to the same buffers.
    pub(super) descriptor: &'a RoundDescriptor<'a>,
    pub(super) outbox: &'a Outbox<'a>,
    pub(super) message_id: MessageId,
    /// The messages that the round sends and receives.
    pub(super) sends: &'a [Message],
    pub(super) receives: &'a [Message],
    /// The places of the messages, if each is one piece.
    pub(super) pieces: Option<&'a Pieces>,
    /// Whether all messages are eager ones of one piece.
    pub(super) eager_only: bool,
    /// The messages that are combined as they arrive.
    pub(super) folds: Option<Folds<'a>>,
    pub(super) timeouts: Timeouts,
    pub(super) counts: &'a mut [PeerCounts],
    /// The messages still to take.
    pub(super) pending: &'a mut Vec<PeerMessages>,
    /// The eager messages still to write, as indices of messages sent.
    pub(super) unwritten: &'a mut Vec<u32>,
    /// Whether this rank has published or written a message since it last unparked its receivers.
    pub(super) wake_receivers: bool,
    /// Whether this rank has taken an eager message since it last unparked senders that await room.
    pub(super) wake_senders: bool,
    pub(super) wait: Wait,
    pub(super) parks: &'a mut u64,
}

impl ActiveRound<'_> {
    /// Whether a message may be taken now, or has to wait for others to be combined.
    #[inline]
    pub(super) fn is_due(&self, part: PeerMessages) -> bool {
        self.folds.as_ref().is_none_or(|folds| folds.is_due(part.first))
    }
}

//! A round under way: what it knows.

use std::sync::Arc;
use std::time::Instant;

use super::group::{Group, Member, MessageId, Offer};
use super::job::Job;
use super::outbox::Outbox;
use super::parts::{By, Counts, Part};
use super::wait_for::Look;
use crate::ids::Rank;
use crate::plan::{Message, Pieces};
use crate::transport::{Cause, Deadline, Failure, Timeouts};

/// A member's place.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) job: Arc<Job>,
    pub(super) group: Arc<Group>,
    pub(super) me: usize,
}

impl Seat {
    pub(super) fn rank(&self) -> Rank {
        Rank::new(self.me)
    }

    pub(super) fn own(&self) -> &Member {
        self.group.member(self.me)
    }

    /// The first of these messages, which are in order of their peers, with this rank or one after
    /// it.
    #[inline]
    pub(super) fn search(&self, messages: &[Message], guess: usize) -> usize {
        let is_before = |message: &Message| message.peer.index() < self.me;
        // Where each rank sends to each, it need not be searched for.
        let (before, after) = messages.split_at(guess.min(messages.len()));
        let is_right = before.last().is_none_or(is_before) && !after.first().is_some_and(is_before);
        if is_right { before.len() } else { messages.partition_point(is_before) }
    }

    /// The first of this rank's messages with one after it; or a peer that cannot be, which is the
    /// rank itself or none of the context.
    #[inline]
    pub(super) fn after_me(&self, messages: &[Message]) -> Result<usize, Rank> {
        let after = self.search(messages, self.me);
        let itself = messages.get(after).filter(|message| message.peer.index() == self.me);
        let beyond = messages.last().filter(|message| message.peer.index() >= self.group.size());
        beyond.or(itself).map_or(Ok(after), |message| Err(message.peer))
    }

    #[cold]
    pub(super) fn refuse_peer(&self, offer: &Offer<'_>, peer: Rank) -> Failure {
        if peer == self.rank() {
            self.refuse(offer, "a message between a rank and itself".to_owned())
        } else {
            self.refuse(offer, format!("a message with rank {peer} of {}", self.group.size()))
        }
    }

    /// Fails because of what this rank itself was given to do.
    #[cold]
    pub(super) fn refuse(&self, offer: &Offer<'_>, reason: String) -> Failure {
        self.fail(offer, (Some(self.rank()), Cause::Aborted { rank: self.rank(), reason: reason.into() }))
    }

    /// Fails the context; returns its first failure.
    #[cold]
    pub(super) fn fail(&self, offer: &Offer<'_>, (culprit, cause): Fault) -> Failure {
        self.group.fail(Failure {
            call: offer.call,
            description: offer.signature.description.clone(),
            round: offer.round().number,
            observer: self.rank(),
            culprit,
            cause,
        })
    }

    /// Notes what is to be taken, beginning with the rank after this one, so that not all begin
    /// with the same sender.
    #[inline]
    pub(super) fn await_all(&self, pending: &mut Vec<Part>, receives: &[Message], after: usize, letters: bool) {
        pending.clear();
        if letters {
            let part = |i: usize| Part { peer: receives[i].peer, first: i as u32, end: i as u32 + 1, by: By::Mail };
            pending.extend((after..receives.len()).map(part));
            pending.extend((0..after).map(part));
            return;
        }
        pending.extend(Part::all(&self.group, receives));
        let after = pending.partition_point(|part| (part.first as usize) < after);
        pending.rotate_left(after);
    }
}

/// What a round knows of its waiting.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// How often it has looked since anything moved.
    pub(super) looks: u32,
    /// Since when it waits, once it has come to sleeping.
    pub(super) since: Option<Instant>,
    /// What it saw last at the end of the chain of ranks that wait for each other.
    pub(super) look: Option<ChainLook>,
    /// Its parcels under way, as last seen.
    pub(super) open: u32,
    /// The members that have left, as last seen.
    pub(super) departures: u32,
}

/// A look at the chain of ranks that wait for each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLook {
    pub(super) look: Look,
    /// Which deadline counts for what is at the end.
    pub(super) deadline: Deadline,
    pub(super) at: Instant,
}

/// A cause, and whose fault it is.
pub(super) type Fault = (Option<Rank>, Cause);

/// Looks before a rank sleeps, where each has a core of its own: some ten microseconds.
pub(super) const SPINS: u32 = 500;
/// Of those, the first without a pause in between, which would be as long as an exchange of small
/// messages.
pub(super) const EAGER: u32 = 60;
/// Looks before a rank sleeps, giving way to others in between, where cores are shared.
pub(super) const YIELDS: u32 = 2;
impl Wait {
    /// A wait that begins, with so many parcels under way.
    pub(super) fn new(open: u32) -> Self {
        Self { open, ..Self::default() }
    }

    /// Whether it sleeps next, if it finds nothing.
    #[inline]
    pub(super) fn is_last_look(&self, core_each: bool) -> bool {
        self.looks >= if core_each { SPINS } else { YIELDS }
    }

    /// Whether it has looked more often than an exchange of small messages takes.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.looks >= EAGER / 4
    }
}

/// A round under way.
#[derive(Debug)]
pub(super) struct ActiveRound<'a> {
    pub(super) seat: &'a Seat,
    /// What this rank sends; what it receives goes to the same buffers.
    pub(super) offer: &'a Offer<'a>,
    pub(super) outbox: &'a Outbox<'a>,
    pub(super) message_id: MessageId,
    /// What the round sends and receives, and where those are, if each is in one piece.
    pub(super) sends: &'a [Message],
    pub(super) receives: &'a [Message],
    pub(super) pieces: Option<&'a Pieces>,
    /// Whether all are letters of one piece.
    pub(super) letters: bool,
    pub(super) timeouts: Timeouts,
    pub(super) counts: &'a mut [Counts],
    /// What is still to be taken.
    pub(super) pending: &'a mut Vec<Part>,
    /// Letters still to be written, as indices of messages sent.
    pub(super) unwritten: &'a mut Vec<u32>,
    /// Whether anything was laid out or written since those who may wait for it were last told, and
    /// whether letters were taken.
    pub(super) unannounced: bool,
    pub(super) untold: bool,
    pub(super) wait: Wait,
    pub(super) sleeps: &'a mut u64,
}

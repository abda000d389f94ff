//! A group: what the members of one context share.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bell::{Bell, Sleepers};
use super::board::{Board, Desk};
use super::mail::Letterbox;
use super::post::Post;
use crate::ids::Rank;
use crate::plan::{Message, Pieces, Program, ProgramRound};
use crate::transport::bases::Bases;
use crate::transport::{Account, ContextId, Disagreement, Failure, History, Signature, disagreement};

/// What a rank offers in a round. All that it points to is the rank's until the round returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    pub(super) call: u64,
    pub(super) signature: &'a Signature,
    pub(super) program: &'a Program,
    /// Which of the program's rounds.
    pub(super) index: u32,
    /// How many parcels the rank has laid out with those of the round, of all there have been,
    /// round the clock.
    pub(super) due: u32,
    pub(super) bases: Bases,
}

impl<'a> Offer<'a> {
    #[inline]
    pub(super) fn round(&self) -> &'a ProgramRound {
        &self.program.rounds()[self.index as usize]
    }

    /// Where the round's messages lie, if each is in one piece.
    #[inline]
    pub(super) fn pieces(&self) -> Option<&'a Pieces> {
        self.program.pieces(self.index as usize)
    }

    /// What must be the same at both ends of a message.
    #[inline]
    pub(super) fn message_id(&self) -> MessageId {
        MessageId { call: self.call, fingerprint: self.signature.fingerprint, round: self.round().number }
    }
}

/// An offer as it lies on a board: on one cache line, which a test holds it to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    /// Not to be read once the last claim is settled, so that it may then point to nothing any
    /// more.
    offer: MaybeUninit<Offer<'static>>,
}

// SAFETY: the protocol of the board keeps all that an offer points to alive while it is read (the
// sender's obligation to `Board::lay_out`); its raw buffers are touched under that protocol too.
unsafe impl Send for Laid {}

impl Laid {
    pub(super) fn new(offer: &Offer<'_>) -> Self {
        let offer = std::ptr::from_ref(offer).cast::<MaybeUninit<Offer<'static>>>();
        // SAFETY: an offer is one with another lifetime, and `MaybeUninit` claims nothing of what
        // it points to.
        Self { offer: unsafe { offer.read() } }
    }

    /// # Safety
    ///
    /// What the offer points to is still there: the claim is not settled.
    #[inline]
    pub(super) unsafe fn offer(&self) -> &Offer<'_> {
        // SAFETY: `new` has put an offer there, whose parts live as the caller says.
        unsafe { self.offer.assume_init_ref() }
    }
}

/// The call and the round of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId {
    pub(super) call: u64,
    pub(super) fingerprint: u64,
    pub(super) round: u32,
}

/// What stands before a letter's text: what must be the same at both ends, in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Head {
    call: u64,
    fingerprint: u64,
    /// The round, and above it the length of the text.
    word: u64,
}

impl Head {
    #[inline]
    pub(super) fn new(message_id: MessageId, bytes: u32) -> Self {
        let MessageId { call, fingerprint, round } = message_id;
        Self { call, fingerprint, word: u64::from(bytes) << 32 | u64::from(round) }
    }

    pub(super) fn message_id(&self) -> MessageId {
        MessageId { call: self.call, fingerprint: self.fingerprint, round: self.word as u32 }
    }

    pub(super) fn bytes(&self) -> u32 {
        (self.word >> 32) as u32
    }
}

/// A message that is short enough to be copied twice.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Letter {
    pub(super) head: Head,
    /// As much of it as the head says.
    pub(super) text: [MaybeUninit<u8>; Letter::LONGEST],
}

impl Letter {
    /// So that a letter with what stands before it takes four cache lines, and one of 32 bytes
    /// comes on the first of them. Up to here the bare staged exchange was measured to be faster
    /// than the one that copies once, among any number of ranks on two cores; at 512 bytes it is
    /// slower.
    pub(super) const LONGEST: usize = 200;

    /// Of a text, what comes on the cell's first cache line.
    pub(super) const ON_FIRST_LINE: usize = 32;
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Group {
    pub(super) context: ContextId,
    /// The process of each member.
    pub(super) processes: Box<[Rank]>,
    members: Box<[Member]>,
    /// By sender.
    boards: Box<[Board<Laid>]>,
    /// By receiver, made when first written to; none where there are too many members.
    letterboxes: Box<[OnceLock<Letterbox<Letter>>]>,
    pub(super) sleepers: Sleepers,
    failure: OnceLock<Failure>,
    /// How many members have left.
    departures: AtomicU32,
    /// The first that has left and said what it has called: all others have called the same.
    first: OnceLock<usize>,
}

/// Members for whom there are letterboxes: for so many, 9 MB once each has been written to. More
/// have to meet.
const MOST_WRITERS: usize = 128;

/// What everybody may know of a member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) desk: Desk,
    pub(super) status: Status,
    /// What it has been calling: the last changes of fingerprint, the latest first. Who asks may be
    /// a few calls behind.
    said: Mutex<[Option<Said>; 4]>,
    left: OnceLock<Leave>,
    /// What it has called in all, once it is through.
    history: OnceLock<History>,
}

/// What a member calls, from that call on.
#[derive(Clone, Debug)]
struct Said {
    call: u64,
    signature: Signature,
}

/// Where a member is: written by itself alone, on lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Status {
    /// The call it is in, or was in last.
    pub(super) post: Post,
    /// The round it is in, or was in last.
    pub(super) round: AtomicU32,
    /// Whom it waits for, one more than its number; 0 if nobody.
    awaits: AtomicU32,
    /// Counts whatever it gets done.
    progress: AtomicU64,
    /// Which thread drives it.
    pub(super) thread: AtomicU64,
}

/// How a member left.
#[derive(Clone, Debug)]
pub(super) enum Leave {
    Returned,
    Panicked(Option<Arc<str>>),
}

impl Group {
    pub(super) fn new(context: ContextId, processes: &[Rank]) -> Self {
        let size = processes.len();
        Self {
            context,
            processes: processes.into(),
            members: (0..size).map(|_| Member::new(size)).collect(),
            boards: (0..size).map(|me| Board::new(me, size)).collect(),
            letterboxes: (0..if size <= MOST_WRITERS { size } else { 0 }).map(|_| OnceLock::new()).collect(),
            sleepers: Sleepers::new(),
            failure: OnceLock::new(),
            departures: AtomicU32::new(0),
            first: OnceLock::new(),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.members.len()
    }

    pub(super) fn member(&self, rank: usize) -> &Member {
        &self.members[rank]
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate()
    }

    /// The number of a process here.
    pub(super) fn rank_of(&self, process: Rank) -> Option<usize> {
        self.processes.iter().position(|p| *p == process)
    }

    #[inline]
    pub(super) fn board(&self, of: usize) -> &Board<Laid> {
        &self.boards[of]
    }

    /// Whether the group has letterboxes.
    #[inline]
    pub(super) fn has_letterboxes(&self) -> bool {
        !self.letterboxes.is_empty()
    }

    /// A member's letterbox, if anybody has written to it.
    #[inline]
    pub(super) fn letterbox(&self, of: usize) -> Option<&Letterbox<Letter>> {
        self.letterboxes.get(of)?.get()
    }

    /// The same, to write to, if the group has letterboxes.
    #[inline]
    pub(super) fn letterbox_to(&self, of: usize) -> Option<&Letterbox<Letter>> {
        Some(self.letterboxes.get(of)?.get_or_init(|| Letterbox::new(self.members.len())))
    }

    /// Whether messages of one peer are one letter: both ends answer alike.
    #[inline]
    pub(super) fn is_letter(&self, messages: &[Message]) -> bool {
        matches!(messages, [message] if message.bytes <= Letter::LONGEST as u64) && self.has_letterboxes()
    }

    #[inline]
    pub(super) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    /// Fails the context, unless it has failed before; returns its failure.
    #[cold]
    pub(super) fn fail(&self, failure: Failure) -> Failure {
        let first = self.failure.get_or_init(|| failure).clone();
        self.ring_all();
        first
    }

    /// How many have left so far.
    #[inline]
    pub(super) fn departures(&self) -> u32 {
        self.departures.load(Ordering::Acquire)
    }

    /// Marks a member as gone and tells everybody, unless it was marked before.
    pub(super) fn depart(&self, rank: usize, leave: Leave) {
        if self.members[rank].left.set(leave).is_ok() {
            self.departures.fetch_add(1, Ordering::AcqRel);
            self.ring_all();
        }
    }

    /// That a member, which leaves, has called something else than others that have left, if it
    /// has.
    pub(super) fn disagreement(&self, me: usize) -> Option<Disagreement> {
        let history = *self.members[me].history.get()?;
        let first = *self.first.get_or_init(|| me);
        let theirs = *self.members[first].history.get()?;
        if self.failure().is_some() || history == theirs {
            return None;
        }
        let (mine, other) = (&self.members[me], &self.members[first]);
        let changes = [mine.changes(), other.changes()];
        let words = [mine, other].map(|member| move |call| member.called(call).map(|said| said.description));
        let failure = disagreement(
            &Account { rank: Rank::new(me), history, changes: &changes[0], words: &words[0] },
            &Account { rank: Rank::new(first), history: theirs, changes: &changes[1], words: &words[1] },
        )?;
        Some(Disagreement { failure, rank: Rank::new(me), members: (&*self.processes).into() })
    }

    /// Whether all members have left.
    pub(super) fn is_deserted(&self) -> bool {
        self.departures() as usize == self.members.len()
    }

    fn ring_all(&self) {
        Bell::announce();
        self.members.iter().for_each(|member| member.desk.bell.ring_announced());
    }
}

impl Member {
    fn new(members: usize) -> Self {
        Self {
            desk: Desk::new(members),
            status: Status {
                post: Post::new(),
                round: AtomicU32::new(0),
                awaits: AtomicU32::new(0),
                progress: AtomicU64::new(0),
                thread: AtomicU64::new(0),
            },
            said: Mutex::new([const { None }; 4]),
            left: OnceLock::new(),
            history: OnceLock::new(),
        }
    }

    /// How it left, if it has.
    pub(super) fn left(&self) -> Option<&Leave> {
        self.left.get()
    }

    /// Says what it has called in all.
    pub(super) fn conclude(&self, history: History) {
        // Nobody is through twice.
        let _ = self.history.set(history);
    }

    /// The last changes of what it called: from which call on, and the fingerprint.
    fn changes(&self) -> Vec<(u64, u64)> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().flatten().map(|said| (said.call, said.signature.fingerprint)).collect()
    }

    /// Says what a fingerprint means that is posted next, for this call and those after it.
    pub(super) fn say(&self, call: u64, signature: &Signature) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.rotate_right(1);
        said[0] = Some(Said { call, signature: signature.clone() });
    }

    /// What a fingerprint that it has posted means, as long as that is one of the last.
    pub(super) fn words(&self, fingerprint: u64) -> Arc<str> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut signatures = said.iter().flatten().map(|said| &said.signature);
        signatures
            .find(|known| known.fingerprint == fingerprint)
            .map_or_else(|| "something else".into(), |known| known.description.clone())
    }

    /// What it called in that call, if it is one of the last.
    pub(super) fn called(&self, call: u64) -> Option<Signature> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().flatten().find(|said| said.call <= call).map(|said| said.signature.clone())
    }
}

impl Status {
    /// Whom it waits for.
    pub(super) fn awaits(&self) -> Option<usize> {
        (self.awaits.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    pub(super) fn set_awaits(&self, whom: Option<usize>) {
        self.awaits.store(whom.map_or(0, |rank| rank as u32 + 1), Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Something got done. Only the member itself counts.
    #[inline]
    pub(super) fn advance(&self) {
        self.progress.store(self.progress.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

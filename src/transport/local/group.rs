//! A group: what the members of one context share.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::mailbox::Mailbox;
use super::parker::{ParkedCount, Parker};
use super::slot::{PublicationSlot, SyncState};
use super::status_word::StatusWord;
use crate::ids::Rank;
use crate::plan::{Message, Pieces, Program, ProgramRound};
use crate::transport::bases::Bases;
use crate::transport::{Cause, ContextId, Disagreement, Failure, History, MemberHistory, Signature, disagreement};

/// Describes a rank's round to its receivers. All that it points to belongs to the rank until the
/// round returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundDescriptor<'a> {
    pub(super) call: u64,
    pub(super) signature: &'a Signature,
    pub(super) program: &'a Program,
    /// Index of the round within the program.
    pub(super) index: u32,
    /// The number of rendezvous messages that the rank has published in all, those of this round
    /// included, modulo 2^32.
    pub(super) due: u32,
    pub(super) bases: Bases,
}

impl<'a> RoundDescriptor<'a> {
    #[inline]
    pub(super) fn round(&self) -> &'a ProgramRound {
        &self.program.rounds()[self.index as usize]
    }

    /// Returns where the round's messages lie, if each is one piece.
    #[inline]
    pub(super) fn pieces(&self) -> Option<&'a Pieces> {
        self.program.pieces(self.index as usize)
    }

    /// Returns what must be equal at both ends of a message.
    #[inline]
    pub(super) fn message_id(&self) -> MessageId {
        MessageId { call: self.call, fingerprint: self.signature.fingerprint, round: self.round().number }
    }
}

/// A descriptor as it lies in a publication slot: on one cache line, which a test asserts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedDescriptor {
    /// Not to be read once the last lease is released: its pointers may then dangle.
    descriptor: MaybeUninit<RoundDescriptor<'static>>,
}

// SAFETY: the protocol of the slot keeps all that a descriptor points to alive while it is read
// (the sender's obligation to `PublicationSlot::publish`). Its raw buffers are accessed under that
// protocol too.
unsafe impl Send for PublishedDescriptor {}

impl PublishedDescriptor {
    pub(super) fn new(descriptor: &RoundDescriptor<'_>) -> Self {
        let descriptor = std::ptr::from_ref(descriptor).cast::<MaybeUninit<RoundDescriptor<'static>>>();
        // SAFETY: the two types differ in their lifetime only, and `MaybeUninit` asserts nothing
        // about what the descriptor points to.
        Self { descriptor: unsafe { descriptor.read() } }
    }

    /// Returns the descriptor.
    ///
    /// # Safety
    ///
    /// The memory that the descriptor points to is still valid: the caller's lease is not released.
    #[inline]
    pub(super) unsafe fn descriptor(&self) -> &RoundDescriptor<'_> {
        // SAFETY: `new` has stored a descriptor, and what it points to lives as the caller
        // promises.
        unsafe { self.descriptor.assume_init_ref() }
    }
}

/// The call and the round that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId {
    pub(super) call: u64,
    pub(super) fingerprint: u64,
    pub(super) round: u32,
}

/// The header of an eager message: its id and its length, packed into three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct EagerHeader {
    call: u64,
    fingerprint: u64,
    /// The round in the low half, the length of the payload in the high half.
    word: u64,
}

impl EagerHeader {
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
pub(super) struct EagerMessage {
    pub(super) header: EagerHeader,
    /// As many bytes are initialised as the header says.
    pub(super) payload: [MaybeUninit<u8>; EagerMessage::MAX_BYTES],
}

impl EagerMessage {
    /// Longest payload. With it a mailbox cell takes four cache lines, and a payload of 32 bytes
    /// lies on the first of them.
    ///
    /// Measurements of the bare staged exchange, among any number of ranks on two cores: up to this
    /// length it is faster than the exchange that copies once, and at 512 bytes it is slower.
    pub(super) const MAX_BYTES: usize = 200;

    /// Bytes of the payload that lie on the cell's first cache line.
    pub(super) const ON_FIRST_LINE: usize = 32;
}

/// The state that the members of one context share. See the [module](self).
#[derive(Debug)]
pub(super) struct Group {
    pub(super) context: ContextId,
    /// The process of each member.
    pub(super) processes: Box<[Rank]>,
    members: Box<[Member]>,
    /// By sender.
    slots: Box<[PublicationSlot<PublishedDescriptor>]>,
    /// By receiver, each made when first written to. Empty if there are too many members.
    mailboxes: Box<[OnceLock<Mailbox<EagerMessage>>]>,
    /// The number of eager messages of one sender for which a mailbox has room.
    pub(super) room: u64,
    pub(super) parked: ParkedCount,
    failure: OnceLock<Failure>,
    /// The number of members that have left.
    departures: AtomicU32,
    /// The first member that has left with its history. Each later one compares its own with it.
    first: OnceLock<usize>,
}

/// Largest number of members that have mailboxes. With this many, the mailboxes take 9 MB once each
/// has been written to. In larger groups all messages are rendezvous messages.
const MAX_MAILBOX_MEMBERS: usize = 128;
/// Least room of a mailbox for messages of one sender, and the most, which smaller groups have
/// without taking more memory.
const ROOM: (usize, usize) = (2, 64);

/// Returns the room of the mailboxes of a group.
fn room(members: usize) -> u64 {
    let (least, most) = ROOM;
    let fit = least * MAX_MAILBOX_MEMBERS.pow(2) / members.pow(2).max(1);
    // A power of two.
    1 << fit.clamp(least, most).ilog2()
}

/// The state of one member that all members may read.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) sync: SyncState,
    pub(super) status: MemberStatus,
    /// The last changes of the signature that it calls, latest first. A reader may be a few calls
    /// behind.
    recent: Mutex<[Option<SignatureChange>; 4]>,
    left: OnceLock<Exit>,
    /// The history of its calls, once it has left.
    history: OnceLock<History>,
}

/// The signature that a member calls, from this call on.
#[derive(Clone, Debug)]
struct SignatureChange {
    call: u64,
    signature: Signature,
}

/// The position of a member. Only the member writes it, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct MemberStatus {
    /// The current call, or the last one.
    pub(super) word: StatusWord,
    /// The current round, or the last one.
    pub(super) round: AtomicU32,
    /// The member that it waits for, plus one; 0 if it does not wait.
    awaits: AtomicU32,
    /// Counts each step that it completes.
    progress: AtomicU64,
    /// The thread that drives it.
    pub(super) thread: AtomicU64,
}

/// The way in which a member left.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    Returned,
    /// With its message, if that is known.
    Panicked(Option<Arc<str>>),
}

impl Group {
    pub(super) fn new(context: ContextId, processes: &[Rank]) -> Self {
        let size = processes.len();
        let mailboxes = if size <= MAX_MAILBOX_MEMBERS { size } else { 0 };
        Self {
            context,
            processes: processes.into(),
            members: (0..size).map(|_| Member::new(size)).collect(),
            slots: (0..size).map(|me| PublicationSlot::new(me, size)).collect(),
            mailboxes: (0..mailboxes).map(|_| OnceLock::new()).collect(),
            room: room(size),
            parked: ParkedCount::new(),
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

    /// Returns the rank of a process in this group.
    pub(super) fn rank_of(&self, process: Rank) -> Option<usize> {
        self.processes.iter().position(|p| *p == process)
    }

    #[inline]
    pub(super) fn slot(&self, of: usize) -> &PublicationSlot<PublishedDescriptor> {
        &self.slots[of]
    }

    /// Whether the group has mailboxes.
    #[inline]
    pub(super) fn has_mailboxes(&self) -> bool {
        !self.mailboxes.is_empty()
    }

    /// Returns a member's mailbox, if it has been written to.
    #[inline]
    pub(super) fn mailbox(&self, of: usize) -> Option<&Mailbox<EagerMessage>> {
        self.mailboxes.get(of)?.get()
    }

    /// Returns a member's mailbox for writing, if the group has mailboxes.
    #[inline]
    pub(super) fn mailbox_to(&self, of: usize) -> Option<&Mailbox<EagerMessage>> {
        Some(self.mailboxes.get(of)?.get_or_init(|| Mailbox::new(self.members.len(), self.room)))
    }

    /// Whether the messages of one peer go as one eager message. Both ends get the same answer.
    #[inline]
    pub(super) fn is_eager(&self, messages: &[Message]) -> bool {
        matches!(messages, [message] if message.bytes <= EagerMessage::MAX_BYTES as u64) && self.has_mailboxes()
    }

    #[inline]
    pub(super) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    /// Fails the context, unless it has failed before. Returns its first failure.
    #[cold]
    pub(super) fn fail(&self, failure: Failure) -> Failure {
        let first = self.failure.get_or_init(|| failure).clone();
        self.unpark_all();
        first
    }

    /// Returns how many members have left so far.
    #[inline]
    pub(super) fn departures(&self) -> u32 {
        self.departures.load(Ordering::Acquire)
    }

    /// Marks a member as left and unparks all members, unless it was marked before.
    pub(super) fn mark_left(&self, rank: usize, exit: Exit) {
        if self.members[rank].left.set(exit).is_ok() {
            self.departures.fetch_add(1, Ordering::AcqRel);
            self.unpark_all();
        }
    }

    /// Compares the calls of a leaving member with those of the first member that left, and returns
    /// their disagreement, if any.
    pub(super) fn disagreement(&self, me: usize) -> Option<Disagreement> {
        let history = *self.members[me].history.get()?;
        let first = *self.first.get_or_init(|| me);
        let theirs = *self.members[first].history.get()?;
        if self.failure().is_some() || history == theirs {
            return None;
        }
        let (mine, other) = (&self.members[me], &self.members[first]);
        let changes = [mine.changes(), other.changes()];
        let describe =
            [mine, other].map(|member| move |call| member.signature_of(call).map(|signature| signature.description));
        let failure = disagreement(
            &MemberHistory { rank: Rank::new(me), history, changes: &changes[0], describe: &describe[0] },
            &MemberHistory { rank: Rank::new(first), history: theirs, changes: &changes[1], describe: &describe[1] },
        )?;
        Some(Disagreement { failure, rank: Rank::new(me), members: (&*self.processes).into() })
    }

    /// Returns the failure for a message that its receiver has not awaited in any call, once all
    /// members have left.
    pub(super) fn surplus(&self) -> Option<Disagreement> {
        if !self.is_deserted() || self.members.iter().any(|member| member.history.get().is_none()) {
            return None;
        }
        let all = 0..self.members.len();
        let mut pairs = all.clone().flat_map(|to| all.clone().map(move |from| (from, to)));
        let (from, to, header) = pairs.find_map(|(from, to)| {
            let taken = self.members[to].sync.taken(from);
            // SAFETY: all members have left, so no other thread reads or writes messages here.
            let (header, _) = unsafe { self.mailbox(to)?.read(from, taken, |message| message.header)? };
            (header.bytes() > 0).then_some((from, to, header))
        })?;
        let MessageId { call, fingerprint, round } = header.message_id();
        let (observer, description) = (Rank::new(to), self.members[from].description(fingerprint));
        let cause = Cause::Length { from: Rank::new(from), to: observer, expected: 0, found: header.bytes().into() };
        let failure = Failure { call, description, round, observer, culprit: None, cause };
        Some(Disagreement { failure, rank: observer, members: (&*self.processes).into() })
    }

    /// Whether all members have left.
    pub(super) fn is_deserted(&self) -> bool {
        self.departures() as usize == self.members.len()
    }

    fn unpark_all(&self) {
        Parker::fence();
        self.members.iter().for_each(|member| member.sync.parker.unpark_after_fence());
    }
}

impl Member {
    fn new(members: usize) -> Self {
        Self {
            sync: SyncState::new(members),
            status: MemberStatus {
                word: StatusWord::new(),
                round: AtomicU32::new(0),
                awaits: AtomicU32::new(0),
                progress: AtomicU64::new(0),
                thread: AtomicU64::new(0),
            },
            recent: Mutex::new([const { None }; 4]),
            left: OnceLock::new(),
            history: OnceLock::new(),
        }
    }

    /// Returns how it left, if it has.
    pub(super) fn left(&self) -> Option<&Exit> {
        self.left.get()
    }

    /// Sets what it has called in all.
    pub(super) fn conclude(&self, history: History) {
        // A member concludes once, so the history is not set yet.
        let _ = self.history.set(history);
    }

    /// Returns the last changes of its signature: the first call with it, and the fingerprint.
    fn changes(&self) -> Vec<(u64, u64)> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().flatten().map(|change| (change.call, change.signature.fingerprint)).collect()
    }

    /// Records the signature of this call and those after it, before its status word has the
    /// fingerprint.
    pub(super) fn record_signature(&self, call: u64, signature: &Signature) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.rotate_right(1);
        recent[0] = Some(SignatureChange { call, signature: signature.clone() });
    }

    /// Returns the description of a fingerprint that its status word has had, as long as that is
    /// one of the last.
    pub(super) fn description(&self, fingerprint: u64) -> Arc<str> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut signatures = recent.iter().flatten().map(|change| &change.signature);
        signatures
            .find(|known| known.fingerprint == fingerprint)
            .map_or_else(|| "something else".into(), |known| known.description.clone())
    }

    /// Returns the signature of a call, if it is one of the last.
    pub(super) fn signature_of(&self, call: u64) -> Option<Signature> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().flatten().find(|change| change.call <= call).map(|change| change.signature.clone())
    }
}

impl MemberStatus {
    /// Returns the member that it waits for.
    pub(super) fn awaits(&self) -> Option<usize> {
        (self.awaits.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    pub(super) fn set_awaits(&self, rank: Option<usize>) {
        self.awaits.store(rank.map_or(0, |rank| rank as u32 + 1), Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Counts a completed step. Only the member itself does.
    #[inline]
    pub(super) fn advance(&self) {
        self.progress.store(self.progress.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

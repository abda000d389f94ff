//! A group: what the members of one context share.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bell::Bell;
use super::copy::Bases;
use super::post::Post;
use super::slot::{Desk, Slot};
use crate::ids::Rank;
use crate::plan::{Program, ProgramRound};
use crate::transport::{ContextId, Failure, Signature};

/// What a rank offers in a round. All that it points to is the rank's until the round returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    pub(super) call: u64,
    pub(super) signature: &'a Signature,
    pub(super) program: &'a Program,
    pub(super) round: &'a ProgramRound,
    pub(super) bases: Bases,
}

/// An offer as it lies in a slot, and which of its messages are for the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parcel {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Not to be read once the parcel is settled, so that it may then point to nothing any more.
    offer: MaybeUninit<Offer<'static>>,
}

// SAFETY: the protocol of the slot keeps all that an offer points to alive while it is read (the sender's obligation to
// `Slot::publish`); its raw buffers are touched under that protocol too.
unsafe impl Send for Parcel {}

impl Parcel {
    pub(super) fn new(offer: &Offer<'_>, first: u32, end: u32) -> Self {
        let offer = std::ptr::from_ref(offer).cast::<MaybeUninit<Offer<'static>>>();
        // SAFETY: an offer is one with another lifetime, and `MaybeUninit` claims nothing of what it points to.
        Self { first, end, offer: unsafe { offer.read() } }
    }

    /// # Safety
    ///
    /// What the offer points to is still there: the parcel is not settled.
    #[inline]
    pub(super) unsafe fn offer(&self) -> &Offer<'_> {
        // SAFETY: `new` has put an offer there, whose parts live as the caller says.
        unsafe { self.offer.assume_init_ref() }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Group {
    pub(super) context: ContextId,
    /// The process of each member.
    pub(super) processes: Box<[Rank]>,
    members: Box<[Member]>,
    /// By receiver, then sender; made when first used, since few algorithms have everybody send to everybody.
    slots: Box<[OnceLock<Box<Slot<Parcel>>>]>,
    failure: OnceLock<Failure>,
    /// How many members have left.
    departures: AtomicU32,
}

/// What everybody may know of a member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) desk: Desk,
    pub(super) status: Status,
    /// The last fingerprint and its words, written when the fingerprint changes.
    words: Mutex<Option<(u64, Arc<str>)>>,
    left: OnceLock<Leave>,
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
            members: (0..size).map(|_| Member::new()).collect(),
            slots: (0..size * size).map(|_| OnceLock::new()).collect(),
            failure: OnceLock::new(),
            departures: AtomicU32::new(0),
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

    /// The slot from one member to another.
    #[inline]
    pub(super) fn slot(&self, from: usize, to: usize) -> &Slot<Parcel> {
        self.slots[to * self.members.len() + from].get_or_init(|| Box::new(Slot::new()))
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
    fn new() -> Self {
        Self {
            desk: Desk::new(),
            status: Status {
                post: Post::new(),
                round: AtomicU32::new(0),
                awaits: AtomicU32::new(0),
                progress: AtomicU64::new(0),
                thread: AtomicU64::new(0),
            },
            words: Mutex::new(None),
            left: OnceLock::new(),
        }
    }

    /// How it left, if it has.
    pub(super) fn left(&self) -> Option<&Leave> {
        self.left.get()
    }

    /// Says in words what a fingerprint means that is posted next.
    pub(super) fn set_words(&self, signature: &Signature) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        *words = Some((signature.fingerprint, signature.words.clone()));
    }

    /// The words of a fingerprint that it has posted, if it is still the last one.
    pub(super) fn words(&self, fingerprint: u64) -> Option<Arc<str>> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.as_ref().filter(|(last, _)| *last == fingerprint).map(|(_, words)| words.clone())
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

//! Model checks of the synchronisation of threads, in every interleaving. They include the files
//! that the transport itself is built from.

#![allow(unsafe_code)]

#[path = "../../src/transport/local/mailbox.rs"]
#[allow(dead_code)]
mod mailbox;
#[path = "../../src/transport/local/parker.rs"]
#[allow(dead_code)]
mod parker;
#[path = "../../src/transport/local/slot.rs"]
#[allow(dead_code)]
mod slot;
#[path = "../../src/transport/local/status_word.rs"]
mod status_word;

/// The primitives that the included files use.
mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

use loom::sync::Arc;
use loom::thread;

use mailbox::Mailbox;
use parker::{ParkedCount, Parker};
use slot::{AccessEpoch, PublicationSlot, SyncState};
use status_word::StatusWord;
use sync::{AtomicBool, AtomicU32, Ordering, UnsafeCell};

/// The sender's memory. Loom reports any access that is not ordered against a write.
#[derive(Debug)]
struct Memory(UnsafeCell<u32>);

// SAFETY: loom checks each access, which is the purpose of the models.
unsafe impl Sync for Memory {}

/// A descriptor by which a receiver accesses the sender's memory, and the number of flags set up to
/// and including its own.
#[derive(Clone, Copy, Debug)]
struct Descriptor(*const Memory, u32);

// SAFETY: it points to memory that the model keeps alive, and whose accesses loom checks.
unsafe impl Send for Descriptor {}

impl Descriptor {
    fn read(self) -> u32 {
        // SAFETY: the memory lives in an `Arc` of the model until all its threads are joined.
        unsafe { (*self.0).0.with(|value| *value) }
    }
}

/// One sender, `R` receivers.
#[derive(Debug)]
struct World<const R: usize> {
    memory: Memory,
    slot: PublicationSlot<Descriptor>,
    /// How often the sender has published.
    published: AtomicU32,
    sender: SyncState,
    receivers: [SyncState; R],
    failed: AtomicBool,
    parked: ParkedCount,
}

impl<const R: usize> World<R> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            memory: Memory(UnsafeCell::new(7)),
            slot: PublicationSlot::new(R, R),
            published: AtomicU32::new(0),
            sender: SyncState::new(0),
            receivers: std::array::from_fn(|_| SyncState::new(1)),
            failed: AtomicBool::new(false),
            parked: ParkedCount::new(),
        })
    }

    /// Returns how many leases there are after this number of publications.
    fn due(published: u32) -> u32 {
        published * R as u32
    }

    /// Publishes a descriptor and sets all flags, without unparking.
    fn publish_silently(&self) {
        let published = self.published.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: each model publishes once a round, and waits for the releases in between. The
        // memory outlives the descriptor.
        unsafe { self.slot.publish(Descriptor(&self.memory, Self::due(published))) };
        (0..R).for_each(|to| self.slot.set_flag(to, u64::from(published) - 1));
    }

    /// Publishes message `number` for receiver 0 and unparks it.
    fn publish_number(&self, number: u64) {
        // SAFETY: nothing was published before. The memory outlives the descriptor.
        unsafe { self.slot.publish(Descriptor(&self.memory, 1)) };
        self.slot.set_flag(0, number);
        Parker::fence();
        self.receivers[0].parker.unpark_after_fence();
    }

    fn outstanding(&self) -> u32 {
        self.sender.releases.outstanding(Self::due(self.published.load(Ordering::Relaxed)))
    }

    /// Publishes a descriptor for all receivers and unparks them.
    fn publish(&self) {
        self.publish_silently();
        Parker::fence();
        if self.parked.any() {
            self.receivers.iter().for_each(|receiver| receiver.parker.unpark_after_fence());
        }
    }

    /// Revokes all flags and waits until no receiver accesses the memory.
    fn revoke(&self) {
        (0..R).for_each(|to| self.slot.revoke(to));
        AccessEpoch::fence_after_revoke();
        for receiver in &self.receivers {
            let Some(active) = receiver.epoch.active() else { continue };
            while receiver.epoch.active() == Some(active) {
                thread::yield_now();
            }
        }
    }

    fn await_released(&self) {
        while self.outstanding() != 0 {
            self.sender.parker.park(&self.parked, None, || self.outstanding() == 0);
        }
    }

    /// Writes the sender's memory, which is its own again.
    fn reuse(&self, value: u32) {
        // SAFETY: loom checks that no access is concurrent.
        self.memory.0.with_mut(|memory| unsafe { *memory = value });
    }

    /// Copies what is published for a receiver that has taken this number of messages.
    fn copy(&self, receiver: usize, taken: u64) -> Option<u32> {
        let guard = self.receivers[receiver].epoch.enter();
        let lease = guard.lease(&self.slot, receiver, taken, &self.sender, |descriptor| descriptor.1)?;
        let value = lease.descriptor.read();
        self.receivers[receiver].set_taken(0, taken + 1);
        Some(value)
    }

    fn receive(&self, receiver: usize, taken: u64) -> u32 {
        loop {
            if let Some(value) = self.copy(receiver, taken) {
                return value;
            }
            self.receivers[receiver].parker.park(&self.parked, None, || self.slot.is_flagged(receiver, taken));
        }
    }
}

#[test]
fn publication_is_copied_before_the_sender_continues() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.receive(0, 0)
        });
        world.publish();
        world.await_released();
        world.reuse(8);
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

#[test]
fn slot_serves_two_rounds_in_a_row() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || (world.receive(0, 0), world.receive(0, 1))
        });
        world.publish();
        world.await_released();
        world.reuse(8);
        world.publish();
        world.await_released();
        world.reuse(9);
        assert_eq!(receiver.join().unwrap(), (7, 8));
    });
}

#[test]
fn last_of_two_receivers_unparks_the_sender() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|rank| {
            let world = world.clone();
            thread::spawn(move || world.receive(rank, 0))
        });
        world.publish();
        world.await_released();
        world.reuse(8);
        assert_eq!(receivers.map(|receiver| receiver.join().unwrap()), [7, 7]);
    });
}

#[test]
fn revoked_publication_is_unseen_or_awaited() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.copy(0, 0)
        });
        world.publish();
        world.revoke();
        world.reuse(8);
        let seen = receiver.join().unwrap();
        assert!(seen.is_none_or(|value| value == 7));
    });
}

#[test]
fn revoking_from_two_receivers_awaits_both() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|rank| {
            let world = world.clone();
            thread::spawn(move || world.copy(rank, 0))
        });
        world.publish();
        world.revoke();
        world.reuse(8);
        assert!(receivers.into_iter().all(|receiver| receiver.join().unwrap().is_none_or(|value| value == 7)));
    });
}

#[test]
fn revoking_sender_awaits_an_epoch_shared_by_two_senders() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (first, second) = (World::<1>::new(), World::<1>::new());
        let receiver = thread::spawn({
            let (first, second) = (first.clone(), second.clone());
            move || {
                // One epoch, that of the first world's receiver, for leases in both.
                let guard = first.receivers[0].epoch.enter();
                let read = |world: &World<1>| {
                    let lease = guard.lease(&world.slot, 0, 0, &world.sender, |descriptor| descriptor.1)?;
                    Some(lease.descriptor.read())
                };
                (read(&second), read(&first))
            }
        });
        second.publish();
        first.publish();
        first.revoke();
        first.reuse(8);
        let (other, value) = receiver.join().unwrap();
        assert!(value.is_none_or(|value| value == 7) && other.is_none_or(|value| value == 7));
    });
}

#[test]
fn entering_an_epoch_fences_flags_for_parked_receivers() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.receive(0, 0)
        });
        world.publish_silently();
        let guard = world.sender.epoch.enter();
        if world.parked.any() {
            world.receivers[0].parker.unpark_after_fence();
        }
        drop(guard);
        world.await_released();
        world.reuse(8);
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

/// Two ranks, each with a mailbox that the other writes to. Loom reports any access to a message
/// that is not ordered.
#[derive(Debug)]
struct Pair {
    mailboxes: [Mailbox<u64>; 2],
    states: [SyncState; 2],
    parked: ParkedCount,
}

/// The room of a mailbox, the least.
const ROOM: u64 = 2;

impl Pair {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mailboxes: [Mailbox::new(1, ROOM), Mailbox::new(1, ROOM)],
            states: [SyncState::new(1), SyncState::new(1)],
            parked: ParkedCount::new(),
        })
    }

    /// Writes a message to the other rank, with an acknowledgement. There must be room.
    fn write(&self, me: usize, number: u64, ack: u64, message: u64) {
        // SAFETY: the models write only when they know that there is room.
        unsafe { self.mailboxes[1 - me].write(0, number, ack, |at| at.write(message)) };
        self.unpark(1 - me, true);
    }

    /// Unparks a rank, only if it awaits room unless `always` is set.
    fn unpark(&self, rank: usize, always: bool) {
        Parker::fence();
        if self.parked.any() && (always || self.states[rank].awaits_room.load(Ordering::Relaxed)) {
            self.states[rank].parker.unpark_after_fence();
        }
    }

    /// Waits until there is room for a message.
    fn await_room(&self, me: usize, number: u64) {
        let room = || number - self.states[1 - me].taken(0) < ROOM;
        while !room() {
            self.states[me].awaits_room.store(true, Ordering::Relaxed);
            self.states[me].parker.park(&self.parked, None, room);
            self.states[me].awaits_room.store(false, Ordering::Relaxed);
        }
    }

    /// Takes a message. Returns it, and how many messages of this rank the other has taken.
    fn take(&self, me: usize, number: u64) -> (u64, u64) {
        let message = loop {
            // SAFETY: each model takes messages one after the other.
            if let Some((message, ack)) = unsafe { self.mailboxes[me].read(0, number, |message| *message) } {
                self.states[me].set_taken(0, number + 1);
                // The number of messages that a rank sends in the models.
                break (message, ack.expand(3));
            }
            self.states[me].parker.park(&self.parked, None, || self.mailboxes[me].has(0, number));
        };
        self.unpark(1 - me, false);
        message
    }
}

#[test]
fn eager_messages_stay_in_order_when_the_mailbox_is_full() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let pair = Pair::new();
        let receiver = thread::spawn({
            let pair = pair.clone();
            move || [0, 1, 2].map(|number| pair.take(1, number).0)
        });
        for number in 0..3 {
            pair.await_room(0, number);
            pair.write(0, number, 0, 10 + number);
        }
        assert_eq!(receiver.join().unwrap(), [10, 11, 12]);
    });
}

#[test]
fn acknowledgements_in_an_exchange_prove_room() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pair = Pair::new();
        let rank = |me: usize, pair: Arc<Pair>| {
            let mut acknowledged = 0;
            for number in 0..3 {
                assert!(number - acknowledged < ROOM);
                pair.write(me, number, number, number);
                let (value, taken) = pair.take(me, number);
                assert_eq!(value, number);
                acknowledged = taken;
            }
        };
        let other = thread::spawn({
            let pair = pair.clone();
            move || rank(1, pair)
        });
        rank(0, pair);
        other.join().unwrap();
    });
}

#[test]
fn rendezvous_message_is_not_taken_for_an_eager_one() {
    loom::model(|| {
        let both = Arc::new((Pair::new(), World::<1>::new()));
        let receiver = thread::spawn({
            let both = both.clone();
            move || {
                let (pair, world) = &*both;
                // Message 0 is eager, message 1 a rendezvous message. A rank that awaits the eager
                // one looks for a rendezvous message too.
                let message = loop {
                    // SAFETY: nothing was taken before.
                    if let Some((message, _)) = unsafe { pair.mailboxes[1].read(0, 0, |message| *message) } {
                        break message;
                    }
                    assert_eq!(world.copy(0, 0), None);
                    thread::yield_now();
                };
                (message, world.receive(0, 1))
            }
        });
        let (pair, world) = &*both;
        pair.write(0, 0, 0, 5);
        world.publish_number(1);
        assert_eq!(receiver.join().unwrap(), (5, 7));
    });
}

#[test]
fn failure_unparks_a_parked_rank() {
    loom::model(|| {
        let world = World::<1>::new();
        let failing = thread::spawn({
            let world = world.clone();
            move || {
                world.failed.store(true, Ordering::Release);
                Parker::fence();
                world.receivers[0].parker.unpark_after_fence();
            }
        });
        while !world.failed.load(Ordering::Acquire) {
            world.receivers[0].parker.park(&world.parked, None, || world.failed.load(Ordering::Acquire));
        }
        failing.join().unwrap();
    });
}

#[test]
fn rank_that_awaits_two_threads_is_unparked_by_both() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((Parker::new(), [AtomicBool::new(false), AtomicBool::new(false)], ParkedCount::new()));
        let others = [0, 1].map(|i| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1[i].store(true, Ordering::Release);
                Parker::fence();
                shared.0.unpark_after_fence();
            })
        });
        let both = || shared.1.iter().all(|done| done.load(Ordering::Acquire));
        while !both() {
            shared.0.park(&shared.2, None, both);
        }
        others.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn status_word_is_read_consistently_or_not_at_all() {
    loom::model(|| {
        let word = Arc::new(StatusWord::new());
        let writer = thread::spawn({
            let word = word.clone();
            move || {
                word.write(0, 10);
                word.write(1, 11);
                word.write(2, 11);
            }
        });
        let seen = word.read();
        assert!(seen.is_none_or(|seen| [(0, 10), (1, 11), (2, 11)].contains(&seen)), "{seen:?}");
        writer.join().unwrap();
        assert_eq!(word.read(), Some((2, 11)));
    });
}

//! Model checks of the in-process transport's synchronisation: every interleaving, on the files that the transport itself
//! is built from.

#![allow(unsafe_code)]

#[path = "../src/transport/local/bell.rs"]
#[allow(dead_code)]
mod bell;
#[path = "../src/transport/local/post.rs"]
mod post;
#[path = "../src/transport/local/slot.rs"]
#[allow(dead_code)]
mod slot;

/// What the included files synchronise with.
mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

use loom::sync::Arc;
use loom::thread;

use post::Post;
use slot::{Desk, Slot};
use sync::{AtomicBool, Ordering, UnsafeCell};

/// The sender's memory: loom objects to any access that is not ordered against a write.
#[derive(Debug)]
struct Memory(UnsafeCell<u32>);

// SAFETY: loom checks each access; that is what the models are for.
unsafe impl Sync for Memory {}

/// A parcel by which a receiver reaches the sender's memory.
#[derive(Clone, Copy, Debug)]
struct Parcel(*const Memory);

// SAFETY: it points to memory that the model keeps alive, and that loom guards.
unsafe impl Send for Parcel {}

impl Parcel {
    fn read(self) -> u32 {
        // SAFETY: the memory lives in an `Arc` of the model until all its threads are joined.
        unsafe { (*self.0).0.with(|value| *value) }
    }
}

/// One sender, `R` receivers.
#[derive(Debug)]
struct World<const R: usize> {
    memory: Memory,
    slots: [Slot<Parcel>; R],
    sender: Desk,
    receivers: [Desk; R],
    failed: AtomicBool,
}

impl<const R: usize> World<R> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            memory: Memory(UnsafeCell::new(7)),
            slots: std::array::from_fn(|_| Slot::new()),
            sender: Desk::new(),
            receivers: std::array::from_fn(|_| Desk::new()),
            failed: AtomicBool::new(false),
        })
    }

    fn publish(&self) {
        self.sender.tally.expect(R as u32);
        for slot in &self.slots {
            // SAFETY: each model publishes once a round, and waits for the tally in between; the memory outlives it.
            unsafe { slot.publish(Parcel(&self.memory)) };
        }
        bell::Bell::announce();
        self.receivers.iter().for_each(|receiver| receiver.bell.ring_announced());
    }

    fn await_settled(&self) {
        while self.sender.tally.open() != 0 {
            self.sender.bell.sleep(None, || self.sender.tally.open() == 0);
        }
    }

    /// The sender's memory is its own again.
    fn reuse(&self, value: u32) {
        // SAFETY: loom checks that no access is concurrent.
        self.memory.0.with_mut(|memory| unsafe { *memory = value });
    }

    fn receive(&self, who: usize) -> u32 {
        loop {
            if let Some(claim) = self.slots[who].claim(&self.sender) {
                return claim.parcel.read();
            }
            self.receivers[who].bell.sleep(None, || self.slots[who].is_published());
        }
    }
}

#[test]
fn what_is_published_is_copied_before_the_sender_goes_on_and_nobody_sleeps_through_it() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.receive(0)
        });
        world.publish();
        world.await_settled();
        world.reuse(8);
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

#[test]
fn a_slot_serves_one_round_after_another() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || (world.receive(0), world.receive(0))
        });
        world.publish();
        world.await_settled();
        world.reuse(8);
        world.publish();
        world.await_settled();
        world.reuse(9);
        assert_eq!(receiver.join().unwrap(), (7, 8));
    });
}

#[test]
fn the_last_of_two_receivers_wakes_the_sender() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|who| {
            let world = world.clone();
            thread::spawn(move || world.receive(who))
        });
        world.publish();
        world.await_settled();
        world.reuse(8);
        assert_eq!(receivers.map(|receiver| receiver.join().unwrap()), [7, 7]);
    });
}

#[test]
fn what_is_revoked_is_not_seen_and_what_is_claimed_is_waited_for() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.slots[0].claim(&world.sender).map(|claim| claim.parcel.read())
        });
        world.publish();
        world.slots[0].revoke(&world.sender);
        world.await_settled();
        world.reuse(8);
        let seen = receiver.join().unwrap();
        assert!(seen.is_none_or(|value| value == 7));
        assert!(world.slots[0].is_empty());
    });
}

#[test]
fn a_failure_or_a_departure_wakes_whoever_sleeps() {
    loom::model(|| {
        let world = World::<1>::new();
        let failing = thread::spawn({
            let world = world.clone();
            move || {
                world.failed.store(true, Ordering::Release);
                world.receivers[0].bell.ring();
            }
        });
        while !world.failed.load(Ordering::Acquire) {
            world.receivers[0].bell.sleep(None, || world.failed.load(Ordering::Acquire));
        }
        failing.join().unwrap();
    });
}

#[test]
fn two_ringers_wake_a_rank_that_waits_for_both() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let rings = Arc::new((bell::Bell::new(), [AtomicBool::new(false), AtomicBool::new(false)]));
        let ringers = [0, 1].map(|who| {
            let rings = rings.clone();
            thread::spawn(move || {
                rings.1[who].store(true, Ordering::Release);
                rings.0.ring();
            })
        });
        let both = || rings.1.iter().all(|ring| ring.load(Ordering::Acquire));
        while !both() {
            rings.0.sleep(None, both);
        }
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

#[test]
fn a_post_is_read_whole_or_not_at_all() {
    loom::model(|| {
        let post = Arc::new(Post::new());
        let writer = thread::spawn({
            let post = post.clone();
            move || {
                post.write(0, 10);
                post.write(1, 11);
                post.write(2, 11);
            }
        });
        let seen = post.read();
        assert!(seen.is_none_or(|seen| [(0, 10), (1, 11), (2, 11)].contains(&seen)), "{seen:?}");
        writer.join().unwrap();
        assert_eq!(post.read(), Some((2, 11)));
    });
}

//! Model checks of the in-process transport's synchronisation: every interleaving, on the files that the transport itself
//! is built from.

#![allow(unsafe_code)]

#[path = "../src/transport/local/bell.rs"]
#[allow(dead_code)]
mod bell;
#[path = "../src/transport/local/mail.rs"]
#[allow(dead_code)]
mod mail;
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

use bell::Sleepers;
use mail::Letterbox;
use post::Post;
use slot::{Desk, Hold, Slot};
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
    sleepers: Sleepers,
}

impl<const R: usize> World<R> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            memory: Memory(UnsafeCell::new(7)),
            slots: std::array::from_fn(|_| Slot::new()),
            sender: Desk::new(),
            receivers: std::array::from_fn(|_| Desk::new()),
            failed: AtomicBool::new(false),
            sleepers: Sleepers::new(),
        })
    }

    fn publish(&self) {
        self.sender.tally.expect(R as u32);
        for slot in &self.slots {
            // SAFETY: each model publishes once a round, and waits for the tally in between; the memory outlives it.
            unsafe { slot.publish(Parcel(&self.memory)) };
        }
        bell::Bell::announce();
        if self.sleepers.any() {
            self.receivers.iter().for_each(|receiver| receiver.bell.ring_announced());
        }
    }

    fn await_settled(&self) {
        while self.sender.tally.open() != 0 {
            self.sender.bell.sleep(&self.sleepers, None, || self.sender.tally.open() == 0);
        }
    }

    /// The sender's memory is its own again.
    fn reuse(&self, value: u32) {
        // SAFETY: loom checks that no access is concurrent.
        self.memory.0.with_mut(|memory| unsafe { *memory = value });
    }

    fn claim(&self, who: usize) -> Option<slot::Claim<'_, Parcel>> {
        // The sender is number 9.
        self.slots[who].claim((9, &self.sender), &self.receivers[who])
    }

    fn receive(&self, who: usize) -> u32 {
        loop {
            if let Some(claim) = self.claim(who) {
                return claim.parcel.read();
            }
            self.receivers[who].bell.sleep(&self.sleepers, None, || self.slots[who].is_published());
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
            move || world.claim(0).map(|claim| claim.parcel.read())
        });
        world.publish();
        world.slots[0].revoke();
        Hold::settle_revoked();
        while world.receivers[0].hold.is_on(9) {
            thread::yield_now();
        }
        world.reuse(8);
        let seen = receiver.join().unwrap();
        assert!(seen.is_none_or(|value| value == 7));
    });
}

#[test]
fn all_that_is_revoked_is_waited_for() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|who| {
            let world = world.clone();
            thread::spawn(move || world.claim(who).map(|claim| claim.parcel.read()))
        });
        world.publish();
        world.slots.iter().for_each(Slot::revoke);
        Hold::settle_revoked();
        while world.receivers.iter().any(|receiver| receiver.hold.is_on(9)) {
            thread::yield_now();
        }
        world.reuse(8);
        assert!(receivers.into_iter().all(|receiver| receiver.join().unwrap().is_none_or(|value| value == 7)));
    });
}

/// Two ranks, a letterbox for each, of one writer, and what they sleep on. Loom objects to any access to a letter that is not ordered.
#[derive(Debug)]
struct Letters {
    mails: [Letterbox<(u32, u32)>; 2],
    desks: [Desk; 2],
    sleepers: Sleepers,
}

impl Letters {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mails: [Letterbox::new(1), Letterbox::new(1)],
            desks: [Desk::new(), Desk::new()],
            sleepers: Sleepers::new(),
        })
    }

    /// Writes a letter to the other: how many of its letters are taken, and a number. There must be room.
    fn write(&self, me: usize, number: u32, letter: (u32, u32)) {
        // SAFETY: the models write only when they know that there is room.
        unsafe { self.mails[1 - me].write(0, number, |at| at.write(letter)) };
        self.tell(1 - me, true);
    }

    /// Rings, if anybody sleeps.
    fn tell(&self, whom: usize, anyway: bool) {
        bell::Bell::announce();
        if self.sleepers.any() && (anyway || self.desks[whom].cramped.load(Ordering::Relaxed)) {
            self.desks[whom].bell.ring_announced();
        }
    }

    /// Waits until there is room for a letter.
    fn make_room(&self, me: usize, number: u32) {
        let room = || number.wrapping_sub(self.mails[1 - me].taken(0)) < mail::CELLS;
        while !room() {
            self.desks[me].cramped.store(true, Ordering::Relaxed);
            self.desks[me].bell.sleep(&self.sleepers, None, room);
            self.desks[me].cramped.store(false, Ordering::Relaxed);
        }
    }

    fn take(&self, me: usize, number: u32) -> (u32, u32) {
        let letter = loop {
            // SAFETY: each model takes letters one after the other.
            if let Some(letter) = unsafe { self.mails[me].take(0, number, |letter| *letter) } {
                break letter;
            }
            self.desks[me].bell.sleep(&self.sleepers, None, || self.mails[me].has(0, number));
        };
        self.tell(1 - me, false);
        letter
    }
}

#[test]
fn letters_come_in_order_and_who_writes_more_than_there_is_room_for_is_woken() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let post = Letters::new();
        let receiver = thread::spawn({
            let post = post.clone();
            move || [0, 1, 2].map(|number| post.take(1, number).1)
        });
        for number in 0..3 {
            post.make_room(0, number);
            post.write(0, number, (0, 10 + number));
        }
        assert_eq!(receiver.join().unwrap(), [10, 11, 12]);
    });
}

#[test]
fn ranks_that_exchange_letters_know_by_them_that_there_is_room() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let post = Letters::new();
        let rank = |me: usize, post: Arc<Letters>| {
            let mut gone = 0;
            for number in 0..3 {
                assert!(number - gone < mail::CELLS);
                post.write(me, number, (number, number));
                let (taken, value) = post.take(me, number);
                assert_eq!(value, number);
                gone = taken;
            }
        };
        let other = thread::spawn({
            let post = post.clone();
            move || rank(1, post)
        });
        rank(0, post);
        other.join().unwrap();
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
                bell::Bell::announce();
                world.receivers[0].bell.ring_announced();
            }
        });
        while !world.failed.load(Ordering::Acquire) {
            world.receivers[0].bell.sleep(&world.sleepers, None, || world.failed.load(Ordering::Acquire));
        }
        failing.join().unwrap();
    });
}

#[test]
fn two_ringers_wake_a_rank_that_waits_for_both() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let rings = Arc::new((bell::Bell::new(), [AtomicBool::new(false), AtomicBool::new(false)], Sleepers::new()));
        let ringers = [0, 1].map(|who| {
            let rings = rings.clone();
            thread::spawn(move || {
                rings.1[who].store(true, Ordering::Release);
                bell::Bell::announce();
                rings.0.ring_announced();
            })
        });
        let both = || rings.1.iter().all(|ring| ring.load(Ordering::Acquire));
        while !both() {
            rings.0.sleep(&rings.2, None, both);
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

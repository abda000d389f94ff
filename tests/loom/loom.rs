//! Model checks of the in-process transport's synchronisation: every interleaving, on the files
//! that the transport itself is built from.

#![allow(unsafe_code)]

#[path = "../../src/transport/local/bell.rs"]
#[allow(dead_code)]
mod bell;
#[path = "../../src/transport/local/board.rs"]
#[allow(dead_code)]
mod board;
#[path = "../../src/transport/local/mail.rs"]
#[allow(dead_code)]
mod mail;
#[path = "../../src/transport/local/post.rs"]
mod post;

/// The synchronisation that the included files use.
mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

use loom::sync::Arc;
use loom::thread;

use bell::Sleepers;
use board::{Board, Desk, Hold};
use mail::Letterbox;
use post::Post;
use sync::{AtomicBool, AtomicU32, Ordering, UnsafeCell};

/// The sender's memory: loom objects to any access that is not ordered against a write.
#[derive(Debug)]
struct Memory(UnsafeCell<u32>);

// SAFETY: loom checks each access; that is what the models are for.
unsafe impl Sync for Memory {}

/// A rendezvous message by which a receiver reads the sender's memory, and the number of those so
/// far, including its round's.
#[derive(Clone, Copy, Debug)]
struct Parcel(*const Memory, u32);

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
    board: Board<Parcel>,
    /// How often it was published.
    laid: AtomicU32,
    sender: Desk,
    receivers: [Desk; R],
    failed: AtomicBool,
    sleepers: Sleepers,
}

impl<const R: usize> World<R> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            memory: Memory(UnsafeCell::new(7)),
            board: Board::new(R, R),
            laid: AtomicU32::new(0),
            sender: Desk::new(0),
            receivers: std::array::from_fn(|_| Desk::new(1)),
            failed: AtomicBool::new(false),
            sleepers: Sleepers::new(),
        })
    }

    /// Returns the tally that is due after this many publications.
    fn due(laid: u32) -> u32 {
        laid * R as u32
    }

    fn note(&self) {
        let laid = self.laid.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: each model lays out once a round, and waits for the tally in between; the memory
        // outlives it.
        unsafe { self.board.lay_out(Parcel(&self.memory, Self::due(laid))) };
        (0..R).for_each(|to| self.board.note(to, u64::from(laid) - 1));
    }

    /// Lays out and notes message `number`, rings and does not wait.
    fn note_one(&self, number: u64) {
        // SAFETY: nothing was laid out before; the memory outlives it.
        unsafe { self.board.lay_out(Parcel(&self.memory, 1)) };
        self.board.note(0, number);
        bell::Bell::announce();
        self.receivers[0].bell.ring_announced();
    }

    fn open(&self) -> u32 {
        self.sender.tally.open(Self::due(self.laid.load(Ordering::Relaxed)))
    }

    fn publish(&self) {
        self.note();
        bell::Bell::announce();
        if self.sleepers.any() {
            self.receivers.iter().for_each(|receiver| receiver.bell.ring_announced());
        }
    }

    fn take_back(&self) {
        (0..R).for_each(|to| self.board.take_back(to));
        Hold::settle_taken_back();
        for receiver in &self.receivers {
            let Some(turn) = receiver.hold.now() else { continue };
            while receiver.hold.now() == Some(turn) {
                thread::yield_now();
            }
        }
    }

    fn await_settled(&self) {
        while self.open() != 0 {
            self.sender.bell.sleep(&self.sleepers, None, || self.open() == 0);
        }
    }

    /// The sender's memory is its own again.
    fn reuse(&self, value: u32) {
        // SAFETY: loom checks that no access is concurrent.
        self.memory.0.with_mut(|memory| unsafe { *memory = value });
    }

    /// Claims the publication for a receiver that has taken this many, and returns its value.
    fn claim(&self, who: usize, taken: u64) -> Option<u32> {
        let holding = self.receivers[who].hold.take();
        let claim = holding.claim(&self.board, who, taken, &self.sender, |parcel| parcel.1)?;
        let value = claim.offer.read();
        self.receivers[who].set_taken(0, taken + 1);
        Some(value)
    }

    fn receive(&self, who: usize, taken: u64) -> u32 {
        loop {
            if let Some(value) = self.claim(who, taken) {
                return value;
            }
            self.receivers[who].bell.sleep(&self.sleepers, None, || self.board.has_note(who, taken));
        }
    }
}

#[test]
fn publication_is_copied_before_its_sender_continues() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.receive(0, 0)
        });
        world.publish();
        world.await_settled();
        world.reuse(8);
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

#[test]
fn publication_slots_serve_consecutive_rounds() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || (world.receive(0, 0), world.receive(0, 1))
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
fn last_of_two_receivers_wakes_the_sender() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|who| {
            let world = world.clone();
            thread::spawn(move || world.receive(who, 0))
        });
        world.publish();
        world.await_settled();
        world.reuse(8);
        assert_eq!(receivers.map(|receiver| receiver.join().unwrap()), [7, 7]);
    });
}

#[test]
fn revoked_slot_is_hidden_and_claimed_slot_waited_for() {
    loom::model(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.claim(0, 0)
        });
        world.publish();
        world.take_back();
        world.reuse(8);
        let seen = receiver.join().unwrap();
        assert!(seen.is_none_or(|value| value == 7));
    });
}

#[test]
fn revoking_waits_for_every_claimed_slot() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<2>::new();
        let receivers = [0, 1].map(|who| {
            let world = world.clone();
            thread::spawn(move || world.claim(who, 0))
        });
        world.publish();
        world.take_back();
        world.reuse(8);
        assert!(receivers.into_iter().all(|receiver| receiver.join().unwrap().is_none_or(|value| value == 7)));
    });
}

#[test]
fn aborting_sender_waits_for_a_receiver_of_two_senders() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (first, second) = (World::<1>::new(), World::<1>::new());
        let receiver = thread::spawn({
            let (first, second) = (first.clone(), second.clone());
            move || {
                // One hold, that of the first world's receiver, for claims in both.
                let holding = first.receivers[0].hold.take();
                let read = |world: &World<1>| {
                    let claim = holding.claim(&world.board, 0, 0, &world.sender, |parcel| parcel.1)?;
                    Some(claim.offer.read())
                };
                (read(&second), read(&first))
            }
        });
        second.publish();
        first.publish();
        first.take_back();
        first.reuse(8);
        let (other, value) = receiver.join().unwrap();
        assert!(value.is_none_or(|value| value == 7) && other.is_none_or(|value| value == 7));
    });
}

#[test]
fn taking_hold_orders_notes_before_the_sleeper_check() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::<1>::new();
        let receiver = thread::spawn({
            let world = world.clone();
            move || world.receive(0, 0)
        });
        world.note();
        let holding = world.sender.hold.take();
        if world.sleepers.any() {
            world.receivers[0].bell.ring_announced();
        }
        drop(holding);
        world.await_settled();
        world.reuse(8);
        assert_eq!(receiver.join().unwrap(), 7);
    });
}

/// Two ranks, each with a queue of eager messages that the other writes, and their parkers. Loom
/// reports any unordered access to a message.
#[derive(Debug)]
struct Letters {
    mails: [Letterbox<u64>; 2],
    desks: [Desk; 2],
    sleepers: Sleepers,
}

impl Letters {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mails: [Letterbox::new(1), Letterbox::new(1)],
            desks: [Desk::new(1), Desk::new(1)],
            sleepers: Sleepers::new(),
        })
    }

    /// Writes a message to the other rank, with the number of messages taken from it. There must be
    /// room.
    fn write(&self, me: usize, number: u64, answer: u64, letter: u64) {
        // SAFETY: the models write only when they know that there is room.
        unsafe { self.mails[1 - me].write(0, number, answer, |at| at.write(letter)) };
        self.tell(1 - me, true);
    }

    /// Rings, if anybody sleeps.
    fn tell(&self, whom: usize, anyway: bool) {
        bell::Bell::announce();
        if self.sleepers.any() && (anyway || self.desks[whom].cramped.load(Ordering::Relaxed)) {
            self.desks[whom].bell.ring_announced();
        }
    }

    /// Waits until there is room for a message.
    fn make_room(&self, me: usize, number: u64) {
        let room = || number - self.desks[1 - me].taken(0) < mail::CELLS;
        while !room() {
            self.desks[me].cramped.store(true, Ordering::Relaxed);
            self.desks[me].bell.sleep(&self.sleepers, None, room);
            self.desks[me].cramped.store(false, Ordering::Relaxed);
        }
    }

    /// Returns a message, and how many of this rank's messages are taken.
    fn take(&self, me: usize, number: u64) -> (u64, u64) {
        let letter = loop {
            // SAFETY: each model takes messages one after the other.
            if let Some((letter, answer)) = unsafe { self.mails[me].read(0, number, |letter| *letter) } {
                self.desks[me].set_taken(0, number + 1);
                // As many as there are messages in the models.
                break (letter, answer.of(3));
            }
            self.desks[me].bell.sleep(&self.sleepers, None, || self.mails[me].has(0, number));
        };
        self.tell(1 - me, false);
        letter
    }
}

#[test]
fn messages_arrive_in_order_and_full_queue_wakes_its_writer() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let post = Letters::new();
        let receiver = thread::spawn({
            let post = post.clone();
            move || [0, 1, 2].map(|number| post.take(1, number).0)
        });
        for number in 0..3 {
            post.make_room(0, number);
            post.write(0, number, 0, 10 + number);
        }
        assert_eq!(receiver.join().unwrap(), [10, 11, 12]);
    });
}

#[test]
fn exchanged_messages_prove_that_the_queue_has_room() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let post = Letters::new();
        let rank = |me: usize, post: Arc<Letters>| {
            let mut gone = 0;
            for number in 0..3 {
                assert!(number - gone < mail::CELLS);
                post.write(me, number, number, number);
                let (value, taken) = post.take(me, number);
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
fn queued_message_is_not_taken_from_a_slot() {
    loom::model(|| {
        let both = Arc::new((Letters::new(), World::<1>::new()));
        let receiver = thread::spawn({
            let both = both.clone();
            move || {
                let (post, world) = &*both;
                // Message 0 is an eager message, message 1 a rendezvous message. A rank that waits
                // for the first looks for the second too.
                let letter = loop {
                    // SAFETY: nothing was taken before.
                    if let Some((letter, _)) = unsafe { post.mails[1].read(0, 0, |letter| *letter) } {
                        break letter;
                    }
                    assert_eq!(world.claim(0, 0), None);
                    thread::yield_now();
                };
                (letter, world.receive(0, 1))
            }
        });
        let (post, world) = &*both;
        post.write(0, 0, 0, 5);
        world.note_one(1);
        assert_eq!(receiver.join().unwrap(), (5, 7));
    });
}

#[test]
fn failure_or_departure_wakes_sleeping_ranks() {
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
fn rank_waiting_for_two_others_is_woken_by_both() {
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
fn status_word_is_read_whole_or_not_at_all() {
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

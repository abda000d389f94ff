//! Claims that are counted from the messages of all rounds, if no two messages of a round take the
//! same channel.

use super::Claims;
use super::course::Course;
use crate::block::Volume;

/// Numbers of messages and of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) messages: u64,
    pub(super) chunks: u64,
}

impl Pair {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, chunks: self.chunks + other.chunks }
    }

    /// Returns the larger of each number.
    pub(super) fn most(self, other: Self) -> Self {
        Self { messages: self.messages.max(other.messages), chunks: self.chunks.max(other.chunks) }
    }
}

/// Returns the most messages and the most chunks of one rank.
fn most(pairs: &[Pair]) -> Pair {
    pairs.iter().copied().fold(Pair::default(), Pair::most)
}

/// What the nodes of a set send each other, in a round and in all. The nodes are in order.
struct Sums {
    nodes: Vec<usize>,
    sent: Vec<Pair>,
    received: Vec<Pair>,
    sent_in_all: Vec<Pair>,
    received_in_all: Vec<Pair>,
}

impl Sums {
    fn new(nodes: Vec<usize>) -> Self {
        let none = vec![Pair::default(); nodes.len()];
        let [sent, received, sent_in_all, received_in_all] = [none.clone(), none.clone(), none.clone(), none];
        Self { nodes, sent, received, sent_in_all, received_in_all }
    }

    /// Begins a round.
    fn begin(&mut self) {
        self.sent.fill(Pair::default());
        self.received.fill(Pair::default());
    }

    /// Adds a message, unless it goes to a node outside the set. Returns whether it does not.
    fn add(&mut self, Sent { from, to, chunks, .. }: Sent) -> bool {
        let [Ok(from), Ok(to)] = [from, to].map(|node| self.nodes.binary_search(&node)) else { return false };
        let message = Pair { messages: 1, chunks: chunks as u64 };
        for pair in
            [&mut self.sent[from], &mut self.sent_in_all[from], &mut self.received[to], &mut self.received_in_all[to]]
        {
            *pair = pair.plus(message);
        }
        true
    }
}

/// A message of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) hops: usize,
    pub(super) chunks: usize,
}

/// The most in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Most {
    /// The most that a rank sends.
    pub(super) sent: Pair,
    /// The most that a rank receives.
    pub(super) received: Pair,
    pub(super) largest: u64,
    pub(super) longest: u64,
    /// The chunks times the hops of one message, and times its first and last hop.
    pub(super) forwarded: (u64, u64),
}

impl Most {
    /// Adds a message, but not to what ranks send and receive.
    pub(super) fn with(self, chunks: u64, hops: u64) -> Self {
        Self {
            largest: self.largest.max(chunks),
            longest: self.longest.max(hops),
            forwarded: self.forwarded.max((chunks * hops, chunks * hops.min(2))),
            ..self
        }
    }
}

/// What the rounds of a plan take, in chunks: the sums over rounds of the most in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    startups: u64,
    hops: u64,
    handled: u64,
    largest: u64,
    by_port: u64,
    sent: u64,
    received: u64,
    forwarded: u64,
    ends: u64,
    /// The most messages and chunks in all rounds that a rank sends or receives, sends, and
    /// receives.
    of_busiest: [Pair; 3],
}

impl Counts {
    /// Counts the messages of the rounds.
    ///
    /// `sets` are nodes that stand for all: what any node sends in a round is the sum of what a
    /// representative in each set sends to nodes of the set. `messages` returns what the nodes of a
    /// set send in a round; what they send to other nodes does not count.
    pub(super) fn of<I: IntoIterator<Item = Sent>>(
        sets: Vec<Vec<usize>>,
        rounds: usize,
        messages: impl Fn(&[usize], usize) -> I,
    ) -> Self {
        let mut sets: Vec<Sums> = sets.into_iter().map(Sums::new).collect();
        let mut counts = Self::default();
        for round in 0..rounds {
            let mut in_round = Most::default();
            for set in &mut sets {
                set.begin();
                for message in messages(&set.nodes, round) {
                    if set.add(message) {
                        in_round = in_round.with(message.chunks as u64, message.hops as u64);
                    }
                }
                in_round.sent = in_round.sent.plus(most(&set.sent));
                in_round.received = in_round.received.plus(most(&set.received));
            }
            counts.add(1, in_round);
        }
        for set in &sets {
            let both: Vec<Pair> =
                set.sent_in_all.iter().zip(&set.received_in_all).map(|(sent, received)| sent.plus(*received)).collect();
            let busiest = [&both, &set.sent_in_all, &set.received_in_all].map(|pairs| most(pairs));
            for (all, most) in counts.of_busiest.iter_mut().zip(busiest) {
                *all = all.plus(most);
            }
        }
        counts
    }

    /// Adds rounds with the same figures.
    pub(super) fn add(&mut self, rounds: u64, Most { sent, received, largest, longest, forwarded }: Most) {
        self.startups += rounds * u64::from(largest > 0);
        self.hops += rounds * longest;
        self.handled += rounds * (sent.messages + received.messages);
        self.largest += rounds * largest;
        self.by_port += rounds * sent.chunks.max(received.chunks);
        self.sent += rounds * sent.chunks;
        self.received += rounds * received.chunks;
        self.forwarded += rounds * forwarded.0;
        self.ends += rounds * forwarded.1;
    }

    /// Sets the most messages and chunks in all rounds that a rank sends or receives, sends, and
    /// receives.
    pub(super) fn with_busiest(self, of_busiest: [Pair; 3]) -> Self {
        Self { of_busiest, ..self }
    }

    /// Returns the claims of the rounds for chunks of this size.
    pub(super) fn claims(self, chunk: Volume, course: Course) -> Claims {
        let [both, sent, received] = self.of_busiest;
        let (times, received, combined, busiest) = match course {
            Course::Down => (1, self.received, 0, sent),
            Course::Up => (1, self.sent, self.sent, received),
            Course::UpAndDown => (2, self.sent + self.received, self.sent, both),
        };
        let sum = |count: u64| Some(chunk * (times * count));
        Claims {
            startups: Some(times * self.startups),
            hops: Some(times * self.hops),
            handled: Some(times * self.handled),
            transmission: sum(self.largest),
            port_transmission: sum(self.by_port),
            received: Some(chunk * received),
            combined: (combined > 0).then(|| chunk * combined),
            forwarded_transmission: sum(self.forwarded),
            end_transmission: sum(self.ends),
            rearrangements: Some(0),
            messages: Some(busiest.messages),
            volume: Some(chunk * busiest.chunks),
            contention_free: true,
            ..Claims::default()
        }
    }
}

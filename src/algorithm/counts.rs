//! Claims that are counted from the messages of all rounds, if no two messages of a round take the
//! same channel.

use super::Claims;
use super::course::Course;
use crate::block::Volume;

/// Numbers of messages and of chunks.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    messages: u64,
    chunks: u64,
}

impl Pair {
    fn plus(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, chunks: self.chunks + other.chunks }
    }
}

/// Returns the most messages and the most chunks of one rank.
fn most(pairs: &[Pair]) -> Pair {
    let most = |of: fn(&Pair) -> u64| pairs.iter().map(of).max().unwrap_or(0);
    Pair { messages: most(|pair| pair.messages), chunks: most(|pair| pair.chunks) }
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
            let (mut largest, mut longest, mut forwarded, mut ends) = (0, 0, 0, 0);
            let (mut sent, mut received) = (Pair::default(), Pair::default());
            for set in &mut sets {
                set.begin();
                for message in messages(&set.nodes, round) {
                    if set.add(message) {
                        let (size, distance) = (message.chunks as u64, message.hops as u64);
                        largest = largest.max(size);
                        longest = longest.max(distance);
                        (forwarded, ends) = (forwarded, ends).max((size * distance, size * distance.min(2)));
                    }
                }
                sent = sent.plus(most(&set.sent));
                received = received.plus(most(&set.received));
            }
            counts.startups += u64::from(largest > 0);
            counts.hops += longest;
            counts.handled += sent.messages + received.messages;
            counts.largest += largest;
            counts.by_port += sent.chunks.max(received.chunks);
            counts.sent += sent.chunks;
            counts.received += received.chunks;
            counts.forwarded += forwarded;
            counts.ends += ends;
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

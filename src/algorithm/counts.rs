//! Claims that are counted from the messages of all rounds, if no two messages of a round take the
//! same channel.

use super::Claims;
use super::course::Course;
use crate::block::Volume;

/// Returns the most messages, and the most chunks, of one rank.
fn most(counts: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
    counts.into_iter().fold((0, 0), |most, counts| (most.0.max(counts.0), most.1.max(counts.1)))
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
    of_busiest: [(u64, u64); 3],
}

impl Counts {
    /// Counts the messages of the rounds.
    pub(super) fn of<I: IntoIterator<Item = Sent>>(ranks: usize, rounds: usize, messages: impl Fn(usize) -> I) -> Self {
        let (mut sent_in_all, mut received_in_all) = (vec![(0, 0); ranks], vec![(0, 0); ranks]);
        let mut counts = Self::default();
        for round in 0..rounds {
            let (mut sent, mut received) = (vec![(0, 0); ranks], vec![(0, 0); ranks]);
            let (mut largest, mut longest, mut forwarded, mut ends) = (0, 0, 0, 0);
            for Sent { from, to, hops, chunks } in messages(round) {
                let (size, distance) = (chunks as u64, hops as u64);
                largest = largest.max(size);
                longest = longest.max(distance);
                (forwarded, ends) = (forwarded, ends).max((size * distance, size * distance.min(2)));
                for all in [&mut sent[from], &mut sent_in_all[from], &mut received[to], &mut received_in_all[to]] {
                    let (messages, chunks): &mut (u64, u64) = all;
                    *messages += 1;
                    *chunks += size;
                }
            }
            let (sent, received) = (most(sent), most(received));
            counts.startups += u64::from(largest > 0);
            counts.hops += longest;
            counts.handled += sent.0 + received.0;
            counts.largest += largest;
            counts.by_port += sent.1.max(received.1);
            counts.sent += sent.1;
            counts.received += received.1;
            counts.forwarded += forwarded;
            counts.ends += ends;
        }
        let both =
            sent_in_all.iter().zip(&received_in_all).map(|(sent, received)| (sent.0 + received.0, sent.1 + received.1));
        counts.of_busiest = [most(both), most(sent_in_all), most(received_in_all)];
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
            messages: Some(busiest.0),
            volume: Some(chunk * busiest.1),
            contention_free: true,
            ..Claims::default()
        }
    }
}

//! The claims of a gossip, which are counted once for all ranks of a process.

use super::choice::{Choice, Order, row_axes};
use super::plan::{Course, Plan};
use crate::algorithm::Claims;
use crate::algorithm::kept::Kept;
use crate::block::Volume;
use crate::vocabulary::Problem;

/// What counts depend on: also the extents, and whether they are rings.
type Key = (Order, Vec<(usize, bool)>, Choice);

/// Returns the claims for a problem that [lacks](Choice::lacks) nothing.
pub(in crate::algorithm) fn claims(problem: &Problem, order: Order, choice: Choice, course: Course) -> Claims {
    static COUNTED: Kept<Key, Counts> = Kept::new(64);
    let plan = Plan::new(problem, order, choice);
    let key = (order, row_axes(problem).unwrap_or_default(), choice);
    COUNTED.get(key, || Counts::of(&plan)).claims(plan.chunk(course), course)
}

/// Returns the most messages, and the most chunks, of one rank.
fn most(counts: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
    counts.into_iter().fold((0, 0), |most, counts| (most.0.max(counts.0), most.1.max(counts.1)))
}

/// What the rounds of a plan take, in chunks: the sums over rounds of the most in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
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
    fn of(plan: &Plan) -> Self {
        let ranks = plan.ranks();
        let (mut sent_in_all, mut received_in_all) = (vec![(0, 0); ranks], vec![(0, 0); ranks]);
        let mut counts = Self::default();
        for round in 0..plan.rounds() {
            let (mut sent, mut received) = (vec![(0, 0); ranks], vec![(0, 0); ranks]);
            let (mut largest, mut longest, mut forwarded, mut ends) = (0, 0, 0, 0);
            for node in 0..ranks {
                for transfer in plan.sends(node, round) {
                    let (size, distance) = (transfer.count() as u64, transfer.distance as u64);
                    largest = largest.max(size);
                    longest = longest.max(distance);
                    (forwarded, ends) = (forwarded, ends).max((size * distance, size * distance.min(2)));
                    let peer = transfer.peer;
                    for all in
                        [&mut sent[node], &mut sent_in_all[node], &mut received[peer], &mut received_in_all[peer]]
                    {
                        let (messages, chunks): &mut (u64, u64) = all;
                        *messages += 1;
                        *chunks += size;
                    }
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

    fn claims(self, chunk: Volume, course: Course) -> Claims {
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

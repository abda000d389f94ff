//! The counts of one row of a collective with a root: what it takes in each step, and in all.

use std::collections::BTreeMap;

use super::row::{Row, Stage};
use super::streams::{Cargo, Stream, sent};
use crate::algorithm::counts::{Most, Pair};

/// What the root's place in a row sends or receives, and the most of any other place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) root: Pair,
    pub(super) other: Pair,
}

/// The figures of consecutive steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) sent: Ends,
    pub(super) received: Ends,
    /// The most of a message.
    pub(super) most: Most,
}

/// The counts of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct AxisCounts {
    /// Runs of steps with the same figures, with the number of steps.
    pub(super) runs: Vec<(usize, Figures)>,
    /// The sums over all steps of what one place sends or receives, sends, and receives.
    pub(super) in_all: [Ends; 3],
}

impl AxisCounts {
    /// Counts the messages of a row, whose first bridgehead is in line with the root. `units` is the
    /// size of what is cut into parts.
    pub(super) fn of(row: Row, stages: &[Stage], units: usize) -> Self {
        let mut counts = Self::default();
        let mut totals = vec![[Pair::default(); 2]; row.nodes];
        for &stage in stages {
            let streams: Vec<Stream> = (0..row.nodes).flat_map(|place| sent(row, stage, place)).collect();
            for stream in &streams {
                let (messages, size) = (stream.steps.len() as u64, size(stream, units));
                let all = Pair { messages, chunks: messages * size };
                for (place, end) in [(stream.from, 0), (stream.to, 1)] {
                    totals[place][end] = totals[place][end].plus(all);
                }
            }
            counts.sweep(row, row.steps(stage), &streams, units);
        }
        let ends = |of: fn(&[Pair; 2]) -> Pair| {
            let others = totals.iter().enumerate().filter(|(place, _)| *place != row.first);
            let other = others.fold(Pair::default(), |most, (_, pairs)| most.most(of(pairs)));
            Ends { root: totals.get(row.first).map(of).unwrap_or_default(), other }
        };
        counts.in_all =
            [ends(|[sent, received]| sent.plus(*received)), ends(|[sent, _]| *sent), ends(|pairs| pairs[1])];
        counts
    }

    /// Adds the runs of a stage.
    fn sweep(&mut self, row: Row, steps: usize, streams: &[Stream], units: usize) {
        let begins = streams.iter().map(|stream| (stream.steps.start, true, stream));
        let ends = streams.iter().map(|stream| (stream.steps.end, false, stream));
        let mut events: Vec<_> = begins.chain(ends).collect();
        events.sort_unstable_by_key(|(step, begins, _)| (*step, *begins));
        let (mut active, mut now) = (Active::new(row), 0);
        for (step, begins, stream) in events {
            self.push(step - now, &active);
            now = step;
            active.change(stream, size(stream, units), begins);
        }
        self.push(steps - now, &active);
    }

    fn push(&mut self, steps: usize, active: &Active) {
        if steps == 0 {
            return;
        }
        let figures = active.figures();
        match self.runs.last_mut() {
            Some((count, last)) if *last == figures => *count += steps,
            _ => self.runs.push((steps, figures)),
        }
    }
}

/// Returns the size of each message, in units or blocks.
fn size(stream: &Stream, units: usize) -> u64 {
    match stream.cargo {
        Cargo::Parts { of, .. } => (units / of) as u64,
        Cargo::Nodes { count, .. } => count as u64,
    }
}

/// The streams under way in a step.
struct Active {
    root: usize,
    /// For each place, the messages it sends and those it receives.
    places: Vec<[Pair; 2]>,
    /// The numbers of messages and of chunks that places other than the root send and receive.
    messages: [Numbers<u64>; 2],
    chunks: [Numbers<u64>; 2],
    /// The sizes and hops of messages.
    sizes: Numbers<(u64, u64)>,
}

impl Active {
    fn new(row: Row) -> Self {
        Self {
            root: row.first,
            places: vec![[Pair::default(); 2]; row.nodes],
            messages: Default::default(),
            chunks: Default::default(),
            sizes: Numbers::default(),
        }
    }

    /// Adds a stream that begins, or removes one that ends.
    fn change(&mut self, stream: &Stream, size: u64, begins: bool) {
        let message = (size, stream.distance as u64);
        if begins {
            self.sizes.add(message)
        } else {
            self.sizes.remove(message)
        }
        for (place, end) in [(stream.from, 0), (stream.to, 1)] {
            let before = self.places[place][end];
            let after = if begins {
                Pair { messages: before.messages + 1, chunks: before.chunks + size }
            } else {
                Pair { messages: before.messages - 1, chunks: before.chunks - size }
            };
            self.places[place][end] = after;
            if place != self.root {
                self.messages[end].remove(before.messages);
                self.messages[end].add(after.messages);
                self.chunks[end].remove(before.chunks);
                self.chunks[end].add(after.chunks);
            }
        }
    }

    fn figures(&self) -> Figures {
        let [sent, received] = [0, 1].map(|end| Ends {
            root: self.places.get(self.root).map(|ends| ends[end]).unwrap_or_default(),
            other: Pair { messages: self.messages[end].most(), chunks: self.chunks[end].most() },
        });
        let most = self.sizes.0.keys().fold(Most::default(), |most, &(size, hops)| most.with(size, hops));
        Figures { sent, received, most }
    }
}

/// A multiset of numbers. Zeros do not count.
#[derive(Default)]
struct Numbers<T>(BTreeMap<T, usize>);

impl<T: Ord + Copy + Default> Numbers<T> {
    fn add(&mut self, number: T) {
        if number != T::default() {
            *self.0.entry(number).or_default() += 1;
        }
    }

    fn remove(&mut self, number: T) {
        if let Some(times) = self.0.get_mut(&number) {
            *times -= 1;
            if *times == 0 {
                self.0.remove(&number);
            }
        }
    }

    fn most(&self) -> T {
        self.0.last_key_value().map_or(T::default(), |(&number, _)| number)
    }
}

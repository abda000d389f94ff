//! What the rounds of a choice of parameters take, about, without visiting the nodes.
//!
//! In a stage the gaps between bridgeheads are equal, except that distances are rounded. So one gap
//! stands for its row, and one row for all along an axis.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::row::{Heading, Row, Stage, reach};

/// What a colour does in consecutive rounds.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) rounds: Range<usize>,
    /// The size of a message.
    size: usize,
    /// The most messages that one node sends, and the most that one receives.
    sent: usize,
    received: usize,
    /// The messages that the first bridgehead sends, if it is the only one at first.
    root: usize,
    hops: usize,
}

/// What rounds take, about. Sizes compare with those of other choices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub(super) startups: usize,
    /// The sum over rounds of the most messages that one node sends plus the most that one
    /// receives.
    pub(super) messages: usize,
    /// The sum over rounds of the longest route.
    pub(super) hops: usize,
    /// The sum over rounds of the size of the largest message.
    pub(super) largest: usize,
    /// The sum over rounds of the most that one node sends or receives.
    pub(super) port: usize,
}

impl Estimate {
    /// Returns the estimate of some rounds, from the runs of each colour in order. If `apart`, only
    /// the root is in the rows of more than one colour.
    pub(super) fn of(colours: &[Vec<Run>], rounds: Range<usize>, apart: bool) -> Self {
        let mut rest: SmallVec<[&[Run]; 4]> = colours.iter().map(|runs| &runs[..]).collect();
        let (mut all, mut at) = (Self::default(), rounds.start);
        while at < rounds.end {
            let mut next = rounds.end;
            for runs in &mut rest {
                while runs.first().is_some_and(|run| run.rounds.end <= at) {
                    *runs = &runs[1..];
                }
                let change =
                    runs.first().map(|run| if run.rounds.start > at { run.rounds.start } else { run.rounds.end });
                next = change.map_or(next, |change| next.min(change));
            }
            let under_way = rest.iter().filter_map(|runs| runs.first()).filter(|run| run.rounds.start <= at);
            all.add(next - at, under_way, apart);
            at = next;
        }
        all
    }

    fn add<'a>(&mut self, rounds: usize, runs: impl Iterator<Item = &'a Run>, apart: bool) {
        // The messages and their sizes.
        let (mut sent, mut received, mut from_root) = ((0, 0), (0, 0), (0, 0));
        let (mut largest, mut longest) = (0, 0);
        let plus = |(messages, sizes), more, size| (messages + more, sizes + more * size);
        let most = |(messages, sizes): (usize, usize), more: usize, size| (messages.max(more), sizes.max(more * size));
        for run in runs {
            if apart {
                from_root = plus(from_root, run.root, run.size);
                (sent, received) = (most(sent, run.sent, run.size), most(received, run.received, run.size));
            } else {
                (sent, received) = (plus(sent, run.sent, run.size), plus(received, run.received, run.size));
            }
            (largest, longest) = (largest.max(run.size), longest.max(run.hops));
        }
        let sent = (sent.0.max(from_root.0), sent.1.max(from_root.1));
        self.startups += rounds;
        self.messages += rounds * (sent.0 + received.0);
        self.hops += rounds * longest;
        self.largest += rounds * largest;
        self.port += rounds * sent.1.max(received.1);
    }

    /// Returns what these rounds and others take together.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            startups: self.startups + other.startups,
            messages: self.messages + other.messages,
            hops: self.hops + other.hops,
            largest: self.largest + other.largest,
            port: self.port + other.port,
        }
    }

    /// Returns the estimate with all sizes multiplied.
    pub(super) fn times(self, sizes: usize) -> Self {
        Self { largest: sizes * self.largest, port: sizes * self.port, ..self }
    }
}

impl Row {
    /// Returns the runs of a stage that takes these rounds, from the size of a message in each
    /// step.
    pub(super) fn runs(self, stage: Stage, rounds: Range<usize>, size: impl Fn(usize) -> usize) -> SmallVec<[Run; 8]> {
        match stage {
            Stage::Concentrate { heads } => self.concentration(heads, rounds, size),
            Stage::Circulate { heads, sources } => {
                let sources = sources.min(self.count(heads));
                let both = if self.one_port { 0 } else { sources.saturating_sub(1) / 2 };
                let run = |rounds: Range<usize>, sent, received| Run {
                    rounds,
                    size: size(0),
                    sent,
                    received,
                    root: sent,
                    hops: self.gap(heads),
                };
                let turn = (rounds.start + both).min(rounds.end);
                // In the middle of a line a node still sends both ways when it receives from one side.
                let last = if self.ring || both == 0 { turn } else { (turn + 1).min(rounds.end) };
                smallvec![run(rounds.start..turn, 2, 2), run(turn..last, 2, 1), run(last..rounds.end, 1, 1)]
            }
            Stage::Spread { heads, next, steps } => self.spreading((heads, next, steps), rounds, size(0)),
        }
    }

    fn concentration(self, heads: usize, rounds: Range<usize>, size: impl Fn(usize) -> usize) -> SmallVec<[Run; 8]> {
        let (below, above) = self.arc(self.first, heads);
        let run = |(step, round): (usize, usize)| {
            let far = if self.one_port { 1 << step } else { 2 * reach(step) + 1 };
            let from_both = !self.one_port && below.min(above) > reach(step);
            let hops = far.min(below.max(above));
            let received = 1 + usize::from(from_both);
            Run { rounds: round..round + 1, size: size(step), sent: 1, received, root: 0, hops }
        };
        rounds.enumerate().map(run).collect()
    }

    /// New bridgeheads between two old ones get parts from both sides once the first parts have
    /// met, and pass them on to both sides from the next step on.
    fn spreading(
        self,
        (heads, next, steps): (usize, usize, usize),
        rounds: Range<usize>,
        size: usize,
    ) -> SmallVec<[Run; 8]> {
        let (parts, inner) = (self.parts(heads, next, steps), self.inner_growth(heads, next));
        // What an old bridgehead sends up and down, from the first step on.
        let up = steps.min(parts);
        let down = parts - (steps + 2).saturating_sub(inner).min(parts);
        let half = inner.div_ceil(2);
        // The steps in which the root sends up, and down.
        let from_root = Heading::BOTH.map(|way| {
            let run = self.spread(heads, next, steps, self.first, way);
            run.map_or(0..0, |run| run.first..run.first + run.count)
        });
        let messages = |step: usize| {
            let root = from_root.iter().filter(|steps| steps.contains(&step)).count();
            // All parts go one way on a ring with one port, and come from the only bridgehead of a
            // line.
            if self.one_port || !self.ring && heads == 1 {
                return (root.max(1), 1, root);
            }
            let old = usize::from(step < up) + usize::from(step < down);
            let meet = parts > 1 && down > 0 && step < steps && step + 1 >= half;
            let pass_on = parts > 2 && step < steps && step >= half;
            (old.max(1 + usize::from(pass_on)), 1 + usize::from(meet), root)
        };
        let mut turns: SmallVec<[usize; 9]> = smallvec![
            0,
            half.saturating_sub(1),
            half,
            up,
            down,
            steps,
            from_root[0].end,
            from_root[1].end,
            rounds.len()
        ];
        // A single part from a single bridgehead crosses one gap in a step, of which not all are
        // longest.
        let is_single = heads == 1 && parts == 1 && !self.equal && !self.nodes.is_multiple_of(next);
        if is_single {
            turns.extend(0..rounds.len());
        }
        turns.sort_unstable();
        let hops = |step: usize| {
            if !is_single {
                return self.gap(next);
            }
            let length = |gap: usize| self.shortest((gap + 1) * self.nodes / next - gap * self.nodes / next);
            let down = if from_root[1].is_empty() { 0 } else { length(next - 1 - step) };
            length(step).max(down)
        };
        let ends = turns.windows(2).filter(|ends| ends[0] < ends[1] && ends[1] <= rounds.len());
        let run = |ends: &[usize]| {
            let (sent, received, root) = messages(ends[0]);
            let hops = hops(ends[0]);
            Run { rounds: rounds.start + ends[0]..rounds.start + ends[1], size, sent, received, root, hops }
        };
        ends.map(run).collect()
    }

    /// Returns the number of steps between two old bridgeheads, at most. Nodes beyond the last
    /// bridgehead of a line are not between two, and there are most of them if the row does not
    /// divide.
    fn inner_growth(self, heads: usize, next: usize) -> usize {
        if self.ring || self.equal || next < self.nodes || self.nodes % heads > 1 {
            return self.growth(heads, next);
        }
        self.nodes / heads
    }

    /// Returns the length of the longest route between neighbouring bridgeheads.
    fn gap(self, heads: usize) -> usize {
        if self.equal {
            let apart = self.nodes / heads;
            let last = if self.ring { self.nodes - (self.nodes / apart - 1) * apart } else { apart };
            return self.shortest(apart).max(self.shortest(last));
        }
        self.shortest(self.nodes.div_ceil(heads))
    }
}

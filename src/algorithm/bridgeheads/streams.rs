//! The messages of a node along a row in consecutive steps of a stage.

use std::ops::Range;

use super::row::{Heading, Load, Row, Run, Stage};

/// Messages from one node to another in consecutive steps.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) distance: usize,
    pub(super) steps: Range<usize>,
    pub(super) cargo: Cargo,
}

/// What the messages of a stream carry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cargo {
    /// One of a number of parts in each step: in order, or in reverse order from the last.
    Parts { of: usize, reverse: bool },
    /// The blocks of consecutive nodes, starting at a place.
    Nodes { from: usize, count: usize },
}

/// Returns what a node sends in a stage without circulation.
pub(super) fn sent(row: Row, stage: Stage, place: usize) -> Vec<Stream> {
    match stage {
        Stage::Spread { heads, next, steps } => {
            let run = |way| Some(stream(place, way, row.spread(heads, next, steps, place, way)?));
            Heading::BOTH.into_iter().filter_map(run).collect()
        }
        _ => (0..row.steps(stage)).flat_map(|step| single(row, stage, step, place)).collect(),
    }
}

/// Returns what a node receives in a stage without circulation.
pub(super) fn received(row: Row, stage: Stage, place: usize) -> Vec<Stream> {
    let senders = |step, way| row.senders(stage, step, place, way);
    let all: Vec<Stream> = match stage {
        Stage::Spread { heads, next, steps } => {
            let run = |from, way| Some(stream(from, way, row.spread(heads, next, steps, from, way)?));
            let from = |way| senders(0, way).into_iter().filter_map(move |from| run(from, way));
            Heading::BOTH.into_iter().flat_map(from).collect()
        }
        _ => {
            let ways = (0..row.steps(stage)).flat_map(|step| Heading::BOTH.map(|way| (step, way)));
            let from = ways.flat_map(|(step, way)| senders(step, way).into_iter().map(move |from| (step, way, from)));
            from.filter_map(|(step, way, from)| one(row, stage, step, from, way)).collect()
        }
    };
    all.into_iter().filter(|stream| stream.to == place).collect()
}

fn stream(from: usize, way: Heading, run: Run) -> Stream {
    let Run { to, distance, first, count, of } = run;
    Stream {
        from,
        to,
        distance,
        steps: first..first + count,
        cargo: Cargo::Parts { of, reverse: way == Heading::Down },
    }
}

/// Returns what a node sends in a step of a concentration.
fn single(row: Row, stage: Stage, step: usize, place: usize) -> impl Iterator<Item = Stream> {
    Heading::BOTH.into_iter().filter_map(move |way| one(row, stage, step, place, way))
}

fn one(row: Row, stage: Stage, step: usize, from: usize, way: Heading) -> Option<Stream> {
    let message = row.send(stage, step, from, way)?;
    let cargo = match message.load {
        Load::Nodes { from, count } => Cargo::Nodes { from, count },
        Load::Part { of, .. } => Cargo::Parts { of, reverse: way == Heading::Down },
        Load::Head(_) => return None,
    };
    Some(Stream { from, to: message.to, distance: message.distance, steps: step..step + 1, cargo })
}

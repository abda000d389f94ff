//! Allgather along rows: what a node sends comes from a window farther away in each round.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, 1999, sections 5.3 and 6.3. Needs: a product of windows, lines, rings
//! and complete networks of at most 256 nodes each, not complete, with rank i on node i. Model:
//! all-port (the source's model-3), or several ports with the same value (its model-2) with
//! `ports=same-value`. Its model-1 is [`ByDimension`](super::ByDimension).
//!
//! In round t, node u sends the block of u - w (t - 1) to all above it in its window, and that of
//! u + w (t - 1) to all below it. With the same value for all ports, these are two rounds, if any
//! node has both. The last dimension goes first, and nodes send what they have from it along the
//! next.
//!
//! | term | a row of p nodes with window w | where windows wrap round |
//! |---|---|---|
//! | startups | ceil((p - 1) / w), the least | ceil((p - 1) / 2w), the least |
//! | startups, same value | ceil((p - 1) / w) + fl((p - 1) / 2w) | ceil((p - 1 - 2w) / w) + 1 |
//! | blocks over a channel | as many as start-ups, times the nodes of the later dimensions | as many |
//! | hops | as many as start-ups | as many |
//!
//! With `parts=n` in n dimensions, blocks are cut into n parts. Each starts along another
//! dimension, so that all channels are in use all the time. With equal extents, this takes the same
//! start-ups and about 1 / n of the blocks.
//!
//! Differs from the source: the number of rounds with the same value has fl((p - 1) / 2w) for the
//! largest integer less than (p - 1) / 2w (errata 5.11). Where windows wrap round, the source takes
//! ceil((p - 1) / w) of them, since a node's own block goes up and down in two rounds; `first=up`
//! does the same.
//!
//! A process takes time and memory in proportion to the square of a row's nodes, once for all its
//! ranks. Apart from that, a rank takes time and memory in proportion to the blocks it sends and
//! receives.

use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::row_exchange::{NodeRound, RowExchange, Table, Unit, send};
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// An allgather in which windows slide away from each node.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlidingWindows {
    same_value: bool,
    /// Whether a node's own block goes up first, then down, with the same value.
    up_first: bool,
    /// The number of parts of a block, or 0 for the cheaper of one and as many as dimensions.
    parts: usize,
}

/// What a node sends over its channels in a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentValues {
    /// A node sends one set of blocks up and another one down.
    Any,
    /// A node sends the same blocks over all its channels.
    Same,
    /// A node sends the same blocks over all its channels up, and in the next round over all its
    /// channels down. Needs windows that wrap round.
    SameUpFirst,
}

static ABOUT: About = About {
    collective: "allgather",
    name: "sliding-windows",
    summary: "along each dimension, a node sends to its window what comes from a window farther away in each round",
    source: "Wang 1999, 5.3 and 6.3",
    needs: "a product of windows, lines, rings and complete networks of at most 256 nodes each, not complete, with rank i on node i",
    claims: "the diameter in start-ups, the least in one dimension; contention-free",
    ports: Ports::All,
};

static PARAMETERS: [Parameter; 3] = [PORTS, FIRST, PARTS];

const PORTS: Parameter = Parameter {
    key: "ports",
    summary: "the port model: with same-value, a node sends the same blocks over all its channels",
    values: Values::Words(&["all", "same-value"]),
    default: 0,
};

const FIRST: Parameter = Parameter {
    key: "first",
    summary: "whether a node's own block goes both ways in the first round, or up, and down in the second, as in the source; up needs ports=same-value and windows that wrap round",
    values: Values::Words(&["both", "up"]),
    default: 0,
};

const PARTS: Parameter = Parameter {
    key: "parts",
    summary: "the number of parts of a block, 1 or that of dimensions, along which they start; 0 takes the cheaper",
    values: Values::Number { least: 0, most: 64 },
    default: 0,
};

/// The most nodes of a row.
const MOST: usize = 1 << 8;

impl SlidingWindows {
    fn exchange(self, problem: &Problem) -> RowExchange {
        let rows = WindowRow::of_product(problem, MOST).unwrap_or_default();
        let tables = rows.into_iter().map(|row| table(row, self.values())).collect();
        let exchange = if self.parts > 1 { RowExchange::rotating(tables) } else { RowExchange::in_turn(tables) };
        exchange.gossip()
    }

    fn values(self) -> SentValues {
        match (self.same_value, self.up_first) {
            (false, _) => SentValues::Any,
            (true, false) => SentValues::Same,
            (true, true) => SentValues::SameUpFirst,
        }
    }

    fn shared(self) -> Arc<dyn Algorithm> {
        Arc::new(self)
    }
}

impl Algorithm for SlidingWindows {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        let Self { same_value, up_first, parts } = *self;
        Settings::default().with(&PORTS, same_value.into()).with(&FIRST, up_first.into()).with(&PARTS, parts)
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let [same_value, up_first] = [&PORTS, &FIRST].map(|parameter| settings.of(parameter) == 1);
        Some(Self { same_value, up_first, parts: settings.of(&PARTS) }.shared())
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let same_value = Self { same_value: true, up_first: false, parts: 1 }.shared();
        self.alternatives(problem).into_iter().chain([same_value]).collect()
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        if self.parts > 0 || self.same_value || self.up_first {
            return vec![];
        }
        let dimensions = WindowRow::of_product(problem, MOST).map_or(0, |rows| rows.len());
        let parts = [1, dimensions].into_iter().take(dimensions);
        parts.map(|parts| Self { parts, ..*self }.shared()).collect()
    }

    fn ports(&self, _: &Problem) -> Ports {
        if self.same_value { Ports::SameValue } else { Ports::All }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let Some(rows) = WindowRow::of_product(problem, MOST) else {
            return Some(format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text()));
        };
        if self.up_first && !self.same_value {
            return Some("first=up: it needs ports=same-value".to_owned());
        }
        if self.up_first && !rows.iter().any(|row| row.wraps) {
            return Some(format!("first=up: it needs windows that wrap round; this is {}", problem.topology().text()));
        }
        let (parts, dimensions) = (self.parts, rows.len());
        let needs = match self.same_value {
            true if parts > 1 => "1 with ports=same-value".to_owned(),
            false if parts > 1 && parts != dimensions => format!("1 or {dimensions}, the number of dimensions"),
            _ => return None,
        };
        Some(format!("parts={parts}: it needs {needs}"))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.exchange(problem).claims()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.exchange(problem).share(rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        self.exchange(problem).amounts(rank)
    }
}

fn table(row: WindowRow, values: SentValues) -> Arc<Table> {
    static MADE: Kept<(WindowRow, SentValues), Arc<Table>> = Kept::new(16);
    MADE.get((row, values), || Arc::new(slid(row, values)))
}

/// Returns the rounds within a row.
fn slid(row: WindowRow, values: SentValues) -> Table {
    let mut table = Table { extent: row.extent, chunks: 1, rounds: vec![] };
    let others = row.extent - 1;
    // How far blocks go up and down.
    let (up, down) = match values {
        _ if !row.wraps => (others, others),
        SentValues::Any => (others.div_ceil(2), others / 2),
        SentValues::Same => (others - row.window, row.window),
        SentValues::SameUpFirst => {
            // In turn, by a window each. The last one may be narrower.
            let rounds = others.div_ceil(row.window);
            let other = rounds / 2 * row.window;
            if rounds.is_multiple_of(2) { (other, others - other) } else { (others - other, other) }
        }
    };
    for past in (0..up.max(down)).step_by(row.window) {
        let mut round = vec![NodeRound::default(); row.extent];
        upward(&mut round, row, past, up);
        let splits = match values {
            SentValues::Any => false,
            SentValues::SameUpFirst if row.wraps => true,
            // Blocks of up and down are the same in the first round.
            _ => past > 0 && 2 * past <= others,
        };
        if splits && down > past {
            table.rounds.push(std::mem::replace(&mut round, vec![NodeRound::default(); row.extent]));
        }
        downward(&mut round, row, past, down);
        table.rounds.push(round);
    }
    table
}

/// Adds the messages up of blocks that have come `past` nodes, and go at most `reach`.
fn upward(round: &mut [NodeRound], row: WindowRow, past: usize, reach: usize) {
    for node in 0..row.extent {
        let Some(source) = row.down(node, past) else { continue };
        for jump in 1..=row.window.min(reach.saturating_sub(past)) {
            let Some(to) = row.up(node, jump) else { break };
            send(round, node, to, Unit { from: source, to, chunk: 0 });
        }
    }
}

/// Adds the messages down, as [`upward`].
fn downward(round: &mut [NodeRound], row: WindowRow, past: usize, reach: usize) {
    for node in 0..row.extent {
        let Some(source) = row.up(node, past) else { continue };
        for jump in 1..=row.window.min(reach.saturating_sub(past)) {
            let Some(to) = row.down(node, jump) else { break };
            send(round, node, to, Unit { from: source, to, chunk: 0 });
        }
    }
}

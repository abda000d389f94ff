//! Alltoall in windows, over routes that load all channels alike.
//!
//! Source: own work, after the cut of a row in the middle and the list scheduling of unit steps.
//! Needs: a product of lines, complete networks and windows that do not wrap round, of at most 256
//! nodes each, or 400 if the window is at least 16, with rank i on node i; for what wraps round, see
//! [`CayleyExchange`](super::CayleyExchange). Model: all-port.
//!
//! Routes are those of [`LengthBalanced`]. Whole units in rows of up to 64 nodes are also tried with
//! fewer hops, over channels that carry less than the busiest, and take what needs fewer rounds. A
//! round takes up to `load` units over a channel, those first whose route has the busiest channels
//! ahead. In more than one dimension, blocks are cut into a part for each, and every part starts
//! along another dimension, so that all channels are in use all the time.
//!
//! | term | p nodes in a dimension, window w, n dimensions, N ranks |
//! |---|---|
//! | startups | no formula: n times about L / `load`, but at least the hops of the longest route, for L units over the busiest channel |
//! | blocks sent over a channel | about L N / (p `chunks`) |
//!
//! On lines and meshes with the longest extent k, the bound, N fl(k^2/4) / k, in about n k rounds,
//! if `load` is about k / 4: 16 rounds and 128 blocks on 8x8, 10 and 36 on 4x6. A shorter row,
//! whose units are larger, takes fewer of them in a round.
//!
//! L is at least the cut bound: `chunks` fl(p^2/4) / (w (w + 1) / 2) in the middle, or, in wide
//! windows, what the first node sends, `chunks` (p - 1) / w. With `load=1` and up to
//! 24 chunks, a channel carries at most 1.1 times the lower bound: counted for all windows of 20 to 80
//! nodes. So it does for those tried of up to 400 nodes, with `chunks=32` if the window is half the
//! nodes or more. With `chunks=1` it carries up to 1.1 times the bound in windows of 2 and 3, and
//! several times in wide ones, which have few units to balance. `auto` compares few chunks that keep
//! to 1.1. It does not consider lines of more than 128 nodes or rows of more than 256, where
//! [`DirectBalanced`](super::DirectBalanced) is as near the bound. Chosen by name there, without
//! parameters, the algorithm uses `load=1`.
//!
//! The algorithm is global: every process schedules a row, once for all its ranks: in windows of 3 with
//! one chunk in 0.1 s for 64 nodes, 0.5 s for 128 and 7 s for 256; in windows of a third of the row with
//! 32 chunks in 1 s for 64 nodes, 5 s for 128 and 18 s for 256. A row of 400 nodes takes up to a minute
//! and 2 GB. Apart from that, a rank takes time and memory in proportion to the blocks it sends and
//! receives.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::row_exchange::{RowExchange, Table};
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::{Node, Rank};
use crate::topology::{LengthBalanced, OverlappingWindows};
use crate::vocabulary::{Amounts, Ports, Problem, Share};

use super::routes::{LOW_BITS, Prices, Route, Router, scheduled, shortened};

/// An exchange over routes that load all channels alike.
#[derive(Clone, Debug, Default)]
pub struct WindowExchange(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "window-exchange",
    summary: "blocks take routes that load all channels alike, those with the busiest channels ahead first; rows are scheduled globally",
    source: "own work",
    needs: "a product of lines, complete networks and windows that do not wrap round, of at most 256 nodes each, or 400 if the window is at least 16, with rank i on node i; not all rows complete",
    claims: "about fl(p^2/4) / (w (w + 1) / 2) start-ups in one dimension with load=1, on lines and meshes with the longest extent k, with load = k / 4, at most k start-ups a dimension and N fl(k^2/4) / k blocks if 4 divides k; contention-free",
    ports: Ports::All,
};

static PARAMETERS: [Parameter; 2] = [LOAD, CHUNKS];

const LOAD: Parameter = Parameter {
    key: "load",
    summary: "the most chunks between two nodes of a row that a channel carries in a round; 0 takes the best by price",
    values: Values::Number { least: 0, most: MOST * MOST },
    default: 0,
};

const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "the number of chunks of what one node of a row has for another, each with a route of its own",
    values: Values::Number { least: 1, most: 32 },
    default: 1,
};

/// The most nodes of a row: fewer than the lengths of a jump that fit a price. Narrow windows, of less
/// than 16, take more rounds, and so more memory.
const MOST: usize = 400;
const MOST_IN_NARROW: usize = 1 << 8;
const NARROW: usize = 16;

/// The most nodes of a row whose schedules `auto` considers, and the most whose schedules take less
/// than a second.
const COMPARED: usize = 1 << 8;
const LONG: usize = 1 << 7;

/// Returns the parameters that are compared: loads, each twice the one before, in windows four
/// times, in long ones sixteen times, and if blocks in [chunks](compared_chunks) are, these with
/// a load of 1, and in short rows also of 8. None in [long](is_long) rows.
fn compared(problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
    let Some(rows) = windows(problem) else { return vec![] };
    if is_long(&rows) {
        return vec![];
    }
    let startups = exchange(problem, 1, 1).and_then(|exchange| exchange.claims().startups).unwrap_or_default();
    let longest = rows.iter().map(OverlappingWindows::extent).max().unwrap_or_default();
    // On lines, a quarter of the nodes as load takes as many rounds as nodes and no more
    // transmission.
    let (more, most) = match rows.iter().all(|row| row.window() == 1) {
        true => (2, longest / 2 + 1),
        false if longest > LONG => (16, startups as usize),
        false => (4, startups as usize),
    };
    let loads = iter::successors(Some(1), |load| Some(more * load)).take_while(|&load| load < most.max(2));
    let chunks = rows.iter().filter_map(compared_chunks).max();
    let whole = loads.map(|load| with(load, 1)).collect::<Vec<_>>();
    whole.into_iter().chain(chunks.into_iter().flat_map(|chunks| in_chunks(longest, chunks))).collect()
}

/// Returns the parameters that are compared for blocks in a number of chunks, if this is the longest
/// extent.
fn in_chunks(extent: usize, chunks: usize) -> Vec<Arc<dyn Algorithm>> {
    let loads: &[usize] = if extent > LONG { &[1] } else { &[1, 8] };
    loads.iter().map(|&load| with(load, chunks)).collect()
}

/// Returns whether a schedule takes so long to make that `auto` considers none. Those of long lines,
/// which have many hops, take a minute.
fn is_long(rows: &[OverlappingWindows]) -> bool {
    rows.iter().any(|row| row.extent() > if row.window() == 1 { LONG } else { COMPARED })
}

fn with(load: usize, chunks: usize) -> Arc<dyn Algorithm> {
    Arc::new(WindowExchange(Settings::default().with(&LOAD, load).with(&CHUNKS, chunks)))
}

/// Returns the number of chunks that is compared. Wide windows have few units over a channel, and
/// so need more chunks. In long rows, narrow windows need none, and others get as many as can be
/// scheduled in a few seconds. A line has no routes to choose.
fn compared_chunks(row: &OverlappingWindows) -> Option<usize> {
    match (row.extent(), row.window()) {
        (_, 1) => None,
        (..=20, ..4) => Some(12),
        (..=64, ..4) => Some(8),
        (extent @ 65.., window) if 16 * window <= extent => None,
        (extent, window) if 2 * window > extent => Some(32),
        (extent, window) if 10 * window > 3 * extent => Some(24),
        (..=64, _) => Some(16),
        (extent, window) if 6 * window > extent => Some(8),
        _ => Some(4),
    }
}

impl WindowExchange {
    fn exchange(&self, problem: &Problem) -> Option<RowExchange> {
        exchange(problem, self.0.of(&LOAD).max(1), self.0.of(&CHUNKS))
    }
}

impl Algorithm for WindowExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        compared(problem)
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let Some(rows) = windows(problem) else { return vec![] };
        let longest = rows.iter().map(OverlappingWindows::extent).max().unwrap_or_default();
        match (self.0.of(&LOAD), self.0.of(&CHUNKS)) {
            (0, 1) if !is_long(&rows) => compared(problem),
            (0, 1) => in_chunks(longest, rows.iter().filter_map(compared_chunks).max().unwrap_or(1)),
            (0, chunks) => in_chunks(longest, chunks),
            _ => vec![],
        }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let needs = || format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text());
        windows(problem).is_none().then(needs)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.exchange(problem).unwrap_or_default().claims()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        self.exchange(problem).unwrap_or_default().phases()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.exchange(problem).unwrap_or_default().share(rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        self.exchange(problem).unwrap_or_default().amounts(rank)
    }
}

/// Returns the rows of the network, if none wraps round and not all are complete.
fn windows(problem: &Problem) -> Option<Vec<OverlappingWindows>> {
    let rows = WindowRow::of_product(problem, MOST)?;
    let most = |row: &WindowRow| if row.window < NARROW { MOST_IN_NARROW } else { MOST };
    let fits =
        rows.iter().all(|row| !row.wraps && row.extent <= most(row)) && rows.iter().any(|row| !row.is_complete());
    let windows = rows.iter().map(|row| OverlappingWindows::new(row.extent, row.window, 1).ok());
    if fits { windows.collect() } else { None }
}

fn exchange(problem: &Problem, load: usize, chunks: usize) -> Option<RowExchange> {
    static MADE: Kept<(OverlappingWindows, usize, usize), Option<Arc<Table>>> = Kept::new(32);
    let rows = windows(problem)?;
    let longest = rows.iter().map(OverlappingWindows::extent).max().unwrap_or(1);
    let table = |row: OverlappingWindows| {
        // The units of a shorter row are larger.
        let load = (load * row.extent() / longest).max(1);
        let routes = routes(&row, chunks)?;
        MADE.get((row.clone(), load, chunks), || {
            let tables = routes.iter().map(|routes| scheduled(routes, row.extent(), load, chunks));
            tables.min_by_key(|table| table.rounds.len()).map(Arc::new)
        })
    };
    Some(RowExchange::rotating(rows.into_iter().map(table).collect::<Option<_>>()?))
}

/// The most nodes of a row whose units, if they are whole, are also tried with fewer hops.
const SHORTENED: usize = 1 << 6;

/// The routes of all units of a row, in each way that is tried.
type Tried = Arc<Vec<Vec<Route>>>;

/// Returns the route of each chunk, for each pair of nodes of a row. For whole units in short rows,
/// returns them a second time with fewer hops.
fn routes(row: &OverlappingWindows, chunks: usize) -> Option<Tried> {
    static MADE: Kept<(OverlappingWindows, usize), Option<Tried>> = Kept::new(8);
    MADE.get((row.clone(), chunks), || {
        let balanced = LengthBalanced::in_chunks(row, chunks).ok()?;
        let extent = row.extent();
        let pairs = (0..extent).flat_map(|from| (0..extent).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let units = pairs.flat_map(|(from, to)| (0..chunks).map(move |chunk| (from, to, chunk)));
        let route = |(from, to, chunk)| {
            balanced.route(Node::new(from), Node::new(to), chunk).into_iter().map(Node::index).collect()
        };
        let mut all: Vec<Vec<Route>> = vec![units.map(route).collect()];
        if chunks == 1 && extent <= SHORTENED {
            let router = InWindows { window: row.window(), ways: vec![0; extent], turn: 0 };
            all.push(shortened(all[0].clone(), extent, &router));
        }
        Some(Arc::new(all))
    })
}

/// Finds routes without a step back.
#[derive(Clone)]
struct InWindows {
    window: usize,
    /// The price of the cheapest way to each node, and the length of its last jump.
    ways: Vec<u64>,
    /// The number of searches. Each compares other jumps than the one before.
    turn: usize,
}

/// The number of jumps to a node that a search compares, about: they are spread over the window. The
/// jump from the first node of a route is always among them. To compare all jumps takes longer, and
/// the schedule has more rounds.
const JUMPS: usize = 10;

/// The bits for the length of a jump below a price.
const JUMP: u64 = (1 << LOW_BITS) - 1;

impl Router for InWindows {
    fn find_cheapest(&mut self, prices: &Prices, route: &mut Route) {
        let (from, to) = (route[0], route[route.len() - 1]);
        let window = self.window;
        let stride = (window / JUMPS).max(1);
        self.turn += 1;
        let first = self.turn % stride;
        let ways = &mut self.ways;
        ways[from] = 0;
        // Loops, since this is what the schedule of a row takes most of its time for.
        let cheapest = |ways: &[u64], node: usize, before: Range<usize>| {
            let (ways, prices) = (&ways[before.clone()], &prices.to(node)[before.clone()]);
            let by = |index: usize| (ways[index] & !JUMP) + prices[index] + node.abs_diff(before.start + index) as u64;
            let mut least = if before.contains(&from) { by(from - before.start) } else { u64::MAX };
            let mut index = first;
            while index < prices.len() {
                least = least.min(by(index));
                index += stride;
            }
            least
        };
        if from < to {
            for node in from + 1..=to {
                ways[node] = cheapest(ways, node, from.max(node.saturating_sub(window))..node);
            }
        } else {
            for node in (to..from).rev() {
                ways[node] = cheapest(ways, node, node + 1..(node + window).min(from) + 1);
            }
        }
        route.clear();
        let mut node = to;
        route.push(node);
        while node != from {
            let jump = (ways[node] & JUMP) as usize;
            node = if from < to { node - jump } else { node + jump };
            route.push(node);
        }
        route.reverse();
    }
}

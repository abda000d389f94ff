//! Alltoall in windows, over routes that load all channels alike.
//!
//! Source: own work, after the cut of a row in the middle and the list scheduling of unit steps.
//! Needs: a product of lines, complete networks and windows that do not wrap round, of at most 256
//! nodes each, with rank i on node i; for what wraps round, see
//! [`CayleyExchange`](super::CayleyExchange). Model: all-port.
//!
//! Routes start from those of [`LengthBalanced`]. Each in turn is replaced by the cheapest one,
//! where a channel is the dearer the more routes it has, as long as they lead over channels with
//! too many. A round takes up to `load` units over a channel, those first whose route has the
//! busiest channels ahead. In more than one dimension, blocks are cut into a part for each, and
//! every part starts along another dimension, so that all channels are in use all the time.
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
//! windows, what the first node sends, `chunks` (p - 1) / w. With `load=1` and `chunks=24`, what a
//! channel carries is at most 1.1 times the lower bound from 20 nodes on, in windows of more than half
//! the nodes with `chunks=32`: counted for all windows of 20 to 80 nodes, and for those tried of up
//! to 256. With `chunks=1` it is up to 1.1 times for windows of 2 and 3, and several times for wide
//! ones, which have few units to balance. `auto` takes few chunks that keep to 1.1; it
//! does not compare lines of more than 128 nodes.
//!
//! The algorithm is global: every process schedules a row, once for all its ranks: with one chunk
//! in 2 ms for 20 nodes, 30 ms for 64, 0.3 s for 128 and a few seconds for 256; with 16 chunks in
//! 20 ms for 20 nodes, 0.5 s for 64 and 2 s for 128. Apart from that, a rank takes time and memory
//! in proportion to the blocks it sends and receives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::row_exchange::{NodeRound, RowExchange, Table, Unit, send};
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::{Node, Rank};
use crate::topology::{LengthBalanced, OverlappingWindows};
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// An exchange over routes that load all channels alike.
#[derive(Clone, Debug, Default)]
pub struct WindowExchange(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "window-exchange",
    summary: "blocks take routes that load all channels alike, those with the busiest channels ahead first; rows are scheduled globally",
    source: "own work",
    needs: "a product of lines, complete networks and windows that do not wrap round, of at most 256 nodes each, with rank i on node i; not all rows complete",
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

/// The most nodes of a row, and the most whose schedules take less than a second.
const MOST: usize = 1 << 8;
const LONG: usize = 1 << 7;

/// Returns the parameters that are compared: loads, each twice the one before, in windows four
/// times, in long ones sixteen times, and if blocks in [chunks](compared_chunks) are, these with
/// loads of 1 and 8.
fn compared(problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
    let Some(rows) = windows(problem) else { return vec![] };
    // Long lines have many hops, and would take a minute.
    if rows.iter().any(|row| row.window() == 1 && row.extent() > LONG) {
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
    whole.into_iter().chain(chunks.into_iter().flat_map(in_chunks)).collect()
}

/// Returns the parameters that are compared for blocks in a number of chunks.
fn in_chunks(chunks: usize) -> [Arc<dyn Algorithm>; 2] {
    [1, 8].map(|load| with(load, chunks))
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
        (_, ..4) => None,
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
        match (self.0.of(&LOAD), self.0.of(&CHUNKS)) {
            (0, 1) => compared(problem),
            (0, chunks) => in_chunks(chunks).to_vec(),
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
    let fits = rows.iter().all(|row| !row.wraps) && rows.iter().any(|row| !row.is_complete());
    let windows = rows.iter().map(|row| OverlappingWindows::new(row.extent, row.window, 1));
    if fits { windows.collect() } else { None }
}

fn exchange(problem: &Problem, load: usize, chunks: usize) -> Option<RowExchange> {
    static MADE: Kept<(OverlappingWindows, usize, usize), Option<Arc<Table>>> = Kept::new(32);
    let rows = windows(problem)?;
    let longest = rows.iter().map(OverlappingWindows::extent).max().unwrap_or(1);
    let table = |row: OverlappingWindows| {
        // The units of a shorter row are larger.
        let load = (load * row.extent() / longest).max(1);
        let made = || Some(Arc::new(scheduled(&row, &routes(&row, chunks)?, load, chunks)));
        MADE.get((row.clone(), load, chunks), made)
    };
    let tables: Option<Vec<_>> = rows.into_iter().map(table).collect();
    Some(RowExchange::rotating(tables?))
}

/// A path along a row.
type Path = Vec<usize>;

/// Returns the route of each chunk, for each pair of nodes of a row.
fn routes(row: &OverlappingWindows, chunks: usize) -> Option<Arc<Vec<Path>>> {
    static MADE: Kept<(OverlappingWindows, usize), Option<Arc<Vec<Path>>>> = Kept::new(8);
    MADE.get((row.clone(), chunks), || {
        let balanced = LengthBalanced::new(row)?;
        let extent = row.extent();
        let pairs = (0..extent).flat_map(|from| (0..extent).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let path = |(from, to)| balanced.route(Node::new(from), Node::new(to)).into_iter().map(Node::index).collect();
        let paths: Vec<Path> = pairs.flat_map(|pair| iter::repeat_n(path(pair), chunks)).collect();
        Some(Arc::new(rerouted(&paths, row, chunks)))
    })
}

/// The number of passes over all routes, and the attempts: each aims at a load below that of the
/// busiest channel by this fraction of it, 1/16 or 1/8.
const PASSES: usize = 16;
const SHARES: [usize; 2] = [16, 8];

/// Replaces routes without a step back, as long as the busiest channel may carry less. Takes the
/// best of a few attempts, unless one is within a twentieth of the least.
fn rerouted(paths: &[Path], row: &OverlappingWindows, chunks: usize) -> Vec<Path> {
    let least = least(row, chunks);
    let mut best = (usize::MAX, vec![]);
    for share in SHARES {
        let attempt = replaced(paths.to_vec(), row, least, share);
        if attempt.0 < best.0 {
            best = attempt;
        }
        if 20 * best.0 <= 21 * least {
            break;
        }
    }
    best.1
}

/// Returns what the busiest channel carries at least, by the cuts between nodes: that in the middle,
/// or in wide windows that before the last node.
fn least(row: &OverlappingWindows, chunks: usize) -> usize {
    let (extent, window) = (row.extent(), row.window());
    let across = |below: usize| {
        let channels: usize = (1..=window).map(|jump| jump.min(below).min(extent - jump)).sum();
        (chunks * below * (extent - below)).div_ceil(channels.max(1))
    };
    (1..=extent / 2).map(across).max().unwrap_or_default()
}

/// Replaces first all routes, then those over channels with too many. Returns what the busiest
/// channel carries, and the routes.
fn replaced(mut paths: Vec<Path>, row: &OverlappingWindows, least: usize, share: usize) -> (usize, Vec<Path>) {
    let mut loads = Loads::of(&paths, row.extent());
    let mut best = (loads.busiest(), paths.clone());
    for pass in 0..PASSES {
        if best.0 <= least {
            break;
        }
        let wanted = least.max(best.0 - best.0 / share);
        let mut prices = Prices::of(loads, row.window(), wanted, 24 << (pass % 4));
        for path in &mut paths {
            if pass == 0 || prices.loads.over(path) > least {
                prices.add(path, -1);
                prices.find_cheapest(path);
                prices.add(path, 1);
            }
        }
        loads = prices.loads;
        if loads.busiest() < best.0 {
            best = (loads.busiest(), paths.clone());
        }
    }
    best
}

/// The number of routes over each channel.
struct Loads {
    extent: usize,
    loads: Vec<i32>,
}

impl Loads {
    fn of(paths: &[Path], extent: usize) -> Self {
        let mut loads = Self { extent, loads: vec![0; extent * extent] };
        paths.iter().for_each(|path| loads.add(path, 1));
        loads
    }

    fn add(&mut self, path: &[usize], change: i32) {
        path.windows(2).for_each(|hop| self.loads[hop[0] * self.extent + hop[1]] += change);
    }

    fn at(&self, hop: &[usize]) -> usize {
        self.loads[hop[0] * self.extent + hop[1]].max(0) as usize
    }

    /// Returns what the busiest channel of a path carries.
    fn over(&self, path: &[usize]) -> usize {
        path.windows(2).map(|hop| self.at(hop)).max().unwrap_or_default()
    }

    fn busiest(&self) -> usize {
        self.loads.iter().copied().max().unwrap_or_default().max(0) as usize
    }
}

/// What one more route over each channel costs. The price of a channel doubles when its load grows
/// by the wanted load divided by the sharpness.
struct Prices {
    loads: Loads,
    window: usize,
    wanted: usize,
    sharpness: usize,
    /// By the node to which a channel leads, then by the one from which it comes.
    prices: Vec<u64>,
    /// The price of the cheapest way to each node, and the length of its last jump.
    ways: Vec<u64>,
    /// How many ways were sought: the next one has other last jumps to choose from.
    turn: usize,
}

/// About as many last jumps to a node are compared, spread over the window, and that from the first
/// node of a route. All would take longer, and end in routes that are scheduled less well.
const JUMPS: usize = 10;

/// The bits for a jump in a word with a price above them. Prices are compared first.
const JUMP_BITS: u32 = 8;
const JUMP: u64 = (1 << JUMP_BITS) - 1;

/// The binary logarithm of the highest price: fewer than 2^8 of them fit a word.
const HIGHEST: usize = 47;

impl Prices {
    fn of(loads: Loads, window: usize, wanted: usize, sharpness: usize) -> Self {
        let extent = loads.extent;
        let prices = vec![0; extent * extent];
        let ways = vec![0; extent];
        let mut all = Self { loads, window, wanted: wanted.max(1), sharpness, prices, ways, turn: 0 };
        for from in 0..extent {
            (0..extent).for_each(|to| all.price(&[from, to]));
        }
        all
    }

    fn add(&mut self, path: &[usize], change: i32) {
        self.loads.add(path, change);
        path.windows(2).for_each(|hop| self.price(hop));
    }

    fn price(&mut self, hop: &[usize]) {
        let used = self.sharpness * (self.loads.at(hop) + 1) / self.wanted;
        let price = 1 << (used + 24).saturating_sub(self.sharpness).min(HIGHEST);
        self.prices[hop[1] * self.loads.extent + hop[0]] = price << JUMP_BITS;
    }

    /// Replaces a path by the cheapest one between its ends, without a step back.
    fn find_cheapest(&mut self, path: &mut Path) {
        let (from, to) = (path[0], path[path.len() - 1]);
        let (window, extent) = (self.window, self.loads.extent);
        let stride = (window / JUMPS).max(1);
        self.turn += 1;
        let first = self.turn % stride;
        let (prices, ways) = (&self.prices, &mut self.ways);
        ways[from] = 0;
        // Loops, since this is what the schedule of a row takes most of its time for.
        let cheapest = |ways: &[u64], node: usize, before: Range<usize>| {
            let (ways, prices) = (&ways[before.clone()], &prices[node * extent..][before.clone()]);
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
        path.clear();
        let mut node = to;
        path.push(node);
        while node != from {
            let jump = (ways[node] & JUMP) as usize;
            node = if from < to { node - jump } else { node + jump };
            path.push(node);
        }
        path.reverse();
    }
}

/// The maximum number of times that all units are sorted.
const ORDERS: usize = 1 << 6;

/// Schedules one hop after the other: in each round, a channel takes the units whose route has the
/// busiest channels ahead, then those with the most hops left.
///
/// In each round, what is left for the busiest channels shrinks by the load. So the order of
/// waiting units changes little, and it is enough to sort them now and then.
fn scheduled(row: &OverlappingWindows, paths: &[Path], load: usize, chunks: usize) -> Table {
    let extent = row.extent();
    let mut left = Loads::of(paths, extent);
    let channel = |hop: &[usize]| hop[0] * extent + hop[1];
    // How much is left for the busiest channel ahead, if it had been busy from the first round on.
    let urgency = |left: &Loads, round: usize, unit: usize, at: usize| {
        let ahead = &paths[unit][at..];
        let busiest = ahead.windows(2).map(|hop| left.loads[channel(hop)]).max().unwrap_or_default();
        (busiest as usize + round * load + ahead.len() * load, ahead.len(), Reverse(unit), at)
    };
    let interval = left.busiest().div_ceil(load).div_ceil(ORDERS).max(1);
    // The units that wait for each channel.
    let mut waiting: Vec<BinaryHeap<_>> = vec![BinaryHeap::new(); extent * extent];
    let mut moved: Vec<(usize, usize)> = (0..paths.len()).map(|unit| (unit, 0)).collect();
    let mut table = Table { extent, chunks, rounds: vec![] };
    loop {
        let number = table.rounds.len();
        if number.is_multiple_of(interval) {
            moved.extend(waiting.iter_mut().flat_map(BinaryHeap::drain).map(|(_, _, Reverse(unit), at)| (unit, at)));
        }
        for (unit, at) in moved.drain(..) {
            waiting[channel(&paths[unit][at..])].push(urgency(&left, number, unit, at));
        }
        let mut round = vec![NodeRound::default(); extent];
        let mut is_over = true;
        for over in &mut waiting {
            for _ in 0..load {
                let Some((_, _, Reverse(unit), at)) = over.pop() else { break };
                let path = &paths[unit];
                let piece = Unit { from: path[0], to: path[path.len() - 1], chunk: unit % chunks };
                send(&mut round, path[at], path[at + 1], piece);
                left.add(&path[at..at + 2], -1);
                is_over = false;
                if at + 2 < path.len() {
                    moved.push((unit, at + 1));
                }
            }
        }
        if is_over {
            return table;
        }
        table.rounds.push(round);
    }
}

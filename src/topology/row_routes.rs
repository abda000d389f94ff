//! Routes in a row of overlapping windows that load all channels alike.
// All pairs of nodes with the same displacement take the same hops, so there are p routes to choose,
// not p^2. A hop of length l at a distance of x from the start loads the channels of this length from
// x on, one for each node where a route of this displacement may start. With the sums of the prices
// below each channel, what the hop costs on all these routes is a difference.

/// The lengths of the hops of a route.
pub(super) type Lengths = Vec<u32>;

/// The routes of all displacements, while they are chosen.
struct Search {
    extent: usize,
    window: usize,
    chunks: usize,
    effort: Effort,
    /// The routes of the chunks of a displacement, from 1.
    routes: Vec<Lengths>,
    /// The load of each channel upwards, by its length, then by the node where it begins.
    loads: Vec<Vec<u32>>,
    /// The sums of the prices of the channels that end below each node, by the node, then by their
    /// length: so the prices of all hops to a node lie together.
    sums: Vec<u64>,
    /// The price of a channel, by its load.
    prices: Vec<u64>,
    /// The cheapest way over each distance.
    ways: Ways,
    /// The number of routes chosen. Each compares other lengths than the one before.
    turn: usize,
    /// The number of lengths compared and of loads changed.
    work: usize,
}

/// The cheapest way over each distance.
struct Ways {
    prices: Vec<u64>,
    hops: Vec<u32>,
    /// The length of the last hop.
    last: Vec<u32>,
}

/// The price of a channel doubles when its load grows by this fraction of the wanted load.
const SHARPNESS: [usize; 4] = [48, 96, 192, 384];

/// The binary logarithms of a 16th of the price of a channel with the wanted load, and of the highest
/// price. All routes of a displacement have fewer than 2^22 channels, so sums fit a word.
const WANTED: usize = 20;
const HIGHEST: usize = 34;

/// How much is tried, by the length of the row.
#[derive(Clone, Copy)]
struct Effort {
    /// The number of lengths that are compared for the last hop over a distance, about: they are spread
    /// over the window. The longest hop is always among them.
    lengths: usize,
    /// The hops that a route may have beyond twice those of a shortest path.
    more: usize,
    /// The work after which a load of 1/24 above the least is enough. The passes over the last few
    /// percent take longest.
    patience: usize,
    /// The work after which no new pass begins.
    work: usize,
}

/// In rows of up to 256 nodes: up to ten seconds.
const SHORT: Effort = Effort { lengths: 30, more: 0, patience: usize::MAX, work: 1 << 30 };

/// In longer rows: up to a minute.
const LONG: Effort = Effort { lengths: 16, more: 2, patience: 1 << 27, work: 1 << 31 };

/// Returns the routes of a row: those of the chunks of a displacement of 1, then of 2, and so on. Each
/// has at most twice the hops of a shortest path, or two more in a row of more than 256 nodes. Stops
/// when the busiest channel carries `least`, or in such a row 1/24 more after some work. Stops also when
/// some passes do not lower its load, and after much work.
pub(super) fn balanced(extent: usize, window: usize, chunks: usize, least: usize) -> Vec<Lengths> {
    // In wide windows it is better to begin with short displacements, which take one hop; in narrow
    // ones with long displacements, and the short ones fill the gaps.
    let mut orders: [Vec<usize>; 2] = [(1..extent).rev().collect(), (1..extent).collect()];
    if 10 * window >= extent {
        orders.reverse();
    }
    let effort = if extent > 256 { LONG } else { SHORT };
    let mut best = (usize::MAX, vec![]);
    for order in orders {
        let mut search = Search::new(extent, window, chunks, effort);
        let attempt = search.run(&order, least);
        if attempt.0 < best.0 {
            best = attempt;
        }
        if best.0 <= least + least / 20 || search.work >= effort.work {
            break;
        }
    }
    best.1
}

impl Search {
    fn new(extent: usize, window: usize, chunks: usize, effort: Effort) -> Self {
        Self {
            extent,
            window,
            chunks,
            effort,
            routes: vec![vec![]; (extent - 1) * chunks],
            loads: (1..=window).map(|length| vec![0; extent - length]).collect(),
            sums: vec![0; (extent + 1) * window],
            prices: vec![],
            ways: Ways { prices: vec![0; extent], hops: vec![0; extent], last: vec![0; extent] },
            turn: 0,
            work: 0,
        }
    }

    /// Chooses all routes, displacements in this order, then again and again those over the busiest
    /// channels. Returns the least load of the busiest channels that was found, and its routes.
    fn run(&mut self, order: &[usize], least: usize) -> (usize, Vec<Lengths>) {
        self.set_prices(least, SHARPNESS[0]);
        order.iter().for_each(|&displacement| self.choose(displacement, None));
        let mut best = (self.busiest(), self.routes.clone());
        // Passes without a better result.
        let mut vain = 0;
        while best.0 > self.enough(least) && vain < 2 * SHARPNESS.len() && self.work < self.effort.work {
            let busiest = self.busiest();
            let wanted = self.enough(least).max(busiest - busiest / 8);
            self.set_prices(wanted, SHARPNESS[vain % SHARPNESS.len()]);
            order.iter().for_each(|&displacement| self.choose(displacement, Some(wanted)));
            vain += 1;
            if self.busiest() < best.0 {
                (best, vain) = ((self.busiest(), self.routes.clone()), 0);
            }
        }
        best
    }

    /// Returns the load with which the search ends.
    fn enough(&self, least: usize) -> usize {
        if self.work < self.effort.patience { least } else { least + least / 24 }
    }

    fn busiest(&self) -> usize {
        self.loads.iter().flatten().copied().max().unwrap_or_default() as usize
    }

    /// Prices channels by their loads, in steps of a 16th of a doubling.
    fn set_prices(&mut self, wanted: usize, sharpness: usize) {
        let wanted = wanted.max(1);
        let price = |load: usize| {
            let level = 16 * sharpness * load / wanted;
            let shift = (level / 16 + WANTED).saturating_sub(sharpness).min(HIGHEST);
            (16 + level as u64 % 16) << shift
        };
        let highest = wanted + wanted * (HIGHEST + 1 - WANTED) / sharpness + 1;
        self.prices = (0..=highest).map(price).collect();
        (1..=self.window).for_each(|length| self.sum(length, 0));
    }

    /// Sums the prices of the channels of a length again, from the one that begins at a node on.
    fn sum(&mut self, length: usize, from: usize) {
        let mut at = (from + length) * self.window + length - 1;
        let mut sum = self.sums[at];
        for &load in &self.loads[length - 1][from..] {
            sum += self.prices[(load as usize).min(self.prices.len() - 1)];
            at += self.window;
            self.sums[at] = sum;
        }
    }

    /// Chooses the routes of a displacement: of all chunks, or of those that have a channel with more
    /// than the wanted load.
    fn choose(&mut self, displacement: usize, wanted: Option<usize>) {
        let starts = self.extent - displacement;
        for chunk in 0..self.chunks {
            let at = (displacement - 1) * self.chunks + chunk;
            let is_over = |(from, length): (usize, usize)| {
                self.loads[length - 1][from..][..starts].iter().any(|&load| Some(load as usize) > wanted)
            };
            if wanted.is_some() && !hops(&self.routes[at]).any(is_over) {
                continue;
            }
            let old = std::mem::take(&mut self.routes[at]);
            self.change(&old, starts, |load| *load -= 1);
            let route = self.cheapest(displacement);
            self.change(&route, starts, |load| *load += 1);
            self.routes[at] = route;
        }
    }

    /// Changes the loads of the channels of a route, from each node where one may start.
    fn change(&mut self, route: &Lengths, starts: usize, change: impl Fn(&mut u32)) {
        for (from, length) in hops(route) {
            self.loads[length - 1][from..][..starts].iter_mut().for_each(&change);
            self.work += starts;
        }
        let mut changed: Vec<(usize, usize)> = hops(route).map(|(from, length)| (length, from)).collect();
        changed.sort_unstable();
        changed.dedup_by_key(|(length, _)| *length);
        changed.into_iter().for_each(|(length, from)| self.sum(length, from));
    }

    /// Returns the cheapest route of those that are compared.
    fn cheapest(&mut self, displacement: usize) -> Lengths {
        let starts = self.extent - displacement;
        let stride = (self.window / self.effort.lengths).max(1);
        let first = 1 + self.turn % stride;
        self.turn += 1;
        let Ways { prices, hops, last } = &mut self.ways;
        // Loops, since this takes most of the time.
        for distance in 1..=displacement {
            let longest = self.window.min(distance);
            let allowed = (2 * distance.div_ceil(self.window) + self.effort.more) as u32;
            let (before, hops_before) = (&prices[distance - longest..distance], &hops[distance - longest..distance]);
            let below = &self.sums[distance * self.window..][..longest];
            let above = &self.sums[(distance + starts) * self.window..][..longest];
            let by = |length: usize| before[longest - length] + above[length - 1] - below[length - 1];
            let mut best = (by(longest), longest);
            let mut length = first;
            while length < longest {
                let price = by(length);
                if price < best.0 && hops_before[longest - length] < allowed {
                    best = (price, length);
                }
                length += stride;
            }
            self.work += longest / stride + 1;
            (prices[distance], last[distance]) = (best.0, best.1 as u32);
            hops[distance] = hops[distance - best.1] + 1;
        }
        let mut route = vec![];
        let mut left = displacement;
        while left > 0 {
            route.push(last[left]);
            left -= last[left] as usize;
        }
        route.reverse();
        route
    }
}

/// Returns where each hop of a route from node 0 begins, and its length.
fn hops(route: &Lengths) -> impl Iterator<Item = (usize, usize)> {
    route.iter().scan(0, |at, &length| {
        let from = *at;
        *at += length as usize;
        Some((from, length as usize))
    })
}

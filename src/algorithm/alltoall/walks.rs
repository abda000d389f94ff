//! The steps from node 0 to every address of a group, chosen so that all channels along a dimension
//! are used alike.
//!
//! The order of the steps is free, since the group is abelian. Along a ring and a complete network
//! only the direction to the opposite node is free. Along windows of w nodes, a distance is a sum
//! of jumps of 1 to w. The longest jumps load the channels of length w (w + 1) / 2 times as much as
//! jumps of all lengths do. So every distance in turn takes the cheapest jumps, and a length costs
//! more the more it is used. Then distances exchange two of their jumps for two others. The number of
//! rounds limits the number of jumps; if it is two, `jump_pairs.rs` chooses them. If the window reaches
//! almost all coordinates, only the others are sums.

use std::cmp::{Ordering, Reverse};
use std::iter;

use crate::algorithm::colouring::Walk;
use crate::algorithm::group::Group;
use crate::algorithm::window_row::WindowRow;
use crate::block::Volume;

use super::jump_pairs;

/// Returns the steps to each address, for each of its chunks, in as many steps as `rounds` allows,
/// but at least as few as the distance. The chunks of an address follow one another.
pub(super) fn walks(group: &Group, chunks: usize, rounds: usize) -> Vec<Walk> {
    let nodes: usize = group.rows.iter().map(|row| row.extent).product();
    let diameter = group.diameter().max(1);
    let mut walks: Vec<Walk> = vec![vec![]; nodes * chunks];
    let (mut stride, mut first) = (1, 0);
    for &row in group.rows.iter().rev() {
        let alike = nodes / row.extent * chunks;
        let along = Ways::new(row, alike, (row.diameter() * rounds / diameter).max(row.diameter()));
        let mut seen = vec![0; row.extent];
        for (entry, walk) in walks.iter_mut().enumerate() {
            let at = entry / chunks / stride % row.extent;
            let steps = along.of(at, seen[at]).iter();
            walk.extend(steps.map(|&(index, times)| (first as u32 + index, times)));
            seen[at] += 1;
        }
        (stride, first) = (stride * row.extent, first + row.steps());
    }
    walks
}

/// Returns whether jumps along all rows are found in a second or so.
pub(super) fn is_cheap(group: &Group) -> bool {
    let sums = |row: &WindowRow| row.diameter() * (row.extent / 2) * row.window;
    group.rows.iter().all(|row| row.is_complete() || row.window == 1 || sums(row) <= SUMS)
}

/// Returns the least that the busiest channel carries if all nodes send a block to each other: what
/// the channels of a node carry along the busiest dimension, if it is shared in proportion to how
/// far they lead.
pub(super) fn least_load(group: &Group) -> Volume {
    let nodes: usize = group.rows.iter().map(|row| row.extent).product();
    let along = |row: &WindowRow| {
        let (extent, window) = (row.extent as u128, row.window as u128);
        let alike = nodes as u128 / extent;
        match row.is_complete() {
            true => Volume::ratio(alike, 1),
            false => Volume::ratio(alike * (extent * extent / 4), window * (window + 1)),
        }
    };
    group.rows.iter().map(along).max().unwrap_or_default()
}

/// The steps along a row to each coordinate: one way or several, which are taken in turn.
struct Ways(Vec<Vec<Walk>>);

/// The most ways to a coordinate, and to all coordinates of a row that have several: by sums of any
/// number of jumps, and of two, which are found faster.
const MOST: (usize, [usize; 2]) = (32, [1 << 12, 1 << 15]);

/// Coordinates out of reach are few if the window is at least this many times their number.
const FEW: usize = 4;

impl Ways {
    /// Chooses ways for a number of walks to each coordinate, with at most this many steps.
    fn new(row: WindowRow, walks: usize, most: usize) -> Self {
        let near = |to: usize| row.distance(to) < 2;
        // With few coordinates out of reach, each channel has what goes straight over it, and little
        // else.
        let far = (0..row.extent).filter(|&to| !near(to)).count();
        let goes_straight = |to: usize| row.is_complete() || to > 0 && near(to) && far * FEW <= row.window;
        let winding: Vec<usize> = (1..row.extent).filter(|&to| !goes_straight(to)).collect();
        let most_ways_of_all = MOST.1[usize::from(most == 2)];
        let most_ways = walks.min(MOST.0).min((most_ways_of_all / winding.len().max(1)).max(2)).max(1);
        // All ways are taken equally often, and both directions to the opposite node, if there is such
        // a number of ways near the most.
        let is_even = |ways: usize| walks.is_multiple_of(ways) && (ways.is_multiple_of(2) || !walks.is_multiple_of(2));
        let variety = (most_ways.div_ceil(2)..=most_ways).rev().find(|&ways| is_even(ways)).unwrap_or(most_ways);
        let mut ways: Vec<Vec<Walk>> = vec![vec![vec![]]; row.extent];
        for index in (0..row.steps()).filter(|&index| goes_straight(row.step(index))) {
            ways[row.step(index)] = vec![vec![(index as u32, 1)]];
        }
        for &to in &winding {
            ways[to] = vec![vec![]; variety];
        }
        let straight = if winding.len() + 1 < row.extent { variety as u32 } else { 0 };
        let goes_up = |(to, number): (usize, usize)| match (2 * to).cmp(&row.extent) {
            Ordering::Equal => number % 2 == 0,
            order => order.is_lt(),
        };
        for up in [true, false] {
            let distance = |to: usize| if up { to } else { row.extent - to };
            let all = winding.iter().flat_map(|&to| (0..variety).map(move |number| (to, number)));
            let mut chosen: Vec<(usize, usize)> = all.filter(|&one| goes_up(one) == up).collect();
            // The longest distances choose first, since the number of jumps limits them most.
            chosen.sort_by_key(|&(to, _)| Reverse(distance(to)));
            let distances = chosen.iter().map(|&(to, _)| distance(to));
            let jumps = Jumps::balanced((row.window, straight), distances.collect(), most);
            for (&(to, number), jumps) in chosen.iter().zip(jumps) {
                let first = if up { 0 } else { row.window };
                let used = jumps.into_iter().enumerate().filter(|(_, times)| *times > 0);
                ways[to][number] = used.map(|(jump, times)| ((first + jump) as u32, times)).collect();
            }
        }
        Self(ways)
    }

    fn of(&self, to: usize, number: usize) -> &Walk {
        let ways = &self.0[to];
        &ways[number % ways.len()]
    }
}

/// How often each length of jumps is used, by length - 1.
type Lengths = Vec<u32>;

/// Distances as sums of jumps.
struct Jumps {
    window: usize,
    /// The most jumps of a distance.
    most: usize,
    loads: Lengths,
    /// The load of each length if all lengths are used equally often.
    even: u64,
    /// The number of times that sums of all distances were found. Each compares other lengths than the
    /// one before.
    turn: usize,
}

fn as_sum(window: usize, pair: [usize; 2]) -> Lengths {
    let mut sum = vec![0; window];
    pair.into_iter().filter(|jump| *jump > 0).for_each(|jump| sum[jump - 1] += 1);
    sum
}

/// The growth of prices with the load.
#[derive(Clone, Copy)]
struct Slope {
    /// The number of doublings while the load grows by the even load.
    sharpness: u64,
    /// The number of prices from one doubling to the next, at equal distances.
    values: u64,
}

impl Slope {
    /// Returns the slope of a pass. The last passes have gentler and finer prices: with coarse ones, two
    /// lengths may keep the largest load although a sum could take one jump of one in place of two
    /// of the other.
    fn of(pass: usize) -> Self {
        match pass {
            ..COARSE => Self { sharpness: 24 << (pass % 4), values: 1 },
            _ => Self { sharpness: 6 << (pass % 4), values: 64 },
        }
    }
}

/// The maximum number of passes over all sums, of price updates in a pass, and of additions in all
/// passes.
const PASSES: usize = COARSE + 4;
const COARSE: usize = 12;
const PRICES: usize = 1024;
const SUMS: usize = 1 << 24;

/// The number of lengths that are compared for a jump where a distance takes three or more, about: they
/// are spread over the window. The longest jump is always among them.
const LENGTHS: usize = 30;

/// The number of passes over all sums without a lower load after which jumps are exchanged no more.
const EXCHANGES: usize = 8;

/// The number of pairs of jumps compared after which no new pass of exchanges begins.
const PAIRS: usize = 1 << 27;

/// Returns the difference of the lengths that are compared.
fn stride(window: usize) -> usize {
    (window / LENGTHS).max(1)
}

impl Jumps {
    /// Returns each distance as a sum of at most `most` jumps. Each length up to the window already has
    /// the load `beside`.
    fn balanced((window, beside): (usize, u32), distances: Vec<usize>, most: usize) -> Vec<Lengths> {
        if window == 1 {
            return distances.into_iter().map(|distance| vec![distance as u32]).collect();
        }
        let longest = distances.iter().copied().max().unwrap_or_default();
        let even = beside as usize + 2 * distances.iter().sum::<usize>() / (window * (window + 1));
        // No sum has more jumps than jumps of 1.
        let most = most.min(longest);
        if most == 2 {
            let pairs = jump_pairs::balanced((window, beside), &distances);
            return pairs.into_iter().map(|pair| as_sum(window, pair)).collect();
        }
        let mut jumps = Self { window, most, loads: vec![beside; window], even: even.max(1) as u64, turn: 0 };
        let mut sums: Vec<Lengths> = vec![vec![0; window]; distances.len()];
        let mut best: Option<(u32, Vec<Lengths>)> = None;
        let of_once = (jumps.most * longest * window.div_ceil(stride(window))).max(1);
        let batch = distances.len().div_ceil((SUMS / of_once).clamp(1, PRICES)).max(1);
        let passes = SUMS / (of_once * distances.len().div_ceil(batch)).max(1);
        for pass in 0..passes.clamp(1, PASSES) {
            let slope = Slope::of(pass);
            for start in (0..distances.len()).step_by(batch) {
                let end = (start + batch).min(distances.len());
                for sum in &sums[start..end] {
                    jumps.loads.iter_mut().zip(sum).for_each(|(load, times)| *load -= times);
                }
                let cheapest = jumps.cheapest(longest, slope, pass);
                for number in start..end {
                    let sum = jumps.sum(&cheapest, distances[number]);
                    if pass == 0 || jumps.cost(&sum, slope) < jumps.cost(&sums[number], slope) {
                        sums[number] = sum;
                    }
                    jumps.loads.iter_mut().zip(&sums[number]).for_each(|(load, times)| *load += times);
                }
            }
            let busiest = jumps.busiest();
            if best.as_ref().is_none_or(|(least, _)| busiest < *least) {
                best = Some((busiest, sums.clone()));
            }
        }
        let sums = best.map_or(sums, |(_, sums)| sums);
        jumps.exchanged(sums, beside)
    }

    /// Exchanges jumps in all sums, pass by pass, while that lowers the busiest load. Each length already
    /// has the load `beside`.
    fn exchanged(&mut self, sums: Vec<Lengths>, beside: u32) -> Vec<Lengths> {
        self.loads.fill(beside);
        sums.iter().for_each(|sum| self.loads.iter_mut().zip(sum).for_each(|(load, times)| *load += times));
        let (mut busiest, mut best, mut sums) = (self.busiest(), sums.clone(), sums);
        let (mut vain, mut pairs) = (0, 0);
        while vain < EXCHANGES && pairs < PAIRS && u64::from(busiest) > self.even + 1 {
            let slope = Slope { sharpness: 24 << (vain % 4), values: 16 };
            pairs += sums.iter_mut().map(|sum| self.exchange(sum, slope, vain)).sum::<usize>();
            vain += 1;
            if self.busiest() < busiest {
                (busiest, vain) = (self.busiest(), 0);
                best.clone_from(&sums);
            }
        }
        best
    }

    /// Exchanges the jump of a sum whose length has most load, with each of the others in turn, for the
    /// two jumps that are cheapest. Where a sum may have more jumps, also alone. Returns the number of
    /// pairs of jumps that were compared, or a few more.
    fn exchange(&mut self, sum: &mut Lengths, slope: Slope, pass: usize) -> usize {
        let mut pairs = 0;
        let used = |sum: &Lengths| (1..=sum.len()).filter(|jump| sum[jump - 1] > 0).collect::<Vec<_>>();
        for other in used(sum).into_iter().chain([0]) {
            let Some(busiest) = used(sum).into_iter().max_by_key(|jump| self.loads[jump - 1]) else { break };
            let is_allowed = match other {
                0 => sum.iter().sum::<u32>() < self.most as u32,
                _ => sum[other - 1] > u32::from(other == busiest),
            };
            if !is_allowed {
                continue;
            }
            for jump in [busiest, other].into_iter().filter(|jump| *jump > 0) {
                sum[jump - 1] -= 1;
                self.loads[jump - 1] -= 1;
            }
            pairs += self.window;
            for jump in self.pair(busiest + other, slope, pass).into_iter().filter(|jump| *jump > 0) {
                sum[jump - 1] += 1;
                self.loads[jump - 1] += 1;
            }
        }
        pairs
    }

    fn busiest(&self) -> u32 {
        self.loads.iter().copied().max().unwrap_or_default()
    }

    /// Returns the price of one more jump of a length. It grows evenly where it would be very high.
    fn price(&self, load: u32, Slope { sharpness, values }: Slope) -> u64 {
        let used = values * sharpness * (u64::from(load) + 1) / self.even;
        let used = (used + 24 * values).saturating_sub(values * sharpness);
        match used / values {
            doublings @ ..48 => (values + used % values) << doublings,
            beyond => values * ((beyond - 47).min(1 << 8) << 48),
        }
    }

    /// Returns the price of a sum whose jumps are added one by one.
    fn cost(&self, sum: &Lengths, slope: Slope) -> u64 {
        let each = sum.iter().zip(&self.loads).flat_map(|(&times, &load)| load..load + times);
        each.map(|load| self.price(load, slope)).fold(0, u64::saturating_add)
    }

    /// Returns the cheapest sum of one or two jumps; the second may be 0. Each pass breaks ties in
    /// another order.
    fn pair(&self, distance: usize, slope: Slope, pass: usize) -> [usize; 2] {
        let longest = self.window.min(distance);
        let jumps = (distance.div_ceil(2)..=longest).map(|jump| {
            let other =
                (distance - jump).checked_sub(1).map(|other| self.loads[other] + u32::from(2 * jump == distance));
            let prices = iter::once(self.loads[jump - 1]).chain(other).map(|load| self.price(load, slope));
            (prices.fold(0, u64::saturating_add), (jump + pass) % self.window, jump)
        });
        jumps.min().map_or([0, 0], |(.., jump)| [jump, distance - jump])
    }

    /// Returns the last jump of the cheapest sum of each distance, for each maximum number of
    /// jumps. Each pass breaks ties in another order.
    fn cheapest(&mut self, longest: usize, slope: Slope, pass: usize) -> Vec<Vec<usize>> {
        let stride = stride(self.window);
        let first = 1 + self.turn % stride;
        self.turn += 1;
        let prices: Vec<u64> = self.loads.iter().map(|&load| self.price(load, slope)).collect();
        let mut costs: Vec<Option<u64>> = (0..=longest).map(|distance| (distance == 0).then_some(0)).collect();
        let mut last = vec![vec![0; longest + 1]];
        for _ in 0..self.most {
            let before = costs.clone();
            let mut jumps = vec![0; longest + 1];
            for distance in 1..=longest {
                let with =
                    |jump: usize| before[distance - jump].map(|cost| (cost.saturating_add(prices[jump - 1]), jump));
                let preferred = |&(cost, jump): &(u64, usize)| (cost, (jump + pass) % self.window);
                let compared = (first..self.window.min(distance)).step_by(stride).chain([self.window.min(distance)]);
                if let Some((cost, jump)) = compared.filter_map(with).min_by_key(preferred) {
                    // Sums with fewer jumps are kept where they are no dearer.
                    if before[distance].is_none_or(|known| cost < known) {
                        (costs[distance], jumps[distance]) = (Some(cost), jump);
                    }
                }
            }
            last.push(jumps);
        }
        last
    }

    fn sum(&self, cheapest: &[Vec<usize>], mut distance: usize) -> Lengths {
        let mut sum = vec![0; self.window];
        let mut most = self.most;
        while distance > 0 {
            let jump = cheapest[most][distance];
            if jump > 0 {
                sum[jump - 1] += 1;
                distance -= jump;
            }
            match most.checked_sub(1) {
                Some(fewer) => most = fewer,
                None => break,
            }
        }
        sum
    }
}

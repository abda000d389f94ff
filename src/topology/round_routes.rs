//! Routes in a row of windows that wrap round, whose hops have all lengths equally often.
// Only the number of hops of each length counts. So a displacement becomes full sets 1 + 2 + .. + w,
// which are balanced, and a rest. The rests are chosen for all displacements together, by the least
// loaded length that fits. Exchanges of one or two hops for others of the same sum mend what that
// leaves.

/// Returns the number of hops of each length for each displacement, both from 1. Loads count halves of
/// routes up from each coordinate, and should not exceed `most`.
pub(super) fn balanced(extent: usize, window: usize, most: usize) -> Vec<u32> {
    let weight = |displacement: usize| if 2 * displacement == extent { 1 } else { 2 };
    let mut balance = Balance { window, most: most as i64, loads: vec![0; window], counts: Vec::new() };
    for displacement in 1..=extent / 2 {
        balance.append(displacement, weight(displacement));
    }
    while balance.mend(weight) {}
    balance.counts
}

/// The hops of all displacements, while they are chosen.
struct Balance {
    window: usize,
    /// The load that no length should exceed.
    most: i64,
    /// The load of each length, from 1.
    loads: Vec<i64>,
    /// The number of hops of each length for each displacement, both from 1.
    counts: Vec<u32>,
}

/// Hops to take away and to add: lengths, and how many of them are added.
type Exchange = [(usize, i64); 4];

impl Balance {
    /// Appends the hops of the next displacement: full sets of all lengths, as long as the rest is
    /// one set or more, then again and again the least loaded length that fits, the longest of
    /// equally loaded ones.
    fn append(&mut self, displacement: usize, weight: i64) {
        let window = self.window;
        let set = window * (window + 1) / 2;
        let sets = (displacement / set).saturating_sub(1);
        let mut counts = vec![sets as u32; window];
        let mut left = displacement - sets * set;
        let mut hops = most_hops(displacement, window) - sets * window;
        while left > 0 {
            // The hops after this one must be able to do the rest. The longest hop always fits.
            let shortest = left.saturating_sub((hops - 1) * window).max(1);
            let load = |length: &usize| self.loads[length - 1] + weight * i64::from(counts[length - 1]);
            let length = (shortest..=window.min(left)).rev().min_by_key(load).unwrap_or(left.min(window));
            counts[length - 1] += 1;
            (left, hops) = (left - length, hops - 1);
        }
        for (load, &count) in self.loads.iter_mut().zip(&counts) {
            *load += weight * i64::from(count);
        }
        self.counts.extend(counts);
    }

    /// Makes exchanges for one displacement after the other, each time the one that lowers the
    /// excess most. Returns whether it has made any.
    fn mend(&mut self, weight: impl Fn(usize) -> i64) -> bool {
        let displacements = 1..=self.counts.len() / self.window;
        displacements.fold(false, |mended, displacement| {
            let mut exchanges = 0;
            while self.exchange(displacement, weight(displacement)) {
                exchanges += 1;
            }
            mended || exchanges > 0
        })
    }

    /// Makes the exchange that lowers the excess most, of those that take a hop of a length with an
    /// excess away. Returns whether there is one.
    fn exchange(&mut self, displacement: usize, weight: i64) -> bool {
        let row = (displacement - 1) * self.window..displacement * self.window;
        let counts = self.counts[row.clone()].to_vec();
        let may_split = (counts.iter().sum::<u32>() as usize) < most_hops(displacement, self.window);
        let mut best: (i64, Option<Exchange>) = (0, None);
        for length in (1..=self.window).filter(|length| counts[length - 1] > 0) {
            if self.loads[length - 1] <= self.most {
                continue;
            }
            for exchange in exchanges(&counts, length, may_split) {
                let change = self.shift(&exchange, weight);
                self.shift(&exchange, -weight);
                if change < best.0 {
                    best = (change, Some(exchange));
                }
            }
        }
        let Some(exchange) = best.1 else { return false };
        self.shift(&exchange, weight);
        let counts = &mut self.counts[row];
        for (length, by) in exchange {
            counts[length - 1] = counts[length - 1].saturating_add_signed(by as i32);
        }
        true
    }

    /// Applies an exchange to the loads. Returns how much the excess grows, the sum of the squares
    /// of what loads have above the most.
    fn shift(&mut self, exchange: &Exchange, weight: i64) -> i64 {
        let mut change = 0;
        for &(length, by) in exchange.iter().filter(|(_, by)| *by != 0) {
            let load = &mut self.loads[length - 1];
            let excess = |load: i64| (load - self.most).max(0).pow(2);
            let before = excess(*load);
            *load += by * weight;
            change += excess(*load) - before;
        }
        change
    }
}

/// Returns the exchanges that take a hop of a length away: two hops for two others or for one, and,
/// if there may be more hops, one for two.
fn exchanges(counts: &[u32], length: usize, may_split: bool) -> impl Iterator<Item = Exchange> {
    let window = counts.len();
    let halves = if may_split { length / 2 } else { 0 };
    let splits = (1..=halves).map(move |short| [(length, -1), (short, 1), (length - short, 1), (1, 0)]);
    let partners = (1..=window).filter(move |&with| counts[with - 1] > u32::from(with == length));
    let pairs = partners.flat_map(move |with| {
        let sum = length + with;
        let merged = (sum <= window).then_some([(length, -1), (with, -1), (sum, 1), (1, 0)]);
        let shorts = sum.saturating_sub(window).max(1)..=sum / 2;
        shorts.map(move |short| [(length, -1), (with, -1), (short, 1), (sum - short, 1)]).chain(merged)
    });
    splits.chain(pairs)
}

/// Returns twice the hops of a shortest path.
fn most_hops(displacement: usize, window: usize) -> usize {
    2 * displacement.div_ceil(window)
}

/// Returns the lengths, each spread evenly over the route, from hop `first` on and round to the hop
/// before it. So not all routes begin with the same length.
pub(super) fn spread(counts: &[u32], first: usize) -> Vec<usize> {
    // The i-th of c hops is due at (2i + 1) / 2c of the route.
    let of = |(at, &count): (usize, &u32)| (0..count).map(move |i| (u64::from(2 * i + 1), u64::from(count), at + 1));
    let mut hops: Vec<(u64, u64, usize)> = counts.iter().enumerate().flat_map(of).collect();
    hops.sort_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)).then(other.2.cmp(&one.2)));
    let mut lengths: Vec<usize> = hops.into_iter().map(|(.., length)| length).collect();
    let turn = first % lengths.len().max(1);
    lengths.rotate_left(turn);
    lengths
}

/// Returns the lengths in an order in which half of the hops of each length begin at an even
/// distance from the start, and half at an odd one, if there is such an order.
pub(super) fn alternating(counts: &[u32]) -> Vec<usize> {
    // Hops of odd lengths alternate by themselves. Half of the even ones come before the first odd
    // one, the others after it.
    let copies = |length: usize, count: u32| std::iter::repeat_n(length, count as usize);
    let by_length = || counts.iter().enumerate().map(|(at, &count)| (at + 1, count));
    let even = || by_length().filter(|(length, _)| length.is_multiple_of(2));
    let mut odd = by_length().filter(|(length, _)| !length.is_multiple_of(2)).flat_map(|(l, count)| copies(l, count));
    let mut lengths: Vec<usize> = even().flat_map(|(length, count)| copies(length, count / 2)).collect();
    lengths.extend(odd.next());
    lengths.extend(even().flat_map(|(length, count)| copies(length, count.div_ceil(2))));
    lengths.extend(odd);
    lengths
}

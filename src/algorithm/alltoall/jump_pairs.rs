//! Distances as sums of one or two jumps, so that the busiest length is used as little as possible.
// The search fixes the number of times that a length may be used. While a length is used more often, one
// of its distances takes the jumps that exceed the number least (the min-conflicts heuristic of Minton,
// Johnston, Philips & Laird 1992). If that takes too long, the search raises the number by one.

use std::cmp::Reverse;

use crate::numbers::Numbers;

/// The number of times that a distance takes other jumps before the search raises the limit.
const MOVES: usize = 1 << 15;

/// Returns the two jumps of each distance; the second is 0 if one is enough. Distances are at most two
/// windows. Each length up to the window is already used `beside` times.
pub(super) fn balanced((window, beside): (usize, u32), distances: &[usize]) -> Vec<[usize; 2]> {
    let mut search = Search {
        window,
        most: least(window, beside, distances),
        loads: vec![beside; window + 1],
        users: vec![vec![]; window + 1],
        jumps: vec![[0; 2]; distances.len()],
        numbers: Numbers::new(1),
    };
    // Long distances have least choice.
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by_key(|&number| Reverse(distances[number]));
    order.into_iter().for_each(|number| search.put(number, distances[number], true));
    while !search.succeeds(distances) {
        search.most += 1;
    }
    search.jumps
}

/// Returns a lower bound on the number of times that the busiest length is used: if all are used equally
/// often, a length l covers a share of l.
fn least(window: usize, beside: u32, distances: &[usize]) -> u32 {
    let covered = 2 * distances.iter().sum::<usize>();
    beside + covered.div_ceil(window * (window + 1)) as u32
}

struct Search {
    window: usize,
    /// The number of times that a length may be used.
    most: u32,
    /// The number of times each length is used.
    loads: Vec<u32>,
    /// The distances that use each length, by their number, as often as they use it.
    users: Vec<Vec<usize>>,
    jumps: Vec<[usize; 2]>,
    numbers: Numbers,
}

impl Search {
    /// Chooses other jumps until no length is used too much. Returns whether that succeeds.
    fn succeeds(&mut self, distances: &[usize]) -> bool {
        let mut busy: Vec<usize> = (1..=self.window).filter(|&jump| self.is_busy(jump)).collect();
        for _ in 0..MOVES {
            busy.retain(|&jump| self.is_busy(jump));
            if busy.is_empty() {
                return true;
            }
            let users = &self.users[busy[self.numbers.below(busy.len())]];
            // Jumps that are taken beside these distances stay.
            if users.is_empty() {
                return false;
            }
            let number = users[self.numbers.below(users.len())];
            self.remove(number);
            // Never to prefer few jumps, or always, leads to dead ends more often.
            let prefers_few = self.numbers.below(2) == 0;
            self.put(number, distances[number], prefers_few);
            let new = self.jumps[number].into_iter().filter(|&jump| jump > 0 && self.is_busy(jump));
            let new: Vec<usize> = new.filter(|jump| !busy.contains(jump)).collect();
            busy.extend(new);
        }
        false
    }

    fn is_busy(&self, jump: usize) -> bool {
        self.loads[jump] > self.most
    }

    /// Removes the jumps of a distance.
    fn remove(&mut self, number: usize) {
        for jump in self.jumps[number].into_iter().filter(|&jump| jump > 0) {
            self.loads[jump] -= 1;
            if let Some(place) = self.users[jump].iter().position(|&user| user == number) {
                self.users[jump].swap_remove(place);
            }
        }
    }

    /// Gives a distance the jumps that exceed the limit least. Breaks ties at random, or first by the
    /// fewest jumps.
    fn put(&mut self, number: usize, distance: usize, prefers_few: bool) {
        let (mut cheapest, mut equal) = ((u32::MAX, false), 0);
        for jump in distance.div_ceil(2)..=self.window.min(distance) {
            let jumps = [jump, distance - jump];
            let cost = (self.excess(jumps), prefers_few && jump < distance);
            equal = if cost == cheapest { equal + 1 } else { 1 };
            if cost < cheapest || cost == cheapest && self.numbers.below(equal) == 0 {
                (cheapest, self.jumps[number]) = (cost, jumps);
            }
        }
        for jump in self.jumps[number].into_iter().filter(|&jump| jump > 0) {
            self.loads[jump] += 1;
            self.users[jump].push(number);
        }
    }

    /// Returns the number of two jumps that exceed the limit.
    fn excess(&self, [first, second]: [usize; 2]) -> u32 {
        let excess = |jump: usize, times: u32| {
            let free = self.most.saturating_sub(self.loads[jump]);
            times.saturating_sub(free)
        };
        match second {
            0 => excess(first, 1),
            _ if first == second => excess(first, 2),
            _ => excess(first, 1) + excess(second, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often the busiest length is used, after a check of the sums.
    fn busiest(window: usize, beside: u32, distances: &[usize]) -> u32 {
        let mut loads = vec![beside; window + 1];
        for (jumps, distance) in balanced((window, beside), distances).into_iter().zip(distances) {
            assert!(
                jumps.iter().sum::<usize>() == *distance && jumps[0] > 0 && jumps.iter().all(|&jump| jump <= window)
            );
            jumps.into_iter().for_each(|jump| loads[jump] += 1);
        }
        loads[1..].iter().copied().max().unwrap()
    }

    #[test]
    fn lengths_are_used_as_little_as_possible() {
        // Half round windows that wrap round, for several chunks.
        for (extent, window, chunks, wanted) in [
            (1026, 420, 2, 3),
            (1026, 420, 8, 12),
            (1026, 451, 4, 6),
            (1536, 629, 4, 6),
            (2046, 772, 4, 8),
            (1800, 600, 4, 9),
        ] {
            let round = (1..extent / 2).flat_map(|distance| vec![distance; chunks]);
            let all: Vec<usize> = round.chain(vec![extent / 2; chunks / 2]).collect();
            assert_eq!(least(window, 0, &all), wanted, "{extent}, {window}");
            assert_eq!(busiest(window, 0, &all), wanted, "{extent}, {window}");
        }
    }

    /// All choices of jumps for a few distances.
    #[test]
    fn few_distances_are_as_even_as_any_choice() {
        fn best(window: usize, loads: &mut Vec<u32>, distances: &[usize]) -> u32 {
            let Some((&distance, rest)) = distances.split_first() else {
                return loads[1..].iter().copied().max().unwrap();
            };
            let mut least = u32::MAX;
            for jump in distance.div_ceil(2)..=window.min(distance) {
                [jump, distance - jump].into_iter().for_each(|jump| loads[jump] += 1);
                least = least.min(best(window, loads, rest));
                [jump, distance - jump].into_iter().for_each(|jump| loads[jump] -= 1);
            }
            least
        }
        for window in 2..7 {
            for longest in 1..=2 * window {
                let distances: Vec<usize> = (1..=longest).rev().take(7).collect();
                for beside in [0, 2] {
                    let least = best(window, &mut vec![beside; window + 1], &distances);
                    assert_eq!(busiest(window, beside, &distances), least, "{window} {distances:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_done_for_no_distances() {
        assert!(balanced((3, 5), &[]).is_empty());
    }
}

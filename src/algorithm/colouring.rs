//! Rounds for steps that may be taken in any order: equitable edge colouring.
//!
//! Source: D. König, *Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre*,
//! 1916, for bipartite multigraphs; D. de Werra, *Equitable colorations of graphs*, 1971.
//!
//! Travellers and channels are the vertices of a graph, with an edge for each step that a traveller
//! takes over a channel. A colour is a round: a traveller takes at most one step in a round. If no
//! traveller has more steps than there are rounds, a colouring exists in which a channel with l
//! edges has l / rounds of each colour, rounded up or down. Each round is a matching. It contains
//! every traveller that must take a step in each remaining round, at least the share of each
//! channel, rounded down, and as many other travellers as fit.

use std::collections::VecDeque;

/// The steps that a traveller still has to take: channels, and how often each.
pub(super) type Walk = Vec<(u32, u32)>;

/// Returns for each round which traveller takes a step over which channel.
///
/// There are at least `rounds` rounds, or as many as the longest walk has steps.
pub(super) fn coloured(mut walks: Vec<Walk>, channels: usize, rounds: usize) -> Vec<Vec<(usize, usize)>> {
    let mut loads = vec![0_usize; channels];
    for &(channel, times) in walks.iter().flatten() {
        loads[channel as usize] += times as usize;
    }
    let mut steps: Vec<usize> = walks.iter().map(|walk| walk.iter().map(|(_, times)| *times as usize).sum()).collect();
    let longest = steps.iter().copied().max().unwrap_or_default();
    let rounds = rounds.clamp(longest, loads.iter().copied().max().unwrap_or_default().max(longest));
    let mut made = Vec::with_capacity(rounds);
    for left in (1..=rounds).rev() {
        let mut matching = Matching::new(&walks, loads.iter().map(|load| load.div_ceil(left)).collect());
        // Travellers that must take a step come first, since a matched traveller stays matched.
        let mut order: Vec<usize> = (0..walks.len()).filter(|&one| steps[one] > 0).collect();
        order.sort_by_key(|&one| usize::MAX - steps[one]);
        order.into_iter().for_each(|one| matching.match_one(one));
        matching.fill(&loads.iter().map(|load| load / left).collect::<Vec<_>>());
        let pairs = matching.pairs();
        for &(one, channel) in &pairs {
            loads[channel] -= 1;
            steps[one] -= 1;
            if let Some(at) = walks[one].iter().position(|(over, _)| *over as usize == channel) {
                walks[one][at].1 -= 1;
                if walks[one][at].1 == 0 {
                    walks[one].swap_remove(at);
                }
            }
        }
        made.push(pairs);
    }
    made
}

/// A matching of travellers with channels, each of which has room for several.
struct Matching<'a> {
    walks: &'a [Walk],
    room: Vec<usize>,
    /// The travellers of each channel.
    travellers: Vec<Vec<usize>>,
    /// The channel of each traveller, and its place there.
    places: Vec<Option<(usize, usize)>>,
    /// Channels from which no chain of changes leads to room.
    is_dead: Vec<bool>,
    /// During a search, the channel from which each channel was found, and the traveller that can
    /// change between the two.
    before: Vec<Option<(usize, usize)>>,
}

impl<'a> Matching<'a> {
    fn new(walks: &'a [Walk], room: Vec<usize>) -> Self {
        let channels = room.len();
        Self {
            walks,
            room,
            travellers: vec![vec![]; channels],
            places: vec![None; walks.len()],
            is_dead: vec![false; channels],
            before: vec![None; channels],
        }
    }

    fn has_room(&self, channel: usize) -> bool {
        self.travellers[channel].len() < self.room[channel]
    }

    /// Moves a traveller to a channel, from its channel if it has one.
    fn put(&mut self, traveller: usize, channel: usize) {
        if let Some((from, place)) = self.places[traveller] {
            self.travellers[from].swap_remove(place);
            if let Some(&moved) = self.travellers[from].get(place) {
                self.places[moved] = Some((from, place));
            }
        }
        self.places[traveller] = Some((channel, self.travellers[channel].len()));
        self.travellers[channel].push(traveller);
    }

    /// Matches a traveller, if the others can change channels so that it fits.
    fn match_one(&mut self, traveller: usize) {
        let channels = self.walks[traveller].iter().map(|&(channel, _)| channel as usize);
        let free = channels.clone().filter(|&channel| self.has_room(channel));
        let widest = free.max_by_key(|&channel| self.room[channel] - self.travellers[channel].len());
        if let Some(channel) = widest {
            return self.put(traveller, channel);
        }
        let mut queue = VecDeque::new();
        let mut found = vec![];
        for channel in channels.filter(|&channel| !self.is_dead[channel]) {
            self.before[channel] = Some((channel, traveller));
            queue.push_back(channel);
            found.push(channel);
        }
        let mut end = None;
        'search: while let Some(channel) = queue.pop_front() {
            for &other in &self.travellers[channel] {
                for &(next, _) in &self.walks[other] {
                    let next = next as usize;
                    if self.is_dead[next] || self.before[next].is_some() {
                        continue;
                    }
                    self.before[next] = Some((channel, other));
                    found.push(next);
                    if self.travellers[next].len() < self.room[next] {
                        end = Some(next);
                        break 'search;
                    }
                    queue.push_back(next);
                }
            }
        }
        match end {
            Some(mut to) => {
                while let Some((from, moving)) = self.before[to] {
                    self.put(moving, to);
                    if moving == traveller {
                        break;
                    }
                    to = from;
                }
            }
            None => found.iter().for_each(|&channel| self.is_dead[channel] = true),
        }
        found.into_iter().for_each(|channel| self.before[channel] = None);
    }

    /// Moves travellers to the channels that have fewer than these numbers. Matched travellers stay
    /// matched.
    fn fill(&mut self, least: &[usize]) {
        let lacking = |matching: &Self, channel: usize| matching.travellers[channel].len() < least[channel];
        if !(0..least.len()).any(|channel| lacking(self, channel)) {
            return;
        }
        let mut users = vec![vec![]; least.len()];
        for (traveller, walk) in self.walks.iter().enumerate() {
            walk.iter().for_each(|&(channel, _)| users[channel as usize].push(traveller));
        }
        for channel in 0..least.len() {
            while lacking(self, channel) && self.pull(channel, least, &users) {}
        }
    }

    /// Moves one more traveller to a channel: an unmatched one, or one from a channel that has more
    /// than its minimum. Other travellers change channels if necessary. Returns whether that
    /// succeeds.
    fn pull(&mut self, channel: usize, least: &[usize], users: &[Vec<usize>]) -> bool {
        let mut queue = VecDeque::from([channel]);
        let mut end = None;
        self.before.fill(None);
        'search: while let Some(to) = queue.pop_front() {
            for &traveller in &users[to] {
                let Some((from, _)) = self.places[traveller] else {
                    end = Some((traveller, to));
                    break 'search;
                };
                if from == channel || self.before[from].is_some() {
                    continue;
                }
                self.before[from] = Some((to, traveller));
                if self.travellers[from].len() > least[from] {
                    end = Some((traveller, to));
                    break 'search;
                }
                queue.push_back(from);
            }
        }
        let is_found = end.is_some();
        while let Some((traveller, to)) = end {
            self.put(traveller, to);
            end = self.before[to].map(|(next, moving)| (moving, next)).filter(|_| to != channel);
        }
        self.before.fill(None);
        is_found
    }

    /// Returns the pairs of a traveller and its channel.
    fn pairs(self) -> Vec<(usize, usize)> {
        let each = self.travellers.into_iter().enumerate();
        each.flat_map(|(channel, all)| all.into_iter().map(move |one| (one, channel))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::QuickCheck;

    /// For random walks: each step is taken once, and a traveller takes at most one step in a
    /// round. The number of rounds is the requested one, or the length of the longest walk. In each
    /// round, a channel carries at most the load of the busiest channel divided by the rounds,
    /// rounded up.
    #[test]
    fn rounds_share_steps_evenly() {
        fn holds(steps: Vec<Vec<u8>>, channels: u8, rounds: u8) {
            let channels = 1 + usize::from(channels % 7);
            let walk = |steps: &Vec<u8>| -> Walk {
                let over =
                    |channel: usize| steps.iter().filter(|step| usize::from(**step) % channels == channel).count();
                (0..channels).map(|channel| (channel as u32, over(channel) as u32)).filter(|step| step.1 > 0).collect()
            };
            let walks: Vec<Walk> = steps.iter().map(|steps| walk(&steps[..steps.len().min(9)].to_vec())).collect();
            let lengths = walks.iter().map(|walk| walk.iter().map(|step| step.1 as usize).sum::<usize>());
            let loads = (0..channels).map(|channel| {
                let over = walks.iter().flatten().filter(|step| step.0 as usize == channel);
                over.map(|step| step.1 as usize).sum::<usize>()
            });
            let (longest, busiest) = (lengths.max().unwrap_or(0), loads.max().unwrap_or(0));
            let made = coloured(walks.clone(), channels, usize::from(rounds));
            assert_eq!(made.len(), usize::from(rounds).clamp(longest, busiest.max(longest)));
            let mut left = walks;
            for round in &made {
                let mut load = vec![0; channels];
                let mut moved = vec![false; left.len()];
                for &(one, channel) in round {
                    assert!(!moved[one], "{one} takes two steps in a round");
                    moved[one] = true;
                    load[channel] += 1;
                    let step = left[one].iter_mut().find(|step| step.0 as usize == channel && step.1 > 0);
                    step.expect("a step that is left").1 -= 1;
                }
                assert!(load.iter().all(|load| *load <= busiest.div_ceil(made.len())), "{load:?} of {busiest}");
            }
            assert!(left.iter().flatten().all(|step| step.1 == 0), "{left:?} are left");
        }
        QuickCheck::new().tests(300).quickcheck(holds as fn(Vec<Vec<u8>>, u8, u8));
    }
}

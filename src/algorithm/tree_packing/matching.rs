//! Which channels bring which blocks to a node in a round.

/// The blocks that each channel to a node brings.
#[derive(Clone, Debug)]
pub(super) struct Matching {
    held: Vec<Vec<u16>>,
    /// The most blocks of a channel.
    limit: usize,
    /// Whether a channel is full, and so are all that could bring its blocks instead.
    closed: Vec<bool>,
    count: usize,
}

impl Matching {
    /// Returns an empty matching for a number of channels, with room for one block each.
    pub(super) fn new(channels: usize) -> Self {
        Self { held: vec![vec![]; channels], limit: 1, closed: vec![false; channels], count: 0 }
    }

    /// Returns whether all channels are full.
    pub(super) fn is_full(&self) -> bool {
        self.count == self.limit * self.held.len()
    }

    /// Returns the number of blocks that each channel has room for.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Gives each channel room for more blocks.
    pub(super) fn widen(&mut self, limit: usize) {
        if limit > self.limit {
            self.limit = limit;
            self.closed.fill(false);
        }
    }

    /// Returns the blocks of all channels.
    pub(super) fn blocks(&self) -> impl Iterator<Item = u16> {
        self.held.iter().flatten().copied()
    }

    /// Returns the blocks of each channel.
    pub(super) fn into_held(self) -> Vec<Vec<u16>> {
        self.held
    }

    /// Adds a block, if there is room on a channel that `can` bring it, or if there is after
    /// other blocks move to other channels that can bring them.
    pub(super) fn add(&mut self, block: u16, can: impl Fn(usize, u16) -> bool) -> bool {
        let channels = self.held.len();
        let able: Vec<usize> = (0..channels).filter(|&at| !self.closed[at] && can(at, block)).collect();
        let Some(&least) = able.iter().min_by_key(|&&channel| self.held[channel].len()) else { return false };
        if self.held[least].len() < self.limit {
            self.held[least].push(block);
            self.count += 1;
            return true;
        }
        // A shortest chain of moves, from the channels that can bring the block to one with room.
        let (mut reached, mut came) = (self.closed.clone(), vec![None; channels]);
        able.iter().for_each(|&channel| reached[channel] = true);
        let (mut queue, mut next) = (able, 0);
        while let Some(&from) = queue.get(next) {
            next += 1;
            for to in (0..channels).filter(|&to| !reached[to]).collect::<Vec<_>>() {
                let Some(at) = self.held[from].iter().position(|&held| can(to, held)) else { continue };
                (reached[to], came[to]) = (true, Some((from, at)));
                if self.held[to].len() < self.limit {
                    self.shift(to, &came, block);
                    return true;
                }
                queue.push(to);
            }
        }
        self.closed = reached;
        false
    }

    /// Moves a block of each channel of a chain to the next, and gives the first a new one.
    fn shift(&mut self, last: usize, came: &[Option<(usize, usize)>], block: u16) {
        let mut to = last;
        while let Some((from, at)) = came[to] {
            let moved = self.held[from].swap_remove(at);
            self.held[to].push(moved);
            to = from;
        }
        self.held[to].push(block);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_move_to_make_room_for_another() {
        // The channels that can bring each block.
        let able: [&[usize]; 5] = [&[0, 1], &[1, 2], &[0], &[0, 1], &[2]];
        let can = |channel: usize, block: u16| able[usize::from(block)].contains(&channel);
        let mut matching = Matching::new(3);
        assert_eq!([0, 1, 2].map(|block| matching.add(block, can)), [true; 3]);
        assert!(matching.is_full() && !matching.add(3, can) && !matching.add(4, can));
        assert_eq!(matching.clone().into_held(), [[2], [0], [1]]);
        matching.widen(2);
        assert_eq!([3, 4].map(|block| matching.add(block, can)), [true; 2]);
        assert_eq!((matching.count, matching.limit(), matching.is_full()), (5, 2, false));
    }
}

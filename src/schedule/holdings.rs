//! What a rank holds: blocks, or runs of their chunks, each with its contributors.
//
// A block stays one entry until somebody names a part of it, whatever number of chunks it is cut into; then it is a
// tree of runs of chunks. So nothing here ever takes time or memory in proportion to a number of chunks, only to how
// often a schedule names some, in whatever order.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::block::Block;
use crate::hash::Map;

use super::Contributors;

/// Two numbers as one key.
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The whole that a block is or is a part of.
pub(super) fn name(block: Block) -> u64 {
    pair(block.source() as u32, block.destination() as u32)
}

/// Which of its whole's chunks a block is.
pub(super) fn span(block: Block) -> Range<u32> {
    block.first()..block.first() + block.count()
}

/// What one rank holds.
#[derive(Debug, Default)]
pub(super) struct Holdings(Map<Held>);

#[derive(Debug)]
enum Held {
    Whole(Contributors),
    /// Boxed: almost every block is whole, and takes no more room for it.
    Parts(Box<Parts>),
}

/// Runs of chunks by the first of them, disjoint.
type Parts = BTreeMap<u32, Part>;

#[derive(Clone, Debug)]
struct Part {
    end: u32,
    who: Contributors,
}

impl Holdings {
    /// Calls `see` with each part of `span` that is held, or is not, in order.
    pub(super) fn read(&self, name: u64, span: Range<u32>, mut see: impl FnMut(Range<u32>, Option<&Contributors>)) {
        match self.0.get(&name) {
            None => see(span, None),
            Some(Held::Whole(who)) => see(span, Some(who)),
            Some(Held::Parts(parts)) => {
                let mut at = span.start;
                let before = parts.range(..at).next_back().filter(|(_, part)| part.end > at);
                for (&first, part) in before.into_iter().chain(parts.range(span.clone())) {
                    if at < first {
                        see(at..first, None);
                    }
                    let end = part.end.min(span.end);
                    see(at.max(first)..end, Some(&part.who));
                    at = end;
                }
                if at < span.end {
                    see(at..span.end, None);
                }
            }
        }
    }

    /// Holds this for chunks `span` of the block, in place of what was held for them. The block has `of` chunks.
    pub(super) fn put(&mut self, name: u64, span: Range<u32>, of: u32, who: Contributors) {
        if span == (0..of) {
            self.0.insert(name, Held::Whole(who));
            return;
        }
        let parts = self.parts(name, of);
        clear(parts, &span);
        let Range { mut start, mut end } = span;
        if let Some((&first, before)) = parts.range(..start).next_back()
            && (before.end, &before.who) == (start, &who)
        {
            start = first;
        }
        if parts.get(&end).is_some_and(|after| after.who == who)
            && let Some(after) = parts.remove(&end)
        {
            end = after.end;
        }
        if (start..end) == (0..of) {
            self.0.insert(name, Held::Whole(who));
        } else {
            parts.insert(start, Part { end, who });
        }
    }

    /// Holds chunks `span` of the block no more.
    pub(super) fn give_up(&mut self, name: u64, span: Range<u32>, of: u32) {
        if !self.0.contains_key(&name) {
            return;
        }
        if span == (0..of) {
            self.0.remove(&name);
            return;
        }
        let parts = self.parts(name, of);
        clear(parts, &span);
        if parts.is_empty() {
            self.0.remove(&name);
        }
    }

    /// The block as parts: one, if it was whole; none, if it was not held.
    fn parts(&mut self, name: u64, of: u32) -> &mut Parts {
        let held = self.0.entry(name).or_insert_with(|| Held::Parts(Box::default()));
        if let Held::Whole(who) = held {
            let all = Part { end: of, who: who.clone() };
            *held = Held::Parts(Box::new(BTreeMap::from([(0, all)])));
        }
        match held {
            Held::Parts(parts) => parts,
            Held::Whole(_) => unreachable!("made parts just now"),
        }
    }
}

/// Cuts `span` out of the parts.
fn clear(parts: &mut Parts, span: &Range<u32>) {
    // What is left of one that begins before the span, and of one that ends after it.
    let mut rest = None;
    if let Some((_, before)) = parts.range_mut(..span.start).next_back()
        && before.end > span.start
    {
        rest = Some(Part { end: before.end, who: before.who.clone() });
        before.end = span.start;
    }
    while let Some((&first, _)) = parts.range(span.clone()).next() {
        rest = parts.remove(&first);
    }
    if let Some(rest) = rest.filter(|rest| rest.end > span.end) {
        parts.insert(span.end, rest);
    }
}

/// Into how many chunks each block is cut, as far as a schedule has said.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// Cut into more than one.
    parts: Map<u32>,
    // Named whole. A bit each, in pages of 512: a schedule may name every block of an alltoall, and does so in rows.
    whole: Map<[u64; 8]>,
}

impl Cuts {
    /// Notes how a block is cut; `Err` with the number of chunks it is cut into elsewhere.
    pub(super) fn note(&mut self, block: Block) -> Result<(), u32> {
        let name = name(block);
        let (page, word, bit) = (name >> 9, (name >> 6) as usize & 7, 1 << (name & 63));
        if block.of() == 1 {
            if !self.parts.is_empty()
                && let Some(&of) = self.parts.get(&name)
            {
                return Err(of);
            }
            self.whole.entry(page).or_default()[word] |= bit;
            return Ok(());
        }
        if self.whole.get(&page).is_some_and(|page| page[word] & bit != 0) {
            return Err(1);
        }
        match *self.parts.entry(name).or_insert(block.of()) {
            of if of == block.of() => Ok(()),
            of => Err(of),
        }
    }

    /// How many chunks a block has: 1 unless it has been cut.
    pub(super) fn of(&self, name: u64) -> u32 {
        if self.parts.is_empty() { 1 } else { self.parts.get(&name).copied().unwrap_or(1) }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::ids::Rank;

    const OF: u32 = 12;

    fn who(rank: u32) -> Contributors {
        Contributors::of(&[Rank::new(rank as usize)], true)
    }

    fn held(holdings: &Holdings, span: Range<u32>) -> Vec<Option<u32>> {
        let mut found = Vec::new();
        holdings.read(7, span.clone(), |part, who| {
            assert_eq!(part.start, span.start + found.len() as u32, "parts come in order");
            let rank = who.and_then(|who| who.ranks().next()).map(|rank| rank.index() as u32);
            found.extend(part.map(|_| rank));
        });
        found
    }

    #[derive(Clone, Debug)]
    struct Step(u32, u32, Option<u32>);

    impl Arbitrary for Step {
        fn arbitrary(g: &mut Gen) -> Self {
            let first = u32::arbitrary(g) % OF;
            let count = 1 + u32::arbitrary(g) % (OF - first);
            Self(first, count, Option::<u32>::arbitrary(g).map(|rank| rank % 3))
        }
    }

    #[test]
    fn runs_of_chunks_agree_with_a_table_of_chunks() {
        fn holds(steps: Vec<Step>, whole: bool) -> bool {
            let mut holdings = Holdings::default();
            let mut table = vec![None; OF as usize];
            if whole {
                holdings.put(7, 0..OF, OF, who(5));
                table.fill(Some(5));
            }
            steps.into_iter().all(|Step(first, count, rank)| {
                let span = first..first + count;
                match rank {
                    Some(rank) => holdings.put(7, span.clone(), OF, who(rank)),
                    None => holdings.give_up(7, span.clone(), OF),
                }
                table[first as usize..(first + count) as usize].fill(rank);
                held(&holdings, 0..OF) == table && held(&holdings, span).iter().all(|&found| found == rank)
            })
        }
        quickcheck::quickcheck(holds as fn(Vec<Step>, bool) -> bool);
    }

    #[test]
    fn chunks_that_come_together_are_one_entry_again() {
        let mut holdings = Holdings::default();
        for first in [3, 0, 2, 1] {
            holdings.put(7, first..first + 1, 4, who(1));
        }
        assert!(matches!(holdings.0.get(&7), Some(Held::Whole(_))));
    }

    /// Where each takes the time to move all others, this does not end.
    #[test]
    fn a_million_chunks_come_in_any_order() {
        const BITS: u32 = 20;
        const MANY: u32 = 1 << BITS;
        let orders: [fn(u32) -> u32; 4] = [
            |i| i,
            |i| MANY - 1 - i,
            |i| i.reverse_bits() >> (u32::BITS - BITS),
            // Those that do not join the last one first.
            |i| MANY - 1 - if i < MANY / 2 { 2 * i } else { 2 * (i - MANY / 2) + 1 },
        ];
        for order in orders {
            let mut holdings = Holdings::default();
            for first in (0..MANY).map(order) {
                let span = first..first + 1;
                holdings.read(7, span.clone(), |_, held| assert!(held.is_none()));
                holdings.put(7, span, MANY, who(1));
            }
            assert!(matches!(holdings.0.get(&7), Some(Held::Whole(_))));
            for first in (0..MANY).map(order) {
                holdings.give_up(7, first..first + 1, MANY);
            }
            assert!(holdings.0.is_empty());
        }
    }

    #[test]
    fn a_block_is_cut_one_way_only() {
        let block = Block::raw(3, -1);
        let of = |of| block.chunks(0, of, 1).unwrap();
        let mut cuts = Cuts::default();
        assert_eq!(cuts.note(of(4)), Ok(()));
        assert_eq!((cuts.note(of(5)), cuts.note(block), cuts.of(name(block))), (Err(4), Err(4), 4));
        assert_eq!(cuts.note(Block::raw(4, -1)), Ok(()));
        assert_eq!(cuts.note(Block::raw(4, -1).chunks(0, 2, 1).unwrap()), Err(1));
        assert_eq!(cuts.note(Block::raw(4, -2).chunks(0, 2, 1).unwrap()), Ok(()));
    }
}

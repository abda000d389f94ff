//! The blocks that a rank holds, or runs of their chunks, with their contributors.
//
// A block is one entry until a schedule names a part of it; from then on it is a tree of runs of
// chunks. So time and memory are proportional to the number of times that a schedule names chunks,
// in any order, and not to the number of chunks.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::block::Block;
use crate::hash::Map;

use super::Contributors;

/// Packs two numbers into one key.
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the key of the whole block that a block is, or is a part of.
pub(super) fn name(block: Block) -> u64 {
    pair(block.source() as u32, block.destination() as u32)
}

/// Returns the range of chunks that a block names.
pub(super) fn span(block: Block) -> Range<u32> {
    block.first()..block.first() + block.count()
}

/// The blocks that one rank holds.
#[derive(Debug, Default)]
pub(super) struct Holdings(Map<Held>);

#[derive(Debug)]
enum Held {
    Whole(Contributors),
    /// Boxed, because nearly all blocks are whole and should stay small.
    Pieces(Box<Pieces>),
}

/// Disjoint runs of chunks, by their first chunk.
type Pieces = BTreeMap<u32, Piece>;

#[derive(Clone, Debug)]
struct Piece {
    end: u32,
    who: Contributors,
}

impl Holdings {
    /// Calls `see` in order for each part of `span` that is held with the same contributors, or is
    /// not held.
    pub(super) fn read(&self, name: u64, span: Range<u32>, mut see: impl FnMut(Range<u32>, Option<&Contributors>)) {
        match self.0.get(&name) {
            None => see(span, None),
            Some(Held::Whole(who)) => see(span, Some(who)),
            Some(Held::Pieces(parts)) => {
                let mut at = span.start;
                let before = parts.range(..=at).next_back().filter(|(_, part)| part.end > at);
                // Mostly one part has all of it.
                if let Some((_, part)) = before
                    && part.end >= span.end
                {
                    return see(span, Some(&part.who));
                }
                for (&first, part) in before.into_iter().chain(parts.range(at + 1..span.end)) {
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

    /// Replaces what is held for chunks `span` of a block of `of` chunks.
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
            parts.insert(start, Piece { end, who });
        }
    }

    /// Removes chunks `span` of the block.
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

    /// Returns the block as parts: one if it was whole, none if it was not held.
    fn parts(&mut self, name: u64, of: u32) -> &mut Pieces {
        let held = self.0.entry(name).or_insert_with(|| Held::Pieces(Box::default()));
        if let Held::Whole(who) = held {
            let all = Piece { end: of, who: who.clone() };
            *held = Held::Pieces(Box::new(BTreeMap::from([(0, all)])));
        }
        match held {
            Held::Pieces(parts) => parts,
            Held::Whole(_) => unreachable!("made parts just now"),
        }
    }
}

/// Removes `span` from the parts.
fn clear(parts: &mut Pieces, span: &Range<u32>) {
    // The rest of a part that ends after the span.
    let mut rest = None;
    if let Some((_, before)) = parts.range_mut(..span.start).next_back()
        && before.end > span.start
    {
        rest = Some(Piece { end: before.end, who: before.who.clone() });
        before.end = span.start;
    }
    while let Some((&first, _)) = parts.range(span.clone()).next() {
        rest = parts.remove(&first);
    }
    if let Some(rest) = rest.filter(|rest| rest.end > span.end) {
        parts.insert(span.end, rest);
    }
}

/// The number of chunks that each block is cut into, as far as the schedule has named it.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// The blocks that are cut into more than one chunk.
    parts: Map<u32>,
    // The blocks that were named whole, one bit each in pages of 512: a schedule may name all
    // blocks of an alltoall, and names them row by row.
    whole: Map<[u64; 8]>,
}

impl Cuts {
    /// Records how a block is cut. Fails with the number of chunks that it is cut into elsewhere.
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

    /// Returns the number of chunks of a block: 1 unless it has been cut.
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
    struct Write(u32, u32, Option<u32>);

    impl Arbitrary for Write {
        fn arbitrary(g: &mut Gen) -> Self {
            let first = u32::arbitrary(g) % OF;
            let count = 1 + u32::arbitrary(g) % (OF - first);
            Self(first, count, Option::<u32>::arbitrary(g).map(|rank| rank % 3))
        }
    }

    #[test]
    fn runs_of_chunks_match_a_table_of_chunks() {
        fn holds(steps: Vec<Write>, whole: bool) -> bool {
            let mut holdings = Holdings::default();
            let mut table = vec![None; OF as usize];
            if whole {
                holdings.put(7, 0..OF, OF, who(5));
                table.fill(Some(5));
            }
            steps.into_iter().all(|Write(first, count, rank)| {
                let span = first..first + count;
                match rank {
                    Some(rank) => holdings.put(7, span.clone(), OF, who(rank)),
                    None => holdings.give_up(7, span.clone(), OF),
                }
                table[first as usize..(first + count) as usize].fill(rank);
                held(&holdings, 0..OF) == table && held(&holdings, span).iter().all(|&found| found == rank)
            })
        }
        quickcheck::quickcheck(holds as fn(Vec<Write>, bool) -> bool);
    }

    #[test]
    fn complete_chunks_merge_into_one_entry() {
        let mut holdings = Holdings::default();
        for first in [3, 0, 2, 1] {
            holdings.put(7, first..first + 1, 4, who(1));
        }
        assert!(matches!(holdings.0.get(&7), Some(Held::Whole(_))));
    }

    /// Does not finish if each operation takes time in proportion to the number of chunks.
    #[test]
    fn a_million_chunks_arrive_in_any_order() {
        const BITS: u32 = 20;
        const MANY: u32 = 1 << BITS;
        let orders: [fn(u32) -> u32; 4] = [
            |i| i,
            |i| MANY - 1 - i,
            |i| i.reverse_bits() >> (u32::BITS - BITS),
            // First the chunks that do not merge with their predecessor.
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
    fn block_has_one_number_of_chunks() {
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

//! What a rank holds: blocks, or runs of their chunks, each with its contributors.
//
// A block stays one entry until somebody names a part of it, whatever number of chunks it is cut into; then it is a
// list of runs of chunks. So nothing here ever takes time or memory in proportion to a number of chunks, only to how
// often a schedule names some.

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
    /// Ascending and disjoint.
    Parts(Vec<Part>),
}

#[derive(Clone, Debug)]
struct Part {
    span: Range<u32>,
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
                for part in &parts[parts.partition_point(|part| part.span.end <= at)..] {
                    if part.span.start >= span.end {
                        break;
                    }
                    if at < part.span.start {
                        see(at..part.span.start, None);
                    }
                    let end = part.span.end.min(span.end);
                    see(at.max(part.span.start)..end, Some(&part.who));
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
        let at = clear(parts, &span);
        let mut new = Part { span, who };
        let joins = |a: &Part, b: &Part| a.span.end == b.span.start && a.who == b.who;
        let before = at.checked_sub(1).filter(|&i| joins(&parts[i], &new));
        let after = parts.get(at).is_some_and(|next| joins(&new, next));
        if after {
            new.span.end = parts[at].span.end;
        }
        match (before, after) {
            (Some(i), true) => {
                parts[i].span.end = new.span.end;
                parts.remove(at);
            }
            (Some(i), false) => parts[i].span.end = new.span.end,
            (None, true) => parts[at] = new,
            (None, false) => parts.insert(at, new),
        }
        if let [part] = &parts[..]
            && part.span == (0..of)
        {
            let who = part.who.clone();
            self.0.insert(name, Held::Whole(who));
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
    fn parts(&mut self, name: u64, of: u32) -> &mut Vec<Part> {
        let held = self.0.entry(name).or_insert(Held::Parts(Vec::new()));
        if let Held::Whole(who) = held {
            *held = Held::Parts(vec![Part { span: 0..of, who: who.clone() }]);
        }
        match held {
            Held::Parts(parts) => parts,
            Held::Whole(_) => unreachable!("made parts just now"),
        }
    }
}

/// Cuts `span` out of the parts; where in their order it was.
fn clear(parts: &mut Vec<Part>, span: &Range<u32>) -> usize {
    let first = parts.partition_point(|part| part.span.end <= span.start);
    let end = parts.partition_point(|part| part.span.start < span.end);
    if first >= end {
        return first;
    }
    let left = Part { span: parts[first].span.start..span.start, who: parts[first].who.clone() };
    let right = Part { span: span.end..parts[end - 1].span.end, who: parts[end - 1].who.clone() };
    let keeps_left = !left.span.is_empty();
    let rest = [left, right].into_iter().filter(|part| !part.span.is_empty());
    parts.splice(first..end, rest);
    first + usize::from(keeps_left)
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

//! The set of ranks that contributed to a block, as runs of consecutive ranks.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::ids::Rank;

/// The ranks whose contributions a block holds, in the order in which they were combined.
///
/// If the operation commutes, the order is ascending. A run of consecutive ranks takes as much
/// memory as one rank, so the result of 4096 ranks is as small as one contribution.
#[derive(Clone, PartialEq, Eq)]
pub struct Contributors(Runs);

// Nearly all blocks have one run, which is stored inline. Several runs are on the heap, shared by
// all ranks that hold the same contributors.
#[derive(Clone, PartialEq, Eq)]
enum Runs {
    One(Span),
    /// No run, or several that cannot be merged.
    Several(Arc<[Span]>),
}

/// The ranks `first..end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    first: u32,
    end: u32,
}

impl Contributors {
    /// Returns the ranks of a range.
    pub(super) fn range(ranks: Range<usize>) -> Self {
        let number = |index: usize| Rank::new(index).index() as u32;
        let Range { start, end } = ranks;
        if start >= end {
            return Self::joined(std::iter::empty());
        }
        Self(Runs::One(Span { first: number(start), end: number(end) }))
    }

    /// Returns the given ranks, sorted unless `ordered`.
    pub(super) fn of(ranks: &[Rank], ordered: bool) -> Self {
        let single = |rank: &Rank| Span { first: rank.index() as u32, end: rank.index() as u32 + 1 };
        if let [rank] = ranks {
            return Self(Runs::One(single(rank)));
        }
        let mut runs: Vec<Span> = ranks.iter().map(single).collect();
        if !ordered {
            runs.sort_unstable();
        }
        Self::joined(runs)
    }

    /// Returns these contributors followed by `after`, or the first rank that is in both as an
    /// error.
    pub(super) fn then(&self, after: &Self, ordered: bool) -> Result<Self, Rank> {
        let (own, others) = (self.runs(), after.runs());
        let mut sorted: Vec<Span> = own.iter().chain(others).copied().collect();
        sorted.sort(); // merges two sorted halves, unless order matters
        if let Some(pair) = sorted.windows(2).find(|pair| pair[1].first < pair[0].end) {
            return Err(Rank::new(pair[1].first as usize));
        }
        Ok(if ordered { Self::joined(own.iter().chain(others).copied()) } else { Self::joined(sorted) })
    }

    fn joined(runs: impl IntoIterator<Item = Span>) -> Self {
        let mut joined: Vec<Span> = Vec::new();
        for run in runs {
            match joined.last_mut() {
                Some(last) if last.end == run.first => last.end = run.end,
                _ => joined.push(run),
            }
        }
        match joined[..] {
            [run] => Self(Runs::One(run)),
            _ => Self(Runs::Several(joined.into())),
        }
    }

    fn runs(&self) -> &[Span] {
        match &self.0 {
            Runs::One(run) => std::slice::from_ref(run),
            Runs::Several(runs) => runs,
        }
    }

    /// Returns whether both have the same ranks, in any order.
    pub(super) fn same_ranks(&self, other: &Self) -> bool {
        let sorted = |contributors: &Self| {
            let mut runs = contributors.runs().to_vec();
            runs.sort_unstable();
            Self::joined(runs)
        };
        self == other || sorted(self) == sorted(other)
    }

    /// Returns the number of ranks.
    #[must_use]
    pub(super) fn count(&self) -> usize {
        self.runs().iter().map(|run| (run.end - run.first) as usize).sum()
    }

    /// Returns the ranks in the order in which their contributions were combined.
    pub fn ranks(&self) -> impl Iterator<Item = Rank> + '_ {
        self.runs().iter().flat_map(|run| (run.first..run.end).map(|rank| Rank::new(rank as usize)))
    }
}

/// Writes runs such as `{0..4, 7}`, at most eight.
impl fmt::Display for Contributors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        f.write_str("{")?;
        for (i, run) in self.runs().iter().take(SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            match run.end - run.first {
                1 => write!(f, "{comma}{}", run.first)?,
                _ => write!(f, "{comma}{}..{}", run.first, run.end)?,
            }
        }
        if self.runs().len() > SHOWN {
            write!(f, ", ... {} in all", self.count())?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for Contributors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::TestResult;

    use super::*;

    fn of(ranks: &[usize], ordered: bool) -> Contributors {
        let ranks: Vec<Rank> = ranks.iter().copied().map(Rank::new).collect();
        Contributors::of(&ranks, ordered)
    }

    #[test]
    fn consecutive_ranks_are_one_run() {
        let low = Contributors::range(0..4);
        let high = Contributors::range(4..4096);
        assert_eq!(low.then(&high, true), Ok(Contributors::range(0..4096)));
        assert_eq!(high.then(&low, false), Ok(Contributors::range(0..4096)));
        assert_eq!(high.then(&low, true).map(|c| c.to_string()).as_deref(), Ok("{4..4096, 0..4}"));
        assert!(high.then(&low, true).is_ok_and(|c| c.same_ranks(&Contributors::range(0..4096))));
    }

    #[test]
    fn empty_list_of_contributors_is_valid() {
        let nobody = of(&[], true);
        assert_eq!(nobody.count(), 0);
        assert_eq!(nobody, Contributors::range(3..3));
        assert_eq!(nobody.then(&Contributors::range(0..2), true), Ok(Contributors::range(0..2)));
    }

    #[test]
    fn agrees_with_lists_of_ranks() {
        fn holds(a: Vec<u8>, b: Vec<u8>, ordered: bool) -> TestResult {
            let list = |v: &[u8]| v.iter().map(|&x| usize::from(x % 24)).collect::<Vec<_>>();
            let (a, b) = (list(&a), list(&b));
            let repeats = |v: &[usize]| v.iter().enumerate().any(|(i, x)| v[..i].contains(x));
            if repeats(&a) || repeats(&b) {
                return TestResult::discard();
            }
            let both = of(&a, ordered).then(&of(&b, ordered), ordered);
            let twice: Vec<usize> = a.iter().copied().filter(|x| b.contains(x)).collect();
            TestResult::from_bool(match both {
                Err(rank) => twice.contains(&rank.index()),
                Ok(both) => {
                    let mut list = [a, b].concat();
                    if !ordered {
                        list.sort_unstable();
                    }
                    twice.is_empty()
                        && both == of(&list, ordered)
                        && both.ranks().map(Rank::index).collect::<Vec<_>>() == list
                }
            })
        }
        quickcheck::quickcheck(holds as fn(Vec<u8>, Vec<u8>, bool) -> TestResult);
    }
}

//! Lengths and displacements of the blocks of a buffer.

use super::lengths::check;
use crate::error::ArgumentError;
use crate::plan::Strided;

/// Counts and displacements of the blocks of one buffer, in elements, with one block for each rank.
///
/// If the blocks lie one after the other, in rank order, from the start of the buffer, a list of
/// counts is enough:
///
/// ```
/// use necklace::communicator::Counts;
/// let packed = Counts::from(&[2, 0, 3]);
/// // The same blocks with a gap after the first.
/// let apart = Counts::at(&[2, 0, 3], &[0, 4, 4]);
/// assert_eq!((packed.end(), apart.end()), (Some(5), Some(7)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<'a> {
    counts: &'a [usize],
    /// `None` if the blocks lie one after the other.
    displacements: Option<&'a [usize]>,
}

impl<'a> Counts<'a> {
    /// Describes blocks of `counts[i]` elements that begin at element `displacements[i]` of the
    /// buffer.
    ///
    /// Both lists have one entry for each rank. Displacements are in elements, as in MPI.
    #[must_use]
    pub fn at(counts: &'a [usize], displacements: &'a [usize]) -> Self {
        Self { counts, displacements: Some(displacements) }
    }

    /// Describes blocks of `counts[i]` elements that lie one after the other.
    #[must_use]
    pub fn packed(counts: &'a [usize]) -> Self {
        Self { counts, displacements: None }
    }

    /// Returns the lengths of the blocks.
    pub(super) fn lengths(&self) -> &'a [usize] {
        self.counts
    }

    /// Returns the length in elements that a buffer needs for all blocks, or `None` if it
    /// overflows.
    #[must_use]
    pub fn end(&self) -> Option<usize> {
        let blocks = self.runs().filter(|(_, count)| *count > 0);
        blocks.map(|(at, count)| at.checked_add(count)).try_fold(0, |most, end| Some(most.max(end?)))
    }

    /// Returns the blocks. Fails unless there are as many as ranks.
    pub(super) fn blocks(&self, side: &'static str, ranks: usize) -> Result<Vec<Strided>, ArgumentError> {
        let [of_counts, of_displacements] = match side {
            "send" => ["list of send counts", "list of send displacements"],
            _ => ["list of receive counts", "list of receive displacements"],
        };
        check(of_counts, self.counts.len(), ranks)?;
        check(of_displacements, self.displacements.map_or(ranks, <[usize]>::len), ranks)?;
        Ok(self.runs().map(|(at, count)| Strided::run(at, count)).collect())
    }

    /// Returns the position and the length of each block.
    pub(super) fn runs(&self) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let Self { counts, displacements } = *self;
        let mut end = 0_usize;
        counts.iter().enumerate().map_while(move |(i, &count)| {
            let at = match displacements {
                Some(displacements) => *displacements.get(i)?,
                None => end,
            };
            end = at.saturating_add(count);
            Some((at, count))
        })
    }

    /// Returns whether there are this many counts, and as many displacements.
    pub(super) fn has(&self, ranks: usize) -> bool {
        self.counts.len() == ranks && self.displacements.is_none_or(|displacements| displacements.len() == ranks)
    }
}

impl<'a> From<&'a [usize]> for Counts<'a> {
    fn from(counts: &'a [usize]) -> Self {
        Self::packed(counts)
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Counts<'a> {
    fn from(counts: &'a [usize; N]) -> Self {
        Self::packed(counts)
    }
}

impl<'a> From<&'a Vec<usize>> for Counts<'a> {
    fn from(counts: &'a Vec<usize>) -> Self {
        Self::packed(counts)
    }
}

impl<'a> From<&Self> for Counts<'a> {
    fn from(counts: &Self) -> Self {
        *counts
    }
}

/// Counts and displacements.
impl<'a, C: AsRef<[usize]> + ?Sized, D: AsRef<[usize]> + ?Sized> From<(&'a C, &'a D)> for Counts<'a> {
    fn from((counts, displacements): (&'a C, &'a D)) -> Self {
        Self::at(counts.as_ref(), displacements.as_ref())
    }
}

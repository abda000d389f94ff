//! The groups of an exchange side by side: blocks, and wide channels.
//!
//! Source: TR-16-92, §5 and §6. What is in a row can be sent at once, as one block a channel, so
//! long as no address is in it twice. A group has as many entries as it has steps. With as many
//! rows as the longest group has steps, the fewest that there can be, the groups are put into the
//! table one after the other, column by column, and where one comes to the bottom it goes on at the
//! top of the next column (McNaughton's wrap-around): a group is never longer than a column, so it
//! is in no row twice. All rows are equally long up to one entry, so the blocks are as small as can
//! be.

use super::{Crossing, Group};

/// Groups side by side.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    groups: &'a [Group],
    /// Of each row, from left to right: a group by its number, and which of its steps.
    rows: Vec<Vec<(usize, usize)>>,
}

impl<'a> Table<'a> {
    pub(super) fn of(groups: &'a [Group]) -> Self {
        let longest = groups.iter().map(|group| group.steps.len()).max().unwrap_or(0);
        let mut rows = vec![vec![]; longest];
        let entries = groups
            .iter()
            .enumerate()
            .flat_map(|(number, group)| (0..group.steps.len()).map(move |step| (number, step)));
        for (place, entry) in entries.enumerate() {
            rows[place % longest].push(entry);
        }
        Self { groups, rows }
    }

    /// The rows, each a transfer of a block over every channel: of its entries, from left to right,
    /// the group by its number and which of its steps.
    #[must_use]
    pub fn rows(&self) -> &[Vec<(usize, usize)>] {
        &self.rows
    }

    /// What crosses in an entry.
    fn crossings(&self, (group, step): (usize, usize)) -> &'a [Crossing] {
        &self.groups[group].steps[step]
    }

    /// The table in pieces of at most `width` entries, row by row and within each from right to
    /// left: a step each, for channels that carry `width` elements. In pieces of whole rows where
    /// that is fewer.
    ///
    /// No address is in a piece twice: of two entries of one group the second is behind the first
    /// by a whole row at least, and `width` is at most the shortest row.
    #[must_use]
    pub fn pieces(&self, width: usize) -> Vec<Vec<Crossing>> {
        let all =
            |entries: &[(usize, usize)]| entries.iter().flat_map(|entry| self.crossings(*entry)).copied().collect();
        let longest = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if width >= longest {
            return self.rows.iter().map(|row| all(row)).collect();
        }
        let entries: Vec<(usize, usize)> = self.rows.iter().flat_map(|row| row.iter().rev()).copied().collect();
        entries.chunks(width.max(1)).map(all).collect()
    }
}

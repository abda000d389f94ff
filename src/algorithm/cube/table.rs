//! The groups of an exchange side by side: blocks, and wide channels.
//!
//! Source: TR-16-92, §5 and §6. The entries of a row can be sent at once, one block per channel, if
//! no address is in the row twice. A group has one entry per step. The table has as many rows as
//! the longest group has steps, which is the minimum. The groups are entered one after the other,
//! column by column; a group that reaches the bottom continues at the top of the next column
//! (McNaughton's wrap-around). A group is never longer than a column, so it is in no row twice. The
//! lengths of rows differ by at most one entry, so the blocks are as small as possible.

use super::{AddressGroup, Crossing};

/// The groups of an exchange side by side.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    groups: &'a [AddressGroup],
    /// The rows, each a transfer of one block over every channel: its entries from left to right,
    /// as indices of a group and of its step.
    pub(super) rows: Vec<Vec<(usize, usize)>>,
}

impl<'a> Table<'a> {
    pub(super) fn of(groups: &'a [AddressGroup]) -> Self {
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

    /// Returns the crossings of an entry.
    fn crossings(&self, (group, step): (usize, usize)) -> &'a [Crossing] {
        &self.groups[group].steps[step]
    }

    /// Returns the table in pieces of at most `width` entries, row by row, from right to left: one
    /// step per piece, for channels that carry `width` elements. If `width` exceeds the rows,
    /// pieces are whole rows.
    ///
    /// No address is in a piece twice: two entries of one group are at least a whole row apart, and
    /// `width` is at most the shortest row.
    pub(super) fn pieces(&self, width: usize) -> Vec<Vec<Crossing>> {
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

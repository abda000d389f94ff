//! Aligned text.

/// Rows of cells: the first column to the left, the others to the right, two spaces between.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if column == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_is_aligned_left_and_the_others_right() {
        let rows = [vec!["", "counted", "formula"], vec!["hops", "22", "22"], vec!["start-ups", "8"]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(align(&rows), "           counted  formula\nhops            22       22\nstart-ups        8\n");
    }
}

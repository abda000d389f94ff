//! Writes tables as aligned text or as comma-separated values.

use std::io::{self, Write};

/// Aligns rows of cells: the first column left, the others right, with two spaces between columns.
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

/// Writes rows of cells as comma-separated values.
pub(crate) fn write_csv(out: impl Write, rows: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for row in rows {
        writer.write_record(row).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_column_is_left_aligned_and_others_right() {
        let rows = [vec!["", "counted", "formula"], vec!["hops", "22", "22"], vec!["start-ups", "8"]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(align(&rows), "           counted  formula\nhops            22       22\nstart-ups        8\n");
    }

    #[test]
    fn broken_pipe_is_distinguished_from_other_errors() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for rows in [1, 10_000] {
            let error = write_csv(Gone, vec![vec!["cell".to_owned()]; rows]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{rows}");
        }
    }

    #[test]
    fn csv_cells_are_quoted_where_needed() {
        let rows = [vec!["a", "b,c", "d"], vec!["e\"f", "1.5", ""]];
        let mut text = Vec::new();
        write_csv(&mut text, rows.map(|row| row.into_iter().map(str::to_owned).collect())).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "a,\"b,c\",d\n\"e\"\"f\",1.5,\n");
    }
}

//! Rows of prices and times, as a table for people and as records for programs.

use std::io::Write;

use necklace::cost::Price;

use crate::cases::{Case, Cases};
use crate::curves::{Point, curves};
use crate::output::{Document, Failure};
use crate::table::{align, write_csv};

/// The source of rows with lower bounds.
pub(crate) const BOUND: &str = "bound";

/// A price or a time, and its source. Times are in picoseconds.
pub(crate) struct Row {
    topology: String,
    collective: String,
    algorithm: String,
    /// The names on the command line that stand for the algorithm, or its own.
    asked: Vec<String>,
    ranks: usize,
    bytes: u64,
    source: &'static str,
    total: u128,
    /// The terms of a price or the details of a simulation: further columns of the table.
    columns: Vec<Cell>,
    /// The demands without claims, which make the price a lower bound.
    at_least: Vec<&'static str>,
}

/// A cell of a table.
pub(crate) enum Cell {
    /// Picoseconds, printed in microseconds: rounded in tables, exact in CSV.
    Time(u128),
    /// Text, printed unchanged.
    Text(String),
}

impl Cell {
    fn for_people(&self) -> String {
        match self {
            Self::Time(time) => format!("{:.2}", microseconds(*time)),
            Self::Text(text) => text.clone(),
        }
    }

    fn for_programs(&self) -> String {
        match self {
            Self::Time(time) => in_microseconds(*time),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Row {
    pub(crate) fn new(case: &Case, bytes: u64, source: &'static str, total: u128, columns: Vec<Cell>) -> Self {
        let Case { problem, algorithm, .. } = case;
        Self {
            topology: problem.topology().text(),
            collective: problem.collective().name().to_owned(),
            algorithm: algorithm.name(),
            asked: case.asked.clone(),
            ranks: problem.ranks(),
            bytes,
            source,
            total,
            columns,
            at_least: Vec::new(),
        }
    }

    /// Puts another name in place of the algorithm's.
    pub(crate) fn of(self, name: &str) -> Self {
        Self { algorithm: name.to_owned(), asked: vec![name.to_owned()], ..self }
    }

    /// Marks the price as a lower bound, because these demands have no claims.
    pub(crate) fn at_least(self, at_least: Vec<&'static str>) -> Self {
        Self { at_least, ..self }
    }

    /// Returns the row as a point of a plot.
    fn point(&self) -> Point<'_> {
        Point {
            topology: &self.topology,
            algorithm: &self.algorithm,
            asked: &self.asked,
            source: self.source,
            ranks: self.ranks,
            bytes: self.bytes,
            time: microseconds(self.total),
        }
    }

    pub(crate) fn priced(case: &Case, bytes: u64, source: &'static str, price: &Price) -> Self {
        let columns = price.terms().map(|(_, term)| Cell::Time(term)).collect();
        Self::new(case, bytes, source, price.total, columns)
    }
}

/// Writes the documents that the command line asks for.
pub(crate) fn write(cases: &Cases, rows: &[Row], extra: &[&'static str]) -> Result<(), Failure> {
    if let Some(path) = &cases.csv {
        Document::create(path)?.fill(|out| write_csv(out, records(rows, extra)))?;
    }
    if let Some(path) = &cases.plot {
        let point = |row: &&Row| row.source != BOUND;
        let points: Vec<Point<'_>> = rows.iter().filter(point).map(Row::point).collect();
        let svg = curves(cases, &points).svg().map_err(Failure::Failed)?;
        Document::create(path)?.fill(|out| out.write_all(svg.as_bytes()))?;
    }
    Ok(())
}

/// Formats the table. A name that repeats the previous line's is left out.
pub(crate) fn table(rows: &[Row], extra: &[&'static str], heading: &str) -> String {
    let mut lines = vec![["", "bytes", "by", "total"].map(str::to_owned).to_vec()];
    lines[0].extend(extra.iter().map(|name| (*name).to_owned()));
    let mut last = String::new();
    for row in rows {
        let name = format!("{} {}", row.topology, row.algorithm);
        let first = if name == last { String::new() } else { name.clone() };
        let mut line = vec![first, row.bytes.to_string(), row.source.to_owned(), Cell::Time(row.total).for_people()];
        line.extend(row.columns.iter().map(Cell::for_people));
        let at_least = || format!("(at least: nothing claimed of {})", row.at_least.join(", "));
        line.extend((!row.at_least.is_empty()).then(at_least));
        lines.push(line);
        last = name;
    }
    let collective = rows.first().map_or("", |row| &row.collective);
    format!("{collective} {heading}\n\n{}", align(&lines))
}

/// Returns the records of the CSV document.
fn records(rows: &[Row], extra: &[&'static str]) -> Vec<Vec<String>> {
    let names = ["topology", "collective", "algorithm", "ranks", "block_bytes", "by", "total"].into_iter();
    let names = names.chain(extra.iter().copied()).chain(["at_least"]).map(|name| name.replace([' ', '-'], "_"));
    let mut records = vec![names.collect()];
    for row in rows {
        let Row { topology, collective, algorithm, ranks, bytes, source, total, columns, at_least, .. } = row;
        let mut line = vec![topology.clone(), collective.clone(), algorithm.clone(), ranks.to_string()];
        line.extend([bytes.to_string(), (*source).to_owned(), in_microseconds(*total)]);
        line.extend(columns.iter().map(Cell::for_programs));
        line.push(at_least.join("; "));
        records.push(line);
    }
    records
}

fn microseconds(picoseconds: u128) -> f64 {
    picoseconds as f64 / 1e6
}

/// Formats picoseconds as exact microseconds, without trailing zeros.
fn in_microseconds(picoseconds: u128) -> String {
    let (whole, rest) = (picoseconds / 1_000_000, picoseconds % 1_000_000);
    if rest == 0 { whole.to_string() } else { format!("{whole}.{}", format!("{rest:06}").trim_end_matches('0')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        assert_eq!([0, 1, 1_500_000, 75_000_000].map(in_microseconds), ["0", "0.000001", "1.5", "75"]);
    }
}

//! Removes duplicate error lines of failing ranks.
//!
//! Many ranks may print the same usage error, or the same error about a lost rank. While a rank has
//! written little, lines of its standard error that another rank has just printed are held for a
//! moment. If the rank fails meanwhile, they are left out, and one line at the end names these
//! ranks. Otherwise they are printed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::mem;
use std::time::{Duration, Instant};

use super::writer::Piece;

/// Time for which a line is held.
const HOLD_TIME: Duration = Duration::from_millis(500);

/// Number of recent lines to compare with.
const RECENT_LINES: usize = 64;

/// Maximum output of a rank whose lines are held, in bytes. It bounds the held credit and the lines
/// left out.
const MAX_HELD_BYTES: usize = 1 << 12;

#[derive(Default)]
pub(super) struct Deduplicator {
    /// The last lines that were printed, without their prefixes and ranks, and the ranks that wrote
    /// them.
    recent: VecDeque<(usize, Vec<u8>)>,
    /// Number of bytes that each rank has written.
    written: HashMap<usize, usize>,
    held: HashMap<usize, Held>,
    failed: BTreeSet<usize>,
    /// The ranks whose lines were left out.
    left_out: BTreeSet<usize>,
}

/// The held lines of a rank.
struct Held {
    pieces: Vec<Piece>,
    until: Instant,
}

/// Pieces to print in this order; a piece that was left out only returns its credit.
#[derive(Default)]
pub(super) struct Due {
    pub(super) print: Vec<Piece>,
    pub(super) leave_out: Vec<Piece>,
}

impl Deduplicator {
    /// Takes lines of a rank. Each line begins with `prefix` bytes, which are not compared.
    pub(super) fn print(&mut self, rank: usize, piece: Piece, prefix: usize, now: Instant) -> Due {
        let lines = || {
            let whole = piece.lines.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.get(prefix..));
            whole.map(|line| without_rank(rank, line))
        };
        let written = self.written.entry(rank).or_default();
        *written = written.saturating_add(piece.lines.len());
        let is_short = *written <= MAX_HELD_BYTES;
        let recent = |line: &[u8]| self.recent.iter().any(|(other, recent)| *other != rank && recent == line);
        if is_short && lines().all(|line| recent(&line)) {
            if self.failed.contains(&rank) {
                self.left_out.insert(rank);
                return Due { leave_out: vec![piece], ..Due::default() };
            }
            let held = self.held.entry(rank).or_insert_with(|| Held { pieces: Vec::new(), until: now + HOLD_TIME });
            held.pieces.push(piece);
            return Due::default();
        }
        if is_short {
            for line in lines() {
                if self.recent.len() == RECENT_LINES {
                    self.recent.pop_front();
                }
                self.recent.push_back((rank, line.into_owned()));
            }
        }
        // The rank may have written only part of its message so far.
        let mut print = self.held.remove(&rank).map(|held| held.pieces).unwrap_or_default();
        print.push(piece);
        Due { print, ..Due::default() }
    }

    /// Marks a rank as failed.
    pub(super) fn fail(&mut self, rank: usize) -> Due {
        self.failed.insert(rank);
        let held = self.held.remove(&rank).map(|held| held.pieces).unwrap_or_default();
        if !held.is_empty() {
            self.left_out.insert(rank);
        }
        Due { leave_out: held, ..Due::default() }
    }

    /// Returns when the first held lines are due.
    pub(super) fn until(&self) -> Option<Instant> {
        self.held.values().map(|held| held.until).min()
    }

    /// Returns the lines that were held long enough.
    pub(super) fn release(&mut self, now: Instant) -> Due {
        let due: Vec<usize> = self.held.iter().filter(|(_, held)| held.until <= now).map(|(rank, _)| *rank).collect();
        let print = due.iter().filter_map(|rank| self.held.remove(rank)).flat_map(|held| held.pieces).collect();
        Due { print, ..Due::default() }
    }

    /// Returns all lines that are held, and the line that names the ranks whose lines were left
    /// out.
    pub(super) fn finish(&mut self) -> (Due, Option<String>) {
        let print = mem::take(&mut self.held).into_values().flat_map(|held| held.pieces).collect();
        let left_out = mem::take(&mut self.left_out);
        let line = (!left_out.is_empty()).then(|| format!("the same from {}\n", ranks(&left_out)));
        (Due { print, ..Due::default() }, line)
    }
}

/// Returns a line without the number of the rank that wrote it, with which errors of calls begin,
/// also after the `Error: ` of a `main` that returns them.
fn without_rank(rank: usize, line: &[u8]) -> Cow<'_, [u8]> {
    let name = format!("rank {rank}: ");
    let (before, error) = match line.strip_prefix(b"Error: ") {
        Some(error) => (&b"Error: "[..], error),
        None => (&b""[..], line),
    };
    match error.strip_prefix(name.as_bytes()) {
        Some(error) => [before, error].concat().into(),
        None => line.into(),
    }
}

/// Names ranks, neighbours as ranges.
fn ranks(ranks: &BTreeSet<usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { lines: text.as_bytes().to_owned(), credit: None }
    }

    fn printed(due: &Due) -> String {
        due.print.iter().map(|piece| String::from_utf8_lossy(&piece.lines)).collect()
    }

    #[test]
    fn identical_lines_of_failing_ranks_are_printed_once() {
        let (mut deduplicator, now) = (Deduplicator::default(), Instant::now());
        assert_eq!(printed(&deduplicator.print(2, piece("[2] no\n"), 4, now)), "[2] no\n");
        for rank in [0, 1, 4, 5, 6] {
            let words = format!("[{rank}] no\n");
            if rank == 5 {
                deduplicator.fail(rank);
            }
            assert!(deduplicator.print(rank, piece(&words), 4, now).print.is_empty());
        }
        for rank in [2, 0, 1, 4] {
            assert!(deduplicator.fail(rank).print.is_empty());
        }
        let (due, line) = deduplicator.finish();
        // Rank 6 is not recent to fail.
        assert_eq!((printed(&due).as_str(), line.as_deref()), ("[6] no\n", Some("the same from ranks 0, 1, 4, 5\n")));
        assert_eq!(ranks(&BTreeSet::from([1, 2, 3, 7])), "ranks 1 to 3, 7");
    }

    #[test]
    fn failures_that_differ_by_their_rank_alone_are_printed_once() {
        for (before, other) in [("", "Error: "), ("Error: ", "")] {
            let (mut deduplicator, now) = (Deduplicator::default(), Instant::now());
            let failure = |rank: usize, of: usize| piece(&format!("[{rank}] {before}rank {of}: rank 2 is gone\n"));
            assert!(!deduplicator.print(0, failure(0, 0), 4, now).print.is_empty());
            assert!(deduplicator.print(1, failure(1, 1), 4, now).print.is_empty());
            // The line of another rank, and one that is not the same after it.
            assert!(!deduplicator.print(3, failure(3, 1), 4, now).print.is_empty());
            let words = format!("[4] {other}rank 4: rank 2 is gone\n");
            assert!(!deduplicator.print(4, piece(&words), 4, now).print.is_empty());
            assert!(deduplicator.fail(1).print.is_empty());
            assert_eq!(deduplicator.finish().1.as_deref(), Some("the same from rank 1\n"));
        }
    }

    #[test]
    fn rank_that_repeats_itself_loses_nothing() {
        let (mut deduplicator, now) = (Deduplicator::default(), Instant::now());
        deduplicator.fail(0);
        for _ in 0..3 {
            assert_eq!(printed(&deduplicator.print(0, piece("[0] no\n"), 4, now)), "[0] no\n");
        }
        assert_eq!(deduplicator.finish().1, None);
    }

    #[test]
    fn rank_with_long_output_is_not_held() {
        let (mut deduplicator, now) = (Deduplicator::default(), Instant::now());
        let line = |rank| format!("[{rank}] {}\n", "x".repeat(MAX_HELD_BYTES / 2));
        deduplicator.print(0, piece(&line(0)), 4, now);
        assert_eq!(printed(&deduplicator.print(1, piece(&line(1)), 4, now)), "");
        assert_eq!(printed(&deduplicator.print(1, piece(&line(1)), 4, now)), line(1).repeat(2));
        deduplicator.fail(1);
        assert_eq!(printed(&deduplicator.print(1, piece("[1] no\n"), 4, now)), "[1] no\n");
    }

    #[test]
    fn repeated_lines_of_running_ranks_are_printed() {
        let (mut deduplicator, now) = (Deduplicator::default(), Instant::now());
        deduplicator.print(0, piece("[0] a\n"), 4, now);
        assert!(deduplicator.print(1, piece("[1] a\n"), 4, now).print.is_empty());
        assert_eq!(printed(&deduplicator.print(1, piece("[1] b\n"), 4, now)), "[1] a\n[1] b\n");
        assert!(deduplicator.print(2, piece("[2] a\n[2] b\n"), 4, now).print.is_empty());
        assert_eq!(deduplicator.until(), Some(now + HOLD_TIME));
        assert!(deduplicator.release(now).print.is_empty());
        assert_eq!(printed(&deduplicator.release(now + HOLD_TIME)), "[2] a\n[2] b\n");
        assert_eq!((deduplicator.until(), deduplicator.finish().1), (None, None));
    }
}

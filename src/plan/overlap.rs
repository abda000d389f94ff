//! Finds bytes that are written by one run and accessed by another, without examining every piece
//! of every run.
//!
//! Runs with disjoint spans cannot overlap. Runs whose spans meet are mostly columns of one matrix:
//! runs whose strides divide one stride overlap only if they overlap modulo it, and if their spans
//! meet. If that does not settle it, some of the runs are cut into their pieces, and the others are
//! compared with those: rows that hold runs of their own, crossed by columns, come apart so.

use super::runs::Access;
use super::{Buffer, Run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    pub(super) buffer: Buffer,
    pub(super) offset: u64,
    /// Whether the byte is also read; otherwise it is written twice.
    pub(super) sent: bool,
}

/// Returns a byte that one access writes and another reads or writes. Runs must lie inside a buffer
/// and not be empty.
pub(super) fn find(all: Vec<Access>) -> Option<Overlap> {
    within(all, u64::MAX).unwrap_or_default()
}

/// The number of times that runs are cut before all of them are.
const CUTS: u32 = 8;
/// The number of places of a run that are examined whether or not that is the shorter way.
const FEW: u64 = 64;
/// The maximum number of pieces for which memory is reserved at once.
const RESERVED: u64 = 1 << 20;

/// Like [`find`], but fails with the number of pieces if runs had to be cut into more than `most` at
/// once.
pub(super) fn within(all: Vec<Access>, most: u64) -> Result<Option<Overlap>, u64> {
    after_cuts(all, most, 0)
}

/// Examines runs after this number of cuts.
fn after_cuts(mut all: Vec<Access>, most: u64, cuts: u32) -> Result<Option<Overlap>, u64> {
    all.sort_unstable_by_key(|access| (access.run.buffer, access.run.offset));
    let mut start = 0;
    let mut reach = 0;
    for i in 0..=all.len() {
        let apart = all.get(i).is_none_or(|next| next.run.buffer != all[start].run.buffer || next.run.offset >= reach);
        if apart && i > start {
            if let Some(found) = in_cluster(&all[start..i], most, cuts)? {
                return Ok(Some(found));
            }
            (start, reach) = (i, 0);
        }
        reach = all.get(i).map_or(0, |next| reach.max(end(&next.run)));
    }
    Ok(None)
}

fn end(run: &Run) -> u64 {
    run.offset + run.stride * (run.count - 1) + run.len
}

fn in_cluster(cluster: &[Access], most: u64, cuts: u32) -> Result<Option<Overlap>, u64> {
    if cluster.iter().filter(|access| access.write).count() == 0 || cluster.len() == 1 {
        return Ok(None);
    }
    let several = cluster.iter().filter(|access| access.run.count > 1);
    let Some(stride) = several.map(|access| access.run.stride).max() else {
        let pieces = cluster.iter().map(|Access { run, write }| (run.offset, run.offset + run.len, *write));
        return Ok(sweep(pieces.collect()).map(|(offset, sent)| Overlap {
            buffer: cluster[0].run.buffer,
            offset,
            sent,
        }));
    };
    // Either what cannot be compared modulo the stride is cut, or what has this stride: the fewer.
    let unfit = |run: &Run| run.count > 1 && !is_comparable(run, stride);
    let longest = |run: &Run| run.count > 1 && run.stride == stride;
    let pieces = |cut: &dyn Fn(&Run) -> bool| {
        let runs = cluster.iter().filter(|access| cut(&access.run));
        runs.fold(0_u64, |sum, access| sum.saturating_add(access.run.count))
    };
    let cut: &dyn Fn(&Run) -> bool = match (pieces(&unfit), pieces(&longest)) {
        _ if cuts == CUTS => &|_| true,
        (unfits, longests) if 0 < unfits && unfits < longests => &unfit,
        _ => &longest,
    };
    let count = pieces(cut);
    // Compare modulo the stride if that examines few places, or no more than the cut would.
    let places = cluster.iter().fold(0_u64, |sum, access| sum.saturating_add(places(&access.run, stride)));
    let few = count.max(FEW * cluster.len() as u64);
    let short = places <= most && (places <= few || count > most);
    if short && are_apart_modulo(cluster, stride) {
        return Ok(None);
    }
    if count > most {
        return Err(count);
    }
    let parts = |access: &Access| {
        let Access { run, write } = *access;
        let (cut, kept) = if cut(&run) { (Some(run.pieces()), None) } else { (None, Some(run)) };
        let buffer = run.buffer;
        let piece = move |(offset, len)| Run { buffer, offset, len, stride: len, count: 1 };
        kept.into_iter().chain(cut.into_iter().flatten().map(piece)).map(move |run| Access { run, write })
    };
    let mut all = Vec::with_capacity(cluster.len() + count.min(RESERVED) as usize);
    all.extend(cluster.iter().flat_map(parts));
    after_cuts(all, most, cuts + 1)
}

/// Returns whether a run can be compared with others modulo a stride.
fn is_comparable(run: &Run, stride: u64) -> bool {
    run.len <= stride && (run.count == 1 || stride.is_multiple_of(run.stride))
}

/// Returns the number of pieces of a run until it repeats its places modulo a stride.
fn places(run: &Run, stride: u64) -> u64 {
    run.count.min(stride.checked_div(run.stride).unwrap_or(1).max(1))
}

/// Returns whether runs whose strides divide `stride` (single pieces have any) do not overlap modulo
/// it, or where they do, lie one after the other. Examines all their [`places`].
fn are_apart_modulo(cluster: &[Access], stride: u64) -> bool {
    if !cluster.iter().all(|access| is_comparable(&access.run, stride)) {
        return false;
    }
    let spans = |access: &Access| {
        let Access { run, write } = *access;
        let places = places(&run, stride);
        (0..places).map(move |i| {
            let (start, more) = (run.offset + i * run.stride, (run.count - 1 - i) / places);
            (start % stride, run.len, (start, start + more * stride + run.len, write))
        })
    };
    let mut spans: Vec<_> = cluster.iter().flat_map(spans).collect();
    spans.sort_unstable();
    let mut laid = Vec::new();
    for at_one_place in spans.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        if sweep(at_one_place.iter().map(|span| span.2).collect()).is_some() {
            return false;
        }
        let (at, len, _) = at_one_place[0];
        let write = at_one_place.iter().any(|span| span.2.2);
        // Laid twice, so that a piece across the end meets those at the beginning.
        laid.extend([at, at + stride].map(|at| (at, at + len, write)));
    }
    sweep(laid).is_none()
}

/// Returns the first byte that one piece writes and another accesses, and whether the other reads
/// it.
fn sweep(mut pieces: Vec<(u64, u64, bool)>) -> Option<(u64, bool)> {
    pieces.sort_unstable();
    let (mut read, mut written) = (0, 0);
    for (start, end, write) in pieces {
        if start < written || write && start < read {
            return Some((start, !write || start < read));
        }
        if write {
            written = end;
        } else {
            read = read.max(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn accesses(seed: &[(u8, u8, u8, u8, bool)]) -> Vec<Access> {
        let access = |&(offset, len, stride, count, write): &(u8, u8, u8, u8, bool)| {
            let (len, strides) = (u64::from(len % 3) + 1, [3, 4, 8, 8, 11, 24]);
            let stride = strides[usize::from(stride % 6)].max(len);
            let run =
                Run { buffer: Buffer::Output, offset: offset.into(), len, stride, count: u64::from(count % 5) + 1 };
            Access { run, write }
        };
        seed.iter().map(access).collect()
    }

    /// Returns the number of writes and the number of accesses of each byte.
    fn by_bytes(all: &[Access]) -> Vec<(u32, u32)> {
        let mut bytes = vec![(0, 0); 512];
        for access in all {
            for (at, len) in access.run.pieces() {
                for byte in &mut bytes[at as usize..(at + len) as usize] {
                    *byte = (byte.0 + u32::from(access.write), byte.1 + 1);
                }
            }
        }
        bytes
    }

    quickcheck! {
        fn overlap_is_found_if_and_only_if_there_is_one(seed: Vec<(u8, u8, u8, u8, bool)>) -> bool {
            let all = accesses(&seed[..seed.len().min(6)]);
            let bytes = by_bytes(&all);
            match find(all) {
                None => bytes.iter().all(|&(writes, touches)| writes == 0 || touches == 1),
                Some(found) => {
                    let (writes, touches) = bytes[found.offset as usize];
                    writes > 0 && touches > 1 && (!found.sent || touches > writes)
                }
            }
        }
    }

    #[test]
    fn columns_of_a_large_matrix_do_not_overlap() {
        // These are 2^40 pieces.
        let column = |j: u64, write| Access {
            run: Run { buffer: Buffer::Output, offset: 8 * j, len: 8, stride: 1 << 10, count: 1 << 33 },
            write,
        };
        assert_eq!(find((0..128).map(|j| column(j, j % 2 == 0)).collect()), None);
    }

    /// The pieces of these are 2^33.
    #[test]
    fn few_places_are_compared_before_runs_are_cut() {
        let run = |offset, stride, count| Access {
            run: Run { buffer: Buffer::Output, offset, len: 1, stride, count },
            write: true,
        };
        assert_eq!(within(vec![run(0, 4, 3 << 31), run(1, 6, 2 << 31), run(2, 12, 2)], 1 << 10), Ok(None));
    }

    /// Examining each piece would take minutes.
    #[test]
    fn rows_with_runs_of_their_own_are_crossed_by_columns() {
        let (rows, width) = (1 << 12, 80_003);
        let access = |offset, len, stride, count| Access {
            run: Run { buffer: Buffer::Output, offset, len, stride, count },
            write: true,
        };
        // Five blocks of 16 bytes in each 80 bytes of a row, and what is left at its end.
        let in_rows = |i: u64| (0..rows).map(move |row| access(row * width + 16 * i, 16, 80, 1000));
        let mut all: Vec<Access> = (0..5).flat_map(in_rows).collect();
        all.extend((0..3).map(|i| access(80_000 + i, 1, width, rows)));
        assert_eq!(within(all.clone(), 1 << 16), Ok(None));
        all.push(access(7 * width + 12_345, 1, 1, 1));
        let found = within(all, 1 << 18).unwrap().map(|found| found.offset);
        assert_eq!(found, Some(7 * width + 12_345));
    }
}

//! Finds bytes that are written by one run and accessed by another, without examining every piece
//! of every run.
//!
//! Runs with disjoint spans cannot overlap. Runs whose spans meet are mostly columns of one matrix:
//! runs whose strides divide one stride overlap only if they overlap modulo it, and if their spans
//! meet. Only the remaining runs are examined piece by piece.

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

/// Like [`find`], but fails with the number of pieces if more than `most` had to be examined one by
/// one.
pub(super) fn within(mut all: Vec<Access>, most: u64) -> Result<Option<Overlap>, u64> {
    all.sort_unstable_by_key(|access| (access.run.buffer, access.run.offset));
    let mut start = 0;
    let mut reach = 0;
    for i in 0..=all.len() {
        let apart = all.get(i).is_none_or(|next| next.run.buffer != all[start].run.buffer || next.run.offset >= reach);
        if apart && i > start {
            if let Some(found) = in_cluster(&all[start..i], most)? {
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

fn in_cluster(cluster: &[Access], most: u64) -> Result<Option<Overlap>, u64> {
    if cluster.iter().filter(|access| access.write).count() == 0 || cluster.len() == 1 {
        return Ok(None);
    }
    let stride = cluster.iter().filter(|access| access.run.count > 1).map(|access| access.run.stride).max();
    if stride.is_some_and(|stride| are_apart_modulo(cluster, stride, most)) {
        return Ok(None);
    }
    let count = cluster.iter().fold(0_u64, |sum, access| sum.saturating_add(access.run.count));
    if count > most {
        return Err(count);
    }
    let pieces = cluster.iter().flat_map(|access| access.run.pieces().map(|(at, len)| (at, at + len, access.write)));
    Ok(sweep(pieces.collect()).map(|(offset, sent)| Overlap { buffer: cluster[0].run.buffer, offset, sent }))
}

/// Returns whether runs whose strides divide `stride` (single pieces have any) do not overlap modulo
/// it, or where they do, lie one after the other. Examines at most `most` places.
fn are_apart_modulo(cluster: &[Access], stride: u64, most: u64) -> bool {
    let fits = |run: &Run| run.len <= stride && (run.count == 1 || stride.is_multiple_of(run.stride));
    // After this number of pieces, a run repeats its places modulo the stride.
    let places = |run: &Run| if run.count == 1 { 1 } else { stride / run.stride };
    let different = |run: &Run| run.count.min(places(run));
    let all = cluster.iter().fold(0_u64, |sum, access| sum.saturating_add(different(&access.run)));
    if all > most || !cluster.iter().all(|access| fits(&access.run)) {
        return false;
    }
    let spans = |access: &Access| {
        let Access { run, write } = *access;
        (0..different(&run)).map(move |i| {
            let (start, more) = (run.offset + i * run.stride, (run.count - 1 - i) / places(&run));
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
}

//! Arithmetic on runs: cutting them, and joining neighbours.

use smallvec::{SmallVec, smallvec};

use super::Run;

/// A string of bytes as runs, mostly one.
pub(super) type Place = SmallVec<[Run; 1]>;

/// The bytes `from..to` of a run's string of bytes.
pub(super) fn slice(run: Run, from: u64, to: u64) -> Place {
    if from >= to {
        return smallvec![];
    }
    if run.count == 1 {
        return smallvec![Run::new(run.buffer, run.offset + from, to - from)];
    }
    let mut parts = Place::new();
    let mut at = from;
    while at < to {
        let (piece, skip) = (at / run.len, at % run.len);
        let whole = (to - at) / run.len;
        let start = run.offset + piece * run.stride + skip;
        if skip == 0 && whole > 0 {
            parts.push(normal(Run { offset: start, count: whole, ..run }));
            at += whole * run.len;
        } else {
            let len = (run.len - skip).min(to - at);
            parts.push(Run::new(run.buffer, start, len));
            at += len;
        }
    }
    parts
}

fn normal(run: Run) -> Run {
    if run.count == 1 { Run::new(run.buffer, run.offset, run.len) } else { run }
}

/// The same string of bytes in as few runs as two passes find: neighbours become one piece, then pieces of equal length
/// at equal distances become one run.
pub(super) fn joined(runs: impl IntoIterator<Item = Run>) -> Vec<Run> {
    let mut pieces: Vec<Run> = Vec::new();
    for run in runs.into_iter().filter(|run| run.bytes() > 0) {
        match pieces.last_mut() {
            Some(last)
                if last.count == 1
                    && run.count == 1
                    && last.buffer == run.buffer
                    && last.offset + last.len == run.offset =>
            {
                *last = Run::new(last.buffer, last.offset, last.len + run.len);
            }
            _ => pieces.push(run),
        }
    }
    let mut strided: Vec<Run> = Vec::with_capacity(pieces.len().min(16));
    for run in pieces {
        match strided.last_mut().and_then(|last| continued(last, &run).map(|longer| (last, longer))) {
            Some((last, longer)) => *last = longer,
            None => strided.push(run),
        }
    }
    strided
}

/// One run for two, if the second goes on where the first stops.
fn continued(first: &Run, second: &Run) -> Option<Run> {
    if first.buffer != second.buffer || first.len != second.len {
        return None;
    }
    let distance = second.offset.checked_sub(first.offset)?;
    let stride = match (first.count, second.count) {
        (1, 1) => distance,
        (1, _) => second.stride,
        _ => first.stride,
    };
    let fits = stride >= first.len
        && first.count.checked_mul(stride) == Some(distance)
        && (second.count == 1 || second.stride == stride);
    fits.then_some(Run { stride, count: first.count + second.count, ..*first })
}

/// Walks through strings of bytes of equal length side by side: pieces that lie in one piece in each of them.
pub(super) fn side_by_side<const N: usize>(places: [&[Run]; N]) -> Vec<[Run; N]> {
    let pieces = places.map(|runs| {
        let pieces = runs.iter().flat_map(|run| run.pieces().map(|(offset, len)| Run::new(run.buffer, offset, len)));
        pieces.filter(|piece| piece.len > 0).collect::<Vec<_>>()
    });
    let mut at = [(0_usize, 0_u64); N];
    let mut found: Vec<[Run; N]> = Vec::new();
    loop {
        let rest: [Option<Run>; N] = std::array::from_fn(|i| {
            let (index, used) = at[i];
            pieces[i].get(index).map(|p| Run::new(p.buffer, p.offset + used, p.len - used))
        });
        let Some(len) = rest.iter().map(|p| p.map(|p| p.len)).min().flatten() else { return found };
        for (place, piece) in at.iter_mut().zip(rest) {
            let more = piece.is_some_and(|piece| piece.len > len);
            *place = if more { (place.0, place.1 + len) } else { (place.0 + 1, 0) };
        }
        let cut = rest.map(|piece| piece.map_or(Run::new(super::Buffer::Scratch, 0, 0), |p| Run { len, ..p }));
        found.push(cut.map(|run| Run::new(run.buffer, run.offset, len)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Buffer::{Input, Output, Scratch};
    use super::*;
    use quickcheck::quickcheck;

    fn bytes(runs: &[Run]) -> Vec<(super::super::Buffer, u64)> {
        runs.iter().flat_map(|r| r.pieces().flat_map(|(at, len)| (at..at + len).map(|b| (r.buffer, b)))).collect()
    }

    fn some_runs(seed: &[(u8, u8, u8, u8)]) -> Vec<Run> {
        let run = |&(offset, len, gap, count): &(u8, u8, u8, u8)| {
            let (len, gap) = (u64::from(len % 5), u64::from(gap % 4));
            let buffer = if offset % 2 == 0 { Input } else { Output };
            Run { buffer, offset: offset.into(), len, stride: len + gap, count: u64::from(count % 4) + 1 }
        };
        seed.iter().map(run).collect()
    }

    quickcheck! {
        fn joining_keeps_the_bytes_in_order(seed: Vec<(u8, u8, u8, u8)>) -> bool {
            let runs = some_runs(&seed);
            let fewer = joined(runs.clone());
            bytes(&fewer) == bytes(&runs) && fewer.len() <= runs.len()
        }

        fn a_slice_is_that_part_of_the_bytes(seed: (u8, u8, u8, u8), from: u8, to: u8) -> bool {
            let run = some_runs(&[seed])[0];
            let to = u64::from(to) % (run.bytes() + 1);
            let from = u64::from(from) % (to + 1);
            bytes(&slice(run, from, to)) == bytes(&[run])[from as usize..to as usize]
        }

        fn side_by_side_pairs_equal_positions(a: Vec<(u8, u8, u8, u8)>, b: Vec<(u8, u8, u8, u8)>) -> bool {
            let (a, b) = (some_runs(&a), some_runs(&b));
            let pairs: Vec<_> = bytes(&a).into_iter().zip(bytes(&b)).collect();
            let found = side_by_side([&a, &b]);
            let walked = found.iter().flat_map(|[x, y]| bytes(&[*x]).into_iter().zip(bytes(&[*y]))).collect::<Vec<_>>();
            walked == pairs
        }
    }

    #[test]
    fn neighbours_become_one_piece_and_rows_one_run() {
        let column = (0..8).map(|row| Run::new(Input, row * 64 + 8, 8));
        assert_eq!(joined(column), [Run { buffer: Input, offset: 8, len: 8, stride: 64, count: 8 }]);
        let adjacent = (0..8).map(|i| Run::new(Scratch, i * 8, 8));
        assert_eq!(joined(adjacent), [Run::new(Scratch, 0, 64)]);
        let blocks = (0..4).flat_map(|row| [Run::new(Input, row * 32, 4), Run::new(Input, row * 32 + 4, 4)]);
        assert_eq!(joined(blocks), [Run { buffer: Input, offset: 0, len: 8, stride: 32, count: 4 }]);
    }
}

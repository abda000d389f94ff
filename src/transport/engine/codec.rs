//! Encodes the texts of control frames: failures, rank statuses, departures. Decoding checks every
//! bound.

use std::sync::Arc;
use std::time::Duration;

use super::frame::MAX_CONTROL;
use super::lane::Left;
use super::limits::REMEMBERED;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Deadline, Failure, History};

/// The status of a rank in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankStatus {
    /// The call and the round that it is in, or was in last.
    pub(crate) posted: Option<(u64, u32)>,
    /// The context in which it waits, the process that it waits for and the call there, if the
    /// thread that drives this context waits.
    pub(crate) awaits: Option<(ContextId, u32, u64)>,
    /// Counts progress in the context.
    pub(crate) progress: u64,
    pub(crate) left: bool,
    /// A failed context of this process.
    pub(crate) failed: Option<ContextId>,
    /// Fingerprint and description of the call in question.
    pub(crate) signature: Option<(u64, Arc<str>)>,
}

/// The bytes were not written by [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidEncoding;

/// Maximum length of a string in bytes; longer strings are truncated.
const MAX_STRING: usize = MAX_CONTROL as usize / 8;

/// Encodes values one after the other.
#[derive(Debug, Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn rank(&mut self, rank: Rank) {
        self.number(rank.index() as u64);
    }

    fn text(&mut self, text: &str) {
        let end = (0..=text.len().min(MAX_STRING)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.number(end as u64);
        self.0.extend_from_slice(&text.as_bytes()[..end]);
    }

    /// Writes what a rank called: fingerprint and description.
    fn signature(&mut self, (fingerprint, description): &(u64, Arc<str>)) {
        self.number(*fingerprint);
        self.text(description);
    }

    fn option<T>(&mut self, option: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(option.is_some()));
        if let Some(value) = option {
            write(self, value);
        }
    }
}

/// Decodes what [`Writer`] has encoded.
#[derive(Debug)]
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Result<&[u8], InvalidEncoding> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(InvalidEncoding)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, InvalidEncoding> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Result<u64, InvalidEncoding> {
        let bytes = self.bytes(8)?.try_into().map_err(|_| InvalidEncoding)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn small(&mut self) -> Result<u32, InvalidEncoding> {
        self.number()?.try_into().map_err(|_| InvalidEncoding)
    }

    fn rank(&mut self) -> Result<Rank, InvalidEncoding> {
        let index = self.small()? as usize;
        Some(Rank::new(index)).filter(|rank| rank.index() == index).ok_or(InvalidEncoding)
    }

    fn text(&mut self) -> Result<Arc<str>, InvalidEncoding> {
        let count = usize::try_from(self.number()?).ok().filter(|count| *count <= MAX_STRING).ok_or(InvalidEncoding)?;
        std::str::from_utf8(self.bytes(count)?).map(Arc::from).map_err(|_| InvalidEncoding)
    }

    fn signature(&mut self) -> Result<(u64, Arc<str>), InvalidEncoding> {
        Ok((self.number()?, self.text()?))
    }

    fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, InvalidEncoding>,
    ) -> Result<Option<T>, InvalidEncoding> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(InvalidEncoding),
        }
    }

    fn end<T>(&self, value: T) -> Result<T, InvalidEncoding> {
        if self.0.is_empty() { Ok(value) } else { Err(InvalidEncoding) }
    }
}

/// Encodes a failure.
pub(crate) fn write_failure(failure: &Failure) -> Vec<u8> {
    let mut to = Writer::default();
    let Failure { call, description, round, observer, culprit, cause } = failure;
    to.number(*call);
    to.number(u64::from(*round));
    to.rank(*observer);
    to.option(*culprit, Writer::rank);
    to.text(description);
    match cause {
        Cause::Deadline { deadline, waited, chain } => {
            to.byte(match deadline {
                Deadline::Silence => 0,
                Deadline::Arrival => 5,
            });
            to.number(waited.as_secs());
            to.number(u64::from(waited.subsec_nanos()));
            to.text(chain);
        }
        Cause::Gone { rank, how } => {
            to.byte(1);
            to.rank(*rank);
            to.text(how);
        }
        Cause::Disagree { rank_a, call_a, rank_b, call_b } => {
            to.byte(2);
            to.rank(*rank_a);
            to.text(call_a);
            to.rank(*rank_b);
            to.text(call_b);
        }
        Cause::Length { from, to: receiver, expected, found } => {
            to.byte(3);
            to.rank(*from);
            to.rank(*receiver);
            to.number(*expected);
            to.number(*found);
        }
        Cause::Aborted { rank, reason } => {
            to.byte(4);
            to.rank(*rank);
            to.text(reason);
        }
    }
    to.0
}

/// Decodes a failure.
pub(crate) fn read_failure(bytes: &[u8]) -> Result<Failure, InvalidEncoding> {
    let mut from = Reader(bytes);
    let (call, round, observer) = (from.number()?, from.small()?, from.rank()?);
    let (culprit, description) = (from.option(Reader::rank)?, from.text()?);
    let cause = match from.byte()? {
        kind @ (0 | 5) => {
            let deadline = if kind == 0 { Deadline::Silence } else { Deadline::Arrival };
            let (seconds, nanos) = (from.number()?, from.small()?);
            let nanos = Some(nanos).filter(|nanos| *nanos < 1_000_000_000).ok_or(InvalidEncoding)?;
            Cause::Deadline { deadline, waited: Duration::new(seconds, nanos), chain: from.text()? }
        }
        1 => Cause::Gone { rank: from.rank()?, how: from.text()? },
        2 => {
            let (rank_a, call_a) = (from.rank()?, from.text()?);
            Cause::Disagree { rank_a, call_a, rank_b: from.rank()?, call_b: from.text()? }
        }
        3 => Cause::Length { from: from.rank()?, to: from.rank()?, expected: from.number()?, found: from.number()? },
        4 => Cause::Aborted { rank: from.rank()?, reason: from.text()? },
        _ => return Err(InvalidEncoding),
    };
    from.end(Failure { call, description, round, observer, culprit, cause })
}

/// Encodes the status of a rank.
pub(crate) fn write_status(status: &RankStatus) -> Vec<u8> {
    let mut to = Writer::default();
    let RankStatus { posted, awaits, progress, left, failed, signature } = status;
    to.option(*posted, |to, (call, round)| {
        to.number(call);
        to.number(u64::from(round));
    });
    to.option(*awaits, |to, (context, process, call)| {
        to.number(context.number());
        to.number(u64::from(process));
        to.number(call);
    });
    to.number(*progress);
    to.byte(u8::from(*left));
    to.option(*failed, |to, context| to.number(context.number()));
    to.option(signature.as_ref(), Writer::signature);
    to.0
}

/// Decodes the status of a rank.
pub(crate) fn read_status(bytes: &[u8]) -> Result<RankStatus, InvalidEncoding> {
    let mut from = Reader(bytes);
    let posted = from.option(|from| Ok((from.number()?, from.small()?)))?;
    let awaits = from.option(|from| Ok((ContextId::of(from.number()?), from.small()?, from.number()?)))?;
    let (progress, left) = (from.number()?, from.byte()?);
    let failed = from.option(|from| from.number().map(ContextId::of))?;
    let signature = from.option(Reader::signature)?;
    let left = if left < 2 { left == 1 } else { return Err(InvalidEncoding) };
    from.end(RankStatus { posted, awaits, progress, left, failed, signature })
}

/// Encodes how a process left a context.
pub(crate) fn write_left(left: &Left) -> Vec<u8> {
    let mut to = Writer::default();
    let Left { call, how, signature, history, changes } = left;
    to.option(*call, Writer::number);
    to.option(how.as_ref(), |to, how| to.text(how));
    to.option(signature.as_ref(), Writer::signature);
    to.option(*history, |to, History { calls, digest }| {
        to.number(calls);
        to.number(digest);
        let changes = &changes[..changes.len().min(REMEMBERED)];
        to.number(changes.len() as u64);
        for (call, fingerprint) in changes {
            to.number(*call);
            to.number(*fingerprint);
        }
    });
    to.0
}

/// Decodes how a process left a context.
pub(crate) fn read_left(bytes: &[u8]) -> Result<Left, InvalidEncoding> {
    let mut from = Reader(bytes);
    let call = from.option(Reader::number)?;
    let how = from.option(Reader::text)?;
    let signature = from.option(Reader::signature)?;
    let concluded = from.option(|from| {
        let history = History { calls: from.number()?, digest: from.number()? };
        let count = from.number()?;
        if count > REMEMBERED as u64 {
            return Err(InvalidEncoding);
        }
        let changes = (0..count).map(|_| Ok((from.number()?, from.number()?))).collect::<Result<Vec<_>, _>>()?;
        Ok((history, changes))
    })?;
    let (history, changes) = concluded.map_or_else(Default::default, |(history, changes)| (Some(history), changes));
    from.end(Left { call, how, signature, history, changes })
}

/// Encodes a list of open contexts, as many as fit into a frame.
pub(crate) fn write_contexts(contexts: impl Iterator<Item = ContextId>) -> Vec<u8> {
    contexts.take(MAX_CONTROL as usize / 8).flat_map(|context| context.number().to_le_bytes()).collect()
}

/// Decodes a list of open contexts.
pub(crate) fn read_contexts(bytes: &[u8]) -> Result<Vec<ContextId>, InvalidEncoding> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(InvalidEncoding);
    }
    Ok(numbers.iter().map(|number| ContextId::of(u64::from_le_bytes(*number))).collect())
}

#[cfg(test)]
mod tests {
    use quickcheck::QuickCheck;

    use super::*;

    fn failures(seed: (u64, u32), texts: (&str, &str)) -> Vec<Failure> {
        let rank = |shift: u32| Rank::new((seed.1 >> shift) as usize % 1000);
        let causes = [
            Cause::Deadline {
                deadline: if seed.1.is_multiple_of(2) { Deadline::Silence } else { Deadline::Arrival },
                waited: Duration::from_nanos(seed.0),
                chain: texts.0.into(),
            },
            Cause::Gone { rank: rank(3), how: texts.1.into() },
            Cause::Disagree { rank_a: rank(1), call_a: texts.0.into(), rank_b: rank(2), call_b: texts.1.into() },
            Cause::Length { from: rank(4), to: rank(5), expected: seed.0, found: !seed.0 },
            Cause::Aborted { rank: rank(6), reason: texts.0.into() },
        ];
        let failure = |cause| {
            let (observer, culprit) = (rank(7), seed.0.is_multiple_of(2).then(|| rank(8)));
            Failure { call: seed.0, description: texts.1.into(), round: seed.1, observer, culprit, cause }
        };
        causes.into_iter().map(failure).collect()
    }

    fn status(seed: (u64, u32), text: &str) -> RankStatus {
        let some = |bit: u32| seed.1 >> bit & 1 == 1;
        RankStatus {
            posted: some(0).then_some((seed.0, seed.1)),
            awaits: some(1).then_some((ContextId::of(seed.0), seed.1, seed.0 >> 3)),
            progress: seed.0,
            left: some(2),
            failed: some(3).then_some(ContextId::of(!seed.0)),
            signature: some(4).then(|| (seed.0, text.into())),
        }
    }

    fn call_count(call: Option<u64>) -> usize {
        call.map_or(0, |call| call as usize % (REMEMBERED + 1))
    }

    /// Makes the departure of a rank with that status.
    fn left(status: &RankStatus, how: &str) -> Left {
        let call = status.posted.map(|(call, _)| call);
        let history = status.posted.map(|(calls, round)| History { calls, digest: u64::from(round) });
        let changes =
            if history.is_some() { vec![(status.progress, !status.progress); call_count(call)] } else { vec![] };
        Left { call, how: status.left.then(|| how.into()), signature: status.signature.clone(), history, changes }
    }

    #[test]
    fn encoded_text_decodes_to_itself() {
        fn same(seed: (u64, u32), one: String, other: String) -> bool {
            let status = status(seed, &one);
            failures(seed, (&one, &other))
                .iter()
                .all(|failure| read_failure(&write_failure(failure)).as_ref() == Ok(failure))
                && read_left(&write_left(&left(&status, &other))).as_ref() == Ok(&left(&status, &other))
                && read_status(&write_status(&status)) == Ok(status)
        }
        QuickCheck::new().quickcheck(same as fn((u64, u32), String, String) -> bool);
        let contexts = [0, 7, u64::MAX].map(ContextId::of);
        assert_eq!(read_contexts(&write_contexts(contexts.into_iter())), Ok(contexts.to_vec()));
    }

    #[test]
    fn long_strings_are_truncated_so_that_a_failure_fits_a_frame() {
        let long = "ä".repeat(MAX_CONTROL as usize);
        for failure in failures((1, 2), (&long, &long)) {
            let bytes = write_failure(&failure);
            assert!(bytes.len() <= MAX_CONTROL as usize && read_failure(&bytes).is_ok());
        }
    }

    #[test]
    fn corrupted_text_is_refused_or_decodes_to_itself() {
        // Whatever the bytes are, nothing is read beyond their end, and nothing panics.
        fn survives(seed: (u64, u32), text: String, changes: Vec<(usize, u8)>, end: usize) -> bool {
            let mut all: Vec<Vec<u8>> = failures(seed, (&text, "x")).iter().map(write_failure).collect();
            all.push(write_status(&status(seed, &text)));
            all.push(write_left(&left(&status(seed, &text), "panicked")));
            for bytes in &mut all {
                for (at, change) in &changes {
                    let at = at % bytes.len();
                    bytes[at] ^= change;
                }
                bytes.truncate(bytes.len() - end % 3);
                if let Ok(failure) = read_failure(bytes) {
                    assert_eq!(write_failure(&failure), *bytes);
                }
                if let Ok(status) = read_status(bytes) {
                    assert_eq!(write_status(&status), *bytes);
                }
                if let Ok(left) = read_left(bytes) {
                    assert_eq!(write_left(&left), *bytes);
                }
                let _ = read_contexts(bytes);
            }
            true
        }
        QuickCheck::new()
            .tests(20_000)
            .max_tests(40_000)
            .quickcheck(survives as fn((u64, u32), String, Vec<(usize, u8)>, usize) -> bool);
    }
}

//! The texts of control frames: failures, rank statuses, departures, lists of contexts.

use super::frame::MAX_CONTROL;
use super::lane::Left;
use super::limits::REMEMBERED;
use crate::transport::codec::{Coded, InvalidEncoding, Reader, coded};
use crate::transport::{Cause, Deadline, Failure, History, RankStatus, WaitingIn};

/// Maximum number of contexts in a list, so that it fits into a frame.
pub(super) const MAX_CONTEXTS: usize = MAX_CONTROL as usize / 8 - 1;

coded!(struct RankStatus { posted, awaits, progress, left, failed, signature });
coded!(struct WaitingIn { context, process, call, progress });
coded!(struct Left { call, how, signature, history, changes } if |left| left.changes.len() <= REMEMBERED);
coded!(struct History { calls, digest });
coded!(struct Failure { call, description, round, observer, culprit, cause });
coded!(enum Cause {
    0 => Deadline { deadline, waited, chain },
    1 => Gone { rank, how },
    2 => Disagree { rank_a, call_a, rank_b, call_b },
    3 => Length { from, to, expected, found },
    4 => Aborted { rank, reason },
});
coded!(enum Deadline {
    0 => Silence,
    1 => Arrival,
});

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quickcheck::QuickCheck;

    use super::*;
    use crate::ids::Rank;
    use crate::transport::ContextId;
    use crate::transport::codec::{decode, encode};

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
            awaits: some(1).then_some(WaitingIn {
                context: ContextId::of(seed.0),
                process: seed.1,
                call: seed.0 >> 3,
                progress: !seed.0,
            }),
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
            failures(seed, (&one, &other)).iter().all(|failure| decode(&encode(failure)).as_ref() == Ok(failure))
                && decode(&encode(&left(&status, &other))).as_ref() == Ok(&left(&status, &other))
                && decode(&encode(&status)) == Ok(status)
        }
        QuickCheck::new().quickcheck(same as fn((u64, u32), String, String) -> bool);
        let contexts: Vec<_> = [0, 7, u64::MAX].map(ContextId::of).into();
        assert_eq!(decode(&encode(&contexts)), Ok(contexts));
    }

    #[test]
    fn longest_texts_fit_a_frame() {
        let long = "ä".repeat(MAX_CONTROL as usize);
        for failure in failures((1, 2), (&long, &long)) {
            let bytes = encode(&failure);
            assert!(bytes.len() <= MAX_CONTROL as usize && decode::<Failure>(&bytes).is_ok());
        }
        let contexts = vec![ContextId::WORLD; MAX_CONTEXTS];
        assert!(encode(&contexts).len() <= MAX_CONTROL as usize);
    }

    #[test]
    fn corrupted_text_is_refused_or_decodes_to_itself() {
        fn same_again<T: Coded>(bytes: &[u8]) {
            if let Ok(value) = decode::<T>(bytes) {
                assert_eq!(encode(&value), *bytes);
            }
        }
        // Whatever the bytes are, nothing is read beyond their end, and nothing panics.
        fn survives(seed: (u64, u32), text: String, changes: Vec<(usize, u8)>, end: usize) -> bool {
            let mut all: Vec<Vec<u8>> = failures(seed, (&text, "x")).iter().map(encode).collect();
            all.push(encode(&status(seed, &text)));
            all.push(encode(&left(&status(seed, &text), "panicked")));
            for bytes in &mut all {
                for (at, change) in &changes {
                    let at = at % bytes.len();
                    bytes[at] ^= change;
                }
                bytes.truncate(bytes.len() - end % 3);
                same_again::<Failure>(bytes);
                same_again::<RankStatus>(bytes);
                same_again::<Left>(bytes);
                same_again::<Vec<ContextId>>(bytes);
            }
            true
        }
        QuickCheck::new()
            .tests(20_000)
            .max_tests(40_000)
            .quickcheck(survives as fn((u64, u32), String, Vec<(usize, u8)>, usize) -> bool);
    }
}

//! Two bare alltoall exchanges among threads, without checks, sleep or error handling. They are the
//! reference for benchmarks, and unsuitable for anything else: a missing rank makes the others spin
//! forever.
//!
//! - [`Kind::Staged`]: copy into a mailbox, signal, copy out. Every byte is copied twice, but a
//!   rank waits only once, for the blocks of the others.
//! - [`Kind::OneCopy`]: publish the addresses of the blocks, wait, copy from the senders, wait
//!   until the others have copied.
//!
//! ```
//! let heard: Vec<Vec<u8>> = std::thread::scope(|scope| {
//!     let members = necklace_bare::members(necklace_bare::Kind::Staged, 3, 1);
//!     let threads = members.into_iter().map(|mut member| {
//!         scope.spawn(move || {
//!             let (me, mut receive) = (member.rank() as u8, [0; 3]);
//!             member.alltoall(&[10 * me, 10 * me + 1, 10 * me + 2], &mut receive);
//!             receive.to_vec()
//!         })
//!     });
//!     threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
//! });
//! assert_eq!(heard[2], [2, 12, 22]);
//! ```

// Besides the library's transports, only this crate has `unsafe`, because it measures memory that
// threads share. Both exchanges synchronise by a call counter per rank or per pair.
#![allow(unsafe_code)]

mod one_copy;
mod pin;
mod staged;
mod wait;

use std::sync::Arc;

pub use pin::pin;

/// The kind of exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Through a mailbox: two copies, one wait.
    Staged,
    /// Straight across: one copy, two waits.
    OneCopy,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Staged, Self::OneCopy];

    /// Returns the name for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::OneCopy => "one-copy",
        }
    }
}

/// The state that the members share.
#[derive(Clone, Debug)]
enum Shared {
    Staged(Arc<staged::Staged>),
    OneCopy(Arc<one_copy::OneCopy>),
}

/// The member of one thread.
#[derive(Debug)]
pub struct Member {
    shared: Shared,
    rank: usize,
    ranks: usize,
    block: usize,
    /// The number of calls that it has begun.
    calls: u64,
}

/// Returns the members of an exchange with a block size, each for its own thread.
#[must_use]
pub fn members(kind: Kind, ranks: usize, block: usize) -> Vec<Member> {
    let shared = match kind {
        Kind::Staged => Shared::Staged(Arc::new(staged::Staged::new(ranks, block))),
        Kind::OneCopy => Shared::OneCopy(Arc::new(one_copy::OneCopy::new(ranks, block))),
    };
    (0..ranks).map(|rank| Member { shared: shared.clone(), rank, ranks, block, calls: 0 }).collect()
}

impl Member {
    /// Returns its rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Sends block j of `send` to rank j, and receives block i of `receive` from rank i. Waits,
    /// without limit, until every other member has called as often.
    ///
    /// # Panics
    ///
    /// Panics unless both buffers have the length of all blocks together.
    pub fn alltoall(&mut self, send: &[u8], receive: &mut [u8]) {
        let expected = self.ranks * self.block;
        assert!(send.len() == expected && receive.len() == expected, "buffers are not of {expected} bytes");
        self.calls += 1;
        // SAFETY: the lengths are checked, this is the only member of its rank, since `members`
        // makes one of each and none can be cloned, and calls are counted.
        unsafe {
            match &self.shared {
                Shared::Staged(staged) => staged.alltoall(self.rank, self.calls, send, receive),
                Shared::OneCopy(one_copy) => one_copy.alltoall(self.rank, self.calls, send, receive),
            }
        }
    }
}

/// A value on its own pair of cache lines, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_arrives_call_after_call() {
        for kind in Kind::ALL {
            for (ranks, block) in [(1, 8), (2, 8), (3, 1), (5, 0), (4, 100), (8, 5000)] {
                std::thread::scope(|scope| {
                    for mut member in members(kind, ranks, block) {
                        scope.spawn(move || {
                            let fill = |from: usize, to: usize, call: usize| (31 * from + 7 * to + call) as u8;
                            let me = member.rank();
                            let mut receive = vec![0; ranks * block];
                            for call in 0..50 {
                                let send: Vec<u8> = (0..ranks).flat_map(|to| vec![fill(me, to, call); block]).collect();
                                member.alltoall(&send, &mut receive);
                                let expected: Vec<u8> =
                                    (0..ranks).flat_map(|from| vec![fill(from, me, call); block]).collect();
                                assert_eq!(receive, expected, "{kind:?} {ranks} {block} {call}");
                            }
                        });
                    }
                });
            }
        }
    }
}

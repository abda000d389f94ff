//! Memory that was lent to MPI for a receive, and is taken back because the message does not come
//! by the deadline. From then on it is the user's, even if the message comes later.

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use necklace::op::Sum;
use necklace::transport::Timeouts;

use crate::failing::{TIMEOUT, communicator};
use crate::job::{Job, together};
use crate::rank::Rank;
use crate::sending::{self, RENDEZVOUS};

/// How long a rank may take to check what it has received, while the jobs of all cases poll.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Number of rendezvous messages sent before one is delayed. If negative, none is delayed.
static BEFORE: AtomicI64 = AtomicI64::new(-1);

/// Rank 1 sends a message to rank 0, which comes too late.
pub(crate) fn called_back(rank: &Rank) -> i32 {
    let (bytes, before) = (rank.word(1).parse::<usize>().unwrap(), rank.word(2).parse::<i64>().unwrap());
    let (_supervisor, mut comm) = communicator(rank, "plain", Timeouts::new(TIMEOUT, ARRIVAL));
    let mut other = comm.split(0, 0).unwrap();
    other.choose("alltoall", "direct").unwrap();
    other.choose("allreduce", "recursive-doubling").unwrap();
    let mut buffer = vec![1_u8; bytes];
    // So that all is planned, and rank 0 calls first.
    comm.broadcast(&mut buffer, 1).unwrap();
    if rank.rank == 1 {
        let holder = rank.clone();
        // Until rank 0 uses the memory for something else.
        sending::before_each(move |sending| {
            if sending.tag == RENDEZVOUS
                && BEFORE.load(Ordering::Relaxed) >= 0
                && BEFORE.fetch_sub(1, Ordering::Relaxed) == 0
            {
                holder.say("holds");
                holder.hear(0, "uses");
            }
        });
        rank.hear(0, "waits");
        thread::sleep(Duration::from_millis(100));
        BEFORE.store(before, Ordering::Relaxed);
        buffer.fill(2);
        rank.report(comm.broadcast(&mut buffer, 1));
        rank.say("sent");
    } else {
        rank.say("waits");
        rank.report(comm.broadcast(&mut buffer, 1));
        buffer.fill(3);
        rank.say("uses");
        rank.hear(1, "sent");
        // The late message comes during this exchange, whose messages must arrive correctly.
        for _ in 0..3 {
            exchange(rank, &mut other, bytes);
        }
        thread::sleep(Duration::from_millis(100));
        assert!(buffer == vec![3; bytes], "memory in other use was overwritten");
        rank.say("untouched");
        return 0;
    }
    for _ in 0..3 {
        exchange(rank, &mut other, bytes);
    }
    0
}

/// Exchanges data in another communicator.
fn exchange(rank: &Rank, comm: &mut necklace::Communicator, bytes: usize) {
    let send = [vec![10 + rank.rank as u8; bytes], vec![20 + rank.rank as u8; bytes]].concat();
    let mut receive = vec![0; 2 * bytes];
    comm.alltoall(&send, &mut receive).unwrap();
    let me = 10 * (rank.rank + 1) as u8;
    assert!(receive[..bytes] == vec![me; bytes] && receive[bytes..] == vec![me + 1; bytes]);
    let mut sum = [0_u64];
    comm.allreduce(&[rank.rank as u64 + 1], &mut sum, Sum).unwrap();
    assert_eq!(sum, [3]);
}

#[test]
fn late_message_does_not_reach_memory_that_was_taken_back() {
    // In one message or in several; the first is late, or a later one.
    let cases = [(8 << 10, 0), (40_000, 0), (3 << 20, 0), (3 << 20, 1), (3 << 20, 3)];
    together(cases, |(bytes, before)| {
        let ended = Job::of(2, &format!("called {bytes} {before}")).run().with(0);
        assert!(ended.heard("holds")[1].is_some() && ended.heard("untouched")[0].is_some(), "{ended}");
        let failed = ended.heard("failed ");
        assert!(failed[0].is_some_and(|words| words.starts_with("deadline 1 ")), "{ended}");
    });
}

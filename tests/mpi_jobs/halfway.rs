//! Packets that have begun to arrive and do not complete, since their sender is stopped. Even if
//! they occupy all posted receives, other packets arrive.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::failing::communicator;
use crate::job::Job;
use crate::rank::Rank;
use crate::sending::{self, PACKET};

/// The ranks that are stopped.
const STOPPED: [usize; 3] = [3, 4, 5];

/// Size above that of a packet with eager data. A longer packet is sent because its receiver is
/// ready.
const LONG: i32 = 69_000;

/// Number of long packets under way before their sender is stopped: together more than the posted
/// receives.
const UNDER_WAY: usize = 3;

/// All ranks call alltoall. When a rank that will be stopped is about to send its first long packet
/// to rank 0, it reports so and waits for `go`. The other ranks then make calls among themselves,
/// which must not wait.
pub(crate) fn halfway(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "staged", Duration::from_secs(30));
    let stopped = STOPPED.contains(&rank.rank);
    let mut others = comm.split(u32::from(stopped), 0).unwrap();
    rank.check(&mut others).unwrap();
    if stopped {
        let (told, sent) = (rank.clone(), AtomicUsize::new(0));
        sending::before_each(move |sending| {
            if (sending.tag, sending.to) == (PACKET, 0) && sending.bytes > LONG {
                let number = sent.fetch_add(1, Ordering::Relaxed) + 1;
                if number <= UNDER_WAY {
                    told.say(format!("packet {number}"));
                }
                if number == 1 {
                    told.hear(told.size, "go");
                }
            }
        });
    }
    let elements = 1 << 17;
    let send: Vec<u64> = (0..rank.size * elements).map(|at| (at + rank.rank) as u64).collect();
    let mut receive = vec![0; send.len()];
    thread::scope(|scope| {
        if !stopped {
            let others = &mut others;
            scope.spawn(move || {
                rank.hear(rank.size, "among yourselves");
                (0..10).for_each(|_| rank.check(others).unwrap());
                rank.say("done");
            });
        }
        rank.report(comm.alltoall(&send, &mut receive));
    });
    for (from, block) in receive.chunks(elements).enumerate() {
        let right = |(at, value): (usize, &u64)| *value == (rank.rank * elements + at + from) as u64;
        assert!(block.iter().enumerate().all(right), "the block from rank {from}");
    }
    0
}

#[test]
fn packets_arrive_while_stopped_senders_hold_all_receives() {
    // Otherwise Open MPI would copy the data out of the memory of the stopped process.
    let mut job = Job::of(6, "halfway").set("OMPI_MCA_btl_vader_single_copy_mechanism", "none").start();
    STOPPED.into_iter().for_each(|rank| drop(job.hear(rank, "packet 1")));
    // Their packets have just begun to arrive when rank 0 continues.
    job.signal(0, Signal::STOP);
    job.say("go");
    STOPPED.into_iter().for_each(|rank| drop(job.hear(rank, &format!("packet {UNDER_WAY}"))));
    thread::sleep(Duration::from_millis(200));
    STOPPED.into_iter().for_each(|rank| job.signal(rank, Signal::STOP));
    job.signal(0, Signal::CONT);
    thread::sleep(Duration::from_millis(100));
    job.say("among yourselves");
    (0..STOPPED[0]).for_each(|rank| drop(job.hear(rank, "done")));
    STOPPED.into_iter().for_each(|rank| job.signal(rank, Signal::CONT));
    assert_eq!(job.end().with(0).all("well"), [""; 6]);
}

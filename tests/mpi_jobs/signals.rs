//! Ranks that are killed, stopped or interrupted in the middle of a call.

use std::process;
use std::thread;

use rustix::process::Signal;

use crate::failing::{TIMEOUT, communicator};
use crate::job::{Ended, Job, together};
use crate::rank::Rank;

/// Calls alltoall until it fails. Meanwhile one rank may be interrupted: another thread of it makes
/// the process exit.
pub(crate) fn go_on(rank: &Rank) -> i32 {
    let (way, elements) = (rank.word(1), rank.word(2).parse::<usize>().unwrap());
    // A long timeout: a live rank must answer within an eighth of it, while MPI polls on every
    // core.
    let (_supervisor, mut comm) = communicator(rank, way, 2 * TIMEOUT);
    let (send, mut receive) = (vec![rank.rank as u64; elements * rank.size], vec![0_u64; elements * rank.size]);
    if rank.word(3) == "interrupted" && rank.rank == 1 {
        let rank = rank.clone();
        thread::spawn(move || {
            (0..rank.size).for_each(|other| rank.hear(other, "ready"));
            process::exit(0);
        });
    }
    let mut calls = 0;
    loop {
        let result = comm.alltoall(&send, &mut receive);
        calls += 1;
        if calls == 3 {
            rank.say("ready");
        }
        if result.is_err() {
            rank.report(result);
            return 0;
        }
    }
}

fn strike(signal: Signal, way: &str, elements: usize) -> Ended {
    let mut job = Job::of(3, &format!("go {way} {elements}")).start();
    (0..3).for_each(|rank| drop(job.hear(rank, "ready")));
    job.signal(1, signal);
    job.end().badly()
}

/// Short messages, long ones with lent memory, and the library's own collective.
const WAYS: [(&str, usize); 6] =
    [("plain", 16), ("plain", 1 << 19), ("staged", 16), ("staged", 1 << 19), ("native", 16), ("native", 1 << 19)];

#[test]
fn job_with_a_killed_rank_ends() {
    // The launchers end it.
    together(WAYS, |(way, elements)| drop(strike(Signal::KILL, way, elements)));
}

#[test]
fn stopped_rank_is_named_and_the_job_ends() {
    together(WAYS, |(way, elements)| {
        let agree = way == "staged" || (way, elements) == ("plain", 16);
        let mut ended = strike(Signal::STOP, way, elements);
        // If rank 1 stops while it writes a message into shared memory, its receiver gets no
        // message from any rank after that, and cannot agree with the others. That is rare.
        for _ in 0..2 {
            let failed = ended.heard("failed ");
            if agree && failed[0] != failed[2] {
                ended = strike(Signal::STOP, way, elements);
            }
        }
        assert!(ended.printed.contains("so the job ends here"), "{ended}");
        let failed = ended.heard("failed ");
        if agree {
            assert!(failed[0].is_some() && failed[0] == failed[2], "{ended}");
            assert!(ended.printed.contains("another rank has gone silent, so the job ends here"), "{ended}");
        }
        let name = "rank 1, which does not answer";
        assert!(ended.printed.contains(name) || failed[0].is_some_and(|words| words.contains(name)), "{ended}");
    });
}

#[test]
fn interrupted_rank_is_named() {
    together(WAYS, |(way, elements)| {
        let ended = Job::of(3, &format!("go {way} {elements} interrupted")).run();
        let failed = ended.heard("failed ");
        if way == "native" {
            let ended = ended.badly();
            assert!(ended.printed.contains("rank 1 has ended"), "{ended}");
        } else {
            assert!(failed[0].is_some_and(|words| words.starts_with("gone 1 ")) && failed[0] == failed[2], "{ended}");
            ended.with(0);
        }
    });
}

//! Failures in the library's own collectives. A call of the library cannot be cancelled, so the job
//! ends with a message.

use std::time::Duration;

use crate::failing::{TIMEOUT, communicator, same};
use crate::job::{Ended, Job, together};
use crate::rank::Rank;

fn run(how: &str, elements: usize) -> Ended {
    Job::of(3, &format!("fail {how} native {elements}")).run()
}

#[test]
fn mismatch_at_a_first_call_is_an_error_on_every_rank() {
    let cases = [("root", 16), ("root", 1 << 17), ("counts", 16), ("gathered", 16), ("listed", 16)];
    together(cases, |(how, elements)| {
        let ended = run(how, elements).with(0);
        let kind = if matches!(how, "counts" | "gathered") { "length - " } else { "disagree - " };
        let failure = same(&ended, &[0, 1, 2]);
        assert!(failure.starts_with(kind) && failure.contains("Rank(1)"), "{ended}");
    });
}

#[test]
fn operation_that_panics_is_an_error_on_every_rank() {
    together([("operation", 16), ("operation", 1 << 17), ("scattered", 16)], |(how, elements)| {
        let ended = run(how, elements).with(0);
        let failure = same(&ended, &[0, 1, 2]);
        assert!(failure.starts_with("aborted ") && failure.contains("the operation panicked"), "{ended}");
        assert!(ended.heard("panicked").iter().any(Option::is_some), "{ended}");
    });
}

/// Checks that the job ends in time, with an error and that message.
fn ends((how, elements, words): (&str, usize, &str)) {
    let ended = run(how, elements).badly();
    let said = ended
        .printed
        .lines()
        .any(|line| line.contains("necklace: rank ") && line.contains(words) && line.ends_with("so the job ends here"));
    assert!(said, "{ended}");
    assert!(ended.took < TIMEOUT + Duration::from_secs(20), "{ended}");
}

#[test]
fn rank_that_ends_during_a_call_ends_the_job() {
    let cases = [
        ("panics", 16, "rank 1 panicked: by plan"),
        ("panics", 1 << 17, "rank 1 panicked: by plan"),
        ("falls", 16, "rank 1 panicked"),
        ("returns", 1 << 17, "rank 1 returned before the call"),
        ("exits", 16, "rank 1 has ended"),
    ];
    together(cases, ends);
}

/// Rank 0, which may have finished its part of a scan, exits without dropping anything. Rank 1
/// comes late to that call, in which rank 2 waits for it.
pub(crate) fn part(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "native", Duration::from_secs(20));
    comm.choose("scan", "native").unwrap();
    let mut sum = [0_u64];
    comm.scan(&[1], &mut sum, necklace::op::Sum).unwrap();
    if rank.rank == 1 {
        // Longer than ranks in a call wait for a rank that has ended.
        std::thread::sleep(Duration::from_secs(3));
    }
    let last = comm.scan(&[1], &mut sum, necklace::op::Sum);
    assert_eq!(sum, [rank.rank as u64 + 1]);
    rank.report(last);
    if rank.rank == 0 {
        std::process::exit(0);
    }
    0
}

/// A process exits while one of its threads is in a call that no other rank makes.
pub(crate) fn busy(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "native", Duration::from_secs(20));
    // So that the next barrier goes to the library at once.
    comm.barrier().unwrap();
    if rank.rank == 1 {
        std::thread::spawn(move || comm.barrier());
        std::thread::sleep(Duration::from_millis(500));
        std::process::exit(0);
    }
    rank.hear(1, "what it never says");
    0
}

/// Both ranks have made two calls before. Rank 0 makes one of them, alone. Rank 1 makes the other a
/// number of times, and then leaves or makes no further call.
pub(crate) fn differ(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "native", TIMEOUT);
    let mut buffer = [1_u64; 2];
    comm.barrier().unwrap();
    for elements in [1, 2] {
        comm.broadcast(&mut buffer[..elements], 1).unwrap();
    }
    if rank.rank == 0 {
        rank.report(comm.barrier());
        return 0;
    }
    let times: usize = rank.word(1).parse().unwrap();
    (0..times).for_each(|time| comm.broadcast(&mut buffer[..1 + time % 2], 1).unwrap());
    if rank.word(2) == "stays" {
        rank.hear(0, "what it never says");
    }
    0
}

#[test]
fn rank_alone_in_a_call_ends_the_job() {
    let cases = [
        ("1 leaves", "rank 1 calls broadcast"),
        ("2 leaves", "that no other rank is in any more"),
        ("1 stays", "rank 1 calls broadcast"),
        ("20 stays", "that no other rank is in any more"),
    ];
    together(cases, |(how, words)| {
        let ended = Job::of(2, &format!("differ {how}")).run().badly();
        // If the library keeps rank 1 in its first call, the difference is found as well.
        let found = [words, "rank 1 calls broadcast"].iter().any(|words| ended.printed.contains(words));
        assert!(found && ended.printed.contains("so the job ends here"), "{how}: {ended}");
        assert!(ended.took < Duration::from_secs(20), "{how}: {ended}");
    });
}

#[test]
fn rank_that_exits_during_a_call_ends_the_job() {
    let ended = Job::of(3, "busy").run().badly();
    assert!(ended.printed.contains("a thread of this process is in a call of it, so the job ends here"), "{ended}");
    assert!(ended.took < Duration::from_secs(15), "{ended}");
}

#[test]
fn rank_that_has_done_its_part_may_exit() {
    let ended = Job::of(3, "part").run().with(0);
    assert_eq!(ended.all("well"), [""; 3], "{ended}");
}

#[test]
fn rank_absent_from_a_repeated_call_ends_the_job() {
    let cases = [
        ("absent", 16, "with rank 1, which has not called"),
        ("absent", 1 << 17, "with rank 1, which has not called"),
        ("collective", 16, "rank 1 calls allgather"),
        ("size", 1 << 17, "rank 1 calls alltoall of blocks of 131071 "),
        ("known", 16, "rank 1 calls allreduce"),
    ];
    together(cases, ends);
}

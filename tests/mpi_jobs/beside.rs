//! Jobs beside a program's own use of MPI.
#![allow(unsafe_code)]

use std::thread;
use std::time::Duration;

use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::{Color, InterCommunicator, SimpleCommunicator};
use mpi::traits::{AsRaw, Communicator as _, CommunicatorCollectives, Destination, FromRaw, Source};
use mpi::{Threading, collective::SystemOperation};
use necklace::error::JobCause;
use necklace::topology::parse;
use necklace::transport::mpi::{MpiError, MpiJoin};
use necklace::{Communicator, JobError, connect, launch};

use crate::job::Job;
use crate::rank::Rank;

fn initialize() -> Universe {
    let (universe, level) = mpi::initialize_with_threading(Threading::Multiple).unwrap();
    assert_eq!(level, Threading::Multiple);
    universe
}

/// A communicator that other threads may use as well.
#[derive(Clone, Copy)]
struct Shared<'a>(&'a SimpleCommunicator);

// SAFETY: MPI is initialized for any number of threads.
unsafe impl Send for Shared<'_> {}

impl<'a> Shared<'a> {
    fn get(self) -> &'a SimpleCommunicator {
        self.0
    }
}

/// The program's own sum over all ranks.
fn own_sum(world: &SimpleCommunicator) {
    let (rank, size, mut sum) = (world.rank(), world.size(), 0);
    world.all_reduce_into(&(rank + 1), &mut sum, SystemOperation::sum());
    assert_eq!(sum, size * (size + 1) / 2);
}

/// The program's own messages around a ring, from any source, with any tag.
fn own_ring(world: &SimpleCommunicator, laps: i32) {
    let (rank, size) = (world.rank(), world.size());
    let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
    for lap in 0..laps {
        let tag = 1 + lap % 2;
        let value = [1000 * lap + rank; 3];
        mpi::request::scope(|scope| {
            let sending = world.process_at_rank(next).immediate_send_with_tag(scope, &value[..], tag);
            let (found, status) = world.any_process().receive_vec::<i32>();
            assert_eq!((found, status.source_rank(), status.tag()), (vec![1000 * lap + last; 3], last, tag));
            sending.wait();
        });
    }
}

/// Collectives of this crate, by messages and by the library.
fn ours(rank: &Rank, comm: &mut Communicator) {
    let size = comm.size();
    for algorithm in ["direct", "native"] {
        comm.choose("alltoall", algorithm).unwrap();
        for elements in [1, 100, 50_000] {
            for _ in 0..5 {
                let me = comm.rank();
                let send: Vec<u64> = (0..size * elements).map(|i| (me * size + i / elements) as u64).collect();
                let mut receive = vec![0; send.len()];
                comm.alltoall(&send, &mut receive).unwrap();
                let expected: Vec<u64> = (0..size * elements).map(|i| (i / elements * size + me) as u64).collect();
                assert_eq!(receive, expected);
                rank.check(comm).unwrap();
            }
        }
    }
}

fn say(rank: &Rank, error: &impl std::fmt::Display) {
    rank.say(format!("error {error}"));
}

/// Uses MPI and this crate at the same time, and then drops and finalizes in a given order.
pub(crate) fn beside(rank: &Rank) -> i32 {
    let universe = initialize();
    let world = universe.world();
    own_sum(&world);
    let mut comm = connect().unwrap();
    let shared = Shared(&world);
    thread::scope(|scope| {
        scope.spawn(move || own_ring(shared.get(), 200));
        ours(rank, &mut comm);
    });
    let other = world.duplicate();
    let shared = Shared(&other);
    thread::scope(|scope| {
        scope.spawn(move || (0..50).for_each(|_| own_sum(shared.get())));
        ours(rank, &mut comm);
    });
    own_sum(&world);
    drop(other);
    let how = rank.word(1);
    let split = comm.split(0, 0).unwrap();
    if how == "before" {
        drop((comm, split));
        drop(universe);
        return 0;
    }
    // The library's own finalization.
    if how == "bare" {
        std::mem::forget(universe);
        // SAFETY: nothing is under way.
        unsafe { ffi::MPI_Finalize() };
    } else {
        drop(universe);
    }
    rank.say("finalized");
    let mut split = split;
    for algorithm in ["dissemination", "native"] {
        comm.choose("barrier", algorithm).unwrap();
        say(rank, &comm.barrier().unwrap_err());
        split.choose("barrier", algorithm).unwrap();
        say(rank, &split.barrier().unwrap_err());
    }
    say(rank, &comm.split(0, 0).unwrap_err());
    let mut buffer = vec![0_u64; 100_000];
    say(rank, &comm.broadcast(&mut buffer, 0).unwrap_err());
    let error = connect().unwrap_err();
    assert!(matches!(error.cause(), JobCause::Mpi(MpiError::Finalized)), "{error}");
    drop(comm);
    0
}

/// Communicators of the program's own.
pub(crate) fn parts(rank: &Rank) -> i32 {
    let universe = initialize();
    let world = universe.world();
    let ring = |join: MpiJoin, nodes: usize| {
        let endpoint = join.timeout(Duration::from_secs(30)).endpoint()?;
        Ok::<_, JobError>(Communicator::new(endpoint, parse(&format!("ring:{nodes}")).unwrap())?)
    };
    let part = world.split_by_color(Color::with_value(world.rank() % 2)).unwrap();
    let copy = world.duplicate();
    let mut half = ring(MpiJoin::from_communicator(&part).unwrap(), rank.size / 2).unwrap();
    let mut whole = ring(MpiJoin::from_communicator(&copy).unwrap(), rank.size).unwrap();
    assert_eq!((half.rank(), half.size()), (rank.rank / 2, rank.size / 2));
    assert_eq!((whole.rank(), whole.size()), (rank.rank, rank.size));
    // The program's communicators contain no messages of this crate.
    drop((part, copy));
    thread::scope(|scope| {
        scope.spawn(|| ours(rank, &mut half));
        ours(rank, &mut whole);
    });
    say(rank, &ring(MpiJoin::from_communicator(&world).unwrap(), rank.size + 1).unwrap_err());
    // SAFETY: the arguments are what MPI asks for; both halves call it.
    let inter = unsafe {
        let local = world.split_by_color(Color::with_value(world.rank() % 2)).unwrap();
        let mut inter = ffi::RSMPI_COMM_NULL;
        let leader = 1 - world.rank() % 2;
        ffi::MPI_Intercomm_create(local.as_raw(), 0, world.as_raw(), leader, 7, &mut inter);
        InterCommunicator::from_raw(inter)
    };
    say(rank, &ring(MpiJoin::from_communicator(&inter).unwrap(), rank.size).unwrap_err());
    ours(rank, &mut whole);
    drop(inter);
    drop((half, whole));
    0
}

/// Joins after MPI was finalized.
pub(crate) fn finalized(rank: &Rank) -> i32 {
    drop(initialize());
    for _ in 0..2 {
        let error = if rank.word(1) == "launch" { launch(|_| ()).unwrap_err() } else { connect().unwrap_err() };
        assert!(matches!(error.cause(), JobCause::Mpi(MpiError::Finalized)), "{error}");
        say(rank, &error);
    }
    0
}

/// The program has requested a lower thread level.
pub(crate) fn level(rank: &Rank) -> i32 {
    let (universe, level) = match rank.word(1) {
        "none" => {
            let universe = mpi::initialize().unwrap();
            (universe, mpi::environment::threading_support())
        }
        "single" => mpi::initialize_with_threading(Threading::Single).unwrap(),
        "funneled" => mpi::initialize_with_threading(Threading::Funneled).unwrap(),
        _ => mpi::initialize_with_threading(Threading::Serialized).unwrap(),
    };
    rank.say(format!("level {level:?}"));
    say(rank, &connect().unwrap_err());
    say(rank, &launch(|_| ()).unwrap_err());
    // The program continues without this crate.
    own_sum(&universe.world());
    0
}

/// One rank never calls.
pub(crate) fn late(rank: &Rank) -> i32 {
    let universe = (rank.word(1) == "begun" || rank.word(1) == "mixed" && rank.rank == 1).then(initialize);
    if rank.rank == 1 {
        rank.hear_all("error");
        if rank.word(1) == "mixed" {
            // The others end the job. If a rank is in MPI_Finalize then, the launcher of Open MPI
            // may hang.
            rank.hear(0, "what it never says");
        }
    } else {
        let error = connect().unwrap_err();
        assert!(matches!(error.cause(), JobCause::Mpi(MpiError::Late { .. })), "{error}");
        say(rank, &error);
    }
    drop(universe);
    0
}

/// A second job that a rank does not join, beside one that continues.
pub(crate) fn second(rank: &Rank) -> i32 {
    let mut comm = connect().unwrap();
    if rank.rank == 1 {
        rank.hear_all("error ");
    } else {
        let error = MpiJoin::world_within(Duration::from_secs(2)).unwrap().endpoint().unwrap_err();
        say(rank, &error);
    }
    comm.choose("alltoall", "native").unwrap();
    for _ in 0..3 {
        rank.check(&mut comm).unwrap();
    }
    rank.say("goes on");
    0
}

/// Threads of one process that each join their own job.
pub(crate) fn threads(rank: &Rank) -> i32 {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut comm = connect().unwrap();
                comm.choose("alltoall", "native").unwrap();
                (0..10).for_each(|_| rank.check(&mut comm).unwrap());
            });
        }
    });
    rank.say("well");
    0
}

#[test]
fn job_continues_while_another_has_not_started() {
    let ended = Job::of(3, "second").run().badly();
    let errors = ended.heard("error ");
    assert!(errors[0].is_some_and(|error| error.contains("not all 3 ranks")) && errors[0] == errors[2], "{ended}");
    assert_eq!(ended.all("goes on"), [""; 3]);
    assert!(ended.printed.contains("it still waits for ranks that have not called, so the job ends here"), "{ended}");
}

#[test]
fn threads_start_jobs_at_the_same_time() {
    assert_eq!(Job::of(2, "threads").run().with(0).all("well"), [""; 2]);
}

#[test]
fn program_uses_mpi_itself_at_the_same_time() {
    Job::of(3, "beside before").run().with(0);
}

#[test]
fn calls_after_the_finalization_are_errors() {
    for how in ["alive", "bare"] {
        let ended = Job::of(3, &format!("beside {how}")).run().with(0);
        for said in &ended.said {
            let errors: Vec<&String> = said.iter().filter(|line| line.starts_with("error ")).collect();
            assert!(errors.len() == 6 && errors.iter().all(|error| error.contains("has ended")), "{ended}");
        }
        assert_eq!(ended.all("ends "), ["0"; 3]);
    }
}

#[test]
fn jobs_run_on_the_programs_own_communicators() {
    let ended = Job::of(4, "parts").run().with(0);
    assert_eq!(ended.all("ends "), ["0"; 4]);
    for said in &ended.said {
        let errors: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("error ")).collect();
        let [size, inter] = errors[..] else { panic!("{ended}") };
        assert!(size.contains("): 4 ranks do not fit ring:5 (5 nodes); use "), "{ended}");
        assert!(inter.contains("an intercommunicator"), "{ended}");
    }
}

#[test]
fn mpi_is_not_initialized_twice() {
    for what in ["finalized launch", "finalized connect"] {
        let ended = Job::of(2, what).run().with(0);
        assert!(ended.all("error ").iter().all(|error| error.contains("MPI was finalized")), "{ended}");
    }
}

#[test]
fn too_low_thread_level_is_named_with_the_needed_one() {
    for (level, name) in
        [("single", "SINGLE"), ("funneled", "FUNNELED"), ("serialized", "SERIALIZED"), ("none", "SINGLE")]
    {
        let ended = Job::of(2, &format!("level {level}")).run().with(0);
        for said in &ended.said {
            let errors: Vec<&String> = said.iter().filter(|line| line.starts_with("error ")).collect();
            let named = |error: &&String| {
                error.contains(&format!("MPI_THREAD_{name}")) && error.contains("MPI_THREAD_MULTIPLE")
            };
            assert!(errors.len() == 2 && errors.iter().all(named), "{ended}");
        }
        assert_eq!(ended.all("ends "), ["0"; 2]);
    }
}

#[test]
fn rank_that_never_calls_does_not_block_the_others() {
    let begun = Job::of(3, "late begun").set("NECKLACE_TIMEOUT", "2").run().with(0);
    let errors = begun.heard("error ");
    let words =
        Some("after 2s, not all 3 ranks of the communicator have made this collective call; every rank must make it");
    assert_eq!(errors, [words, None, words], "{begun}");
    // If this crate has initialized MPI, it does not finalize it while it waits for other ranks.
    let mixed = Job::of(3, "late mixed").set("NECKLACE_TIMEOUT", "2").run().badly();
    assert_eq!(mixed.heard("error "), [words, None, words], "{mixed}");
    assert!(mixed.printed.contains("it still waits for ranks that have not called, so the job ends here"), "{mixed}");
    // A pending MPI_Init_thread cannot be cancelled.
    let not = Job::of(3, "late not").set("NECKLACE_TIMEOUT", "2").run().badly();
    assert!(not.printed.contains("MPI_Init_thread has not returned after 2s"), "{not}");
}

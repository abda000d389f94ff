//! Tests whose ranks are real processes, which `Launch::processes` starts: each runs its test alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use necklace::error::{BuildError, JobCause};
use necklace::launch::Launch;
use necklace::op::Sum;
use necklace::{JobError, Options, Rank};
use necklace_tests::suites::definitions::everything;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Whether this process was started by another one, which is rank 0.
fn is_started() -> bool {
    env::var_os("NECKLACE_STARTED_AT").is_some()
}

fn ended(error: &JobError) -> (usize, &str, &str) {
    match (error.rank(), error.cause()) {
        (Some(rank), JobCause::Process { status, output, .. }) => (rank.index(), status, output),
        _ => panic!("{error}"),
    }
}

#[test]
fn every_process_has_its_own_result() {
    let results = Launch::processes(4).topology("torus:2x2").choose("alltoall", "torus-exchange").run(|mut comm| {
        let (mut sum, mut all) = ([0], [0; 4]);
        comm.allreduce(&[process::id() as u64], &mut sum, Sum).unwrap();
        comm.allgather(&[process::id()], &mut all).unwrap();
        let mut received = [0; 4];
        comm.alltoall(&[10 * comm.rank(); 4], &mut received).unwrap();
        assert_eq!((received, comm.topology().text().as_str()), ([0, 10, 20, 30], "torus:2x2"));
        (comm.rank(), sum[0], all)
    });
    let [(rank, sum, mut all)] = results.unwrap()[..] else { panic!("one result in each process") };
    assert_eq!((rank > 0, sum), (is_started(), all.iter().map(|&id| u64::from(id)).sum()));
    assert_eq!(all[rank], process::id());
    all.sort_unstable();
    assert!(all.is_sorted_by(|a, b| a < b), "four processes: {all:?}");
}

#[test]
fn every_collective_has_correct_results_between_processes() {
    let done = Launch::processes(5).run(|mut comm| everything::<u64>(&mut comm, 3)).unwrap();
    assert_eq!(done.len(), 1);
}

#[test]
fn job_of_one_process_starts_none() {
    assert_eq!(Launch::processes(1).run(|comm| comm.size()).unwrap(), [1]);
    assert!(!is_started());
}

/// A launch that comes first runs in each process as in the first one: as threads.
#[test]
fn launches_before_are_repeated_by_each_process() {
    let of_threads = Launch::from_env().ranks(3).run(|comm| comm.size()).unwrap();
    assert_eq!(of_threads, [3; 3]);
    assert_eq!(Launch::processes(2).run(|comm| comm.size()).unwrap(), [2]);
    assert_eq!(Launch::from_env().ranks(3).run(|comm| comm.size()).unwrap(), [3; 3]);
}

#[test]
fn panic_of_a_process_is_told_to_the_others_with_its_output() {
    let run = Launch::processes(3).run(|mut comm| {
        assert!(comm.rank() != 2, "no more paper");
        comm.barrier()
    });
    if let (true, Ok(results)) = (is_started(), &run) {
        let error = results[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("rank 2") && error.contains("no more paper"), "{error}");
        return;
    }
    let error = run.unwrap_err();
    if is_started() {
        assert_eq!(error.rank(), Some(Rank::new(2)));
        panic!("{error}");
    }
    let (rank, status, output) = ended(&error);
    assert_eq!((rank, status), (2, "status 101"), "{error}");
    assert!(output.contains("no more paper"), "{output}");
    assert!(error.to_string().starts_with("rank 2 ended with status 101; its output:\n"), "{error}");
}

#[test]
fn process_that_ends_before_it_joins_fails_the_job_at_once() {
    if env::var("NECKLACE_RANK").is_ok_and(|rank| rank == "1") {
        eprintln!("out of ink");
        process::exit(3);
    }
    let began = Instant::now();
    let error = Launch::processes(3).run(|_| ()).unwrap_err();
    if is_started() {
        assert!(error.to_string().contains("rank 1"), "{error}");
        return;
    }
    // Before the timeout of 300 seconds.
    assert!(began.elapsed() < Duration::from_secs(100));
    let (rank, status, output) = ended(&error);
    assert_eq!(rank, 1);
    assert!(status.starts_with("status 3 before it had joined the job of Launch::processes ("), "{status}");
    assert!(output.contains("out of ink"), "{output}");
}

#[test]
fn process_that_is_killed_fails_started_calls() {
    let run = Launch::processes(3).run(|mut comm| {
        let pending = comm.start(vec![0; 3], |comm, buffer| {
            comm.barrier()?;
            if comm.rank() == 1 {
                kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
            }
            comm.broadcast(buffer, 1)
        });
        let (buffer, result) = pending.wait();
        assert_eq!(buffer.len(), 3);
        let started = result.unwrap_err();
        assert_eq!(started.culprit(), Some(Rank::new(1)), "{started}");
        // The other communicator learns the same.
        comm.barrier()
    });
    if is_started() {
        let error = run.unwrap()[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("rank 1"), "{error}");
        return;
    }
    let error = run.unwrap_err();
    let (rank, status, _) = ended(&error);
    assert_eq!((rank, status), (1, "signal 9"), "{error}");
}

#[test]
fn process_that_is_killed_fails_the_job() {
    let run = Launch::processes(3).run(|mut comm| {
        comm.barrier()?;
        if comm.rank() == 1 {
            kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
        }
        comm.barrier()
    });
    if is_started() {
        let error = run.unwrap()[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("rank 1"), "{error}");
        return;
    }
    let error = run.unwrap_err();
    assert_eq!(ended(&error).0, 1, "{error}");
    assert!(error.to_string().starts_with("rank 1 ended with signal 9"), "{error}");
}

#[test]
fn process_that_fails_after_the_job_fails_the_launch() {
    let run = Launch::processes(3).run(|comm| comm.rank());
    if let (true, Ok(rank)) = (is_started(), &run) {
        assert_ne!(rank, &[2], "checked after the job");
        return;
    }
    let error = run.unwrap_err();
    let (rank, status, output) = ended(&error);
    assert!((rank, status) == (2, "status 101") && output.contains("checked after the job"), "{error}");
}

/// Also where the call of the first process fails, and that is the error of its closure.
#[test]
fn process_that_ends_in_the_job_is_reported_with_its_output() {
    let run = Launch::processes(3).run(|mut comm| {
        if comm.rank() == 2 {
            eprintln!("out of ink");
            process::exit(3);
        }
        comm.barrier().unwrap();
    });
    let error = run.unwrap_err();
    if is_started() {
        assert_eq!(error.rank(), Some(Rank::new(2)));
        return;
    }
    let (rank, status, output) = ended(&error);
    assert!((rank, status) == (2, "status 3") && output.contains("out of ink"), "{error}");
}

/// The others have reported it and ended.
#[test]
fn process_that_hangs_is_killed_after_a_call_has_failed() {
    let second = Duration::from_secs(1);
    let options = Options::default().timeout(second).arrival_timeout(second);
    let run = Launch::processes(3).options(options).run(|mut comm| {
        if comm.rank() == 1 {
            thread::sleep(Duration::from_secs(1000));
        }
        comm.barrier().map_err(|error| error.to_string())
    });
    if is_started() {
        assert!(run.unwrap()[0].as_ref().unwrap_err().contains("rank 1"));
        return;
    }
    let error = run.unwrap_err();
    assert_eq!(error.rank(), Some(Rank::new(1)), "{error}");
}

#[test]
fn process_that_comes_too_late_is_named() {
    if env::var("NECKLACE_RANK").is_ok_and(|rank| rank == "2") {
        thread::sleep(Duration::from_secs(1000));
    }
    let options = Options::default().timeout(Duration::from_secs(2));
    let error = Launch::processes(3).options(options).run(|_| ()).unwrap_err();
    assert!(matches!(error.cause(), JobCause::Join(_)), "{error}");
    assert!(error.to_string().contains("missing: "), "{error}");
}

#[test]
fn launch_after_an_invalid_one_is_joined_by_the_same_launch() {
    let sums = [0, 3].map(|ranks| Launch::processes(ranks).run(|mut comm| comm.allreduce_one(ranks, Sum).unwrap()));
    assert!(matches!(sums[0].as_ref().unwrap_err().cause(), JobCause::Ranks { .. }));
    assert_eq!(sums[1].as_ref().unwrap(), &[9]);
}

#[test]
fn panic_of_rank_0_ends_the_others() {
    let run = Launch::processes(3).run(|mut comm| {
        assert!(comm.rank() != 0, "no");
        comm.barrier().unwrap();
        thread::sleep(Duration::from_secs(1000));
    });
    let error = run.unwrap_err();
    assert!(error.to_string().contains("rank 0 panicked: no"), "{error}");
    assert_eq!(error.rank(), Some(Rank::new(0)));
}

#[test]
fn invalid_jobs_start_no_process() {
    for number in [0, 1025, usize::MAX] {
        let error = Launch::processes(number).run(|_| ()).unwrap_err();
        let words = format!("a job cannot have {number} ranks; expected 1 to 1024");
        assert!(matches!(error.cause(), JobCause::Ranks { .. }), "{error}");
        assert!(error.to_string().starts_with("Launch::processes (") && error.to_string().ends_with(&words), "{error}");
        let error = Launch::processes(3).topology("ring:4").run(|_| ()).unwrap_err();
        let is_source = |source: &BuildError| matches!(source, BuildError::Ranks { ranks: 3, nodes: 4, .. });
        assert!(matches!(error.cause(), JobCause::Network { source, .. } if is_source(source)), "{error}");
        let error = Launch::processes(3).connect().unwrap_err();
        assert!(matches!(error.cause(), JobCause::NoLauncher(_)), "{error}");
    }
    // None of them has counted as the launch of this test.
    assert_eq!(Launch::processes(2).run(|comm| comm.size()).unwrap(), [2]);
}

#[test]
fn second_start_of_a_test_is_refused() {
    assert_eq!(Launch::processes(2).run(|comm| comm.size()).unwrap(), [2]);
    let error = Launch::processes(2).run(|_| ()).unwrap_err();
    assert!(matches!(error.cause(), JobCause::Start { .. }), "{error}");
    assert!(error.to_string().contains("this test has started processes before"), "{error}");
}

/// The others begin at the first launch, which is not theirs.
#[test]
fn processes_that_meet_another_launch_first_fail() {
    let error = match is_started() {
        true => Launch::processes(2).run(|_| ()).unwrap_err(),
        false => Launch::processes(2).run(|_| ()).unwrap_err(),
    };
    let words = "NECKLACE_STARTED_AT is \"1: Launch::processes (";
    if is_started() {
        assert!(matches!(error.cause(), JobCause::Contradiction { .. }), "{error}");
        assert!(error.to_string().starts_with(words), "{error}");
        panic!("{error}");
    }
    let (rank, status, output) = ended(&error);
    assert!(rank == 1 && status.starts_with("status 101 before it had joined"), "{error}");
    assert!(output.contains(words), "{output}");
}

#[test]
fn thread_without_the_name_of_its_test_is_refused() {
    let error = thread::spawn(|| Launch::processes(2).run(|_| ()).unwrap_err()).join().unwrap();
    assert!(error.to_string().contains("call `run` on the thread of the test"), "{error}");
}

/// Runs a test of this file in a process of its own, whose temporary files are in `directory`.
fn program(test: &str, directory: &Path) -> Child {
    fs::create_dir_all(directory).unwrap();
    let mut program = Command::new(env::current_exe().unwrap());
    program.args([&format!("processes::{test}"), "--exact"]).env(DIRECTORY, directory).env("TMPDIR", directory);
    program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Set in the process of a test that is a program too.
const DIRECTORY: &str = "NECKLACE_TESTS_DIRECTORY";

fn directory(test: &str) -> PathBuf {
    env::temp_dir().join(format!("necklace-{test}-{}", process::id()))
}

/// Writes the number of this process into the directory.
fn announce(directory: &OsStr) {
    let name = PathBuf::from(directory).join(format!("process-{}", env::var("NECKLACE_RANK").unwrap_or_default()));
    fs::write(name, process::id().to_string()).unwrap();
}

/// Waits until ranks 1 and 2 have done that, kills the program, and waits until they have ended.
/// Returns what is left in the directory.
fn killed(mut program: Child, directory: &Path) -> Vec<PathBuf> {
    let number = |rank: usize| loop {
        let text = fs::read_to_string(directory.join(format!("process-{rank}")));
        match text.ok().and_then(|text| text.parse().ok()) {
            Some(number) => return Pid::from_raw(number).unwrap(),
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let started = [1, 2].map(number);
    program.kill().unwrap();
    program.wait().unwrap();
    let killed = Instant::now();
    while started.iter().any(|&process| is_running(process)) {
        assert!(killed.elapsed() < Duration::from_secs(100), "they run on");
        thread::sleep(Duration::from_millis(10));
    }
    let left = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let left = left.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("process-")).collect();
    fs::remove_dir_all(directory).unwrap();
    left
}

#[test]
fn processes_end_when_the_first_is_killed() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        let _ = Launch::processes(3).run(|mut comm| {
            comm.barrier().unwrap();
            announce(&directory);
            thread::sleep(Duration::from_secs(1000));
        });
        return;
    }
    let directory = directory("killed");
    let program = program("processes_end_when_the_first_is_killed", &directory);
    assert_eq!(killed(program, &directory), Vec::<PathBuf>::new());
}

#[test]
fn processes_end_when_the_first_was_killed_before_they_join() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        announce(&directory);
        if is_started() {
            thread::sleep(Duration::from_secs(2));
        }
        let _ = Launch::processes(3).run(|_| ());
        // Longer than the test waits.
        thread::sleep(Duration::from_secs(1000));
        return;
    }
    let directory = directory("killed-before");
    let program = program("processes_end_when_the_first_was_killed_before_they_join", &directory);
    assert_eq!(killed(program, &directory), Vec::<PathBuf>::new());
}

/// Whether a process exists and is no zombie: its new parent may not reap it soon.
fn is_running(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    test_kill_process(process).is_ok() && !matches!(state, Some("Z" | "X"))
}

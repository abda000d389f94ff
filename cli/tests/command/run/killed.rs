//! Tests with a killed launcher, agent or reaper: nothing is left at any time.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};

use super::sandbox::{Running, Sandbox, until};
use super::{ENDLESS, PARENT, STUBBORN, ended_well};

#[test]
fn killed_launcher_leaves_nothing() {
    let sandbox = Sandbox::new("killed");
    for script in [ENDLESS, STUBBORN, PARENT] {
        for group in [false, true] {
            let mut job = sandbox.start(&["-n", "3", "--", script]);
            let lines = job.lines(3);
            let root = lines[0].rsplit_once(' ').unwrap().1.to_owned();
            assert!(TcpListener::bind(&root).is_err(), "{root} is held");
            assert_eq!(fs::read_dir(sandbox.directory.join("keys")).unwrap().count(), 1);
            if group {
                kill_process_group(job.launcher(), Signal::KILL).unwrap();
            } else {
                job.send(Signal::KILL);
            }
            assert_eq!(job.end().0.signal(), Some(9));
            sandbox.nothing_is_left();
            drop(until("the port is free", || TcpListener::bind(&root)));
        }
    }
}

#[test]
fn sessions_created_by_ranks_end_with_the_job() {
    let sandbox = Sandbox::new("sessions");
    // In the background, because `setsid` forks if it leads a process group.
    let script = "setsid -w sh -c 'setsid sleep 1000 & sleep 1000 & echo ready; wait' & wait";
    assert_eq!(ended_well(&sandbox.run(&["-n", "2", "setsid", "sleep", "1000"])), "");
    let mut job = sandbox.start(&["-n", "3", "--", script]);
    job.lines(3);
    job.send(Signal::KILL);
    job.end();
    sandbox.nothing_is_left();
    // A job that a rank starts in its own session ends too, and removes its own key.
    let script =
        format!("setsid -w {} run -n 2 --no-prefix sh -c 'echo ready; sleep 1000'", env!("CARGO_BIN_EXE_necklace"));
    for kill_agent in [false, true] {
        let mut job = sandbox.start(&["-n", "2", "--", &script]);
        job.lines(4);
        if kill_agent {
            kill_process(sandbox.called("agent").unwrap(), Signal::KILL).unwrap();
        } else {
            job.send(Signal::KILL);
        }
        job.end();
        sandbox.nothing_is_left();
    }
}

#[test]
fn key_exists_as_long_as_ranks_live() {
    let sandbox = Sandbox::new("living");
    let script = "echo ready; while test -e $NECKLACE_KEY_FILE; do :; done; : >missed";
    for _ in 0..5 {
        let mut job = sandbox.start(&["-n", "8", "--", script]);
        job.lines(8);
        job.send(Signal::KILL);
        job.end();
        sandbox.nothing_is_left();
        assert!(!sandbox.directory.join("missed").exists());
    }
}

#[test]
fn launcher_killed_at_any_moment_leaves_nothing() {
    let sandbox = Sandbox::new("moments");
    for moment in 0..60 {
        let job = sandbox.start(&["-n", "4", "--", ENDLESS]);
        thread::sleep(Duration::from_micros(250 * moment));
        job.send(Signal::KILL);
        job.end();
        sandbox.nothing_is_left();
    }
}

#[test]
fn killed_agent_or_reaper_fails_the_job() {
    let sandbox = Sandbox::new("agents");
    for (which, words) in [("agent", "the agent on"), ("reaper", "the reaper of the ranks has ended")] {
        for script in [ENDLESS, STUBBORN, PARENT] {
            let mut job = sandbox.start(&["-n", "3", "--", script]);
            job.lines(3);
            kill_process(sandbox.called(which).unwrap(), Signal::KILL).unwrap();
            let (status, error) = ends_and_leaves_nothing(&sandbox, job, which);
            assert_eq!(status.code(), Some(1), "{error}");
            assert!(error.contains(words), "{error}");
        }
    }
}

#[test]
fn agent_or_reaper_killed_at_any_moment_leaves_nothing() {
    for which in ["agent", "reaper"] {
        let sandbox = Sandbox::new(&format!("{which}_moments"));
        for moment in 0..30 {
            let job = sandbox.start(&["-n", "6", "--", ENDLESS]);
            let process = until("there is one", || sandbox.called(which).ok_or("there is none"));
            thread::sleep(Duration::from_micros(150 * moment));
            kill_process(process, Signal::KILL).unwrap();
            let (status, error) = ends_and_leaves_nothing(&sandbox, job, which);
            assert_eq!(status.code(), Some(1), "{error}");
        }
    }
}

#[test]
fn ranks_end_when_launcher_agent_and_reaper_are_killed() {
    let sandbox = Sandbox::new("at_once");
    for with_launcher in [false, true] {
        let mut job = sandbox.start(&["-n", "3", "--", "echo ready; exec sleep 1000"]);
        job.lines(3);
        kill_all(&sandbox, with_launcher.then(|| job.launcher()));
        job.end();
        no_process_is_left(&sandbox);
    }
    // The next job removes the keys, unless they are so young that their job may be starting.
    let keys = fs::read_dir(sandbox.directory.join("keys")).unwrap().map(|entry| entry.unwrap().path());
    let keys: Vec<_> = keys.collect();
    assert_eq!(keys.len(), 2);
    let mut job = sandbox.start(&["-n", "1", "--", "echo ready; exec sleep 1000"]);
    job.lines(1);
    assert!(keys.iter().all(|key| key.exists()));
    make_keys_old(&sandbox);
    ended_well(&sandbox.command(&["-n", "1", "--", ":"]).output().unwrap());
    // It keeps the key of a running job.
    assert!(keys.iter().all(|key| !key.exists()));
    assert_eq!(fs::read_dir(sandbox.directory.join("keys")).unwrap().count(), 1);
    job.send(Signal::TERM);
    job.end();
    sandbox.nothing_is_left();
}

#[test]
fn library_ranks_end_and_remove_the_key_when_all_else_is_killed() {
    let sandbox = Sandbox::new("at_once_library");
    let rank = format!(
        "{} bench-rank --collective alltoall --bytes 8 --calls 1000000000 --samples 1",
        env!("CARGO_BIN_EXE_necklace")
    );
    // Also if the rank is a child of the process that the agent has started, and has children
    // itself.
    for script in [format!("exec {rank}"), format!("sleep 1000 & {rank}; :")] {
        for (with_launcher, stopped) in [(false, 0), (true, 0), (false, 1), (true, 2)] {
            let job = sandbox.start(&["-n", "2", "--", &script]);
            let ranks = || {
                let ranks = watching(&sandbox);
                if ranks.len() == 2 { Ok(ranks) } else { Err(sandbox.left()) }
            };
            for rank in &until("the ranks watch", ranks)[..stopped] {
                kill_process(*rank, Signal::STOP).unwrap();
            }
            kill_all(&sandbox, with_launcher.then(|| job.launcher()));
            job.end();
            if stopped == 0 {
                sandbox.nothing_is_left();
                continue;
            }
            // The system may end a stopped rank by SIGHUP, before it can remove the key.
            no_process_is_left(&sandbox);
            for key in fs::read_dir(sandbox.directory.join("keys")).unwrap() {
                fs::remove_dir_all(key.unwrap().path()).unwrap();
            }
        }
    }
}

#[test]
fn library_rank_ends_its_children_after_another_has_ended() {
    let sandbox = Sandbox::new("returning_library");
    // So few calls that it returns in time once they fail, and too many to be done before.
    let rank = format!(
        "{} bench-rank --collective alltoall --bytes 8 --calls 1000000 --samples 1",
        env!("CARGO_BIN_EXE_necklace")
    );
    let script = format!("[ $NECKLACE_RANK = 0 ] && exec {rank}; sleep 1000 & {rank}; :");
    let job = sandbox.start(&["-n", "2", "--", &script]);
    let ranks = || Some(watching(&sandbox)).filter(|ranks| ranks.len() == 2).ok_or_else(|| sandbox.left());
    let ranks = until("the ranks watch", ranks);
    kill_all(&sandbox, Some(job.launcher()));
    // The other then notices its end before it has waited for the reaper.
    let alone = ranks.into_iter().find(|rank| getpgid(Some(*rank)) == Ok(*rank)).unwrap();
    kill_process(alone, Signal::KILL).unwrap();
    job.end();
    sandbox.nothing_is_left();
}

/// Waits for a job whose agent or reaper was killed, and then until nothing of it is left. Returns
/// its status and standard error.
///
/// A launcher kills an agent that has not cleaned up for [`CLEANUP`], as on an overloaded machine.
/// If its reaper was killed before, the key stays until the next job.
fn ends_and_leaves_nothing(sandbox: &Sandbox, job: Running, killed: &str) -> (ExitStatus, String) {
    let since = Instant::now();
    let (status, _, error) = job.end();
    eprintln!("{killed} killed; the job ended {:?} later: {status}, {error:?}", since.elapsed());
    if killed == "reaper" && since.elapsed() >= CLEANUP {
        no_process_is_left(sandbox);
        make_keys_old(sandbox);
        ended_well(&sandbox.command(&["-n", "1", "--", ":"]).output().unwrap());
    }
    sandbox.nothing_is_left();
    (status, error)
}

/// Time from the failure of a job until its launcher kills an agent that runs: until the ranks are
/// killed, until the last order, and for the cleanup.
const CLEANUP: Duration = Duration::from_secs(2 + 2 + 3);

fn no_process_is_left(sandbox: &Sandbox) {
    until("no process is left", || sandbox.processes().is_empty().then_some(()).ok_or_else(|| sandbox.left()));
}

/// Makes all keys so old that no job of theirs can be starting.
fn make_keys_old(sandbox: &Sandbox) {
    let old = SystemTime::now() - Duration::from_secs(60);
    for key in sandbox.keys() {
        fs::File::open(key).unwrap().set_modified(old).unwrap();
    }
}

/// Kills reaper, agent and the given process. All are stopped first, so that none notices the end
/// of another.
fn kill_all(sandbox: &Sandbox, launcher: Option<Pid>) {
    let processes = [sandbox.called("reaper"), sandbox.called("agent"), launcher];
    for signal in [Signal::STOP, Signal::KILL] {
        for process in processes.into_iter().flatten() {
            kill_process(process, signal).unwrap();
        }
    }
}

/// Returns the processes with a thread that waits for the end of their agent.
fn watching(sandbox: &Sandbox) -> Vec<Pid> {
    let watches = |process: &Pid| {
        let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).into_iter().flatten().flatten();
        let mut names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|name| name.starts_with("necklace-launch"))
    };
    sandbox.processes().into_iter().map(|(process, _)| process).filter(watches).collect()
}

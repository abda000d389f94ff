//! Tests with a stopped launcher, agent or reaper: the job still ends, with its own status if that
//! is known.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Running, Sandbox, until};
use super::{ENDLESS, PARENT, STUBBORN};

#[test]
fn job_ends_while_its_reaper_is_stopped() {
    let sandbox = Sandbox::new("stopped_reaper");
    for status in [0, 3] {
        let script = format!("echo ready; until test -e go; do sleep 0.01; done; exit {status}");
        let mut job = sandbox.start(&["-n", "2", "--", &script]);
        job.lines(2);
        kill_process(sandbox.called("reaper").unwrap(), Signal::STOP).unwrap();
        fs::write(sandbox.directory.join("go"), "").unwrap();
        assert_eq!(job.end().0.code(), Some(status));
        sandbox.nothing_is_left();
        fs::remove_file(sandbox.directory.join("go")).unwrap();
    }
}

#[test]
fn killed_launcher_with_stopped_reaper_leaves_nothing() {
    let sandbox = Sandbox::new("stopped_killed");
    let mut job = sandbox.start(&["-n", "2", "--", ENDLESS]);
    job.lines(2);
    kill_process(sandbox.called("reaper").unwrap(), Signal::STOP).unwrap();
    job.send(Signal::KILL);
    job.end();
    sandbox.nothing_is_left();
}

#[test]
fn stopped_agent_fails_the_job_after_the_timeout() {
    let sandbox = Sandbox::new("stopped_agent");
    let mut job = sandbox.start(&["-n", "2", "--timeout", "1", "--", ENDLESS]);
    job.lines(2);
    kill_process(sandbox.called("agent").unwrap(), Signal::STOP).unwrap();
    let (status, _, error) = job.end();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(error.contains("does not answer: its agent has been silent for 1 s"), "{error}");
    sandbox.nothing_is_left();
}

#[test]
fn killed_launcher_with_stopped_agent_leaves_nothing() {
    let sandbox = Sandbox::new("stopped_orphan");
    let stand_in = sandbox.stand_in();
    for on in [&[][..], &["--hosts", "one,two", "--remote-shell", &stand_in]] {
        for script in [ENDLESS, STUBBORN, PARENT] {
            let mut job = sandbox.start(&[&["-n", "4"], on, &["--", script]].concat());
            job.lines(4);
            for agent in sandbox.all_called("agent") {
                kill_process(agent, Signal::STOP).unwrap();
            }
            job.send(Signal::KILL);
            job.end();
            sandbox.nothing_is_left();
        }
    }
}

#[test]
fn reaper_cleans_up_while_others_hold_the_agents_pipe() {
    let sandbox = Sandbox::new("stopped_holder");
    let path = |name: &str| sandbox.directory.join(name);
    fs::create_dir(path("keys/job")).unwrap();
    fs::write(path("keys/job/key"), "").unwrap();
    // The script stands in for an agent. A process that an agent has just created may hold its
    // pipes.
    let reaper = env!("CARGO_BIN_EXE_necklace");
    let script = format!("{reaper} reaper $$ $PWD/keys/job <orders 1<launcher & kill -STOP $$");
    let made = Command::new("mkfifo").args([path("orders"), path("launcher")]).status().unwrap();
    assert!(made.success());
    let mut agent = Command::new("setsid").args(["sh", "-c", &script]).current_dir(&sandbox.directory).spawn().unwrap();
    let [orders, launcher] =
        ["orders", "launcher"].map(|name| fs::OpenOptions::new().write(true).open(path(name)).unwrap());
    drop(launcher);
    assert_eq!(agent.wait().unwrap().signal(), Some(9));
    sandbox.nothing_is_left();
    drop(orders);
}

#[test]
fn stopped_remote_agent_leaves_nothing_after_its_launcher() {
    let sandbox = Sandbox::new("stopped_elsewhere");
    let stand_in = sandbox.stand_in();
    let options = ["-n", "2", "--timeout", "1", "--hosts", "one,two", "--remote-shell", &stand_in];
    let mut job = sandbox.start(&[&options[..], &["--", ENDLESS]].concat());
    job.lines(2);
    for agent in sandbox.all_called("agent") {
        kill_process(agent, Signal::STOP).unwrap();
    }
    let (status, _, error) = job.end();
    assert_eq!(status.code(), Some(1), "{error}");
    sandbox.nothing_is_left();
}

#[test]
fn agent_stopped_after_its_ranks_keeps_the_job_status() {
    let sandbox = Sandbox::new("stopped_late");
    for status in [0, 3] {
        let script = format!("echo ready; until test -e go; do sleep 0.01; done; echo last; exit {status}");
        let mut job = sandbox.start(&["-n", "2", "--timeout", "1", "--no-prefix", "--", &script]);
        job.lines(2);
        // The agent waits for the reaper.
        let (agent, reaper) = (sandbox.called("agent").unwrap(), sandbox.called("reaper").unwrap());
        kill_process(reaper, Signal::STOP).unwrap();
        let ranks = sandbox.processes().into_iter().filter(|(_, name)| name.contains("echo last"));
        // A child of the shell has the shell's name until its program is loaded, and may have ended.
        let streams = ranks.flat_map(|(rank, _)| [1, 2].map(|number| file(rank, number)));
        let streams: Vec<PathBuf> = streams.flatten().collect();
        let is_open = || files(agent).iter().any(|file| streams.contains(file));
        assert!(is_open());
        fs::write(sandbox.directory.join("go"), "").unwrap();
        until("the output has ended", || if is_open() { Err("it is open") } else { Ok(()) });
        thread::sleep(Duration::from_millis(100));
        kill_process(agent, Signal::STOP).unwrap();
        let (ended, rest, error) = job.end();
        assert_eq!((ended.code(), rest.as_str()), (Some(status), "last\nlast\n"), "{error}");
        assert!(status == 3 || error.starts_with("warning: the agent on ") && error.lines().count() == 1, "{error}");
        kill_process(reaper, Signal::CONT).unwrap();
        sandbox.nothing_is_left();
        fs::remove_file(sandbox.directory.join("go")).unwrap();
    }
}

/// A rank that writes more than the credit to a launcher whose output is not read. The rank ends,
/// and the rest stays in its pipe.
const WAITING: &str = "yes | head -c 1080000 | dd bs=1080000 iflag=fullblock status=none";

/// Starts this rank, and waits until it has ended.
fn start_waiting(sandbox: &Sandbox, timeout: &str) -> Running {
    let job = sandbox.start(&["-n", "1", "--timeout", timeout, "--no-prefix", "--", WAITING]);
    until("there is a key", || (!sandbox.keys().is_empty()).then_some(()).ok_or("there is none"));
    until("the key is removed", || sandbox.keys().is_empty().then_some(()).ok_or("it is there"));
    job
}

#[test]
fn output_lost_with_a_stopped_agent_fails_the_job() {
    let sandbox = Sandbox::new("stopped_lost");
    let job = start_waiting(&sandbox, "1");
    kill_process(sandbox.called("agent").unwrap(), Signal::STOP).unwrap();
    until("the agent is killed", || sandbox.called("agent").is_none().then_some(()).ok_or("it runs"));
    let (status, text, error) = job.end();
    assert_eq!(status.code(), Some(1), "{error}");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let words = format!("error: output of ranks on {host} is missing: its agent has been silent for 1 s");
    assert!(text.len() < 1_080_000 && error.starts_with(&words), "{error}");
    sandbox.nothing_is_left();
}

#[test]
fn continued_agent_delivers_all_output() {
    let sandbox = Sandbox::new("stopped_continues");
    let mut job = start_waiting(&sandbox, "100");
    let agent = sandbox.called("agent").unwrap();
    kill_process(agent, Signal::STOP).unwrap();
    let some = job.lines(300_000).len();
    kill_process(agent, Signal::CONT).unwrap();
    let (status, text, error) = job.end();
    assert_eq!((status.code(), error.as_str(), 2 * some + text.len()), (Some(0), "", 1_080_000));
    sandbox.nothing_is_left();
}

#[test]
fn agent_stopped_with_unread_output_ends_with_its_launcher() {
    let sandbox = Sandbox::new("stopped_last");
    let job = start_waiting(&sandbox, "100");
    kill_process(sandbox.called("agent").unwrap(), Signal::STOP).unwrap();
    job.send(Signal::KILL);
    job.end();
    sandbox.nothing_is_left();
}

#[test]
fn launcher_stopped_past_the_timeout_continues() {
    let sandbox = Sandbox::new("stopped_launcher");
    let script = "echo ready; until test -e go; do sleep 0.01; done";
    let mut job = sandbox.start(&["-n", "2", "--timeout", "1", "--", script]);
    job.lines(2);
    job.send(Signal::STOP);
    thread::sleep(Duration::from_millis(1500));
    job.send(Signal::CONT);
    thread::sleep(Duration::from_millis(500));
    fs::write(sandbox.directory.join("go"), "").unwrap();
    let (status, _, error) = job.end();
    assert_eq!((status.code(), error.as_str()), (Some(0), ""));
}

/// Returns the link to an open file of a process, if the process still exists.
fn file(process: Pid, number: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{}/fd/{number}", process.as_raw_nonzero())).ok()
}

/// Returns all open files of a process.
fn files(process: Pid) -> Vec<PathBuf> {
    let files = fs::read_dir(format!("/proc/{}/fd", process.as_raw_nonzero())).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read_link(file.path()).ok()).collect()
}

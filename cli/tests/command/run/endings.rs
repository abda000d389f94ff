//! Tests of the end of a job, by itself or by a signal.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::sandbox::Sandbox;
use super::{ENDLESS, PARENT, STUBBORN, ended_well, of_rank};
use crate::support::{stderr, stdout};

#[test]
fn first_failure_ends_the_job_with_its_status() {
    let sandbox = Sandbox::new("failure");
    for (how, status, words) in [
        ("exit 7", 7, "rank 1 on %H ended with status 7"),
        ("kill -9 $$", 137, "rank 1 on %H was killed by signal 9 (SIGKILL)"),
        ("kill -SEGV $$", 139, "rank 1 on %H was killed by signal 11 (SIGSEGV)"),
    ] {
        for rest in if status == 7 { &[ENDLESS, STUBBORN][..] } else { &[ENDLESS] } {
            let script = format!("test $NECKLACE_RANK != 1 || {{ echo my last words >&2; {how}; }}; {rest}");
            let output = sandbox.run(&["-n", "3", "--", &script]);
            let (error, host) = (stderr(&output), rustix::system::uname().nodename().to_string_lossy().into_owned());
            assert_eq!(output.status.code(), Some(status), "{how}: {error}");
            assert_eq!(error, format!("[1] my last words\nerror: {}\n", words.replace("%H", &host)));
        }
    }
    // Some ranks succeed before, which is no failure.
    let output = sandbox.run(&["-n", "3", "--", "test $NECKLACE_RANK != 2 || { sleep 0.2; exit 3; }"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn other_ranks_get_sigterm_before_sigkill() {
    let sandbox = Sandbox::new("asked");
    let script = "case $NECKLACE_RANK in 0) trap 'echo asked; exit 5' TERM; echo ready >flag; while :; do sleep 0.01; done;; \
        1) until test -e flag; do sleep 0.01; done; exit 4;; esac";
    let output = sandbox.run(&["-n", "2", "--", script]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(4), "[0] asked\n"), "{}", stderr(&output));
}

#[test]
fn signal_to_the_launcher_ends_the_job() {
    let sandbox = Sandbox::new("signals");
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for script in [ENDLESS, PARENT] {
            let mut job = sandbox.start(&["-n", "3", "--", script]);
            job.lines(3);
            job.send(signal);
            let (ended, _, error) = job.end();
            assert_eq!((ended.code(), error.as_str()), (Some(status), ""), "{script}");
            assert_eq!(sandbox.left(), Vec::<String>::new());
        }
    }
    // Ranks that ignore the signal are killed, sooner after a second signal.
    for times in [1, 2] {
        let mut job = sandbox.start(&["-n", "2", "--", STUBBORN]);
        job.lines(2);
        for _ in 0..times {
            job.send(Signal::INT);
            // Two pending signals of the same kind are delivered as one.
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(job.end().0.code(), Some(130));
        sandbox.nothing_is_left();
    }
}

#[test]
fn signal_during_start_reaches_every_started_rank() {
    let sandbox = Sandbox::new("starting");
    // Ranks that are ready handle the signal; others may be killed by it before they set a handler.
    let script = "trap 'echo asked; exit' TERM; echo ready; sleep 1000 & wait";
    for times in 0..3 {
        let mut job = sandbox.start(&["-n", "150", "--no-prefix", "--", script]);
        job.lines(1 + 20 * times);
        job.send(Signal::INT);
        let (status, rest, error) = job.end();
        assert_eq!((status.code(), error.as_str()), (Some(130), ""));
        let count = |word| rest.lines().filter(|line| *line == word).count();
        assert_eq!(count("ready") + 1 + 20 * times, count("asked"), "{rest}");
        sandbox.nothing_is_left();
    }
}

#[test]
fn processes_left_by_a_rank_end_with_the_job() {
    let sandbox = Sandbox::new("behind");
    let output = sandbox.run(&["-n", "2", "--", "(sleep 1000; echo too late) & echo started"]);
    let text = ended_well(&output);
    assert_eq!((of_rank(&text, 0), of_rank(&text, 1), text.lines().count()), (vec!["started"], vec!["started"], 2));
    // The process may still print its last line.
    let output = sandbox.run(&["-n", "1", "--", "(sleep 0.02; echo late) & echo started"]);
    let text = ended_well(&output);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    assert_eq!(lines, ["[0] late", "[0] started"]);
}

//! Tests of the output of ranks, with readers of any speed.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::sandbox::{Running, Sandbox, until};
use super::{ENDLESS, ended_well, of_rank};
use crate::support::{stderr, stdout};

#[test]
fn output_is_printed_in_whole_lines_with_the_rank() {
    let sandbox = Sandbox::new("lines");
    let script = "for part in a b c d e f g h; do printf $part; printf $part >&2; done; echo; echo >&2; printf last; \
        printf 'its last' >&2";
    let output = sandbox.run(&["-n", "12", "--", script]);
    assert_eq!(output.status.code(), Some(0));
    for (text, last) in [(stdout(&output), "last"), (stderr(&output), "its last")] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort();
        let expected = (0..12).flat_map(|rank| [format!("[{rank:2}] abcdefgh"), format!("[{rank:2}] {last}")]);
        assert_eq!(lines, expected.collect::<Vec<_>>());
        assert!(text.ends_with('\n'));
    }
    let plain = ended_well(&sandbox.run(&["-n", "2", "--no-prefix", "--", "echo '[me]'"]));
    assert_eq!(plain, "[me]\n[me]\n");
}

#[test]
fn binary_output_and_long_lines_are_forwarded() {
    let sandbox = Sandbox::new("bytes");
    let odd = sandbox.run(&["-n", "1", "--", r"printf '\377\000\n\200'"]);
    assert_eq!(odd.stdout, b"[0] \xff\0\n[0] \x80\n");
    // Lines of maximum length and one byte more, and many of both kinds from two ranks at once.
    let long = |length: usize, count: usize| {
        format!("for i in $(seq {count}); do head -c {length} /dev/zero | tr '\\0' $NECKLACE_RANK; echo; done")
    };
    let text = ended_well(&sandbox.run(&["-n", "2", "--", &long(1 << 20, 2)]));
    assert!(text.lines().count() == 4 && text.lines().all(|line| line.len() == (1 << 20) + 4));
    let text = ended_well(&sandbox.run(&["-n", "2", "--", &long(3 * (1 << 20) + 1, 3)]));
    assert_eq!(text.lines().count(), 2 * 3 * 4);
    for rank in 0..2 {
        let whole = of_rank(&text, rank).concat().replace(" [continued]", "");
        assert_eq!(whole, rank.to_string().repeat(3 * (3 * (1 << 20) + 1)));
    }
}

#[test]
fn closed_standard_output_ends_the_job() {
    let sandbox = Sandbox::new("reader");
    for script in ["while :; do echo line; done", "trap '' PIPE TERM; while :; do echo line; done"] {
        let mut job = sandbox.start(&["-n", "2", "--", script]);
        job.lines(1);
        let Running { mut child, out } = job;
        drop(out);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!((child.wait().unwrap().code(), error.as_str()), (Some(141), ""));
        sandbox.nothing_is_left();
    }
}

#[test]
fn unwritable_output_fails_the_job() {
    let sandbox = Sandbox::new("full");
    let mut command = sandbox.command(&["-n", "2", "--", ENDLESS]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be written: No space left"), "{}", stderr(&output));
    sandbox.nothing_is_left();
}

#[test]
fn failing_job_ends_while_its_output_is_not_read() {
    let sandbox = Sandbox::new("stalled");
    let mut job = sandbox.start(&["-n", "2", "--", "while :; do echo line; done"]);
    job.lines(1);
    thread::sleep(Duration::from_millis(300));
    job.send(Signal::INT);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(status.code(), Some(130));
    sandbox.nothing_is_left();
}

#[test]
fn reader_that_pauses_past_the_timeout_gets_everything() {
    let sandbox = Sandbox::new("pause");
    // The first ranks print more than all buffers hold while the last ranks start.
    let mut job = sandbox.start(&["-n", "30", "--timeout", "1", "--no-prefix", "--", "yes | head -c 400000"]);
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(job.child.try_wait().unwrap(), None);
    let (status, text, error) = job.end();
    assert_eq!((status.code(), error.as_str(), text.len()), (Some(0), "", 30 * 400_000));
    sandbox.nothing_is_left();
}

#[test]
fn unread_output_blocks_its_rank() {
    let sandbox = Sandbox::new("waits");
    let job = sandbox.start(&["-n", "1", "--no-prefix", "--", "yes | head -c 20000000; : >written"]);
    thread::sleep(Duration::from_millis(500));
    assert!(!sandbox.directory.join("written").exists());
    let (status, text, error) = job.end();
    assert_eq!((status.code(), error.as_str(), text.len()), (Some(0), "", 20_000_000));
    assert!(sandbox.directory.join("written").exists());
}

#[test]
fn failing_rank_ends_the_job_while_output_is_blocked() {
    let sandbox = Sandbox::new("stuck");
    let script = "case $NECKLACE_RANK in 0) exec yes;; 1) sleep 0.5; exit 7;; esac; trap '' TERM; exec yes";
    let mut job = sandbox.start(&["-n", "3", "--", script]);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    let mut error = String::new();
    job.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(status.code(), Some(7), "{error}");
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("error: rank 1 on "), "{error}");
    assert!(lines[1].starts_with("warning: nobody reads the output"), "{error}");
    sandbox.nothing_is_left();
}

#[test]
fn failing_rank_is_reported_while_stdout_is_blocked() {
    let sandbox = Sandbox::new("told");
    let script = "test $NECKLACE_RANK = 1 && { sleep 0.5; echo my last words >&2; exit 7; }; exec yes";
    let mut job = sandbox.start(&["-n", "2", "--", script]);
    let mut error = String::new();
    job.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(error.starts_with("[1] my last words\nerror: rank 1 on "), "{error}");
    assert_eq!(job.child.wait().unwrap().code(), Some(7));
}

#[test]
fn signal_ends_a_launcher_that_waits_for_its_reader() {
    let sandbox = Sandbox::new("waiting");
    // More than a pipe holds, and less than the credit of the ranks.
    let mut job = sandbox.start(&["-n", "1", "--", "head -c 200000 /dev/zero | tr '\\0' '\\n'; : >written"]);
    until("the rank has ended", || sandbox.called("reaper").is_none().then_some(()).ok_or("it runs"));
    until("all is written", || sandbox.directory.join("written").exists().then_some(()).ok_or("it is not"));
    until("the agent has ended", || (sandbox.processes().len() == 1).then_some(()).ok_or("it runs"));
    assert_eq!(job.child.try_wait().unwrap(), None);
    job.send(Signal::INT);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(status.code(), Some(130));
    sandbox.nothing_is_left();
}

#[test]
fn identical_errors_of_all_ranks_are_printed_once() {
    let sandbox = Sandbox::new("alike");
    let output = sandbox.run(&["-n", "6", "--", "printf 'not so\\nbut so\\n' >&2; exit 2"]);
    let error = stderr(&output);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(2), 4), "{error}");
    assert!(lines[0].ends_with("] not so") && lines[1].ends_with("] but so"), "{error}");
    // The launcher reports the first rank to fail as soon as that has ended.
    let mut last = [lines[2], lines[3]];
    last.sort_unstable();
    assert!(last[0].starts_with("error: rank ") && last[1].starts_with("the same from ranks "), "{error}");
    // Lines of ranks that do not fail are all printed.
    let output = sandbox.run(&["-n", "3", "--", "echo all well >&2"]);
    let error = stderr(&output);
    let mut lines: Vec<&str> = error.lines().collect();
    lines.sort();
    assert_eq!(lines, ["[0] all well", "[1] all well", "[2] all well"]);
}

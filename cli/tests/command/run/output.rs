//! What ranks write comes out, whoever reads it.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::place::{Place, Running, until};
use super::{ENDLESS, ended_well, of_rank};
use crate::support::{stderr, stdout};

#[test]
fn output_comes_in_whole_lines_with_the_rank_in_front() {
    let place = Place::new("lines");
    let script = "for part in a b c d e f g h; do printf $part; printf $part >&2; done; echo; echo >&2; printf last; \
        printf 'its last' >&2";
    let output = place.run(&["-n", "12", "--", script]);
    assert_eq!(output.status.code(), Some(0));
    for (text, last) in [(stdout(&output), "last"), (stderr(&output), "its last")] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort();
        let expected = (0..12).flat_map(|rank| [format!("[{rank:2}] abcdefgh"), format!("[{rank:2}] {last}")]);
        assert_eq!(lines, expected.collect::<Vec<_>>());
        assert!(text.ends_with('\n'));
    }
    let plain = ended_well(&place.run(&["-n", "2", "--no-prefix", "--", "echo '[me]'"]));
    assert_eq!(plain, "[me]\n[me]\n");
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_come_through() {
    let place = Place::new("bytes");
    let odd = place.run(&["-n", "1", "--", r"printf '\377\000\n\200'"]);
    assert_eq!(odd.stdout, b"[0] \xff\0\n[0] \x80\n");
    // As long as may be, a byte longer, and many of both kinds from two ranks at once.
    let long = |length: usize, count: usize| {
        format!("for i in $(seq {count}); do head -c {length} /dev/zero | tr '\\0' $NECKLACE_RANK; echo; done")
    };
    let text = ended_well(&place.run(&["-n", "2", "--", &long(1 << 20, 2)]));
    assert!(text.lines().count() == 4 && text.lines().all(|line| line.len() == (1 << 20) + 4));
    let text = ended_well(&place.run(&["-n", "2", "--", &long(3 * (1 << 20) + 1, 3)]));
    assert_eq!(text.lines().count(), 2 * 3 * 4);
    for rank in 0..2 {
        let whole = of_rank(&text, rank).concat().replace(" [continued]", "");
        assert_eq!(whole, rank.to_string().repeat(3 * (3 * (1 << 20) + 1)));
    }
}

#[test]
fn a_reader_who_leaves_ends_the_job() {
    let place = Place::new("reader");
    for script in ["while :; do echo line; done", "trap '' PIPE TERM; while :; do echo line; done"] {
        let mut job = place.start(&["-n", "2", "--", script]);
        job.lines(1);
        let Running { mut child, out } = job;
        drop(out);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!((child.wait().unwrap().code(), error.as_str()), (Some(141), ""));
        place.nothing_is_left();
    }
}

#[test]
fn output_that_cannot_be_written_fails_the_job() {
    let place = Place::new("full");
    let mut command = place.command(&["-n", "2", "--", ENDLESS]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be written: No space left"), "{}", stderr(&output));
    place.nothing_is_left();
}

#[test]
fn a_reader_who_does_not_read_does_not_keep_the_job_from_ending() {
    let place = Place::new("stalled");
    let mut job = place.start(&["-n", "2", "--", "while :; do echo line; done"]);
    job.lines(1);
    thread::sleep(Duration::from_millis(300));
    job.send(Signal::INT);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(status.code(), Some(130));
    place.nothing_is_left();
}

#[test]
fn reader_that_pauses_past_the_timeout_gets_everything() {
    let place = Place::new("pause");
    // The first ranks print more than fits anywhere while the last are being started.
    let mut job = place.start(&["-n", "30", "--timeout", "1", "--no-prefix", "--", "yes | head -c 400000"]);
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(job.child.try_wait().unwrap(), None);
    let (status, text, error) = job.end();
    assert_eq!((status.code(), error.as_str(), text.len()), (Some(0), "", 30 * 400_000));
    place.nothing_is_left();
}

#[test]
fn output_that_nobody_reads_waits_with_its_rank() {
    let place = Place::new("waits");
    let job = place.start(&["-n", "1", "--no-prefix", "--", "yes | head -c 20000000; : >written"]);
    thread::sleep(Duration::from_millis(500));
    assert!(!place.directory.join("written").exists());
    let (status, text, error) = job.end();
    assert_eq!((status.code(), error.as_str(), text.len()), (Some(0), "", 20_000_000));
    assert!(place.directory.join("written").exists());
}

#[test]
fn rank_that_fails_while_output_is_stuck_ends_the_job() {
    let place = Place::new("stuck");
    let script = "case $NECKLACE_RANK in 0) exec yes;; 1) sleep 0.5; exit 7;; esac; trap '' TERM; exec yes";
    let mut job = place.start(&["-n", "3", "--", script]);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    let mut error = String::new();
    job.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(status.code(), Some(7), "{error}");
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("error: rank 1 on "), "{error}");
    assert!(lines[1].starts_with("warning: nobody reads the output"), "{error}");
    place.nothing_is_left();
}

#[test]
fn rank_that_fails_is_told_while_standard_output_is_stuck() {
    let place = Place::new("told");
    let script = "test $NECKLACE_RANK = 1 && { sleep 0.5; echo my last words >&2; exit 7; }; exec yes";
    let mut job = place.start(&["-n", "2", "--", script]);
    let mut error = String::new();
    job.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(error.starts_with("[1] my last words\nerror: rank 1 on "), "{error}");
    assert_eq!(job.child.wait().unwrap().code(), Some(7));
}

#[test]
fn signal_ends_a_launcher_that_waits_for_its_reader() {
    let place = Place::new("waiting");
    // More than a pipe holds, and less than the ranks would have to wait for.
    let mut job = place.start(&["-n", "1", "--", "head -c 200000 /dev/zero | tr '\\0' '\\n'; : >written"]);
    until("the rank has ended", || place.called("guard").is_none().then_some(()).ok_or("it runs"));
    until("all is written", || place.directory.join("written").exists().then_some(()).ok_or("it is not"));
    until("the agent has ended", || (place.processes().len() == 1).then_some(()).ok_or("it runs"));
    assert_eq!(job.child.try_wait().unwrap(), None);
    job.send(Signal::INT);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(status.code(), Some(130));
    place.nothing_is_left();
}

#[test]
fn refusal_that_all_ranks_give_alike_is_printed_once() {
    let place = Place::new("alike");
    let output = place.run(&["-n", "6", "--", "printf 'not so\\nbut so\\n' >&2; exit 2"]);
    let error = stderr(&output);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(2), 4), "{error}");
    assert!(lines[0].ends_with("] not so") && lines[1].ends_with("] but so"), "{error}");
    assert!(lines[2].starts_with("the same from ranks ") && lines[3].starts_with("error: rank "), "{error}");
    // What ranks say that do not fail is theirs.
    let output = place.run(&["-n", "3", "--", "echo all well >&2"]);
    let error = stderr(&output);
    let mut lines: Vec<&str> = error.lines().collect();
    lines.sort();
    assert_eq!(lines, ["[0] all well", "[1] all well", "[2] all well"]);
}

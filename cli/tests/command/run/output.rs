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

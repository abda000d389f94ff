//! Whatever part of the command is killed, and whenever: nothing is left.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process, kill_process_group};

use super::place::{Place, until};
use super::{ENDLESS, PARENT, STUBBORN, ended_well};

#[test]
fn a_launcher_that_is_killed_leaves_nothing() {
    let place = Place::new("killed");
    for script in [ENDLESS, STUBBORN, PARENT] {
        for group in [false, true] {
            let mut job = place.start(&["-n", "3", "--", script]);
            let lines = job.lines(3);
            let root = lines[0].rsplit_once(' ').unwrap().1.to_owned();
            assert!(TcpListener::bind(&root).is_err(), "{root} is held");
            assert_eq!(fs::read_dir(place.directory.join("keys")).unwrap().count(), 1);
            if group {
                kill_process_group(job.launcher(), Signal::KILL).unwrap();
            } else {
                job.send(Signal::KILL);
            }
            assert_eq!(job.end().0.signal(), Some(9));
            place.nothing_is_left();
            drop(until("the port is free", || TcpListener::bind(&root)));
        }
    }
}

#[test]
fn sessions_that_ranks_have_made_end_with_the_job() {
    let place = Place::new("sessions");
    // In the background, since of a leader of a group it makes two processes.
    let script = "setsid -w sh -c 'setsid sleep 1000 & sleep 1000 & echo ready; wait' & wait";
    assert_eq!(ended_well(&place.run(&["-n", "2", "setsid", "sleep", "1000"])), "");
    let mut job = place.start(&["-n", "3", "--", script]);
    job.lines(3);
    job.send(Signal::KILL);
    job.end();
    place.nothing_is_left();
    // A job in a session of a rank's ends too, and removes its own key.
    let script =
        format!("setsid -w {} run -n 2 --no-prefix sh -c 'echo ready; sleep 1000'", env!("CARGO_BIN_EXE_necklace"));
    for kill_agent in [false, true] {
        let mut job = place.start(&["-n", "2", "--", &script]);
        job.lines(4);
        if kill_agent {
            kill_process(place.called("agent").unwrap(), Signal::KILL).unwrap();
        } else {
            job.send(Signal::KILL);
        }
        job.end();
        place.nothing_is_left();
    }
}

#[test]
fn ranks_find_the_key_as_long_as_they_live() {
    let place = Place::new("living");
    let script = "echo ready; while test -e $NECKLACE_KEY_FILE; do :; done; : >missed";
    for _ in 0..5 {
        let mut job = place.start(&["-n", "8", "--", script]);
        job.lines(8);
        job.send(Signal::KILL);
        job.end();
        place.nothing_is_left();
        assert!(!place.directory.join("missed").exists());
    }
}

#[test]
fn a_launcher_that_is_killed_at_any_moment_leaves_nothing() {
    let place = Place::new("moments");
    for moment in 0..60 {
        let job = place.start(&["-n", "4", "--", ENDLESS]);
        thread::sleep(Duration::from_micros(250 * moment));
        job.send(Signal::KILL);
        job.end();
        place.nothing_is_left();
    }
}

#[test]
fn an_agent_or_a_guard_that_is_killed_fails_the_job() {
    let place = Place::new("agents");
    for (which, words) in [("agent", "the agent on"), ("guard", "guards the ranks has ended")] {
        for script in [ENDLESS, STUBBORN, PARENT] {
            let mut job = place.start(&["-n", "3", "--", script]);
            job.lines(3);
            kill_process(place.called(which).unwrap(), Signal::KILL).unwrap();
            let (status, _, error) = job.end();
            assert_eq!(status.code(), Some(1), "{error}");
            assert!(error.contains(words), "{error}");
            place.nothing_is_left();
        }
    }
}

#[test]
fn an_agent_or_a_guard_that_is_killed_at_any_moment_leaves_nothing() {
    for which in ["agent", "guard"] {
        let place = Place::new(&format!("{which}_moments"));
        for moment in 0..30 {
            let job = place.start(&["-n", "6", "--", ENDLESS]);
            let process = until("there is one", || place.called(which).ok_or("there is none"));
            thread::sleep(Duration::from_micros(150 * moment));
            kill_process(process, Signal::KILL).unwrap();
            let (status, _, error) = job.end();
            assert_eq!(status.code(), Some(1), "{error}");
            place.nothing_is_left();
        }
    }
}

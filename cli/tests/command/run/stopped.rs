//! Parts of the command that are stopped: the job ends all the same, with its own status where that is known.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::ENDLESS;
use super::place::{Place, until};

#[test]
fn stopped_guard_does_not_keep_the_job_from_ending() {
    let place = Place::new("stopped_guard");
    for status in [0, 3] {
        let script = format!("echo ready; until test -e go; do sleep 0.01; done; exit {status}");
        let mut job = place.start(&["-n", "2", "--", &script]);
        job.lines(2);
        kill_process(place.called("guard").unwrap(), Signal::STOP).unwrap();
        fs::write(place.directory.join("go"), "").unwrap();
        assert_eq!(job.end().0.code(), Some(status));
        place.nothing_is_left();
        fs::remove_file(place.directory.join("go")).unwrap();
    }
}

#[test]
fn stopped_guard_does_not_keep_a_killed_launcher_from_leaving_nothing() {
    let place = Place::new("stopped_killed");
    let mut job = place.start(&["-n", "2", "--", ENDLESS]);
    job.lines(2);
    kill_process(place.called("guard").unwrap(), Signal::STOP).unwrap();
    job.send(Signal::KILL);
    job.end();
    place.nothing_is_left();
}

#[test]
fn stopped_agent_fails_the_job_after_the_timeout() {
    let place = Place::new("stopped_agent");
    let mut job = place.start(&["-n", "2", "--timeout", "1", "--", ENDLESS]);
    job.lines(2);
    kill_process(place.called("agent").unwrap(), Signal::STOP).unwrap();
    let (status, _, error) = job.end();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(error.contains("does not answer: its agent has been silent for 1 s"), "{error}");
    place.nothing_is_left();
}

#[test]
fn agent_stopped_after_its_ranks_ended_leaves_the_job_its_status() {
    let place = Place::new("stopped_late");
    // As much as may be on its way to the launcher, if it came in one piece: the rest lies with the agent, which waits.
    let script = "yes | head -c 1048576 | dd bs=1048576 iflag=fullblock status=none; : >written";
    let mut job = place.start(&["-n", "1", "--timeout", "1", "--no-prefix", "--", script]);
    until("all is written", || place.directory.join("written").exists().then_some(()).ok_or("it is not"));
    until("the guard has ended", || place.called("guard").is_none().then_some(()).ok_or("it runs"));
    kill_process(place.called("agent").unwrap(), Signal::STOP).unwrap();
    until("the agent is ended", || place.called("agent").is_none().then_some(()).ok_or("it runs"));
    assert_eq!(job.child.try_wait().unwrap(), None);
    let (status, _, error) = job.end();
    assert_eq!(status.code(), Some(0), "{error}");
    assert!(error.starts_with("warning: the agent on ") && error.lines().count() == 1, "{error}");
    place.nothing_is_left();
}

#[test]
fn launcher_stopped_past_the_timeout_goes_on() {
    let place = Place::new("stopped_launcher");
    let script = "echo ready; until test -e go; do sleep 0.01; done";
    let mut job = place.start(&["-n", "2", "--timeout", "1", "--", script]);
    job.lines(2);
    job.send(Signal::STOP);
    thread::sleep(Duration::from_millis(1500));
    job.send(Signal::CONT);
    thread::sleep(Duration::from_millis(500));
    fs::write(place.directory.join("go"), "").unwrap();
    let (status, _, error) = job.end();
    assert_eq!((status.code(), error.as_str()), (Some(0), ""));
}

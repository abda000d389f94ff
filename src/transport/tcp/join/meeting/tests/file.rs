//! The ranks of a job meet by a file.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::super::super::error::JoinError;
use super::super::super::{Join, Key, Root, root};
use super::{Port, answers, enter, errors, failed, key, meet, start, talk};

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("necklace-meeting-{name}-{}", std::process::id()))
}

fn by_file(path: &Path, rank: usize, size: usize) -> Join {
    Join::new(rank, size, Root::File(path.to_owned())).key(key()).address(Ipv4Addr::LOCALHOST.into())
}

/// Three ranks, of which rank 0 comes last.
fn meet_late_by_file(path: &Path) {
    let first = [1, 2].map(|rank| start(by_file(path, rank, 3)));
    thread::sleep(Duration::from_millis(100));
    let mut meshes = vec![enter(&by_file(path, 0, 3))];
    meshes.extend(first.map(|rank| rank.join().unwrap()));
    talk(meshes);
}

#[test]
fn they_meet_by_a_file_which_is_removed() {
    let path = path("file");
    meet_late_by_file(&path);
    assert!(!path.exists());
    // And with the address that it finds by itself.
    talk(meet((0..3).map(|rank| Join { address: None, ..by_file(&path, rank, 3) }).collect()));
    talk(meet((0..3).map(|rank| Join { address: None, key: None, ..by_file(&path, rank, 3) }).collect()));
    assert!(!path.exists());
}

#[test]
fn a_file_of_an_earlier_job_does_no_harm() {
    let path = path("stale");
    let closed = Port::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = Port::new();
    let elsewhere =
        start(Join { timeout: Duration::from_secs(3), ..other.join(0, 2) }.key(Key::new(&[5; 16]).unwrap()));
    let stranger = answers(b"220 mail.example ESMTP\r\n");
    for stale in [closed.address(), silent.local_addr().unwrap(), other.address(), stranger] {
        std::fs::write(&path, format!("{stale}\n")).unwrap();
        meet_late_by_file(&path);
    }
    assert!(!path.exists());
    failed(elsewhere);
}

#[test]
fn a_file_that_does_not_come_and_one_that_is_taken_are_named() {
    let path = path("none");
    let timeout = Duration::from_millis(200);
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::File { path: at, .. } if *at == path), "{error}");
    std::fs::write(&path, "127.0.0.1:1\n").unwrap();
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::Unreachable { address, .. } if address.starts_with("127.0.0.1:1,")), "{error}");
    // A second rank 0 takes the first one's place, which finds out.
    let first = start(by_file(&path, 0, 2));
    while root::posted(&path).unwrap().is_none_or(|line| line == "127.0.0.1:1") {
        thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&path, "127.0.0.1:2\n").unwrap();
    let error = failed(first);
    assert!(error.to_string().contains("127.0.0.1:2"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let nowhere = Path::new("/no/such/folder/file");
    assert!(matches!(by_file(nowhere, 0, 2).mesh().unwrap_err(), JoinError::File { .. }));
}

#[test]
fn rank_0_that_cannot_listen_where_it_should_says_so_by_the_file() {
    let path = path("refused");
    // An address for documentation, which this machine does not have.
    let root = by_file(&path, 0, 3).address([203, 0, 113, 7].into());
    let errors = errors(vec![root, by_file(&path, 1, 3), by_file(&path, 2, 3)]);
    assert!(matches!(errors[0], JoinError::Listen { rank: 0, .. }), "{}", errors[0]);
    let expected = JoinError::Abandoned { rank: 0, reason: errors[0].to_string() };
    assert_eq!(errors[1..], [expected.clone(), expected]);
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_keeps_nobody_waiting() {
    let pipe = path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = failed(start(by_file(&pipe, 1, 2)));
    assert!(matches!(error, JoinError::File { .. }) && error.to_string().contains("no regular file"), "{error}");
    let error = Key::read(&pipe).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
    std::fs::remove_file(&pipe).unwrap();
}

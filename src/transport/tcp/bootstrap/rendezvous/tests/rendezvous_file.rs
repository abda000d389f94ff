//! Bootstraps by a rendezvous file.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::super::super::error::JoinError;
use super::super::super::{Join, Key, Root};
use super::super::address;
use super::{Port, check_meshes, error_of, errors, join_all, join_and_greet, key, server_that_sends, start};

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("necklace-rendezvous-{name}-{}", std::process::id()))
}

fn by_file(path: &Path, rank: usize, size: usize) -> Join {
    Join::new(rank, size, Root::File(path.to_owned())).key(key()).address(Ipv4Addr::LOCALHOST.into())
}

/// Joins three ranks, of which rank 0 comes last.
fn join_all_late_by_file(path: &Path) {
    let first = [1, 2].map(|rank| start(by_file(path, rank, 3)));
    thread::sleep(Duration::from_millis(100));
    let mut meshes = vec![join_and_greet(&by_file(path, 0, 3))];
    meshes.extend(first.map(|rank| rank.join().unwrap()));
    check_meshes(meshes);
}

#[test]
fn ranks_join_by_a_file_and_remove_it() {
    let path = path("file");
    join_all_late_by_file(&path);
    assert!(!path.exists());
    // Also with the default address.
    check_meshes(join_all((0..3).map(|rank| Join { address: None, ..by_file(&path, rank, 3) }).collect()));
    check_meshes(join_all((0..3).map(|rank| Join { address: None, key: None, ..by_file(&path, rank, 3) }).collect()));
    assert!(!path.exists());
}

#[test]
fn file_of_an_earlier_job_does_no_harm() {
    let path = path("stale");
    let closed = Port::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = Port::new();
    let elsewhere =
        start(Join { timeout: Duration::from_secs(3), ..other.join(0, 2) }.key(Key::new(&[5; 16]).unwrap()));
    let other_program = server_that_sends(b"220 mail.example ESMTP\r\n");
    for stale in [closed.address(), silent.local_addr().unwrap(), other.address(), other_program] {
        std::fs::write(&path, format!("{stale}\n")).unwrap();
        join_all_late_by_file(&path);
    }
    assert!(!path.exists());
    error_of(elsewhere);
}

#[test]
fn missing_and_overwritten_files_are_named() {
    let path = path("none");
    let timeout = Duration::from_millis(200);
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::File { path: at, .. } if *at == path), "{error}");
    std::fs::write(&path, "127.0.0.1:1\n").unwrap();
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::Unreachable { address, .. } if address.starts_with("127.0.0.1:1,")), "{error}");
    // A second rank 0 takes the first one's location, which finds out.
    let first = start(by_file(&path, 0, 2));
    while address::read_file(&path).unwrap().is_none_or(|line| line == "127.0.0.1:1") {
        thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&path, "127.0.0.1:2\n").unwrap();
    let error = error_of(first);
    assert!(error.to_string().contains("127.0.0.1:2"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let nowhere = Path::new("/no/such/folder/file");
    assert!(matches!(by_file(nowhere, 0, 2).mesh().unwrap_err(), JoinError::File { .. }));
}

#[test]
fn rank_0_that_cannot_listen_reports_it_by_the_file() {
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
fn pipe_instead_of_a_file_is_refused_at_once() {
    let pipe = path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = error_of(start(by_file(&pipe, 1, 2)));
    assert!(matches!(error, JoinError::File { .. }) && error.to_string().contains("not a regular file"), "{error}");
    let error = Key::read(&pipe).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    std::fs::remove_file(&pipe).unwrap();
}

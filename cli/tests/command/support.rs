//! Runs the command and the independent checker.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use necklace_tests::checker::check_schedule;

/// Runs the command with these arguments and `input` on standard input.
pub(crate) fn necklace_with(arguments: &[&str], input: &str) -> Output {
    feed(Command::new(env!("CARGO_BIN_EXE_necklace")).args(arguments), input)
}

pub(crate) fn necklace(arguments: &[&str]) -> Output {
    necklace_with(arguments, "")
}

/// Returns the standard output of a command that succeeds without messages.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = necklace(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.as_ref()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts that a command line is refused with this message, and that nothing is printed.
#[track_caller]
pub(crate) fn refused(output: &Output, words: &[&str]) {
    let error = stderr(output);
    assert_eq!((output.status.code(), stdout(output).as_str()), (Some(2), ""), "{words:?}: {error}");
    assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the figures that the independent checker prints for a document. Returns `None` if the
/// checker is missing and the environment does not demand it.
pub(crate) fn checked(document: &str, options: &[&str]) -> Option<serde_json::Value> {
    let figures = check_schedule(document, options)?;
    Some(figures.unwrap_or_else(|said| panic!("{options:?}: {said}")))
}

/// Creates an empty directory for a test.
pub(crate) fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn feed(command: &mut Command, input: &str) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // The command may end before it has read everything.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

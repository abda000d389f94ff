//! Tests of `necklace run` with real processes. They poll for events, with a generous limit.

mod sandbox;

mod endings;
mod hosts;
mod killed;
mod output;
mod start;
mod stopped;

use std::process::Output;

use crate::support::{stderr, stdout};

/// A rank that prints a line when it runs, and does not end by itself.
const ENDLESS: &str = "echo rank $NECKLACE_RANK at $NECKLACE_ROOT; sleep 1000; sleep 1000";

/// A rank that also ignores the signals to end.
const STUBBORN: &str = "trap '' TERM INT HUP; echo rank $NECKLACE_RANK at $NECKLACE_ROOT; while :; do sleep 1000; done";

/// A rank with children in its own process group and, by `timeout`, in others.
const PARENT: &str = "sleep 1000 & timeout 1000 sleep 1000 & (sleep 1000; sleep 1000) & \
    echo rank $NECKLACE_RANK at $NECKLACE_ROOT; wait";

/// Returns the lines of a rank, without the prefix.
fn of_rank(text: &str, rank: usize) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(&format!("[{rank}] "))).collect()
}

fn ended_well(output: &Output) -> String {
    assert_eq!((output.status.code(), stderr(output).as_str()), (Some(0), ""), "{}", stdout(output));
    stdout(output)
}

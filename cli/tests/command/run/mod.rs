//! `necklace run`, with real processes. Where something is awaited it is asked for again and again, up to a generous limit.

mod sandbox;

mod endings;
mod hosts;
mod killed;
mod output;
mod start;
mod stopped;

use std::process::Output;

use crate::support::{stderr, stdout};

/// What each rank says of itself once it runs; it runs until it is ended.
const ENDLESS: &str = "echo rank $NECKLACE_RANK at $NECKLACE_ROOT; sleep 1000; sleep 1000";

/// The same, and it does not want to end.
const STUBBORN: &str = "trap '' TERM INT HUP; echo rank $NECKLACE_RANK at $NECKLACE_ROOT; while :; do sleep 1000; done";

/// It has children in its own group and, as `timeout` does, in others.
const PARENT: &str = "sleep 1000 & timeout 1000 sleep 1000 & (sleep 1000; sleep 1000) & \
    echo rank $NECKLACE_RANK at $NECKLACE_ROOT; wait";

/// The lines of a rank, without its prefix.
fn of_rank(text: &str, rank: usize) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(&format!("[{rank}] "))).collect()
}

fn ended_well(output: &Output) -> String {
    assert_eq!((output.status.code(), stderr(output).as_str()), (Some(0), ""), "{}", stdout(output));
    stdout(output)
}

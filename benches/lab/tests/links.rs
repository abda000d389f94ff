//! Compares the kernel's byte counts of each link with the schedule, and tests the cleanup of a
//! lab.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::Problem;
use necklace::topology::parse;
use necklace_lab::rank::{Calls, Order};
use necklace_lab::{Job, Lab, LabError, Loads, Outcome, Settings};

/// Builds a lab. If that is impossible, prints that the test is skipped, or fails if
/// `NECKLACE_REQUIRE_LAB` is set.
fn lab(topology: &str, settings: Settings) -> Option<Lab> {
    match Lab::build(parse(topology).unwrap(), settings) {
        Ok(lab) => Some(lab),
        Err(error @ LabError::Unavailable(_)) => {
            assert!(std::env::var_os("NECKLACE_REQUIRE_LAB").is_none(), "{error}");
            // Past the test runner, which shows what a test prints only if it fails.
            std::io::stderr().write_all(format!("skipped: {error}\n").as_bytes()).unwrap();
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Compares counted bytes with the schedule's: within 8 % above 64 KiB, otherwise within 8 KiB.
fn assert_alike(counted: &Loads, expected: &Loads, what: &str) {
    assert_eq!(counted.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    let mut excess = Vec::new();
    for (link, (&counted, &expected)) in counted.iter().map(|(link, bytes)| (link, (bytes, &expected[link]))) {
        let slack = if expected > 64 << 10 { expected as f64 * 0.08 } else { 8192.0 };
        let more = counted as f64 - expected as f64;
        assert!(more.abs() <= slack, "{what}, link {link:?}: {counted} bytes counted, {expected} expected");
        excess.push(100.0 * more / expected as f64);
    }
    let (least, most) = excess.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &x| (least.min(x), most.max(x)));
    let (all, sum) = (counted.values().sum::<u64>(), expected.values().sum::<u64>());
    eprintln!(
        "{what}: {all} bytes on {} links, {sum} by the schedule; a link {least:+.1} to {most:+.1} %",
        counted.len()
    );
}

/// Labs share the machine's processors.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each case: an algorithm, the bytes of a block, how many calls.
fn exchange(topology: &str, mbit: u64, cases: &[(&str, usize, usize)]) {
    let _one = one_at_a_time();
    // Large pieces reduce the bytes of headers and acknowledgements.
    let Some(lab) = lab(topology, Settings::mbit(mbit).pieces(14 << 10)) else { return };
    let problem = Problem::new(parse(topology).unwrap(), Collective::Alltoall).unwrap();
    let mut job = Job::start(&lab, Path::new(env!("CARGO_BIN_EXE_necklace-lab")), &["rank"]).unwrap();
    for &(name, block_bytes, calls) in cases {
        let algorithm = name.to_owned();
        let order = Order::Run(Calls { collective: Collective::Alltoall, algorithm, block_bytes, calls });
        let (times, counted) = lab.counted(|| job.order(&order)).unwrap();
        assert!(times.iter().all(|rank| rank.len() == calls));
        let algorithm = find(problem.collective(), name).unwrap();
        let expected = lab.router().loads(&*algorithm, &problem, (block_bytes * calls) as u64).unwrap();
        assert_alike(&counted, &expected, &format!("{topology}, {calls} x {order}"));
    }
}

#[test]
fn link_traffic_of_16_ranks_equals_the_schedule() {
    exchange("torus:4x4", 10, &[("torus-exchange", 64, 5), ("torus-exchange", 4096, 3), ("direct", 16384, 1)]);
}

#[test]
fn link_traffic_of_64_ranks_equals_the_schedule() {
    exchange("torus:8x8", 10, &[("torus-exchange", 64, 3), ("torus-exchange", 4096, 1)]);
}

#[test]
fn rank_with_silent_links_is_named_by_all() {
    // These labs wait for most of the time, so they run side by side, and beside those of other
    // tests.
    thread::scope(|scope| {
        for cut in [0, 3] {
            scope.spawn(move || silent_links(cut));
        }
    });
}

/// Cuts the links of one of five ranks, and checks what all say of it.
fn silent_links(cut: usize) {
    // No route between the others crosses it.
    let Some(lab) = lab("complete:5", Settings::mbit(10)) else { return };
    let (program, deadline) = (Path::new(env!("CARGO_BIN_EXE_necklace-lab")), Duration::from_secs(4));
    let mut job = Job::start_within(&lab, program, &["rank"], deadline).unwrap();
    let endless =
        Calls { collective: Collective::Alltoall, algorithm: "direct".to_owned(), block_bytes: 1000, calls: 1_000_000 };
    let outcomes = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            lab.cut(cut).unwrap();
        });
        job.outcomes(&Order::Run(endless)).unwrap()
    });
    // After the name of the reporting rank.
    let words = |outcome: Outcome| outcome.unwrap_err().split_once(": ").unwrap().1.to_owned();
    let words: Vec<String> = outcomes.into_iter().map(words).collect();
    let others: Vec<&String> = (0..5).filter(|rank| *rank != cut).map(|rank| &words[rank]).collect();
    assert!(others.iter().all(|other| *other == others[0]), "{words:#?}");
    assert!(others[0].contains("no progress within 4s") && others[0].contains(&format!("rank {cut}")), "{words:#?}");
    assert!(words[cut].contains("no progress within 4s"), "{words:#?}");
}

/// Returns the processes in a network namespace.
fn processes(namespace: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    all.filter(|process| fs::read_link(process.join("ns/net")).is_ok_and(|found| found == namespace)).collect()
}

#[test]
fn killed_process_leaves_no_lab_behind() {
    let Some(lab) = lab("line:2", Settings::mbit(10)) else { return };
    drop(lab);
    let mut command = Command::new(env!("CARGO_BIN_EXE_necklace-lab"));
    let mut holder = command.arg("hold").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut inside = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut inside).unwrap();
    let link = PathBuf::from(format!("/proc/{}/ns/net", inside.trim()));
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    // The process may not have entered the namespace yet.
    let namespace = std::iter::repeat_with(|| fs::read_link(&link).unwrap()).find(|found| *found != own).unwrap();
    // The shell of the node, and the process that was started in it.
    assert_eq!(processes(&namespace).len(), 2);
    holder.kill().unwrap();
    holder.wait().unwrap();
    // A minute suffices on busy machines.
    for _ in 0..6000 {
        if processes(&namespace).is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("still there: {:?}", processes(&namespace));
}

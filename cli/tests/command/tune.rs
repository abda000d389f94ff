//! Tests of `necklace tune`: what it writes, and that other commands and ranks take it. No test
//! asserts a time.

use std::fs;
use std::process::Command;

use necklace::machine::Machine;

use crate::support::{directory, necklace, printed, refused, stderr, stdout};

/// The least that is measured.
const QUICK: [&str; 7] = ["tune", "--ranks", "2,3", "--bytes", "8,4K", "--rounds", "1"];

#[test]
fn machine_is_reported_and_its_file_read_by_other_commands() {
    let file = directory("tune").join("machine.json");
    let file = file.to_str().unwrap();
    let report = printed(&[&QUICK[..], &["--out", file]].concat());
    let text = report.lines().find_map(|line| line.strip_prefix("machine ")).expect("the machine").trim();
    let machine: Machine = text.parse().unwrap();
    assert!(machine.one_sided && machine.channel == 0 && machine.cores > 0, "{text}");
    assert_ne!(machine, Machine::THREADS.with_cores(machine.cores));
    assert!(report.contains("are off by a factor of ") && report.contains(" of 16 cases"), "{report}");
    let json = fs::read_to_string(file).unwrap();
    assert_eq!(Machine::from_json(&json), Ok(machine));
    assert!(json.contains("\"version\": 1") && json.contains("are off by a factor of "), "{json}");
    let on = ["--topology", "ring:4", "--collective", "alltoall", "--bytes", "8"];
    let [by_file, by_text] =
        [file, text].map(|machine| printed(&[&["cost"], &on[..], &["--machine", machine]].concat()));
    assert_eq!(by_file, by_text);
}

#[test]
fn measured_and_predicted_times_are_written_for_every_call() {
    let csv = printed(&[&QUICK[..], &["--csv", "-"]].concat());
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("collective,algorithm,ranks,block_bytes,measured_us,predicted_us"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for (collective, ranks, algorithms) in [
        ("alltoall", "2", &["direct", "direct-rotated", "bruck", "ring"][..]),
        ("allgather", "3", &["direct", "ring", "recursive-doubling"]),
        ("allreduce", "2", &["direct-parts", "recursive-doubling", "rabenseifner"]),
        ("broadcast", "3", &["direct", "binomial", "scatter-allgather"]),
    ] {
        for bytes in ["8", "4096"] {
            let found = rows.iter().filter(|row| row[0] == collective && row[2] == ranks && row[3] == bytes);
            assert!(found.map(|row| row[1]).eq(algorithms.iter().copied()), "{collective}, {bytes} bytes: {csv}");
        }
    }
    let times = rows.iter().flat_map(|row| row[4..].iter().map(|time| time.parse::<f64>().unwrap()));
    assert!(times.filter(|time| *time > 0.0).count() == 2 * rows.len(), "{csv}");
}

#[test]
#[cfg(unix)]
fn processes_are_measured() {
    let quick = ["tune", "--backend", "tcp", "--ranks", "2", "--bytes", "8,4K", "--rounds", "1", "--out", "-"];
    // The machine of the environment does not matter, such as one that is yet to be written.
    let mut tune = Command::new(env!("CARGO_BIN_EXE_necklace"));
    let output = tune.args(quick).env("NECKLACE_MACHINE", "missing.json").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let machine = Machine::from_json(&stdout(&output)).unwrap();
    assert!(!machine.one_sided && machine != Machine::TCP.with_cores(machine.cores), "{machine}");
}

#[test]
#[cfg(unix)]
fn run_passes_a_machine_as_prices() {
    let file = directory("machine").join("machine.json");
    let echo = ["--no-prefix", "-n", "1", "--", "sh", "-c", "echo $NECKLACE_MACHINE"];
    fs::write(&file, Machine::TCP.with_startup(7_000_000).to_json("seven")).unwrap();
    for machine in [file.to_str().unwrap(), "tcp:startup=7us"] {
        assert_eq!(printed(&[&["run", "--machine", machine], &echo[..]].concat()), "tcp:startup=7us\n");
    }
    let variable = Command::new(env!("CARGO_BIN_EXE_necklace"))
        .args([&["run"], &echo[..]].concat())
        .env("NECKLACE_MACHINE", &file)
        .output()
        .unwrap();
    assert_eq!(stdout(&variable), "tcp:startup=7us\n");
    fs::write(&file, r#"{"version": 3}"#).unwrap();
    let broken = [&["run", "--machine", file.to_str().unwrap()], &echo[..]].concat();
    refused(&necklace(&broken), &["--machine", "machine.json: version: found 3, expected 1"]);
    refused(&necklace(&[&["run", "--machine", "cray"], &echo[..]].concat()), &["unknown machine \"cray\"", "file"]);
}

#[test]
fn impossible_measurements_are_refused() {
    refused(&necklace(&["tune", "--ranks", "1"]), &["1 is not in 2..=32"]);
    refused(&necklace(&["tune", "--ranks", "2,2"]), &["--ranks: duplicate value 2"]);
    refused(&necklace(&["tune", "--bytes", "2G"]), &["expected at most 1G"]);
    refused(&necklace(&["tune", "--bytes", "0,8"]), &["--bytes: ", "blocks of at least 4096"]);
    refused(&necklace(&["tune", "--out", "-", "--csv", "-"]), &["--out", "--csv", "both write to "]);
}

//! Tests of `necklace verify`: it accepts documents of `plan`, and names the fault of any other.

use crate::support::{directory, necklace, necklace_with, printed, stderr, stdout};
use serde_json::Value;

fn planned(topology: &str, collective: &str) -> String {
    printed(&["plan", "--topology", topology, "--collective", collective, "--json", "-"])
}

#[test]
fn planned_document_is_accepted() {
    let cases =
        [("torus:4x4", "alltoall"), ("ring:5", "allgather"), ("complete:7", "scan"), ("hypercube:3", "barrier")];
    for (topology, collective) in cases {
        let output = necklace_with(&["verify", "-"], &planned(topology, collective));
        let text = stdout(&output);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{collective} on {topology}");
        assert!(text.contains("least with one port: ") && text.contains("least with all ports: "), "{text}");
        assert!(text.contains(collective) && text.contains("start-ups") && text.ends_with("\nOK\n"), "{text}");
    }
    let path = directory("planned_document_is_accepted").join("schedule.json");
    std::fs::write(&path, planned("torus:4x4", "allreduce")).unwrap();
    assert!(printed(&["verify", path.to_str().unwrap()]).ends_with("\nOK\n"));
}

/// A named change of the transfers of a round.
type Mutation = (&'static str, fn(&mut Vec<Value>));

#[test]
fn changed_transfer_is_rejected_by_name() {
    let arguments = ["--topology", "torus:4x4", "--collective", "alltoall", "--algorithm", "torus-exchange"];
    let text = printed(&[&["plan"], &arguments[..], &["--json", "-"]].concat());
    let document: Value = serde_json::from_str(&text).unwrap();
    let first = &document["rounds"][1]["transfers"][0];
    let (source, destination, block) = (&first["src"], &first["dst"], &first["blocks"][0]);
    let (from, to) = (block[0].clone(), block[1].clone());
    let ends = format!("{source} to {destination}");
    let mutations: [(Mutation, String); 4] = [
        (("dropped", |transfers| drop(transfers.remove(0))), format!("block [{from}, {to}]: not ")),
        (("twice", |transfers| transfers.push(transfers[0].clone())), format!("round 1, {ends}")),
        (("another block", |transfers| transfers[0]["blocks"][0] = [15, 15].into()), format!("round 1, {ends}")),
        (("no path", |transfers| transfers[0]["route"] = vec![0, 10].into()), format!("round 1, {ends}")),
    ];
    for ((name, change), expected) in mutations {
        let mut changed = document.clone();
        change(changed["rounds"][1]["transfers"].as_array_mut().unwrap());
        let output = necklace_with(&["verify", "-"], &changed.to_string());
        assert_eq!(output.status.code(), Some(1), "{name}");
        let (text, error) = (stdout(&output), stderr(&output));
        assert!(text.contains(&expected) && text.contains("violation"), "{name}: no {expected:?} in {text}");
        assert!(error.starts_with("error: standard input: ") && error.lines().count() == 1, "{name}: {error}");
    }
}

#[test]
fn many_violations_are_counted_and_the_first_shown() {
    let mut document: Value = serde_json::from_str(&planned("ring:16", "alltoall")).unwrap();
    document["rounds"] = Value::Array(vec![]);
    let output = necklace_with(&["verify", "-"], &document.to_string());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("\n240 violations\n") && text.contains("and 140 more"), "{text}");
    assert!(text.lines().count() < 110, "{text}");
}

#[test]
fn invalid_document_fails_with_its_position() {
    let good = planned("ring:3", "alltoall");
    let cases = [
        ("", "line 1, column 1: EOF"),
        ("{\"format\":", "line 1, column 10"),
        ("[]", "line 1"),
        (&good.replace("schedule/1", "schedule/9"), "member \"format\""),
        (&good.replace("ring:3", "ring:x"), "ring:x"),
        (&good.replace("\"nodes\":3", "\"nodes\":4"), "member \"nodes\""),
        (&good.replace("\"ring:3\"", "\"torus:40000x40000\"").replace(":3,", ":1600000000,"), "too large"),
    ];
    for (text, expected) in cases {
        let output = necklace_with(&["verify", "-"], text);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}: {error}");
        assert!(error.starts_with("error: standard input: ") && error.contains(expected), "{text}: {error}");
    }
    let output = necklace(&["verify", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: /no/such/file: "), "{}", stderr(&output));
    assert_eq!(necklace(&["verify", env!("CARGO_TARGET_TMPDIR")]).status.code(), Some(1));
}

#[test]
fn control_characters_in_a_document_are_escaped() {
    let document = planned("ring:3", "alltoall").replace("\"algorithm\":\"", "\"algorithm\":\"\\u001b[2J");
    let output = necklace_with(&["verify", "-"], &document);
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.contains(&0x1b), "{}", stdout(&output));
}

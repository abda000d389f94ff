//! Tests of `necklace plan`: its text, and its documents, which an independent checker accepts.

use crate::support::{checked, directory, necklace, printed, refused, stderr, stdout};
use necklace::Rank;
use necklace::algorithm::{Algorithm, registry};
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::local;
use necklace::op::Max;
use necklace::schedule::{Block, Hosts, Ports, Problem, from_json, verify};
use necklace::topology::parse;
use serde_json::Value;

fn document(topology: &str, collective: &str, algorithm: &str) -> String {
    document_with(topology, collective, algorithm, &[])
}

fn document_with(topology: &str, collective: &str, algorithm: &str, more: &[&str]) -> String {
    let arguments = ["plan", "--topology", topology, "--collective", collective, "--algorithm", algorithm];
    printed(&[&arguments[..], more, &["--json", "-"]].concat())
}

/// Returns the cells of a table's row after its name.
fn row(text: &str, name: &str) -> Vec<String> {
    let mut found = text.lines().filter_map(|line| line.strip_prefix(name));
    let cells = found.next().unwrap_or_else(|| panic!("no {name:?} in {text}"));
    cells.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn grid_exchanges_pass_the_checker_with_the_papers_figures() {
    let cases = [
        ("torus:12x12", "8", "576", 22),
        ("torus:8x4x4", "9", "576", 21),
        ("mesh:6x6", "6", "108", 18),
        ("mesh:6x10", "10", "300", 66),
        // Extensions of the paper: two classes in cells of two; half rings; folded rings.
        ("torus:6x10", "8", "172", 14),
        ("torus:5x7", "10", "102", 10),
        ("mesh:5x7", "10", "102", 20),
    ];
    for (topology, rounds, transmission, hops) in cases {
        let (kind, _) = topology.split_once(':').unwrap();
        let json = document(topology, "alltoall", &format!("{kind}-exchange"));
        let options = ["--rounds", rounds, "--transmission", transmission, "--ports", "one", "--contention-free"];
        let minimal = if kind == "torus" { &["--minimal-routes"][..] } else { &[] };
        let figures = checked(&json, &[&options[..], minimal].concat());
        if let Some(figures) = figures {
            assert_eq!(figures["hops"], hops, "{topology}: {figures}");
        }
    }
}

#[test]
fn cube_and_complete_schedules_pass_the_checker() {
    let cases = [
        ("hypercube:5", "cube-log", "5", "80", 5, &["--contention-free", "--minimal-routes"][..]),
        ("hypercube:5", "cube-xor", "31", "31", 80, &["--contention-free", "--minimal-routes"]),
        ("ghc:4,2", "cube-xor", "15", "15", 24, &["--contention-free", "--minimal-routes"]),
        ("complete:11", "bruck", "4", "17", 4, &["--contention-free", "--minimal-routes"]),
        ("complete:27", "bruck:radix=3", "6", "54", 6, &["--contention-free"]),
        // Two hops, or one if whole rows are skipped.
        ("ghc:3x5", "bruck:radix=15", "14", "14", 26, &[]),
    ];
    for (topology, algorithm, rounds, transmission, hops, promises) in cases {
        let json = document(topology, "alltoall", algorithm);
        assert_eq!(from_json(&json).unwrap().outline.algorithm, algorithm);
        let options = ["--rounds", rounds, "--transmission", transmission, "--ports", "one"];
        if let Some(figures) = checked(&json, &[&options[..], promises].concat()) {
            assert_eq!(figures["hops"], hops, "{algorithm} on {topology}: {figures}");
        }
    }
}

#[test]
fn reductions_in_rank_order_pass_the_checker() {
    for ranks in [1, 2, 3, 4, 5, 7, 8, 12, 13, 16] {
        for collective in ["allreduce", "scan"] {
            let json = document(&format!("ring:{ranks}"), collective, "auto");
            let document: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(document["commutative"], false, "{collective} of {ranks}");
            checked(&json, &[]);
        }
    }
}

#[test]
fn gossips_and_packed_trees_of_many_nodes_pass_the_checker() {
    let all = [
        ("ring:30", "circgos:a=7,b=5"),
        ("ring:29", "circgos:a=1"),
        ("line:27", "circgos:a=4,b=3"),
        ("ring:17", "circgos:a=5,b=4,ports=one"),
        ("torus:9x9", "torgos"),
        ("mesh:8x8", "torgos:a=4,b=3"),
        ("torus:11x11", "torgos:a=11"),
        ("torus:7x10", "high-dim-gos:a=3,b=2"),
        ("mesh:6x11", "high-dim-gos:a=4,b=2"),
        ("torus:4x4x4", "cubgos:a=2,b=2"),
        ("mesh:3x3x3", "cubgos"),
        ("torus:5x9", "balanced-trees"),
        ("torus:3x4x5", "balanced-trees:parts=2"),
        ("ghc:4x5", "balanced-trees:rounds=5"),
        ("mesh:6x7", "tree-packing"),
        ("mesh:3x4x3", "tree-packing:rounds=20"),
        ("torus:6x8", "high-dim-gos:a=2,b=1,a2=3,b2=2,growth=3"),
        ("torus:12x12", "torgos:a=4,b=2,growth=3"),
        ("torus:8x8", "torgos:a=2,b=1,ports=one"),
        ("torus:3x3x3", "cubgos:ports=one"),
        ("mesh:4x3x5", "high-dim-gos:a=2,a2=3,a3=1,colours=one"),
        ("torus:6x10", "black-white"),
        ("mesh:4x6x2", "black-white"),
    ];
    for (topology, algorithm) in all {
        let ports = if algorithm.contains("ports=one") || algorithm == "black-white" { "one" } else { "all" };
        for collective in ["allgather", "reduce_scatter", "allreduce"] {
            let json = document_with(topology, collective, algorithm, &["--commutative"]);
            checked(&json, &["--contention-free", "--ports", ports]);
        }
    }
    for topology in ["torus:6x7", "mesh:5x8", "hypercube:5", "torus:2x12"] {
        for (collective, order) in [("broadcast", &[][..]), ("reduce", &["--commutative"])] {
            for algorithm in ["edge-disjoint-trees:chunks=3", "bridgeheads"] {
                let json = document_with(topology, collective, algorithm, order);
                checked(&json, &["--contention-free", "--ports", "all"]);
            }
        }
        for collective in ["gather", "scatter"] {
            let json = document_with(topology, collective, "bridgeheads", &[]);
            checked(&json, &["--contention-free", "--ports", "all"]);
        }
    }
}

/// Small nontrivial topologies of many kinds. Every algorithm fits one of them, with two ranks a
/// host.
const SMALL: [&str; 9] =
    ["torus:4x4", "hypercube:3", "hypercube:1", "ghc:2x3", "complete:5", "ring:6", "mesh:3x2", "line:1", "how:6,2,1"];

#[test]
fn every_registered_algorithm_passes_plan_verify_and_checker() {
    for algorithm in registry() {
        let (name, collective) = (algorithm.about().name, algorithm.about().collective);
        let mut fitting = 0;
        for topology in SMALL {
            if !fits(algorithm.as_ref(), topology) {
                continue;
            }
            fitting += 1;
            // In rank order, if it can do that.
            let problem = problem(algorithm.as_ref(), topology).ordered();
            let order: &[&str] = if algorithm.fits(&problem).is_ok() { &[] } else { &["--commutative"] };
            let json = document_with(topology, collective, name, &[order, &["--hosts-of", "2"]].concat());
            let schedule = from_json(&json).unwrap();
            let proof = verify(&schedule).unwrap();
            // With the cheapest parameters, if the name leaves them open.
            assert_eq!(schedule.outline.algorithm.split(':').next(), Some(name));
            if let Some(figures) = checked(&json, &[]) {
                assert_eq!(figures["hops"], proof.hops, "{name} for {collective} on {topology}: {figures}");
            }
        }
        // `native` has no schedule.
        assert_eq!(fitting > 0, algorithm.priced_as().is_none(), "{name} for {collective} fits {fitting}");
    }
}

fn problem(algorithm: &dyn Algorithm, topology: &str) -> Problem {
    let collective = Collective::named(algorithm.about().collective, Rank::new(0)).unwrap();
    let problem = Problem::new(parse(topology).unwrap(), collective).unwrap();
    let hosts = Hosts::of_consecutive(problem.ranks(), 2);
    problem.on_hosts(hosts).unwrap()
}

fn fits(algorithm: &dyn Algorithm, topology: &str) -> bool {
    algorithm.fits(&problem(algorithm, topology)).is_ok()
}

#[test]
fn counted_figures_are_printed_beside_formulas() {
    let arguments = ["--topology=torus:12x12", "--collective=alltoall", "--algorithm=torus-exchange", "--bytes=64"];
    let text = printed(&[&["plan"], &arguments[..]].concat());
    // Columns: counted, formula, bound, ratio, bytes.
    assert_eq!(row(&text, "start-ups"), ["8", "8", "8", "1.00"]);
    assert_eq!(row(&text, "transmission, blocks"), ["576", "576", "216", "2.67", "36864"]);
    assert_eq!(row(&text, "transmission by port, blocks"), ["576", "576", "143", "4.03", "36864"]);
    assert_eq!(row(&text, "transmission by channel, blocks"), ["576", "576", "216", "2.67", "36864"]);
    assert_eq!(row(&text, "transmission forwarded, blocks"), ["1584", "1584", "864", "1.83", "101376"]);
    assert_eq!(row(&text, "transmission at the ends, blocks"), ["1008", "1008", "-", "-", "64512"]);
    assert_eq!(row(&text, "hops"), ["22", "22", "12", "1.83"]);
    assert_eq!(row(&text, "rearrangements"), ["3", "3", "-", "-"]);
    assert_eq!(row(&text, "messages of the busiest rank"), ["8", "8", "-", "-"]);
    assert_eq!(row(&text, "busiest channel, blocks"), ["432", "-", "-", "-", "27648"]);
    assert_eq!(row(&text, "contention-free"), ["yes", "yes", "-", "-"]);
    assert_eq!(row(&text, "ports"), ["one", "one", "-", "-"]);
    assert!(
        text.contains("price of blocks of 64 bytes on threads: 34.90 us = startup 32.32 + transmission 2.58"),
        "{text}"
    );
    assert!(text.contains("rounds 2 to 3     cells, dimension 2 of 2"), "{text}");
    assert!(text.contains("bound: a lower bound for any schedule with ports one, without contention\n"), "{text}");
}

#[test]
fn algorithm_that_needs_any_order_is_refused_with_the_option() {
    let of = |algorithm| ["--collective=allreduce", "--topology=ring:5", algorithm];
    for command in [&["plan"][..], &["cost", "--bytes=8"]] {
        let arguments = [command, &of("--algorithm=ring")].concat();
        let words = ["ring does not fit allreduce on ring:5", "; add --commutative if the operation commutes"];
        refused(&necklace(&arguments), &words);
        printed(&[&arguments[..], &["--commutative"]].concat());
    }
    let auto = ["plan", "--collective=reduce_scatter", "--topology=mesh:2x20", "--ports=all"];
    let words = ["auto does not fit", "promises ports all", "; add --commutative if the operation commutes"];
    refused(&necklace(&auto), &words);
    printed(&[&auto[..], &["--commutative"]].concat());
    // Here it would not help.
    for (algorithm, words) in [("--algorithm=direct", "promises ports"), ("--algorithm=torgos", "torgos does not fit")]
    {
        let output = necklace(&[&["plan", "--ports=one"], &of(algorithm)[..]].concat());
        refused(&output, &[words]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("--commutative"), "{output:?}");
    }
}

#[test]
fn requested_port_model_is_verified_and_exported() {
    let plan = |rest: &[&'static str]| [&["plan", "--collective=alltoall"], rest].concat();
    for ports in Ports::all() {
        for topology in ["--topology=torus:4x4", "--topology=complete:6", "--topology=ring:7"] {
            let asked = format!("--ports={ports}");
            // With cheap bytes and expensive start-ups, `auto` sends many messages at once unless
            // ports limit it.
            let machine = "--machine=free:startup=9us,byte=1ns,channel=1ns";
            let arguments = ["plan", "--collective=alltoall", topology, machine, &asked];
            let json = printed(&[&arguments[..], &["--json=-"]].concat());
            let schedule = from_json(&json).unwrap();
            assert_eq!(schedule.outline.ports, ports);
            assert!(verify(&schedule).unwrap().keeps(ports), "{ports} on {topology}");
            let asked_too = ["--ports", ports.name()];
            checked(&json, if ports == Ports::Unlimited { &[] } else { &asked_too });
            let text = printed(&arguments);
            assert!(text.contains(&format!("verified to keep to ports {ports}\n")), "{text}");
            let others = text.contains("does not fit: it promises ports unlimited, not ");
            // On a complete network, each transfer has its own channel.
            let all_keep = ports == Ports::Unlimited || ports == Ports::All && topology.contains("complete");
            assert_eq!(others, !all_keep, "{text}");
        }
    }
    // Each channel has one transfer, and each rank has many.
    let direct = |topology, ports| necklace(&plan(&["--algorithm=direct", topology, ports]));
    assert_eq!(direct("--topology=complete:6", "--ports=all").status.code(), Some(0));
    for (topology, ports) in [("--topology=complete:6", "--ports=one"), ("--topology=ring:6", "--ports=all")] {
        let output = direct(topology, ports);
        let expected = format!("it promises ports unlimited, not {}", &ports["--ports=".len()..]);
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
    // A document that claims a stricter port model is rejected.
    let json = printed(&plan(&["--algorithm=direct", "--topology=ring:6", "--json=-"]));
    let lie = json.replace("\"ports\":\"unlimited\"", "\"ports\":\"one\"");
    assert!(lie != json && verify(&from_json(&lie).unwrap()).is_err());
}

#[test]
fn port_limit_names_the_parameter_that_keeps_to_it() {
    for (topology, collective, algorithm, ports, wanted) in [
        ("ring:9", "allgather", "circgos", "one", "all, not one; use circgos:ports=one"),
        ("ring:9", "allgather", "circgos:a=3,b=2", "one", "all, not one; use circgos:a=3,b=2,ports=one"),
        // One step is too few with one port.
        (
            "ring:9",
            "allgather",
            "circgos:a=3,b=1",
            "one",
            "all, not one; use circgos:ports=one \
             (circgos:a=3,b=1,ports=one does not fit: b=1: with a=3 it needs at least 2)",
        ),
        ("torus:4x4", "broadcast", "bridgeheads", "one-send", "all, not one-send; use bridgeheads:ports=one"),
        ("how:6,2,1", "scatter", "subtrees", "one", "all, not one; use subtrees:ports=one"),
        (
            "ghc:3,2",
            "scatter",
            "balanced-spanning-tree:load=4",
            "one-send",
            "all, not one-send; use balanced-spanning-tree:ports=one",
        ),
        // Along a tree, a rank sends to one other rank.
        ("how:6,2,1", "gather", "subtrees", "one", "one-send, not one; use subtrees:ports=one"),
        ("ring:9", "alltoall", "bruck:radix=3,ports=all", "one", "unlimited, not one; use bruck:radix=3"),
        // Without such a parameter, and with one that does not fit.
        ("torus:4x4", "allgather", "balanced-trees", "one", "all, not one; use ring, recursive-doubling or bruck"),
        (
            "line:9",
            "allgather",
            "circgos",
            "one",
            "all, not one; ports=one: blocks go round in one direction; it needs a ring or a product of rings; \
             use ring, recursive-doubling or bruck",
        ),
    ] {
        let plan = ["plan", "--topology", topology, "--collective", collective, "--algorithm", algorithm];
        let output = necklace(&[&plan[..], &["--ports", ports]].concat());
        let wanted = format!("it promises ports {wanted}\n");
        assert!(stderr(&output).contains(&wanted), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(2), "{algorithm} on {topology}");
    }
}

#[test]
fn auto_lists_the_candidates_it_compared() {
    let text = printed(&["plan", "--topology", "ring:6", "--collective", "alltoall"]);
    let paragon = printed(&["plan", "--topology", "ring:6", "--collective", "alltoall", "--machine", "paragon"]);
    assert!(paragon.contains("the cheapest by the prices of paragon"), "{paragon}");
    let said = [
        "direct-rotated",
        "direct-xor",
        "does not fit: it needs a number of ranks that is a power of two",
        "the cheapest",
    ];
    assert!(said.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn list_names_every_algorithm_and_its_claims() {
    let text = printed(&["plan", "--list"]);
    let there = printed(&["plan", "--list", "--topology", "torus:12x12"]);
    for algorithm in registry() {
        let about = algorithm.about();
        for list in [&text, &there] {
            let group = list.split("\n\n").find(|group| group.split_whitespace().next() == Some(about.collective));
            let group = group.unwrap_or_else(|| panic!("no {} in {list}", about.collective));
            let named = |line: &str| line.strip_prefix("  ").is_some_and(|line| line.starts_with(about.name));
            assert!(group.lines().any(named), "no {} in {group}", about.name);
            let said = [about.source, about.needs, about.claims];
            assert!(said.iter().all(|part| group.contains(part)), "{group}");
        }
    }
    assert!(
        there.contains("start-ups 8, transmission 576, forwarded 1584, at the ends 1008, hops 22, rearrangements 3"),
        "{there}"
    );
    assert!(
        there.contains("does not fit      it needs a number of ranks that is a power of two; there are 144"),
        "{there}"
    );
    for said in ["radix=2..2147483647: radix of the digits; radix=2 unless given", "ports=one|all: "] {
        assert!(text.contains(said) && there.contains(said), "{text}");
    }
    assert!(there.contains("variant           bruck:radix=12: start-ups 22, "), "{there}");
    let scans = printed(&["plan", "--list", "--collective", "scan"]);
    assert!(scans.starts_with("scan\n") && !scans.contains("alltoall"), "{scans}");
}

#[test]
fn broadcast_starts_at_the_given_root() {
    let arguments = ["plan", "--topology", "ring:5", "--collective", "broadcast", "--root", "3", "--json", "-"];
    let json: Value = serde_json::from_str(&printed(&arguments)).unwrap();
    assert_eq!(json["root"], 3);
    checked(&json.to_string(), &[]);
}

#[test]
fn json_file_is_written_beside_the_text() {
    let directory = directory("a_file_gets_the_document");
    let path = directory.join("schedule.json");
    let name = path.to_str().unwrap();
    let arguments = ["plan", "--topology", "torus:4x4", "--collective", "alltoall", "--json"];
    std::fs::write(&path, "what was there before").unwrap();
    let text = printed(&[&arguments[..], &[name]].concat());
    assert!(text.contains("start-ups") && !text.contains("necklace-schedule"), "{text}");
    let alone = printed(&[&arguments[..], &["-"]].concat());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), alone);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "something else was left there");
}

#[test]
fn refused_document_keeps_the_old_file() {
    let directory = directory("a_document_that_cannot_be_made");
    let path = directory.join("schedule.json");
    std::fs::write(&path, "what was there before").unwrap();
    let arguments = ["plan", "--topology", "hypercube:18", "--collective", "alltoall", "--json"];
    let output = necklace(&[&arguments[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there before");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "something else was left there");
}

#[test]
fn dash_writes_only_the_document_to_standard_output() {
    let output = necklace(&["plan", "--topology", "ring:6", "--collective", "alltoall", "--json", "-"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["format"], "necklace-schedule/1");
    assert_eq!(output.stderr, b"");
    // Without a schedule there is no document.
    let output = necklace(&["plan", "--topology", "hypercube:18", "--collective", "alltoall", "--json", "-"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}

#[test]
fn graph_from_a_file_is_planned_and_checked() {
    let path = directory("a_graph_from_a_file").join("edges");
    std::fs::write(&path, "0 1\n1 2\n2 3\n3 0\n0 4\n").unwrap();
    let topology = format!("graph:@{}", path.display());
    let json = document(&topology, "allgather", "ring");
    checked(&json, &[]);
}

#[test]
fn proof_larger_than_memory_is_refused_before_it_begins() {
    let large = ["plan", "--topology=complete:5000", "--collective=alltoall", "--algorithm=direct"];
    let output = necklace(&[&large[..], &["--memory=1G"]].concat());
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{said}");
    for part in [
        "complete:5000",
        "direct needs about 1",
        "GiB of memory, but only 1.0 GiB is allowed",
        "--memory",
        "--verify-sample N",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let small = ["plan", "--topology=complete:9", "--collective=alltoall", "--algorithm=direct", "--memory=100M"];
    assert!(printed(&small).contains("contention-free"));
}

#[test]
fn memory_remedy_is_offered_only_if_it_helps() {
    let refused = |arguments: &[&str]| {
        let output = necklace(&[&["plan", "--topology=complete:5000"], arguments].concat());
        let said = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{said}");
        assert!(said.contains("of memory") && said.contains("allow more with --memory"), "{said}");
        said
    };
    let direct = ["--collective=alltoall", "--algorithm=direct"];
    assert!(refused(&[&direct[..], &["--memory=500M"]].concat()).contains("--verify-sample"));
    // The share of one rank does not fit either.
    assert!(!refused(&[&direct[..], &["--memory=1M"]].concat()).contains("--verify-sample"));
    // A reduction cannot be verified in part.
    assert!(!refused(&["--collective=allreduce", "--memory=1M"]).contains("--verify-sample"));
}

#[test]
fn sample_larger_than_memory_is_refused_before_it_begins() {
    let direct = ["plan", "--topology=complete:2000", "--collective=alltoall", "--algorithm=direct"];
    let sample = |ranks: &str, memory: &str| {
        let output = necklace(&[&direct[..], &["--verify-sample", ranks, "--memory", memory]].concat());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (status, text, said) = sample("1000", "100M");
    assert_eq!((status, text.as_str()), (Some(1), ""), "{said}");
    for part in [
        "a check of 1000 ranks' parts in direct needs about",
        "100.0 MiB is allowed; allow more with --memory, or verify fewer ranks",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let (status, text, said) = sample("2", "100M");
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(text.contains("checked: the parts of 2 of 2000 ranks"), "{text}");
}

/// Claims are formulas there, or lower bounds where counting takes too long: nothing grows with the
/// nodes.
#[cfg(unix)]
#[test]
fn huge_networks_are_refused_in_little_memory() {
    let program = env!("CARGO_BIN_EXE_necklace");
    for topology in ["how:2147483647,3,1", "how:46340,3,2", "how-wrap:1290,3,3", "ring:2147483647"] {
        for collective in ["broadcast", "scatter", "gather", "reduce", "allgather", "alltoall"] {
            let command = "ulimit -v 400000; exec \"$0\" plan --topology \"$1\" --collective \"$2\" --memory 100M";
            let output =
                std::process::Command::new("sh").args(["-c", command, program, topology, collective]).output().unwrap();
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{topology} {collective}: {said}");
            assert!(said.contains(topology) && said.contains("of memory, but only"), "{said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn sample_needs_memory_only_for_its_ranks() {
    // All ranks are peers of the sample's ranks. Their rounds together would take about 500 MB.
    let command = "ulimit -v 200000; exec \"$0\" plan --topology complete:2500 --collective alltoall --algorithm direct --verify-sample 8";
    let program = env!("CARGO_BIN_EXE_necklace");
    let output = std::process::Command::new("sh").args(["-c", command, program]).output().unwrap();
    let said = stderr(&output);
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    // A problem that is too large to be estimated is refused too.
    let command = command.replace("complete:2500", "complete:10000000");
    let output = std::process::Command::new("sh").args(["-c", &command, program]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("needs at least") && said.contains("MiB is available"), "{said}");
}

#[cfg(unix)]
#[test]
fn process_limit_bounds_the_available_memory() {
    let command =
        "ulimit -v 2000000; exec \"$0\" plan --topology complete:5000 --collective alltoall --algorithm direct";
    let program = env!("CARGO_BIN_EXE_necklace");
    let output = std::process::Command::new("sh").args(["-c", command, program]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("GiB is available"), "{said}");
}

#[test]
fn sample_of_ranks_is_verified_and_reported_as_such() {
    let sample = |collective: &str, algorithm: &str, more: &[&str]| {
        let arguments = ["plan", "--topology=complete:300", "--collective", collective, "--algorithm", algorithm];
        necklace(&[&arguments[..], &["--verify-sample=3"], more].concat())
    };
    let output = sample("alltoall", "direct", &[]);
    let (text, said) = (stdout(&output), stderr(&output));
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    assert!(text.contains("checked: the parts of 3 of 300 ranks, 1 round"), "{text}");
    assert!(text.contains("not checked: the parts of the other 297 ranks"), "{text}");
    assert_eq!(sample("allreduce", "recursive-doubling", &[]).status.code(), Some(2));
    assert_eq!(sample("alltoall", "direct", &["--json=-"]).status.code(), Some(2));
    for (topology, ranks, others) in [
        ("complete:4", "4", "not checked: the formulas"),
        ("complete:1", "9", "not checked: the formulas"),
        ("complete:4", "3", "the other 1 rank, contention"),
    ] {
        let text = printed(&["plan", "--topology", topology, "--collective=alltoall", "--verify-sample", ranks]);
        assert!(text.contains(others), "{text}");
    }
    let help = printed(&["plan", "--help"]);
    for part in ["Reductions (allreduce, scan, ..) cannot be verified in part", "Takes the time to make"] {
        assert!(help.contains(part), "{part:?} is not in the help");
    }
}

#[test]
fn exported_schedule_of_each_collective_runs() {
    let network = "torus:2x3";
    let mut kinds: Vec<&str> = registry().iter().map(|row| row.about().collective).collect();
    kinds.dedup();
    for kind in kinds {
        let collective = Collective::named(kind, Rank::new(0)).unwrap();
        let arguments = ["plan", "--topology", network, "--collective", kind, "--json", "-"];
        let how = How::from(from_json(&printed(&arguments)).unwrap());
        let outcomes = local::run_on(network, |mut comm| {
            let rank = Rank::new(comm.rank());
            // Each block holds the two numbers of its name. Reductions and scans return the
            // maximum.
            let words = |block: Block| [block.source(), block.destination()].map(i32::cast_unsigned);
            let buffer = |holding: &[(Block, Vec<Rank>)]| -> Vec<u32> {
                holding.iter().filter(|_| kind != "barrier").flat_map(|(block, _)| words(*block)).collect()
            };
            // Contributions to a prefix are named after their ranks.
            let own = |rank: Rank| words(Block::result(rank));
            let wanted: Vec<u32> = match kind {
                "exscan" => collective.after(6, rank).iter().flat_map(|(_, from)| own(*from.last().unwrap())).collect(),
                _ => buffer(&collective.after(6, rank)),
            };
            let mut receive = vec![0; wanted.len()];
            let send = buffer(&collective.before(6, rank));
            let outcome = comm.using(&how).perform(&collective, &send, &mut receive, Max);
            assert_eq!(receive, wanted, "{kind}, rank {rank}");
            outcome
        });
        outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
    }
}

#[test]
fn distance_of_a_shift_is_part_of_its_name() {
    let json = document("ring:7", "shift:by=5", "ring");
    assert_eq!(from_json(&json).unwrap().outline.problem.collective(), &Collective::Shift { by: 5 });
    let text = printed(&["plan", "--topology", "ring:7", "--collective", "shift:by=5", "--algorithm", "ring"]);
    assert_eq!(row(&text, "start-ups")[..2], ["2", "2"]);
    let list = printed(&["plan", "--list", "--collective", "shift:by=5", "--topology", "ring:7"]);
    assert!(list.starts_with("shift on ring:7") && list.contains("start-ups 2"), "{list}");
}

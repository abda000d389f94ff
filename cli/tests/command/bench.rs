//! Tests of `necklace bench`: its benchmarks and its documents. No test asserts a time.

use crate::support::{directory, necklace, printed, refused};

/// Returns the cells of a CSV document, without its heading.
fn cells(csv: &str) -> Vec<Vec<&str>> {
    let mut lines = csv.lines();
    let heading = "system,transport,collective,algorithm,ranks,block_bytes,median_us,min_us,p90_us";
    assert_eq!(lines.next(), Some(heading));
    lines.map(|line| line.split(',').collect()).collect()
}

#[test]
fn alltoall_is_measured_beside_both_bare_exchanges() {
    let arguments = ["bench", "--ranks", "2,3", "--bytes", "8,1K", "--algorithm", "direct,ring", "--rounds", "1"];
    let csv = printed(&[&arguments[..], &["--csv", "-"]].concat());
    let cells = cells(&csv);
    let mut expected = Vec::new();
    for ranks in ["2", "3"] {
        for bytes in ["8", "1024"] {
            for (system, algorithm) in
                [("bare", "staged"), ("bare", "one-copy"), ("necklace", "direct"), ("necklace", "ring")]
            {
                expected.push([system, "threads", "alltoall", algorithm, ranks, bytes]);
            }
        }
    }
    assert_eq!(cells.iter().map(|row| row[..6].to_vec()).collect::<Vec<_>>(), expected);
    for row in &cells {
        let [median, least, p90] = [6, 7, 8].map(|at| row[at].parse::<f64>().unwrap());
        assert!(0.0 < least && least <= median && median <= p90, "{row:?}");
    }
}

#[test]
fn unfit_algorithms_are_left_out_per_network() {
    let file = directory("bench").join("times.csv");
    let networks = ["--topology", "torus:4x4,ring:3", "--algorithm", "torus-exchange,direct-xor"];
    let rest = ["--bytes", "8", "--rounds", "1", "--csv", file.to_str().unwrap()];
    let text = printed(&[&["bench", "build"], &networks[..], &rest].concat());
    let csv = std::fs::read_to_string(file).unwrap();
    let named: Vec<_> = cells(&csv).iter().map(|row| (row[3].to_owned(), row[4].to_owned())).collect();
    assert!(named.contains(&("torus-exchange".into(), "16".into())), "{named:?}");
    assert!(named.contains(&("direct-xor".into(), "16".into())), "{named:?}");
    assert!(!named.contains(&("direct-xor".into(), "3".into())), "{named:?}");
    assert!(text.contains("torus-exchange"), "{text}");
}

#[test]
fn proofs_and_other_collectives_are_measured() {
    let verify = ["bench", "verify", "--topology", "torus:4x4", "--algorithm", "torus-exchange", "--csv", "-"];
    assert_eq!(cells(&printed(&verify)).len(), 1);
    for collective in [
        "allgather",
        "broadcast",
        "allreduce",
        "scan",
        "barrier",
        "gather",
        "scatter",
        "reduce_scatter",
        "reduce",
        "exscan",
        "shift:by=2",
    ] {
        let arguments = ["bench", "--ranks", "3", "--bytes", "8", "--rounds", "1", "--csv", "-"];
        let csv = printed(&[&arguments[..], &["--collective", collective]].concat());
        assert_eq!(cells(&csv).iter().map(|row| row[2]).collect::<Vec<_>>(), [collective]);
    }
}

#[test]
fn plot_has_a_curve_per_system_and_number_of_ranks() {
    let file = directory("bench-plot").join("times.svg");
    let rest = ["--algorithm", "direct", "--rounds", "1", "--plot", file.to_str().unwrap()];
    printed(&[&["bench", "--ranks", "1,2", "--bytes", "8,64"], &rest[..]].concat());
    let svg = std::fs::read_to_string(file).unwrap();
    for name in ["bare staged, 1 ranks", "bare one-copy, 2 ranks", "necklace direct, 2 ranks", "bytes a block"] {
        assert!(svg.contains(name), "no {name} in {svg}");
    }
}

#[test]
fn dash_writes_only_the_plot_to_standard_output() {
    let svg = printed(&["bench", "--ranks", "2", "--bytes", "8", "--rounds", "1", "--plot", "-"]);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
}

#[test]
fn unmeasurable_request_is_a_usage_error() {
    for (arguments, said) in [
        (&["--bytes", "1.5K"][..], "expected a number of bytes"),
        (&["--ranks", "0"], "0 is not in"),
        (&["--algorithm", "unheard-of"], "unheard-of"),
        (&["--collective", "shift:to=2"], "expected one of alltoall, "),
        (&["--topology", "torus:"], "torus"),
        (&["--ranks", "2", "--topology", "ring:2"], "cannot be used with"),
        (&["--rounds", "0"], "0 is not in"),
        (&["--ranks", "2,4,2"], "--ranks: duplicate value 2"),
        (&["--ranks", "2", "--bytes", "8,8"], "--bytes: duplicate value 8"),
        (&["--ranks", "2", "--algorithm", "direct,direct"], "--algorithm: duplicate value direct"),
    ] {
        refused(&necklace(&[&["bench"], arguments].concat()), &[said]);
    }
}

#[cfg(unix)]
#[test]
fn processes_over_tcp_are_measured() {
    let arguments = ["bench", "--backend", "tcp", "-n", "2,3", "--bytes", "8,1K", "--algorithm", "direct,ring"];
    let csv = printed(&[&arguments[..], &["--rounds", "1", "--csv", "-"]].concat());
    let cells = cells(&csv);
    let expected = ["2", "3"].into_iter().flat_map(|ranks| {
        ["8", "1024"].into_iter().flat_map(move |bytes| {
            ["direct", "ring"].map(|algorithm| ["necklace", "tcp", "alltoall", algorithm, ranks, bytes])
        })
    });
    assert_eq!(cells.iter().map(|row| row[..6].to_vec()).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for row in &cells {
        let [median, least, p90] = [6, 7, 8].map(|at| row[at].parse::<f64>().unwrap());
        assert!(0.0 < least && least <= median && median <= p90, "{row:?}");
    }
}

#[test]
fn calls_are_measured_between_barriers() {
    let arguments = ["bench", "-n", "2,3", "--bytes", "8", "--barrier", "--rounds", "1", "--csv", "-"];
    let backends: &[&str] = if cfg!(unix) { &["local", "tcp"] } else { &["local"] };
    for backend in backends {
        let csv = printed(&[&arguments[..], &["--backend", backend]].concat());
        // The bare exchanges have no barrier.
        assert_eq!(
            cells(&csv).iter().map(|row| (row[0], row[4])).collect::<Vec<_>>(),
            [("necklace", "2"), ("necklace", "3")]
        );
        assert!(cells(&csv).iter().all(|row| row[6].parse::<f64>().unwrap() > 0.0), "{csv}");
    }
}

#[test]
fn options_of_move_are_refused_unless_bytes_move() {
    // The second name is a hidden alias.
    for option in ["--backend", "--transport"] {
        refused(&necklace(&["bench", "build", option, "tcp"]), &["--backend", "bench move"]);
    }
    refused(&necklace(&["bench", "verify", "--barrier"]), &["--barrier", "bench move"]);
}

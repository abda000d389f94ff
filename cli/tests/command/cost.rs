//! Tests of `necklace cost`: the paper's table by formula and counted, machines, plots.

use std::collections::HashMap;

use crate::support::{directory, necklace, printed, refused};

/// Returns the lines of a CSV document, by the names of its columns.
pub(crate) fn lines(document: &str) -> Vec<HashMap<String, String>> {
    csv::Reader::from_reader(document.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// Returns the row "Proposed" of table 2 in microseconds, for blocks of `m` bytes on 2^d x 2^d
/// nodes.
fn table_2(mesh: bool, d: i32, m: f64, startup: f64) -> [f64; 6] {
    let two = |exponent: i32| f64::from(2).powi(exponent);
    let barrier = f64::from(126 * d - 113);
    let terms = if mesh {
        let blocks = two(3 * d - 1);
        [two(d), blocks, two(2 * d) - two(d + 2) + 6.0, 2.0 * two(2 * d), two(d) - 1.0]
    } else {
        let blocks = two(3 * d - 2) + two(2 * d);
        [two(d - 1) + 2.0, blocks, two(d + 1) - 2.0, 3.0 * two(2 * d), two(d - 1) + 1.0]
    };
    let prices = [startup, m * 0.011, 0.02, m * 0.014, barrier];
    let terms: Vec<f64> = terms.iter().zip(prices).map(|(count, price)| count * price).collect();
    // The paper's total includes the barriers.
    [terms[0], terms[1], terms[2], terms[3], terms[4], terms[..4].iter().sum()]
}

#[test]
fn commands_in_the_help_reproduce_table_2_and_figures_13_to_16() {
    let figures = [
        ("torus-exchange", "torus", "paragon", 75.0, &[4, 5, 6, 7][..]),
        ("mesh-exchange", "mesh", "paragon", 75.0, &[4, 5, 6, 7]),
        ("torus-exchange", "torus", "paragon:message=110us", 220.0, &[4, 6]),
        ("mesh-exchange", "mesh", "paragon:message=110us", 220.0, &[4, 6]),
    ];
    for (algorithm, kind, machine, startup, sides) in figures {
        let topologies: Vec<String> = sides.iter().map(|d| format!("--topology={kind}:{0}x{0}", 1 << d)).collect();
        let mut arguments = vec!["cost", "--collective", "alltoall", "--machine", machine, "--algorithm", algorithm];
        arguments.extend(["--bytes", "1,64,256,1K,4K,16K", "--csv", "-"]);
        arguments.extend(topologies.iter().map(String::as_str));
        let found = lines(&printed(&arguments));
        assert_eq!(found.len(), 2 * 6 * sides.len());
        for line in found.iter().filter(|line| line["by"] == "formula") {
            let number = |name: &str| line[name].parse::<f64>().unwrap();
            let d = (number("ranks").log2() / 2.0) as i32;
            let expected = table_2(kind == "mesh", d, number("block_bytes"), startup);
            let terms = ["startup", "transmission", "propagation", "rearrangement", "synchronisation", "total"];
            for (found, expected) in terms.map(number).into_iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-9 * expected, "{line:?}: {found}, expected {expected}");
            }
        }
    }
}

#[test]
fn incomplete_formula_is_marked_as_a_lower_bound() {
    let graph = directory("too-little").join("graph.txt");
    // On a network of this size nothing is counted.
    let path: String = (1..150).map(|node| format!("{} {node}\n", node - 1)).collect();
    std::fs::write(&graph, path).unwrap();
    let topology = format!("graph:@{}", graph.display());
    let cost = ["cost", "--topology", &topology, "--collective", "alltoall", "--algorithm", "direct", "--bytes", "64"];
    let table = printed(&[&cost[..], &["--machine", "paragon"]].concat());
    assert!(table.contains("(at least: nothing claimed of transmission by channel, hops)"), "{table}");
    assert!(!printed(&cost).contains("at least"));
    let marked = |machine| {
        let found = lines(&printed(&[&cost[..], &["--csv=-", "--machine", machine]].concat()));
        found.iter().map(|line| (line["by"].clone(), line["at_least"].clone())).collect::<Vec<_>>()
    };
    let line = |by: &str, at_least: &str| (by.to_owned(), at_least.to_owned());
    assert_eq!(marked("paragon"), [line("formula", "transmission by channel; hops"), line("bound", "")]);
    assert_eq!(marked("threads"), [line("formula", ""), line("bound", "")]);
}

#[test]
fn formulas_agree_with_counted_prices() {
    let arguments = ["cost", "--topology=torus:4x8", "--topology=ring:5", "--collective=alltoall", "--bytes=0,100"];
    let found = lines(&printed(&[&arguments[..], &["--machine=unit", "--compare", "--csv=-"]].concat()));
    let mut compared = 0;
    for pair in found.chunks(4) {
        let [formula, counted, simulated, bound] = pair else { panic!("{pair:?}") };
        let by = [formula, counted, simulated, bound].map(|line| line["by"].as_str());
        assert_eq!((by, simulated["startup"].as_str()), (["formula", "counted", "simulated", "bound"], "-"));
        for term in ["total", "startup", "transmission", "propagation", "rearrangement", "synchronisation"] {
            let of = |line: &HashMap<String, String>| line[term].parse::<f64>().unwrap();
            assert!(of(bound) <= of(formula) && of(bound) <= of(counted), "{term}: {pair:?}");
        }
        let total = |line: &HashMap<String, String>| line["total"].parse::<f64>().unwrap();
        assert!(total(formula) <= total(counted), "{pair:?}");
        let exact = ["direct", "direct-rotated", "torus-exchange"].contains(&formula["algorithm"].as_str());
        assert!(!exact || total(formula) == total(counted), "{pair:?}");
        assert!(total(simulated) <= 3.0 * total(counted), "{pair:?}");
        compared += 1;
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn bounds_are_printed_for_every_price_and_time() {
    let on = ["--topology=torus:12x12", "--collective=alltoall", "--bytes=64", "--machine=unit", "--csv=-"];
    let only = ["--algorithm=direct,torus-exchange"];
    let cost = lines(&printed(&[&["cost"], &on[..], &only].concat()));
    let of = |algorithm: &str| {
        let line = cost.iter().find(|line| line["by"] == "bound" && line["algorithm"] == algorithm).unwrap();
        ["startup", "transmission", "total"].map(|term| line[term].clone())
    };
    // With any number of ports: 1 start-up, 216 blocks over channels. With one port: 8 start-ups,
    // 864 forwarded blocks.
    assert_eq!(of("direct"), ["1", "13824", "13825"]);
    assert_eq!(of("torus-exchange"), ["8", "55296", "55304"]);
    // In a simulation, start-ups and transmissions of several nodes may overlap.
    let times = lines(&printed(&[&["simulate"], &on[..], &only].concat()));
    for pair in times.chunks(2) {
        assert_eq!((pair[0]["by"].as_str(), pair[1]["by"].as_str()), ("simulated", "bound"));
        assert_eq!((pair[1]["total"].as_str(), pair[1]["waiting"].as_str()), ("13825", "-"));
        assert_eq!(pair[0].len(), pair[1].len());
    }
    let text = printed(&["cost", on[0], on[1], on[2], on[3], only[0]]);
    let line = text.lines().find(|line| line.contains("bound")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>()[..5], ["64", "bound", "13825.00", "1.00", "13824.00"]);
    let picture = printed(&["cost", on[0], on[1], on[2], on[3], only[0], "--plot=-"]);
    assert!(picture.contains("torus:12x12 direct") && !picture.contains("bound"), "{picture}");
}

#[test]
fn startup_price_applies_to_every_startup() {
    let on = ["cost", "--topology=torus:16x16", "--collective=alltoall", "--algorithm=torus-exchange", "--bytes=1"];
    let text = printed(&[&on[..], &["--machine=paragon"]].concat());
    let names: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
    let terms = ["startup", "transmission", "propagation", "rearrangement", "combination", "cores", "synchronisation"];
    assert_eq!(names, [&["bytes", "by", "total"][..], &terms].concat());
    let line = text.lines().find(|line| line.contains("formula")).unwrap();
    // Ten start-ups of 75 us.
    assert!(line.contains(" 750.00 "), "{text}");
}

#[test]
fn machine_file_is_read_and_plot_is_svg() {
    let directory = directory("machines_come_from_files");
    let path = directory.join("slow.json");
    std::fs::write(&path, r#"{"startup": "1 ms", "hop": "2 us"}"#).unwrap();
    let svg = directory.join("curves.svg");
    let text = printed(&[
        "cost",
        "--topology=hypercube:5",
        "--collective=allgather",
        "--algorithm=recursive-doubling",
        "--bytes=1,10,100",
        "--machine",
        path.to_str().unwrap(),
        "--plot",
        svg.to_str().unwrap(),
    ]);
    assert!(text.contains("5010.00") && text.contains("free:startup=1000us,hop=2us"), "{text}");
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("hypercube:5 recursive-doubling") && svg.ends_with("</svg>\n"));
    let alone = ["cost", "--topology=ring:4", "--collective=barrier", "--bytes=1", "--plot=-"];
    assert!(printed(&alone).starts_with("<svg"));

    std::fs::write(&path, r#"{"startup": "1 hour"}"#).unwrap();
    let machine = ["--machine", path.to_str().unwrap()];
    for command in [&["cost", "--bytes=1"][..], &["plan"]] {
        let output = necklace(&[command, &["--topology=ring:4", "--collective=barrier"], &machine].concat());
        refused(&output, &["startup: found \"1 hour\""]);
    }
}

#[test]
fn large_network_is_priced_by_formula() {
    let arguments = ["cost", "--topology=torus:8192x8192", "--topology=mesh:10000x2x5000", "--topology=hypercube:26"];
    printed(&[&arguments[..], &["--collective=alltoall", "--bytes=1", "--machine=paragon"]].concat());
}

#[test]
fn simulation_prints_channel_use_beside_times() {
    let arguments = ["simulate", "--topology=torus:4x4", "--collective=alltoall", "--bytes=0,100", "--machine=paragon"];
    let found = lines(&printed(&[&arguments[..], &["--csv=-", "--compare"]].concat()));
    let number = |line: &HashMap<String, String>, name: &str| line[name].parse::<f64>().unwrap();
    let of = |by: &str, algorithm: &str, bytes: &str| {
        let line = found.iter().find(|l| l["by"] == by && l["algorithm"] == algorithm && l["block_bytes"] == bytes);
        line.unwrap_or_else(|| panic!("no {algorithm} {by}"))
    };
    // All nodes behave alike, and nothing waits.
    let exchange = of("simulated", "torus-exchange", "100");
    assert_eq!(number(exchange, "total"), number(of("formula", "torus-exchange", "100"), "total"));
    assert_eq!((number(exchange, "first"), number(exchange, "waiting")), (number(exchange, "total"), 0.0));
    assert!(number(of("simulated", "direct-rotated", "100"), "busiest_channel") > 0.0);
    let arguments = ["simulate", "--topology=torus:4x4", "--collective=alltoall", "--bytes=64", "--algorithm=direct"];
    let text = printed(&arguments);
    assert!(text.contains("longest wait") && text.contains("simulated"), "{text}");
    assert!(printed(&[&arguments[..], &["--plot=-"]].concat()).starts_with("<svg"));
    let large = ["simulate", "--topology=hypercube:29", "--collective=barrier", "--bytes=0"];
    assert_eq!(necklace(&large).status.code(), Some(1));
}

#[test]
fn auto_stands_for_the_cheapest_at_each_block_size() {
    let arguments =
        ["cost", "--topology=ring:4", "--collective=alltoall", "--bytes=8,1M", "--machine=paragon", "--csv=-"];
    let all = lines(&printed(&arguments));
    let auto = lines(&printed(&[&arguments[..], &["--algorithm=auto"]].concat()));
    let total = |line: &HashMap<String, String>| line["total"].parse::<f64>().unwrap();
    for bytes in ["8", "1048576"] {
        let least = |lines: &[HashMap<String, String>]| {
            let prices = lines.iter().filter(|line| line["by"] == "formula" && line["block_bytes"] == bytes);
            prices.map(total).min_by(f64::total_cmp).unwrap()
        };
        assert_eq!(least(&auto), least(&all), "{bytes}");
    }
    let formulas = auto.iter().filter(|line| line["by"] == "formula").count();
    assert!((2..=4).contains(&formulas), "one or two algorithms at two sizes: {auto:?}");
    refused(&necklace(&[&arguments[..], &["--algorithm=auto,auto"]].concat()), &["auto"]);
}

#[test]
fn plot_by_ranks_has_a_curve_for_each_family() {
    let arguments = ["cost", "--collective=alltoall", "--bytes=64", "--algorithm=direct", "--plot=-"];
    let networks = ["--topology=torus:4x4", "--topology=torus:8x8", "--topology=how:4,2,2", "--topology=how:6,2,2"];
    let picture = printed(&[&arguments[..], &networks, &["--plot-by=ranks"]].concat());
    for name in ["torus:*x* direct", "how:*,2,2 direct", "alltoall, 64 bytes a block, on threads", "ranks"] {
        assert!(picture.contains(name), "{name}: {picture}");
    }
    assert!(!picture.contains("torus:4x4") && !picture.contains("bytes a block\n"));
    let simulated = ["simulate", "--collective=alltoall", "--bytes=8,64", "--algorithm=direct", "--plot=-"];
    let picture = printed(&[&simulated[..], &networks[..2], &["--plot-by=ranks"]].concat());
    assert!(picture.contains("torus:*x* direct, 8 bytes") && picture.contains("torus:*x* direct, 64 bytes"));
    let alone = necklace(&["cost", "--topology=ring:4", "--collective=barrier", "--bytes=1", "--plot-by=ranks"]);
    refused(&alone, &["--plot <FILE|->"]);
}

#[test]
fn comparison_has_the_formulas_of_a_thesis_where_it_has_any() {
    let priced = |switching: &str, network: &str, collective: &str, algorithms: &str| {
        let machine = format!("--machine=free:channel=1us,switching={switching}");
        let arguments = ["cost", "--bytes=2", &machine, "--compare", "--csv=-"];
        let more = ["--topology", network, "--collective", collective, "--algorithm", algorithms];
        let found = lines(&printed(&[&arguments[..], &more].concat()));
        let thesis = found.into_iter().filter(|line| line["by"] == "thesis");
        thesis.map(|line| (line["algorithm"].clone(), line["total"].clone())).collect::<Vec<_>>()
    };
    let of = |network: &str, collective: &str| priced("store-and-forward", network, collective, "auto");
    let line = |total: &str| vec![("wang-1999".to_owned(), total.to_owned())];
    assert_eq!(of("how:4,2,2", "broadcast"), line("8"));
    assert_eq!(of("ghc:4,2", "alltoall"), line("30"));
    assert_eq!(of("hypercube:3", "allgather"), line("14"));
    assert_eq!(of("how:6,2,1", "broadcast"), line("6"));
    assert_eq!((of("how:4,2,3", "broadcast"), of("hypercube:3", "gather")), (vec![], vec![]));
    // With wormhole routing, a broadcast is a pipeline.
    assert_eq!(priced("cut-through", "how:4,2,2", "broadcast", "auto"), line("2"));
    // Five steps with one port, and four with the same message over all.
    let models = "sliding-windows:ports=one,sliding-windows";
    let both =
        [("wang-1999", "8"), ("wang-1999:model=1", "10")].map(|(name, total)| (name.to_owned(), total.to_owned()));
    assert_eq!(priced("store-and-forward", "how:12,3,1", "broadcast", models), both);
    let without = ["cost", "--topology=hypercube:3", "--collective=alltoall", "--bytes=1"];
    assert!(!printed(&without).contains("thesis"));
}

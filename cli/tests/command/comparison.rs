//! `doc/notes/how-comparison.md`: its tables and pictures are what `necklace cost --compare` prints
//! and plots.
//!
//! `NECKLACE_REWRITE=1 cargo test -p necklace-cli --test command comparison` writes them again.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use necklace::topology::{OverlappingWindows, parse};

use crate::cost::lines;
use crate::support::{directory, necklace, printed};

const COLLECTIVES: [&str; 4] = ["broadcast", "allgather", "scatter", "alltoall"];

/// Networks of 4 x 4 to 16 x 16 nodes: overlapping windows, generalized and binary hypercubes.
const EXTENTS: [usize; 5] = [4, 6, 8, 12, 16];

/// A word has 1000 bytes, and takes a microsecond over a channel.
const MACHINE: &str = "free:channel=1ns,switching=store-and-forward";

type Line = HashMap<String, String>;

fn networks(extent: usize) -> Vec<String> {
    let (p, cube) = (extent, (extent * extent).ilog2());
    let cube = extent.is_power_of_two().then(|| format!("hypercube:{cube}"));
    [format!("how:{p},3,2"), format!("ghc:{p},2")].into_iter().chain(cube).collect()
}

/// Runs `necklace cost --compare` and returns its records.
fn compared(collective: &str, algorithm: &str, words: &[u64], networks: &[String], more: &[&str]) -> Vec<Line> {
    let bytes: Vec<String> = words.iter().map(|words| (1000 * words).to_string()).collect();
    let bytes = format!("--bytes={}", bytes.join(","));
    let (collective, algorithm) = (format!("--collective={collective}"), format!("--algorithm={algorithm}"));
    let networks: Vec<String> = networks.iter().map(|network| format!("--topology={network}")).collect();
    let mut arguments = vec!["cost", &collective, &algorithm, &bytes, "--machine", MACHINE, "--compare", "--csv=-"];
    arguments.extend(networks.iter().map(String::as_str).chain(more.iter().copied()));
    lines(&printed(&arguments))
}

/// Returns the least time of a network by a source in microseconds, which are words over a channel.
fn time(records: &[Line], network: &str, by: &str, words: u64) -> Option<f64> {
    let bytes = (1000 * words).to_string();
    let found = records.iter().filter(|r| r["topology"] == network && r["by"] == by && r["block_bytes"] == bytes);
    found.map(|record| record["total"].parse::<f64>().unwrap()).min_by(f64::total_cmp)
}

/// Two decimals at most; a dash for what there is not.
fn number(time: Option<f64>) -> String {
    let Some(time) = time else { return "–".to_owned() };
    let text = format!("{time:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn head(cells: &[&str]) -> String {
    format!("| {} |\n{}|\n", cells.join(" | "), "|---".repeat(cells.len()))
}

fn notes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../doc/notes")
}

fn rewrites() -> bool {
    std::env::var_os("NECKLACE_REWRITE").is_some()
}

/// Tests rewrite the page one after the other.
fn page_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap()
}

/// Asserts that the page has this table after the mark of its name, or writes it.
fn check_table(name: &str, table: &str) {
    let _lock = page_lock();
    let path = notes().join("how-comparison.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mark = format!("<!-- table: {name} -->\n");
    let start = page.find(&mark).unwrap_or_else(|| panic!("no {mark}")) + mark.len();
    let length = page[start..].find("<!-- end -->").unwrap();
    if rewrites() {
        std::fs::write(&path, format!("{}{table}{}", &page[..start], &page[start + length..])).unwrap();
    } else {
        assert_eq!(&page[start..start + length], table, "see the head of this file for the command that writes it");
    }
}

/// Asserts that a committed picture equals a drawn one, or replaces it.
fn check_picture(name: &str, drawn: &Path) {
    let (committed, drawn) = (notes().join(name), std::fs::read_to_string(drawn).unwrap());
    if rewrites() {
        std::fs::write(committed, drawn).unwrap();
    } else {
        assert!(std::fs::read_to_string(committed).unwrap() == drawn, "{name} differs from the drawn picture");
    }
}

/// The table and the picture of a collective, for messages of two words.
fn check(collective: &str) {
    let all: Vec<String> = EXTENTS.into_iter().flat_map(networks).collect();
    let name = format!("how-comparison-{collective}.svg");
    let svg = directory(&format!("comparison-{collective}")).join(&name);
    let plot = ["--plot-by=ranks", "--plot", svg.to_str().unwrap()];
    let records = compared(collective, "auto", &[2], &all, &plot);
    let mut table = head(&[
        "p",
        "HOW, thesis",
        "counted",
        "bound",
        "GH, thesis",
        "counted",
        "bound",
        "cube, thesis",
        "counted",
        "bound",
    ]);
    for extent in EXTENTS {
        let mut cells = vec![(extent * extent).to_string()];
        for place in 0..3 {
            let networks = networks(extent);
            let of = |by: &str| number(networks.get(place).and_then(|network| time(&records, network, by, 2)));
            cells.extend(["thesis", "counted", "bound"].map(of));
        }
        table += &row(&cells);
    }
    let mut taken: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for record in records.iter().filter(|record| record["by"] == "counted") {
        let kinds = ["how", "ghc", "hypercube"];
        let place = kinds.iter().position(|kind| record["topology"].starts_with(kind)).unwrap();
        let name = format!("`{}`", record["algorithm"].split(':').next().unwrap());
        let names = taken.entry(place).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<String> = taken.into_values().map(|names| names.join(", ")).collect();
    check_table(
        collective,
        &format!("{table}\nCounted: {} on HOW;\n{} on GH;\n{} on cubes.\n", names[0], names[1], names[2]),
    );
    check_picture(&name, &svg);
    // Counts equal the formulas of the algorithms, and none is below the bound.
    for network in &all {
        let [formula, counted, bound] =
            ["formula", "counted", "bound"].map(|by| time(&records, network, by, 2).unwrap());
        assert!(formula <= counted && bound <= counted + 1e-6, "{network}: {formula}, {counted}, {bound}");
    }
}

#[test]
fn comparison_of_broadcasts_is_counted_and_drawn() {
    check("broadcast");
}

#[test]
fn comparison_of_allgathers_is_counted_and_drawn() {
    check("allgather");
}

#[test]
fn comparison_of_scatters_is_counted_and_drawn() {
    check("scatter");
}

#[test]
fn comparison_of_alltoalls_is_counted_and_drawn() {
    check("alltoall");
}

#[test]
fn comparison_for_messages_of_other_lengths_is_counted() {
    let words = [2, 5, 10, 20];
    let mut table = head(&["", "network", "thesis, m = 2", "5", "10", "20", "counted, m = 2", "5", "10", "20"]);
    for collective in COLLECTIVES {
        for network in networks(8) {
            let records = compared(collective, "auto", &words, std::slice::from_ref(&network), &[]);
            let mut cells = vec![format!("`{collective}`"), format!("`{network}`")];
            for by in ["thesis", "counted"] {
                cells.extend(words.map(|words| number(time(&records, &network, by, words))));
            }
            table += &row(&cells);
        }
    }
    check_table("lengths", &table);
}

/// Table 9.1: time multiplied by the links between the halves, for messages of one word.
#[test]
fn comparison_of_costs_is_counted() {
    let mut table =
        head(&["p", "network", "links between halves", "", "thesis", "times links", "counted", "times links"]);
    for extent in [8, 12] {
        for network in networks(extent) {
            let links = halves(&network);
            for collective in COLLECTIVES {
                let records = compared(collective, "auto", &[1], std::slice::from_ref(&network), &[]);
                let mut cells = [(extent * extent).to_string(), format!("`{network}`"), links.to_string()].to_vec();
                cells.push(format!("`{collective}`"));
                for by in ["thesis", "counted"] {
                    let time = time(&records, &network, by, 1);
                    cells.extend([number(time), number(time.map(|time| time * links as f64))]);
                }
                table += &row(&cells);
            }
        }
    }
    check_table("costs", &table);
}

/// The links between the halves of the nodes by number: the bisection, for even extents.
fn halves(network: &str) -> usize {
    let topology = parse(network).unwrap();
    let middle = topology.nodes() / 2;
    let links = topology.edges().into_iter().filter(|(u, v)| u.index() < middle && v.index() >= middle).count();
    if let Some(extent) = network.strip_prefix("how:").and_then(|rest| rest.split(',').next()) {
        let windows = OverlappingWindows::new(extent.parse().unwrap(), 3, 2).unwrap();
        assert_eq!(links, windows.bisection());
    }
    links
}

/// The procedures that the formulas describe, as far as this crate has them, with whole messages.
#[test]
fn comparison_with_the_procedures_of_the_formulas_is_counted() {
    let procedures = [
        ("broadcast", ["sliding-windows", "sliding-windows", "binomial"]),
        ("allgather", ["sliding-windows:parts=1", "sliding-windows:parts=1", "recursive-doubling"]),
        ("scatter", ["subtrees", "subtrees", "binomial"]),
        ("alltoall", ["how-greedy", "how-greedy", "cube-log"]),
    ];
    let mut table = head(&["", "network", "thesis", "counted", "schedule"]);
    for (collective, names) in procedures {
        for (network, name) in networks(8).into_iter().zip(names) {
            let fits = necklace(&[
                "cost",
                "--bytes=1",
                "--collective",
                collective,
                "--algorithm",
                name,
                "--topology",
                &network,
            ]);
            if !fits.status.success() {
                continue;
            }
            let records = compared(collective, name, &[1], std::slice::from_ref(&network), &[]);
            let [thesis, counted] = ["thesis", "counted"].map(|by| number(time(&records, &network, by, 1)));
            table += &row(&[format!("`{collective}`"), format!("`{network}`"), thesis, counted, format!("`{name}`")]);
        }
    }
    check_table("procedures", &table);
}

/// With as many exchanges along rows as are needed, 2 sqrt(p) of 2 ceil((sqrt(p) - 1) / w) steps,
/// the formula of the thesis would be below the cut between the halves from p = 33^2 on.
#[test]
fn corrected_exchange_is_impossible_on_large_networks() {
    let steps = |extent: u64| 4 * extent * (extent - 1).div_ceil(3);
    let bound = |extent: u64| {
        let network = format!("--topology=how:{extent},3,2");
        let cost = ["cost", "--collective=alltoall", "--algorithm=how-greedy", "--bytes=1000", "--csv=-"];
        let records = lines(&printed(&[&cost[..], &["--machine", MACHINE, &network]].concat()));
        records.iter().find(|record| record["by"] == "bound").unwrap()["total"].parse::<f64>().unwrap()
    };
    for (extent, impossible) in [(8, false), (16, false), (32, false), (33, true), (40, true)] {
        assert_eq!(bound(extent) > steps(extent) as f64, impossible, "{extent}: {} {}", bound(extent), steps(extent));
    }
}

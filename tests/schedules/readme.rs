//! The table of collectives and networks in the README: for each cell the algorithms that `auto`
//! takes, for short and for long blocks. Every cell has one.

use necklace::Rank;
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::{Terms, select};
use necklace::topology::parse;

const NETWORKS: [&str; 6] = ["line:16", "ring:16", "mesh:4x4", "torus:4x4", "hypercube:4", "complete:16"];

const BYTES: [u64; 2] = [8, 64 << 10];

fn cell(collective: &Collective, network: &str) -> String {
    let problem = Problem::new(parse(network).unwrap(), collective.clone()).unwrap();
    let names = BYTES.map(|bytes| {
        let chosen = select(&problem, "auto", &Terms::new(bytes, &Machine::PARAGON));
        chosen.unwrap_or_else(|error| panic!("{collective} on {network}: {error}")).algorithm.name()
    });
    let [short, long] = names;
    if short == long { format!("`{short}`") } else { format!("`{short}`, `{long}`") }
}

fn table() -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = [String::new()].into_iter().chain(NETWORKS.map(|network| format!("`{network}`"))).collect();
    let line = vec!["---".to_owned(); NETWORKS.len() + 1];
    let rows = Collective::all(Rank::new(0)).map(|collective| {
        let cells = NETWORKS.map(|network| cell(&collective, network));
        row([format!("`{}`", collective.name())].into_iter().chain(cells).collect())
    });
    [row(head), row(line).replace(' ', "")].into_iter().chain(rows).collect()
}

#[test]
fn readme_names_an_algorithm_for_each_collective_and_network() {
    let readme = include_str!("../../README.md");
    let table = table();
    assert!(readme.contains(&table), "the table of README.md is to be\n\n{table}");
}

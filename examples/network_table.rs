//! Prints what networks of as many nodes offer to somebody who would build one: links, diameter,
//! links between the halves, the longest link and all wire, and an alltoall of long messages. It is the first table of
//! `doc/notes/how.md`.
//!
//! ```text
//! cargo run --release -p necklace-examples --example network_table -- how:64,3,1 torus:8x8
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::{candidates, find};
use necklace::bounds::Bounds;
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem};
use necklace::topology::{Embedding, Grid, parse};

/// The networks of the page.
const NETWORKS: [&str; 11] = [
    "ring:64",
    "how-wrap:64,2,1",
    "torus:8x8",
    "how:64,3,1",
    "how-wrap:64,3,1",
    "torus:4x4x4",
    "hypercube:6",
    "how-wrap:8,2,2",
    "how:8,3,2",
    "how-wrap:64,6,1",
    "ghc:8,2",
];

/// The most nodes of a network: routes between all pairs are looked at.
const MOST: usize = 1 << 10;

const HEAD: &str = "\
| network | links of a node | links | diameter | links between halves | longest link | in another order | all links | alltoall, at least | by schedule |
|---|---|---|---|---|---|---|---|---|---|";

const USAGE: &str = "\
Prints what networks of as many nodes offer.

Usage: network_table [NETWORK ..]

The nodes are numbered along a line; a link is as long as its numbers are apart, and the halves are the
lower and the upper numbers. If the best order along the line that is found has a shorter longest link,
its length follows. The last columns are the blocks over the busiest channel in an alltoall of long
messages: the lower bound, and the fewest of all algorithms whose messages never share a channel. A row
for windows of 257 to 400 nodes takes up to a minute. Without networks, those of doc/notes/how.md are
printed.";

/// Returns the row of a network.
fn row(text: &str) -> Result<String, Box<dyn Error>> {
    let network = parse(text)?;
    if network.nodes() > MOST {
        return Err(format!("{text} has {} nodes; there may be {MOST}", network.nodes()).into());
    }
    let nodes: Vec<Node> = (0..network.nodes()).map(Node::new).collect();
    let problem = Problem::new(network.clone(), Collective::Alltoall)?;
    let edges = network.edges();
    let lengths = || edges.iter().map(|(u, v)| v.index() - u.index());
    let across = |(u, v): &&(Node, Node)| (u.index() < nodes.len() / 2) != (v.index() < nodes.len() / 2);
    let degree = nodes.iter().map(|&node| network.neighbours(node).len()).max().unwrap_or_default();
    let diameter = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
    let diameter = diameter.map(|(from, to)| network.distance(from, to)).max().unwrap_or_default();
    let least = Bounds::of(&problem).transmission(Ports::All, true, true).as_f64();
    // `auto` does not consider it for long rows.
    let by_name = find(problem.collective(), "window-exchange:load=1")?;
    let fitting = candidates(&problem).into_iter().chain([by_name]);
    let fitting = fitting.filter(|algorithm| algorithm.fits(&problem).is_ok());
    let claims = fitting.map(|algorithm| algorithm.claims(&problem)).filter(|claims| claims.contention_free);
    let fewest = claims.filter_map(|claims| claims.transmission).min();
    let line = Arc::new(Grid::line(nodes.len())?);
    let ordered = Embedding::best(network.clone(), line)?.measures().dilation;
    let longest = lengths().max().unwrap_or_default();
    let blocks = |blocks: f64| format!("{blocks:.1}").trim_end_matches(".0").to_owned();
    let cells = [
        format!("`{text}`"),
        degree.to_string(),
        edges.len().to_string(),
        diameter.to_string(),
        edges.iter().filter(across).count().to_string(),
        longest.to_string(),
        ordered.min(longest).to_string(),
        lengths().sum::<usize>().to_string(),
        blocks(least),
        fewest.map_or_else(|| "none".to_owned(), |fewest| blocks(fewest.as_f64())),
    ];
    Ok(format!("| {} |", cells.join(" | ")))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut networks: Vec<String> = std::env::args().skip(1).collect();
    if networks.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return Ok(());
    }
    if networks.is_empty() {
        networks = NETWORKS.map(str::to_owned).to_vec();
    }
    println!("{HEAD}");
    networks.iter().try_for_each(|network| {
        println!("{}", row(network)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_table() {
        let rows = NETWORKS.map(|network| row(network).expect("a network of 64 nodes"));
        let table = format!("{HEAD}\n{}\n\n", rows.join("\n"));
        let page = include_str!("../doc/notes/how.md");
        assert!(page.contains(&table), "doc/notes/how.md is to have\n\n{table}");
    }

    /// Section 1.1 of Wang's dissertation: w (w + 1) / 2 links between the halves of a row.
    #[test]
    fn figures_are_those_of_the_network() {
        assert_eq!(row("line:4").expect("a network"), "| `line:4` | 2 | 3 | 3 | 1 | 1 | 1 | 3 | 4 | 4 |");
        assert_eq!(row("complete:4").expect("a network"), "| `complete:4` | 3 | 6 | 1 | 4 | 3 | 3 | 10 | 1 | 1 |");
        assert!(row("how:20,4,1").expect("a network").starts_with("| `how:20,4,1` | 8 | 70 | 5 | 10 | 4 | 4 | "));
        // Folded, a ring has links of 2.
        assert!(row("ring:9").expect("a network").starts_with("| `ring:9` | 2 | 9 | 4 | 2 | 8 | 2 | "));
    }

    #[test]
    fn what_is_no_network_is_an_error() {
        assert!(row("torus").is_err());
        let error = row("ring:1025").expect_err("too large").to_string();
        assert_eq!(error, "ring:1025 has 1025 nodes; there may be 1024");
    }
}

//! Prints which algorithm `auto` takes on a machine whose nodes use all their channels at once, and
//! how near its price is to the lower bound: for rings, tori, cubes, lines and meshes of 4 to 1024
//! nodes, and blocks of 8 bytes to 1 MiB.
//!
//! ```text
//! cargo run --release -p necklace-examples --example auto_table -- allgather
//! ```
//!
//! A start-up takes 10 us, a byte over a channel 1 ns, and a hop 0.1 us. The bound is the least
//! start-ups, and the larger of the least transmission and the fewest hops. No schedule need reach
//! all three.
#![allow(clippy::print_stdout)]

use std::error::Error;

use lexopt::{Arg, ValueExt};
use necklace::Rank;
use necklace::bounds::Search;
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::{Ports, Problem};
use necklace::select::{Terms, select};
use necklace::topology::parse;

/// Rings, tori and cubes, on which every node has as many channels, then lines and meshes.
const NETWORKS: [&str; 36] = [
    "ring:4",
    "ring:16",
    "ring:36",
    "ring:64",
    "ring:256",
    "ring:1024",
    "torus:2x2",
    "torus:4x4",
    "torus:6x6",
    "torus:6x9",
    "torus:8x8",
    "torus:16x16",
    "torus:32x32",
    "torus:4x4x4",
    "torus:4x6x7",
    "torus:8x8x8",
    "torus:8x8x16",
    "hypercube:3",
    "hypercube:4",
    "hypercube:5",
    "hypercube:6",
    "hypercube:7",
    "hypercube:8",
    "hypercube:9",
    "hypercube:10",
    "line:16",
    "line:64",
    "mesh:2x2",
    "mesh:4x4",
    "mesh:5x7",
    "mesh:8x8",
    "mesh:16x16",
    "mesh:32x32",
    "mesh:3x100",
    "mesh:4x4x4",
    "mesh:8x8x8",
];

const SIZES: [u64; 7] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20];

/// The time of a start-up, in picoseconds.
const STARTUP: u64 = 10_000_000;

/// What `auto` takes.
struct Cell {
    algorithm: String,
    /// The price, divided by the bound.
    ratio: f64,
    /// The start-ups above the least.
    startups: u64,
}

fn cell(problem: &Problem, search: &Search, bytes: u64) -> Result<Cell, Box<dyn Error>> {
    let machine = Machine::FREE.with_startup(STARTUP).with_channel(1000).with_hop(100_000);
    let choice = select(problem, "auto", &Terms::new(bytes, &machine).keeping(Ports::All))?;
    let price = Demand::claimed(&*choice.algorithm, problem)?.price(&machine, bytes);
    let bound = Demand::least(search, Ports::All).price(&machine, bytes);
    let ratio = price.total as f64 / bound.total as f64;
    let startups = (price.startup - bound.startup) as u64 / STARTUP;
    Ok(Cell { algorithm: choice.algorithm.name(), ratio, startups })
}

/// Returns the cells of a network, by block size.
fn row(topology: &str, collective: &Collective) -> Result<Vec<Cell>, Box<dyn Error>> {
    let problem = Problem::new(parse(topology)?, collective.clone())?;
    let search = Search::of(&problem);
    SIZES.iter().map(|&bytes| cell(&problem, &search, bytes)).collect()
}

/// Returns the table, a line for each network.
fn table(collective: &Collective) -> Result<Vec<String>, Box<dyn Error>> {
    let sizes = ["8 B", "64 B", "512 B", "4 KiB", "32 KiB", "256 KiB", "1 MiB"];
    let mut lines = vec![
        format!("| {} | {} |", collective.name(), sizes.join(" | ")),
        format!("|---|{}", "---|".repeat(sizes.len())),
    ];
    for topology in NETWORKS {
        let cells = row(topology, collective)?;
        let text = |Cell { algorithm, ratio, startups }: Cell| format!("`{algorithm}` {ratio:.2} (+{startups})");
        lines.push(format!("| `{topology}` | {} |", cells.into_iter().map(text).collect::<Vec<_>>().join(" | ")));
    }
    Ok(lines)
}

const USAGE: &str = "\
Prints what auto takes on rings, tori, cubes, lines and meshes, and how near its price is to the bound.

Usage: auto_table [COLLECTIVE]

COLLECTIVE is allgather unless given.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut collective = Collective::Allgather;
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => {
                println!("{USAGE}");
                return Ok(());
            }
            Arg::Value(name) => {
                let name = name.string()?;
                let known = || format!("unknown collective {name:?}; expected one of {}", Collective::syntax());
                collective = Collective::named(&name, Rank::new(0)).ok_or_else(known)?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    table(&collective)?.into_iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_have_this_table() {
        let notes = include_str!("../doc/notes/auto.md");
        for line in table(&Collective::Allgather).expect("allgather has a table") {
            assert!(notes.lines().any(|noted| noted == line), "doc/notes/auto.md lacks the line\n{line}");
        }
    }

    #[test]
    fn long_allgathers_are_within_a_twentieth_of_the_bound() {
        let mut large = 0;
        for topology in NETWORKS {
            let nodes = parse(topology).expect("a network").ranks();
            let cells = row(topology, &Collective::Allgather).expect("allgather has a row");
            let longest = cells.last().expect("a row has cells");
            assert!(longest.ratio >= 1.0, "{topology}: {} is below the bound", longest.algorithm);
            if nodes >= 36 {
                assert!(longest.ratio <= 1.05, "{topology}: {} {}", longest.algorithm, longest.ratio);
                large += 1;
            }
        }
        assert!(large > 20, "only {large} networks");
    }
}

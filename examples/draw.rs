//! Draws the pictures of the documentation: schedules on their networks, and spanning trees.
//!
//! ```text
//! cargo run --release --example draw                # into doc/, for the documentation
//! cargo run --release --example draw -- DIRECTORY
//! ```
//!
//! Each picture of a schedule is read back and checked: it has exactly one arrow per transfer, from
//! the sender to the receiver.
//!
//! The trees are those of figures 10.1 to 10.6 of Q. Wang's dissertation: the balanced spanning
//! trees of GH(5, 2) and GH(8, 2), and what becomes of them in windows.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use lexopt::{Arg, Parser};
use necklace::Node;
use necklace::algorithm::find;
use necklace::algorithm::spanning_trees::balanced;
use necklace::collective::Collective;
use necklace::schedule::draw::{Frames, View, draw, draw_tree};
use necklace::schedule::{Problem, Schedule};
use necklace::topology::{Neighbours, Topology, parse};

/// Maximum size of a picture, in bytes.
const LARGEST: usize = 100_000;

const USAGE: &str = "usage: draw [DIRECTORY]\nDraws into that directory, or into doc/ if none is given.";

fn main() -> ExitCode {
    let directory = match directory(Parser::from_env()) {
        Ok(Some(directory)) => directory,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("draw: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match draw_all(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("draw: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses the arguments: the directory of the pictures. Returns `None` for `--help`.
fn directory(mut parser: Parser) -> Result<Option<PathBuf>, lexopt::Error> {
    let mut directory = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Value(value) if directory.is_none() => directory = Some(value.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(directory.unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../../doc").into())))
}

/// File, network, collective, algorithm, frames.
type Picture = (&'static str, &'static str, Collective, &'static str, Frames);

fn pictures() -> [Picture; 16] {
    let root = necklace::Rank::new(0);
    [
        ("torus-exchange", "torus:8x8", Collective::Alltoall, "torus-exchange", Frames::Rounds),
        ("bidirectional-exchange", "torus:12x12", Collective::Alltoall, "bidirectional-exchange", Frames::Range(0..2)),
        ("mesh-exchange", "mesh:4x6", Collective::Alltoall, "mesh-exchange", Frames::Rounds),
        ("direct-rotated", "mesh:3x4", Collective::Alltoall, "direct-rotated", Frames::Range(0..3)),
        ("cube-log", "hypercube:3", Collective::Alltoall, "cube-log", Frames::Rounds),
        ("necklace-exchange", "hypercube:3", Collective::Alltoall, "necklace-exchange", Frames::Rounds),
        ("cayley-exchange", "torus:4x4", Collective::Alltoall, "cayley-exchange", Frames::Rounds),
        ("ring", "ring:6", Collective::Alltoall, "ring", Frames::Rounds),
        ("recursive-doubling", "hypercube:4", Collective::Allgather, "recursive-doubling", Frames::Rounds),
        ("torgos", "torus:8x8", Collective::Allgather, "torgos:a=2,b=1,colours=one", Frames::Rounds),
        ("cubgos", "torus:4x4x4", Collective::Allgather, "cubgos:a=2,b=1,colours=one", Frames::Rounds),
        ("allreduce", "hypercube:3", Collective::Allreduce, "recursive-doubling", Frames::Rounds),
        ("binomial", "hypercube:3", Collective::Broadcast { root }, "binomial", Frames::Rounds),
        (
            "edge-disjoint-trees",
            "hypercube:3",
            Collective::Broadcast { root },
            "edge-disjoint-trees:chunks=1",
            Frames::Rounds,
        ),
        ("dissemination", "complete:8", Collective::Barrier, "dissemination", Frames::Rounds),
        ("own-graph", "petersen", Collective::Broadcast { root }, "binomial", Frames::Rounds),
    ]
}

/// The figure of the dissertation, the network, and its name there.
const TREES: [(&str, &str, &str); 6] = [
    ("10.1", "ghc:5,2", "GH(5, 2)"),
    ("10.2", "how:5,3,2", "HOW(5, 3, 2)"),
    ("10.3", "ghc:8,2", "GH(8, 2)"),
    ("10.4", "how:8,3,2", "HOW(8, 3, 2)"),
    ("10.5", "how:8,4,2", "HOW(8, 4, 2)"),
    ("10.6", "how:8,5,2", "HOW(8, 5, 2)"),
];

/// Returns the file name and the picture of a tree.
fn tree((figure, text, name): (&str, &str, &str)) -> Result<(String, String), Box<dyn Error>> {
    let network = parse(text)?;
    let of = |network: &dyn Topology| balanced(network, Node::new(0)).ok_or_else(|| format!("{text} has no tree"));
    let tree = of(&*network)?;
    let digits = text.split([':', ',']).nth(1).unwrap_or_default();
    let complete = of(&*parse(&format!("ghc:{digits},2"))?)?;
    // A line of the title does not end within the name.
    let name = name.replace(", ", ",\u{a0}");
    let title = format!("The balanced spanning tree of {name}, as in figure {figure}");
    let picture = draw_tree(&tree, &*network, Some(&complete), &title)?;
    Ok((format!("spanning-tree-{}", text.replace([':', ','], "-")), picture))
}

fn draw_all(directory: &Path) -> Result<(), Box<dyn Error>> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(directory).map_err(|error: std::io::Error| failed(directory, error))?;
    for (name, network, collective, algorithm, frames) in pictures() {
        let topology = if network == "petersen" { Arc::new(Petersen) } else { parse(network)? };
        let algorithm = find(&collective, algorithm)?;
        let problem = Problem::new(topology, collective)?;
        let schedule = algorithm.shares(&problem)?.collect()?;
        let picture = draw(&schedule, &View::default().with_frames(frames.clone()))?;
        let arrows = check(&picture, &schedule, &frames).map_err(|error| format!("{name}: {error}"))?;
        let path = directory.join(name).with_extension("svg");
        fs::write(&path, &picture).map_err(|error| failed(&path, error))?;
        println!("{}: {arrows} arrows, one a transfer; {} bytes", path.display(), picture.len());
    }
    for (name, picture) in TREES.map(tree).into_iter().collect::<Result<Vec<_>, _>>()? {
        let path = directory.join(name).with_extension("svg");
        fs::write(&path, &picture).map_err(|error| failed(&path, error))?;
        println!("{}: {} bytes", path.display(), picture.len());
    }
    Ok(())
}

/// Counts the arrows of a picture. Fails if they differ from the transfers of the schedule.
fn check(picture: &str, schedule: &Schedule, frames: &Frames) -> Result<usize, String> {
    // "0 to 4: 32 blocks, 4 hops"
    let ends = |arrow: &str| {
        let (_, words) = arrow.split_once("<title>")?;
        let (source, rest) = words.split_once(" to ")?;
        let (destination, _) = rest.split_once(':')?;
        Some((source.parse::<usize>().ok()?, destination.parse::<usize>().ok()?))
    };
    let mut left: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    let mut arrows = 0;
    for arrow in picture.lines().filter(|line| line.starts_with("<path class=\"transfer\"")) {
        *left.entry(ends(arrow).ok_or_else(|| format!("{arrow:?} says not whose it is"))?).or_default() += 1;
        arrows += 1;
    }
    let drawn = |round: &usize| !matches!(frames, Frames::Range(range) if !range.contains(round));
    for (_, round) in schedule.rounds.iter().enumerate().filter(|(number, _)| drawn(number)) {
        for transfer in &round.transfers {
            *left.entry((transfer.source.index(), transfer.destination.index())).or_default() -= 1;
        }
    }
    if let Some(((source, destination), more)) = left.into_iter().find(|(_, more)| *more != 0) {
        return Err(format!("{more:+} arrows too many from {source} to {destination}"));
    }
    if picture.len() > LARGEST {
        return Err(format!("{} bytes are too many for a page", picture.len()));
    }
    Ok(arrows)
}

/// Returns the Petersen graph: a pentagon, a pentagram, and links between their corners. It has ten
/// nodes with three links each, and diameter two.
#[derive(Debug)]
struct Petersen;

impl Topology for Petersen {
    fn nodes(&self) -> usize {
        10
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let (ring, i) = (node.index() / 5, node.index() % 5);
        let step = ring + 1;
        let mut next = [5 * ring + (i + step) % 5, 5 * ring + (i + 5 - step) % 5, 5 * (1 - ring) + i];
        next.sort_unstable();
        next.map(Node::new).into_iter().collect()
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.route(from, to).len() - 1
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let next = self.neighbours(from);
        let between = next.iter().copied().find(|&node| self.neighbours(node).contains(&to));
        match between {
            _ if from == to => vec![from],
            _ if next.contains(&to) => vec![from, to],
            Some(node) => vec![from, node, to],
            None => vec![from],
        }
    }

    fn text(&self) -> String {
        "petersen".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_directory_is_accepted() {
        let directory = |words: &[&str]| directory(Parser::from_args(words)).map_err(|error| error.to_string());
        assert_eq!(directory(&["there"]), Ok(Some("there".into())));
        assert!(directory(&[]).is_ok_and(|doc| doc.unwrap().ends_with("doc")));
        assert!(directory(&["x", "y"]).is_err_and(|error| error.contains("\"y\"")));
        assert!(directory(&["--force"]).is_err_and(|error| error.contains("--force")));
        assert_eq!(directory(&["--help"]), Ok(None));
    }

    /// So do the checks of all pictures before a release; these are quickly drawn.
    #[test]
    fn committed_trees_are_those_that_are_drawn() {
        for (name, picture) in TREES.map(|one| tree(one).unwrap()) {
            let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../doc")).join(name).with_extension("svg");
            let committed = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(committed == picture, "{}: to redraw: cargo run --release --example draw", path.display());
            assert!(picture.len() < LARGEST && picture.matches("class=\"node\"").count() >= 25);
        }
    }

    #[test]
    fn failure_names_the_path() {
        // A file cannot contain a directory.
        let place = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/nope"));
        let error = draw_all(place).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("Cargo.toml/nope: ")));
    }
}

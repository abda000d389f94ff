//! `necklace verify`: verifies a schedule from a JSON document.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use clap::Args;
use necklace::bounds::Bounds;
use necklace::error::shown;
use necklace::schedule::{Schedule, Verifier, read_json};

use crate::figures::{bounded, in_short, listed};
use crate::output::{Failure, is_standard, print};
use crate::plan::heading;
use crate::progress::Progress;

pub(crate) const EXAMPLES: &str = "\
In alltoall, scatter, gather and shift, and in custom collectives whose blocks start on one rank and end on one
rank, a block is in one place at a time: a rank that sends a block gives it up, and sending it again before it has
come back is a violation. In all other collectives, a rank keeps what it sends.

Examples:
  necklace verify schedule.json
  necklace plan --topology ring:7 --collective scan --json - | necklace verify -

Exit status: 0 if the schedule is correct; 1 if it is wrong, invalid or cannot be read; 2 if the command line
is wrong.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Read the schedule (JSON, necklace-schedule/1, at most 256 MiB) from FILE; with -, from
    /// standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
}

pub(crate) fn run(Arguments { file }: &Arguments) -> Result<(), Failure> {
    let (name, read) = if is_standard(file) {
        ("standard input".to_owned(), read_json(io::stdin().lock()))
    } else {
        let name = file.display().to_string();
        let file = File::open(file).map_err(|error| Failure::of(&name, &error))?;
        (name, read_json(file))
    };
    let Schedule { outline, rounds, .. } = read.map_err(|error| Failure::of(&name, &error))?;
    let mut verifier = Verifier::new(&outline);
    let mut progress = Progress::new("verifying", "rounds").of(Some(rounds.len() as u64));
    for round in &rounds {
        verifier.round(round);
        progress.step();
    }
    let proof = verifier.finish();
    drop(progress);
    let heading = heading(&outline);
    match proof {
        Ok(proof) => print(&format!("{heading}\n{proof}\n{}OK\n", bounded(&Bounds::of(&outline.problem)))),
        Err(violations) => {
            print(&format!("{heading}\n{}", listed(&violations)))?;
            Err(Failure::Failed(format!("{}: {}", shown(&name), in_short(&violations))))
        }
    }
}

//! `necklace simulate`: simulates schedules on a machine.

use clap::Args;
use necklace::cost::Demand;
use necklace::simulate::{Played, SimulateError, Simulation, least};

use crate::cases::{Case, Cases};
use crate::output::{Failure, print};
use crate::progress::Progress;
use crate::rows::{BOUND, Cell, Row, table, write};

pub(crate) const EXAMPLES: &str = "\
Every rank proceeds at its own pace, without barriers. Messages that need the same port or channel (one direction
of a link) wait for each other. Times do not include the machine's price of synchronisation. The columns are:
  total, first, mean         the times at which the last, the first and the average rank ends
  messages                   the number of messages
  busiest channel, channels  the part of the time in which the busiest and the average channel is busy
  waiting                    the time for which an average message waits for channels
  longest wait               the longest time for which a message waits for one channel

A line \"bound\" is a lower bound on the time of every schedule with the port model of this algorithm: the
longest of the minimum times of its busiest port, its busiest channel, its start-ups, messages and routes. A
schedule need not reach it. --plot omits it.

A simulation takes time in proportion to the messages and the channels they cross. On graph:@FILE, routes come
from one search for each destination. Up to 256 MiB of results are kept, which is enough for 16,384 nodes. On
larger graphs, each message to a destination without a kept result needs a search of its own.

Examples:
  necklace simulate --topology torus:12x12 --collective alltoall --bytes 64,1K --machine paragon
  necklace simulate --topology torus:16x16 --collective alltoall --algorithm direct,torus-exchange --bytes 256 --compare
  necklace simulate --topology torus:100x100 --collective alltoall --algorithm torus-exchange --bytes 64 --machine paragon

Exit status: 0 on success; 1 if a schedule cannot be simulated; 2 if the command line is wrong or asks for the
impossible.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cases: Cases,

    /// Also print the price by formula
    #[arg(long)]
    compare: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { cases, compare } = arguments;
    // Refuse invalid arguments before the first simulation.
    let every = cases.all()?;
    let mut rows = Vec::new();
    let plays = every.len() * cases.bytes.len();
    let mut progress = Progress::new("simulating", "schedules").of(Some(plays as u64));
    for case in &every {
        for &bytes in &cases.bytes {
            if *compare {
                let claimed = Demand::claimed(&*case.algorithm, &case.problem)?;
                let price = claimed.price(&cases.machine, bytes);
                let row = Row::new(case, bytes, "formula", price.total, nothing());
                rows.push(row.at_least(claimed.uncertain(&cases.machine)));
            }
            let played = play(case, cases, bytes, &mut progress)?;
            rows.push(Row::new(case, bytes, "simulated", played.time.into(), columns(&played)));
            let bound = least(&case.search, case.algorithm.ports(&case.problem), &cases.machine, bytes);
            rows.push(Row::new(case, bytes, BOUND, bound, nothing()));
        }
    }
    drop(progress);
    write(cases, &rows, &COLUMNS)?;
    if cases.alone() {
        return Ok(());
    }
    print(&table(&rows, &COLUMNS, &format!("on {}, in us", cases.machine)))
}

const COLUMNS: [&str; 7] = ["first", "mean", "messages", "busiest channel", "channels", "waiting", "longest wait"];

fn nothing() -> Vec<Cell> {
    COLUMNS.map(|_| Cell::Text("-".to_owned())).into()
}

fn columns(played: &Played) -> Vec<Cell> {
    let part = |part: f64| Cell::Text(format!("{part:.3}"));
    let waiting = played.waiting / u128::from(played.messages.max(1));
    vec![
        Cell::Time(played.first().into()),
        Cell::Time(played.mean().into()),
        Cell::Text(played.messages.to_string()),
        part(played.busiest()),
        part(played.utilisation()),
        Cell::Time(waiting),
        Cell::Time(played.longest_wait.into()),
    ]
}

/// Simulates a case.
pub(crate) fn play(case: &Case, cases: &Cases, bytes: u64, progress: &mut Progress) -> Result<Played, Failure> {
    let told = |arrived| progress.within(arrived, "messages");
    let played = Simulation::new(&cases.machine, bytes)
        .with_progress(told)
        .play(&*case.algorithm, &case.problem)
        .map_err(|error| match error {
            SimulateError::Build(error) => error.into(),
            other => Failure::Failed(format!("{}: {other}", case.heading())),
        })?;
    progress.step();
    Ok(played)
}

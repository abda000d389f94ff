//! `necklace cost`: prices collectives on a machine.

use std::collections::BTreeSet;

use clap::{Arg, Args};
use necklace::cost::{Demand, Price};
use necklace::schedule::Verifier;

use crate::cases::{Case, Cases};
use crate::output::{Failure, print};
use crate::progress::Progress;
use crate::rows::{BOUND, Cell, Row, table, write};
use crate::simulate::play;
use crate::wang::{self, Model};
use crate::{figures, memory};

pub(crate) const EXAMPLES: &str = "\
A line \"formula\" is computed without a schedule, so it takes almost no time, however large the network is. A
search of parameters, such as those of circgos and high-dim-gos, takes longer: seconds on ring:1024, and half a
minute on torus:1024x1024. So do window-exchange and balanced-routes, whose schedules have no formula: seconds
on how:256,3,1. For graph:@FILE, the bounds take one search of the graph: about a second for 2^26 nodes
and links, the most that are searched. With --compare,
every schedule is built and verified, which takes long on large networks. If an algorithm has no formula for a
demand that the machine charges for, its price is a lower bound. The table then names these demands in
parentheses. So does the column at_least of --csv, which is empty if the price is exact.

A line \"bound\" is a lower bound on the total of every schedule with the port model of this algorithm. Its terms
are no bounds: propagation and transmission overlap, so a schedule may have less of one and more of another. A
schedule need not reach the bound. --plot omits it.

The total is the sum of all terms except synchronisation, because schedules run without barriers between rounds.
The papers charge for a barrier between any two rounds; the column synchronisation shows the cost of these
barriers.

Machines: threads, tcp, mpi, paragon, unit and free; NAME:key=price,.. changes prices, as in
paragon:message=110us. A JSON file holds an object such as
  {\"message\": \"37.5 us\", \"byte\": \"0.011 us\", \"channel\": \"0.011 us\", \"hop\": \"20 ns\", \"switching\": \"cut-through\"}
with the keys startup (per round), message (per message, at each end), byte (through a rank's port), channel (per
byte over a link), hop, host (per byte that leaves or enters a host, see --hosts-of), rearrangement (per byte in
memory), combination (per byte of a reduction), synchronisation (a barrier), doubling (added to a barrier for each
doubling of the ranks), switching (store-and-forward or cut-through), one-sided (true if only the receiver moves
bytes) and cores (of a host, which its ranks share, see --hosts-of; 0 for a core each).

Examples:
  necklace cost --topology torus:12x12 --collective alltoall --bytes 64,1K,64K --machine paragon
  necklace cost --topology torus:8x8 --collective alltoall --algorithm torus-exchange,direct --bytes 256 --compare
These print the rows \"Proposed\" of table 2 of Suh & Shin (2001), and draw the curves of figures 13 to 16. The
start-up of the paper is the time of a message, half at each end. Its totals include synchronisation, these curves
do not:
  necklace cost --collective alltoall --machine paragon --bytes 1,64,256,1K,4K,16K --algorithm torus-exchange --plot 13.svg \\
    --topology torus:16x16 --topology torus:32x32 --topology torus:64x64 --topology torus:128x128
  necklace cost --collective alltoall --machine paragon --bytes 1,64,256,1K,4K,16K --algorithm mesh-exchange --plot 14.svg \\
    --topology mesh:16x16 --topology mesh:32x32 --topology mesh:64x64 --topology mesh:128x128
  necklace cost --collective alltoall --machine paragon:message=110us --bytes 1,64,256,1K,4K,16K \\
    --algorithm torus-exchange --topology torus:16x16 --topology torus:64x64 --plot 15.svg
  necklace cost --collective alltoall --machine paragon:message=110us --bytes 1,64,256,1K,4K,16K \\
    --algorithm mesh-exchange --topology mesh:16x16 --topology mesh:64x64 --plot 16.svg
This plots time against the number of ranks for overlapping windows, a generalized and a binary hypercube: the
cheapest schedules, counted and simulated, beside the formulas of Wang (1999). A word has 1000 bytes here:
  necklace cost --collective alltoall --algorithm auto --bytes 2000 --compare --plot windows.svg --plot-by ranks \\
    --machine free:channel=1ns,switching=store-and-forward --topology how:4,3,2 --topology how:8,3,2 \\
    --topology how:12,3,2 --topology ghc:4,2 --topology ghc:8,2 --topology ghc:12,2 --topology hypercube:4 \\
    --topology hypercube:6 --topology hypercube:7

Exit status: 0 on success; 1 if an operation failed or a schedule of --compare is wrong; 2 if the command line
is wrong or asks for the impossible.";

/// Refers to the description of machines in the help of `cost` itself.
pub(crate) fn describe_machine(machine: Arg) -> Arg {
    machine.help("Use the prices of machine M: NAME, NAME:key=price,.. or a JSON file (see Machines below)")
}

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cases: Cases,

    /// Compare the formulas with the counts of verified schedules, and with simulated times
    ///
    /// For broadcast, allgather, scatter and alltoall on how:P,W,1, complete:P, how:P,W,2, ghc:P,2 and
    /// hypercube:D, and for broadcast and allgather on how-wrap:P,W,1, a line "thesis" has the time by
    /// the formulas of Wang (1999, chapters 5 to 9) for model 3, and for the models 1 and 2 if an
    /// algorithm keeps to one port or to one message and the time is not that of model 3: see
    /// doc/notes/how-comparison.md. The formulas are those for store-and-forward or, if the machine's
    /// switching is cut-through, for wormhole routing. They charge a start-up for each transfer step,
    /// where the source has one for the whole operation. Terms with t_c are left out. Networks that are
    /// equal to one of these, such as mesh:8x8 to how:8,1,2, have the line too.
    ///
    /// Simulated ranks overlap operations whose prices a formula adds up. A line "simulated" may
    /// therefore be below the price and below the bound on prices. It has a total, but no terms.
    /// `necklace simulate` prints a bound on simulated times.
    #[arg(long)]
    compare: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { cases, compare } = arguments;
    let mut rows = Vec::new();
    let every = cases.all()?;
    let mut models = BTreeSet::new();
    // Each schedule is verified once, and simulated for every block size.
    let steps = every.len() * (1 + cases.bytes.len());
    let mut progress = Progress::new("verifying and simulating", "schedules").of(Some(steps as u64));
    for (number, case) in every.iter().enumerate() {
        let claimed = Demand::claimed(&*case.algorithm, &case.problem)?;
        let counted = if *compare { Some(counted(case, &mut progress)?) } else { None };
        let bound = Demand::least(&case.search, case.algorithm.ports(&case.problem));
        for &bytes in &cases.bytes {
            let row = Row::priced(case, bytes, "formula", &claimed.price(&cases.machine, bytes));
            rows.push(row.at_least(claimed.uncertain(&cases.machine)));
            if let Some(counted) = &counted {
                rows.push(Row::priced(case, bytes, "counted", &counted.price(&cases.machine, bytes)));
                let played = play(case, cases, bytes, &mut progress)?;
                let nothing = Price::default().terms().map(|_| Cell::Text("-".to_owned())).collect();
                rows.push(Row::new(case, bytes, "simulated", played.time.into(), nothing));
            }
            rows.push(Row::priced(case, bytes, BOUND, &bound.price(&cases.machine, bytes)));
        }
        let is_last =
            every.get(number + 1).is_none_or(|next| next.problem.topology().text() != case.problem.topology().text());
        models.insert(Model::of(case.algorithm.ports(&case.problem)));
        if *compare && is_last {
            models.remove(&Model::All);
            let models = std::iter::once(Model::All).chain(std::mem::take(&mut models));
            rows.extend(models.flat_map(|model| thesis(case, cases, model)));
        }
    }
    drop(progress);
    let terms: Vec<_> = Price::default().terms().map(|(name, _)| name).collect();
    write(cases, &rows, &terms)?;
    if cases.alone() {
        return Ok(());
    }
    print(&table(&rows, &terms, &format!("on {}, in us", cases.machine)))
}

/// Returns the prices by the formulas of a thesis for a network and a collective that it has, under
/// one of its port models. Those that are the same under model 3 are left out.
fn thesis(case: &Case, cases: &Cases, model: Model) -> Vec<Row> {
    let (topology, collective) = (case.problem.topology(), case.problem.collective());
    let row = |&bytes: &u64| {
        let price = |model| wang::price(&**topology, collective, model, &cases.machine, bytes);
        let price = price(model).filter(|one| model == Model::All || price(Model::All) != Some(*one))?;
        Some(Row::priced(case, bytes, wang::SOURCE, &price).of(&model.name()))
    };
    cases.bytes.iter().filter_map(row).collect()
}

/// Verifies a schedule and returns its counted demand. Fails if it is wrong or contradicts its
/// claims.
fn counted(case: &Case, progress: &mut Progress) -> Result<Demand, Failure> {
    let outline = case.algorithm.outline(&case.problem)?;
    memory::suffices(&*case.algorithm, &case.problem, None, None, |_| "leave out --compare".to_owned())?;
    let mut verifier = Verifier::with_limit(&outline, u64::MAX);
    let mut rounds = 0;
    for joined in case.algorithm.shares(&case.problem)? {
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        verifier.round(&joined.round);
        rounds += 1;
        progress.within(rounds, "rounds");
    }
    progress.step();
    let failed = |what: String| Failure::Failed(format!("{}: {what}", case.heading()));
    let proof = verifier.finish().map_err(|violations| failed(figures::in_short(&violations)))?;
    let claims = case.algorithm.claims(&case.problem).completed(case.algorithm.ports(&case.problem));
    match &proof.contradicts(&claims)[..] {
        [] => Ok(Demand::counted(&proof, &case.problem)),
        [first, ..] => Err(failed(first.to_string())),
    }
}

//! Clusters of engines, each in one thread: simulated processes on simulated wires, at a simulated time.
//! A seed determines what each process calls, the order of all events, and what goes wrong. So a
//! run that fails fails again.

mod network;
mod process;
mod run;
mod script;

use std::collections::BTreeMap;
use std::{env, thread};

use self::run::run;
use self::script::Pool;

/// The number of jobs, unless `NECKLACE_CLUSTERS` is another one.
const JOBS: u64 = 10_000;

/// Every job ends, whatever happens in it: with the right bytes if nothing is wrong, and otherwise
/// with one failure, the same everywhere, that names the culprit.
#[test]
fn jobs_end_well_or_with_one_failure_in_any_order_of_events() {
    let jobs = env::var("NECKLACE_CLUSTERS").map_or(JOBS, |jobs| jobs.parse().unwrap());
    let pool = &Pool::new();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut tally = BTreeMap::<&str, [u64; 2]>::new();
    thread::scope(|scope| {
        let seeds = |worker| (0..jobs).skip(worker).step_by(workers);
        let worker = |worker| scope.spawn(move || seeds(worker).map(|seed| run(seed, pool)).collect::<Vec<_>>());
        let workers: Vec<_> = (0..workers).map(worker).collect();
        for (incident, failed) in workers.into_iter().flat_map(|worker| worker.join().unwrap()) {
            let [all, failures] = tally.entry(incident.name()).or_default();
            (*all, *failures) = (*all + 1, *failures + u64::from(failed));
        }
    });
    // Some incidents come too late to matter; most do matter.
    for (incident, [all, failures]) in tally {
        let none = incident == "none";
        assert!(all >= jobs / 30 && (none || failures >= all / 2), "{incident}: {failures} of {all} jobs have failed");
    }
}

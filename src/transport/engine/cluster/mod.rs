//! A cluster of engines in one thread: simulated processes on simulated wires, at a simulated time.
//! A seed determines what each process calls, the order of all events, and what goes wrong. So a
//! run that fails fails again.

mod network;
mod process;
mod run;
mod script;

use std::collections::BTreeMap;
use std::env;

use self::run::run;
use self::script::Pool;

/// The number of jobs, unless `NECKLACE_CLUSTERS` is another one.
const JOBS: u64 = 20_000;

/// Every job ends, whatever happens in it: with the right bytes if nothing is wrong, and otherwise
/// with one failure, the same everywhere, that names the culprit.
#[test]
fn jobs_end_well_or_with_one_failure_in_any_order_of_events() {
    let jobs = env::var("NECKLACE_CLUSTERS").map_or(JOBS, |jobs| jobs.parse().unwrap());
    let pool = Pool::new();
    let mut tally = BTreeMap::<&str, [u64; 2]>::new();
    for seed in 0..jobs {
        let (fault, failed) = run(seed, &pool);
        let [all, failures] = tally.entry(fault.name()).or_default();
        (*all, *failures) = (*all + 1, *failures + u64::from(failed));
    }
    println!("of {jobs} jobs by fault, all and those with a failure: {tally:?}");
    // Some faults come too late to matter; most do matter.
    for (fault, [all, failures]) in tally {
        let none = fault == "none";
        assert!(all >= jobs / 30 && (none || failures >= all / 2), "{fault}: {failures} of {all} jobs have failed");
    }
}

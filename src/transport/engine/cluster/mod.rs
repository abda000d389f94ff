//! A cluster of engines in one thread: simulated processes on simulated wires, at a simulated time.
//! A seed determines what each process calls, the order of all events, and what goes wrong. So a
//! run that fails fails again.

mod network;
mod process;
mod run;
mod script;

use self::run::{Tally, run};
use self::script::Pool;

/// Number of jobs. `NECKLACE_CLUSTERS` is another one.
const JOBS: u64 = 20_000;

/// Every job ends, whatever happens in it: with the right bytes if nothing goes wrong, otherwise
/// with one failure that names the culprit.
#[test]
fn jobs_end_well_or_with_one_failure_in_any_order_of_events() {
    let jobs = std::env::var("NECKLACE_CLUSTERS").map_or(JOBS, |jobs| jobs.parse().unwrap());
    let (pool, mut tally) = (Pool::new(), Tally::default());
    for seed in 0..jobs {
        run(seed, &pool, &mut tally);
    }
    println!("{tally:#?}");
}

//! Jobs of real processes to which something happens: what is promised of failures, at every stage,
//! at random times.
//!
//! A job of 2 to 8 ranks makes a few hundred calls, and one of its ranks is killed, stopped, cut
//! off, or errs. Every result that a rank is given is right; every other rank hears of the failure,
//! the same one, in time; and it names who is at fault.
//!
//! | variable | says |
//! |---|---|
//! | `NECKLACE_FAULTS` | how many faults; 40 unless set |
//! | `NECKLACE_FAULTS_SEED` | the first one's seed, each following has the next; unless set, by the clock |
//! | `NECKLACE_FAULTS_JOBS` | how many jobs at once; 6 unless set |
//! | `NECKLACE_FAULTS_LOUD` | if set, what each rank reports is shown |

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod job;
mod outcome;
mod rank;
mod scenario;
mod table;

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::SystemTime;

use outcome::judge;
use scenario::Scenario;
use table::Table;

const CAMPAIGN: &str = "fault_gives_one_error_in_time_and_no_wrong_result";

#[test]
fn fault_gives_one_error_in_time_and_no_wrong_result() {
    // The ranks are this program, started again.
    if rank::run_if_told() {
        return;
    }
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() % 1_000_000 * 1000;
    let (count, first) =
        (number("NECKLACE_FAULTS").unwrap_or(40), number("NECKLACE_FAULTS_SEED").unwrap_or_else(clock));
    println!("{count} faults, NECKLACE_FAULTS_SEED={first}");
    let (next, table) = (AtomicU64::new(0), Mutex::new(Table::default()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let scenario = Scenario::new(first.wrapping_add(at));
            let job = job::run(&scenario, CAMPAIGN);
            let result = judge(&scenario, &job);
            if !result.violations.is_empty() {
                let Scenario { seed, size, topology, faults, .. } = &scenario;
                println!("\nNECKLACE_FAULTS=1 NECKLACE_FAULTS_SEED={seed}: {size} ranks on {topology}, {faults:?}");
                result.violations.iter().for_each(|violation| println!("  {violation}"));
                job.stories.iter().enumerate().for_each(|(rank, story)| {
                    println!("  rank {rank}: fault {:?}, {:?}, {:?}", story.fault, story.outcome, story.wrong);
                });
            }
            table.lock().unwrap().enter(&scenario, &result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..number("NECKLACE_FAULTS_JOBS").unwrap_or(6) {
            scope.spawn(work);
        }
    });
    let table = table.into_inner().unwrap();
    println!("\n{table}");
    assert_eq!(table.violated(), 0, "NECKLACE_FAULTS_SEED={first}");
}

//! `necklace sweep`: compares the choices of `auto` with the best simulated algorithm, on many
//! networks and machines.

mod networks;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use necklace::Rank;
use necklace::algorithm::Algorithm;
use necklace::collective::{Collective, Holding};
use necklace::machine::Machine;
use necklace::plan::{Layout, compile};
use necklace::schedule::{Ports, Problem};
use necklace::select::{Candidate, Terms, select};
use necklace::simulate::Simulation;

use crate::output::{Document, Failure, print};
use crate::progress::Progress;
use crate::table::{align, write_csv};
use networks::{COLLECTIVES, Network, SIZES, machines, networks};

pub(crate) const EXAMPLES: &str = "\
Simulates the choice of `auto` and the other candidates on 34 networks and 15 machines, with 8 block sizes, for
alltoall and allgather. The candidates are all algorithms that fit, with their default parameters and with those
that they suggest for the problem, such as some radices of bruck. The regret is the time of the choice divided by
the best time. An algorithm is skipped if the messages or bytes of its busiest rank alone take longer than the
best time so far. A sweep takes minutes on two cores; --ranks limits the size of the networks.

Examples:
  necklace sweep --csv sweep.csv
  necklace sweep --ranks 16 --worst 40";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Use only networks of up to N ranks
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    ranks: usize,

    /// List the N worst choices
    #[arg(long, value_name = "N", default_value_t = 20)]
    worst: usize,

    /// Write every choice as comma-separated values to FILE; with -, write only that to standard
    /// output
    #[arg(long, value_name = "FILE|-")]
    csv: Option<PathBuf>,
}

/// A choice of `auto` and the best algorithm. Times are in picoseconds.
struct Found {
    network: String,
    collective: &'static str,
    ranks: usize,
    machine: &'static str,
    bytes: u64,
    /// Algorithm, price and simulated time.
    chosen: (String, u128, u64),
    best: (String, u128, u64),
    /// Measured time to choose, and to plan one rank's share of the choice.
    choosing: Duration,
    planning: Duration,
}

impl Found {
    fn regret(&self) -> f64 {
        if self.best.2 == 0 { 1.0 } else { self.chosen.2 as f64 / self.best.2 as f64 }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let found = sweep(arguments.ranks)?;
    if let Some(path) = &arguments.csv {
        Document::create(path)?.fill(|out| write_csv(out, records(&found)))?;
        if crate::output::is_standard(path) {
            return Ok(());
        }
    }
    print(&summary(&found, arguments.worst))
}

/// Returns every choice on networks of up to `ranks` ranks, in the order of networks, collectives,
/// machines and sizes.
fn sweep(ranks: usize) -> Result<Vec<Found>, Failure> {
    let (networks, machines) = (networks()?, machines()?);
    let mut cases: Vec<(&Network, Collective, (&'static str, Machine))> = Vec::new();
    for network in networks.iter().filter(|network| network.ranks() <= ranks) {
        for collective in COLLECTIVES {
            cases.extend(machines.iter().map(|&machine| (network, collective.clone(), machine)));
        }
    }
    // Largest networks first, so that all cores finish at about the same time.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&case| std::cmp::Reverse(cases[case].0.ranks()));
    let (next, workers) = (AtomicUsize::new(0), thread::available_parallelism().map_or(1, Into::into));
    let mut progress = Progress::new("simulating", "networks on machines").of(Some(cases.len() as u64));
    let (sender, receiver) = mpsc::channel();
    let mut found: HashMap<usize, Result<Vec<Found>, Failure>> = HashMap::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, order, cases) = (sender.clone(), &next, &order, &cases);
            scope.spawn(move || {
                while let Some(&case) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (network, collective, (name, machine)) = &cases[case];
                    let regrets = SIZES.map(|bytes| choice(network, collective, (name, machine), bytes));
                    if sender.send((case, regrets.into_iter().collect())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (case, regrets) in receiver {
            progress.step();
            found.insert(case, regrets);
        }
    });
    let cases = (0..cases.len()).filter_map(|case| found.remove(&case));
    Ok(cases.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn choice(
    network: &Network,
    collective: &Collective,
    (name, machine): (&'static str, &Machine),
    bytes: u64,
) -> Result<Found, Failure> {
    let problem = network.problem(collective)?;
    let since = Instant::now();
    let choice = select(&problem, "auto", &Terms::new(bytes, machine))?;
    let choosing = since.elapsed();
    let planning = planning(&*choice.algorithm, &problem)?;
    let priced = |one: &Candidate| Some((one.price.as_ref().ok()?.total, one.algorithm.clone()));
    let mut candidates: Vec<_> = choice.candidates.iter().filter_map(priced).collect();
    candidates.sort_by_key(|(price, _)| *price);
    let play = |price: u128, algorithm: &dyn Algorithm| {
        let played = Simulation::new(machine, bytes).play(algorithm, &problem);
        let heading = || format!("{} on {} by {name}", algorithm.name(), network.name);
        played.map(|played| (algorithm.name(), price, played.time)).map_err(|error| Failure::of(&heading(), &error))
    };
    let price = candidates.iter().find(|(_, one)| one.name() == choice.algorithm.name()).map_or(0, |(price, _)| *price);
    let chosen = play(price, &*choice.algorithm)?;
    let mut best = chosen.clone();
    for (price, algorithm) in candidates {
        if algorithm.name() != chosen.0 && busy(&*algorithm, &problem, machine, bytes) < best.2.into() {
            let played = play(price, &*algorithm)?;
            if played.2 < best.2 {
                best = played;
            }
        }
    }
    let (network, ranks) = (network.name.clone(), network.ranks());
    Ok(Found { network, collective: collective.name(), ranks, machine: name, bytes, chosen, best, choosing, planning })
}

/// Measures how long it takes to plan the share of one rank, in the middle of the network.
fn planning(algorithm: &dyn Algorithm, problem: &Problem) -> Result<Duration, Failure> {
    let (since, rank) = (Instant::now(), Rank::new(problem.ranks() / 2));
    let failed = |error: &dyn std::error::Error| Failure::of(&algorithm.name(), error);
    let blocks = |holding: Holding| holding.into_iter().map(|(block, _)| block).collect::<Vec<_>>();
    let (before, after) =
        (problem.collective().before(problem.ranks(), rank), problem.collective().after(problem.ranks(), rank));
    let layout = Layout::consecutive(1, 1, &blocks(before), &blocks(after)).map_err(|error| failed(&error))?;
    compile(algorithm.share(problem, rank)?, &layout).map_err(|error| failed(&error))?;
    Ok(since.elapsed())
}

/// Returns a lower bound on the time that the messages and bytes of the busiest rank take.
fn busy(algorithm: &dyn Algorithm, problem: &Problem, machine: &Machine, bytes: u64) -> u128 {
    let claims = algorithm.claims(problem);
    let messages = u128::from(claims.messages.unwrap_or(0));
    let startup = if algorithm.ports(problem) == Ports::One { machine.startup } else { 0 };
    let port = claims.volume.unwrap_or_default().bytes(bytes).saturating_mul(machine.byte.into());
    port.max(messages * (u128::from(machine.message) + u128::from(startup)))
}

/// Summarises the regrets and lists the worst choices.
fn summary(found: &[Found], worst: usize) -> String {
    let mut regrets: Vec<f64> = found.iter().map(Found::regret).collect();
    regrets.sort_by(f64::total_cmp);
    let up_to = |limit: f64| {
        100.0 * regrets.iter().filter(|regret| **regret <= limit).count() as f64 / regrets.len().max(1) as f64
    };
    let mean = |of: fn(&Found) -> Duration| found.iter().map(of).sum::<Duration>() / (found.len().max(1) as u32);
    let slowest = found.iter().max_by_key(|found| found.choosing);
    let mut text = format!(
        "{} choices; regret at most {:.2}; up to 1.3 in {:.2} %, up to 1.1 in {:.2} %, up to 1.01 in {:.2} %\n\
         choosing took {:.0?} on average, planning one rank's part after it {:.0?}; at most {:.0?} and {:.0?}, on {}\n\n",
        regrets.len(),
        regrets.last().copied().unwrap_or(1.0),
        up_to(1.3),
        up_to(1.1),
        up_to(1.01),
        mean(|found| found.choosing),
        mean(|found| found.planning),
        slowest.map_or(Duration::ZERO, |found| found.choosing),
        slowest.map_or(Duration::ZERO, |found| found.planning),
        slowest.map_or("-", |found| &found.network),
    );
    let mut order: Vec<&Found> = found.iter().filter(|found| found.regret() > 1.0).collect();
    order.sort_by(|a, b| b.regret().total_cmp(&a.regret()));
    let us = |time: u128| format!("{:.2}", time as f64 / 1e6);
    let heading = ["worst", "", "machine", "bytes", "regret", "chosen", "price", "us", "best", "price", "us"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for one in order.into_iter().take(worst) {
        let Found { network, collective, machine, bytes, chosen, best, .. } = one;
        rows.push(vec![
            network.clone(),
            (*collective).to_owned(),
            (*machine).to_owned(),
            bytes.to_string(),
            format!("{:.3}", one.regret()),
            chosen.0.clone(),
            us(chosen.1),
            us(chosen.2.into()),
            best.0.clone(),
            us(best.1),
            us(best.2.into()),
        ]);
    }
    text += &align(&rows);
    text
}

/// Returns the records of the CSV document.
fn records(found: &[Found]) -> Vec<Vec<String>> {
    let names = [
        "network",
        "ranks",
        "collective",
        "machine",
        "block_bytes",
        "chosen",
        "price_us",
        "chosen_us",
        "best",
        "best_price_us",
        "best_us",
        "regret",
        "choosing_us",
        "planning_us",
    ];
    let mut records = vec![names.map(str::to_owned).to_vec()];
    for one in found {
        let Found { network, collective, ranks, machine, bytes, chosen, best, choosing, planning } = one;
        let us = |time: u128| (time as f64 / 1e6).to_string();
        let taken = |time: &Duration| (time.as_nanos() as f64 / 1e3).to_string();
        records.push(vec![
            network.clone(),
            ranks.to_string(),
            (*collective).to_owned(),
            (*machine).to_owned(),
            bytes.to_string(),
            chosen.0.clone(),
            us(chosen.1),
            us(chosen.2.into()),
            best.0.clone(),
            us(best.1),
            us(best.2.into()),
            format!("{:.4}", one.regret()),
            taken(choosing),
            taken(planning),
        ]);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests a part of the sweep, which must meet the targets of the whole.
    #[test]
    fn auto_is_near_the_best_on_small_networks() {
        let found = sweep(16).unwrap();
        assert!(found.len() >= 3000, "{}", found.len());
        let up_to = |limit: f64| found.iter().filter(|found| found.regret() <= limit).count();
        let text = summary(&found, 20);
        assert!(up_to(1.3) == found.len() && up_to(1.1) * 100 >= 98 * found.len(), "{text}");
        assert_eq!(records(&found).len(), 1 + found.len());
        assert!(text.starts_with(&format!("{} choices; regret at most 1.", found.len())), "{text}");
    }
}

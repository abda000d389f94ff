//! Checks that a verification fits in memory.

use necklace::algorithm::Algorithm;
use necklace::error::{BuildError, shown};
use necklace::schedule::{Problem, memory_to_sample, memory_to_verify};
use sysinfo::{MemoryRefreshKind, System};

use crate::output::Failure;

/// Fails if a verification needs more memory than is allowed or available, because the system might
/// kill the process later. With `sampled`, only that many ranks' shares are verified. `remedy`
/// receives the limit in bytes.
pub(crate) fn suffices(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    sampled: Option<usize>,
    given: Option<u64>,
    remedy: impl FnOnce(u64) -> String,
) -> Result<(), Failure> {
    let available = available();
    let (limit, what) = given.map_or((available, "available"), |given| (given, "allowed"));
    let takes = takes(algorithm, problem, sampled, available)?;
    if takes <= limit.into() {
        return Ok(());
    }
    let (collective, topology, name) = (problem.collective(), problem.topology().text(), algorithm.name());
    let doing = match sampled {
        None => format!("the proof of {name}"),
        Some(1) => format!("a check of 1 rank's part in {name}"),
        Some(ranks) => format!("a check of {ranks} ranks' parts in {name}"),
    };
    let about = if sampled.is_some() && takes > available.into() { "at least" } else { "about" };
    let topology = shown(&topology);
    let (takes, remedy, limit) = (amount(takes), remedy(limit), amount(limit.into()));
    Err(Failure::Failed(format!(
        "{collective} on {topology}: {doing} needs {about} {takes} of memory, but only {limit} is {what}; {remedy}"
    )))
}

/// Returns the bytes that a verification needs. For a sample whose ranks hold more than
/// `available`, returns a lower bound.
pub(crate) fn takes(
    algorithm: &dyn Algorithm,
    problem: &Problem,
    sampled: Option<usize>,
    available: u64,
) -> Result<u128, BuildError> {
    match sampled {
        None => memory_to_verify(algorithm, problem),
        Some(ranks) => memory_to_sample(algorithm, problem, ranks, available.into()),
    }
}

/// Returns the available memory: the minimum of the system's free memory, the control group's and
/// the process's limits.
fn available() -> u64 {
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    // Zero means unknown.
    let free = Some(system.available_memory()).filter(|free| *free > 0).unwrap_or(u64::MAX);
    free.min(group).min(of_process())
}

/// Returns the smallest memory limit of this process.
#[cfg(unix)]
fn of_process() -> u64 {
    use rustix::process::{Resource, getrlimit};
    [Resource::As, Resource::Data].into_iter().filter_map(|limit| getrlimit(limit).current).min().unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn of_process() -> u64 {
    u64::MAX
}

/// Formats an amount with the largest unit that fits.
fn amount(bytes: u128) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let at = (bytes.max(1).ilog2() as usize / 10).min(units.len() - 1);
    if at == 0 {
        format!("{bytes} bytes")
    } else {
        format!("{:.1} {}", bytes as f64 / (1_u128 << (10 * at)) as f64, units[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_printed_in_the_largest_fitting_unit() {
        let told = [0, 1023, 1024, 1_610_612_736, u128::MAX].map(amount);
        assert_eq!(told[..4], ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 GiB"]);
        assert!(told[4].ends_with(" PiB"));
    }
}

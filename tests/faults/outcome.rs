//! What must hold of a job to which something happened.

use super::job::{Job, Outcome, Story};
use super::scenario::{Fault, Kind, Scenario, Stage};

/// The outcome of a job.
#[derive(Debug, Default)]
pub(crate) struct Result {
    pub(crate) violations: Vec<String>,
    /// Whether all ranks but the faulty one ended well.
    pub(crate) well: bool,
    /// Whether all that failed in a call failed of the same.
    pub(crate) alike: bool,
    /// How long after the fault each other rank failed, in deadlines.
    pub(crate) times: Vec<f64>,
}

pub(crate) fn judge(scenario: &Scenario, job: &Job) -> Result {
    let mut violations: Vec<String> = Vec::new();
    let stories = || job.stories.iter().enumerate();
    violations.extend(job.hanging.iter().map(|rank| format!("rank {rank} hangs")));
    violations.extend(stories().filter_map(|(rank, story)| Some(format!("rank {rank}: {}", story.wrong.as_ref()?))));
    let faulty = |rank: usize| scenario.faults.iter().any(|fault| fault.rank == rank);
    for (rank, story) in stories().filter(|(rank, _)| !faulty(*rank)) {
        if story.outcome.is_none() || !story.ended {
            violations.push(format!("rank {rank} came to no end: {:?}", story.outcome));
        }
    }
    let well = stories().filter(|(rank, _)| !faulty(*rank)).all(|(_, story)| is_well(story));
    if let [fault] = scenario.faults[..] {
        violations.extend(single(scenario, &fault, &job.stories));
    }
    let words = stories().filter_map(|(_, story)| match &story.outcome {
        Some((_, Outcome::Failed { words, .. })) => Some(words),
        _ => None,
    });
    let words: Vec<_> = words.collect();
    let alike = words.windows(2).all(|pair| pair[0] == pair[1]);
    Result { violations, well, alike, times: times(scenario, &job.stories) }
}

fn is_well(story: &Story) -> bool {
    matches!(story.outcome, Some((_, Outcome::Well)))
}

/// How long the other ranks took to fail.
fn times(scenario: &Scenario, stories: &[Story]) -> Vec<f64> {
    let Some((struck, ..)) = stories.iter().filter_map(|story| story.fault).min() else { return Vec::new() };
    let bootstrap = scenario.faults.iter().any(|fault| fault.stage == Stage::Bootstrap);
    let deadline = if bootstrap { scenario.patience } else { scenario.timeout };
    let failed = stories.iter().enumerate().filter(|(rank, _)| scenario.faults.iter().all(|fault| fault.rank != *rank));
    let time = |story: &Story| match &story.outcome {
        Some((time, Outcome::Failed { .. } | Outcome::Join(_))) => Some(time.saturating_sub(struck) as f64 / 1e6),
        _ => None,
    };
    failed.filter_map(|(_, story)| time(story)).map(|seconds| seconds / deadline.as_secs_f64()).collect()
}

/// Checks a job with one fault.
fn single(scenario: &Scenario, fault: &Fault, stories: &[Story]) -> Vec<String> {
    let mut violations = Vec::new();
    let mine = &stories[fault.rank];
    let Some((_, at, ports)) = mine.fault else {
        // Nothing happened: it came too late.
        let all = stories.iter().enumerate().filter(|(_, story)| !is_well(story));
        return all.map(|(rank, story)| format!("rank {rank} without a fault: {:?}", story.outcome)).collect();
    };
    // The ranks that must end and report how: all but those that were killed.
    let ends = matches!(fault.kind, Kind::Kill | Kind::Exit | Kind::Return | Kind::Panic);
    if !ends && mine.outcome.is_none() {
        violations.push(format!("rank {}, which goes on, came to no end", fault.rank));
    }
    // Two ranks without a connection cannot agree on a failure if all others have left.
    let left = stories.iter().filter(|story| !is_well(story)).count();
    let apart = left <= 2 && fault.kind.is_of_connection();
    let failed = stories.iter().enumerate().filter_map(|(rank, story)| match &story.outcome {
        Some((_, Outcome::Failed { words, culprit, kind })) => Some((rank, words, *culprit, kind.as_str())),
        _ => None,
    });
    // A rank that is stopped until all others have ended may see only that they are gone: their
    // reports of the failure may not have arrived in time.
    let missed = |rank: usize, kind: &str| fault.kind == Kind::Stop && rank == fault.rank && kind.starts_with("gone:");
    let failed: Vec<_> = failed.filter(|(rank, _, _, kind)| !missed(*rank, kind)).collect();
    for pair in failed.windows(2).filter(|_| !apart) {
        if pair[0].1 != pair[1].1 {
            violations.push(format!("ranks {} and {} fail differently", pair[0].0, pair[1].0));
        }
    }
    // A connection has two ends, and it may be either's fault.
    let other = ports.and_then(|(here, there)| stories.iter().position(|story| story.ports.contains(&(there, here))));
    let guilty =
        |rank: usize| rank == fault.rank || Some(rank) == other || fault.kind.is_of_connection() && other.is_none();
    for (rank, _, culprit, kind) in &failed {
        // A disagreement or a different length concerns two ranks.
        let pair = kind.split_once([':', ',']).filter(|_| culprit.is_none()).map(|(_, pair)| pair);
        let between = pair.is_some_and(|pair| pair.split(',').any(|one| one == fault.rank.to_string()));
        let right = match fault.kind {
            Kind::Disagree => between || *kind == "deadline",
            // Bytes that are written into a connection may look like a message of another call.
            Kind::Absurd | Kind::Half | Kind::Truncate if between => true,
            _ => culprit.is_some_and(guilty),
        };
        if !right {
            violations.push(format!("rank {rank} blames {culprit:?} ({kind}) for what befell rank {}", fault.rank));
            break;
        }
    }
    // The failure that rank 0 finds during the bootstrap is that of all ranks.
    let unmet = stories.iter().enumerate().filter_map(|(rank, story)| match &story.outcome {
        Some((_, Outcome::Join(words))) if rank != fault.rank => Some((rank, words)),
        _ => None,
    });
    let unmet: Vec<_> = unmet.collect();
    for pair in unmet.windows(2).filter(|_| fault.rank != 0 && !fault.kind.is_of_connection()) {
        if pair[0].1 != pair[1].1 {
            violations.push(format!("ranks {} and {} do not meet for different reasons", pair[0].0, pair[1].0));
        }
    }
    for (rank, story) in stories.iter().enumerate() {
        match &story.outcome {
            Some((_, Outcome::Join(words))) if rank != fault.rank && !names(words, fault, other) => {
                violations.push(format!("rank {rank} does not name rank {}: {words}", fault.rank));
            }
            // Those that a stopped rank keeps from being connected to all are not late themselves.
            Some((_, Outcome::Join(words)))
                if fault.kind == Kind::Stop
                    && fault.rank != 0
                    && list(words, "late: [").is_some_and(|late| late != [fault.rank]) =>
            {
                violations
                    .push(format!("rank {rank} names others than rank {}, which is stopped: {words}", fault.rank));
            }
            // A connection that no call needs, or a short stop, fails nothing.
            Some((_, Outcome::Well)) if !fault.kind.is_of_connection() && fault.kind != Kind::Doze => {
                let after = usize::try_from(at).unwrap_or(0);
                let must = if fault.kind == Kind::Disagree || at < 0 { at < 0 } else { scenario.is_barred(after) };
                if must && rank != fault.rank {
                    violations.push(format!("rank {rank} ends well, without rank {} after call {at}", fault.rank));
                }
            }
            _ => {}
        }
    }
    violations
}

/// The ranks listed behind these words.
fn list(words: &str, name: &str) -> Option<Vec<usize>> {
    let (_, rest) = words.split_once(name)?;
    let (list, _) = rest.split_once(']')?;
    Some(list.split(", ").filter_map(|number| number.parse().ok()).collect())
}

/// Whether the words of what made the bootstrap fail names a rank.
fn names(words: &str, fault: &Fault, other: Option<usize>) -> bool {
    let listed: Vec<usize> =
        ["missing: [", "late: ["].into_iter().filter_map(|name| list(words, name)).flatten().collect();
    let named = |rank: usize| {
        let fields = ["rank", "other", "one"].map(|name| format!("{name}: {rank}"));
        let alone = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        let plain = format!("rank {rank}");
        let said = fields.iter().chain([&plain]).any(|field| words.split(field.as_str()).skip(1).any(alone));
        said || listed.contains(&rank)
    };
    // Where rank 0 is away the others may not know more than that it does not answer; and its size
    // is nobody else's.
    let away = fault.rank == 0
        && ["File", "Silent", "ProtocolViolation", "SizeMismatch"].iter().any(|error| words.starts_with(error));
    // A rank 0 that was stopped does not know it, and takes ranks that have given up for missing.
    let slept = fault.rank == 0 && matches!(fault.kind, Kind::Stop | Kind::Doze);
    // What happens to a connection may be seen by either end, and there is no telling who a
    // stranger is.
    named(fault.rank) || other.is_some_and(named) || away || slept || fault.kind.is_of_connection()
}

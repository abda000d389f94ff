//! What must hold of a job to which something happened.

use super::job::{Job, Outcome, Story};
use super::scenario::{Fault, Kind, Scenario, Stage};

/// What became of a job.
#[derive(Debug, Default)]
pub(crate) struct Result {
    pub(crate) violations: Vec<String>,
    /// Whether all ranks but the faulty one ended well.
    pub(crate) well: bool,
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
    Result { violations, well, times: times(scenario, &job.stories) }
}

fn is_well(story: &Story) -> bool {
    matches!(story.outcome, Some((_, Outcome::Well)))
}

/// How long the other ranks took to fail.
fn times(scenario: &Scenario, stories: &[Story]) -> Vec<f64> {
    let Some((struck, ..)) = stories.iter().filter_map(|story| story.fault).min() else { return Vec::new() };
    let meeting = scenario.faults.iter().any(|fault| fault.stage == Stage::Meeting);
    let deadline = if meeting { scenario.patience } else { scenario.timeout };
    let failed = stories.iter().enumerate().filter(|(rank, _)| scenario.faults.iter().all(|fault| fault.rank != *rank));
    let time = |story: &Story| match &story.outcome {
        Some((time, Outcome::Failed { .. } | Outcome::Join(_))) => Some(time.saturating_sub(struck) as f64 / 1e6),
        _ => None,
    };
    failed.filter_map(|(_, story)| time(story)).map(|seconds| seconds / deadline.as_secs_f64()).collect()
}

/// What holds where there is one fault.
fn single(scenario: &Scenario, fault: &Fault, stories: &[Story]) -> Vec<String> {
    let mut violations = Vec::new();
    let mine = &stories[fault.rank];
    let Some((_, at, port)) = mine.fault else {
        // Nothing happened: it came too late.
        let all = stories.iter().enumerate().filter(|(_, story)| !is_well(story));
        return all.map(|(rank, story)| format!("rank {rank} without a fault: {:?}", story.outcome)).collect();
    };
    // Who is to end, and has to say how: all but a rank that is no more.
    let ends = matches!(fault.kind, Kind::Kill | Kind::Exit | Kind::Return | Kind::Panic);
    if !ends && mine.outcome.is_none() {
        violations.push(format!("rank {}, which goes on, came to no end", fault.rank));
    }
    // Two ranks without a connection cannot agree on anything.
    let apart = scenario.size == 2 && fault.kind.is_of_connection();
    let failed = stories.iter().enumerate().filter_map(|(rank, story)| match &story.outcome {
        Some((_, Outcome::Failed { words, culprit, kind })) => Some((rank, words, *culprit, kind.as_str())),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    for pair in failed.windows(2).filter(|_| !apart) {
        if pair[0].1 != pair[1].1 {
            violations.push(format!("ranks {} and {} fail differently", pair[0].0, pair[1].0));
        }
    }
    // A connection has two ends, and it may be either's fault.
    let other = port.and_then(|port| {
        let (_, there) = mine.ports.iter().find(|(here, _)| *here == port)?;
        stories.iter().position(|story| story.ports.contains(&(*there, port)))
    });
    let guilty = |rank: usize| rank == fault.rank || Some(rank) == other || fault.kind.is_of_connection() && other.is_none();
    for (rank, _, culprit, kind) in &failed {
        let right = match fault.kind {
            Kind::Disagree => {
                let pair = kind.split_once(':').map(|(_, pair)| pair.split(',').any(|one| one == fault.rank.to_string()));
                pair.unwrap_or(*culprit == Some(fault.rank)) || *kind == "deadline"
            }
            _ => culprit.is_some_and(guilty),
        };
        if !right {
            violations.push(format!("rank {rank} blames {culprit:?} ({kind}) for what befell rank {}", fault.rank));
            break;
        }
    }
    for (rank, story) in stories.iter().enumerate() {
        match &story.outcome {
            Some((_, Outcome::Join(words))) if rank != fault.rank && !names(words, fault, other) => {
                violations.push(format!("rank {rank} does not name rank {}: {words}", fault.rank));
            }
            // A connection that nobody needs, and a short sleep, fail nothing.
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

/// Whether the words of what kept the ranks from meeting name a rank.
fn names(words: &str, fault: &Fault, other: Option<usize>) -> bool {
    let numbers = || words.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<usize>().ok());
    let named = |rank: usize| numbers().any(|number| number == rank);
    // Where rank 0 is away the others may not know more than that it does not answer.
    let away = fault.rank == 0 && (words.starts_with("File") || words.contains("rank 0"));
    // What happens to a connection may be seen by either end, and there is no telling who a stranger is.
    named(fault.rank) || other.is_some_and(named) || away || fault.kind.is_of_connection()
}

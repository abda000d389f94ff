//! A rank of a job: its task, and lines by which ranks and the test communicate.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use necklace::error::JobCause;
use necklace::transport::{Cause, Failure};
use necklace::{Communicator, Error, JobError};

use super::job::{PAUSE, PLACE, WHAT, said};

/// Maximum time to wait for a line of another rank.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of a job.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// Its task, word by word.
    pub(crate) words: Vec<String>,
    place: PathBuf,
}

impl Rank {
    /// Returns the rank of this process, if it is one.
    pub(crate) fn told() -> Option<Self> {
        let (place, what) = (env::var_os(PLACE)?.into(), env::var(WHAT).ok()?);
        let number = |names: &[&str]| names.iter().find_map(|name| env::var(name).ok()?.parse().ok());
        let rank = number(&["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"]).unwrap_or(0);
        let size = number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]).unwrap_or(1);
        let told = Self { rank, size, words: what.split(' ').map(str::to_owned).collect(), place };
        told.say(format!("pid {}", process::id()));
        Some(told)
    }

    /// Returns a word of the task.
    pub(crate) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// Writes a line.
    pub(crate) fn say(&self, words: impl Display) {
        let file = self.place.join(format!("rank-{}", self.rank));
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(format!("{}\n", words.to_string().replace('\n', " ")).as_bytes()).unwrap();
    }

    fn wait(&self, what: &str, happened: impl Fn() -> bool) {
        let begin = Instant::now();
        while !happened() {
            assert!(begin.elapsed() < PATIENCE, "timed out waiting for: {what}");
            thread::sleep(PAUSE);
        }
    }

    /// Waits for a line of another rank with that prefix.
    pub(crate) fn hear(&self, rank: usize, words: &str) {
        self.wait(words, || said(&self.place, rank).iter().any(|line| line.starts_with(words)));
    }

    /// Whether a rank has written that line.
    pub(crate) fn has_said(&self, rank: usize, words: &str) -> bool {
        said(&self.place, rank).iter().any(|line| line == words)
    }

    /// Waits for such a line of all other ranks.
    pub(crate) fn hear_all(&self, words: &str) {
        (0..self.size).filter(|rank| *rank != self.rank).for_each(|rank| self.hear(rank, words));
    }

    /// Writes the result of a call. Returns whether it succeeded.
    pub(crate) fn report<T>(&self, result: Result<T, impl Into<JobError>>) -> bool {
        match result.map_err(Into::into) {
            Ok(_) => self.say("well"),
            Err(error) => match error.cause() {
                JobCause::Call(Error::Failed { failure, .. }) => self.say(format!("failed {}", told(failure))),
                JobCause::Call(Error::Dead { failure, .. }) => self.say(format!("dead {}", told(failure))),
                _ => self.say(format!("error {error}")),
            },
        }
        said(&self.place, self.rank).last().is_none_or(|line| line == "well")
    }

    /// Checks an allreduce and an alltoall of all ranks.
    pub(crate) fn check(&self, comm: &mut Communicator) -> Result<(), Error> {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let mut sum = [0_u64];
        comm.allreduce(&[rank + 1], &mut sum, necklace::op::Sum)?;
        assert_eq!(sum[0], size * (size + 1) / 2);
        let mut all = vec![0; size as usize];
        comm.alltoall(&(0..size).map(|to| 1000 * rank + to).collect::<Vec<_>>(), &mut all)?;
        assert_eq!(all, (0..size).map(|from| 1000 * from + rank).collect::<Vec<_>>());
        Ok(())
    }
}

/// Formats a failure: its kind in one word, the culprit, then all of it.
pub(crate) fn told(failure: &Failure) -> String {
    let kind = match &failure.cause {
        Cause::Deadline { .. } => "deadline",
        Cause::Gone { .. } => "gone",
        Cause::Disagree { .. } => "disagree",
        Cause::Length { .. } => "length",
        _ => "aborted",
    };
    let culprit = failure.culprit.map_or("-".to_owned(), |culprit| culprit.to_string());
    format!("{kind} {culprit} {failure:?}")
}

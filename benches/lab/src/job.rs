//! A job: a rank in each node of a lab, and orders to all of them.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Stdio, id};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::rank::{Order, Reply};
use crate::{Lab, LabError, while_doing};

/// Where rank 0 of a job listens; a namespace has all ports to itself.
const PORT: u16 = 5000;
/// How long ranks may be without progress, unless it is said, before they say so themselves.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Processes that take orders, one in each node, rank i in node i. They are killed when this is dropped, and when the
/// thread that started them ends.
#[derive(Debug)]
pub struct Job<'a> {
    lab: &'a Lab,
    ranks: Vec<Child>,
    said: Receiver<(usize, String)>,
    timeout: Duration,
    /// Open as long as the ranks may want to read it.
    _key: File,
}

impl<'a> Job<'a> {
    /// Starts this program, which [serves](crate::rank::serve), in each node, and waits until all have met.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] where it cannot be started, [`LabError::Rank`] with the words of the first rank that fails.
    pub fn start(lab: &'a Lab, program: &Path, arguments: &[&str]) -> Result<Self, LabError> {
        Self::start_within(lab, program, arguments, TIMEOUT)
    }

    /// The same with so many seconds, to a second, for what ranks call the deadline.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_within(lab: &'a Lab, program: &Path, arguments: &[&str], timeout: Duration) -> Result<Self, LabError> {
        let (key, key_file) = key()?;
        let (say, said) = channel();
        let mut job = Self { lab, ranks: Vec::with_capacity(lab.nodes()), said, timeout, _key: key };
        let topology = lab.router().topology().text();
        for rank in 0..lab.nodes() {
            let mut command = lab.command(rank, &program.to_string_lossy())?;
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
            // What this process was told by a launcher is not for the ranks.
            for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NECKLACE_")) {
                command.env_remove(name);
            }
            command.env("NECKLACE_RANK", rank.to_string()).env("NECKLACE_SIZE", lab.nodes().to_string());
            command.env("NECKLACE_ROOT", format!("{}:{PORT}", lab.address(0))).env("NECKLACE_KEY_FILE", &key_file);
            command.env("NECKLACE_TOPOLOGY", &topology).env("NECKLACE_TIMEOUT", timeout.as_secs().to_string());
            let mut child = command.spawn().map_err(while_doing("starting a rank"))?;
            let output = child.stdout.take();
            job.ranks.push(child);
            let say = say.clone();
            // Ends with the rank. Nobody listens any more when it cannot send.
            thread::spawn(move || {
                let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines().map_while(Result::ok));
                lines.for_each(|line| drop(say.send((rank, line))));
                let _ = say.send((rank, "failed its output ended".to_owned()));
            });
        }
        all_well(job.replies()?)?;
        Ok(job)
    }

    /// The lab that it runs in.
    #[must_use]
    pub fn lab(&self) -> &'a Lab {
        self.lab
    }

    /// Has all ranks do something, and returns how long each of them took for each call, in microseconds.
    ///
    /// # Errors
    ///
    /// [`LabError::Rank`] with the words of the first rank that fails.
    pub fn order(&mut self, order: &Order) -> Result<Vec<Vec<f64>>, LabError> {
        all_well(self.outcomes(order)?)
    }

    /// Has all ranks do something, and returns what became of it on each: how long it took for each call, in microseconds, or
    /// its words of what went wrong, after which it takes no more orders.
    ///
    /// # Errors
    ///
    /// [`LabError::Rank`] where a rank says nothing of the kind.
    pub fn outcomes(&mut self, order: &Order) -> Result<Vec<Outcome>, LabError> {
        for (rank, child) in self.ranks.iter_mut().enumerate() {
            let gone = || LabError::Rank { rank, why: "takes no orders".to_owned() };
            let input = child.stdin.as_mut().ok_or_else(gone)?;
            // One that has ended has said why.
            let _ = writeln!(input, "{order}").and_then(|()| input.flush());
        }
        self.replies()
    }

    /// A reply of each rank.
    fn replies(&mut self) -> Result<Vec<Outcome>, LabError> {
        let mut replies: Vec<Option<Outcome>> = vec![None; self.ranks.len()];
        let mut missing = self.ranks.len();
        while missing > 0 {
            // Ranks notice by themselves that nothing happens; this is for ranks that do not even that.
            let (rank, line) = self.said.recv_timeout(5 * self.timeout).map_err(|error| {
                let silent = replies.iter().position(Option::is_none).unwrap_or_default();
                let why = if error == RecvTimeoutError::Timeout { "says nothing" } else { "is gone" };
                LabError::Rank { rank: silent, why: why.to_owned() }
            })?;
            // The end of its output follows the last thing that a rank says.
            if matches!(replies[rank], Some(Err(_))) {
                continue;
            }
            let Reply(outcome) = line.parse().map_err(|why| LabError::Rank { rank, why })?;
            if replies[rank].replace(outcome).is_some() {
                return Err(LabError::Rank { rank, why: "says more than it was asked".to_owned() });
            }
            missing -= 1;
        }
        Ok(replies.into_iter().flatten().collect())
    }
}

/// How long each call took on a rank, in microseconds, or what went wrong.
pub type Outcome = Result<Vec<f64>, String>;

/// What all ranks say if none says that something went wrong; otherwise what the first does.
fn all_well(outcomes: Vec<Outcome>) -> Result<Vec<Vec<f64>>, LabError> {
    let outcomes = outcomes.into_iter().enumerate();
    outcomes.map(|(rank, outcome)| outcome.map_err(|why| LabError::Rank { rank, why })).collect()
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        for rank in &mut self.ranks {
            let _ = rank.kill();
        }
        for rank in &mut self.ranks {
            let _ = rank.wait();
        }
    }
}

/// A fresh key, and where processes of this user can read it as long as the file is open: it has no name of its own any more,
/// so nothing is left of it.
fn key() -> Result<(File, String), LabError> {
    let failed = while_doing("making a key");
    let mut random = [0; 32];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random)).map_err(&failed)?;
    let name = random[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let path = std::env::temp_dir().join(format!("necklace-lab-{name}"));
    let mut file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).map_err(&failed)?;
    let written = file.write_all(&random[8..]).and_then(|()| file.sync_data());
    fs::remove_file(&path).and(written).map_err(&failed)?;
    let open = format!("/proc/{}/fd/{}", id(), file.as_raw_fd());
    Ok((file, open))
}

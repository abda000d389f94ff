//! Runs a job: a rank in each node of a lab, and orders for all of them.

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

/// Port of rank 0. A namespace has all ports to itself.
const PORT: u16 = 5000;
/// Default timeout of the ranks.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Processes that take orders, one in each node, with rank i in node i. They are killed when this
/// is dropped, or when the thread that started them ends.
#[derive(Debug)]
pub struct Job<'a> {
    lab: &'a Lab,
    ranks: Vec<Child>,
    said: Receiver<(usize, String)>,
    timeout: Duration,
    /// Kept open as long as ranks may read it.
    _key: File,
}

impl<'a> Job<'a> {
    /// Starts this program, which calls [`serve`](crate::rank::serve), in each node. Waits until
    /// all ranks are connected.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if it cannot be started, [`LabError::Rank`] with the message of the
    /// first rank that fails.
    pub fn start(lab: &'a Lab, program: &Path, arguments: &[&str]) -> Result<Self, LabError> {
        Self::start_within(lab, program, arguments, TIMEOUT)
    }

    /// Starts a job with a timeout in seconds.
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
            // Remove variables of a launcher of this process.
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
            // The thread ends with the rank, or when the receiver is gone.
            thread::spawn(move || {
                let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines().map_while(Result::ok));
                lines.for_each(|line| drop(say.send((rank, line))));
                let _ = say.send((rank, "failed its output ended".to_owned()));
            });
        }
        all_well(job.replies()?)?;
        Ok(job)
    }

    /// Returns the lab of the job.
    #[must_use]
    pub fn lab(&self) -> &'a Lab {
        self.lab
    }

    /// Sends an order to all ranks, and returns the time of each call on each rank, in
    /// microseconds.
    ///
    /// # Errors
    ///
    /// [`LabError::Rank`] with the message of the first rank that fails.
    pub fn order(&mut self, order: &Order) -> Result<Vec<Vec<f64>>, LabError> {
        all_well(self.outcomes(order)?)
    }

    /// Sends an order to all ranks, and returns the reply of each: the time of each call in
    /// microseconds, or its error, after which the rank takes no more orders.
    ///
    /// # Errors
    ///
    /// [`LabError::Rank`] if a rank sends no such reply.
    pub fn outcomes(&mut self, order: &Order) -> Result<Vec<Outcome>, LabError> {
        for (rank, child) in self.ranks.iter_mut().enumerate() {
            let gone = || LabError::Rank { rank, why: "takes no orders".to_owned() };
            let input = child.stdin.as_mut().ok_or_else(gone)?;
            // A rank that has ended has reported the reason.
            let _ = writeln!(input, "{order}").and_then(|()| input.flush());
        }
        self.replies()
    }

    /// Receives a reply from each rank.
    fn replies(&mut self) -> Result<Vec<Outcome>, LabError> {
        let mut replies: Vec<Option<Outcome>> = vec![None; self.ranks.len()];
        let mut missing = self.ranks.len();
        while missing > 0 {
            // Ranks have a timeout of their own. This one covers ranks that do not reply at all.
            let (rank, line) = self.said.recv_timeout(5 * self.timeout).map_err(|error| {
                let silent = replies.iter().position(Option::is_none).unwrap_or_default();
                let why = if error == RecvTimeoutError::Timeout { "says nothing" } else { "is gone" };
                LabError::Rank { rank: silent, why: why.to_owned() }
            })?;
            // The end of a rank's output follows its last reply.
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

/// The time of each call on a rank in microseconds, or its error.
pub type Outcome = Result<Vec<f64>, String>;

/// Returns the replies of all ranks, or the error of the first rank that failed.
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

/// Writes a new key to an unnamed file. Returns the file and a path by which processes of this user
/// can read it while it is open. Nothing is left of the key when the file is closed.
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

//! Starts a rank and observes its end.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};

use super::key_file::KeyFile;
use super::protocol::{Description, End};

/// Returns the command that starts a rank: `necklace exec`, which executes the program.
pub(super) fn command(
    rank: usize,
    description: &Description,
    root: &str,
    held: bool,
    key: &KeyFile,
) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("exec").arg(getpid().as_raw_nonzero().to_string()).arg("--").arg(&description.program);
    // Remove variables of another job or of the login shell. These two belong to this host.
    let is_of_host = |name: &OsStr| name == "NECKLACE_ADDRESS" || name == "NECKLACE_HOST";
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_jobs(name) && !is_of_host(name)) {
        command.env_remove(name);
    }
    command.args(&description.arguments);
    command.envs(description.environment.iter().map(|(name, value)| (name, value)));
    command.env("NECKLACE_RANK", rank.to_string()).env("NECKLACE_ROOT", root).env("NECKLACE_KEY_FILE", &key.path);
    if key.is_locked {
        command.env("NECKLACE_KEY_LOCKED", "1");
    }
    if held && rank == 0 {
        command.env("NECKLACE_ROOT_HELD", "1");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    Ok(command)
}

/// Returns whether a variable belongs to the library.
pub(crate) fn is_of_jobs(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"NECKLACE_")
}

/// The state of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Runs,
    Ended(End),
    /// The child does not exist, or has been reaped.
    Unknown,
}

/// Returns the state of a child without reaping it.
pub(super) fn outcome(process: Pid) -> Outcome {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match retry_on_intr(|| waitid(WaitId::Pid(process), options)) {
        Ok(None) => Outcome::Runs,
        Ok(Some(status)) => {
            let signal = || status.terminating_signal().map(End::Signal);
            status.exit_status().map(End::Status).or_else(signal).map_or(Outcome::Runs, Outcome::Ended)
        }
        Err(_) => Outcome::Unknown,
    }
}

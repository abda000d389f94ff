//! One rank: its start, and the threads that wait for it.

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};

use super::launcher::Launcher;
use super::protocol::{CHUNK, Description, End, Report, Stream};
use super::secret::Kept;
use super::{Event, small_thread};

/// The size of a pipe, unless the superuser has changed it.
const PIPE: usize = 1 << 20;

/// Returns the command that starts a rank: this program, which becomes the rank's.
pub(super) fn command(
    rank: usize,
    description: &Description,
    root: &str,
    held: bool,
    key: &Kept,
) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("become").arg(getpid().as_raw_nonzero().to_string()).arg("--").arg(&description.program);
    // Variables of an earlier job or of a login are not this job's; the address belongs to this host.
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_jobs(name) && name != "NECKLACE_ADDRESS") {
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

/// Whether a variable is one of the library's.
pub(crate) fn is_of_jobs(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"NECKLACE_")
}

/// Starts the threads that report its output and its end.
pub(super) fn attend(rank: usize, mut child: Child, launcher: &Launcher, events: &Sender<Event>) -> io::Result<()> {
    if let Some(out) = child.stdout.take() {
        forward(rank, Stream::Out, out, launcher.clone(), events.clone())?;
    }
    if let Some(err) = child.stderr.take() {
        forward(rank, Stream::Err, err, launcher.clone(), events.clone())?;
    }
    let (launcher, events) = (launcher.clone(), events.clone());
    small_thread(move || {
        if let Some(how) = Pid::from_raw(child.id().cast_signed()).and_then(wait) {
            launcher.report(&Report::Ended { rank, how });
        }
        let _ = events.send(Event::Ended);
    })
}

fn forward(
    rank: usize,
    stream: Stream,
    mut from: impl Read + Send + 'static,
    launcher: Launcher,
    events: Sender<Event>,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(CHUNK).map_err(|_| Errno::NOMEM)?;
    buffer.resize(CHUNK, 0);
    small_thread(move || {
        let mut rest = PIPE;
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) if launcher.sends_rest() && rest == 0 => break,
                Ok(length) => {
                    if launcher.sends_rest() {
                        rest = rest.saturating_sub(length);
                    }
                    launcher.output(rank, stream, &buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        launcher.silent(rank, stream);
        let _ = events.send(Event::Silent);
    })
}

/// Waits for the end of a child without reaping it. Returns `None` if there is no such child.
pub(super) fn wait(process: Pid) -> Option<End> {
    loop {
        match waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                let signal = || status.terminating_signal().map(End::Signal);
                return status.exit_status().map(End::Status).or_else(signal);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

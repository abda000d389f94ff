//! `necklace exec`: prepares the process of a rank, then executes its program in it.
//!
//! On Linux, the process requests a signal for the death of its parent: the system kills it when
//! the agent ends. The request survives the `exec` of a program without privileges of its own, so a
//! rank ends with its agent even if the reaper is killed as well. The signal refers to the thread
//! that started the process, so the agent starts ranks from its main thread.
//!
//! Standard input is a pipe to the agent, which receives the error if the program cannot be
//! started. The program itself has an empty standard input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};

use clap::Args;
use rustix::process::getppid;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Process number of the agent
    agent: i32,

    /// Program to run
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Executes the program in this process. Returns only if the program cannot be started.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Ok(agent) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let error = replace(arguments);
    let number = error.raw_os_error().unwrap_or_default();
    let _ = File::from(agent).write_all(&number.to_le_bytes());
    ExitCode::FAILURE
}

fn replace(arguments: &Arguments) -> io::Error {
    if let Err(error) = File::open("/dev/null").and_then(|nothing| Ok(rustix::stdio::dup2_stdin(nothing)?)) {
        return error;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)) {
        return error.into();
    }
    // The agent may have ended before the request.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != arguments.agent) {
        return io::ErrorKind::NotFound.into();
    }
    let Some((program, rest)) = arguments.command.split_first() else { return io::ErrorKind::NotFound.into() };
    Command::new(program).args(rest).exec()
}

/// A process that has been started and has not yet executed its program.
pub(super) struct PendingExec {
    child: Child,
    says: PipeReader,
}

impl PendingExec {
    /// Starts the process by a command for `necklace exec`.
    pub(super) fn start(mut command: Command, (says, its): (PipeReader, PipeWriter)) -> io::Result<Self> {
        command.stdin(its);
        // The command keeps its end of the pipe until it is dropped.
        Ok(Self { child: command.spawn()?, says })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program runs or cannot be started. A process that has ended meanwhile counts
    /// as a rank that has ended.
    pub(super) fn finish(mut self) -> io::Result<Child> {
        let mut number = Vec::new();
        self.says.read_to_end(&mut number)?;
        match number.first_chunk() {
            Some(number) => Err(io::Error::from_raw_os_error(i32::from_le_bytes(*number))),
            None => Ok(self.child),
        }
    }
}

//! `necklace become`: the first moment of a rank, before its program takes its place.
//!
//! It asks the system to kill it when the agent ends, which stays so for the program (on Linux, and unless that program
//! has privileges of its own). Whatever is killed with the agent, its guard for example, the rank does not go on alone. The
//! signal follows the thread that started the rank, so the agent starts ranks from its main thread.
//!
//! Standard input leads to the agent, which hears there why the program cannot be started, if so. The program's is empty.

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
    /// The agent
    agent: i32,

    /// The program that it becomes
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The process itself. It returns only where the program cannot be started.
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
    // The agent may have ended before that.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != arguments.agent) {
        return io::ErrorKind::NotFound.into();
    }
    let Some((program, rest)) = arguments.command.split_first() else { return io::ErrorKind::NotFound.into() };
    Command::new(program).args(rest).exec()
}

/// The agent's side: a process that is becoming a rank.
pub(super) struct Becoming {
    child: Child,
    says: PipeReader,
}

impl Becoming {
    /// Starts it by that command, which is of this program.
    pub(super) fn start(mut command: Command, (says, its): (PipeReader, PipeWriter)) -> io::Result<Self> {
        command.stdin(its);
        // The command keeps its end of the pipe until it is dropped.
        Ok(Self { child: command.spawn()?, says })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until its program has taken its place, or cannot. If it has ended meanwhile, it is a rank that has ended.
    pub(super) fn finish(mut self) -> io::Result<Child> {
        let mut number = Vec::new();
        self.says.read_to_end(&mut number)?;
        match number.first_chunk() {
            Some(number) => Err(io::Error::from_raw_os_error(i32::from_le_bytes(*number))),
            None => Ok(self.child),
        }
    }
}

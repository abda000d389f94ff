//! Runs the command in a sandbox, and finds what is left of it.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::directory;

/// A directory for a test and the keys of its jobs, and a mark in the environment of all its
/// processes.
pub(crate) struct Sandbox {
    pub(crate) directory: PathBuf,
    mark: String,
}

impl Sandbox {
    pub(crate) fn new(name: &str) -> Self {
        let directory = directory(&format!("run_{name}"));
        fs::create_dir(directory.join("keys")).unwrap();
        Self { mark: format!("{}-{name}", std::process::id()), directory }
    }

    /// Returns the command `necklace run`. A single word after `--` is a shell script, which each
    /// rank runs.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        // The tests may run under `nohup`, which ignores SIGHUP for all children.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_necklace"), "run"])
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        match arguments {
            [options @ .., "--", script] => command.args(options).args(["--", "sh", "-c", script]),
            _ => command.args(arguments),
        };
        // Remove variables of the environment in which the tests run.
        let is_others =
            |name: &OsStr| ["NECKLACE_", "SLURM_"].iter().any(|part| has(name.as_encoded_bytes(), part.as_bytes()));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_others(name)) {
            command.env_remove(name);
        }
        command.env("RUST_MARK", &self.mark).env("XDG_RUNTIME_DIR", self.directory.join("keys"));
        command
    }

    /// Runs a job to its end, and asserts that nothing is left.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(self.left(), Vec::<String>::new(), "{arguments:?}");
        output
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        Running { out: BufReader::new(child.stdout.take().unwrap()), child }
    }

    /// Returns the processes with the mark and the keys that are left.
    pub(crate) fn left(&self) -> Vec<String> {
        self.processes().into_iter().map(|(process, name)| format!("{process:?} {name}")).chain(self.keys()).collect()
    }

    /// Returns the directories of keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = fs::read_dir(self.directory.join("keys")).unwrap();
        keys.map(|entry| entry.unwrap().path().display().to_string()).collect()
    }

    /// Returns the running processes with the mark, and their command lines.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("RUST_MARK={}\0", self.mark);
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let marked = all.filter(|path| has(&fs::read(path.join("environ")).unwrap_or_default(), mark.as_bytes()));
        let named = marked.filter_map(|path| {
            let number = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
            let words = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).replace('\0', " ");
            // A zombie has no command line.
            (!words.is_empty()).then_some((number, words))
        });
        named.collect()
    }

    /// Returns the agent or the reaper of the job.
    pub(crate) fn called(&self, which: &str) -> Option<Pid> {
        self.all_called(which).pop()
    }

    /// Returns all agents or all reapers of the job.
    pub(crate) fn all_called(&self, which: &str) -> Vec<Pid> {
        let is_it = |name: &str| name.contains(&format!("necklace {which} "));
        // A child of an agent has the agent's command line until its program is loaded, but only an
        // agent leads a session.
        let its = |(process, name): (Pid, String)| {
            (is_it(&name) && leads_session(process) == (which == "agent")).then_some(process)
        };
        self.processes().into_iter().filter_map(its).collect()
    }

    pub(crate) fn nothing_is_left(&self) {
        until("nothing is left", || self.left().is_empty().then_some(()).ok_or_else(|| self.left()));
    }

    /// Returns a replacement for ssh that accepts any host name. It prints a greeting, as login
    /// scripts do.
    pub(crate) fn stand_in(&self) -> String {
        self.script(
            "stand in.sh",
            r#"printf 'Welcome to %s, it is full of \0necklaces\nNo newline: ' "$1"
               host=$1; shift
               case $host in
                 down*) echo "connect to host $host: No route to host" >&2; exit 255;;
                 rude*) exec yes 'You are not welcome';;
                 cut*) exit 0;;
                 mute*) exec sleep 1000;;
                 old*) cat "$host"; exec sleep 1000;;
               esac
               cd /; export NECKLACE_RANK=stale NECKLACE_ADDRESS=of-the-host HOST_NAME=$host
               exec sh -c "$*""#,
        )
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        format!("'{}'", path.display())
    }
}

impl Drop for Sandbox {
    /// Kills the processes that a failing test leaves.
    fn drop(&mut self) {
        for (process, _) in self.processes() {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// A running job, whose launcher leads a process group.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) out: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// Returns the next lines of standard output, sorted.
    pub(crate) fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.out.by_ref().lines().take(count).map(Result::unwrap).collect();
        assert_eq!(lines.len(), count, "{lines:?}");
        lines.sort();
        lines
    }

    pub(crate) fn launcher(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.launcher(), signal).unwrap();
    }

    /// Waits for the job, and returns its status, the rest of its standard output, and its standard
    /// error.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let mut complaints = self.child.stderr.take().unwrap();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            complaints.read_to_string(&mut text).unwrap();
            text
        });
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest, reader.join().unwrap())
    }
}

/// Returns whether a process leads its session. A session that was created outside of this
/// container has no number here.
fn leads_session(process: Pid) -> bool {
    let number = process.as_raw_nonzero().to_string();
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain any character. State, parent, group and session follow.
    let session = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(3));
    session == Some(&number)
}

/// Polls until `ask` succeeds. Panics after a minute.
pub(crate) fn until<T, E: std::fmt::Debug>(what: &str, mut ask: impl FnMut() -> Result<T, E>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        match ask() {
            Ok(found) => return found,
            Err(error) => assert!(Instant::now() < limit, "{what}: {error:?}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

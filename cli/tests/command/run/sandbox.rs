//! Where a test has the command run, and what comes of it.

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

/// A test's own directory, where keys are kept too, and a mark in the environment of all that it starts.
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

    /// The command; what follows `--` is a script of each rank's if it is one word.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        // A hangup is ignored where that is inherited, as from `nohup`; whoever runs the tests may have been started so.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_necklace"), "run"])
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        match arguments {
            [options @ .., "--", script] => command.args(options).args(["--", "sh", "-c", script]),
            _ => command.args(arguments),
        };
        // Whatever the tests are run with, or in, is not for the ranks.
        let is_others =
            |name: &OsStr| ["NECKLACE_", "SLURM_"].iter().any(|part| has(name.as_encoded_bytes(), part.as_bytes()));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_others(name)) {
            command.env_remove(name);
        }
        command.env("RUST_MARK", &self.mark).env("XDG_RUNTIME_DIR", self.directory.join("keys"));
        command
    }

    /// Runs it to the end, after which nothing is left.
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

    /// What still runs or lies about: processes with the mark, keys.
    pub(crate) fn left(&self) -> Vec<String> {
        self.processes().into_iter().map(|(process, name)| format!("{process:?} {name}")).chain(self.keys()).collect()
    }

    /// The directories of keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = fs::read_dir(self.directory.join("keys")).unwrap();
        keys.map(|entry| entry.unwrap().path().display().to_string()).collect()
    }

    /// The processes with the mark that have not ended, and what they are called with.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("RUST_MARK={}\0", self.mark);
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let marked = all.filter(|path| has(&fs::read(path.join("environ")).unwrap_or_default(), mark.as_bytes()));
        let named = marked.filter_map(|path| {
            let number = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
            let words = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).replace('\0', " ");
            // What has ended and is not asked for has no words any more.
            (!words.is_empty()).then_some((number, words))
        });
        named.collect()
    }

    /// One of the command's own processes: its agent, or its reaper.
    pub(crate) fn called(&self, which: &str) -> Option<Pid> {
        self.all_called(which).pop()
    }

    /// All of these.
    pub(crate) fn all_called(&self, which: &str) -> Vec<Pid> {
        let is_it = |name: &str| name.contains(&format!("necklace {which} "));
        // What an agent starts has the agent's words until its own program is loaded; but only an agent leads a session.
        let its = |(process, name): (Pid, String)| {
            (is_it(&name) && leads_session(process) == (which == "agent")).then_some(process)
        };
        self.processes().into_iter().filter_map(its).collect()
    }

    pub(crate) fn nothing_is_left(&self) {
        until("nothing is left", || self.left().is_empty().then_some(()).ok_or_else(|| self.left()));
    }

    /// A stand-in for ssh, whose hosts are called as one likes. It greets, as login scripts do.
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
    /// What a failing test leaves does not stay.
    fn drop(&mut self) {
        for (process, _) in self.processes() {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// A job under way, whose launcher leads a process group.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) out: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// The next lines of standard output.
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

    /// Its status, the rest of its output, and what it complained of.
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

/// Whether its session is its own. One that was made outside of this container has no number here.
fn leads_session(process: Pid) -> bool {
    let number = process.as_raw_nonzero().to_string();
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold any character. State, parent, group and session follow.
    let session = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(3));
    session == Some(&number)
}

/// Asks until it is so.
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

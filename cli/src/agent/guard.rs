//! What outlives the agent of a host, however that ends: a process that clears up.
//!
//! It is told the process groups of the ranks through its standard input. When that ends, because the agent wants it so
//! or is no more, it kills these groups, and whatever else is in the agent's session, which the agent has to itself, or
//! has the job's key file in its environment; then it removes the directory with the key. Nothing of a rank's escapes but
//! what has made a session of its own and has put the key file out of its environment. Where there is no `/proc`, or one
//! of other processes, what is in none of the groups escapes too.
//!
//! Where this process is killed together with the agent, the ranks end all the same, on Linux ([`super::becoming`]), but
//! what they have started goes on. Ranks of the library notice it wherever they are (they wait for the lock on the key's
//! file), end their process group and remove the key. If there are none, or all were killed before, the directory with the
//! key stays until the next job of this user's on this host ([`super::secret`]).

use std::io::{self, PipeWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{env, fs, thread};

use clap::Args;
use rustix::process::{Pid, Signal, geteuid, getpid, getppid, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::secret::KEY;
use super::wait;

/// How long the agent waits for the guard to clear up before it does so itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// The agent's side of it.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    told: PipeWriter,
    directory: PathBuf,
}

impl Guard {
    /// Starts the process. It will remove that directory, which need not be there yet.
    /// The agent leads its session.
    pub(super) fn start(directory: &Path) -> io::Result<Self> {
        let (reader, told) = io::pipe()?;
        let mut command = Command::new(env::current_exe()?);
        command.arg("guard").arg(getpid().as_raw_nonzero().to_string()).arg(directory).current_dir("/");
        // A group of its own: what is sent to the agent's does not reach it.
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self { child: command.spawn()?, told, directory: directory.to_owned() })
    }

    /// The number of the process.
    pub(super) fn process(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Tells it of a rank's process group.
    pub(super) fn watch(&mut self, group: Pid) -> io::Result<()> {
        writeln!(self.told, "{}", group.as_raw_nonzero())
    }

    /// Has it clear up. Nothing is left when this returns.
    pub(super) fn clear(self, groups: &[Pid]) {
        let Self { mut child, told, directory } = self;
        drop(told);
        // The guard may have been killed or stopped; then the agent clears up.
        if !wait(&mut child, PATIENCE).is_some_and(|status| status.success()) {
            let _ = child.kill();
            clear_up(Some(getpid()), groups, &directory);
            wait(&mut child, PATIENCE);
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The agent's session, which is ended
    session: i32,

    /// Where the key is, which is removed
    directory: PathBuf,
}

/// The process itself.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"necklace-guard");
    // What asks others to end, a system that shuts down for example, does not end it before its time.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    let groups = io::stdin().lines().map_while(Result::ok).filter_map(|line| Pid::from_raw(line.parse().ok()?));
    let groups: Vec<Pid> = groups.collect();
    // Never a session that somebody else has made.
    let session = running_in(getpid()).filter(|session| session.as_raw_nonzero().get() == arguments.session);
    clear_up(session, &groups, &arguments.directory);
    ExitCode::SUCCESS
}

/// Ends these groups of processes, and whatever else is of the job but this process and its parent. Then it removes the
/// key: no rank that lives is to miss it.
fn clear_up(session: Option<Pid>, groups: &[Pid], directory: &Path) {
    for &group in groups {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // A process that is being made while the others are killed is found the next time. One that the system does not let
    // go, because of its disk for example, is not waited for for ever.
    for pass in 0..50 {
        let left = living(session, directory);
        if left.is_empty() {
            break;
        }
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(pass));
    }
    let _ = fs::remove_file(directory.join(KEY));
    let _ = fs::remove_dir(directory);
}

/// The processes that run under a `setsid`, or that know the key in that directory; this one and its parent are left out.
/// None are found where there is no `/proc`, or one of another namespace, in which numbers mean other processes.
fn living(session: Option<Pid>, directory: &Path) -> Vec<Pid> {
    let key_file = [b"NECKLACE_KEY_FILE=", directory.join(KEY).as_os_str().as_bytes()].concat();
    let parent = getppid();
    if fs::read_link("/proc/self").ok().as_deref() != Some(Path::new(&getpid().to_string())) {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw);
    let others = numbers.filter(|process| *process != getpid() && Some(*process) != parent);
    let is_within = |process| running_in(process).is_some_and(|other| Some(other) == session);
    others.filter(|process| is_within(*process) || was_told(*process, &key_file)).collect()
}

/// Whether a process of this user's was started with that in its environment.
fn was_told(process: Pid, entry: &[u8]) -> bool {
    let about = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
    // Other users' can be read by the superuser, but anybody may write there what he likes.
    let is_own = fs::metadata(&about).is_ok_and(|about| about.uid() == geteuid().as_raw());
    // While its program is loaded it has neither words nor environment. That is waited for, within bounds.
    for _ in 0..20 {
        let words = fs::read(about.join("cmdline")).unwrap_or_default();
        let environment = fs::read(about.join("environ")).unwrap_or_default();
        if !words.is_empty() || !environment.is_empty() || !is_own || running_in(process).is_none() {
            return is_own && environment.split(|byte| *byte == 0).any(|other| other == entry);
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Whose `setsid` a process is under, unless it has ended and only waits to be asked how, or that was outside the
/// container that it runs in.
fn running_in(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may hold any character. State, parent, group and session follow.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let session = fields.nth(2)?.parse().ok()?;
    Pid::from_raw(session).filter(|_| !matches!(state, "Z" | "X"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_living_of_a_session_are_found_and_those_who_know_the_key() {
        let mut command = Command::new("setsid");
        let mut child = command.args(["sleep", "1000"]).env("NECKLACE_KEY_FILE", "/here/key").spawn().unwrap();
        let session = Pid::from_raw(child.id().cast_signed());
        let process = session.unwrap();
        while running_in(process) != session {
            thread::yield_now();
        }
        let [here, elsewhere] = ["/here", "/here/key"].map(Path::new);
        let is_found = |session, directory| living(session, directory).contains(&process);
        let found = [is_found(session, elsewhere), is_found(None, here), is_found(None, elsewhere)];
        child.kill().unwrap();
        while running_in(process).is_some() {
            thread::yield_now();
        }
        assert!(!is_found(session, here));
        child.wait().unwrap();
        assert_eq!(found, [true, true, false]);
    }
}

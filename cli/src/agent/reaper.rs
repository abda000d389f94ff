//! `necklace reaper`: a process that outlives the agent of a host and cleans up.
//!
//! The reaper reads the process groups of the ranks from its standard input. It cleans up when the
//! agent orders it, or when the agent dies, which ends that input. It kills these groups, the other
//! processes of the agent's session, and all processes that have the job's key file in their
//! environment. Then it removes the directory of the key. A process escapes only if it has created
//! its own session and removed the key file from its environment. Without `/proc`, or with the
//! `/proc` of another namespace, every process outside of the groups escapes.
//!
//! The reaper also holds the agent's connection to the launcher, and notices when the launcher
//! closes it. If the agent does not end then, because it is stopped, the reaper kills it.
//!
//! If reaper and agent are killed together, the ranks still end on Linux ([`super::exec`]), but
//! other processes continue. Ranks that use the library notice the loss on every system, because
//! they wait for the lock on the key file. They end their process groups and remove the key. If no
//! such rank is left, the directory of the key stays until this user's next job on this host
//! ([`super::key_file`]).

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{env, fs, thread};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, geteuid, getpid, getppid, getsid, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::key_file::KEY;
use super::wait;

/// The time for which the agent waits for the reaper to clean up before it does so itself.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The time for which the reaper waits for its agent to end after the launcher has ended.
const ORPHANED: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The order to clean up. Other orders are the numbers of process groups.
const CLEAR: i32 = 0;

/// The answer to that order.
const CLEARED: u8 = b'.';

/// The agent's side of the reaper.
#[derive(Debug)]
pub(super) struct Reaper {
    child: Child,
    told: PipeWriter,
    says: PipeReader,
    directory: PathBuf,
}

impl Reaper {
    /// Starts the process. It will remove `directory`, which need not exist yet. `launcher` is the
    /// connection to the launcher. This process must lead its session.
    pub(super) fn start(directory: &Path, launcher: OwnedFd) -> io::Result<Self> {
        let ((reader, told), (says, writer)) = (io::pipe()?, io::pipe()?);
        let mut command = Command::new(env::current_exe()?);
        command.arg("reaper").arg(getpid().as_raw_nonzero().to_string()).arg(directory).current_dir("/");
        // A group of its own: signals to the agent's group do not reach it.
        command.stdin(reader).stdout(launcher).stderr(writer).process_group(0);
        Ok(Self { child: command.spawn()?, told, says, directory: directory.to_owned() })
    }

    /// Returns the process number.
    pub(super) fn process(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Adds the process group of a rank.
    pub(super) fn watch(&mut self, group: Pid) -> io::Result<()> {
        self.told.write_all(&group.as_raw_nonzero().get().to_le_bytes())
    }

    /// Makes the reaper clean up. When this returns, only the reaper itself is left.
    pub(super) fn clear(&mut self, groups: &[Pid]) {
        let told = self.told.write_all(&CLEAR.to_le_bytes());
        if told.is_err() || !self.has_cleared() {
            // The reaper was killed or stopped.
            let _ = self.child.kill();
            clear_up(Some(getpid()), groups, &self.directory);
        }
    }

    /// Returns whether the reaper confirms the cleanup in time.
    fn has_cleared(&mut self) -> bool {
        let mut answer = [0];
        let answered = poll(&mut [PollFd::new(&self.says, PollFlags::IN)], Some(&PATIENCE));
        answered.is_ok_and(|count| count > 0) && self.says.read_exact(&mut answer).is_ok() && answer == [CLEARED]
    }

    /// Ends the reaper, which has cleaned up.
    pub(super) fn end(self) {
        let Self { mut child, told, .. } = self;
        drop(told);
        if wait(&mut child, Duration::from_secs(2)).is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Session of the agent, which is killed
    session: i32,

    /// Directory of the key, which is removed
    directory: PathBuf,
}

/// Runs the reaper.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"necklace-reaper");
    // A signal, as at the system's shutdown, must not end the reaper early.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    let ends = io::stdin().as_fd().try_clone_to_owned().and_then(|orders| {
        let launcher = io::stdout().as_fd().try_clone_to_owned()?;
        Ok((File::from(orders), launcher))
    });
    let Ok((mut orders, launcher)) = ends else { return ExitCode::FAILURE };
    let mut launcher = Some(launcher);
    let mut groups = Some(Vec::new());
    let clear = |groups: Option<Vec<Pid>>| {
        // Clean up a session only if it is the agent's.
        let session = running_in(getpid()).filter(|session| session.as_raw_nonzero().get() == arguments.session);
        if let Some(groups) = groups {
            clear_up(session, &groups, &arguments.directory);
        }
    };
    loop {
        if !has_orders(&orders, &mut launcher, arguments.session) {
            break;
        }
        let mut order = [0; 4];
        // Each order is written at once, so it is never read in part.
        match orders.read_exact(&mut order).map(|()| i32::from_le_bytes(order)) {
            Ok(CLEAR) => {
                clear(groups.take());
                let _ = io::stderr().write_all(&[CLEARED]);
            }
            Ok(group) => {
                if let Some(groups) = &mut groups {
                    groups.extend(Pid::from_raw(group));
                }
            }
            Err(_) => break,
        }
    }
    clear(groups.take());
    ExitCode::SUCCESS
}

/// Waits until the agent sends an order or ends, and returns true. If it does neither after its
/// launcher has ended, kills it and returns false, because a process that the agent has just
/// created may keep the pipe of orders open.
fn has_orders(orders: &File, launcher: &mut Option<OwnedFd>, agent: i32) -> bool {
    if let Some(connection) = launcher {
        let mut both = [PollFd::new(orders, PollFlags::IN), PollFd::new(connection, HANG_UP)];
        let _ = retry_on_intr(|| poll(&mut both, None));
        if !both[0].revents().is_empty() {
            return true;
        }
        *launcher = None;
    }
    let waited = retry_on_intr(|| poll(&mut [PollFd::new(orders, PollFlags::IN)], Some(&ORPHANED)));
    if waited != Ok(0) {
        return true;
    }
    if let Some(agent) = getppid().filter(|parent| parent.as_raw_nonzero().get() == agent) {
        let _ = kill_process(agent, Signal::KILL);
    }
    false
}

/// The event for a peer that has closed a socket. Pipes report a hang-up without request.
#[cfg(target_os = "linux")]
const HANG_UP: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const HANG_UP: PollFlags = PollFlags::empty();

/// Kills these process groups and all other processes of the job, except this process and its
/// parent. Then removes the key, which running ranks may need.
fn clear_up(session: Option<Pid>, groups: &[Pid], directory: &Path) {
    for &group in groups.iter().filter(|group| !is_reused(**group, session)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // The next pass finds processes that were created during this one. The number of passes is
    // bounded, because the system may not release a process that waits, for example, for a disk.
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

/// Returns whether the number of a rank's process group belongs to an unrelated process. When the
/// agent is dead, the system may reuse the numbers of ranks that have ended. A rank leads its group,
/// so it cannot leave the agent's session.
fn is_reused(group: Pid, session: Option<Pid>) -> bool {
    session.is_some() && getsid(Some(group)).is_ok_and(|there| Some(there) != session)
}

/// Returns the processes of a session, and those with the key file of `directory` in their
/// environment, except this process and its parent. Returns none without `/proc`, or with that of
/// another namespace, where numbers name other processes.
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

/// Returns whether a process of this user was started with `entry` in its environment.
fn was_told(process: Pid, entry: &[u8]) -> bool {
    let about = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
    // The superuser can read processes of other users, but their environment is not to be trusted.
    let is_own = fs::metadata(&about).is_ok_and(|about| about.uid() == geteuid().as_raw());
    // While its program is loaded, a process has neither arguments nor environment. The wait is
    // bounded.
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

/// Returns the POSIX session of a process; `None` if it is a zombie, or if its session belongs to
/// another PID namespace.
fn running_in(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may contain any character. State, parent, group and session follow.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let session = fields.nth(2)?.parse().ok()?;
    Pid::from_raw(session).filter(|_| !matches!(state, "Z" | "X"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_by_session_and_by_key() {
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

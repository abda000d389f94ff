//! Starts the agent of a host and communicates with it.

use std::collections::HashMap;
use std::env;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use necklace::error::shown;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use super::hosts;
use super::lines::Lines;
use super::output::Output;
use super::writer::Credit;
use crate::agent::protocol::{self, Frame, Report, Stream};
use crate::agent::{small_thread, wait, with_limit};
use crate::output::Failure;

/// An event for the launcher.
#[derive(Debug)]
pub(super) enum JobEvent {
    /// The agent with this number reports.
    Report(usize, Report),
    /// All output of the ranks of the agent with this number has arrived.
    Complete(usize),
    /// The agent with this number has closed its output. The string is the reason, if known.
    Gone(usize, Option<String>),
    /// The output of the ranks cannot be written.
    Unwritten(io::Error),
    /// One of the standard streams has printed everything.
    Printed,
    /// The time until which lines are held back has changed.
    Held,
    /// The launcher received a signal to end.
    Signal(i32),
}

/// The command that reaches other hosts.
#[derive(Clone, Debug)]
pub(super) enum RemoteShell {
    /// `ssh`; agents on this host start directly.
    Ssh,
    /// A command for all hosts, which receives the host and the command to run there.
    Command(Vec<String>),
}

/// A queue of orders to an agent, which never blocks.
#[derive(Clone)]
pub(super) struct Orders(Sender<Option<Vec<u8>>>);

impl Orders {
    /// Queues an order. The loss of the agent is reported as an event.
    pub(super) fn tell(&self, message: &impl Serialize) {
        let mut bytes = Vec::new();
        if protocol::send(&mut bytes, message).is_ok() {
            let _ = self.0.send(Some(bytes));
        }
    }

    /// Closes the agent's input after the queued orders.
    fn end(&self) {
        let _ = self.0.send(None);
    }
}

pub(super) struct Agent {
    pub(super) host: String,
    pub(super) ranks: Vec<usize>,
    /// The command that reaches it, for messages.
    by: String,
    child: Child,
    /// Whether it leads a process group from the start.
    leads: bool,
    orders: Orders,
}

impl Agent {
    /// Starts the agent. Its events carry this number.
    pub(super) fn start(
        number: usize,
        (host, ranks): (String, Vec<usize>),
        reach: &RemoteShell,
        output: &Arc<Output>,
        events: &Sender<JobEvent>,
    ) -> Result<Self, Failure> {
        let own = env::current_exe().map_err(|error| Failure::of("the necklace command", &error))?;
        let mut command = command(&host, &own, reach)?;
        let by = command.get_program().to_string_lossy().into_owned();
        // A rank may start a job of its own. The reaper of the outer job must not find the inner
        // agent by its environment, because the inner agent and reaper clean up themselves.
        command.env_remove("NECKLACE_KEY_FILE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let message = format!("{host} cannot be reached: {} cannot be started: {}", shown(&by), with_limit(&error));
            Failure::Failed(message)
        })?;
        let (orders, queue) = mpsc::channel();
        let leads = matches!(reach, RemoteShell::Command(_)) || !hosts::is_here(&host);
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut agent = Self { host, ranks, by, child, leads, orders: Orders(orders) };
        if let (Some(stdin), Some(stdout), Some(stderr)) = streams {
            agent.start_threads(number, (stdin, stdout, stderr), queue, output, events).map_err(|error| {
                agent.kill();
                agent.reap(Duration::ZERO);
                Failure::Failed(format!(
                    "cannot start a thread for the agent on {}: {}",
                    agent.host,
                    with_limit(&error)
                ))
            })?;
        }
        Ok(agent)
    }

    /// Starts the threads that communicate with the agent.
    fn start_threads(
        &self,
        number: usize,
        (stdin, stdout, stderr): (ChildStdin, ChildStdout, ChildStderr),
        queue: Receiver<Option<Vec<u8>>>,
        output: &Arc<Output>,
        events: &Sender<JobEvent>,
    ) -> io::Result<()> {
        small_thread(move || write_orders(&queue, stdin))?;
        let stderr_ended = forward_stderr(&self.host, stderr, Arc::clone(output))?;
        let reader = Reader {
            number,
            ranks: self.ranks.clone(),
            output: Arc::clone(output),
            out: Arc::new(Credit::of(self.orders.clone(), Stream::Out)),
            err: Arc::new(Credit::of(self.orders.clone(), Stream::Err)),
            events: events.clone(),
        };
        small_thread(move || reader.run(stdout, &stderr_ended))
    }

    /// Sends an order.
    pub(super) fn tell(&self, message: &impl Serialize) {
        self.orders.tell(message);
    }

    /// Closes the agent's input. The agent then cleans up and ends.
    pub(super) fn close(&self) {
        self.orders.end();
    }

    /// Kills the process of the agent.
    pub(super) fn kill(&mut self) {
        self.close();
        // The command may have started other processes. The number of an ended process is not
        // reused until it is reaped.
        let group = Pid::from_raw(self.child.id().cast_signed());
        if let (true, Ok(None), Some(group)) = (self.leads, self.child.try_wait(), group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // The process may have ended by itself.
        let _ = self.child.kill();
    }

    /// Waits for the process to end. Kills it after the timeout.
    pub(super) fn reap(&mut self, patience: Duration) -> Option<ExitStatus> {
        let ended = wait(&mut self.child, patience);
        if ended.is_some() {
            return ended;
        }
        self.kill();
        let _ = self.child.wait();
        None
    }

    /// Describes an agent that is silent: before it has started, before its ranks have started, or
    /// later.
    pub(super) fn silence_message(&self, was_here: bool, has_started: bool, patience: Duration) -> String {
        let (host, by, seconds) = (&self.host, &self.by, patience.as_secs());
        if has_started {
            format!(
                "{host} does not answer: its agent has been silent for {seconds} s; it may be stopped or unreachable"
            )
        } else if was_here {
            format!("{host} does not start its ranks: its agent has been silent for {seconds} s")
        } else {
            format!("{host} does not answer: {by} has not started an agent there for {seconds} s")
        }
    }

    /// Describes an agent that is silent after its ranks have ended and before all of their output
    /// has arrived.
    pub(super) fn missing_output_message(&self, patience: Duration) -> String {
        let (host, seconds) = (&self.host, patience.as_secs());
        format!(
            "output of ranks on {host} is missing: its agent has been silent for {seconds} s; it may be stopped or \
             unreachable"
        )
    }

    /// Describes the end of an agent that has closed its output.
    pub(super) fn end_message(&mut self, was_here: bool, why: Option<String>) -> String {
        let status = self.reap(Duration::from_millis(500));
        let how = status.map_or_else(|| "sent invalid data".to_owned(), |status| format!("ended ({status})"));
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        if was_here {
            format!("the agent on {} {how}{why}", self.host)
        } else {
            format!("{} cannot be reached: {} {how}{why}", self.host, self.by)
        }
    }
}

/// Returns the command that starts the agent on a host.
fn command(host: &str, own: &Path, reach: &RemoteShell) -> Result<Command, Failure> {
    let mut command = match reach {
        RemoteShell::Ssh if hosts::is_here(host) => {
            // The agent creates a session, which the leader of a group could not.
            let mut command = Command::new(own);
            command.arg("agent");
            return Ok(command);
        }
        RemoteShell::Ssh => {
            let mut ssh = Command::new("ssh");
            ssh.args(["-x", "-o", "BatchMode=yes"]);
            ssh
        }
        RemoteShell::Command(words) => {
            let (program, words) = words
                .split_first()
                .ok_or_else(|| Failure::Usage("--remote-shell is empty; expected a command".to_owned()))?;
            let mut command = Command::new(program);
            command.args(words);
            command
        }
    };
    // The remote shell receives these words as one command.
    let path = own.to_str().and_then(|path| shlex::try_quote(path).ok());
    let path = path.ok_or_else(|| Failure::Failed(format!("{}: a shell cannot be given this path", own.display())))?;
    command.arg(host).arg(&*path).arg("agent");
    // In its own process group, the command gets no Ctrl-C from the terminal. The launcher sends
    // orders instead.
    command.process_group(0);
    Ok(command)
}

/// Writes queued orders, so that no other thread waits for the agent to read them.
fn write_orders(queue: &Receiver<Option<Vec<u8>>>, mut to: ChildStdin) {
    while let Ok(Some(message)) = queue.recv() {
        if to.write_all(&message).is_err() {
            break;
        }
    }
}

/// Starts a thread that prints the standard error of the agent's command. The receiver reports the
/// end of the stream.
fn forward_stderr(host: &str, mut from: ChildStderr, output: Arc<Output>) -> io::Result<Receiver<()>> {
    let (done, stderr_ended) = mpsc::channel();
    let mut lines = Lines::new(format!("{host}: ").into_bytes());
    small_thread(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            output.say(lines.push(&buffer[..length]));
        }
        output.say(lines.end());
        let _ = done.send(());
    })?;
    Ok(stderr_ended)
}

/// The thread that reads from an agent.
struct Reader {
    number: usize,
    ranks: Vec<usize>,
    output: Arc<Output>,
    out: Arc<Credit>,
    err: Arc<Credit>,
    events: Sender<JobEvent>,
}

impl Reader {
    fn run(self, mut from: ChildStdout, stderr_ended: &Receiver<()>) {
        let mut from = io::BufReader::with_capacity(2 * protocol::CHUNK, &mut from);
        let why = match protocol::skip_to_magic(&mut from) {
            Ok(()) => self.read_frames(&mut from).err().map(|error| error.to_string()),
            // The text that came instead may name the problem.
            Err(noise) => {
                let noise = String::from_utf8_lossy(&noise);
                noise.lines().find(|line| !line.trim().is_empty()).map(str::to_owned)
            }
        };
        let why = why.map(|why| legible(&why));
        // Another process may keep standard error open: a master connection of ssh.
        let _ = stderr_ended.recv_timeout(Duration::from_millis(500));
        let _ = self.events.send(JobEvent::Gone(self.number, why));
    }

    fn read_frames(&self, from: &mut impl Read) -> io::Result<()> {
        let mut lines: HashMap<(usize, bool), Lines> = HashMap::new();
        let mut open = 2 * self.ranks.len();
        while let Some(frame) = protocol::receive_frame(from)? {
            let (rank, stream, bytes) = match frame {
                Frame::Report(report) => {
                    // The launcher listens as long as it lives.
                    let _ = self.events.send(JobEvent::Report(self.number, report));
                    continue;
                }
                Frame::Output { rank, stream, bytes } => (rank, stream, bytes),
            };
            if !self.ranks.contains(&rank) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("rank {rank} is unknown there")));
            }
            let line = lines.entry((rank, stream == Stream::Out)).or_insert_with(|| self.output.lines(rank));
            let (whole, cost) = match bytes.len() {
                0 => (line.end(), 0),
                length => (line.push(&bytes), protocol::cost(length)),
            };
            self.print(rank, stream, whole, cost);
            if bytes.is_empty() {
                open = open.saturating_sub(1);
                if open == 0 {
                    let _ = self.events.send(JobEvent::Complete(self.number));
                }
            }
        }
        // Streams whose end was not reported.
        for ((rank, out), mut line) in lines {
            self.print(rank, if out { Stream::Out } else { Stream::Err }, line.end(), 0);
        }
        Ok(())
    }

    fn print(&self, rank: usize, stream: Stream, lines: Vec<u8>, cost: usize) {
        let credit = if stream == Stream::Out { &self.out } else { &self.err };
        self.output.print(rank, stream, lines, credit, cost);
    }
}

/// Makes foreign text safe for a terminal, and short.
pub(super) fn legible(text: &str) -> String {
    const MOST: usize = 200;
    let mut legible = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == MOST {
            legible.push_str("...");
            break;
        }
        if character.is_control() {
            legible.extend(character.escape_default());
        } else {
            legible.push(character);
        }
    }
    legible
}

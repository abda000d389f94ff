//! Multiplexes the output of all ranks of a host onto the connection to the launcher, and reports
//! how ranks end.
//!
//! An event loop in one thread. It reads a stream only within the credit of the launcher. Output
//! without credit stays in the pipes of the ranks, which block when the pipes are full. Reports
//! overtake this output.
//!
//! One thread serves all ranks, because each thread takes a stack and an allocation arena from the
//! address space, which `ulimit -v` limits.

use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::process::Pid;
use signal_hook::consts::SIGCHLD;

use super::launcher::Launcher;
use super::protocol::{CHUNK, Report, Stream, WINDOW, cost};
use super::rank::{Outcome, outcome};
use super::{RankEvent, small_thread};

/// Minimum credit, in bytes of output, for reading a stream.
const LEAST: usize = 1 << 12;

/// The handle of the event loop for other threads.
#[derive(Clone)]
pub(super) struct Multiplexer {
    tasks: Sender<Task>,
    wake: Arc<UnixStream>,
}

enum Task {
    /// Forwards the output of a rank, and reports its end.
    Attend(usize, Child),
    /// Returns credit for output that was printed.
    Printed(Stream, usize),
    /// Forwards what the pipes hold now, and no more, because an escaped process could write
    /// forever.
    Finish,
}

impl Multiplexer {
    /// Starts the thread, which also watches the reaper. Call this before the first rank starts.
    pub(super) fn start(launcher: Launcher, reaper: Option<Pid>, events: Sender<RankEvent>) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        // Registered in this order, so that the flag is set before the thread wakes.
        let ended = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register(SIGCHLD, Arc::clone(&ended))?;
        signal_hook::low_level::pipe::register(SIGCHLD, wake.try_clone()?)?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(CHUNK).map_err(|_| Errno::NOMEM)?;
        buffer.resize(CHUNK, 0);
        let (tasks, queue) = mpsc::channel();
        let event_loop = EventLoop {
            launcher,
            events,
            queue,
            woken,
            ended,
            reaper,
            running: Vec::new(),
            open: Vec::new(),
            out: WINDOW,
            err: WINDOW,
            buffer,
        };
        small_thread(move || event_loop.run())?;
        Ok(Self { tasks, wake: Arc::new(wake) })
    }

    /// Forwards the output of a rank that has started, and reports its end.
    pub(super) fn attend(&self, rank: usize, child: Child) {
        self.ask(Task::Attend(rank, child));
    }

    /// Returns credit.
    pub(super) fn printed(&self, stream: Stream, cost: usize) {
        self.ask(Task::Printed(stream, cost));
    }

    /// Ends all streams after what has been written by now.
    pub(super) fn finish(&self) {
        self.ask(Task::Finish);
    }

    fn ask(&self, task: Task) {
        let _ = self.tasks.send(task);
        // If no more bytes fit, the thread wakes anyway.
        let _ = (&*self.wake).write(&[0]);
    }
}

/// The state of the thread.
struct EventLoop {
    launcher: Launcher,
    events: Sender<RankEvent>,
    queue: Receiver<Task>,
    /// Becomes readable after a task or the end of a child.
    woken: UnixStream,
    /// Whether a child may have ended.
    ended: Arc<AtomicBool>,
    /// The reaper, until it ends.
    reaper: Option<Pid>,
    /// The ranks that have not ended, and their processes.
    running: Vec<(usize, Child)>,
    open: Vec<OpenStream>,
    /// Credit for each stream.
    out: usize,
    err: usize,
    buffer: Vec<u8>,
}

/// A stream that has not ended.
struct OpenStream {
    rank: usize,
    stream: Stream,
    from: PipeReader,
    /// Bytes still to be sent, if known.
    rest: Option<usize>,
}

impl EventLoop {
    fn run(mut self) {
        loop {
            while let Ok(task) = self.queue.try_recv() {
                self.obey(task);
            }
            if self.ended.swap(false, Ordering::Relaxed) {
                self.report_ends();
            }
            for at in self.wait().into_iter().rev() {
                self.forward(at);
            }
        }
    }

    fn obey(&mut self, task: Task) {
        match task {
            Task::Attend(rank, mut child) => {
                let out = child.stdout.take().map(|out| (Stream::Out, OwnedFd::from(out)));
                let err = child.stderr.take().map(|err| (Stream::Err, OwnedFd::from(err)));
                let streams = [out, err].into_iter().flatten();
                self.open.extend(streams.map(|(stream, from)| OpenStream {
                    rank,
                    stream,
                    from: from.into(),
                    rest: None,
                }));
                self.running.push((rank, child));
                // It may have ended.
                self.ended.store(true, Ordering::Relaxed);
            }
            Task::Printed(stream, cost) => {
                let credit = self.credit(stream);
                *credit = credit.saturating_add(cost).min(WINDOW);
            }
            Task::Finish => {
                for at in (0..self.open.len()).rev() {
                    let rest = ioctl_fionread(&self.open[at].from).unwrap_or(0);
                    self.open[at].rest = Some(usize::try_from(rest).unwrap_or(usize::MAX));
                    if rest == 0 {
                        self.close(at);
                    }
                }
            }
        }
    }

    /// Reports which children have ended.
    fn report_ends(&mut self) {
        let Self { launcher, events, running, reaper, .. } = self;
        // The main thread may have stopped listening.
        running.retain(|(rank, child)| {
            let how = match Pid::from_raw(child.id().cast_signed()).map_or(Outcome::Unknown, outcome) {
                Outcome::Runs => return true,
                Outcome::Ended(how) => Some(how),
                Outcome::Unknown => None,
            };
            if let Some(how) = how {
                launcher.report(&Report::Ended { rank: *rank, how });
            }
            let _ = events.send(RankEvent::Ended);
            false
        });
        if reaper.take_if(|reaper| outcome(*reaper) != Outcome::Runs).is_some() {
            let _ = events.send(RankEvent::ReaperEnded);
        }
    }

    /// Waits for a task, the end of a child, or output within the credit. Returns the streams with
    /// such output.
    fn wait(&mut self) -> Vec<usize> {
        let may = |open: &OpenStream| (if open.stream == Stream::Out { self.out } else { self.err }) >= cost(LEAST);
        let candidates: Vec<usize> = (0..self.open.len()).filter(|at| may(&self.open[*at])).collect();
        let mut files = vec![PollFd::new(&self.woken, PollFlags::IN)];
        files.extend(candidates.iter().map(|at| PollFd::new(&self.open[*at].from, PollFlags::IN)));
        match poll(&mut files, None) {
            Ok(_) | Err(Errno::INTR) => {}
            // The system is short of memory.
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
        let is_ready: Vec<bool> = files.iter().map(|file| !file.revents().is_empty()).collect();
        if is_ready[0] {
            // Unread bytes wake the thread again.
            let _ = (&self.woken).read(&mut self.buffer);
        }
        candidates.into_iter().zip(&is_ready[1..]).filter_map(|(at, ready)| ready.then_some(at)).collect()
    }

    /// Forwards the available output of a stream within the credit.
    fn forward(&mut self, at: usize) {
        let OpenStream { rank, stream, rest, .. } = self.open[at];
        let credit = *self.credit(stream);
        if credit < cost(LEAST) {
            return;
        }
        let most = CHUNK.min(credit - cost(0)).min(rest.unwrap_or(CHUNK));
        match self.open[at].from.read(&mut self.buffer[..most]) {
            Ok(length @ 1..) => {
                *self.credit(stream) -= cost(length);
                self.launcher.output(rank, stream, &self.buffer[..length]);
                self.open[at].rest = rest.map(|rest| rest - length);
                if rest == Some(length) {
                    self.close(at);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => self.close(at),
        }
    }

    fn close(&mut self, at: usize) {
        let OpenStream { rank, stream, .. } = self.open.swap_remove(at);
        self.launcher.silent(rank, stream);
        let _ = self.events.send(RankEvent::Silent);
    }

    fn credit(&mut self, stream: Stream) -> &mut usize {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }
}

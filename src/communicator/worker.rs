//! A thread that does tasks on a value, in the order in which they come.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A task on a value of type `C`. It may be done several times.
pub(super) trait Task<C>: Send + Sync {
    /// Does the task.
    fn run(&self, on: &mut C);
}

impl<C, F: Fn(&mut C) + Send + Sync> Task<C> for F {
    fn run(&self, on: &mut C) {
        self(on);
    }
}

/// The tasks that a thread has yet to do.
pub(super) struct Queue<'a, C> {
    waiting: Mutex<Waiting<'a, C>>,
    /// Tells the thread of a task, or of the end.
    changed: Condvar,
}

struct Waiting<'a, C> {
    tasks: VecDeque<Arc<dyn Task<C> + 'a>>,
    /// Whether no more tasks come.
    closed: bool,
}

impl<'a, C> Queue<'a, C> {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::new(Waiting { tasks: VecDeque::new(), closed: false }), changed: Condvar::new() }
    }

    /// Adds a task, and returns whether it will be done: not if the queue is closed.
    pub(super) fn push(&self, task: Arc<dyn Task<C> + 'a>) -> bool {
        let mut waiting = self.lock();
        if !waiting.closed {
            waiting.tasks.push_back(task);
            self.changed.notify_one();
        }
        !waiting.closed
    }

    /// Ends the queue. Tasks that have been added before are still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Does the tasks of the queue, until it is closed and empty.
    pub(super) fn serve(&self, on: &mut C) {
        while let Some(task) = self.next() {
            // A value that the task owns may panic as it is dropped, and so may the payload of that
            // panic. The others are still done.
            let done = catch_unwind(AssertUnwindSafe(|| {
                task.run(on);
                drop(task);
            }));
            done.unwrap_or_else(mem::forget);
        }
    }

    fn next(&self) -> Option<Arc<dyn Task<C> + 'a>> {
        let idle = |waiting: &mut Waiting<'a, C>| waiting.tasks.is_empty() && !waiting.closed;
        let waiting = self.changed.wait_while(self.lock(), idle);
        waiting.unwrap_or_else(PoisonError::into_inner).tasks.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<'a, C>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that does the tasks of a queue on a value that it owns.
///
/// To drop it is to wait for the tasks, so that none is cut off by the end of the process. A thread
/// that panics does not wait: the others may never do their part.
#[derive(Debug)]
pub(super) struct Worker<C> {
    queue: Arc<Queue<'static, C>>,
    thread: Option<JoinHandle<()>>,
}

impl<C: Send + 'static> Worker<C> {
    /// Starts the thread.
    pub(super) fn spawn(name: String, mut on: C) -> io::Result<Self> {
        let queue = Arc::new(Queue::new());
        let tasks = Arc::clone(&queue);
        let thread = thread::Builder::new().name(name).spawn(move || tasks.serve(&mut on))?;
        Ok(Self { queue, thread: Some(thread) })
    }
}

impl<C> Worker<C> {
    pub(super) fn queue(&self) -> &Arc<Queue<'static, C>> {
        &self.queue
    }
}

impl<C> Drop for Worker<C> {
    fn drop(&mut self) {
        self.queue.close();
        // A task may own what holds this worker.
        let elsewhere = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = self.thread.take().filter(elsewhere)
            && !thread::panicking()
        {
            // The thread catches panics.
            let _ = thread.join();
        }
    }
}

impl<C> fmt::Debug for Queue<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.lock().tasks.len()).finish_non_exhaustive()
    }
}

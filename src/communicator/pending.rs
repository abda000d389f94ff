//! Calls under way: what `start` returns, and requests that are started again and again.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use super::Communicator;
use super::worker::{Queue, Task};
use crate::error::{Error, RequestFault};
use crate::quote::panic_message;

/// A call under way, with its buffers. Made by [`Communicator::start`] and [`Scope::start`].
///
/// [`wait`](Self::wait) returns the buffers, and the result of the call. A pending call is also a
/// future of the same, for any runtime: `let (buffers, result) = pending.await`.
///
/// To drop or forget it does not cancel the call. The buffers stay with the call, and are dropped
/// when it is done. Its error is logged unless the program waits for the call.
///
/// [`Scope::start`]: super::Scope::start
#[must_use = "the buffers and the result of the call come back from `wait`"]
pub struct Pending<B, R = ()> {
    slot: Arc<Slot<B, R>>,
}

impl<B, R> Pending<B, R> {
    /// Returns whether the call is done, so that [`wait`](Self::wait) does not block. Does not
    /// block itself. Corresponds to `MPI_Test`.
    #[must_use]
    pub fn test(&self) -> bool {
        self.slot.lock().stage.is_done()
    }

    /// Waits until the call is done. Returns the buffers, and what the call returned. Corresponds
    /// to `MPI_Wait`.
    ///
    /// The buffers come back also if the call has failed. What a failed call has received is
    /// unspecified.
    ///
    /// # Panics
    ///
    /// If the closure given to `start` has panicked, with its panic. If the value has been awaited
    /// to the end before.
    pub fn wait(self) -> (B, Result<R, Error>) {
        self.slot.wait()
    }

    /// Makes a call, and the task that does it.
    pub(super) fn new<'a, F>(buffers: B, call: F) -> (Self, Arc<dyn Task<Communicator> + 'a>)
    where
        B: Send + 'a,
        R: Send + 'a,
        F: FnOnce(&mut Communicator, &mut B) -> Result<R, Error> + Send + 'a,
    {
        let slot = Slot::new(Stage::Waiting(buffers));
        let task = Once { slot: Arc::clone(&slot), call: Mutex::new(Some(call)) };
        (Self { slot }, Arc::new(task))
    }

    /// Makes a call that has failed before it was started.
    pub(super) fn failed(buffers: B, error: Error) -> Self {
        Self { slot: Slot::new(Stage::Done(buffers, Err(error))) }
    }
}

/// # Panics
///
/// As [`wait`](Pending::wait).
impl<B, R> Future for Pending<B, R> {
    type Output = (B, Result<R, Error>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.slot.poll(context)
    }
}

impl<B, R> fmt::Debug for Pending<B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("done", &self.test()).finish_non_exhaustive()
    }
}

/// A call with its buffers that is started again and again, as a persistent request of MPI. Made by
/// [`Communicator::request`].
///
/// To start it again allocates nothing. Dropped while it is under way, it is as a [`Pending`] that
/// is dropped.
pub struct Request<B, R = ()> {
    /// The buffers, unless the call has them.
    buffers: Option<B>,
    slot: Arc<Slot<B, R>>,
    task: Arc<dyn Task<Communicator>>,
    queue: Arc<Queue<'static, Communicator>>,
}

impl<B, R> Request<B, R> {
    pub(super) fn new<F>(buffers: B, call: F, queue: Arc<Queue<'static, Communicator>>) -> Self
    where
        B: Send + 'static,
        R: Send + 'static,
        F: FnMut(&mut Communicator, &mut B) -> Result<R, Error> + Send + 'static,
    {
        let slot = Slot::new(Stage::Empty);
        let task = Again { slot: Arc::clone(&slot), call: Mutex::new(call) };
        Self { buffers: Some(buffers), slot, task: Arc::new(task), queue }
    }

    /// Starts the call, and returns at once. Corresponds to `MPI_Start`.
    ///
    /// # Errors
    ///
    /// [`RequestFault`] if the request is under way, its communicator has been dropped, or its closure
    /// has panicked.
    #[track_caller]
    pub fn start(&mut self) -> Result<(), Error> {
        let Some(buffers) = self.buffers.take() else { return Err(self.misused("start")) };
        self.slot.lock().stage = Stage::Waiting(buffers);
        if self.queue.push(Arc::clone(&self.task)) {
            return Ok(());
        }
        if let Stage::Waiting(buffers) = mem::replace(&mut self.slot.lock().stage, Stage::Empty) {
            self.buffers = Some(buffers);
        }
        Err(Error::of_argument("start", RequestFault::Dropped))
    }

    /// Returns whether no call is under way: [`wait`](Self::wait) returns at once, with an error if
    /// the request has not been started since the last wait. Does not block. Corresponds to
    /// `MPI_Test`.
    #[must_use]
    pub fn test(&self) -> bool {
        self.buffers.is_some() || !self.slot.lock().stage.is_under_way()
    }

    /// Waits until the call is done, and returns its result. Corresponds to `MPI_Wait`.
    ///
    /// # Errors
    ///
    /// Those of the call. [`RequestFault`] if the request has not been started since the last wait.
    ///
    /// # Panics
    ///
    /// If the closure given to [`request`](Communicator::request) has panicked, with its panic.
    #[track_caller]
    pub fn wait(&mut self) -> Result<R, Error> {
        if !self.slot.is_started() {
            return Err(self.misused("wait"));
        }
        let (buffers, result) = self.slot.wait();
        self.buffers = Some(buffers);
        result
    }

    /// Waits as [`wait`](Self::wait), as a future. Dropped before it is ready, it leaves the call
    /// under way.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn finished(&mut self) -> impl Future<Output = Result<R, Error>> {
        let misused = if self.slot.is_started() { None } else { Some(self.misused("finished")) };
        async {
            misused.map_or(Ok(()), Err)?;
            let (buffers, result) = poll_fn(|context| self.slot.poll(context)).await;
            self.buffers = Some(buffers);
            result
        }
    }

    /// Returns the buffers. The call takes them from its start until the program has waited for it.
    ///
    /// # Errors
    ///
    /// [`RequestFault`] meanwhile, or if the closure has panicked.
    #[track_caller]
    pub fn buffers(&mut self) -> Result<&mut B, Error> {
        if self.buffers.is_none() {
            return Err(self.misused("buffers"));
        }
        self.buffers.as_mut().ok_or(Error::Internal("a request without buffers".into()))
    }

    /// Makes the error of a method that needs the request in another state.
    #[track_caller]
    fn misused(&self, method: &'static str) -> Error {
        let fault = match (&self.buffers, self.slot.is_started()) {
            (Some(_), _) => RequestFault::NotStarted,
            (None, true) => RequestFault::UnderWay,
            (None, false) => RequestFault::Panicked,
        };
        Error::of_argument(method, fault)
    }
}

impl<B, R> fmt::Debug for Request<B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("done", &self.test()).finish_non_exhaustive()
    }
}

/// The place through which a call gets its buffers and gives them back.
struct Slot<B, R> {
    state: Mutex<State<B, R>>,
    done: Condvar,
}

struct State<B, R> {
    stage: Stage<B, R>,
    /// The task to wake when the call is done.
    waker: Option<Waker>,
}

enum Stage<B, R> {
    /// No call: it has not been started, or has given its buffers back.
    Empty,
    /// The call waits for those that were started before.
    Waiting(B),
    Running,
    Done(B, Result<R, Error>),
    Panicked(Box<dyn Any + Send>),
}

impl<B, R> Stage<B, R> {
    fn is_done(&self) -> bool {
        matches!(self, Self::Done(..) | Self::Panicked(_))
    }

    fn is_under_way(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Running)
    }

    fn is_started(&self) -> bool {
        self.is_under_way() || self.is_done()
    }

    /// Takes what a call that is done returns.
    fn take(&mut self) -> Option<thread::Result<(B, Result<R, Error>)>> {
        if self.is_under_way() {
            return None;
        }
        match mem::replace(self, Self::Empty) {
            Self::Done(buffers, result) => Some(Ok((buffers, result))),
            Self::Panicked(panic) => Some(Err(panic)),
            _ => Some(Err(Box::new("a pending call has been awaited to the end before, and has no result left"))),
        }
    }
}

impl<B, R> Slot<B, R> {
    fn new(stage: Stage<B, R>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { stage, waker: None }), done: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State<B, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_started(&self) -> bool {
        self.lock().stage.is_started()
    }

    fn wait(&self) -> (B, Result<R, Error>) {
        let state = self.done.wait_while(self.lock(), |state| state.stage.is_under_way());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let taken = state.stage.take();
        drop(state);
        match taken {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => resume_unwind(panic),
            // The condition of the loop above.
            None => self.wait(),
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<(B, Result<R, Error>)> {
        let mut state = self.lock();
        let taken = state.stage.take();
        if taken.is_none() {
            match &mut state.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        drop(state);
        match taken {
            None => Poll::Pending,
            Some(Ok(ended)) => Poll::Ready(ended),
            Some(Err(panic)) => resume_unwind(panic),
        }
    }

    /// Makes the call on its buffers. Returns the message of its panic.
    fn run(&self, call: impl FnOnce(&mut B) -> Result<R, Error>) -> Option<String> {
        let Stage::Waiting(mut buffers) = mem::replace(&mut self.lock().stage, Stage::Running) else { return None };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let result = call(&mut buffers);
            (buffers, result)
        }));
        let (stage, message) = match ended {
            Ok((buffers, result)) => (Stage::Done(buffers, result), None),
            Err(panic) => {
                let message = panic_message(&*panic).to_owned();
                (Stage::Panicked(panic), Some(message))
            }
        };
        let mut state = self.lock();
        state.stage = stage;
        let waker = state.waker.take();
        drop(state);
        self.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        message
    }
}

impl<B, R> Drop for Slot<B, R> {
    fn drop(&mut self) {
        if let Stage::Done(_, Err(error)) = &self.lock().stage {
            log::warn!("a started call failed, and the program did not wait for it: {error}");
        }
    }
}

/// A call that is made once.
struct Once<B, R, F> {
    slot: Arc<Slot<B, R>>,
    call: Mutex<Option<F>>,
}

impl<B, R, F> Task<Communicator> for Once<B, R, F>
where
    B: Send,
    R: Send,
    F: FnOnce(&mut Communicator, &mut B) -> Result<R, Error> + Send,
{
    fn run(&self, comm: &mut Communicator) {
        let call = self.call.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(call) = call {
            let panicked = self.slot.run(|buffers| call(comm, buffers));
            fail(comm, panicked);
        }
    }
}

/// A call that is made each time that it is started.
struct Again<B, R, F> {
    slot: Arc<Slot<B, R>>,
    call: Mutex<F>,
}

impl<B, R, F> Task<Communicator> for Again<B, R, F>
where
    B: Send,
    R: Send,
    F: FnMut(&mut Communicator, &mut B) -> Result<R, Error> + Send,
{
    fn run(&self, comm: &mut Communicator) {
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        let panicked = self.slot.run(|buffers| call(comm, buffers));
        fail(comm, panicked);
    }
}

/// Tells the other members of a call that has panicked.
fn fail(comm: &mut Communicator, panicked: Option<String>) {
    if let Some(message) = panicked {
        comm.abort(&format!("a started call panicked: {message}"));
    }
}

//! Calls that do not block: started here, made by another thread.

use std::sync::Arc;
use std::thread;

use super::Communicator;
use super::pending::{Pending, Request};
use super::worker::{Queue, Worker};
use crate::error::{CallError, Error};
use crate::transport::Cause;

impl Communicator {
    /// Starts a call, and returns at once. The call is made by another thread of this process,
    /// while this one continues.
    ///
    /// The closure gets a communicator of the same members, network and choices, and the buffers.
    /// It makes any call, or several in a row. The buffers belong to the call until
    /// [`wait`](Pending::wait) gives them back; for borrowed ones, see [`scope`](Self::scope).
    ///
    /// Every member starts the same calls in the same order. They are made one after the other, in
    /// that order, on a communicator of their own. So a started call and the calls that the program
    /// makes meanwhile need no common order, and do not disturb each other.
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let done = necklace::local::run(4, |mut comm| {
    ///     let (send, receive) = (vec![comm.rank(); 4], vec![0; 4]);
    ///     let exchange = comm.start((send, receive), |comm, (send, receive)| comm.alltoall(send, receive));
    ///     // Computes, and even communicates, meanwhile.
    ///     let sum = comm.allreduce_one(comm.rank(), Sum)?;
    ///     let ((_, received), result) = exchange.wait();
    ///     result?;
    ///     Ok::<_, necklace::Error>((sum, received))
    /// })?;
    /// for rank in done {
    ///     assert_eq!(rank?, (6, vec![0, 1, 2, 3]));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A [`Pending`] is also a future, for any runtime: `comm.start(buffers, call).await`. An
    /// `async fn` that calls `start` starts nothing until it is polled.
    ///
    /// The closure may also move other communicators with the buffers, and call them: a
    /// [`dup`](Self::dup), or a duplicated process grid for its halos.
    ///
    /// # Progress
    ///
    /// Over every backend, the thread that makes the calls makes progress while the program
    /// computes. It sleeps while it waits, except over MPI, where a rank that waits polls. Where
    /// all cores compute, it takes its share of their time. The first start makes the thread.
    /// Handing a call over takes 8 to 80 µs; a short call is faster if it blocks.
    ///
    /// # Errors
    ///
    /// All are returned by [`wait`](Pending::wait), with the buffers. Those of a call describe it as
    /// `started`, and number it among the calls that closures have made. [`Error::Thread`] if there
    /// is no thread.
    ///
    /// A closure that panics fails the started calls of all members with its message. Calls that
    /// members start in different orders disagree, as other calls do. A call that only some members
    /// start ends at the [deadline](crate::Options::arrival_timeout). A started call does not match
    /// a call that blocks. A closure that returns an error before its call leaves its rank one call
    /// behind the others, as a program does that blocks.
    ///
    /// A closure must not wait for a call that is started after it on the same communicator: that
    /// one is made when the closure has returned, and no deadline ends the wait.
    ///
    /// # When it ends
    ///
    /// Dropping or [closing](Self::close) the communicator waits for the calls that were started,
    /// unless the thread panics. [`abort`](Self::abort) fails them, those under way and those that
    /// are started later, on all members.
    #[track_caller]
    pub fn start<B, R, F>(&mut self, buffers: B, call: F) -> Pending<B, R>
    where
        B: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut Self, &mut B) -> Result<R, Error> + Send + 'static,
    {
        let queue = match self.started_calls() {
            Ok(queue) => queue,
            Err(error) => return Pending::failed(buffers, self.context.error_of("start")(error)),
        };
        let using = self.using.clone();
        let (pending, task) = Pending::new(buffers, move |comm: &mut Self, buffers: &mut B| match using {
            Some(how) => call(&mut comm.using(how), buffers),
            None => call(comm, buffers),
        });
        queue.push(task);
        pending
    }

    /// Makes a request: a call with its buffers, which is started again and again.
    ///
    /// Local; nothing is started yet. Everything that [`start`](Self::start) says holds for each
    /// start. To start it again allocates nothing. Neither does the call, if the plans of its closure
    /// are cached; over MPI, the library may.
    ///
    /// ```
    /// let last = necklace::local::run(3, |mut comm| {
    ///     let buffers = (vec![comm.rank(); 3], vec![0; 3]);
    ///     let mut exchange = comm.request(buffers, |comm, (send, receive)| comm.alltoall(send, receive))?;
    ///     for _ in 0..4 {
    ///         exchange.start()?;
    ///         // Computes meanwhile.
    ///         exchange.wait()?;
    ///         let (send, receive) = exchange.buffers()?;
    ///         std::mem::swap(send, receive);
    ///     }
    ///     Ok::<_, necklace::Error>(exchange.buffers()?.0.clone())
    /// })?;
    /// for (rank, last) in last.into_iter().enumerate() {
    ///     assert_eq!(last?, [rank; 3]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A persistent plan belongs to the communicator that made it, so one for started calls is made
    /// by the closure:
    ///
    /// ```
    /// # necklace::local::run(2, |mut comm| {
    /// let mut plan = None;
    /// let mut exchange = comm.request((vec![7; 4], vec![0; 4]), move |comm, (send, receive)| {
    ///     if plan.is_none() {
    ///         plan = Some(comm.alltoall_init(2)?);
    ///     }
    ///     plan.as_mut().map_or(Ok(()), |plan| plan.execute(comm, send, receive))
    /// })?;
    /// exchange.start()?;
    /// exchange.wait()
    /// # }).unwrap().into_iter().for_each(|rank| rank.unwrap());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Thread`] if there is no thread for started calls.
    #[track_caller]
    pub fn request<B, R, F>(&mut self, buffers: B, mut call: F) -> Result<Request<B, R>, Error>
    where
        B: Send + 'static,
        R: Send + 'static,
        F: FnMut(&mut Self, &mut B) -> Result<R, Error> + Send + 'static,
    {
        let queue = self.started_calls().map_err(self.context.error_of("request"))?;
        let using = self.using.clone();
        let call = move |comm: &mut Self, buffers: &mut B| match &using {
            Some(how) => call(&mut comm.using(how), buffers),
            None => call(comm, buffers),
        };
        Ok(Request::new(buffers, call, queue))
    }

    /// Runs the body, in which calls on borrowed buffers are started. Returns when all of them are
    /// done.
    ///
    /// A thread that lives as long as the scope makes the calls, on this communicator itself: one
    /// after the other, in the order in which they are started. The scope alone uses the
    /// communicator meanwhile.
    ///
    /// ```
    /// let sums = necklace::local::run(4, |mut comm| {
    ///     let (send, mut receive) = ([1; 4], [0; 4]);
    ///     let computed = comm.scope(|scope| {
    ///         let exchange = scope.start((&send, &mut receive), |comm, (send, receive)| comm.alltoall(*send, *receive));
    ///         let computed: i32 = send.iter().sum();
    ///         let (_, result) = exchange.wait();
    ///         result.map(|()| computed)
    ///     })??;
    ///     Ok::<_, necklace::Error>(computed + receive[0])
    /// })?;
    /// for sum in sums {
    ///     assert_eq!(sum?, 5);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Thread`] if there is no thread for the calls. The body has not run then. Errors of
    /// the calls are returned by [`wait`](Pending::wait).
    ///
    /// # Panics
    ///
    /// If the body panics, when all calls are done.
    pub fn scope<'env, T>(&mut self, body: impl FnOnce(&Scope<'_, 'env>) -> T) -> Result<T, Error> {
        let queue = Queue::new();
        let name = self.worker_name();
        thread::scope(|threads| {
            let worker = || queue.serve(self);
            let started = thread::Builder::new().name(name).spawn_scoped(threads, worker);
            started.map_err(|error| Error::Thread(Arc::new(error)))?;
            let end = Closing(&queue);
            let result = body(&Scope { queue: &queue });
            drop(end);
            Ok(result)
        })
    }

    /// Returns the queue of started calls. The first time, makes their communicator and thread.
    fn started_calls(&mut self) -> Result<Arc<Queue<'static, Self>>, CallError> {
        if let Some(worker) = &self.started {
            return Ok(Arc::clone(worker.queue()));
        }
        let mut twin = self.twin(self.context.id.of_started_calls())?;
        twin.makes_started_calls = true;
        // What is aborted later fails the twin too.
        if let Some(failure) = self.failure().filter(|failure| matches!(failure.cause, Cause::Aborted { .. })) {
            twin.context.transport.abort(failure);
        }
        let worker = Worker::spawn(self.worker_name(), twin);
        let worker = self.started.insert(worker.map_err(|error| Error::Thread(Arc::new(error)))?);
        Ok(Arc::clone(worker.queue()))
    }

    fn worker_name(&self) -> String {
        format!("calls, rank {}", self.rank())
    }
}

/// The scope of calls on borrowed buffers. Made by [`Communicator::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env> {
    queue: &'scope Queue<'env, Communicator>,
}

impl<'env> Scope<'_, 'env> {
    /// Starts a call, and returns at once, as [`Communicator::start`] does. Buffers and captures may
    /// be borrowed.
    pub fn start<B, R, F>(&self, buffers: B, call: F) -> Pending<B, R>
    where
        B: Send + 'env,
        R: Send + 'env,
        F: FnOnce(&mut Communicator, &mut B) -> Result<R, Error> + Send + 'env,
    {
        let (pending, task) = Pending::new(buffers, call);
        self.queue.push(task);
        pending
    }
}

/// Closes a queue, also if the body of a scope panics.
struct Closing<'a, 'env>(&'a Queue<'env, Communicator>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

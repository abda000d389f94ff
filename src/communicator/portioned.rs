//! Redistribution of arrays in portions.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bytemuck::Pod;

use super::lengths::{BufferLength, check};
use super::pending::Pending;
use super::redistribution::{RedistributionPlans, RedistributionRequest, check_lengths};
use super::{Communicator, Persistent, Scope};
use crate::array::{ArrayError, Distribution, Portion, Portions};
use crate::error::{ArgumentError, CallError, Error};
use crate::quote::panic_message;

/// A persistent plan that takes an array from one distribution to another, and back, in portions.
///
/// Made by [`redistribute_portions_init`](Communicator::redistribute_portions_init). Each rank's
/// part before is divided into portions, each of them an array in a buffer of its own. One buffer
/// can serve for all, and stay in the cache. The plan has a communicator of its own, of the ranks
/// that may exchange elements with each other. The first execution in each direction may allocate;
/// later ones do not, unless portions overlap.
pub struct PortionedRedistribution<T> {
    plans: RedistributionPlans<T>,
    /// This rank's portions.
    portions: Vec<Portion>,
    distributions: [Distribution; 2],
    /// The length of the buffer after, in elements.
    length: usize,
}

impl<T: Pod> PortionedRedistribution<T> {
    /// Returns the number of portions.
    #[must_use]
    pub fn portions(&self) -> usize {
        self.portions.len()
    }

    /// Returns the positions of a portion within this rank's part before, along the axis that is
    /// divided. Empty if there is no such portion.
    #[must_use]
    pub fn positions(&self, portion: usize) -> Range<usize> {
        self.portions.get(portion).map_or(0..0, |portion| portion.positions.clone())
    }

    /// Returns the length of a portion's buffer, in elements. 0 if there is no such portion.
    ///
    /// The portion lies in it as the part lies in its memory, with fewer indices of the axis that is
    /// divided: in the same order, and [padded](Distribution::padded) unless rows are divided.
    #[must_use]
    pub fn portion_len(&self, portion: usize) -> usize {
        self.portions.get(portion).map_or(0, |portion| portion.length)
    }

    /// Moves the elements of one portion of each rank to their places in `after`, which keeps its
    /// other elements. Collective among the ranks that may exchange elements.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Array`](crate::error::ArgumentError::Array) with [`ArrayError::Portion`] if
    /// there is no such portion; [`ArgumentError::Length`](crate::error::ArgumentError::Length) if a
    /// buffer has another length; otherwise see [`Communicator`].
    #[track_caller]
    pub fn execute(&mut self, portion: usize, before: &[T], after: &mut [T]) -> Result<(), Error> {
        self.check(portion, [before.len(), after.len()], "execute")?;
        let RedistributionPlans { comm, there, .. } = &mut self.plans;
        there[portion].execute(comm, before, after)
    }

    /// Moves the elements of one portion of each rank back to the portion's buffer. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_back(&mut self, portion: usize, after: &[T], before: &mut [T]) -> Result<(), Error> {
        self.check(portion, [before.len(), after.len()], "execute_back")?;
        let RedistributionPlans { comm, back, .. } = &mut self.plans;
        back[portion].execute(comm, after, before)
    }

    /// Computes all portions and moves them, each while the next one is computed. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// `compute` is called for each portion in turn, with its [positions](Self::positions) and the
    /// buffer to write it into: the beginning of one of the two buffers. Each buffer is at least as long
    /// as the longest portion.
    ///
    /// A thread of a [`scope`](Communicator::scope) moves the portions, and ends with the call. So a
    /// portion waits for the network while the next one is computed. That saves little where the network
    /// buffers what is sent, and nothing where all cores compute.
    ///
    /// ```
    /// use necklace::array::Distribution;
    ///
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[12, 5], axis, 3).unwrap());
    ///     let (mut one, mut other) = (vec![0; 10], vec![0; 10]);
    ///     let mut received = vec![0; columns.local_len(comm.rank())];
    ///     let mut plan = comm.redistribute_portions_init(&rows, &columns, 0, 2)?;
    ///     plan.execute_overlapped([&mut one, &mut other], &mut received, |positions, rows| {
    ///         rows.fill(positions.start / 2 + 1);
    ///     })?;
    ///     Ok::<_, necklace::Error>(received.iter().sum::<usize>())
    /// })?;
    /// assert_eq!(sums[0].as_ref().unwrap(), &(2 * 6 * (1 + 2)));
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) if a buffer is too short or
    /// `after` has another length, [`Error::Thread`] if there is no thread; otherwise those of
    /// [`execute`](Self::execute).
    ///
    /// # Panics
    ///
    /// If `compute` panics. The communicator of the plan has then failed on all ranks, so that the plan
    /// cannot be executed again.
    #[track_caller]
    pub fn execute_overlapped(
        &mut self,
        buffers: [&mut [T]; 2],
        after: &mut [T],
        mut compute: impl FnMut(Range<usize>, &mut [T]),
    ) -> Result<(), Error>
    where
        T: Send + Sync,
    {
        self.check_overlapped(&buffers, after.len(), "execute_overlapped")?;
        let Self { plans: RedistributionPlans { comm, there, .. }, portions, .. } = self;
        let [mut computed, other] = buffers;
        overlapped(comm, |scope| {
            let mut idle = Some((other, after));
            let mut under_way = None::<Pending<_>>;
            for (Portion { positions, length, .. }, plan) in portions.iter().zip(there) {
                compute(positions.clone(), &mut computed[..*length]);
                if let Some(before) = under_way.take() {
                    let (buffers, moved) = before.wait();
                    moved?;
                    idle = Some(buffers);
                }
                let Some((other, after)) = idle.take() else { break };
                under_way =
                    Some(scope.start((computed, after), |comm, (portion, after)| {
                        plan.execute(comm, &portion[..*length], after)
                    }));
                computed = other;
            }
            under_way.map_or(Ok(()), |last| last.wait().1)
        })
    }

    /// Moves all portions back, and computes each while the next one is under way. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// `compute` is called for each portion in turn, when it has arrived; otherwise as
    /// [`execute_overlapped`](Self::execute_overlapped).
    ///
    /// # Errors
    ///
    /// Those of [`execute_overlapped`](Self::execute_overlapped).
    ///
    /// # Panics
    ///
    /// As [`execute_overlapped`](Self::execute_overlapped).
    #[track_caller]
    pub fn execute_back_overlapped(
        &mut self,
        after: &[T],
        buffers: [&mut [T]; 2],
        mut compute: impl FnMut(Range<usize>, &mut [T]),
    ) -> Result<(), Error>
    where
        T: Send + Sync,
    {
        self.check_overlapped(&buffers, after.len(), "execute_back_overlapped")?;
        let Self { plans: RedistributionPlans { comm, back, .. }, portions, .. } = self;
        let [first, mut other] = buffers;
        overlapped(comm, |scope| {
            let mut plans = portions.iter().zip(back);
            let mut start = |buffer| {
                let (portion, plan) = plans.next()?;
                let receive = |comm: &mut Communicator, buffer: &mut &mut [T]| {
                    plan.execute(comm, after, &mut buffer[..portion.length])
                };
                Some((portion, scope.start(buffer, receive)))
            };
            let mut under_way = start(first);
            while let Some((portion, moving)) = under_way.take() {
                let (computed, moved) = moving.wait();
                moved?;
                under_way = start(other);
                compute(portion.positions.clone(), &mut computed[..portion.length]);
                other = computed;
            }
            Ok(())
        })
    }

    #[track_caller]
    fn check_overlapped(&self, buffers: &[&mut [T]; 2], after: usize, call: &'static str) -> Result<(), Error> {
        let longest = BufferLength::AtLeast(self.portions.iter().map(|portion| portion.length).max().unwrap_or(0));
        let checked = || -> Result<(), ArgumentError> {
            buffers.iter().try_for_each(|buffer| longest.check("buffer of portions", buffer.len()))?;
            check("buffer `after`", after, self.length)
        };
        checked().map_err(self.plans.comm.context.error_of(call))
    }

    #[track_caller]
    fn check(&self, portion: usize, [before, after]: [usize; 2], call: &'static str) -> Result<(), Error> {
        let checked = || -> Result<(), CallError> {
            let missing = ArrayError::Portion { found: portion, portions: self.portions.len() };
            let Portion { length, .. } = self.portions.get(portion).ok_or(missing)?;
            Ok(check_lengths([before, after], [*length, self.length])?)
        };
        checked().map_err(self.plans.comm.context.error_of(call))
    }

    /// Returns the distribution before.
    #[must_use]
    pub fn before(&self) -> &Distribution {
        &self.distributions[0]
    }

    /// Returns the distribution after.
    #[must_use]
    pub fn after(&self) -> &Distribution {
        &self.distributions[1]
    }

    /// Describes the exchange of the first portion in text: element type, algorithm, network.
    #[must_use]
    pub fn description(&self) -> &str {
        self.plans.there.first().map_or("", Persistent::description)
    }

    /// Returns the communicator of the ranks that may exchange elements with this one.
    #[must_use]
    pub fn communicator(&self) -> &Communicator {
        &self.plans.comm
    }

    /// Returns that communicator, to [abort](Communicator::abort) the exchange or for other calls.
    #[must_use]
    pub fn communicator_mut(&mut self) -> &mut Communicator {
        &mut self.plans.comm
    }
}

/// Runs the body of calls that overlap with computations. Aborts the communicator if the body panics
/// or there is no thread: this rank may make fewer calls than the others then.
fn overlapped<'env>(
    comm: &mut Communicator,
    body: impl FnOnce(&Scope<'_, 'env>) -> Result<(), Error>,
) -> Result<(), Error> {
    match catch_unwind(AssertUnwindSafe(|| comm.scope(body))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            comm.abort(&error.to_string());
            Err(error)
        }
        Err(panic) => {
            comm.abort(&format!("the computation of a portion panicked: {}", panic_message(&*panic)));
            resume_unwind(panic)
        }
    }
}

impl<T> fmt::Debug for PortionedRedistribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plans: RedistributionPlans { comm, .. }, portions, distributions: [before, after], .. } = self;
        f.debug_struct("PortionedRedistribution")
            .field("before", before)
            .field("after", after)
            .field("portions", &portions.len())
            .field("comm", comm)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Plans to take an array from one distribution to another in portions, to compute between them.
    /// Collective.
    ///
    /// Each rank's part before is divided along an axis into portions, whose numbers of indices differ
    /// by at most one, or by one block where blocks are dealt. A rank can compute a portion in a small
    /// buffer and [send](PortionedRedistribution::execute) it from there while it is in the cache, and
    /// on the way back compute each portion when it has arrived. Choose an axis that the exchange makes
    /// whole: then every rank has something to send and to receive in each portion.
    ///
    /// Otherwise as [`redistribute_init`](Self::redistribute_init). Takes time and memory for each
    /// portion.
    ///
    /// ```
    /// use necklace::array::Distribution;
    ///
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let rows = Distribution::slabs(&[12, 5], 0, 3).unwrap();
    ///     let columns = Distribution::slabs(&[12, 5], 1, 3).unwrap();
    ///     let (mut two_rows, mut received) = (vec![0; 10], vec![0; columns.local_len(comm.rank())]);
    ///     // This rank's four rows are sent by twos.
    ///     let mut plan = comm.redistribute_portions_init(&rows, &columns, 0, 2)?;
    ///     for portion in 0..plan.portions() {
    ///         two_rows.fill(portion + 1);
    ///         plan.execute(portion, &two_rows, &mut received)?;
    ///     }
    ///     Ok::<_, necklace::Error>(received.iter().sum::<usize>())
    /// })?;
    /// assert_eq!(sums[0].as_ref().unwrap(), &(2 * 6 * (1 + 2)));
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Array`](crate::error::ArgumentError::Array) with [`ArrayError::Axis`] unless
    /// there is such an axis, with [`ArrayError::Portions`] unless there are 1 to as many portions as
    /// the axis has indices; otherwise those of [`redistribute_init`](Self::redistribute_init).
    #[track_caller]
    pub fn redistribute_portions_init<T: Pod>(
        &mut self,
        before: &Distribution,
        after: &Distribution,
        axis: usize,
        portions: usize,
    ) -> Result<PortionedRedistribution<T>, Error> {
        let divided = Portions { axis, count: portions };
        let planned = self.redistribution(RedistributionRequest::new(before, after, divided));
        let plans = planned.map_err(self.context.error_of("redistribute_portions_init"))?;
        let rank = self.rank();
        let portions = (0..portions).map(|portion| before.portion(rank, portion, divided)).collect();
        let distributions = [before.clone(), after.clone()];
        Ok(PortionedRedistribution { plans, portions, distributions, length: after.local_len(rank) })
    }
}

//! Redistribution of arrays.

use std::fmt;

use bytemuck::Pod;

use super::element::Element;
use super::lengths::{BufferLength, check};
use super::{Communicator, Persistent};
use crate::array::{ArrayError, Distribution, Exchange, GridChoice, Portions, together};
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::select::Terms;

/// A persistent plan that takes an array from one distribution to another, and back.
///
/// Made by [`redistribute_init`](Communicator::redistribute_init). It has a communicator of its
/// own, of the ranks that may exchange elements with each other, so its methods take none. The
/// first execution of each method may allocate; later ones do not.
pub struct Redistribution<T> {
    plans: RedistributionPlans<T>,
    distributions: [Distribution; 2],
    /// The lengths of the buffers, in elements.
    lengths: [usize; 2],
    /// The copy of what is moved in one buffer; empty until then.
    copy: Vec<T>,
}

/// The buffers of a redistribution, as errors name them: those with the distributions before and
/// after.
const BUFFERS: [&str; 2] = ["buffer `before`", "buffer `after`"];

/// Checks the lengths of the buffers.
pub(super) fn check_lengths(found: [usize; 2], expected: [usize; 2]) -> Result<(), ArgumentError> {
    let mut each = BUFFERS.into_iter().zip(found).zip(expected);
    each.try_for_each(|((what, found), expected)| check(what, found, expected))
}

/// A redistribution to be planned.
#[derive(Clone, Copy)]
pub(super) struct RedistributionRequest<'a> {
    before: &'a Distribution,
    after: &'a Distribution,
    portions: Portions,
    /// The lengths of the buffers, if it is executed once: then the way back is not planned.
    once: Option<[usize; 2]>,
}

impl<'a> RedistributionRequest<'a> {
    /// A redistribution that is executed any number of times, there and back.
    pub(super) fn new(before: &'a Distribution, after: &'a Distribution, portions: Portions) -> Self {
        Self { before, after, portions, once: None }
    }
}

/// The plans of a redistribution.
pub(super) struct RedistributionPlans<T> {
    /// The communicator of the ranks that exchange elements.
    pub(super) comm: Communicator,
    /// The plans of each portion.
    pub(super) there: Vec<Persistent<T>>,
    /// The plans of each portion back; none if it is executed once.
    pub(super) back: Vec<Persistent<T>>,
}

impl<T: Pod> RedistributionPlans<T> {
    /// Moves everything, of a redistribution without portions.
    fn run(&mut self, back: bool, from: &[T], to: &mut [T]) -> Result<(), Error> {
        let plans = if back { &mut self.back } else { &mut self.there };
        plans.iter_mut().try_for_each(|plan| plan.execute(&mut self.comm, from, to))
    }
}

impl<T: Pod> Redistribution<T> {
    /// Moves the elements of `before` to their places in `after`. Collective among the ranks that
    /// may exchange elements.
    ///
    /// The buffers have the [lengths](Distribution::local_len) of this rank's parts. Elements
    /// between [padded](Distribution::padded) rows do not change.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) if a buffer has another
    /// length; otherwise see [`Communicator`].
    #[track_caller]
    pub fn execute(&mut self, before: &[T], after: &mut [T]) -> Result<(), Error> {
        self.check([before.len(), after.len()], "execute")?;
        self.plans.run(false, before, after)
    }

    /// Moves the elements of `after` back to their places in `before`. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_back(&mut self, after: &[T], before: &mut [T]) -> Result<(), Error> {
        self.check([before.len(), after.len()], "execute_back")?;
        self.plans.run(true, after, before)
    }

    /// Moves the elements within one buffer, which is at least as long as the longer part: each
    /// part is at its beginning. Collective, as [`execute`](Self::execute).
    ///
    /// Each call copies what it moves. The first one allocates memory for that.
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_in_place(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.moved_in_place(buffer, false)
    }

    /// Moves the elements back within one buffer, as [`execute_in_place`](Self::execute_in_place).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_back_in_place(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.moved_in_place(buffer, true)
    }

    #[track_caller]
    fn moved_in_place(&mut self, buffer: &mut [T], back: bool) -> Result<(), Error> {
        let longer = self.lengths[0].max(self.lengths[1]);
        let call = if back { "execute_back_in_place" } else { "execute_in_place" };
        let length = BufferLength::AtLeast(longer);
        length.check("buffer", buffer.len()).map_err(self.plans.comm.context.error_of(call))?;
        let Self { plans, copy, lengths: [before, after], .. } = self;
        let (from, to) = if back { (*after, *before) } else { (*before, *after) };
        copy.clear();
        copy.reserve(longer);
        copy.extend_from_slice(&buffer[..from]);
        plans.run(back, copy, &mut buffer[..to])
    }

    #[track_caller]
    fn check(&self, found: [usize; 2], call: &'static str) -> Result<(), Error> {
        check_lengths(found, self.lengths).map_err(self.plans.comm.context.error_of(call))
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

    /// Describes the exchange in text: element type, algorithm, network.
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

impl<T> fmt::Debug for Redistribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plans: RedistributionPlans { comm, .. }, distributions: [before, after], .. } = self;
        f.debug_struct("Redistribution")
            .field("before", before)
            .field("after", after)
            .field("comm", comm)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Chooses the process grid on which it is cheapest to make some axes of an array whole in turn, by
    /// the prices of this communicator's machine: see [`GridChoice::new`]. Local, and the same on all
    /// ranks.
    ///
    /// ```
    /// use necklace::array::Distribution;
    /// necklace::local::run(4, |comm| {
    ///     let shape = [10, 9, 14];
    ///     let grid = comm.grid_for(&shape, &[0, 1, 2], size_of::<f64>())?.grid;
    ///     let last_axis_whole = Distribution::pencils(&shape, 2, &grid)?;
    ///     assert_eq!(last_axis_whole.ranks(), 4);
    ///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    /// })?
    /// .into_iter()
    /// .for_each(|rank| rank.unwrap());
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Array`](crate::error::ArgumentError::Array) with the errors of
    /// [`GridChoice::new`].
    #[track_caller]
    pub fn grid_for(&self, shape: &[usize], axes: &[usize], element_bytes: usize) -> Result<GridChoice, Error> {
        let choose = || -> Result<GridChoice, CallError> {
            let problem = self.problem(Collective::Alltoall)?;
            Ok(GridChoice::new(&problem, shape, axes, &Terms::new(element_bytes as u64, &self.machine))?)
        };
        choose().map_err(self.context.error_of("grid_for"))
    }

    /// Takes an array from one distribution to another of the same shape. Collective.
    ///
    /// Plans the redistribution, executes it, and forgets the plan, as
    /// [`redistribute_init`](Self::redistribute_init) and [`execute`](Redistribution::execute) do. To
    /// repeat it, plan it once.
    ///
    /// ```
    /// use necklace::array::Distribution;
    ///
    /// let columns = necklace::local::run(3, |mut comm| {
    ///     let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[6, 5], axis, 3).unwrap());
    ///     let mine: Vec<usize> = rows.elements(comm.rank()).map(|(_, at)| 10 * at[0] + at[1]).collect();
    ///     let mut received = vec![0; columns.local_len(comm.rank())];
    ///     comm.redistribute(&rows, &mine, &columns, &mut received)?;
    ///     Ok::<_, necklace::Error>(received)
    /// })?;
    /// assert_eq!(columns[2].as_ref().unwrap(), &[4, 14, 24, 34, 44, 54]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`redistribute_init`](Self::redistribute_init) and of
    /// [`execute`](Redistribution::execute).
    #[track_caller]
    pub fn redistribute<T: Pod>(
        &mut self,
        before: &Distribution,
        from: &[T],
        after: &Distribution,
        into: &mut [T],
    ) -> Result<(), Error> {
        let once = Some([from.len(), into.len()]);
        let planned = self.redistribution(RedistributionRequest {
            once,
            ..RedistributionRequest::new(before, after, Portions::WHOLE)
        });
        planned.map_err(self.context.error_of("redistribute"))?.run(false, from, into)
    }

    /// Plans to take an array of `T` from one distribution to another of the same shape. Collective.
    ///
    /// The distributions are over the ranks of this communicator. They may differ in everything
    /// but the shape and the elements at each index: in the grid, the splits, the order of memory (a
    /// transpose is a redistribution), the padding of rows.
    ///
    /// If both are over the same grid, only ranks that differ along the axes whose splits change
    /// exchange elements, over their part of the network. Elements are sent from their place and
    /// received into theirs; only a transport may gather short pieces. If possible, keep the axis
    /// that is fastest in memory: then whole rows are moved, otherwise single elements.
    ///
    /// Uses the algorithm that [`alltoallw_init`](Self::alltoallw_init) would use. Takes time and
    /// memory in proportion to the ranks that exchange elements and to the runs that this rank sends
    /// and receives. A run is pieces of equal length at equal distances; if whole rows are moved,
    /// there are at most as many runs as rows. If an axis is dealt in blocks of different lengths
    /// before and after, planning also takes time for each block of the axis until both deals start
    /// again together. The ranks compare the distributions before, and whether all have planned
    /// after, so planning has the cost of two [`barrier`](Self::barrier)s as well.
    ///
    /// A block has at most 2^20 pieces, and a plan at most 2^24 runs, sent and received together. If
    /// there are more, redistribute in two steps, by way of a distribution in which other axes are
    /// whole.
    ///
    /// ```
    /// use necklace::array::Distribution;
    ///
    /// // Three ranks have rows of an array of 6 x 5 elements, and get columns of it.
    /// let columns = necklace::local::run(3, |mut comm| {
    ///     let rows = Distribution::slabs(&[6, 5], 0, 3).unwrap();
    ///     let columns = Distribution::slabs(&[6, 5], 1, 3).unwrap();
    ///     let mine: Vec<usize> = rows.elements(comm.rank()).map(|(_, at)| 10 * at[0] + at[1]).collect();
    ///     let mut received = vec![0; columns.local_len(comm.rank())];
    ///     let mut plan = comm.redistribute_init(&rows, &columns)?;
    ///     plan.execute(&mine, &mut received)?;
    ///     Ok::<_, necklace::Error>(received)
    /// })?;
    /// assert_eq!(columns[2].as_ref().unwrap(), &[4, 14, 24, 34, 44, 54]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Array`](crate::error::ArgumentError::Array) with [`ArrayError::Ranks`]
    /// unless both are over as many ranks as this communicator has, with [`ArrayError::Shapes`]
    /// unless the shapes agree, with [`ArrayError::Pieces`] if a block has too many pieces;
    /// [`PlanError::Runs`](crate::plan::PlanError::Runs) if there are too many runs; otherwise those of
    /// [`alltoallw_init`](Self::alltoallw_init). [`Error::Failed`] if ranks pass different
    /// distributions, as [`compare`](Self::compare) says, or if only another rank cannot plan.
    #[track_caller]
    pub fn redistribute_init<T: Pod>(
        &mut self,
        before: &Distribution,
        after: &Distribution,
    ) -> Result<Redistribution<T>, Error> {
        let planned = self.redistribution(RedistributionRequest::new(before, after, Portions::WHOLE));
        let plans = planned.map_err(self.context.error_of("redistribute_init"))?;
        let lengths = [before, after].map(|distribution| distribution.local_len(self.rank()));
        let distributions = [before.clone(), after.clone()];
        Ok(Redistribution { plans, distributions, lengths, copy: Vec::new() })
    }

    /// Plans a redistribution, on which the ranks agree. Collective.
    pub(super) fn redistribution<T: Pod>(
        &mut self,
        wanted: RedistributionRequest<'_>,
    ) -> Result<RedistributionPlans<T>, CallError> {
        let RedistributionRequest { before, after, portions, once } = wanted;
        let ranks = self.size();
        let wrong_size = [before, after].map(Distribution::ranks).into_iter().find(|&found| found != ranks);
        let checked = match wrong_size {
            Some(found) => Err(ArrayError::Ranks { found, ranks }),
            None => Exchange::check(before, after, portions),
        };
        if let Some(found) = once.filter(|_| checked.is_ok()) {
            // Only this rank finds a wrong length. It may repeat its call if the ranks have not planned yet.
            check_lengths(found, [before, after].map(|distribution| distribution.local_len(self.rank())))?;
        }
        let Portions { axis, count } = portions;
        let divided = if count > 1 { format!(" in {count} portions along axis {axis}") } else { String::new() };
        let Element { name, size: bytes, .. } = Element::of::<T>();
        let kind = if once.is_some() { "one-off " } else { "" };
        let purpose =
            format!("{kind}redistribution of {before} to {after}{divided}, of {bytes}-byte elements ({name})");
        self.barrier_for(self.local_parts.said_in(purpose.clone().into()))?;
        let planned = checked.map_err(CallError::from).and_then(|()| self.planned(wanted));
        // The ranks have different numbers of pieces and runs. One that cannot plan tells the others; if
        // none can, they agree.
        let outcome = if planned.is_ok() { "planned" } else { "refused" };
        let told = self.barrier_for(format!("{outcome} {purpose}").into());
        planned.and_then(|planned| told.map(|()| planned))
    }

    /// Makes the plans of a redistribution on which the ranks agree. Fails on this rank alone.
    fn planned<T: Pod>(&mut self, wanted: RedistributionRequest<'_>) -> Result<RedistributionPlans<T>, CallError> {
        let RedistributionRequest { before, after, portions, once } = wanted;
        let rank = self.rank();
        let ranks = together(before, after, rank);
        let context = self.next_context(ranks[0] as u64);
        let mut comm = self.part_with(context, &ranks)?;
        comm.using = self.using.clone();
        let count = portions.count;
        let plan = |comm: &mut Self| -> Result<_, CallError> {
            let [mut there, mut back] = [Vec::new(), Vec::new()];
            let exchanges = Exchange::portions(before, after, (rank, &ranks), portions)?;
            for (portion, Exchange { from, into }) in exchanges.iter().enumerate() {
                let label = if count > 1 { format!(", portion {portion} of {count}") } else { String::new() };
                there.push(comm.strided_exchange_init(from, into)?.labelled(&label));
                if once.is_none() {
                    back.push(comm.strided_exchange_init(into, from)?.labelled(&format!("{label}, back")));
                }
            }
            Ok([there, back])
        };
        // Others may wait for this rank in the plan of an algorithm that is not direct.
        let plans = plan(&mut comm).inspect_err(|error| comm.abort(&format!("rank {rank} cannot plan: {error}")))?;
        comm.using = None;
        let [there, back] = plans;
        Ok(RedistributionPlans { comm, there, back })
    }
}

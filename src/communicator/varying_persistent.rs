//! Persistent plans of collectives with blocks of different lengths.

use bytemuck::Pod;

use super::varying::reduce_scatter;
use super::varying_key::{GivenBlocks, Listed, VaryingForm};
use super::varying_plan::{ALLTOALLV, ALLTOALLW};
use super::{Communicator, Counts, Persistent};
use crate::collective::Collective;
use crate::error::{CallError, Error};
use crate::op::{OnBytes, Op};
use crate::plan::Strided;

impl Communicator {
    /// Plans an [`alltoallv`](Self::alltoallv) of these counts.
    ///
    /// Uses the algorithm chosen for `alltoallv`. Without a choice, uses `native` if the backend
    /// [offers](crate::transport::native) it, otherwise `direct`. Collective, unless the algorithm
    /// is `direct`.
    ///
    /// # Errors
    ///
    /// Those of [`alltoallv`](Self::alltoallv).
    #[track_caller]
    pub fn alltoallv_init<'a, T: Pod>(
        &mut self,
        send_counts: impl Into<Counts<'a>>,
        receive_counts: impl Into<Counts<'a>>,
    ) -> Result<Persistent<T>, Error> {
        let counts = (send_counts.into(), receive_counts.into());
        self.exchange_counted_init(&counts.0, &counts.1).map_err(self.context.error_of("alltoallv_init"))
    }

    /// Plans an [`alltoallw`](Self::alltoallw) of these blocks.
    ///
    /// Uses the algorithm that [`alltoallv_init`](Self::alltoallv_init) would use. Collective,
    /// unless that is `direct`. The plan executes on all buffers that are long enough for the
    /// blocks. So one plan serves all bands of a matrix: pass it the slice that begins with the
    /// band.
    ///
    /// # Errors
    ///
    /// Those of [`alltoallw`](Self::alltoallw).
    #[track_caller]
    pub fn alltoallw_init<T: Pod>(
        &mut self,
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<Persistent<T>, Error> {
        self.strided_exchange_init(from, into).map_err(self.context.error_of("alltoallw_init"))
    }

    pub(super) fn strided_exchange_init<T: Pod>(
        &mut self,
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<Persistent<T>, CallError> {
        let (from, into) = (Listed(from), Listed(into));
        let form =
            VaryingForm::exchange::<T>(ALLTOALLW, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into), (None, None));
        self.varying_init(form, None)
    }

    /// Plans a [`gatherv`](Self::gatherv) of `elements` elements of this rank. The root gives the
    /// lengths and positions of all blocks; other ranks may pass empty counts.
    ///
    /// Uses the algorithm chosen for `gatherv`. Without a choice, uses `native` if the backend
    /// [offers](crate::transport::native) it, otherwise `direct`. Collective, unless the algorithm
    /// is `direct`.
    ///
    /// # Errors
    ///
    /// Those of [`gatherv`](Self::gatherv).
    #[track_caller]
    pub fn gatherv_init<'a, T: Pod>(
        &mut self,
        elements: usize,
        counts: impl Into<Counts<'a>>,
        root: usize,
    ) -> Result<Persistent<T>, Error> {
        let counts = counts.into();
        let planned = self.blocks_of_root(root, &counts).and_then(|(root, into)| {
            let collective = Collective::Gather { root };
            let form = VaryingForm::of::<T>("gatherv", collective, GivenBlocks::One(0, elements), into, (None, None));
            self.varying_init(form, None)
        });
        planned.map_err(self.context.error_of("gatherv_init"))
    }

    /// Plans a [`scatterv`](Self::scatterv) of `elements` elements for this rank. The root gives
    /// the lengths and positions of all blocks; other ranks may pass empty counts.
    ///
    /// Chooses the algorithm as [`gatherv_init`](Self::gatherv_init), for `scatterv`. Collective,
    /// unless that is `direct`.
    ///
    /// # Errors
    ///
    /// Those of [`gatherv`](Self::gatherv).
    #[track_caller]
    pub fn scatterv_init<'a, T: Pod>(
        &mut self,
        counts: impl Into<Counts<'a>>,
        elements: usize,
        root: usize,
    ) -> Result<Persistent<T>, Error> {
        let counts = counts.into();
        let planned = self.blocks_of_root(root, &counts).and_then(|(root, from)| {
            let collective = Collective::Scatter { root };
            let form = VaryingForm::of::<T>("scatterv", collective, from, GivenBlocks::One(0, elements), (None, None));
            self.varying_init(form, None)
        });
        planned.map_err(self.context.error_of("scatterv_init"))
    }

    /// Plans an [`allgatherv`](Self::allgatherv) of these counts. Local.
    ///
    /// # Errors
    ///
    /// Those of [`allgatherv`](Self::allgatherv).
    #[track_caller]
    pub fn allgatherv_init<'a, T: Pod>(&mut self, counts: impl Into<Counts<'a>>) -> Result<Persistent<T>, Error> {
        let counts = counts.into();
        let from = GivenBlocks::One(0, counts.lengths().get(self.rank()).copied().unwrap_or(0));
        let planned = self.varying_init(VaryingForm::allgather::<T>(from, &counts, (None, None)), None);
        planned.map_err(self.context.error_of("allgatherv_init"))
    }

    /// Plans a [`reduce_scatterv`](Self::reduce_scatterv) of these counts. Local.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_scatterv`](Self::reduce_scatterv).
    #[track_caller]
    pub fn reduce_scatterv_init<T: Pod>(
        &mut self,
        counts: &[usize],
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, Error> {
        let into = GivenBlocks::One(0, counts.get(self.rank()).copied().unwrap_or(0));
        let packed = Counts::packed(counts);
        let form = reduce_scatter::<T>(&op, &packed, into, (None, None)).map_err(CallError::from);
        let planned = form.and_then(|form| self.varying_init(form, Some(Box::new(OnBytes::new(op)))));
        planned.map_err(self.context.error_of("reduce_scatterv_init"))
    }

    fn exchange_counted_init<T: Pod>(
        &mut self,
        from: &Counts<'_>,
        into: &Counts<'_>,
    ) -> Result<Persistent<T>, CallError> {
        let form =
            VaryingForm::exchange::<T>(ALLTOALLV, GivenBlocks::Counted(from), GivenBlocks::Counted(into), (None, None));
        self.varying_init(form, None)
    }
}

//! Short forms of collectives: of one value, and with results in vectors.

use bytemuck::Pod;

use super::Communicator;
use super::collectives::key;
use super::lengths::total;
use super::planned_call::PlanKey;
use crate::collective::Collective;
use crate::error::{ArgumentError, Error};
use crate::ids::Rank;
use crate::op::Op;

/// Blocks one after the other, and their lengths.
type Concatenated<T> = (Vec<T>, Vec<usize>);

impl Communicator {
    /// Combines one value of each rank, as [`allreduce`](Self::allreduce), and returns the result.
    ///
    /// ```
    /// use necklace::op::Max;
    /// let greatest = necklace::local::run(3, |mut comm| comm.allreduce_one(comm.rank(), Max).unwrap());
    /// assert_eq!(greatest.unwrap(), [2; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn allreduce_one<T: Pod>(&mut self, value: T, op: impl Op<T>) -> Result<T, Error> {
        let mut all = [value];
        self.allreduce(&[value], &mut all, op).map_err(self.context.error_of("allreduce_one"))?;
        Ok(all[0])
    }

    /// Combines one value of each rank, as [`reduce`](Self::reduce), and returns the result at the
    /// root, `None` elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_one<T: Pod>(&mut self, value: T, root: usize, op: impl Op<T>) -> Result<Option<T>, Error> {
        let (mut all, is_root) = ([value], self.rank() == root);
        self.reduce(&[value], is_root.then_some(&mut all), root, op).map_err(self.context.error_of("reduce_one"))?;
        Ok(is_root.then_some(all[0]))
    }

    /// Combines the values of ranks 0 to i for rank i, as [`scan`](Self::scan), and returns the
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`scan`](Self::scan).
    #[track_caller]
    pub fn scan_one<T: Pod>(&mut self, value: T, op: impl Op<T>) -> Result<T, Error> {
        let mut all = [value];
        self.scan(&[value], &mut all, op).map_err(self.context.error_of("scan_one"))?;
        Ok(all[0])
    }

    /// Combines the values of the ranks before i for rank i, as [`exscan`](Self::exscan), and
    /// returns the result. `None` at rank 0.
    ///
    /// ```
    /// use necklace::op::Sum;
    /// // The start of each rank's elements, if they lie one after the other.
    /// let begins = necklace::local::run(3, |mut comm| {
    ///     let count = 10 + comm.rank();
    ///     comm.exscan_one(count, Sum).unwrap().unwrap_or(0)
    /// });
    /// assert_eq!(begins.unwrap(), [0, 10, 21]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`exscan`](Self::exscan).
    #[track_caller]
    pub fn exscan_one<T: Pod>(&mut self, value: T, op: impl Op<T>) -> Result<Option<T>, Error> {
        let mut all = [value];
        self.exscan(&[value], &mut all, op).map_err(self.context.error_of("exscan_one"))?;
        Ok((self.rank() > 0).then_some(all[0]))
    }

    /// Returns the value of the root on every rank, as [`broadcast`](Self::broadcast). Other ranks
    /// may pass `None`; theirs is ignored.
    ///
    /// ```
    /// let values = necklace::local::run(3, |mut comm| {
    ///     let seed = (comm.rank() == 0).then_some(42);
    ///     comm.broadcast_one(seed, 0).unwrap()
    /// });
    /// assert_eq!(values.unwrap(), [42; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::RootBuffer`] if the root passes `None`; otherwise those of
    /// [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn broadcast_one<T: Pod>(&mut self, value: Option<T>, root: usize) -> Result<T, Error> {
        let own = self.at_root(root, value.map(Some), "value").map_err(self.context.error_of("broadcast_one"))?;
        let mut value = [own.unwrap_or_else(T::zeroed)];
        self.broadcast(&mut value, root).map_err(self.context.error_of("broadcast_one"))?;
        Ok(value[0])
    }

    /// Returns the elements of the root on every rank, as [`broadcast`](Self::broadcast). The other
    /// ranks learn how many there are: this makes two calls.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_one`](Self::broadcast_one); [`ArgumentError::Memory`] if there is no
    /// memory for the result.
    #[track_caller]
    pub fn broadcast_vec<T: Pod>(&mut self, elements: Option<&[T]>, root: usize) -> Result<Vec<T>, Error> {
        let own = self.at_root(root, elements, "send buffer").map_err(self.context.error_of("broadcast_vec"))?;
        let mut length = [own.len() as u64];
        let key = key::<u64>(Collective::Broadcast { root: Rank::new(root) });
        let key = PlanKey { purpose: "length of broadcast_vec".into(), in_place: true, ..key };
        self.regular(key, &[], &mut length, None).map_err(self.context.error_of("broadcast_vec"))?;
        let mut all = zeroed(length[0]).map_err(self.context.error_of("broadcast_vec"))?;
        if self.rank() == root {
            all.copy_from_slice(own);
        }
        self.broadcast(&mut all, root).map_err(self.context.error_of("broadcast_vec"))?;
        Ok(all)
    }

    /// Collects one value of each rank on every rank, as [`allgather`](Self::allgather).
    ///
    /// # Errors
    ///
    /// Those of [`allgather`](Self::allgather).
    #[track_caller]
    pub fn allgather_one<T: Pod>(&mut self, value: T) -> Result<Vec<T>, Error> {
        self.allgather_vec(&[value]).map_err(self.context.error_of("allgather_one"))
    }

    /// Collects the elements of every rank on every rank, as [`allgather`](Self::allgather), and
    /// returns them in rank order. All ranks pass the same number.
    ///
    /// # Errors
    ///
    /// Those of [`allgather`](Self::allgather); [`ArgumentError::Memory`] if there is no memory for
    /// the result.
    #[track_caller]
    pub fn allgather_vec<T: Pod>(&mut self, send: &[T]) -> Result<Vec<T>, Error> {
        let mut all = vector(send.len(), self.size()).map_err(self.context.error_of("allgather_vec"))?;
        self.allgather(send, &mut all).map_err(self.context.error_of("allgather_vec"))?;
        Ok(all)
    }

    /// Collects the elements of every rank on every rank, as [`allgatherv`](Self::allgatherv).
    /// Returns them in rank order, and the number of each rank's.
    ///
    /// Ranks may pass different numbers of elements, which they exchange first: this makes two
    /// calls.
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let mine = vec![comm.rank(); comm.rank() + 1];
    ///     comm.allgatherv_vec(&mine).unwrap()
    /// });
    /// assert_eq!(all.unwrap()[0], (vec![0, 1, 1, 2, 2, 2], vec![1, 2, 3]));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`allgather_vec`](Self::allgather_vec).
    #[track_caller]
    pub fn allgatherv_vec<T: Pod>(&mut self, send: &[T]) -> Result<Concatenated<T>, Error> {
        let mut counts = vec![0; self.size()];
        self.allgather_for(&[send.len()], &mut counts, "counts of allgatherv_vec".into())
            .map_err(self.context.error_of("allgatherv_vec"))?;
        let mut all = room(&counts).map_err(self.context.error_of("allgatherv_vec"))?;
        self.allgatherv(send, &mut all, &counts).map_err(self.context.error_of("allgatherv_vec"))?;
        Ok((all, counts))
    }

    /// Collects one value of each rank at the root, as [`gather`](Self::gather). `None` elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    #[track_caller]
    pub fn gather_one<T: Pod>(&mut self, value: T, root: usize) -> Result<Option<Vec<T>>, Error> {
        self.gather_vec(&[value], root).map_err(self.context.error_of("gather_one"))
    }

    /// Collects the elements of every rank at the root, as [`gather`](Self::gather), and returns
    /// them there, in rank order. `None` elsewhere. All ranks pass the same number.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather); [`ArgumentError::Memory`] if there is no memory for the
    /// result.
    #[track_caller]
    pub fn gather_vec<T: Pod>(&mut self, send: &[T], root: usize) -> Result<Option<Vec<T>>, Error> {
        if self.rank() != root {
            return self.gather(send, None, root).map_err(self.context.error_of("gather_vec")).map(|()| None);
        }
        let mut all = vector(send.len(), self.size()).map_err(self.context.error_of("gather_vec"))?;
        self.gather(send, Some(&mut all), root).map_err(self.context.error_of("gather_vec"))?;
        Ok(Some(all))
    }

    /// Collects the elements of every rank at the root, as [`gatherv`](Self::gatherv). Returns them
    /// there, in rank order, with the number of each rank's. `None` elsewhere.
    ///
    /// Ranks may pass different numbers of elements, which the root collects first: this makes two
    /// calls.
    ///
    /// # Errors
    ///
    /// Those of [`gather_vec`](Self::gather_vec).
    #[track_caller]
    pub fn gatherv_vec<T: Pod>(&mut self, send: &[T], root: usize) -> Result<Option<Concatenated<T>>, Error> {
        let Some(counts) = self.gather_one(send.len(), root).map_err(self.context.error_of("gatherv_vec"))? else {
            return self.gatherv(send, None, &[], root).map_err(self.context.error_of("gatherv_vec")).map(|()| None);
        };
        let mut all = room(&counts).map_err(self.context.error_of("gatherv_vec"))?;
        self.gatherv(send, Some(&mut all), &counts, root).map_err(self.context.error_of("gatherv_vec"))?;
        Ok(Some((all, counts)))
    }

    /// Distributes one value to each rank from the root, as [`scatter`](Self::scatter).
    ///
    /// # Errors
    ///
    /// Those of [`scatter`](Self::scatter).
    #[track_caller]
    pub fn scatter_one<T: Pod>(&mut self, values: Option<&[T]>, root: usize) -> Result<T, Error> {
        let mut own = [T::zeroed()];
        self.scatter(values, &mut own, root).map_err(self.context.error_of("scatter_one"))?;
        Ok(own[0])
    }

    /// Distributes the blocks of the root, as [`scatter`](Self::scatter), and returns this rank's.
    /// The other ranks learn how long they are: this makes two calls.
    ///
    /// # Errors
    ///
    /// Those of [`scatter`](Self::scatter); [`ArgumentError::Memory`] if there is no memory for the
    /// result.
    #[track_caller]
    pub fn scatter_vec<T: Pod>(&mut self, send: Option<&[T]>, root: usize) -> Result<Vec<T>, Error> {
        let ranks = self.size();
        let own = self.at_root(root, send, "send buffer").and_then(|own| match own.len().is_multiple_of(ranks) {
            true => Ok(own),
            false => Err(ArgumentError::Length {
                what: "send buffer",
                expected: format!("a multiple of {ranks} (a block for each rank)"),
                found: own.len(),
            }),
        });
        let own = own.map_err(self.context.error_of("scatter_vec"))?;
        let length = self
            .broadcast_one((self.rank() == root).then_some((own.len() / ranks) as u64), root)
            .map_err(self.context.error_of("scatter_vec"))?;
        let mut block = zeroed(length).map_err(self.context.error_of("scatter_vec"))?;
        self.scatter(send, &mut block, root).map_err(self.context.error_of("scatter_vec"))?;
        Ok(block)
    }

    /// Distributes blocks of any lengths from the root, as [`scatterv`](Self::scatterv), and
    /// returns this rank's.
    ///
    /// The root passes its elements and how many of them go to each rank: the first `counts[0]` to
    /// rank 0, and so on. The other ranks pass `None`, and learn how long their blocks are: this
    /// makes two calls.
    ///
    /// ```
    /// let parts = necklace::local::run(3, |mut comm| {
    ///     let all = [0, 10, 11, 20, 21, 22];
    ///     let send = (comm.rank() == 0).then_some((&all[..], &[1, 2, 3][..]));
    ///     comm.scatterv_vec(send, 0).unwrap()
    /// });
    /// assert_eq!(parts.unwrap(), [vec![0], vec![10, 11], vec![20, 21, 22]]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`scatterv`](Self::scatterv); [`ArgumentError::Memory`] if there is no memory for
    /// the result.
    #[track_caller]
    pub fn scatterv_vec<T: Pod>(&mut self, send: Option<(&[T], &[usize])>, root: usize) -> Result<Vec<T>, Error> {
        let (all, counts) = self.at_root(root, send, "send buffer").map_err(self.context.error_of("scatterv_vec"))?;
        if self.rank() == root {
            self.check_packed(all.len(), counts, "list of counts").map_err(self.context.error_of("scatterv_vec"))?;
        }
        let own = self.scatter_one(send.map(|_| counts), root).map_err(self.context.error_of("scatterv_vec"))?;
        let mut block = vector(own, 1).map_err(self.context.error_of("scatterv_vec"))?;
        self.scatterv(send.map(|_| all), counts, &mut block, root).map_err(self.context.error_of("scatterv_vec"))?;
        Ok(block)
    }

    /// Sends a block to every rank, as [`alltoall`](Self::alltoall), and returns the blocks from
    /// all ranks.
    ///
    /// # Errors
    ///
    /// Those of [`alltoall`](Self::alltoall); [`ArgumentError::Memory`] if there is no memory for
    /// the result.
    #[track_caller]
    pub fn alltoall_vec<T: Pod>(&mut self, send: &[T]) -> Result<Vec<T>, Error> {
        let mut all = vector(send.len(), 1).map_err(self.context.error_of("alltoall_vec"))?;
        self.alltoall(send, &mut all).map_err(self.context.error_of("alltoall_vec"))?;
        Ok(all)
    }

    /// Sends blocks of any lengths to all ranks, as [`alltoallv`](Self::alltoallv). Returns the
    /// blocks from all ranks, in rank order, and their lengths.
    ///
    /// The first `counts[0]` elements of `send` go to rank 0, and so on. The ranks exchange the
    /// counts first: this makes two calls.
    ///
    /// ```
    /// // Even numbers go to rank 0, odd ones to rank 1.
    /// let sorted = necklace::local::run(2, |mut comm| {
    ///     let numbers = if comm.rank() == 0 { [2, 4, 5] } else { [6, 7, 9] };
    ///     let even = numbers.iter().filter(|number| **number % 2 == 0).count();
    ///     comm.alltoallv_vec(&numbers, &[even, 3 - even]).unwrap()
    /// });
    /// assert_eq!(sorted.unwrap(), [(vec![2, 4, 6], vec![2, 1]), (vec![5, 7, 9], vec![1, 2])]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`alltoallv`](Self::alltoallv); [`ArgumentError::Memory`] if there is no memory for
    /// the result.
    #[track_caller]
    pub fn alltoallv_vec<T: Pod>(&mut self, send: &[T], counts: &[usize]) -> Result<Concatenated<T>, Error> {
        self.check_packed(send.len(), counts, "list of send counts").map_err(self.context.error_of("alltoallv_vec"))?;
        let mut from = vec![0; self.size()];
        self.alltoall_for(counts, &mut from, "counts of alltoallv_vec".into())
            .map_err(self.context.error_of("alltoallv_vec"))?;
        let mut all = room(&from).map_err(self.context.error_of("alltoallv_vec"))?;
        self.alltoallv(send, counts, &mut all, &from).map_err(self.context.error_of("alltoallv_vec"))?;
        Ok((all, from))
    }

    /// Combines the elements of all ranks, as [`reduce`](Self::reduce), and returns the result at
    /// the root. `None` elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce); [`ArgumentError::Memory`] if there is no memory for the
    /// result.
    #[track_caller]
    pub fn reduce_vec<T: Pod>(&mut self, send: &[T], root: usize, op: impl Op<T>) -> Result<Option<Vec<T>>, Error> {
        if self.rank() != root {
            return self.reduce(send, None, root, op).map_err(self.context.error_of("reduce_vec")).map(|()| None);
        }
        let mut all = vector(send.len(), 1).map_err(self.context.error_of("reduce_vec"))?;
        self.reduce(send, Some(&mut all), root, op).map_err(self.context.error_of("reduce_vec"))?;
        Ok(Some(all))
    }

    /// Combines the elements of all ranks, as [`allreduce`](Self::allreduce), and returns the
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce`](Self::allreduce); [`ArgumentError::Memory`] if there is no memory for
    /// the result.
    #[track_caller]
    pub fn allreduce_vec<T: Pod>(&mut self, send: &[T], op: impl Op<T>) -> Result<Vec<T>, Error> {
        let mut all = vector(send.len(), 1).map_err(self.context.error_of("allreduce_vec"))?;
        self.allreduce(send, &mut all, op).map_err(self.context.error_of("allreduce_vec"))?;
        Ok(all)
    }

    /// Combines block i of every rank's elements for rank i, as
    /// [`reduce_scatter`](Self::reduce_scatter), and returns the result.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_scatter`](Self::reduce_scatter); [`ArgumentError::Memory`] if there is no
    /// memory for the result.
    #[track_caller]
    pub fn reduce_scatter_vec<T: Pod>(&mut self, send: &[T], op: impl Op<T>) -> Result<Vec<T>, Error> {
        let own = send.len() / self.size();
        let mut block = vector(own, 1).map_err(self.context.error_of("reduce_scatter_vec"))?;
        self.reduce_scatter(send, &mut block, op).map_err(self.context.error_of("reduce_scatter_vec"))?;
        Ok(block)
    }

    /// Combines block i of every rank's elements, of `counts[i]` elements, for rank i, as
    /// [`reduce_scatterv`](Self::reduce_scatterv), and returns the result.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_scatterv`](Self::reduce_scatterv); [`ArgumentError::Memory`] if there is
    /// no memory for the result.
    #[track_caller]
    pub fn reduce_scatterv_vec<T: Pod>(
        &mut self,
        send: &[T],
        counts: &[usize],
        op: impl Op<T>,
    ) -> Result<Vec<T>, Error> {
        self.check_packed(send.len(), counts, "list of counts")
            .map_err(self.context.error_of("reduce_scatterv_vec"))?;
        let own = counts[self.rank()];
        let mut block = vector(own, 1).map_err(self.context.error_of("reduce_scatterv_vec"))?;
        self.reduce_scatterv(send, counts, &mut block, op).map_err(self.context.error_of("reduce_scatterv_vec"))?;
        Ok(block)
    }

    /// Combines the elements of ranks 0 to i for rank i, as [`scan`](Self::scan), and returns the
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`scan`](Self::scan); [`ArgumentError::Memory`] if there is no memory for the
    /// result.
    #[track_caller]
    pub fn scan_vec<T: Pod>(&mut self, send: &[T], op: impl Op<T>) -> Result<Vec<T>, Error> {
        let mut all = vector(send.len(), 1).map_err(self.context.error_of("scan_vec"))?;
        self.scan(send, &mut all, op).map_err(self.context.error_of("scan_vec"))?;
        Ok(all)
    }

    /// Combines the elements of the ranks before i for rank i, as [`exscan`](Self::exscan), and
    /// returns the result. `None` at rank 0.
    ///
    /// # Errors
    ///
    /// Those of [`exscan`](Self::exscan); [`ArgumentError::Memory`] if there is no memory for the
    /// result.
    #[track_caller]
    pub fn exscan_vec<T: Pod>(&mut self, send: &[T], op: impl Op<T>) -> Result<Option<Vec<T>>, Error> {
        let mut all = vector(send.len(), 1).map_err(self.context.error_of("exscan_vec"))?;
        self.exscan(send, &mut all, op).map_err(self.context.error_of("exscan_vec"))?;
        Ok((self.rank() > 0).then_some(all))
    }

    /// Fails unless there is a count for each rank, and as many elements as they say.
    fn check_packed(&self, elements: usize, counts: &[usize], list: &'static str) -> Result<(), ArgumentError> {
        super::lengths::check(list, counts.len(), self.size())?;
        let all = counts.iter().map(|&count| count as u128).sum::<u128>();
        if all == elements as u128 {
            return Ok(());
        }
        let expected = format!("{all}, the sum of the counts");
        Err(ArgumentError::Length { what: "send buffer", expected, found: elements })
    }
}

/// Returns a vector of `blocks` blocks of `elements` elements.
fn vector<T: Pod>(elements: usize, blocks: usize) -> Result<Vec<T>, ArgumentError> {
    zeroed(total(elements, blocks, size_of::<T>())? as u64)
}

/// Returns room for blocks of these lengths.
fn room<T: Pod>(counts: &[usize]) -> Result<Vec<T>, ArgumentError> {
    let all = counts.iter().try_fold(0_u64, |all, &count| all.checked_add(count as u64));
    zeroed(all.unwrap_or(u64::MAX))
}

/// Returns a vector of elements whose bytes are 0.
fn zeroed<T: Pod>(elements: u64) -> Result<Vec<T>, ArgumentError> {
    let bytes = elements.saturating_mul(size_of::<T>() as u64);
    let no_memory = || ArgumentError::Memory { call: "the result".into(), bytes };
    let elements = usize::try_from(elements).map_err(|_| no_memory())?;
    let mut all = Vec::new();
    all.try_reserve_exact(elements).map_err(|_| no_memory())?;
    all.resize(elements, T::zeroed());
    Ok(all)
}

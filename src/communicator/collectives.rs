//! The collectives of regular counts.

use std::alloc::Layout;
use std::any::type_name;
use std::borrow::Cow;

use bytemuck::Pod;

use super::Communicator;
use super::element::Element;
use super::lengths::{check, total};
use super::prepared::Key;
use crate::collective::Collective;
use crate::error::{BuildError, Error};
use crate::ids::{MAX_NODES, Rank};
use crate::op::{OnBytes, Op, by};
use crate::plan::Reduction;

impl Communicator {
    /// Sends a block to every rank and receives one from every rank.
    ///
    /// Block j of `send` goes to rank j; block i of `receive` comes from rank i. Blocks have equal
    /// lengths and lie one after the other, in rank order.
    ///
    /// ```
    /// let sums = necklace::local::run(4, |mut comm| {
    ///     let send: Vec<usize> = (0..4).map(|to| 10 * comm.rank() + to).collect();
    ///     let mut receive = vec![0; 4];
    ///     comm.alltoall(&send, &mut receive).unwrap();
    ///     receive
    /// });
    /// assert_eq!(sums.unwrap()[2], [2, 12, 22, 32]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless both have the same number of elements, a multiple of the number of ranks;
    /// otherwise see [`Communicator`].
    pub fn alltoall<T: Pod>(&mut self, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.regular(key::<T>(Collective::Alltoall), send, receive, None)
    }

    /// Exchanges blocks as [`alltoall`](Self::alltoall), in one buffer: block j goes to rank j, and the
    /// block from rank j takes its place.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless the number of elements is a multiple of the number of ranks; otherwise see
    /// [`Communicator`].
    pub fn alltoall_in_place<T: Pod>(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.regular(Key { in_place: true, ..key::<T>(Collective::Alltoall) }, &[], buffer, None)
    }

    /// Gives every rank the blocks of all ranks: block i of `receive` is the `send` of rank i.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless `receive` is as long as the `send`s of all ranks together; otherwise see
    /// [`Communicator`].
    pub fn allgather<T: Pod>(&mut self, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.allgather_for(send, receive, "".into())
    }

    pub(super) fn allgather_for<T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        purpose: Cow<'static, str>,
    ) -> Result<(), Error> {
        self.regular(Key { purpose, ..key::<T>(Collective::Allgather) }, send, receive, None)
    }

    /// Combines the `send` of all ranks, element by element, and gives the result to every rank.
    ///
    /// Contributions combine in rank order unless the operation [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Max;
    /// let greatest = necklace::local::run(3, |mut comm| {
    ///     let mut greatest = [0.0];
    ///     comm.allreduce(&[comm.rank() as f64], &mut greatest, Max).unwrap();
    ///     greatest[0]
    /// });
    /// assert_eq!(greatest.unwrap(), [2.0; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless both have the same number of elements; [`Error::Argument`] if the
    /// operation claims to be a [predefined](Op::predefined) one on numbers of another length or
    /// alignment; otherwise see [`Communicator`].
    pub fn allreduce<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::Allreduce, send, receive, &op)
    }

    /// Combines in rank order, for a purpose that the ranks compare.
    pub(super) fn allreduce_for<T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        purpose: String,
        op: impl Fn(T, T) -> T + Send + Sync,
    ) -> Result<(), Error> {
        let key = Key { purpose: purpose.into(), commutes: false, ..key::<T>(Collective::Allreduce) };
        self.regular(key, send, receive, Some(&OnBytes::new(&by("", op))))
    }

    /// Combines the `send` of ranks 0 to i for rank i, element by element, in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// # Errors
    ///
    /// As [`allreduce`](Self::allreduce).
    pub fn scan<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::Scan, send, receive, &op)
    }

    fn reduce_by<T: Pod, O: Op<T>>(
        &mut self,
        collective: Collective,
        send: &[T],
        receive: &mut [T],
        op: &O,
    ) -> Result<(), Error> {
        let predefined = op.predefined();
        let layout = Layout::new::<T>();
        let unfit = |number: Layout| number.size() != layout.size() || number.align() > layout.align();
        if let Some(of) = predefined.filter(|of| unfit(of.number.layout())) {
            let (kind, number) = (type_name::<T>(), of.number.layout());
            let words = format!(
                "operation {} on {kind} cannot be predefined on {:?}: its elements have {} bytes at multiples of {}, such numbers \
                 {} at multiples of {}",
                op.name(),
                of.number,
                layout.size(),
                layout.align(),
                number.size(),
                number.align()
            );
            return Err(Error::Argument(words));
        }
        let key = Key { purpose: op.name(), predefined, commutes: op.is_commutative(), ..key::<T>(collective) };
        self.regular(key, send, receive, Some(&OnBytes::<T, O>::new(op)))
    }

    /// Copies the buffer of the root to every rank.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] if the root is not a member ([`Error::Argument`] if it cannot be a rank at
    /// all); otherwise see [`Communicator`].
    pub fn broadcast<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        let root = self.root(root)?;
        self.regular(Key { in_place: true, ..key::<T>(Collective::Broadcast { root }) }, &[], buffer, None)
    }

    /// Collects a block from every rank at the root: block i of its `receive` is the `send` of rank i.
    ///
    /// Other ranks need no `receive`.
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let mut all = [0; 3];
    ///     let receive = (comm.rank() == 1).then_some(&mut all[..]);
    ///     comm.gather(&[10 * comm.rank()], receive, 1).unwrap();
    ///     all
    /// });
    /// assert_eq!(all.unwrap(), [[0, 0, 0], [0, 10, 20], [0, 0, 0]]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless the root's `receive` is as long as the `send`s of all ranks together;
    /// otherwise see [`broadcast`](Self::broadcast).
    pub fn gather<T: Pod>(&mut self, send: &[T], receive: Option<&mut [T]>, root: usize) -> Result<(), Error> {
        let root = self.root(root)?;
        let receive = receive.filter(|_| root.index() == self.rank()).unwrap_or_default();
        self.regular(key::<T>(Collective::Gather { root }), send, receive, None)
    }

    /// Distributes the blocks of the root: rank i receives the i-th block of its `send`.
    ///
    /// Other ranks need no `send`.
    ///
    /// ```
    /// let parts = necklace::local::run(3, |mut comm| {
    ///     let mut part = [0; 2];
    ///     let all: [i32; 6] = [0, 1, 10, 11, 20, 21];
    ///     comm.scatter((comm.rank() == 0).then_some(&all[..]), &mut part, 0).unwrap();
    ///     part
    /// });
    /// assert_eq!(parts.unwrap(), [[0, 1], [10, 11], [20, 21]]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless the root's `send` is as long as the `receive`s of all ranks together;
    /// otherwise see [`broadcast`](Self::broadcast).
    pub fn scatter<T: Pod>(&mut self, send: Option<&[T]>, receive: &mut [T], root: usize) -> Result<(), Error> {
        let root = self.root(root)?;
        let send = send.filter(|_| root.index() == self.rank()).unwrap_or_default();
        self.regular(key::<T>(Collective::Scatter { root }), send, receive, None)
    }

    /// Combines the i-th blocks of all ranks for rank i, element by element, in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut sum = [0];
    ///     comm.reduce_scatter(&[1, 10, 100], &mut sum, Sum).unwrap();
    ///     sum[0]
    /// });
    /// assert_eq!(sums.unwrap(), [3, 30, 300]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless `send` has the length of `receive` times the number of ranks; otherwise
    /// see [`allreduce`](Self::allreduce).
    pub fn reduce_scatter<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::ReduceScatter, send, receive, &op)
    }

    /// Performs any collective but a [custom](Collective::Custom) one.
    ///
    /// `send` has the blocks that this rank holds before, `receive` those that it holds after, one after
    /// the other in rank order. Only reductions use the operation.
    ///
    /// ```
    /// use necklace::collective::Collective;
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut sum = [0];
    ///     comm.perform(&Collective::Allreduce, &[comm.rank()], &mut sum, Sum).unwrap();
    ///     sum[0]
    /// });
    /// assert_eq!(sums.unwrap(), [3, 3, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless both have the lengths that the collective needs; [`BuildError::Rank`] if
    /// the root is not a member; [`BuildError::Unfit`] if there is no algorithm for it; otherwise see
    /// [`allreduce`](Self::allreduce).
    pub fn perform<T: Pod>(
        &mut self,
        collective: &Collective,
        send: &[T],
        receive: &mut [T],
        op: impl Op<T>,
    ) -> Result<(), Error> {
        if let Collective::Custom(_) = collective {
            return Err(Error::Argument("a custom collective has no buffers of equal blocks".to_owned()));
        }
        if collective.is_reduction() {
            return self.reduce_by(collective.clone(), send, receive, &op);
        }
        self.regular(key::<T>(collective.clone()), send, receive, None)
    }

    fn root(&self, root: usize) -> Result<Rank, Error> {
        let ranks = self.size();
        if root > MAX_NODES {
            return Err(Error::Argument(format!("root {root} is out of range: there are {ranks} ranks")));
        }
        let rank = Rank::new(root);
        if root < ranks { Ok(rank) } else { Err(BuildError::Rank { rank, ranks }.into()) }
    }

    /// Waits until every member has called it.
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    pub fn barrier(&mut self) -> Result<(), Error> {
        self.regular::<u8>(key::<u8>(Collective::Barrier), &[], &mut [], None)
    }

    /// A collective of blocks of equal length, as its [row](crate::collective) says: planned, if it is not yet, and executed. The key's
    /// elements are found from the buffers.
    #[inline]
    fn regular<T: Pod>(
        &mut self,
        key: Key,
        send: &[T],
        receive: &mut [T],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let elements = self.elements(&key, (send.len(), receive.len()))?;
        let (wire, prepared) = self.prepared(&Key { elements, ..key })?;
        wire.execute(prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), reduction)
    }

    /// How many elements a block has in buffers so long, which must agree.
    #[inline]
    fn elements(&self, key: &Key, (send, receive): (usize, usize)) -> Result<usize, Error> {
        let (sends, receives) = self.blocks(key);
        let (what, found, blocks) = match (sends, key.in_place) {
            (1.., _) => ("send buffer", send, sends),
            (0, true) => ("buffer", receive, receives),
            (0, false) => ("receive buffer", receive, receives),
        };
        if blocks == 0 || !key.collective.has_bytes() {
            return Ok(0);
        }
        if !found.is_multiple_of(blocks) {
            return Err(Error::Length {
                what,
                expected: format!("a multiple of {blocks}, one block for each rank"),
                found,
            });
        }
        let elements = found / blocks;
        check("receive buffer", receive, total(elements, receives, key.element.size)?)?;
        Ok(elements)
    }

    /// How many blocks this rank's input and output have.
    #[inline]
    pub(super) fn blocks(&self, key: &Key) -> (usize, usize) {
        let (before, after) = key.collective.buffers();
        let seat = key.collective.seat(self.size(), Rank::new(self.rank()));
        (if key.in_place { 0 } else { before.at(seat) }, after.at(seat))
    }
}

#[inline]
pub(super) fn key<T: Pod>(collective: Collective) -> Key {
    Key {
        collective,
        element: Element::of::<T>(),
        elements: 0,
        in_place: false,
        purpose: Cow::Borrowed(""),
        predefined: None,
        commutes: true,
    }
}

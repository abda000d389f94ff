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
use crate::op::{OnBytes, Op};
use crate::plan::Reduction;

impl Communicator {
    /// Everyone gives everyone a block: block j of `send` goes to rank j, block i of `receive` comes from rank i. Blocks
    /// are of equal length, one after the other, by rank.
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
    /// [`Error::Length`] unless both have the same number of elements, a multiple of the ranks; else as
    /// [`Communicator`] says.
    pub fn alltoall<T: Pod>(&mut self, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.regular(key::<T>(Collective::Alltoall), send, receive, None)
    }

    /// The same in one buffer: block j goes to rank j, and what comes from rank j takes its place.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless the buffer has a multiple of the ranks of elements; else as [`Communicator`] says.
    pub fn alltoall_in_place<T: Pod>(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.regular(Key { in_place: true, ..key::<T>(Collective::Alltoall) }, &[], buffer, None)
    }

    /// Everyone gets everyone's block: block i of `receive` is rank i's `send`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless `receive` is as long as the `send`s of all ranks together; else as [`Communicator`] says.
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

    /// Everyone gets the combination of all ranks' `send`, element by element, in rank order unless the operation
    /// [commutes](Op::is_commutative).
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
    /// [`Error::Length`] unless both have the same number of elements; [`Error::Argument`] where the operation says to be a
    /// [predefined](Op::predefined) one on numbers of another length or alignment; else as [`Communicator`] says.
    pub fn allreduce<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::Allreduce, send, receive, &op)
    }

    /// Rank i gets the combination of the `send`s of ranks 0 to i, element by element, in rank order unless the operation
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

    /// Everyone gets the root's buffer.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] where the root is no member ([`Error::Argument`] where it cannot be a rank at all); else as
    /// [`Communicator`] says.
    pub fn broadcast<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.broadcast_for(buffer, root, "".into())
    }

    pub(super) fn broadcast_for<T: Pod>(
        &mut self,
        buffer: &mut [T],
        root: usize,
        purpose: Cow<'static, str>,
    ) -> Result<(), Error> {
        let root = self.root(root)?;
        self.regular(Key { in_place: true, purpose, ..key::<T>(Collective::Broadcast { root }) }, &[], buffer, None)
    }

    /// The root gets everyone's block: block i of its `receive` is rank i's `send`. Others need no `receive`.
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
    /// [`Error::Length`] unless the root's `receive` is as long as the `send`s of all ranks together; else as
    /// [`broadcast`](Self::broadcast).
    pub fn gather<T: Pod>(&mut self, send: &[T], receive: Option<&mut [T]>, root: usize) -> Result<(), Error> {
        let root = self.root(root)?;
        let receive = receive.filter(|_| root.index() == self.rank()).unwrap_or_default();
        self.regular(key::<T>(Collective::Gather { root }), send, receive, None)
    }

    /// Everyone gets a block of the root's: rank i the i-th of its `send`. Others need no `send`.
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
    /// [`Error::Length`] unless the root's `send` is as long as the `receive`s of all ranks together; else as
    /// [`broadcast`](Self::broadcast).
    pub fn scatter<T: Pod>(&mut self, send: Option<&[T]>, receive: &mut [T], root: usize) -> Result<(), Error> {
        let root = self.root(root)?;
        let send = send.filter(|_| root.index() == self.rank()).unwrap_or_default();
        self.regular(key::<T>(Collective::Scatter { root }), send, receive, None)
    }

    /// Rank i gets the combination of the i-th blocks of all ranks' `send`, element by element, in rank order unless the
    /// operation [commutes](Op::is_commutative).
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
    /// [`Error::Length`] unless `send` is as long as `receive` for each rank; else as [`allreduce`](Self::allreduce).
    pub fn reduce_scatter<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::ReduceScatter, send, receive, &op)
    }

    /// Does any collective but a [custom](Collective::Custom) one: `send` has the blocks that this rank holds before, `receive` those that
    /// it has after, one after the other by rank. The operation is for reductions; others do not look at it.
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
    /// [`Error::Length`] unless both are as long as the collective says; [`BuildError::Rank`] where the root is no member;
    /// [`BuildError::Unfit`] where there is no algorithm for it; else as [`allreduce`](Self::allreduce).
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

    /// Returns when every member has called it.
    ///
    /// # Errors
    ///
    /// As [`Communicator`] says.
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

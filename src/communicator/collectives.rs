//! The collectives of regular counts.

use std::alloc::Layout;
use std::any::type_name;
use std::borrow::Cow;

use bytemuck::Pod;

use super::Communicator;
use super::lengths::{check, total};
use super::prepared::Key;
use crate::collective::Collective;
use crate::error::{BuildError, Error};
use crate::ids::{MAX_NODES, Rank};
use crate::op::{OnBytes, Op};

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
        let elements = self.elements("send buffer", send.len())?;
        check("receive buffer", receive.len(), send.len())?;
        let (wire, prepared) = self.prepared(&key::<T>(Collective::Alltoall, elements))?;
        wire.execute(prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)
    }

    /// The same in one buffer: block j goes to rank j, and what comes from rank j takes its place.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless the buffer has a multiple of the ranks of elements; else as [`Communicator`] says.
    pub fn alltoall_in_place<T: Pod>(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        let key = Key { in_place: true, ..key::<T>(Collective::Alltoall, self.elements("buffer", buffer.len())?) };
        let (wire, prepared) = self.prepared(&key)?;
        wire.execute(prepared, &[], bytemuck::cast_slice_mut(buffer), None)
    }

    /// How many elements a block has in a buffer of one for each rank.
    #[inline]
    fn elements(&self, what: &'static str, len: usize) -> Result<usize, Error> {
        let size = self.size();
        if !len.is_multiple_of(size) {
            let expected = format!("a multiple of {size}, one block for each rank");
            return Err(Error::Length { what, expected, found: len });
        }
        Ok(len / size)
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
        check("receive buffer", receive.len(), total(send.len(), self.size(), size_of::<T>())?)?;
        let key = Key { purpose, ..key::<T>(Collective::Allgather, send.len()) };
        let (wire, prepared) = self.prepared(&key)?;
        wire.execute(prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)
    }

    /// Everyone gets the combination of all ranks' `send`, element by element, in rank order (but see [`Op::predefined`]).
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

    /// Rank i gets the combination of the `send`s of ranks 0 to i, element by element, in rank order.
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
        check("receive buffer", receive.len(), send.len())?;
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
        let key = Key { kind: type_name::<T>(), purpose: op.name(), predefined, ..key::<T>(collective, send.len()) };
        let (wire, prepared) = self.prepared(&key)?;
        let reduction = OnBytes::<T, O>::new(op);
        wire.execute(prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), Some(&reduction))
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
        if root > MAX_NODES {
            return Err(Error::Argument(format!("root {root} is out of range: there are {} ranks", self.size())));
        }
        let root = Rank::new(root);
        if root.index() >= self.size() {
            return Err(BuildError::Rank { rank: root, ranks: self.size() }.into());
        }
        let key = Key { in_place: true, purpose, ..key::<T>(Collective::Broadcast { root }, buffer.len()) };
        let (wire, prepared) = self.prepared(&key)?;
        wire.execute(prepared, &[], bytemuck::cast_slice_mut(buffer), None)
    }

    /// Returns when every member has called it.
    ///
    /// # Errors
    ///
    /// As [`Communicator`] says.
    pub fn barrier(&mut self) -> Result<(), Error> {
        let (wire, prepared) = self.prepared(&key::<u8>(Collective::Barrier, 0))?;
        wire.execute(prepared, &[], &mut [], None)
    }
}

#[inline]
pub(super) fn key<T>(collective: Collective, elements: usize) -> Key {
    Key {
        collective,
        element: size_of::<T>(),
        elements,
        in_place: false,
        kind: "",
        purpose: Cow::Borrowed(""),
        predefined: None,
    }
}

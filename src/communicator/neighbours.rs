//! Exchanges with a few other ranks: neighbours in a graph, one partner.
//!
//! Messages travel only between ranks that are neighbours. All blocks for one rank are one message,
//! in the order of their directions, on which sender and receiver agree.

use bytemuck::Pod;

use super::collectives::key;
use super::neighbour_key::{NEIGHBOUR_ALLTOALLW, Near, NeighbourCall};
use super::neighbourhood::{Direction, Neighbourhood};
use super::varying_key::{GivenBlocks, Listed};
use super::{Communicator, Counts, Persistent};
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::Rank;
use crate::plan::Strided;
use crate::topology::Topology;
use crate::transport::Cause;

impl Communicator {
    /// Returns the neighbours of this rank in the [network](Self::topology), in ascending order of
    /// their nodes. In an [embedded](crate::topology::Embedded) network they are those in the
    /// guest. Local.
    #[must_use]
    pub fn neighbourhood(&self) -> Neighbourhood {
        let node = self.placement.node(Rank::new(self.rank()));
        let near = match self.topology.embedding().map(|embedding| (embedding, embedding.guest_node(node))) {
            Some((embedding, Some(guest_node))) => {
                let near = embedding.guest().neighbours(guest_node);
                near.into_iter().map(|guest_node| embedding.node(guest_node)).collect()
            }
            _ => self.topology.neighbours(node),
        };
        let near = near.into_iter().filter_map(|node| self.placement.rank(node));
        let near: Vec<usize> = near.map(Rank::index).collect();
        let near = Neighbourhood::in_order(&near);
        Neighbourhood {
            destinations: near.clone(),
            sources: near,
            name: format!("the links of {}", self.topology.text()),
            owner: self.context.communicator(),
            is_for_one_call: false,
        }
    }

    /// Makes a neighbourhood of ranks that this one receives from, `sources`, and sends to,
    /// `destinations`, as `MPI_Dist_graph_create_adjacent`. A rank may occur several times: the
    /// k-th block that rank a sends to rank b is the k-th block that b receives from a.
    ///
    /// Collective: the ranks check that they agree, by an alltoall of one number.
    ///
    /// ```
    /// // Each rank sends to the next two on a ring of five.
    /// let sums = necklace::local::run(5, |mut comm| {
    ///     let at = |by| (comm.rank() + by) % 5;
    ///     let near = comm.neighbourhood_of(&[at(4), at(3)], &[at(1), at(2)])?;
    ///     let mut received = [0; 2];
    ///     comm.neighbour_allgather(&near, &[comm.rank()], &mut received)?;
    ///     Ok::<_, necklace::Error>(received)
    /// })?;
    /// assert_eq!(sums[0].as_ref().unwrap(), &[4, 3]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Peer`] for a rank that is not a member; [`Error::Failed`] unless each rank
    /// lists every other as a source exactly as often as that rank lists it as a destination;
    /// otherwise see [`Communicator`].
    #[track_caller]
    pub fn neighbourhood_of(&mut self, sources: &[usize], destinations: &[usize]) -> Result<Neighbourhood, Error> {
        self.agreed_neighbourhood(sources, destinations).map_err(self.context.error_of("neighbourhood_of"))
    }

    fn agreed_neighbourhood(&mut self, sources: &[usize], destinations: &[usize]) -> Result<Neighbourhood, CallError> {
        for &rank in sources.iter().chain(destinations) {
            self.peer(rank)?;
        }
        let times = |ranks: &[usize]| {
            let mut times = vec![0_u64; self.size()];
            ranks.iter().for_each(|&rank| times[rank] += 1);
            times
        };
        let (sent, expected, mut announced) = (times(destinations), times(sources), vec![0; self.size()]);
        let name = format!("a given graph, made in call {}", self.context.history.calls);
        self.alltoall_for(&sent, &mut announced, "neighbourhood_of".into())?;
        if let Some(other) = (0..self.size()).find(|&other| announced[other] != expected[other]) {
            let (theirs, ours) = (announced[other], expected[other]);
            let reason = format!("rank {other} sends it {theirs} blocks; it expects {ours}").into();
            let rank = Rank::new(self.rank());
            return Err(self.fail_planning("neighbourhood_of", Some(rank), Cause::Aborted { rank, reason }).into());
        }
        Ok(Neighbourhood {
            destinations: Neighbourhood::in_order(destinations),
            sources: Neighbourhood::in_order(sources),
            name,
            owner: self.context.communicator(),
            is_for_one_call: false,
        })
    }

    /// Sends a block to each neighbour and receives one from each, as `MPI_Neighbor_alltoall`.
    ///
    /// Block i of `send` goes to the i-th [destination](Neighbourhood::destinations); block i of
    /// `receive` comes from the i-th [source](Neighbourhood::sources). Blocks have equal lengths,
    /// on all ranks. Where there is no rank, the block is not sent, or does not change. Two ranks
    /// that have no elements for each other exchange no message, as in
    /// [`alltoallv`](Self::alltoallv).
    ///
    /// ```
    /// let sums = necklace::local::run_on("ring:4", |mut comm| {
    ///     let near = comm.neighbourhood();
    ///     let mut received = [0; 2];
    ///     comm.neighbour_alltoall(&near, &[comm.rank(); 2], &mut received).unwrap();
    ///     received
    /// });
    /// assert_eq!(sums.unwrap(), [[1, 3], [0, 2], [1, 3], [0, 2]]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless both buffers have the same number of elements for each
    /// neighbour; [`ArgumentError::Persistent`] if the neighbourhood is that of another
    /// communicator; [`Error::Failed`] with [`Cause::Length`] if blocks of two ranks differ in
    /// length; otherwise see [`Communicator`].
    #[track_caller]
    pub fn neighbour_alltoall<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        send: &[T],
        receive: &mut [T],
    ) -> Result<(), Error> {
        let (from, into) =
            equal_blocks(near, send.len(), receive.len()).map_err(self.context.error_of("neighbour_alltoall"))?;
        let call = NeighbourCall::of::<T>("neighbour_alltoall", near, from, into);
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("neighbour_alltoall"))
    }

    /// Sends blocks of any lengths to the neighbours and receives theirs, as
    /// `MPI_Neighbor_alltoallv` and [`neighbour_alltoall`](Self::neighbour_alltoall). [`Counts`]
    /// give the lengths and positions of the blocks of each buffer.
    ///
    /// ```
    /// // Each rank of a ring sends one element up and two elements down.
    /// let received = necklace::local::run_on("ring:4", |mut comm| {
    ///     let (near, me) = (comm.neighbourhood(), comm.rank());
    ///     let length = |from: usize, to: usize| if to == (from + 1) % 4 { 1 } else { 2 };
    ///     let sent: Vec<usize> = near.destinations().flatten().map(|to| length(me, to)).collect();
    ///     let expected: Vec<usize> = near.sources().flatten().map(|from| length(from, me)).collect();
    ///     let (send, mut received) = ([me; 3], [9; 3]);
    ///     comm.neighbour_alltoallv(&near, (&send, &sent), (&mut received, &expected)).unwrap();
    ///     received
    /// });
    /// assert_eq!(received.unwrap()[2], [1, 3, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoallw`](Self::neighbour_alltoallw).
    #[track_caller]
    pub fn neighbour_alltoallv<'a, T: Pod>(
        &mut self,
        near: &Neighbourhood,
        (send, send_counts): (&[T], impl Into<Counts<'a>>),
        (receive, receive_counts): (&mut [T], impl Into<Counts<'a>>),
    ) -> Result<(), Error> {
        let (from, into) = (send_counts.into(), receive_counts.into());
        let call = NeighbourCall::of::<T>(
            "neighbour_alltoallv",
            near,
            GivenBlocks::Counted(&from),
            GivenBlocks::Counted(&into),
        );
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("neighbour_alltoallv"))
    }

    /// Sends strided blocks to the neighbours and receives theirs in place, without packing, as
    /// [`neighbour_alltoall`](Self::neighbour_alltoall) and [`alltoallw`](Self::alltoallw): each
    /// buffer with its blocks.
    ///
    /// # Errors
    ///
    /// Those of [`alltoallw`](Self::alltoallw), and [`ArgumentError::Persistent`] as
    /// [`neighbour_alltoall`](Self::neighbour_alltoall).
    #[track_caller]
    pub fn neighbour_alltoallw<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        (send, from): (&[T], &[impl AsRef<[Strided]>]),
        (receive, into): (&mut [T], &[impl AsRef<[Strided]>]),
    ) -> Result<(), Error> {
        let (from, into) = (Listed(from), Listed(into));
        let call =
            NeighbourCall::of::<T>(NEIGHBOUR_ALLTOALLW, near, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into));
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("neighbour_alltoallw"))
    }

    /// Sends strided blocks of a buffer to the neighbours and receives theirs into the same buffer:
    /// interior edges out, ghost cells in. As [`neighbour_alltoallw`](Self::neighbour_alltoallw).
    ///
    /// [`Cartesian::exchange_halo`](super::Cartesian::exchange_halo) does this for the halo of an
    /// array.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoallw`](Self::neighbour_alltoallw).
    #[track_caller]
    pub fn neighbour_alltoallw_in_place<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        buffer: &mut [T],
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<(), Error> {
        let (from, into) = (Listed(from), Listed(into));
        let call =
            NeighbourCall::of::<T>(NEIGHBOUR_ALLTOALLW, near, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into));
        self.call_neighbours(call.in_place(), &[], buffer)
            .map_err(self.context.error_of("neighbour_alltoallw_in_place"))
    }

    /// Plans a [`neighbour_alltoallw`](Self::neighbour_alltoallw) of these blocks. Local.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoallw`](Self::neighbour_alltoallw).
    #[track_caller]
    pub fn neighbour_alltoallw_init<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<Persistent<T>, Error> {
        let (from, into) = (Listed(from), Listed(into));
        let call =
            NeighbourCall::of::<T>(NEIGHBOUR_ALLTOALLW, near, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into));
        self.neighbour_init(&call).map_err(self.context.error_of("neighbour_alltoallw_init"))
    }

    /// Plans a [`neighbour_alltoall`](Self::neighbour_alltoall) of blocks of `elements` elements.
    /// Local.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoall`](Self::neighbour_alltoall);
    /// [`ArgumentError::Plan`] if a buffer would be too long.
    #[track_caller]
    pub fn neighbour_alltoall_init<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        elements: usize,
    ) -> Result<Persistent<T>, Error> {
        let from = GivenBlocks::Equal(near.destinations.len(), elements);
        let into = GivenBlocks::Equal(near.sources.len(), elements);
        let call = NeighbourCall::of::<T>("neighbour_alltoall", near, from, into);
        self.neighbour_init(&call).map_err(self.context.error_of("neighbour_alltoall_init"))
    }

    /// Plans a [`neighbour_alltoallv`](Self::neighbour_alltoallv) of these counts. Local.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoallv`](Self::neighbour_alltoallv).
    #[track_caller]
    pub fn neighbour_alltoallv_init<'a, T: Pod>(
        &mut self,
        near: &Neighbourhood,
        send_counts: impl Into<Counts<'a>>,
        receive_counts: impl Into<Counts<'a>>,
    ) -> Result<Persistent<T>, Error> {
        let (from, into) = (send_counts.into(), receive_counts.into());
        let call = NeighbourCall::of::<T>(
            "neighbour_alltoallv",
            near,
            GivenBlocks::Counted(&from),
            GivenBlocks::Counted(&into),
        );
        self.neighbour_init(&call).map_err(self.context.error_of("neighbour_alltoallv_init"))
    }

    /// Sends the same elements to each neighbour and receives theirs, as
    /// `MPI_Neighbor_allgather`. Block i of `receive` is the `send` of the i-th
    /// [source](Neighbourhood::sources).
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoall`](Self::neighbour_alltoall).
    #[track_caller]
    pub fn neighbour_allgather<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        send: &[T],
        receive: &mut [T],
    ) -> Result<(), Error> {
        let from = GivenBlocks::Repeated(near.destinations.len(), send.len());
        let into = blocks_of(near.sources.len(), receive.len(), "receive buffer")
            .map_err(self.context.error_of("neighbour_allgather"))?;
        let call = NeighbourCall::of::<T>("neighbour_allgather", near, from, into);
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("neighbour_allgather"))
    }

    /// Plans a [`neighbour_allgather`](Self::neighbour_allgather) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoall_init`](Self::neighbour_alltoall_init).
    #[track_caller]
    pub fn neighbour_allgather_init<T: Pod>(
        &mut self,
        near: &Neighbourhood,
        elements: usize,
    ) -> Result<Persistent<T>, Error> {
        let from = GivenBlocks::Repeated(near.destinations.len(), elements);
        let into = GivenBlocks::Equal(near.sources.len(), elements);
        let call = NeighbourCall::of::<T>("neighbour_allgather", near, from, into);
        self.neighbour_init(&call).map_err(self.context.error_of("neighbour_allgather_init"))
    }

    /// Sends the same elements to each neighbour and receives theirs, as
    /// `MPI_Neighbor_allgatherv`. Ranks may send different numbers of elements. [`Counts`] give the
    /// lengths and positions of the blocks of `receive`.
    ///
    /// ```
    /// // Rank i sends i + 1 elements to both neighbours on a ring.
    /// let received = necklace::local::run_on("ring:4", |mut comm| {
    ///     let near = comm.neighbourhood();
    ///     let counts: Vec<usize> = near.sources().flatten().map(|from| from + 1).collect();
    ///     let mut received = vec![9; counts.iter().sum()];
    ///     let send = vec![comm.rank(); comm.rank() + 1];
    ///     comm.neighbour_allgatherv(&near, &send, &mut received, &counts).unwrap();
    ///     received
    /// });
    /// assert_eq!(received.unwrap()[0], [1, 1, 3, 3, 3, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_alltoallv`](Self::neighbour_alltoallv).
    #[track_caller]
    pub fn neighbour_allgatherv<'a, T: Pod>(
        &mut self,
        near: &Neighbourhood,
        send: &[T],
        receive: &mut [T],
        counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let (from, into) = (GivenBlocks::Repeated(near.destinations.len(), send.len()), counts.into());
        let call = NeighbourCall::of::<T>("neighbour_allgatherv", near, from, GivenBlocks::Counted(&into));
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("neighbour_allgatherv"))
    }

    /// Plans a [`neighbour_allgatherv`](Self::neighbour_allgatherv) of `elements` elements of this
    /// rank. Local.
    ///
    /// # Errors
    ///
    /// Those of [`neighbour_allgatherv`](Self::neighbour_allgatherv).
    #[track_caller]
    pub fn neighbour_allgatherv_init<'a, T: Pod>(
        &mut self,
        near: &Neighbourhood,
        elements: usize,
        counts: impl Into<Counts<'a>>,
    ) -> Result<Persistent<T>, Error> {
        let (from, into) = (GivenBlocks::Repeated(near.destinations.len(), elements), counts.into());
        let call = NeighbourCall::of::<T>("neighbour_allgatherv", near, from, GivenBlocks::Counted(&into));
        self.neighbour_init(&call).map_err(self.context.error_of("neighbour_allgatherv_init"))
    }

    /// Sends `send` to a rank and receives `receive` from a rank, as `MPI_Sendrecv`. `None` stands
    /// for no rank.
    ///
    /// Collective: every member calls it, also one that has no partner. If rank a passes `to =
    /// Some(b)`, rank b must pass `from = Some(a)`.
    ///
    /// ```
    /// let swapped = necklace::local::run(3, |mut comm| {
    ///     // Ranks 0 and 2 swap.
    ///     let partner = [Some(2), None, Some(0)][comm.rank()];
    ///     let mut other = [9];
    ///     comm.sendrecv(&[comm.rank()], partner, &mut other, partner).unwrap();
    ///     other[0]
    /// });
    /// assert_eq!(swapped.unwrap(), [2, 9, 0]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Peer`] for a rank that is not a member; [`Error::Failed`] with
    /// [`Cause::Length`] if the partner's buffer has another length; otherwise see
    /// [`Communicator`]. If a rank expects a message from one that sends it none, the call fails
    /// after the [deadline](crate::guide::failures#the-two-deadlines).
    #[track_caller]
    pub fn sendrecv<T: Pod>(
        &mut self,
        send: &[T],
        to: Option<usize>,
        receive: &mut [T],
        from: Option<usize>,
    ) -> Result<(), Error> {
        let (out, into) = (GivenBlocks::One(0, send.len()), GivenBlocks::One(0, receive.len()));
        let call = NeighbourCall::of::<T>("sendrecv", Near::Partners { to, from }, out, into);
        self.call_neighbours(call, send, receive).map_err(self.context.error_of("sendrecv"))
    }

    /// Sends a buffer to a rank and replaces it by that of another, as `MPI_Sendrecv_replace` and
    /// [`sendrecv`](Self::sendrecv). Without a `from`, it does not change.
    ///
    /// # Errors
    ///
    /// Those of [`sendrecv`](Self::sendrecv).
    #[track_caller]
    pub fn sendrecv_in_place<T: Pod>(
        &mut self,
        buffer: &mut [T],
        to: Option<usize>,
        from: Option<usize>,
    ) -> Result<(), Error> {
        let all = GivenBlocks::One(0, buffer.len());
        let call = NeighbourCall::of::<T>("sendrecv", Near::Partners { to, from }, all, all);
        self.call_neighbours(call.in_place(), &[], buffer).map_err(self.context.error_of("sendrecv_in_place"))
    }

    /// Shifts blocks along the ranks, in a circle: rank i sends `send` to rank `i + by`, modulo the
    /// number of ranks, and receives from rank `i - by`.
    ///
    /// ```
    /// let shifted = necklace::local::run(4, |mut comm| {
    ///     let mut from = [0];
    ///     comm.shift(&[comm.rank()], &mut from, 1).unwrap();
    ///     from[0]
    /// });
    /// assert_eq!(shifted.unwrap(), [3, 0, 1, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless both buffers have the same length; otherwise see
    /// [`Communicator`]. Ranks that pass different distances disagree.
    #[track_caller]
    pub fn shift<T: Pod>(&mut self, send: &[T], receive: &mut [T], by: isize) -> Result<(), Error> {
        let key = key::<T>(self.circle(by));
        self.regular(key, send, receive, None).map_err(self.context.error_of("shift"))
    }

    /// Shifts blocks along the ranks in one buffer, as [`shift`](Self::shift).
    ///
    /// # Errors
    ///
    /// Those of [`shift`](Self::shift).
    #[track_caller]
    pub fn shift_in_place<T: Pod>(&mut self, buffer: &mut [T], by: isize) -> Result<(), Error> {
        self.in_one_buffer(self.circle(by), buffer).map_err(self.context.error_of("shift_in_place"))
    }

    /// Plans a [`shift`](Self::shift) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Plan`] if a buffer would be too long.
    #[track_caller]
    pub fn shift_init<T: Pod>(&mut self, elements: usize, by: isize) -> Result<Persistent<T>, Error> {
        self.moving(self.circle(by), elements).map_err(self.context.error_of("shift_init"))
    }

    /// Returns the shift by a distance, which is less than the number of ranks.
    fn circle(&self, by: isize) -> Collective {
        Collective::Shift { by: by.rem_euclid(self.size() as isize) as usize }
    }

    /// Returns the neighbourhood of the partners of one call.
    pub(super) fn partners(&self, to: Option<usize>, from: Option<usize>) -> Result<Neighbourhood, ArgumentError> {
        let one = |rank: Option<usize>| {
            rank.map_or(Ok(None), |rank| self.peer(rank).map(|rank| Some(Direction { rank, number: 0 })))
        };
        let (destinations, sources) = (vec![one(to)?], vec![one(from)?]);
        let (name, owner) = ("partners".to_owned(), self.context.communicator());
        Ok(Neighbourhood { destinations, sources, name, owner, is_for_one_call: true })
    }

    /// Checks the number of another rank.
    fn peer(&self, rank: usize) -> Result<usize, ArgumentError> {
        let ranks = self.size();
        if rank < ranks { Ok(rank) } else { Err(ArgumentError::Peer { rank, ranks }) }
    }
}

/// Returns blocks of equal lengths for all neighbours, in both buffers.
fn equal_blocks(
    near: &Neighbourhood,
    send: usize,
    receive: usize,
) -> Result<(GivenBlocks<'_>, GivenBlocks<'_>), ArgumentError> {
    let (to, from) = (near.destinations.len(), near.sources.len());
    let (sends, receives) = (blocks_of(to, send, "send buffer")?, blocks_of(from, receive, "receive buffer")?);
    if to > 0 && from > 0 {
        super::lengths::check("receive buffer", receive, (send / to).saturating_mul(from))?;
    }
    Ok((sends, receives))
}

/// Cuts a buffer into blocks of equal lengths.
fn blocks_of(count: usize, length: usize, what: &'static str) -> Result<GivenBlocks<'static>, ArgumentError> {
    let whole = if count == 0 { length == 0 } else { length.is_multiple_of(count) };
    if !whole {
        let expected = if count == 0 {
            "0, since there are no neighbours".to_owned()
        } else {
            format!("a multiple of {count} (a block for each neighbour)")
        };
        return Err(ArgumentError::Length { what, expected, found: length });
    }
    Ok(GivenBlocks::Equal(count, length / count.max(1)))
}

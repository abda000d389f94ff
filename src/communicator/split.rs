//! Communicators made from communicators.

use std::sync::Arc;

use super::Communicator;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::{Node, Rank};
use crate::topology::{Complete, Part, Topology};
use crate::transport::ContextId;
use crate::vocabulary::{Hosts, Placement};

impl Communicator {
    /// Splits the communicator: members of one colour form a new one, ranked by key, then by rank.
    ///
    /// Collective. A member that joins no part calls [`split_undefined`](Self::split_undefined).
    ///
    /// A part knows its part of the network: a row of a torus is a ring, a face of a cube is a
    /// cube. If the members are not linked among themselves, or not as a network of a known kind,
    /// the part treats its network as complete. Messages between members then pass through other
    /// nodes.
    ///
    /// A part has the options of this communicator. It inherits the [chosen](Self::choose)
    /// algorithms that fit its network, by name or of your own. It inherits a schedule if it is the
    /// problem that the schedule was made for. For the other collectives it has `auto`. It does not
    /// inherit a choice for single calls ([`using`](Self::using)).
    ///
    /// ```
    /// // Rows of a 3 x 4 torus.
    /// let rows = necklace::local::run_on("torus:3x4", |mut comm| {
    ///     let row = comm.split(comm.rank() as u32 / 4, 0).unwrap();
    ///     row.topology().text()
    /// });
    /// assert_eq!(rows.unwrap(), ["ring:4"; 12]);
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn split(&mut self, colour: u32, key: i64) -> Result<Self, Error> {
        self.part_of(Some(colour), key, "split")
            .map_err(self.context.error_of("split"))?
            .ok_or(Error::Internal("a part without this rank".into()))
    }

    /// Splits the communicator by host: members that share a host form a new one, ranked by key,
    /// then by rank. Corresponds to `MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`.
    ///
    /// Collective. A part is as one that [`split`](Self::split) makes. [`hosts`](Self::hosts) says
    /// in advance which members it will have.
    ///
    /// ```
    /// // Threads share one host.
    /// let sizes = necklace::local::run(3, |mut comm| comm.split_by_host(0).unwrap().size());
    /// assert_eq!(sizes.unwrap(), [3; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Hosts`] if the backend does not know which ranks share a host, on every
    /// rank; otherwise see [`Communicator`].
    #[track_caller]
    pub fn split_by_host(&mut self, key: i64) -> Result<Self, Error> {
        self.part_of_host(key).map_err(self.context.error_of("split_by_host"))
    }

    fn part_of_host(&mut self, key: i64) -> Result<Self, CallError> {
        let me = Rank::new(self.rank());
        let host = self.hosts.as_ref().and_then(|hosts| hosts.host(me)).ok_or(ArgumentError::Hosts)?;
        let part = self.part_of(Some(host as u32), key, "split_by_host")?;
        part.ok_or_else(|| Error::Internal("a part without this rank".into()).into())
    }

    /// Takes part in a [`split`](Self::split) of the others without joining a new communicator.
    ///
    /// Collective. It corresponds to the colour `MPI_UNDEFINED` in MPI.
    ///
    /// ```
    /// let sizes = necklace::local::run(5, |mut comm| {
    ///     if comm.rank() == 0 {
    ///         comm.split_undefined().unwrap();
    ///         return 0;
    ///     }
    ///     comm.split(7, 0).unwrap().size()
    /// });
    /// assert_eq!(sizes.unwrap(), [0, 4, 4, 4, 4]);
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn split_undefined(&mut self) -> Result<(), Error> {
        self.part_of(None, 0, "split").map(drop).map_err(self.context.error_of("split_undefined"))
    }

    /// Makes a communicator of the same members, network and choices, as `MPI_Comm_dup`.
    ///
    /// Collective. Calls on one do not disturb calls on the other. So a library that communicates
    /// on behalf of a program duplicates the communicator that it gets, and a program duplicates
    /// one for each thread.
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn dup(&mut self) -> Result<Self, Error> {
        self.duplicate().map_err(self.context.error_of("dup"))
    }

    /// Makes a communicator for each of `threads` threads of this process, as [`dup`](Self::dup)
    /// does one. The i-th element of every member's vector is the same communicator.
    ///
    /// Collective, at the cost of one barrier for all of them.
    ///
    /// ```
    /// let sums = necklace::local::run(2, |mut comm| {
    ///     let comms = comm.for_threads(3).unwrap();
    ///     let add = |(i, mut comm): (u32, necklace::Communicator)| {
    ///         let mut sum = [0];
    ///         comm.allreduce(&[10 * i + comm.rank() as u32], &mut sum, necklace::op::Sum).unwrap();
    ///         sum[0]
    ///     };
    ///     std::thread::scope(|scope| {
    ///         let threads: Vec<_> = (0..).zip(comms).map(|comm| scope.spawn(move || add(comm))).collect();
    ///         threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    ///     })
    /// });
    /// assert_eq!(sums.unwrap(), [[1, 21, 41], [1, 21, 41]]);
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn for_threads(&mut self, threads: usize) -> Result<Vec<Self>, Error> {
        let first = self.barrier_for(self.local_parts.said_in(format!("for_threads({threads})").into()));
        first
            .and_then(|()| (0..threads).map(|_| self.duplicate_agreed()).collect())
            .map_err(self.context.error_of("for_threads"))
    }

    fn duplicate(&mut self) -> Result<Self, CallError> {
        self.barrier_for(self.local_parts.said_in("dup".into()))?;
        self.duplicate_agreed()
    }

    /// Makes a communicator of the same members, which have agreed on that. Local.
    pub(super) fn duplicate_agreed(&mut self) -> Result<Self, CallError> {
        let context = self.next_context(0);
        self.twin(context)
    }

    /// Makes a communicator of the same members in a context that all of them open. Local.
    pub(super) fn twin(&self, context: ContextId) -> Result<Self, CallError> {
        let network = (Arc::clone(&self.topology), self.placement.clone(), self.hosts.clone());
        self.derived(context, Arc::clone(&self.context.members), network)
    }

    /// Returns the context for the next communicator made from this one.
    pub(super) fn next_context(&mut self, part: u64) -> ContextId {
        let sequence = self.splits;
        self.splits += 1;
        self.context.id.child(sequence, part)
    }

    /// Opens a communicator made from this one, with its options and choices.
    fn derived(
        &self,
        context: ContextId,
        members: Arc<[Rank]>,
        network: (Arc<dyn Topology>, Placement, Option<Hosts>),
    ) -> Result<Self, CallError> {
        let options = self.options.clone().machine(self.machine);
        let mut part = Self::open(Arc::clone(&self.endpoint), context, members, network, options)?;
        part.inherit(self);
        Ok(part)
    }

    /// Exchanges colours and keys, and makes the part of this rank's colour.
    fn part_of(&mut self, colour: Option<u32>, key: i64, call: &'static str) -> Result<Option<Self>, CallError> {
        let mine = [i64::from(colour.is_some()), i64::from(colour.unwrap_or(0)), key];
        let mut all = vec![0; 3 * self.size()];
        self.allgather_for(&mine, &mut all, self.local_parts.said_in(call.into()))?;
        let context = self.next_context(colour.unwrap_or(0).into());
        let Some(colour) = colour else { return Ok(None) };
        let with_keys = all.chunks_exact(3).enumerate();
        let mut part: Vec<(i64, usize)> = with_keys
            .filter(|(_, member)| member[0] == 1 && member[1] == i64::from(colour))
            .map(|(rank, member)| (member[2], rank))
            .collect();
        part.sort_unstable();
        let ranks: Vec<usize> = part.into_iter().map(|(_, rank)| rank).collect();
        self.part_with(context, &ranks).map(Some)
    }

    /// Makes the communicator of these ranks of this one, on their part of the network. Local.
    pub(super) fn part_with(&self, context: ContextId, ranks: &[usize]) -> Result<Self, CallError> {
        let nodes: Vec<Node> = ranks.iter().map(|&rank| self.placement.node(Rank::new(rank))).collect();
        let (topology, placement) = match self.topology.part(&nodes) {
            Some(Part { topology, numbers, .. }) => {
                let placement = Placement::new(numbers, topology.nodes())?;
                (topology, placement)
            }
            None => {
                let complete = Complete::new(ranks.len()).map_err(|_| Error::Internal("an empty part".into()))?;
                (Arc::new(complete) as Arc<dyn Topology>, Placement::identity(ranks.len()))
            }
        };
        let members = ranks.iter().map(|&rank| self.context.members[rank]).collect();
        let hosts = self.hosts.as_ref().map(|hosts| hosts.part(ranks.iter().copied().map(Rank::new)));
        self.derived(context, members, (topology, placement, hosts))
    }
}

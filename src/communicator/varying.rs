//! Alltoall of blocks of different lengths, anywhere in the buffers.
//!
//! A rank knows the lengths of the blocks that it sends and receives. An algorithm that relays
//! blocks needs the lengths of the relayed ones too. So planning is collective: the counts travel
//! once over the same schedule, as blocks of one number, and every rank keeps those that reach it.
//!
//! The counts also travel for a call of the backend's own library, which does not check that a rank
//! expects the lengths that the others send.

use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::choosing::VARYING;
use super::element::Element;
use super::how::How;
use super::lengths::{BufferLength, check};
use super::planned_call::PlannedCall;
use super::{Communicator, Counts, Persistent};
use crate::algorithm::{Algorithm, alltoall::Direct, find};
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::Rank;
use crate::plan::{Buffer, Layout, Lengths, Place, PlanError, Run, Strided, StridedBlocks, compile, overlap_of};
use crate::transport::native::{Blocks, NativeCall};
use crate::transport::{Cause, Failure};
use crate::vocabulary::{Problem, RankRound};

impl Communicator {
    /// Exchanges blocks of any lengths between all ranks.
    ///
    /// Block j of `send` goes to rank j; block i of `receive` comes from rank i. [`Counts`] give
    /// the lengths and positions of the blocks: a list of counts, for blocks that lie one after the
    /// other, or counts and displacements. Counts may be 0.
    ///
    /// ```
    /// // Rank i sends i + 1 elements to rank 0 and one to each other rank.
    /// let received = necklace::local::run(3, |mut comm| {
    ///     let rank = comm.rank();
    ///     let send = vec![rank; rank + 3];
    ///     let (to, from) = ([rank + 1, 1, 1], if rank == 0 { [1, 2, 3] } else { [1; 3] });
    ///     let mut receive = vec![9; from.iter().sum()];
    ///     comm.alltoallv(&send, &to, &mut receive, &from).unwrap();
    ///     receive
    /// });
    /// assert_eq!(received.unwrap(), [vec![0, 1, 1, 2, 2, 2], vec![0, 1, 2], vec![0, 1, 2]]);
    /// ```
    ///
    /// Uses `direct` unless another algorithm is [chosen](Self::choose) for `alltoallv`. Other
    /// algorithms, also `native`, exchange the counts in each call;
    /// [`alltoallv_init`](Self::alltoallv_init) does that once.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless there is a count and a displacement for each rank;
    /// [`ArgumentError::Block`] if a block lies outside its buffer; [`ArgumentError::Overlap`] if
    /// two received blocks overlap; [`ArgumentError::SelfBlock`] if this rank's block for itself
    /// has two lengths; [`Error::Failed`] with [`Cause::Length`] if a rank expects another length
    /// than the other sends; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallv<'a, T: Pod>(
        &mut self,
        send: &[T],
        send_counts: impl Into<Counts<'a>>,
        receive: &mut [T],
        receive_counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let (from, into) =
            self.sides(&send_counts.into(), &receive_counts.into()).map_err(self.context.error_of("alltoallv"))?;
        self.exchange("alltoallv", (send, &from), (receive, &into)).map_err(self.context.error_of("alltoallv"))
    }

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
        let (from, into) =
            self.sides(&send_counts.into(), &receive_counts.into()).map_err(self.context.error_of("alltoallv_init"))?;
        self.exchange_init("alltoallv", &from, &into).map_err(self.context.error_of("alltoallv_init"))
    }

    /// Exchanges strided blocks between all ranks, without packing.
    ///
    /// `from[j]` names the elements of `send` that go to rank j. `into[i]` names the elements of
    /// `receive` that rank i's block fills, in order. So a part of a matrix is sent from and
    /// received into its place. It is transposed if one side names rows and the other columns. A
    /// block is one [`Strided`], or an array or vector of them, taken one after the other. Blocks
    /// may be empty.
    ///
    /// Uses the algorithm [chosen](Self::choose) for `alltoallv`, at the cost of
    /// [`alltoallv`](Self::alltoallv). In a loop, a plan made by
    /// [`alltoallw_init`](Self::alltoallw_init) is much cheaper. Pieces of a few bytes cost more
    /// than their bytes: if the elements of a dimension are neighbours on both sides, make that
    /// dimension the last.
    ///
    /// ```
    /// // A matrix of 4 rows and 6 columns. Each of two ranks has two rows of it, and gets three
    /// // rows of its transpose.
    /// use necklace::Strided;
    /// let transposed = necklace::local::run(2, |mut comm| {
    ///     let row = |i: usize| (0..6).map(move |j| 10 * i + j);
    ///     let rows: Vec<usize> = (2 * comm.rank()..).take(2).flat_map(row).collect();
    ///     let from = [0, 1].map(|to| Strided::matrix(3 * to, 2, 3, 6));
    ///     let into = [0, 1].map(|from| Strided::matrix(2 * from, 3, 2, 4).transposed());
    ///     let mut columns = vec![0; 12];
    ///     comm.alltoallw(&rows, &from, &mut columns, &into).unwrap();
    ///     columns
    /// });
    /// assert_eq!(transposed.unwrap()[1], [3, 13, 23, 33, 4, 14, 24, 34, 5, 15, 25, 35]);
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ArgumentError::Length`] unless there is a block for each rank on both sides;
    /// - [`ArgumentError::Block`] if a block lies outside its buffer, or if a [`Strided`] names an
    ///   element twice or its dimensions interlock, so that this cannot be excluded;
    /// - [`ArgumentError::Overlap`] if two elements are received into one;
    /// - [`ArgumentError::Interlocked`] if checking for that would take too long;
    /// - [`ArgumentError::SelfBlock`] if this rank's block for itself has two lengths;
    /// - [`ArgumentError::Plan`] with [`PlanError::Runs`] if the blocks consist of more pieces than
    ///   a plan lists;
    /// - [`Error::Failed`] with [`Cause::Length`] if a rank expects another length than the other
    ///   sends;
    /// - otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallw<T: Pod>(
        &mut self,
        send: &[T],
        from: &[impl AsRef<[Strided]>],
        receive: &mut [T],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<(), Error> {
        self.exchange("alltoallw", (send, from), (receive, into)).map_err(self.context.error_of("alltoallw"))
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
        self.exchange_init("alltoallw", from, into).map_err(self.context.error_of("alltoallw_init"))
    }

    /// Returns the blocks to send and to receive.
    fn sides(&self, send: &Counts<'_>, receive: &Counts<'_>) -> Result<(Vec<Strided>, Vec<Strided>), CallError> {
        Ok((send.blocks("send", self.size())?, receive.blocks("receive", self.size())?))
    }

    /// Plans and executes an exchange.
    fn exchange<T: Pod>(
        &mut self,
        collective: &str,
        (send, from): (&[T], &[impl AsRef<[Strided]>]),
        (receive, into): (&mut [T], &[impl AsRef<[Strided]>]),
    ) -> Result<(), CallError> {
        let (from, into) =
            (BlockList::new("send", from, Some(send.len())), BlockList::new("receive", into, Some(receive.len())));
        let mut planned = self.plan_varying(collective, Element::of::<T>(), &from, &into, false)?;
        Ok(self.context.execute(&mut planned, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)?)
    }

    /// Plans an exchange as a persistent plan.
    fn exchange_init<T: Pod>(
        &mut self,
        collective: &str,
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<Persistent<T>, CallError> {
        let (from, into) = (BlockList::new("send", from, None), BlockList::new("receive", into, None));
        Ok(Persistent {
            planned: self.plan_varying(collective, Element::of::<T>(), &from, &into, true)?,
            owner: self.context.communicator(),
            send: BufferLength::AtLeast(from.length),
            receive: BufferLength::AtLeast(into.length),
            reduction: None,
            key: None,
            of: PhantomData,
        })
    }

    /// Plans an exchange, as a persistent plan or for one call.
    fn plan_varying(
        &mut self,
        collective: &str,
        element: Element,
        send: &BlockList<'_>,
        receive: &BlockList<'_>,
        persistent: bool,
    ) -> Result<PlannedCall, CallError> {
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let (sent, expected) = (send.check(size)?, receive.check(size)?);
        let problem = self.problem(Collective::Alltoall)?;
        let mut layout = Layout::strided(rank, element.size, send.strided(), receive.strided())?;
        receive.check_disjoint()?;
        let (to_self, from_self) = (sent[rank.index()], expected[rank.index()]);
        if to_self != from_self {
            return Err(ArgumentError::SelfBlock { rank: rank.index(), sent: to_self, expected: from_self }.into());
        }
        let chosen = self.how(VARYING, false).filter(|how| how.as_name() != Some("auto")).cloned();
        let native = chosen.as_ref().map_or(persistent && self.context.native, |how| how.as_name() == Some("native"));
        let native = if native { Some(native_call(collective, &layout)?) } else { None };
        let native = match native {
            Some(call) if self.offers(&call) => Some(call),
            Some(call) if chosen.is_some() => return Err(self.not_offered(problem.collective(), &call).into()),
            _ => None,
        };
        let user = chosen.as_ref().and_then(How::as_user);
        let algorithm: Arc<dyn Algorithm> = match (&user, chosen.as_ref().and_then(How::as_name)) {
            (Some(user), _) => Arc::clone(&user.algorithm),
            (None, Some(name)) => find(problem.collective(), name)?,
            (None, None) => Arc::new(Direct),
        };
        let by = match user {
            Some(user) => user.certified(&problem)?.to_string(),
            None if native.is_some() => "native".to_owned(),
            None => algorithm.name(),
        };
        let what = format!("of {}-byte elements ({}) among {size} ranks by {by}", element.size, element.name);
        let description = format!("{collective} {what} on {}", self.topology.text());
        if let Some(call) = native {
            return self.plan_native(call, &problem, (&sent, &expected), element.size, description);
        }
        let rounds: Vec<RankRound> = algorithm.share(&problem, rank)?.collect();
        if user.is_none() && algorithm.name() == "direct" {
            return Ok(PlannedCall::new(compile(rounds, &layout)?, self.signature(description))?);
        }
        let passing = self.exchange_counts(&problem, &rounds, &sent, format!("counts of {description}"))?;
        self.check_counts(&passing, &expected, element.size as u64, &description)?;
        let own = |(i, &count): (usize, &usize)| (Block::new(rank, Rank::new(i)), count as u64);
        layout.lengths = Lengths::Each(passing.into_iter().chain(sent.iter().enumerate().map(own)).collect());
        // The others rely on this rank by now, so an error in its planning fails the communicator.
        let planned = check_sums(&layout, element.size)
            .and_then(|()| compile(rounds, &layout))
            .map_err(ArgumentError::from)
            .and_then(|plan| PlannedCall::new(plan, self.signature(description.clone())));
        planned.map_err(|error| {
            let cause = Cause::Aborted { rank, reason: error.to_string().into() };
            self.fail_planning(&description, Some(rank), cause).into()
        })
    }

    /// Plans a call of the backend's library, after every rank has checked the counts of the
    /// others.
    fn plan_native(
        &mut self,
        call: NativeCall,
        problem: &Problem,
        (sent, expected): (&[usize], &[usize]),
        element: usize,
        description: String,
    ) -> Result<PlannedCall, CallError> {
        let rounds: Vec<RankRound> = Direct.share(problem, Rank::new(self.rank()))?.collect();
        // Plans of different counts are different calls, on each of which the members must agree.
        let description = format!("{description}, counted in call {}", self.context.history.calls);
        let planned = self.plan_library_call(call, self.signature(description.clone()))?;
        let arrived = self.exchange_counts(problem, &rounds, sent, format!("counts of {description}"))?;
        self.check_counts(&arrived, expected, element as u64, &description)?;
        Ok(planned)
    }

    /// Sends the counts over the schedule, and returns those of all blocks that reach this rank.
    fn exchange_counts(
        &mut self,
        problem: &Problem,
        rounds: &[RankRound],
        counts: &[usize],
        description: String,
    ) -> Result<HashMap<Block, u64>, CallError> {
        const WORD: u64 = size_of::<u64>() as u64;
        let rank = Rank::new(self.rank());
        let arrivals = rounds.iter().flat_map(|round| &round.receives).flat_map(|end| &end.blocks);
        let passing: BTreeSet<Block> = arrivals.map(|block| block.whole()).collect();
        let run = |buffer, i: usize| Place::from(Run::new(buffer, i as u64 * WORD, WORD));
        let word = |buffer, (i, block): (usize, Block)| (block, run(buffer, i));
        let layout = Layout {
            element: WORD,
            lengths: Lengths::Equal(1),
            before: problem.all().map(|to| word(Buffer::Input, (to.index(), Block::new(rank, to)))).collect(),
            after: passing.iter().copied().enumerate().map(|at| word(Buffer::Output, at)).collect(),
            input: counts.len() as u64 * WORD,
            output: passing.len() as u64 * WORD,
        };
        let plan = compile(rounds.iter().cloned(), &layout).map_err(ArgumentError::from)?;
        let mut planned = PlannedCall::new(plan, self.signature(description))?;
        let sent: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
        let mut arrived = vec![0_u64; passing.len()];
        self.context.execute(
            &mut planned,
            bytemuck::cast_slice(&sent),
            bytemuck::cast_slice_mut(&mut arrived),
            None,
        )?;
        Ok(passing.into_iter().zip(arrived).collect())
    }

    /// Fails the communicator on every member unless the others send the counts that this rank
    /// expects.
    fn check_counts(
        &mut self,
        sent: &HashMap<Block, u64>,
        expected: &[usize],
        element: u64,
        description: &str,
    ) -> Result<(), Error> {
        let me = Rank::new(self.rank());
        for (i, &count) in expected.iter().enumerate().filter(|(i, _)| *i != me.index()) {
            let from = Rank::new(i);
            let (expected, found) = (count as u64, sent.get(&Block::new(from, me)).copied().unwrap_or(0));
            if expected != found {
                let (expected, found) = (expected.saturating_mul(element), found.saturating_mul(element));
                let cause = Cause::Length { from, to: me, expected, found };
                return Err(self.fail_planning(description, None, cause));
            }
        }
        Ok(())
    }

    /// Fails the communicator for an error that the counts of other ranks have caused.
    fn fail_planning(&mut self, description: &str, culprit: Option<Rank>, cause: Cause) -> Error {
        let (call, observer) = (self.context.history.calls.saturating_sub(1), Rank::new(self.rank()));
        let failure = Failure { call, description: description.into(), round: 0, observer, culprit, cause };
        self.context.transport.abort(failure.clone());
        self.context.failed(self.context.transport.failure().unwrap_or(failure))
    }
}

/// The blocks of one buffer, by rank.
struct BlockList<'a> {
    /// `send` or `receive`.
    side: &'static str,
    blocks: Vec<&'a [Strided]>,
    /// The length of the buffer in elements.
    length: usize,
}

impl<'a> BlockList<'a> {
    /// Lists the blocks of a buffer of this length, or of the shortest one that has them all.
    fn new(side: &'static str, blocks: &'a [impl AsRef<[Strided]>], length: Option<usize>) -> Self {
        let blocks: Vec<&[Strided]> = blocks.iter().map(AsRef::as_ref).collect();
        let ends = || blocks.iter().flat_map(|parts| parts.iter()).map(|part| part.end().unwrap_or(usize::MAX));
        let length = length.unwrap_or_else(|| ends().max().unwrap_or(0));
        Self { side, blocks, length }
    }

    fn strided(&self) -> StridedBlocks<'_> {
        StridedBlocks { blocks: &self.blocks, elements: self.length }
    }

    /// Returns the lengths of the blocks. Fails unless there is one for each rank, inside the
    /// buffer.
    fn check(&self, ranks: usize) -> Result<Vec<usize>, ArgumentError> {
        let Self { side, blocks, length } = self;
        check(if *side == "send" { "list of send blocks" } else { "list of receive blocks" }, blocks.len(), ranks)?;
        let count = |(i, parts): (usize, &&[Strided])| {
            let refuse = |why: String| ArgumentError::Block { side, block: i, why };
            parts.iter().try_fold(0_usize, |sum, part| {
                part.fault(*length).map_or(Ok(()), |why| Err(refuse(why)))?;
                let sum = part.elements().and_then(|elements| sum.checked_add(elements));
                sum.ok_or_else(|| refuse("the number of its elements overflows".to_owned()))
            })
        };
        blocks.iter().enumerate().map(count).collect()
    }

    /// Fails if an element belongs to two blocks, or twice to one. The elements of each part must
    /// differ.
    fn check_disjoint(&self) -> Result<(), ArgumentError> {
        // Only elements without bytes can be this many, and they cannot overlap.
        if isize::try_from(self.length).is_err() {
            return Ok(());
        }
        let found = overlap_of(self.blocks.iter().flat_map(|parts| parts.iter()), Layout::MOST_RUNS);
        let interlocked = |pieces| ArgumentError::Interlocked { side: self.side, pieces, most: Layout::MOST_RUNS };
        let Some(index) = found.map_err(interlocked)? else { return Ok(()) };
        let holders = self.blocks.iter().enumerate().flat_map(|(i, parts)| parts.iter().map(move |part| (i, part)));
        let mut holders = holders.filter(|(_, part)| part.has(index)).map(|(i, _)| i);
        let (i, j) = (holders.next().unwrap_or(0), holders.next().unwrap_or(0));
        Err(ArgumentError::Overlap { side: self.side, blocks: (i, j), element: index })
    }
}

/// Makes the call of a library for the blocks of a layout.
fn native_call(collective: &str, layout: &Layout) -> Result<NativeCall, CallError> {
    let blocks = |side: &[(Block, Place)]| {
        let blocks = Blocks::new(side.iter().map(|(_, place)| place.clone()).collect());
        blocks.ok_or(Error::Internal("blocks that are in no buffer".into()))
    };
    let (send, receive) = (blocks(&layout.before)?, blocks(&layout.after)?);
    Ok(match collective {
        "alltoallv" => NativeCall::Alltoallv { send, receive },
        _ => NativeCall::Alltoallw { send, receive },
    })
}

/// Fails if the bytes of all blocks that a rank sends, receives or relays overflow together.
fn check_sums(layout: &Layout, element: usize) -> Result<(), PlanError> {
    let Lengths::Each(table) = &layout.lengths else { return Ok(()) };
    let elements = table.values().map(|&elements| u128::from(elements)).sum::<u128>();
    if elements.saturating_mul(element as u128) > i64::MAX as u128 {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        return Err(PlanError::Overflow { blocks: 1, elements, element });
    }
    Ok(())
}

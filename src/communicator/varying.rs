//! Alltoall of blocks of different lengths, anywhere in the buffers.
//!
//! A rank knows only the lengths of what it sends and what it shall receive; an algorithm that
//! relays needs those of what passes through as well. So planning is itself collective: the counts
//! travel once, as blocks of one number, over the same schedule, and every rank keeps those that
//! come by. Where the backend's own library does it they travel for another reason: a library does
//! not look whether what a rank awaits is what the other sends.

use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::choosing::VARYING;
use super::element::Element;
use super::how::How;
use super::lengths::{Need, check};
use super::prepared::Prepared;
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
    /// The j-th block of `send` goes to rank j; the i-th of `receive` comes from rank i. [`Counts`]
    /// say how long the blocks are, and where they lie: a list of counts, for blocks that lie one
    /// after the other, or counts and displacements. Counts may be 0.
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
    /// Uses `direct` unless [told otherwise](Self::choose) for `alltoallv`. Other algorithms, also
    /// `native`, exchange the counts in each call; [`alltoallv_init`](Self::alltoallv_init) does
    /// that once.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless there is a count and a displacement for each rank;
    /// [`ArgumentError::Block`] if a block lies outside its buffer, [`ArgumentError::Overlap`] if
    /// two received blocks overlap, [`ArgumentError::Itself`] if this rank's block for itself has
    /// two lengths; [`Error::Failed`] with [`Cause::Length`] if a rank expects another length than
    /// the other sends; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallv<'a, T: Pod>(
        &mut self,
        send: &[T],
        send_counts: impl Into<Counts<'a>>,
        receive: &mut [T],
        receive_counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let refused = CallError::of("alltoallv");
        let (from, into) = self.sides(&send_counts.into(), &receive_counts.into()).map_err(&refused)?;
        self.exchange("alltoallv", (send, &from), (receive, &into)).map_err(refused)
    }

    /// Plans an [`alltoallv`](Self::alltoallv) of these counts.
    ///
    /// Uses the algorithm chosen for `alltoallv`. If none is chosen, uses `native` if the backend
    /// [offers](crate::transport::native) it, otherwise `direct`. Collective, unless it is
    /// `direct`.
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
        let refused = CallError::of("alltoallv_init");
        let (from, into) = self.sides(&send_counts.into(), &receive_counts.into()).map_err(&refused)?;
        self.exchange_init("alltoallv", &from, &into).map_err(refused)
    }

    /// Exchanges strided blocks between all ranks, without packing.
    ///
    /// The elements of `send` that `from[j]` names go to rank j, into the elements that rank j
    /// names for this rank, in order. So a part of a matrix is sent from and received into its
    /// place, transposed if one side names rows and the other columns. A block is a [`Strided`], or
    /// several, one after the other (an array or a vector of them). Blocks may be empty.
    ///
    /// Uses the algorithm [chosen](Self::choose) for `alltoallv`, and costs as
    /// [`alltoallv`](Self::alltoallv) does; a plan made by [`alltoallw_init`](Self::alltoallw_init)
    /// is much cheaper in a loop. Pieces of a few bytes cost more than their bytes; give the
    /// dimension whose elements are neighbours on both sides, if there is one, as the last.
    ///
    /// ```
    /// // A matrix of 4 rows and 6 columns: two ranks have two rows each, and get three rows each of its transpose.
    /// use necklace::Strided;
    /// let transposed = necklace::local::run(2, |mut comm| {
    ///     let rows: Vec<usize> = (0..2).flat_map(|i| (0..6).map(move |j| 10 * i + j)).map(|x| x + 20 * comm.rank()).collect();
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
    /// [`ArgumentError::Length`] unless there is a block for each rank on both sides;
    /// [`ArgumentError::Block`] if a block lies outside its buffer, or a [`Strided`] names an
    /// element twice (or its dimensions interlock, so that this cannot be excluded);
    /// [`ArgumentError::Overlap`] if two elements are received into one,
    /// [`ArgumentError::Interlocked`] if that would take too long to find out;
    /// [`ArgumentError::Itself`] if this rank's block for itself has two lengths;
    /// [`ArgumentError::Plan`] with [`PlanError::Runs`] if the blocks are in more places than can
    /// be listed; [`Error::Failed`] with [`Cause::Length`] if a rank expects another length than
    /// the other sends; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallw<T: Pod>(
        &mut self,
        send: &[T],
        from: &[impl AsRef<[Strided]>],
        receive: &mut [T],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<(), Error> {
        self.exchange("alltoallw", (send, from), (receive, into)).map_err(CallError::of("alltoallw"))
    }

    /// Plans an [`alltoallw`](Self::alltoallw) of these blocks, for buffers that are long enough
    /// for them.
    ///
    /// Uses the algorithm that [`alltoallv_init`](Self::alltoallv_init) would use. Collective,
    /// unless that is `direct`. One plan serves all bands of a matrix: executed on a slice that
    /// begins further on, it moves what lies there.
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
        self.exchange_init("alltoallw", from, into).map_err(CallError::of("alltoallw_init"))
    }

    /// The blocks of both sides.
    fn sides(&self, send: &Counts<'_>, receive: &Counts<'_>) -> Result<(Vec<Strided>, Vec<Strided>), CallError> {
        Ok((send.blocks("send", self.size())?, receive.blocks("receive", self.size())?))
    }

    fn exchange<T: Pod>(
        &mut self,
        collective: &str,
        (send, from): (&[T], &[impl AsRef<[Strided]>]),
        (receive, into): (&mut [T], &[impl AsRef<[Strided]>]),
    ) -> Result<(), CallError> {
        let (from, into) = (Side::new("send", from, Some(send.len())), Side::new("receive", into, Some(receive.len())));
        let mut prepared = self.plan_varying(collective, Element::of::<T>(), &from, &into, false)?;
        Ok(self.wire.execute(&mut prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)?)
    }

    fn exchange_init<T: Pod>(
        &mut self,
        collective: &str,
        from: &[impl AsRef<[Strided]>],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<Persistent<T>, CallError> {
        let (from, into) = (Side::new("send", from, None), Side::new("receive", into, None));
        Ok(Persistent {
            prepared: self.plan_varying(collective, Element::of::<T>(), &from, &into, true)?,
            maker: self.wire.maker(),
            send: Need::AtLeast(from.length),
            receive: Need::AtLeast(into.length),
            of: PhantomData,
        })
    }

    fn plan_varying(
        &mut self,
        collective: &str,
        element: Element,
        send: &Side<'_>,
        receive: &Side<'_>,
        again: bool,
    ) -> Result<Prepared, CallError> {
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let (sent, awaited) = (send.check(size)?, receive.check(size)?);
        let problem = self.problem(Collective::Alltoall)?;
        let mut layout = Layout::strided(rank, element.size, send.strided(), receive.strided())?;
        receive.check_apart()?;
        let (out, back) = (sent[rank.index()], awaited[rank.index()]);
        if out != back {
            return Err(ArgumentError::Itself { rank: rank.index(), sent: out, awaited: back }.into());
        }
        let chosen = self.how(VARYING, false).filter(|how| how.named() != Some("auto")).cloned();
        let native = chosen.as_ref().map_or(again && self.wire.native, |how| how.named() == Some("native"));
        let native = if native { Some(native_call(collective, &layout)?) } else { None };
        let native = match native {
            Some(call) if self.offers(&call) => Some(call),
            Some(call) if chosen.is_some() => return Err(self.not_offered(problem.collective(), &call).into()),
            _ => None,
        };
        let own = chosen.as_ref().and_then(How::own);
        let algorithm: Arc<dyn Algorithm> = match (&own, chosen.as_ref().and_then(How::named)) {
            (Some(own), _) => Arc::clone(&own.algorithm),
            (None, Some(name)) => find(problem.collective(), name)?,
            (None, None) => Arc::new(Direct),
        };
        let by = match own {
            Some(own) => own.certified(&problem)?.to_string(),
            None if native.is_some() => "native".to_owned(),
            None => algorithm.name(),
        };
        let what = format!("of {}-byte elements ({}) among {size} ranks by {by}", element.size, element.name);
        let words = format!("{collective} {what} on {}", self.topology.text());
        if let Some(call) = native {
            return self.plan_native(call, &problem, (&sent, &awaited), element.size, words);
        }
        let rounds: Vec<RankRound> = algorithm.share(&problem, rank)?.collect();
        if own.is_none() && algorithm.name() == "direct" {
            return Ok(Prepared::new(compile(rounds, &layout)?, self.planned(words))?);
        }
        let passing = self.exchange_counts(&problem, &rounds, &sent, format!("counts of {words}"))?;
        self.check_counts(&passing, &awaited, element.size as u64, &words)?;
        let own = |(i, &count): (usize, &usize)| (Block::new(rank, Rank::new(i)), count as u64);
        layout.lengths = Lengths::Each(passing.into_iter().chain(sent.iter().enumerate().map(own)).collect());
        // The others rely on this rank by now: what keeps it from planning is everybody's failure.
        let planned = check_sums(&layout, element.size)
            .and_then(|()| compile(rounds, &layout))
            .map_err(ArgumentError::from)
            .and_then(|plan| Prepared::new(plan, self.planned(words.clone())));
        planned.map_err(|error| {
            let cause = Cause::Aborted { rank, reason: error.to_string().into() };
            self.fail_planning(&words, Some(rank), cause).into()
        })
    }

    /// Plans a native call, once every rank knows that what comes is what it awaits.
    fn plan_native(
        &mut self,
        call: NativeCall,
        problem: &Problem,
        (sent, awaited): (&[usize], &[usize]),
        element: usize,
        words: String,
    ) -> Result<Prepared, CallError> {
        let rounds: Vec<RankRound> = Direct.share(problem, Rank::new(self.rank()))?.collect();
        // Plans of other counts are other calls: the members agree on each by itself.
        let words = format!("{words}, counted in call {}", self.wire.history.calls);
        let prepared = self.prepare_native(call, self.planned(words.clone()))?;
        let came = self.exchange_counts(problem, &rounds, sent, format!("counts of {words}"))?;
        self.check_counts(&came, awaited, element as u64, &words)?;
        Ok(prepared)
    }

    /// Sends the counts through the schedule, and returns those of all blocks that come by.
    fn exchange_counts(
        &mut self,
        problem: &Problem,
        rounds: &[RankRound],
        counts: &[usize],
        words: String,
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
        let mut prepared = Prepared::new(compile(rounds.iter().cloned(), &layout)?, self.planned(words))?;
        let sent: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
        let mut came = vec![0_u64; passing.len()];
        self.wire.execute(&mut prepared, bytemuck::cast_slice(&sent), bytemuck::cast_slice_mut(&mut came), None)?;
        Ok(passing.into_iter().zip(came).collect())
    }

    /// That what others send is what this rank awaits. If not, it is everybody's failure.
    fn check_counts(
        &mut self,
        sent: &HashMap<Block, u64>,
        awaited: &[usize],
        element: u64,
        words: &str,
    ) -> Result<(), Error> {
        let me = Rank::new(self.rank());
        for (i, &awaited) in awaited.iter().enumerate().filter(|(i, _)| *i != me.index()) {
            let from = Rank::new(i);
            let (expected, found) = (awaited as u64, sent.get(&Block::new(from, me)).copied().unwrap_or(0));
            if expected != found {
                let (expected, found) = (expected.saturating_mul(element), found.saturating_mul(element));
                let cause = Cause::Length { from, to: me, expected, found };
                return Err(self.fail_planning(words, None, cause));
            }
        }
        Ok(())
    }

    /// Fails the communicator for something found in the counts that came.
    fn fail_planning(&mut self, words: &str, culprit: Option<Rank>, cause: Cause) -> Error {
        let (call, observer) = (self.wire.history.calls.saturating_sub(1), Rank::new(self.rank()));
        let failure = Failure { call, words: words.into(), round: 0, observer, culprit, cause };
        self.wire.transport.abort(failure.clone());
        self.wire.failed(self.wire.transport.failure().unwrap_or(failure))
    }
}

/// The blocks of a buffer, by rank.
struct Side<'a> {
    /// `send` or `receive`.
    what: &'static str,
    blocks: Vec<&'a [Strided]>,
    /// How many elements the buffer has.
    length: usize,
}

impl<'a> Side<'a> {
    /// With a buffer of that length, or as long as need be.
    fn new(what: &'static str, blocks: &'a [impl AsRef<[Strided]>], length: Option<usize>) -> Self {
        let blocks: Vec<&[Strided]> = blocks.iter().map(AsRef::as_ref).collect();
        let ends = || blocks.iter().flat_map(|parts| parts.iter()).map(|part| part.end().unwrap_or(usize::MAX));
        let length = length.unwrap_or_else(|| ends().max().unwrap_or(0));
        Self { what, blocks, length }
    }

    fn strided(&self) -> StridedBlocks<'_> {
        StridedBlocks { blocks: &self.blocks, elements: self.length }
    }

    /// That there is a block for each rank, and lies in the buffer; returns how many elements each
    /// has.
    fn check(&self, ranks: usize) -> Result<Vec<usize>, ArgumentError> {
        let Self { what, blocks, length } = self;
        check(if *what == "send" { "list of send blocks" } else { "list of receive blocks" }, blocks.len(), ranks)?;
        let count = |(i, parts): (usize, &&[Strided])| {
            let refuse = |why: String| ArgumentError::Block { side: what, block: i, why };
            parts.iter().try_fold(0_usize, |sum, part| {
                part.fault(*length).map_or(Ok(()), |why| Err(refuse(why)))?;
                let sum = part.elements().and_then(|elements| sum.checked_add(elements));
                sum.ok_or_else(|| refuse("more elements than can be counted".to_owned()))
            })
        };
        blocks.iter().enumerate().map(count).collect()
    }

    /// That no element belongs to two blocks, or twice to one. Each part is known to name different
    /// ones.
    fn check_apart(&self) -> Result<(), ArgumentError> {
        // Only elements without bytes can be so many, and there is nothing of them to overlap.
        if isize::try_from(self.length).is_err() {
            return Ok(());
        }
        let found = overlap_of(self.blocks.iter().flat_map(|parts| parts.iter()), Layout::MOST_RUNS);
        let tangled = |pieces| ArgumentError::Interlocked { side: self.what, pieces, most: Layout::MOST_RUNS };
        let Some(index) = found.map_err(tangled)? else { return Ok(()) };
        let holders = self.blocks.iter().enumerate().flat_map(|(i, parts)| parts.iter().map(move |part| (i, part)));
        let mut holders = holders.filter(|(_, part)| part.has(index)).map(|(i, _)| i);
        let (i, j) = (holders.next().unwrap_or(0), holders.next().unwrap_or(0));
        Err(ArgumentError::Overlap { side: self.what, blocks: (i, j), element: index })
    }
}

/// What a library is asked to do for blocks that lie so.
fn native_call(collective: &str, layout: &Layout) -> Result<NativeCall, CallError> {
    let blocks = |side: &[(Block, Place)]| {
        let blocks = Blocks::new(side.iter().map(|(_, place)| place.clone()).collect());
        blocks.ok_or(Error::Internal("blocks that are in no buffer"))
    };
    let (send, receive) = (blocks(&layout.before)?, blocks(&layout.after)?);
    Ok(match collective {
        "alltoallv" => NativeCall::Alltoallv { send, receive },
        _ => NativeCall::Alltoallw { send, receive },
    })
}

/// That all a rank holds at any time can be counted in bytes: the blocks that it has, gets or
/// passes on together.
fn check_sums(layout: &Layout, element: usize) -> Result<(), PlanError> {
    let Lengths::Each(table) = &layout.lengths else { return Ok(()) };
    let elements = table.values().map(|&elements| u128::from(elements)).sum::<u128>();
    if elements.saturating_mul(element as u128) > i64::MAX as u128 {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        return Err(PlanError::Overflow { blocks: 1, elements, element });
    }
    Ok(())
}

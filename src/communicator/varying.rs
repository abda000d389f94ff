//! Alltoall of blocks of different lengths.
//!
//! A rank knows only the lengths of what it sends and what it shall receive; an algorithm that relays needs those of what
//! passes through as well. So planning is itself collective: the counts travel once, as blocks of one number, over the
//! same schedule, and every rank keeps those that come by.

use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::cache::Prepared;
use super::collectives::check;
use super::persistent::Need;
use super::{Communicator, Persistent};
use crate::algorithm::{Algorithm, alltoall::Direct, find};
use crate::collective::Collective;
use crate::error::Error;
use crate::ids::Rank;
use crate::plan::{Buffer, Layout, Lengths, Places, PlanError, Run, compile};
use crate::schedule::{Block, Problem, RankRound};
use crate::transport::{Cause, Failure};

impl Communicator {
    /// Everyone gives everyone a block of any length: `send_counts[j]` elements from `send_displacements[j]` on go to rank
    /// j; what comes from rank i, `receive_counts[i]` elements, goes to `receive_displacements[i]`. Counts may be 0. Uses
    /// `direct` unless [told otherwise](Self::choose) for `alltoallv`; other algorithms pay for an exchange of the counts in
    /// each call, which [`alltoallv_init`](Self::alltoallv_init) pays once.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless there is a count and a displacement for each rank; [`Error::Argument`] where a block lies
    /// outside its buffer, two received ones overlap, or this rank's block for itself has two lengths; [`Error::Failed`],
    /// with [`Cause::Length`], where what a rank awaits is not what the other sends; else as [`Communicator`] says.
    pub fn alltoallv<T: Pod>(
        &mut self,
        send: &[T],
        send_counts: &[usize],
        send_displacements: &[usize],
        receive: &mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<(), Error> {
        let from = Places { counts: send_counts, displacements: send_displacements, length: send.len() };
        let into = Places { counts: receive_counts, displacements: receive_displacements, length: receive.len() };
        let mut prepared = self.plan_varying::<T>(&from, &into)?;
        self.wire.execute(&mut prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)
    }

    /// Plans an [`alltoallv`](Self::alltoallv) of these counts, by the algorithm chosen for `alltoallv`. Collective, unless
    /// that is `direct`.
    ///
    /// # Errors
    ///
    /// As [`alltoallv`](Self::alltoallv).
    pub fn alltoallv_init<T: Pod>(
        &mut self,
        send_counts: &[usize],
        send_displacements: &[usize],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<Persistent<T>, Error> {
        let reach = |counts: &[usize], displacements: &[usize]| {
            let blocks = counts.iter().zip(displacements).filter(|(count, _)| **count > 0);
            let ends = blocks.map(|(&count, &at)| count.checked_add(at));
            ends.collect::<Option<Vec<_>>>().map_or(usize::MAX, |ends| ends.into_iter().max().unwrap_or(0))
        };
        let send = reach(send_counts, send_displacements);
        let receive = reach(receive_counts, receive_displacements);
        let from = Places { counts: send_counts, displacements: send_displacements, length: send };
        let into = Places { counts: receive_counts, displacements: receive_displacements, length: receive };
        Ok(Persistent {
            prepared: self.plan_varying::<T>(&from, &into)?,
            maker: self.wire.maker(),
            send: Need::AtLeast(send),
            receive: Need::AtLeast(receive),
            of: PhantomData,
        })
    }

    fn plan_varying<T: Pod>(&mut self, send: &Places<'_>, receive: &Places<'_>) -> Result<Prepared, Error> {
        self.check_places(send, receive)?;
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let problem = self.problem(Collective::Alltoall)?;
        let algorithm: Arc<dyn Algorithm> = match self.algorithms.get("alltoallv").map(String::as_str) {
            None | Some("auto") => Arc::new(Direct),
            Some(name) => find(problem.collective(), name)?,
        };
        let rounds: Vec<RankRound> = algorithm.share(&problem, rank)?.collect();
        let (sent_at, received_at) = (places_of_blocks(send), places_of_blocks(receive));
        let send = &Places { displacements: &sent_at, ..*send };
        let receive = &Places { displacements: &received_at, ..*receive };
        let mut layout = Layout::varying(rank, size_of::<T>(), send, receive)?;
        let what = format!("of {}-byte elements among {size} ranks by {}", size_of::<T>(), algorithm.name());
        let words = format!("alltoallv {what} on {}", self.topology.text());
        let Lengths::Each(table) = &mut layout.lengths else {
            return Err(Error::Argument("blocks of different lengths are laid out as equal ones".to_owned()));
        };
        if algorithm.name() == "direct" {
            return Prepared::new(compile(rounds, &layout)?, self.signature(words));
        }
        let passing = self.exchange_counts(&problem, &rounds, send.counts, format!("counts of {words}"))?;
        self.check_counts(&passing, receive.counts, size_of::<T>() as u64, &words)?;
        table.extend(passing);
        // The others rely on this rank by now: what keeps it from planning is everybody's failure.
        let planned = check_sums(&layout, size_of::<T>())
            .and_then(|()| Ok(compile(rounds, &layout)?))
            .and_then(|plan| Prepared::new(plan, self.signature(words.clone())));
        planned.map_err(|error| {
            let cause = Cause::Aborted { rank, reason: error.to_string().into() };
            self.fail_planning(&words, Some(rank), cause)
        })
    }

    /// Sends the counts through the schedule, and returns those of all blocks that come by.
    fn exchange_counts(
        &mut self,
        problem: &Problem,
        rounds: &[RankRound],
        counts: &[usize],
        words: String,
    ) -> Result<HashMap<Block, u64>, Error> {
        const WORD: u64 = size_of::<u64>() as u64;
        let rank = Rank::new(self.rank());
        let arrivals = rounds.iter().flat_map(|round| &round.receives).flat_map(|end| &end.blocks);
        let passing: BTreeSet<Block> = arrivals.map(|block| block.whole()).collect();
        let word = |buffer, (i, block): (usize, Block)| (block, Run::new(buffer, i as u64 * WORD, WORD));
        let layout = Layout {
            element: WORD,
            lengths: Lengths::Equal(1),
            before: problem.all().map(|to| word(Buffer::Input, (to.index(), Block::new(rank, to)))).collect(),
            after: passing.iter().copied().enumerate().map(|at| word(Buffer::Output, at)).collect(),
            input: counts.len() as u64 * WORD,
            output: passing.len() as u64 * WORD,
        };
        let mut prepared = Prepared::new(compile(rounds.iter().cloned(), &layout)?, self.signature(words))?;
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
        let (call, observer) = (self.wire.calls.saturating_sub(1), Rank::new(self.rank()));
        let failure = Failure { call, words: words.into(), round: 0, observer, culprit, cause };
        self.wire.transport.abort(failure.clone());
        self.wire.failed(self.wire.transport.failure().unwrap_or(failure))
    }

    fn check_places(&self, send: &Places<'_>, receive: &Places<'_>) -> Result<(), Error> {
        let (me, size) = (self.rank(), self.size());
        check("list of send counts", send.counts.len(), size)?;
        check("list of send displacements", send.displacements.len(), size)?;
        check("list of receive counts", receive.counts.len(), size)?;
        check("list of receive displacements", receive.displacements.len(), size)?;
        for (what, places) in [("send", send), ("receive", receive)] {
            for (i, (&count, &at)) in places.counts.iter().zip(places.displacements).enumerate() {
                let length = places.length;
                if count > 0 && at.checked_add(count).is_none_or(|end| end > length) {
                    let block = format!("{what} block {i}: {count} elements from {at} on");
                    return Err(Error::Argument(format!("{block} are not inside a buffer of {length}")));
                }
            }
        }
        let mut ranges: Vec<(usize, usize, usize)> =
            (0..size).map(|i| (receive.displacements[i], receive.counts[i], i)).filter(|r| r.1 > 0).collect();
        ranges.sort_unstable();
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
            let (i, j) = (pair[0].2, pair[1].2);
            return Err(Error::Argument(format!("receive blocks {i} and {j} overlap, at element {}", pair[1].0)));
        }
        let (out, back) = (send.counts[me], receive.counts[me]);
        if out != back {
            return Err(Error::Argument(format!("rank {me} sends itself {out} elements but awaits {back}")));
        }
        Ok(())
    }
}

/// Where blocks begin; those of no elements anywhere, so at 0.
fn places_of_blocks(places: &Places<'_>) -> Vec<usize> {
    let blocks = places.counts.iter().zip(places.displacements);
    blocks.map(|(&count, &at)| if count == 0 { 0 } else { at }).collect()
}

/// That all a rank holds at any time can be counted in bytes: the blocks that it has, gets or passes on together.
fn check_sums(layout: &Layout, element: usize) -> Result<(), Error> {
    let Lengths::Each(table) = &layout.lengths else { return Ok(()) };
    let elements = table.values().map(|&elements| u128::from(elements)).sum::<u128>();
    if elements.saturating_mul(element as u128) > i64::MAX as u128 {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        return Err(PlanError::Overflow { blocks: 1, elements, element }.into());
    }
    Ok(())
}

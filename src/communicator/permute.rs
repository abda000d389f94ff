//! Permutations of distributed arrays.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::cache::Prepared;
use super::collectives::check;
use super::persistent::Need;
use super::{Communicator, Persistent, total};
use crate::error::Error;
use crate::ids::Rank;
use crate::permutation::{BitMap, Permutation, Way};
use crate::plan::{Layout, compile};
use crate::schedule::Volume;

/// What a rank had to do for a permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Motion {
    /// How elements got to where they belong.
    pub way: Way,
    /// The rounds.
    pub rounds: usize,
    /// Messages that this rank sent.
    pub messages: usize,
    /// Elements of the array that this rank sent, its own and others'.
    pub sent: u64,
    /// The sum over rounds of the most elements that this rank sent to one.
    pub transmission: u64,
}

impl Communicator {
    /// Permutes an array of which every member has an equal part: the one at address x, which lies at rank x / L, place x mod L, goes to
    /// the address that the map says; L, the elements of a member, is the same everywhere. An element may be several of
    /// `T`: as many as `send` is longer than the map's part. Says what it cost. See [`permutation`](crate::permutation).
    ///
    /// ```
    /// use necklace::permutation::BitMap;
    /// // 16 elements on 4 ranks, dealt to them in turn.
    /// let parts = necklace::local::run_on("hypercube:2", |mut comm| {
    ///     let own: Vec<usize> = (0..4).map(|i| 4 * comm.rank() + i).collect();
    ///     let mut dealt = vec![0; 4];
    ///     let map = BitMap::consecutive_to_cyclic(4, 2).unwrap();
    ///     let motion = comm.permute(&map, &own, &mut dealt).unwrap();
    ///     assert_eq!((motion.rounds, motion.transmission), (2, 2));
    ///     dealt
    /// });
    /// assert_eq!(parts.unwrap()[1], [1, 5, 9, 13]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError::Array`](crate::error::BuildError::Array) unless the members are a power of two, and no more than the map's elements;
    /// [`Error::Argument`] where `send` is no multiple of the map's part, [`Error::Length`] where `receive` is not as long; else as
    /// [`Communicator`] says.
    pub fn permute<T: Pod>(&mut self, map: &BitMap, send: &[T], receive: &mut [T]) -> Result<Motion, Error> {
        let permutation = self.permutation(map)?;
        let each = usize::try_from(permutation.each()).unwrap_or(usize::MAX);
        if !send.len().is_multiple_of(each) {
            let words = format!(
                "a send buffer of {} elements cannot be {} elements of an array of 2^{} on {} ranks, nor a multiple",
                send.len(),
                each,
                map.bits(),
                self.size()
            );
            return Err(Error::Argument(words));
        }
        check("receive buffer", receive.len(), send.len())?;
        let (mut prepared, motion) = self.plan_permutation(&permutation, send.len() / each * size_of::<T>())?;
        self.wire.execute(&mut prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)?;
        Ok(motion)
    }

    /// Plans a [`permute`](Self::permute) of an array each of whose elements is so many of `T`. Local. Says what it will cost.
    ///
    /// # Errors
    ///
    /// As [`permute`](Self::permute), and [`Error::Plan`] where a buffer would be too long.
    pub fn permute_init<T: Pod>(&mut self, map: &BitMap, elements: usize) -> Result<(Persistent<T>, Motion), Error> {
        let permutation = self.permutation(map)?;
        let each = usize::try_from(permutation.each()).unwrap_or(usize::MAX);
        let length = total(elements, each, size_of::<T>())?;
        let (prepared, motion) = self.plan_permutation(&permutation, elements.saturating_mul(size_of::<T>()))?;
        let (maker, need) = (self.wire.maker(), Need::Exactly(length));
        Ok((Persistent { prepared, maker, send: need, receive: need, of: PhantomData }, motion))
    }

    fn permutation(&self, map: &BitMap) -> Result<Permutation, Error> {
        Ok(Permutation::new(map.clone(), Arc::clone(&self.topology), self.placement.clone())?)
    }

    fn plan_permutation(&mut self, permutation: &Permutation, element: usize) -> Result<(Prepared, Motion), Error> {
        let rank = Rank::new(self.rank());
        if permutation.pieces() > Layout::MOST_RUNS {
            let (map, each) = (permutation.map(), permutation.each());
            let words = format!(
                "permute {map}: a plan lists {} pieces of memory at most, of {each} elements a rank",
                Layout::MOST_RUNS
            );
            return Err(Error::Argument(words));
        }
        // Elements without bytes go the way of those with one, and move none.
        let layout = permutation.layout(rank, element.max(1))?;
        let layout = if element == 0 { layout.emptied() } else { layout };
        let rounds: Vec<_> = permutation.moves(rank).collect();
        let (map, way) = (permutation.map(), permutation.way());
        let (size, topology) = (self.size(), self.topology.text());
        let words = format!("permute {map}, elements of {element} bytes among {size} ranks {way} on {topology}");
        let blocks = |volume: Volume| volume.whole().unwrap_or(0) * permutation.block();
        let of_round = |round: &crate::schedule::RankRound| {
            round.sends.iter().map(|end| Volume::of(&end.blocks)).collect::<Vec<_>>()
        };
        let sends: Vec<Vec<Volume>> = rounds.iter().map(of_round).collect();
        let motion = Motion {
            way: way.clone(),
            rounds: rounds.len(),
            messages: sends.iter().map(Vec::len).sum(),
            sent: sends.iter().flatten().map(|&sent| blocks(sent)).sum(),
            transmission: sends.iter().filter_map(|sent| sent.iter().map(|&sent| blocks(sent)).max()).sum(),
        };
        Ok((Prepared::new(compile(rounds, &layout)?, self.signature(words))?, motion))
    }
}

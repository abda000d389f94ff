//! Permutations of distributed arrays.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::choosing::{EXCHANGE, METHODS, PERMUTE, STRAIGHT, method};
use super::element::Element;
use super::how::How;
use super::lengths::{BufferLength, check, total};
use super::permute_report::{PermuteReport, PlannedPermutation};
use super::persistent::Origin;
use super::planned_call::PlannedCall;
use super::{Communicator, Persistent};
use crate::block::Volume;
use crate::error::{ArgumentError, BuildError, CallError, Error};
use crate::ids::Rank;
use crate::permutation::{BitMap, Permutation, place_bits};
use crate::plan::{Layout, compile};

impl Communicator {
    /// Permutes a distributed array by a map of address bits, and returns the cost for this rank.
    ///
    /// Every member has an equal part of L elements. The element at address x is at place x mod L
    /// of rank x / L; it goes to the address that the map gives. An element may consist of several
    /// `T`: `send.len()` is L times their number. [`permutation`](crate::permutation) explains the
    /// methods. The call uses the [chosen](Self::choose) one, or the cheaper one.
    ///
    /// # Cost
    ///
    /// The plan for a map, a type and a length is made once and then
    /// [cached](crate::communicator::Options::cache). A call with a cached plan allocates nothing.
    /// Planning takes time and memory in proportion to:
    ///
    /// - the pieces of a rank's part: its elements, divided by those that stay together;
    /// - the d 2^(d-1) blocks, or their chunks, that pass through a rank in an exchange of d
    ///   dimensions;
    /// - the time and memory of [`Permutation::new`].
    ///
    /// ```
    /// use necklace::permutation::BitMap;
    /// // 16 elements on 4 ranks, dealt to them in turn.
    /// let parts = necklace::local::run_on("hypercube:2", |mut comm| {
    ///     // Use the channels of the cube; by default, threads send straight to each other.
    ///     comm.choose("permute", "exchange").unwrap();
    ///     let own: Vec<usize> = (0..4).map(|i| 4 * comm.rank() + i).collect();
    ///     let mut dealt = vec![0; 4];
    ///     let map = BitMap::consecutive_to_cyclic(4, 2).unwrap();
    ///     let report = comm.permute(&map, &own, &mut dealt).unwrap();
    ///     assert_eq!((report.rounds, report.transmission), (2, 2));
    ///     dealt
    /// });
    /// assert_eq!(parts.unwrap()[1], [1, 5, 9, 13]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError::Array`] unless the number of members is a power of two, and at most the number
    /// of the map's elements; [`ArgumentError::Part`] unless the length of `send` is a multiple of
    /// L; [`ArgumentError::Pieces`] for more than 2^24 pieces on a rank; [`ArgumentError::Length`]
    /// if `receive` has another length than `send`; otherwise see [`Communicator`].
    #[track_caller]
    pub fn permute<T: Pod>(&mut self, map: &BitMap, send: &[T], receive: &mut [T]) -> Result<PermuteReport, Error> {
        self.permuted(map, send, receive).map_err(self.context.error_of("permute"))
    }

    fn permuted<T: Pod>(&mut self, map: &BitMap, send: &[T], receive: &mut [T]) -> Result<PermuteReport, CallError> {
        let each = self.part(map)?;
        if !send.len().is_multiple_of(each) {
            let (found, bits, ranks) = (send.len(), map.bits(), self.size());
            return Err(ArgumentError::Part { found, part: each, bits, ranks }.into());
        }
        check("receive buffer", receive.len(), send.len())?;
        let (element, width) = (Element::of::<T>(), send.len() / each);
        let using = self.using.as_ref();
        let same = |(known, of, wide, used): &(BitMap, Element, usize, Option<How>)| {
            (known, *of, *wide, used.as_ref()) == (map, element, width, using)
        };
        if !self.permutations.find_by(same) {
            let key = (map.clone(), element, width, using.cloned());
            let (planned, report) = self.plan_permutation(map, element, width)?;
            self.permutations.insert(key, PlannedPermutation { planned, report });
        }
        let lost = || Error::Internal("a plan just made is not in the cache".into());
        let PlannedPermutation { planned, report } = self.permutations.last().ok_or_else(lost)?;
        self.context.execute(planned, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)?;
        Ok(*report)
    }

    /// Plans a [`permute`](Self::permute) of elements of `width` `T` each, and returns the plan
    /// with its cost for this rank.
    ///
    /// Local. Takes the time and memory of planning in [`permute`](Self::permute).
    ///
    /// # Errors
    ///
    /// Those of [`permute`](Self::permute), and [`ArgumentError::Plan`] if a buffer would be too
    /// long.
    #[track_caller]
    pub fn permute_init<T: Pod>(
        &mut self,
        map: &BitMap,
        width: usize,
    ) -> Result<(Persistent<T>, PermuteReport), Error> {
        self.persistent_permutation(map, width).map_err(self.context.error_of("permute_init"))
    }

    fn persistent_permutation<T: Pod>(
        &mut self,
        map: &BitMap,
        width: usize,
    ) -> Result<(Persistent<T>, PermuteReport), ArgumentError> {
        let each = self.part(map)?;
        let length = total(width, each, size_of::<T>())?;
        let (planned, report) = self.plan_permutation(map, Element::of::<T>(), width)?;
        let (owner, need) = (self.context.communicator(), BufferLength::Exactly(length));
        Ok((
            Persistent {
                planned,
                owner,
                send: need,
                receive: need,
                reduction: None,
                origin: Origin::Permutation,
                of: PhantomData,
            },
            report,
        ))
    }

    /// Returns the name of the chosen method. Fails unless the choice is one of them.
    pub(super) fn permute_method(&self, how: Option<&How>) -> Result<&'static str, BuildError> {
        match how.map(|how| (how, how.as_name())) {
            None => Ok("auto"),
            Some((_, Some(name))) => method(name),
            Some((how, None)) => Err(BuildError::Unfit {
                algorithm: how.name(),
                collective: PERMUTE.to_owned(),
                topology: self.topology.text(),
                needs: format!("it needs the name of a method, one of {}", METHODS.join(", ")),
            }),
        }
    }

    /// Returns the number of elements of an array that each member has.
    fn part(&self, map: &BitMap) -> Result<usize, BuildError> {
        let place_bits = place_bits(map, self.size())?;
        Ok(u32::try_from(place_bits).ok().and_then(|bits| 1_usize.checked_shl(bits)).unwrap_or(usize::MAX))
    }

    /// Makes the permutation by the chosen method, or by the cheaper one.
    fn permutation(&self, map: &BitMap, element: usize) -> Result<Permutation, BuildError> {
        let method = self.permute_method(self.how(PERMUTE, false))?;
        let permutation = Permutation::new(map.clone(), Arc::clone(&self.topology), self.placement.clone())?;
        match method {
            STRAIGHT => Ok(permutation.straight()),
            EXCHANGE => Ok(permutation),
            // Elements without bytes take the method of those with one byte, and move none.
            _ => Ok(permutation.cheaper(&self.machine, element.max(1) as u64)),
        }
    }

    /// Plans a permutation whose elements are `width` elements of a buffer each.
    fn plan_permutation(
        &mut self,
        map: &BitMap,
        Element { size: bytes, name, .. }: Element,
        width: usize,
    ) -> Result<(PlannedCall, PermuteReport), ArgumentError> {
        let element = width.saturating_mul(bytes);
        let permutation = self.permutation(map, element)?;
        let rank = Rank::new(self.rank());
        let (pieces, most) = (permutation.pieces(), Layout::MOST_RUNS);
        if pieces > most {
            let (map, elements) = (map.to_string(), permutation.each());
            return Err(ArgumentError::Pieces { map, elements, pieces, most });
        }
        let layout = permutation.layout(rank, element.max(1))?;
        let layout = if element == 0 { layout.emptied() } else { layout };
        let rounds: Vec<_> = permutation.moves(rank).collect();
        let method = permutation.method();
        let (size, topology) = (self.size(), self.topology.text());
        let description = format!(
            "permute {map}, elements of {element} bytes ({width} x {name}) among {size} ranks {method} on {topology}"
        );
        let channel = permutation.channel();
        let mut report = PermuteReport { method, rounds: rounds.len(), messages: 0, sent: 0, transmission: 0, channel };
        for round in &rounds {
            let sizes = round.sends.iter().map(|end| Volume::of(&end.blocks).bytes(permutation.block()) as u64);
            report.messages += round.sends.len();
            report.sent += sizes.clone().sum::<u64>();
            report.transmission += sizes.max().unwrap_or(0);
        }
        Ok((PlannedCall::new(compile(rounds, &layout)?, self.signature(description))?, report))
    }
}

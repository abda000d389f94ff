//! Permutations of distributed arrays.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::choosing::PERMUTE;
use super::element::Element;
use super::how::How;
use super::lengths::{Need, check, total};
use super::motion::{Motion, Planned};
use super::prepared::Prepared;
use super::{Communicator, Persistent};
use crate::block::Volume;
use crate::error::{BuildError, Error};
use crate::ids::Rank;
use crate::permutation::{BitMap, Permutation, place_bits};
use crate::plan::{Layout, compile};

const EXCHANGE: &str = "exchange";
const STRAIGHT: &str = "straight";
const WAYS: [&str; 3] = ["auto", EXCHANGE, STRAIGHT];

impl Communicator {
    /// Permutes a distributed array by a map of address bits, and returns what that cost.
    ///
    /// Every member has an equal part of L elements. The element at address x, at place x mod L of rank
    /// x / L, goes to the address that the map gives. An element may consist of several `T`: as many as
    /// `send` is longer than the map's part. [`permutation`](crate::permutation) explains the methods; the
    /// [chosen](Self::choose) one is used, or the cheaper one.
    ///
    /// The plan of a map and a length is made once and then [cached](crate::communicator::Options::cache);
    /// with a cached plan, nothing is allocated. Planning takes time and memory in proportion to the pieces
    /// of a rank's part (its elements, divided by those that stay together) and to the d 2^(d-1) blocks, or
    /// their chunks, that pass through a rank in an exchange of d dimensions, besides what
    /// [`Permutation::new`] takes.
    ///
    /// ```
    /// use necklace::permutation::BitMap;
    /// // 16 elements on 4 ranks, dealt to them in turn.
    /// let parts = necklace::local::run_on("hypercube:2", |mut comm| {
    ///     // Threads go straight to each other, unless told to use the channels of the cube only.
    ///     comm.choose("permute", "exchange").unwrap();
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
    /// [`BuildError::Array`] unless the number of members is a power of two, and at most the number of the
    /// map's elements; [`Error::Argument`] if `send` is not a multiple of the map's part, and for more than
    /// 2^24 pieces a rank; [`Error::Length`] if `receive` has another length; otherwise see
    /// [`Communicator`].
    pub fn permute<T: Pod>(&mut self, map: &BitMap, send: &[T], receive: &mut [T]) -> Result<Motion, Error> {
        let each = self.part(map)?;
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
        let (element, width) = (Element::of::<T>(), send.len() / each);
        let using = self.using.as_ref();
        let same = |(known, of, wide, used): &(BitMap, Element, usize, Option<How>)| {
            (known, *of, *wide, used.as_ref()) == (map, element, width, using)
        };
        if !self.permutations.find_by(same) {
            let key = (map.clone(), element, width, using.cloned());
            let (prepared, motion) = self.plan_permutation(map, element, width)?;
            self.permutations.insert(key, Planned { prepared, motion });
        }
        let lost = || Error::Argument("a plan just made is not in the cache".to_owned());
        let Planned { prepared, motion } = self.permutations.last().ok_or_else(lost)?;
        self.wire.execute(prepared, bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), None)?;
        Ok(*motion)
    }

    /// Plans a [`permute`](Self::permute) of elements of `width` `T` each, and returns what it will cost.
    ///
    /// Local. Takes as much time and memory as the planning of [`permute`](Self::permute).
    ///
    /// # Errors
    ///
    /// Those of [`permute`](Self::permute), and [`Error::Plan`] if a buffer would be too long.
    pub fn permute_init<T: Pod>(&mut self, map: &BitMap, width: usize) -> Result<(Persistent<T>, Motion), Error> {
        let each = self.part(map)?;
        let length = total(width, each, size_of::<T>())?;
        let (prepared, motion) = self.plan_permutation(map, Element::of::<T>(), width)?;
        let (maker, need) = (self.wire.maker(), Need::Exactly(length));
        Ok((Persistent { prepared, maker, send: need, receive: need, of: PhantomData }, motion))
    }

    /// The name of a way to permute arrays.
    pub(super) fn way<'a>(&self, how: Option<&'a How>) -> Result<&'a str, BuildError> {
        match how.map(|how| (how, how.named())) {
            None => Ok("auto"),
            Some((_, Some(way))) if WAYS.contains(&way) => Ok(way),
            Some((_, Some(way))) => {
                let known = WAYS.map(str::to_owned).to_vec();
                Err(BuildError::Unknown { name: way.to_owned(), collective: PERMUTE.to_owned(), known })
            }
            Some((how, None)) => Err(BuildError::Unfit {
                algorithm: how.name(),
                collective: PERMUTE.to_owned(),
                topology: self.topology.text(),
                needs: format!("ways to permute have names: {}", WAYS.join(", ")),
            }),
        }
    }

    /// How many elements of an array a member has.
    fn part(&self, map: &BitMap) -> Result<usize, Error> {
        let place_bits = place_bits(map, self.size())?;
        Ok(u32::try_from(place_bits).ok().and_then(|bits| 1_usize.checked_shl(bits)).unwrap_or(usize::MAX))
    }

    /// The way that was chosen, or the cheaper one.
    fn permutation(&self, map: &BitMap, element: usize) -> Result<Permutation, BuildError> {
        let way = self.way(self.how(PERMUTE, false))?;
        let permutation = Permutation::new(map.clone(), Arc::clone(&self.topology), self.placement.clone())?;
        match way {
            STRAIGHT => Ok(permutation.straight()),
            EXCHANGE => Ok(permutation),
            // Elements without bytes go the way of those with one, and move none.
            _ => Ok(permutation.cheaper(&self.machine, element.max(1) as u64)),
        }
    }

    /// An element of the array is `width` elements of a buffer.
    fn plan_permutation(
        &mut self,
        map: &BitMap,
        Element { size: bytes, name, .. }: Element,
        width: usize,
    ) -> Result<(Prepared, Motion), Error> {
        let element = width.saturating_mul(bytes);
        let permutation = self.permutation(map, element)?;
        let rank = Rank::new(self.rank());
        let (pieces, most) = (permutation.pieces(), Layout::MOST_RUNS);
        if pieces > most {
            let each = permutation.each();
            let words = format!(
                "permute {map}: the {each} elements of a rank are {pieces} pieces of memory, of which a plan lists {most} at most; \
                 larger elements and fewer of them, or more ranks, make fewer pieces"
            );
            return Err(Error::Argument(words));
        }
        let layout = permutation.layout(rank, element.max(1))?;
        let layout = if element == 0 { layout.emptied() } else { layout };
        let rounds: Vec<_> = permutation.moves(rank).collect();
        let way = permutation.method();
        let (size, topology) = (self.size(), self.topology.text());
        let words = format!(
            "permute {map}, elements of {element} bytes ({width} x {name}) among {size} ranks {way} on {topology}"
        );
        let channel = permutation.channel();
        let mut motion = Motion { way, rounds: rounds.len(), messages: 0, sent: 0, transmission: 0, channel };
        for round in &rounds {
            let sizes = round.sends.iter().map(|end| Volume::of(&end.blocks).bytes(permutation.block()) as u64);
            motion.messages += round.sends.len();
            motion.sent += sizes.clone().sum::<u64>();
            motion.transmission += sizes.max().unwrap_or(0);
        }
        Ok((Prepared::new(compile(rounds, &layout)?, self.planned(words))?, motion))
    }
}

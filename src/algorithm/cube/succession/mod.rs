//! Exchanges in succession, along one axis of a cube after the other.
//!
//! Source: Johnsson & Ho, TR-16-92, §2.3 and §4. Differs from the paper: see below. The paper's
//! Theorem 2 falls below K/2, which every axis must carry. Its Algorithm 5 is only drawn, for six
//! axes. Model: all-port.
//!
//! A rank's number consists of s axes of d bits each, (c_s .. c_1). A place within a rank is (v,
//! i), where i has d bits. The places are exchanged with one axis after the other: i moves to c_1,
//! each c to the next axis, and c_s to the places. This is a generalized shuffle, a
//! [rotation](crate::permutation::BitMap) of these axes.
//!
//! With K = 2^m elements per rank:
//!
//! | term | [pipelined](Succession::pipelined) | [concurrent](Succession::concurrent) | paper |
//! |---|---|---|---|
//! | startups | K/2 + (s - 1) d | K/2 + 2d for K >= 2sd and 2d bits of a place; K/2 + d for s = 3, and one more for odd d | Corollary 2, Theorem 2 |
//! | elements over a channel | as many, one a step | as many | |
//! | hops | as many | as many | |
//! | elements sent by a rank | s d K/2 | up to s d^2 more | |
//!
//! If a place has at least the bits of two axes, the better of the two meets the corrected Theorem
//! 2: min(K/2 + (s - 1) d, max((s + 3) d, K/2 + 2d)). If it has fewer, only the pipelined
//! succession exists. A rank takes time and memory in proportion to the elements that it sends.
//! Contention-free.
//!
//! # Idea
//!
//! All elements are aligned once, before the first exchange. The element at (c_s .. c_1 | i) is at
//! location a, the sum modulo 2 of all of these. It stays at that location in every rank that it
//! reaches. After the last exchange, location a plus the sum of the axes of its rank is its place.
//! When the element crosses axis x, its relative address is a xor X, where X is the sum of the
//! other axes of the rank. (Nothing moves for the alignment here: locations only name elements.)
//!
//! While one group of locations crosses the second axis, the next group crosses the first, and so
//! on. The paper does so with Algorithm 4. But the relative address of a location differs from axis
//! to axis, and locations that form a necklace for one X form no necklace for another. So a group
//! of the first axis would not be a group of the second. Complement pairs stay complement pairs.
//! So a group has d pairs, as in Algorithm 1, and crosses each axis in d steps. If d does not
//! divide the K/2 pairs, the last group has d pairs and the left-over pairs. It takes as many steps
//! as it has pairs, and each element crosses within d consecutive steps (see `windows.rs`). So all
//! channels of an axis are busy for K/2 steps, and those of the next axis d steps later.
//!
//! So the last axis idles for (s - 1) d steps. In Algorithm 5 some groups start there, with the
//! other bits of the places, and return to the first axes later (see `batches.rs`).

mod batches;
mod windows;

use std::sync::{Arc, OnceLock};

use batches::{Batch, Memory, Needs, Pair, Shape, Slot};

use super::schemes::of_pair;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::collective::{Collective, Custom};
use crate::ids::Rank;
use crate::topology::{Hypercube, Topology};
use crate::vocabulary::{BuildError, End, Placement, Ports, Problem, RankRound, Share, listable};

/// A succession of exchanges of the places with s axes of d bits each.
#[derive(Clone, Debug)]
pub struct Succession {
    axes: usize,
    d: usize,
    /// The bits of a place.
    places: usize,
    topology: Arc<dyn Topology>,
    batches: Arc<[Batch]>,
    /// The crossings of each axis.
    timetable: Arc<[Vec<Slot>]>,
    /// The pre- and postcondition, computed on first use.
    collective: Arc<OnceLock<Collective>>,
}

static ABOUT: About = About {
    collective: "custom",
    name: "succession",
    summary: "exchanges the places with one axis of a cube after the other",
    source: "Johnsson & Ho, TR-16-92, 4",
    needs: "a cube; at least as many bits of a place as of an axis",
    claims: "s axes of d bits: pipelined K/2 + (s - 1) d start-ups of single elements, concurrently K/2 + 2d if K >= 2sd, or K/2 + d if s = 3, and one more for odd d; contention-free",
    ports: Ports::All,
};

impl Succession {
    /// The maximum number of bits of a place.
    const MAX_PLACE_BITS: usize = 20;

    /// Returns the pipelined succession of exchanges with `axes` axes of `d` bits each, with
    /// 2^`place_bits` elements per rank: all elements take the axes in order.
    ///
    /// Takes time and memory in proportion to the elements of one rank: some 12 bytes per element,
    /// and 20/d per element and axis.
    ///
    /// # Errors
    ///
    /// [`BuildError::Parameters`]:
    ///
    /// - without axes or bits, or if a place has fewer bits than an axis;
    /// - for axes of more than 15 bits, if the number of bits does not divide K/2;
    /// - for more ranks than a [`Hypercube`] has, and for more than 20 bits of a place.
    pub fn pipelined(axes: usize, d: usize, place_bits: usize) -> Result<Self, BuildError> {
        Self::of(Shape { axes, d, places: place_bits }, batches::pipelined)
    }

    /// Like [`pipelined`](Self::pipelined), but some elements, as many as possible, start with a
    /// later axis instead of waiting for the first (Algorithm 5).
    ///
    /// # Errors
    ///
    /// As [`pipelined`](Self::pipelined); also for fewer than three axes, for a place of fewer bits
    /// than two axes, and for too few elements.
    pub fn concurrent(axes: usize, d: usize, place_bits: usize) -> Result<Self, BuildError> {
        Self::of(Shape { axes, d, places: place_bits }, batches::concurrent)
    }

    fn of(shape: Shape, batches: impl Fn(Shape) -> Result<Vec<Batch>, Needs>) -> Result<Self, BuildError> {
        let Shape { axes, d, places } = shape;
        let needs = |expected: String| BuildError::Parameters {
            algorithm: "succession".to_owned(),
            found: format!("axes {axes}, bits of an axis {d}, bits of a place {places}"),
            expected,
        };
        let most = Hypercube::MAX_DIMENSIONS;
        let cube = axes
            .checked_mul(d)
            .filter(|dimensions| *dimensions > 0)
            .and_then(|dimensions| Hypercube::new(dimensions).ok());
        let topology = cube.ok_or_else(|| needs(format!("1 to {most} bits of all axes together")))?;
        let most = Self::MAX_PLACE_BITS;
        if d > most {
            return Err(needs(format!("bits of an axis up to {most}, the most of a place")));
        }
        if !(d..=most).contains(&places) {
            return Err(needs(format!("bits of a place from {d}, those of an axis, to {most}")));
        }
        let batches = batches(shape).map_err(needs)?;
        let timetable = batches::timetable(&batches, axes, d);
        Ok(Self {
            axes,
            d,
            places,
            topology: Arc::new(topology),
            batches: batches.into(),
            timetable: timetable.into(),
            collective: Arc::default(),
        })
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.timetable.iter().flatten().map(|slot| slot.start + slot.pairs).max().unwrap_or(0)
    }

    /// Returns the problem, a custom collective: block [s, t, v, ..] is the element with index v
    /// that rank s has for rank t. The first call takes time and memory proportional to the
    /// elements of all ranks, some 100 bytes each.
    ///
    /// # Errors
    ///
    /// [`BuildError::Blocks`] for more than 2^24 elements.
    pub fn problem(&self) -> Result<Problem, BuildError> {
        let collective = self.collective()?.clone();
        Problem::placed(Arc::clone(&self.topology), Placement::identity(self.topology.nodes()), collective)
    }

    fn collective(&self) -> Result<&Collective, BuildError> {
        listable(self.name(), (self.topology.nodes() as u128) << self.places)?;
        Ok(self.collective.get_or_init(|| {
            let ranks = self.topology.nodes();
            let elements = || (0..1 << self.d).flat_map(|i| (0..self.copies()).map(move |copy| (i, copy)));
            let held =
                |rank: usize| elements().map(move |(i, copy)| (self.block(rank, i, copy), vec![Rank::new(rank)]));
            let mut post = vec![vec![]; ranks];
            for (block, of) in (0..ranks).flat_map(held) {
                post[block.destination().unsigned_abs() as usize].push((block, of));
            }
            let pre = (0..ranks).map(|rank| held(rank).collect()).collect();
            Collective::Custom(Arc::new(Custom { pre, post }))
        }))
    }

    fn copies(&self) -> usize {
        1 << (self.places - self.d)
    }

    /// Returns the element of a rank at a place.
    fn block(&self, source: usize, i: usize, copy: usize) -> Block {
        let ranks = self.topology.nodes();
        let destination = (source << self.d | i) % ranks;
        let whole = Block::new(Rank::new(source), Rank::new(destination));
        whole.chunks(copy as u32, self.copies() as u32, 1).unwrap_or(whole)
    }

    fn opposite(&self) -> usize {
        (1 << self.d) - 1
    }

    fn axis(&self, rank: usize, x: usize) -> usize {
        rank >> (x * self.d) & self.opposite()
    }

    fn sum(&self, rank: usize, axes: impl IntoIterator<Item = usize>) -> usize {
        axes.into_iter().fold(0, |sum, x| sum ^ self.axis(rank, x))
    }

    /// Replaces the number of axis x in a rank; returns the new rank and the old number.
    fn swapped(&self, rank: usize, x: usize, number: usize) -> (usize, usize) {
        let had = self.axis(rank, x);
        (rank ^ (had ^ number) << (x * self.d), had)
    }

    /// Returns the location of a pair's first element while it is exchanged through this memory.
    fn location(&self, memory: Memory, pair: &Pair) -> usize {
        match memory {
            Memory::I => pair.i,
            Memory::V => pair.v & self.opposite(),
            // The pairs {(I, V), (I, not V)} and {(not I, not V), (not I, V)} have the same
            // location here. The second pair names its other element first. So the first elements
            // of two such pairs are opposites, as in the other part.
            Memory::Second => pair.v & self.opposite() ^ pair.i.min(pair.i ^ self.opposite()),
        }
    }

    /// Returns the crossings of axis x at a rank in a slot, step by step, by dimension.
    fn leg(&self, rank: usize, x: usize, slot: Slot) -> Vec<Vec<Crossed>> {
        let (d, batch) = (self.d, &self.batches[slot.batch]);
        let part = &batch.parts[slot.part];
        let others = self.sum(rank, (part.first..=part.last).filter(|other| *other != x));
        let pairs = &batch.pairs[slot.first..][..slot.pairs];
        let addresses: Vec<usize> = pairs.iter().map(|pair| self.location(part.memory, pair) ^ others).collect();
        let windows = (pairs.len() > d).then(|| windows::schedule(d, &addresses));
        let mut done = vec![[0; 2]; addresses.len()];
        let mut step = |t: usize| -> Vec<Crossed> {
            let crossing = |dimension: usize| {
                let pair = match &windows {
                    // Without a schedule nothing crosses, and verification fails.
                    Some(steps) => steps.as_ref()?[t][dimension] % addresses.len(),
                    None => (dimension + d - t % d) % d,
                };
                // The element of the pair that has the bit.
                let address = of_pair(d, addresses[pair], dimension).address;
                let is_second = address != addresses[pair];
                let done = &mut done[pair][usize::from(is_second)];
                let before = std::mem::replace(done, *done | 1 << dimension);
                Some(Crossed { dimension, address, before, location: address ^ others, pair: pairs[pair] })
            };
            (0..d).filter_map(crossing).collect()
        };
        (0..addresses.len()).map(&mut step).collect()
    }

    /// Returns the block that a rank sends in a crossing of axis x: the source and original place
    /// of the element.
    fn sent(&self, rank: usize, x: usize, slot: Slot, crossed: &Crossed) -> Block {
        let &Crossed { address, before, location, pair, .. } = crossed;
        let part = &self.batches[slot.batch].parts[slot.part];
        // Back to the place before this part: each axis had what the next axis, or memory, has now.
        let old = self.axis(rank, x) ^ before;
        let (mut rank, _) = self.swapped(rank, x, old);
        let mut memory = old ^ address;
        for y in (part.first..x).rev() {
            (rank, memory) = self.swapped(rank, y, memory);
        }
        let high = pair.v & !self.opposite();
        let added = |rank: usize| self.sum(rank, pair.from..self.axes);
        match part.memory {
            Memory::I => self.block(rank, memory, pair.v ^ added(rank)),
            Memory::V => self.block(rank, pair.i ^ self.sum(rank, 0..self.axes), high | memory),
            Memory::Second => {
                let i = memory;
                let mut v = location ^ pair.i ^ added(rank);
                for y in (pair.from..self.axes).rev() {
                    (rank, v) = self.swapped(rank, y, v);
                }
                self.block(rank, i, high | v)
            }
        }
    }
}

/// The crossing of a dimension of an axis.
#[derive(Clone, Debug)]
struct Crossed {
    dimension: usize,
    /// The relative address along this axis.
    address: usize,
    /// The dimensions that were crossed before.
    before: usize,
    location: usize,
    pair: Pair,
}

/// The crossings under way along an axis.
struct Leg {
    slot: Slot,
    steps: Vec<Vec<Crossed>>,
}

impl Algorithm for Succession {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn name(&self) -> String {
        let how = if self.batches.len() > 1 { "concurrent" } else { "pipelined" };
        let Self { axes, d, places, .. } = self;
        format!("succession of {axes} exchanges of {d} bits, of 2^{places} elements, {how}")
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let own = self.collective().is_ok_and(|own| problem.collective() == own)
            && problem.placement().is_identity()
            && problem.topology().text() == self.topology.text();
        (!own).then(|| "it is for its own problem".to_owned())
    }

    fn claims(&self, _: &Problem) -> Claims {
        let (steps, copies) = (self.steps() as u64, self.copies() as u64);
        // One element of each pair crosses each dimension.
        let sent = self.timetable.iter().flatten().map(|slot| (slot.pairs * self.d) as u64).sum();
        let volume = Some(Volume::new(sent, copies));
        Claims {
            transmission: Some(Volume::new(steps, copies)),
            port_transmission: volume,
            handled: Some(2 * sent),
            messages: Some(sent),
            volume,
            ..Claims::of_single_blocks(steps, true)
        }
    }

    fn rounds(&self, _: &Problem, rank: Rank) -> Share {
        let (this, rank) = (self.clone(), rank.index());
        let mut legs: Vec<Option<Leg>> = (0..self.axes).map(|_| None).collect();
        let mut next = vec![0; self.axes];
        Box::new((0..this.steps()).map(move |t| {
            let mut round = RankRound::default();
            for x in 0..this.axes {
                if let Some(&slot) = this.timetable[x].get(next[x]).filter(|slot| slot.start == t) {
                    legs[x] = Some(Leg { slot, steps: this.leg(rank, x, slot) });
                    next[x] += 1;
                }
                let Some(Leg { slot, steps }) = &legs[x] else { continue };
                for crossed in steps.get(t - slot.start).into_iter().flatten() {
                    let peer = rank ^ 1 << (x * this.d + crossed.dimension);
                    let end = |from: usize| End::new(Rank::new(peer), vec![this.sent(from, x, *slot, crossed)]);
                    round.sends.push(end(rank));
                    round.receives.push(end(peer));
                }
            }
            round
        }))
    }
}

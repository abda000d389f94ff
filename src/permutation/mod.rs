//! Permutations of distributed arrays by the bits of their addresses.
//!
//! Source: Johnsson & Ho, TR-16-92, §2. An array of 2^k elements is distributed over 2^n ranks, an
//! equal part of consecutive addresses each: the n highest bits of an address are the rank, the
//! others are the place within it. A [`BitMap`] says where each element goes. It has the
//! permutations of the paper: axis exchange, transpose, bit and vector reversal, shuffle,
//! unshuffle, generalized shuffle, consecutive to cyclic and back, to and from Gray code.
//!
//! [`Communicator::permute`](crate::Communicator::permute) executes a permutation. Which methods
//! are possible depends on how the map changes the rank bits:
//!
//! - **One exchange.** Suppose that a rank's elements go, in equal numbers, to all ranks that agree
//!   with it outside of d bits, and that these ranks sit on a cube: neighbours if they differ in
//!   one of the bits, no neighbours if they differ in two. Then the permutation is an [exchange
//!   within sub-cubes](crate::algorithm::cube) of d dimensions. The map may change the place bits,
//!   and these d bits themselves, in any way: `(j|i)` to `(f(i)|g(j))`. The exchange moves half of
//!   a rank's elements over each channel of the sub-cube, which is the minimum, in d rounds. Local
//!   rearrangements are part of reading elements from memory and writing them there.
//! - **Two exchanges.** Suppose that a place has at least as many bits as the map changes in the
//!   rank, and that ranks that differ in these bits alone sit on a cube. Then two exchanges
//!   suffice, through intermediate ranks chosen so that both moves are exchanges. All elements of a
//!   rank cross each channel, in 2 d rounds. (This is not in the paper, which exchanges several
//!   groups of d place bits one after the other, see
//!   [`Succession`](crate::algorithm::cube::Succession).)
//! - **Straight.** Every element goes directly to its destination, in one round. On a cube the load
//!   of the busiest channel is the minimum for exchanges as above; for a vector reversal, whose
//!   messages share no channel; and for a generalized shuffle by at most as many bits as a place
//!   has, in which no channel carries more than half of a rank's elements. For the unshuffle of
//!   three or more dimensions it is four times as much; for a reversal of six or more rank bits,
//!   eight times and more.
//!
//! If several methods are possible, the [cheaper](Permutation::cheaper) one by the prices of the
//! communicator's machine is chosen, as for other collectives. Among threads, and processes of one
//! host, this is the straight one whatever the topology, except for small blocks among many ranks
//! (one exchange among some 1000 threads, 32 processes over TCP or 64 over MPI). To decide
//! yourself, [choose](crate::Communicator::choose) `"exchange"` (if possible) or `"straight"` for
//! `"permute"`.

mod basis;
mod detour;
mod loads;
mod map;

pub use map::{BitMap, BitMapError};

use basis::Basis;
use detour::Detour;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::algorithm::cube::{Scheme, Within, are_cubes, is_cube};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::collective::{Collective, Custom, Holding};
use crate::cost::Demand;
use crate::ids::Rank;
use crate::machine::Machine;
use crate::plan::{Layout, PlanError};
use crate::topology::{Topology, same};
use crate::vocabulary::{BuildError, End, Placement, Ports, Problem, RankRound, Share, listable};

/// A permutation of a distributed array, with the method that executes it.
///
/// It is the algorithm for its own [problem](Self::problem): a custom collective with one block
/// from each rank to each rank for which it has elements.
#[derive(Clone, Debug)]
pub struct Permutation {
    map: BitMap,
    rank_bits: usize,
    method: Method,
    /// The labels, if the method is two exchanges.
    detour: Option<Arc<Detour>>,
    topology: Arc<dyn Topology>,
    placement: Placement,
    /// The pre- and postcondition, computed on first use.
    collective: Arc<OnceLock<Collective>>,
}

/// The method by which an array is permuted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Every element stays at its rank.
    Local,
    /// One exchange within sub-cubes: the ranks that agree in all bits except the ones set here.
    Exchange(u64),
    /// Two exchanges within such sub-cubes, through intermediate ranks.
    Exchanges(u64),
    /// Every element goes directly to its destination, in one round.
    Straight,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("within ranks"),
            Self::Exchange(bits) => write!(f, "by an exchange within bits {:?} of the ranks", set(*bits)),
            Self::Exchanges(bits) => write!(f, "by two exchanges within bits {:?} of the ranks", set(*bits)),
            Self::Straight => f.write_str("straight"),
        }
    }
}

const fn about(claims: &'static str, ports: Ports) -> About {
    About {
        collective: "custom",
        name: "permutation",
        summary: "moves the elements of a distributed array by a map of the bits of their addresses",
        source: "Johnsson & Ho, TR-16-92, 2",
        needs: "a number of ranks that is a power of two, and at least as many elements",
        claims,
        ports,
    }
}

static APART: About = about(
    "within sub-cubes of d dimensions: d start-ups and half of the elements over each channel, by two exchanges 2d and all of them; contention-free",
    Ports::All,
);
static TOGETHER: About = about("1 start-up, a message to each rank that elements go to", Ports::Unlimited);

impl Permutation {
    /// Plans the permutation of an array on these ranks: by one exchange if the map is an exchange
    /// and the ranks sit on cubes; by two if the ranks sit on cubes and a place has at least as
    /// many bits as the map changes in the rank; straight otherwise.
    ///
    /// If the placement is not the identity, or the network has more links than a cube, this takes
    /// time proportional to the number of ranks times d^2.
    ///
    /// # Errors
    ///
    /// [`BuildError::Array`] unless the number of ranks is a power of two and at most the number of
    /// elements; [`BuildError::Ranks`] if there are more ranks than nodes, or none;
    /// [`BuildError::Placement`] if a rank's node is out of range.
    pub fn new(map: BitMap, topology: Arc<dyn Topology>, placement: Placement) -> Result<Self, BuildError> {
        placement.check(&*topology)?;
        let place_bits = place_bits(&map, placement.ranks())?;
        let rank_bits = map.bits() - place_bits;
        let are_cubes = |bits: &[usize]| are_cubes(&*topology, &placement, bits);
        let (method, detour) = match method_of(&map, place_bits) {
            Method::Exchange(bits) if !are_cubes(&set(bits)) => (Method::Straight, None),
            Method::Straight => match Detour::new(&map, place_bits).filter(|detour| are_cubes(&detour.bits)) {
                Some(detour) => {
                    let bits = detour.bits.iter().fold(0, |sum, bit| sum | 1 << bit);
                    (Method::Exchanges(bits), Some(Arc::new(detour)))
                }
                None => (Method::Straight, None),
            },
            method => (method, None),
        };
        Ok(Self { map, rank_bits, method, detour, topology, placement, collective: Arc::default() })
    }

    /// Changes the method to [`Method::Straight`], unless all elements stay at their ranks.
    #[must_use]
    pub fn straight(self) -> Self {
        if self.method == Method::Local {
            return self;
        }
        let collective = if self.detour.is_some() { Arc::default() } else { self.collective };
        Self { method: Method::Straight, detour: None, collective, ..self }
    }

    /// Chooses the cheaper method by the prices of a machine, for elements of `element` bytes:
    /// straight, or this one if straight costs more. If the machine charges for channels or hops,
    /// and the [load](Self::channel) of straight messages is unknown, it is this one. Takes time
    /// and memory proportional to the number of ranks.
    #[must_use]
    pub fn cheaper(self, machine: &Machine, element: u64) -> Self {
        let block = self.block().saturating_mul(element);
        let price = |permutation: &Self| {
            let demand = permutation.demand();
            (!demand.uncertain(machine).is_empty(), demand.price(machine, block).total)
        };
        let straight = self.clone().straight();
        if price(&straight) <= price(&self) { straight } else { self }
    }

    /// Returns the demand by the claims.
    fn demand(&self) -> Demand {
        let of = Demand { ranks: 1 << self.rank_bits, bytes: true, ..Demand::default() };
        Demand::by_claims(&self.promises().completed(self.about().ports), of, Volume::ZERO, Demand::default)
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the number of elements of a rank.
    pub(crate) fn each(&self) -> u64 {
        1 << self.place_bits()
    }

    /// Returns the number of elements in a block: those that a rank has for each rank that it has
    /// any for, itself included.
    #[must_use]
    pub fn block(&self) -> u64 {
        self.each() >> spread(&self.map, self.place_bits()).rank()
    }

    /// Returns the sum over rounds of the elements on the busiest channel, if it is known. For
    /// [`Method::Straight`] it is known only on a cube with rank i on node i. Takes time and memory
    /// proportional to the number of ranks.
    #[must_use]
    pub fn channel(&self) -> Option<u64> {
        let blocks = self.promises().completed(self.about().ports).channel_transmission?;
        u64::try_from(blocks.bytes(self.block())).ok()
    }

    /// Returns the problem, a custom collective: block [s, t] holds the elements that rank s has
    /// for rank t, in chunks if there are two exchanges. The first call takes time and memory
    /// proportional to the blocks of all ranks, some 200 bytes each.
    ///
    /// # Errors
    ///
    /// [`BuildError::Blocks`] for more than 2^24 blocks.
    pub fn problem(&self) -> Result<Problem, BuildError> {
        Problem::placed(Arc::clone(&self.topology), self.placement.clone(), self.collective()?.clone())
    }

    fn collective(&self) -> Result<&Collective, BuildError> {
        listable(self.name(), u128::from(self.each() / self.block()) << self.rank_bits)?;
        Ok(self.collective.get_or_init(|| {
            let place_bits = self.place_bits();
            let of = self.detour.as_ref().map_or(1, |detour| detour.chunks());
            let own = |block: Block, by: Rank| (block.chunks(0, of, of).unwrap_or(block), vec![by]);
            let all = || (0..1_usize << self.rank_bits).map(Rank::new);
            let pre = |rank: Rank| -> Holding {
                partners(&self.map, place_bits, rank).into_iter().map(|to| own(Block::new(rank, to), rank)).collect()
            };
            let back = self.map.inverse();
            let post = |rank: Rank| -> Holding {
                partners(&back, place_bits, rank).into_iter().map(|from| own(Block::new(from, rank), from)).collect()
            };
            Collective::Custom(Arc::new(Custom { pre: all().map(pre).collect(), post: all().map(post).collect() }))
        }))
    }

    /// Returns the number of low place bits that stay unchanged and affect nothing else. Elements
    /// that differ in these bits alone stay together.
    fn grain(&self) -> usize {
        let others = |bit: usize| (0..self.map.bits()).filter(move |other| *other != bit);
        let stays = |bit: &usize| {
            let touched =
                others(*bit).map(|other| self.map.linear_part(1 << other)).fold(self.map.apply(0), |all, it| all | it);
            let is_one = self.detour.as_ref().is_none_or(|detour| detour.is_blind_to(*bit));
            self.map.linear_part(1 << bit) == 1 << bit && touched >> bit & 1 == 0 && is_one
        };
        (0..self.place_bits()).take_while(stays).count()
    }

    /// Returns the largest number of contiguous pieces of memory that a rank's elements form.
    pub(crate) fn pieces(&self) -> u64 {
        self.each() >> self.grain()
    }

    /// Returns the memory layout of a rank's blocks, for elements of at least one byte.
    pub(crate) fn layout(&self, rank: Rank, element: usize) -> Result<Layout, PlanError> {
        let (place_bits, grain) = (self.place_bits(), self.grain());
        // The pieces of each peer, by their place at this rank. Both ends list them in the same
        // order: by chunk, then by place at the source.
        let by_rank = |map: &BitMap, is_source: bool| -> Vec<(Rank, Vec<u64>)> {
            let mut found: BTreeMap<Rank, Vec<(u32, u64, u64)>> = BTreeMap::new();
            for piece in 0..self.pieces() {
                let here = (rank.index() as u64) << place_bits | piece << grain;
                let there = map.apply(here);
                let at_first = if is_source { here } else { there };
                let chunk = self.detour.as_ref().map_or(0, |detour| detour.chunk(detour.label(at_first)));
                let order = (chunk, at_first & (self.each() - 1), piece);
                found.entry(Rank::new((there >> place_bits) as usize)).or_default().push(order);
            }
            let sorted = |(other, mut pieces): (Rank, Vec<(u32, u64, u64)>)| {
                pieces.sort_unstable();
                (other, pieces.into_iter().map(|(_, _, piece)| piece).collect())
            };
            found.into_iter().map(sorted).collect()
        };
        let sent = by_rank(&self.map, true).into_iter();
        let before = sent.map(|(to, pieces)| (Block::new(rank, to), pieces)).collect();
        let received = by_rank(&self.map.inverse(), false).into_iter();
        let after = received.map(|(from, pieces)| (Block::new(from, rank), pieces)).collect();
        let bytes = element.checked_mul(1 << grain);
        let overflow =
            PlanError::Overflow { blocks: 1, elements: usize::try_from(self.each()).unwrap_or(usize::MAX), element };
        Layout::scattered(bytes.ok_or(overflow)?, (self.block() >> grain, self.pieces()), before, after)
    }

    /// Returns the number of place bits.
    fn place_bits(&self) -> usize {
        self.map.bits() - self.rank_bits
    }

    /// Returns the claims.
    fn promises(&self) -> Claims {
        // For `times` exchanges of d dimensions, in which one rank has `part` for another.
        let exchanged = |times: u64, d: u64, part: Volume| {
            let transmission = part * if d == 0 { 0 } else { times << (d - 1) };
            let (volume, messages) = (Some(transmission * d), times * d * d);
            Claims {
                transmission: Some(transmission),
                port_transmission: volume,
                handled: Some(2 * messages),
                messages: Some(messages),
                volume,
                ..Claims::of_single_blocks(times * d, true)
            }
        };
        match self.method {
            Method::Local => exchanged(1, 0, Volume::ZERO),
            Method::Exchange(bits) => exchanged(1, bits.count_ones().into(), Volume::from(1)),
            Method::Exchanges(bits) => {
                let d = bits.count_ones();
                exchanged(2, d.into(), Volume::ratio((self.each() >> d).into(), self.block().into()))
            }
            Method::Straight => {
                let (spread, shifts) = (spread(&self.map, self.place_bits()), shifts(&self.map, self.place_bits()));
                // A rank that has elements for itself sends one block less; possibly all ranks do.
                let messages = (1 << spread.rank()) - u64::from(shifts.iter().all(|&shift| spread.spans(shift)));
                let sent = Some(Volume::from(messages));
                let loads = is_cube(&*self.topology, &self.placement)
                    .then(|| loads::of(&self.map, self.place_bits(), &*self.topology));
                let hops = loads.map(|loads| loads.hops);
                Claims {
                    messages: Some(messages),
                    volume: sent,
                    port_transmission: sent,
                    handled: Some(2 * messages),
                    hops,
                    channel_transmission: loads.map(|loads| Volume::from(loads.channel / self.block())),
                    forwarded_transmission: hops.map(Volume::from),
                    end_transmission: hops.map(|hops| hops.min(2).into()),
                    ..Claims::of_single_blocks(1, false)
                }
            }
        }
    }

    /// Returns the rounds of a rank.
    pub(crate) fn moves(&self, rank: Rank) -> Share {
        match &self.method {
            Method::Local => Box::new(std::iter::empty()),
            Method::Exchange(bits) => exchange(*bits).share(rank),
            Method::Exchanges(bits) => {
                let part = |first: bool| {
                    let detour = self.detour.clone();
                    let has = move |ends: (Rank, Rank), into: &mut Vec<Block>| {
                        detour.iter().for_each(|detour| detour.blocks(first, ends, into));
                    };
                    exchange(*bits).share_of(rank, has)
                };
                Box::new(part(true).chain(part(false)))
            }
            Method::Straight => {
                let others = |map| partners(map, self.place_bits(), rank).into_iter().filter(|other| *other != rank);
                let sends = others(&self.map).map(|to| End::new(to, vec![Block::new(rank, to)]));
                let back = self.map.inverse();
                let receives = others(&back).map(|from| End::new(from, vec![Block::new(from, rank)]));
                let (sends, receives) = (sends.collect(), receives.collect());
                Box::new(std::iter::once(RankRound { sends, receives, ..RankRound::default() }))
            }
        }
    }
}

impl Algorithm for Permutation {
    fn about(&self) -> &About {
        if self.method == Method::Straight { &TOGETHER } else { &APART }
    }

    fn name(&self) -> String {
        format!("permutation {}, {}", self.map, self.method)
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let same = problem.placement() == &self.placement
            && same(problem.topology(), &self.topology)
            && self.collective().is_ok_and(|own| problem.collective() == own);
        (!same).then(|| "it is for its own problem".to_owned())
    }

    fn claims(&self, _: &Problem) -> Claims {
        self.promises()
    }

    fn rounds(&self, _: &Problem, rank: Rank) -> Share {
        self.moves(rank)
    }
}

/// Returns the number of place bits of an array on `ranks` ranks.
pub(crate) fn place_bits(map: &BitMap, ranks: usize) -> Result<usize, BuildError> {
    let bits = ranks.checked_ilog2().filter(|_| ranks.is_power_of_two());
    let places = bits.and_then(|bits| map.bits().checked_sub(bits as usize));
    places.ok_or(BuildError::Array { bits: map.bits(), ranks })
}

/// Returns the method for a map, if the placement of the ranks allows it.
fn method_of(map: &BitMap, place_bits: usize) -> Method {
    let reached = reached(map, place_bits).fold(0, |all, bits| all | bits);
    let shifted = shifts(map, place_bits).into_iter().fold(0, |all, shift| all | shift);
    if shifted & !reached != 0 || spread(map, place_bits).rank() != reached.count_ones() as usize {
        return Method::Straight;
    }
    if reached == 0 { Method::Local } else { Method::Exchange(reached) }
}

/// Returns the ranks for which a rank has elements.
fn partners(map: &BitMap, place_bits: usize, rank: Rank) -> Vec<Rank> {
    let first = map.apply((rank.index() as u64) << place_bits) >> place_bits;
    let mut found = vec![first];
    for apart in reached(map, place_bits) {
        // A difference in the span of the earlier bits adds no ranks.
        if !found.contains(&(first ^ apart)) {
            found.extend_from_within(..);
            let half = found.len() / 2;
            found[half..].iter_mut().for_each(|rank| *rank ^= apart);
        }
    }
    found.sort_unstable();
    found.into_iter().map(|rank| Rank::new(rank as usize)).collect()
}

/// Returns, for each place bit, the difference between the destinations of two elements of a rank
/// that differ in this bit.
fn reached(map: &BitMap, place_bits: usize) -> impl Iterator<Item = u64> {
    (0..place_bits).map(move |bit| map.linear_part(1 << bit) >> place_bits)
}

/// Returns the span of the differences between the destinations of a rank's elements.
fn spread(map: &BitMap, place_bits: usize) -> Basis {
    reached(map, place_bits).collect()
}

/// Returns the difference between the new and the old rank of the element at place 0, as an affine
/// map of the old rank: its columns, then its constant.
fn shifts(map: &BitMap, place_bits: usize) -> Vec<u64> {
    let of_bit = |bit: usize| map.linear_part(1 << bit) >> place_bits ^ 1 << (bit - place_bits);
    (place_bits..map.bits()).map(of_bit).chain([map.apply(0) >> place_bits]).collect()
}

/// The exchange among the ranks whose numbers agree in all but these bits.
fn exchange(bits: u64) -> Within {
    Within { scheme: Scheme::Necklaces, width: 0, bits: set(bits) }
}

/// The bits that are set.
fn set(bits: u64) -> Vec<usize> {
    (0..u64::BITS as usize).filter(|bit| bits >> bit & 1 == 1).collect()
}

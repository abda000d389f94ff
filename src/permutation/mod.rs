//! Permutations of distributed arrays, by their addresses' bits.
//!
//! Source: Johnsson & Ho, TR-16-92, §2. An array of 2^k elements lies on 2^n ranks, an equal part
//! of consecutive addresses each: the n highest bits of an address are the rank, the others the
//! place there. A [`BitMap`] says where each element goes. It names the permutations of the paper:
//! axis exchange, transpose, bit and vector reversal, shuffle, unshuffle, generalized shuffle, from
//! consecutive to cyclic and back, to and from Gray code.
//!
//! [`Communicator::permute`](crate::Communicator::permute) does it. What it can do depends on what
//! the map does to the bits of the ranks:
//!
//! - If a rank's elements go to all ranks that agree with it outside of d bits, to each equally
//!   many, and such ranks sit on a cube (who differs in one of these bits is a neighbour, who
//!   differs in two is none), it may be an [exchange within sub-cubes](crate::algorithm::cube) of d
//!   dimensions, whatever else is done to the bits of the places, and to those d bits themselves:
//!   `(j|i)` to `(f(i)|g(j))`. It moves half of the elements over each channel of the sub-cube, the
//!   least there can be, in d rounds. What happens within a rank is part of how elements are taken
//!   from memory and put there.
//! - If a place has at least as many bits as are changed of the ranks' numbers, and ranks that
//!   differ in these only sit on a cube, it may be two such exchanges: to ranks in between, so
//!   chosen that each is one. All elements of a rank go over each channel, in 2 d rounds. (This is
//!   not in the paper, which has several places of d bits at a time exchanged one after the other,
//!   see [`Succession`](crate::algorithm::cube::Succession).)
//! - All may go straight, in one round. On a cube that loads channels as little as can be for such
//!   exchanges, for a vector reversal, whose messages share no channel, and for a generalized
//!   shuffle by no more bits than a place has, of which no channel carries more than half of a
//!   rank's elements. It is four times that for the unshuffle, from three dimensions on, and from
//!   six on eight times and more for a reversal of the ranks' bits.
//!
//! Where there are several ways, it is the [cheaper](Permutation::cheaper) one by the prices of the
//! communicator's machine, as for other collectives. Ranks that are threads, or processes of one
//! host, go straight, whatever their network is called, unless blocks are small and ranks many (by
//! one exchange of all ranks some 1000 threads, 32 processes over TCP, 64 over MPI). Or the user
//! decides: [`choose("permute", "exchange")`](crate::Communicator::choose), where it can be, or
//! `"straight"`.

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

/// A permutation of an array that lies on ranks.
///
/// It is the algorithm of its own [problem](Self::problem), a custom collective whose blocks are
/// what one rank has for another.
#[derive(Clone, Debug)]
pub struct Permutation {
    map: BitMap,
    rank_bits: usize,
    way: Way,
    /// Where the way is by two exchanges.
    detour: Option<Arc<Detour>>,
    topology: Arc<dyn Topology>,
    placement: Placement,
    /// What is held before and after, once somebody has asked.
    collective: Arc<OnceLock<Collective>>,
}

/// How an array is permuted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// Every element stays at its rank.
    Local,
    /// An exchange within the sub-cubes of the ranks that agree in all bits but those set here.
    Exchange(u64),
    /// Two exchanges, one after the other, within such sub-cubes: in between elements are at ranks
    /// where they do not belong.
    Exchanges(u64),
    /// Straight to where they belong, in one round.
    Straight,
}

impl fmt::Display for Way {
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
        summary: "elements of a distributed array go where a map of the bits of their addresses says",
        source: "Johnsson & Ho, TR-16-92, 2",
        needs: "a power of two of ranks, and as many elements at least",
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
    /// Of an array on these ranks: by an exchange where the map is one and the ranks sit on cubes;
    /// by two where they do and a place has at least as many bits as are changed of a rank;
    /// straight otherwise.
    ///
    /// Where ranks are placed, or the network is more than a cube, it takes time in proportion to
    /// all ranks and the square of d.
    ///
    /// # Errors
    ///
    /// [`BuildError::Array`] unless the ranks are a power of two, and no more than the elements;
    /// [`BuildError::Ranks`] where there are more ranks than nodes, or none;
    /// [`BuildError::Placement`] where one sits on no node.
    pub fn new(map: BitMap, topology: Arc<dyn Topology>, placement: Placement) -> Result<Self, BuildError> {
        placement.check(&*topology)?;
        let place_bits = place_bits(&map, placement.ranks())?;
        let rank_bits = map.bits() - place_bits;
        let are_cubes = |bits: &[usize]| are_cubes(&*topology, &placement, bits);
        let (way, detour) = match way(&map, place_bits) {
            Way::Exchange(bits) if !are_cubes(&set(bits)) => (Way::Straight, None),
            Way::Straight => match Detour::new(&map, place_bits).filter(|detour| are_cubes(&detour.bits)) {
                Some(detour) => {
                    let bits = detour.bits.iter().fold(0, |sum, bit| sum | 1 << bit);
                    (Way::Exchanges(bits), Some(Arc::new(detour)))
                }
                None => (Way::Straight, None),
            },
            way => (way, None),
        };
        Ok(Self { map, rank_bits, way, detour, topology, placement, collective: Arc::default() })
    }

    /// The same with every element that leaves its rank going straight.
    #[must_use]
    pub fn straight(self) -> Self {
        if self.way == Way::Local {
            return self;
        }
        let collective = if self.detour.is_some() { Arc::default() } else { self.collective };
        Self { way: Way::Straight, detour: None, collective, ..self }
    }

    /// The cheaper way by the prices of a machine, for elements of so many bytes: straight, or this
    /// one if that costs more. Where the machine charges for channels or hops, and [nothing is
    /// known](Self::channel) of those of straight messages, it is this one. Takes time and memory
    /// in proportion to the ranks.
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

    /// What it asks of a machine, by its claims.
    fn demand(&self) -> Demand {
        let of = Demand { ranks: 1 << self.rank_bits, bytes: true, ..Demand::default() };
        Demand::by_claims(&self.promises().completed(self.about().ports), of, Volume::ZERO, Demand::default)
    }

    /// Where elements go.
    #[must_use]
    pub fn map(&self) -> &BitMap {
        &self.map
    }

    /// How they get there.
    #[must_use]
    pub fn way(&self) -> Way {
        self.way
    }

    /// How many elements a rank has.
    #[must_use]
    pub fn each(&self) -> u64 {
        1 << self.place_bits()
    }

    /// How many of them a rank has for each rank that it has any for, itself included.
    #[must_use]
    pub fn block(&self) -> u64 {
        self.each() >> spread(&self.map, self.place_bits()).rank()
    }

    /// The most elements that a channel carries, added up over rounds, where it is known: of those
    /// that go straight only on a cube with a rank on every node, of the same number. Takes time
    /// and memory in proportion to the ranks.
    #[must_use]
    pub fn channel(&self) -> Option<u64> {
        let blocks = self.promises().completed(self.about().ports).channel_transmission?;
        u64::try_from(blocks.bytes(self.block())).ok()
    }

    /// What is held before and after, as a collective: block [s, t] is what rank s has for rank t,
    /// for two exchanges in chunks. When it is first asked for, it takes time and memory in
    /// proportion to the blocks of all ranks, some 200 bytes each.
    ///
    /// # Errors
    ///
    /// [`BuildError::Blocks`] for more of these than [`Custom::MOST_BLOCKS`].
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

    /// The bits of a place that stay, and that nothing is added to, from the first one on: elements
    /// that differ in these only stay together.
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

    /// How many pieces of memory a rank's elements are at most.
    pub(crate) fn pieces(&self) -> u64 {
        self.each() >> self.grain()
    }

    /// Where a rank's blocks lie, of elements of so many bytes, at least one.
    pub(crate) fn layout(&self, rank: Rank, element: usize) -> Result<Layout, PlanError> {
        let (place_bits, grain) = (self.place_bits(), self.grain());
        // Of all pieces, by the other rank: the place here. Both ends name them in one order: by
        // chunks, and by their places at the source.
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

    /// The bits of a place within a rank.
    fn place_bits(&self) -> usize {
        self.map.bits() - self.rank_bits
    }

    /// What it promises.
    fn promises(&self) -> Claims {
        // So many exchanges of d dimensions, in which one rank has so much for another.
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
        match self.way {
            Way::Local => exchanged(1, 0, Volume::ZERO),
            Way::Exchange(bits) => exchanged(1, bits.count_ones().into(), Volume::from(1)),
            Way::Exchanges(bits) => {
                let d = bits.count_ones();
                exchanged(2, d.into(), Volume::ratio((self.each() >> d).into(), self.block().into()))
            }
            Way::Straight => {
                let (spread, shifts) = (spread(&self.map, self.place_bits()), shifts(&self.map, self.place_bits()));
                // Where it reaches itself a rank sends one block less; perhaps all ranks do.
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

    /// What a rank does.
    pub(crate) fn moves(&self, rank: Rank) -> Share {
        match &self.way {
            Way::Local => Box::new(std::iter::empty()),
            Way::Exchange(bits) => exchange(*bits).share(rank),
            Way::Exchanges(bits) => {
                let part = |first: bool| {
                    let detour = self.detour.clone();
                    let has = move |ends: (Rank, Rank), into: &mut Vec<Block>| {
                        detour.iter().for_each(|detour| detour.blocks(first, ends, into));
                    };
                    exchange(*bits).share_of(rank, has)
                };
                Box::new(part(true).chain(part(false)))
            }
            Way::Straight => {
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
        if self.way == Way::Straight { &TOGETHER } else { &APART }
    }

    fn name(&self) -> String {
        format!("permutation {}, {}", self.map, self.way)
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

/// The bits of a place within each of so many ranks.
pub(crate) fn place_bits(map: &BitMap, ranks: usize) -> Result<usize, BuildError> {
    let bits = ranks.checked_ilog2().filter(|_| ranks.is_power_of_two());
    let places = bits.and_then(|bits| map.bits().checked_sub(bits as usize));
    places.ok_or(BuildError::Array { bits: map.bits(), ranks })
}

/// How a map of addresses whose lowest bits are places moves elements from rank to rank, wherever
/// these sit.
fn way(map: &BitMap, place_bits: usize) -> Way {
    let reached = reached(map, place_bits).fold(0, |all, bits| all | bits);
    let shifted = shifts(map, place_bits).into_iter().fold(0, |all, shift| all | shift);
    if shifted & !reached != 0 || spread(map, place_bits).rank() != reached.count_ones() as usize {
        return Way::Straight;
    }
    if reached == 0 { Way::Local } else { Way::Exchange(reached) }
}

/// The ranks that a rank's elements go to.
fn partners(map: &BitMap, place_bits: usize, rank: Rank) -> Vec<Rank> {
    let first = map.apply((rank.index() as u64) << place_bits) >> place_bits;
    let mut found = vec![first];
    for apart in reached(map, place_bits) {
        // What is reached already by other bits is reached whole.
        if !found.contains(&(first ^ apart)) {
            found.extend_from_within(..);
            let half = found.len() / 2;
            found[half..].iter_mut().for_each(|rank| *rank ^= apart);
        }
    }
    found.sort_unstable();
    found.into_iter().map(|rank| Rank::new(rank as usize)).collect()
}

/// By how the ranks differ that two elements of a rank come to whose places differ in one bit, for
/// each bit.
fn reached(map: &BitMap, place_bits: usize) -> impl Iterator<Item = u64> {
    (0..place_bits).map(move |bit| map.linear_part(1 << bit) >> place_bits)
}

/// By how the ranks differ that elements of a rank come to.
fn spread(map: &BitMap, place_bits: usize) -> Basis {
    reached(map, place_bits).collect()
}

/// By how the rank that an element comes to differs from the one it is at, if its place is 0: for
/// each bit of the latter, and in any case.
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

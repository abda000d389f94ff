//! What a schedule costs on a machine.
//!
//! A [`Demand`] says what a schedule asks of a machine: [counted](Demand::counted) from what verifying a schedule found, or by
//! the [formulas](Demand::claimed) that its algorithm claims. A [`Machine`] has a price for each; the [`Price`] is their
//! products, term by term.
//!
//! | term | demand | price |
//! |---|---|---|
//! | start-up | rounds in which anything is sent | [`startup`](Machine::startup) |
//! | | messages that processors send and receive one after the other | [`message`](Machine::message) |
//! | transmission | see below | [`byte`](Machine::byte), [`channel`](Machine::channel) |
//! | propagation | channels on the longest route of each round | [`hop`](Machine::hop) |
//! | rearrangement | changes of phase, each of all blocks of a rank | [`rearrangement`](Machine::rearrangement) |
//! | synchronisation | barriers between rounds | [`barrier`](Machine::barrier) |
//!
//! The papers put a barrier between any two rounds. Schedules are executed without, and [played out](crate::simulate) without:
//! a rank goes on when its own transfers are done. So the total is the sum of the other terms, and by it algorithms are
//! [chosen](crate::select); synchronisation stands beside it, as what barriers would take on top.
//!
//! The transmission is what passes the busiest port in each round, at the price of a byte, or the busiest channel, at
//! the price of a channel, if that is dearer. A machine that stores and forwards pays a message again for each channel
//! that it takes. The first and the last channel of a way pass bytes as slowly as the ports at its ends. This is the
//! papers' model, `t_s + m t_c + h t_l` a round (Suh & Shin, 2; store-and-forward Grama et al., 2.5.1). Where nothing
//! contends, each rank sends and receives a message a round, and all messages of a round are of one size and go equally
//! far, it is what they take, exactly. For the rest, of which the papers say nothing:
//!
//! - Where a rank has several messages in a round, the bytes of one move while its processor is at the next: of
//!   transmission and propagation only what takes longer counts. The last one sets out when the others are through.
//! - Where messages wait for a channel, the last of them takes its own time after the others. One that has farther to
//!   come waits less, so that of the others' time and its way the longer counts.
//! - Where everyone sends to the same rank in all rounds, a rank goes on without waiting for those that have farther to
//!   send, and ways count along the [longest chain](Figures::chained_hops) of messages.
//!
//! There it is an estimate: ranks that go at their own pace do at the same time what is added up here.
//! [`simulate`](crate::simulate) plays out what they take, and `necklace sweep` compares what is chosen by price with
//! the best.
//!
//! ```
//! use necklace::cost::Demand;
//! use necklace::collective::Collective;
//! use necklace::machine::Machine;
//! use necklace::schedule::Problem;
//! use necklace::topology::parse;
//!
//! // Suh & Shin's exchange of blocks of 64 bytes on 16 x 16 nodes of a Paragon, by formula: nothing is built.
//! let problem = Problem::new(parse("torus:16x16").unwrap(), Collective::Alltoall)?;
//! let exchange = necklace::algorithm::find(problem.collective(), "torus-exchange")?;
//! let price = Demand::claimed(&*exchange, &problem)?.price(&Machine::PARAGON, 64);
//! assert_eq!(price.startup, 10 * 75_000_000);
//! assert_eq!(price.transmission, 1280 * 64 * 11_000);
//! # Ok::<(), necklace::error::BuildError>(())
//! ```

use std::fmt;

use crate::algorithm::{Algorithm, Claims, scheduled};
use crate::block::Volume;
use crate::bounds::Search;
use crate::collective::Collective;
use crate::machine::{Machine, Switching};
use crate::schedule::Figures;
use crate::vocabulary::{BuildError, Ports, Problem};

/// What a schedule asks of a machine. Amounts are in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demand {
    /// Rounds in which anything is sent.
    pub startups: u64,
    /// Sum over rounds of the most messages that one rank sends and the most that one receives.
    pub handled: u64,
    /// Sum over rounds of what the busiest port passes.
    pub port: Volume,
    /// Sum over rounds of what the busiest channel carries.
    pub channel: Volume,
    /// Sum over rounds of the largest transfer.
    pub largest: Volume,
    /// Sum over rounds of the largest product of a transfer's size and its way, or less:
    /// [`Figures::chained_forwarded`].
    pub forwarded: Volume,
    /// Sum over rounds of what the ends of that transfer pass one after the other.
    pub ends: Volume,
    /// Sum over rounds of the longest way, or less: [`Figures::chained_hops`].
    pub hops: u64,
    /// Blocks of a rank put into another order.
    pub rearranged: Volume,
    /// The ranks that a barrier is for.
    pub ranks: usize,
    /// Whether blocks have bytes: those of a barrier do not.
    pub bytes: bool,
    /// The demands of which nothing is claimed, so that what stands here is the least that any schedule asks.
    pub at_least: Vec<&'static str>,
}

/// What a schedule costs, term by term, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Price {
    /// The sum of the terms, without synchronisation: what it takes as it is executed.
    pub total: u128,
    /// Until messages move: rounds begun, and the processor's time to send and receive.
    pub startup: u128,
    /// Bytes through ports and over channels, as far as they do not move while processors send and receive.
    pub transmission: u128,
    /// Channels crossed.
    pub propagation: u128,
    /// Blocks put into another order.
    pub rearrangement: u128,
    /// What barriers between its rounds would take besides. It is executed without, so that this is not part of the total.
    pub synchronisation: u128,
}

impl Demand {
    /// That of a schedule with these figures.
    #[must_use]
    pub fn counted(figures: &Figures, problem: &Problem) -> Self {
        // Of what all ranks pass on, one passes no less than the mean.
        let mean =
            if figures.keeps(Ports::One) { figures.link_blocks.part(problem.ranks() as u64) } else { Volume::ZERO };
        let forwarded = figures.chained_forwarded.max(mean);
        Self {
            startups: figures.startups,
            handled: figures.handled,
            port: figures.port_transmission,
            channel: figures.channel_transmission,
            largest: figures.transmission,
            forwarded,
            ends: figures.end_transmission,
            hops: figures.chained_hops,
            rearranged: own_blocks(problem) * figures.rearrangements,
            ..Self::of(problem)
        }
    }

    /// That of the schedule that an algorithm would make, by its claims; nothing is built. What is not claimed is the
    /// least that follows from what is, and from the [lower bounds](crate::bounds) of the problem, which are only then
    /// searched for: see [`at_least`](Self::at_least).
    ///
    /// # Errors
    ///
    /// [`BuildError::Unfit`] where the algorithm does not fit; [`BuildError::Unscheduled`] where it has no schedule that could demand
    /// anything.
    pub fn claimed(algorithm: &dyn Algorithm, problem: &Problem) -> Result<Self, BuildError> {
        Self::claimed_within(algorithm, &Search::of(problem))
    }

    /// The same for one of several algorithms for a problem: its bounds are searched for once.
    pub(crate) fn claimed_within(algorithm: &dyn Algorithm, search: &Search) -> Result<Self, BuildError> {
        let problem = search.problem();
        scheduled(algorithm, problem)?;
        let ports = algorithm.about().ports;
        let claims = algorithm.claims(problem).completed(ports);
        Ok(Self::by_claims(&claims, Self::of(problem), own_blocks(problem), || Self::least(search, ports)))
    }

    /// That of a schedule of which this is claimed, of so many ranks, with or without bytes, and so many blocks of a rank; where
    /// nothing is claimed it is no less than the bound.
    pub(crate) fn by_claims(claims: &Claims, of: Self, own: Volume, bound: impl FnOnce() -> Self) -> Self {
        let bound = std::cell::LazyCell::new(bound);
        let mut at_least = Vec::new();
        let startups = least(&mut at_least, STARTUPS, claims.startups, || bound.startups);
        let handled = least(&mut at_least, HANDLED, claims.handled, || {
            claims.messages.unwrap_or(0).max(startups).saturating_add(startups).max(bound.handled)
        });
        let transmission = claims.transmission.unwrap_or_default();
        let port = least(&mut at_least, PORT, claims.port_transmission, || {
            bound.port.max(transmission).max(claims.volume.unwrap_or_default())
        });
        let channel = least(&mut at_least, CHANNEL, claims.channel_transmission, || bound.channel.max(transmission));
        let forwarded = claims.chained_forwarded.or(claims.forwarded_transmission);
        let forwarded = least(&mut at_least, FORWARDED, forwarded, || bound.forwarded.max(transmission));
        let ends = least(&mut at_least, ENDS, claims.end_transmission, || bound.ends);
        let hops = claims.chained_hops.or(claims.hops);
        let hops = least(&mut at_least, HOPS, hops, || bound.hops);
        let rearrangements = least(&mut at_least, REARRANGEMENTS, claims.rearrangements, || 0);
        let rearranged = own * rearrangements;
        Self {
            startups,
            handled,
            port,
            channel,
            largest: transmission,
            forwarded,
            ends,
            hops,
            rearranged,
            at_least,
            ..of
        }
    }

    /// What every schedule of a problem that keeps to these ports asks at least, by its bounds, so that its
    /// price is no more than that of any such schedule.
    #[must_use]
    pub fn least(search: &Search, ports: Ports) -> Self {
        let bounds = search.bounds();
        let with_one = |volume| if ports == Ports::One { volume } else { Volume::ZERO };
        Self {
            startups: bounds.startups(ports),
            handled: bounds.handled(ports),
            port: bounds.port,
            channel: bounds.channel(),
            largest: with_one(bounds.port),
            forwarded: with_one(bounds.forwarded),
            hops: bounds.hops(ports),
            ..Self::of(search.problem())
        }
    }

    /// The demands of which nothing is claimed and for which that machine charges: where there are any, the price is the
    /// least that it may be.
    #[must_use]
    pub fn uncertain(&self, machine: &Machine) -> Vec<&'static str> {
        let forwards = machine.switching == Switching::StoreAndForward;
        let charges = |name: &&str| match *name {
            STARTUPS => machine.startup > 0,
            HANDLED => machine.message > 0,
            PORT => self.bytes && machine.byte > 0,
            CHANNEL => self.bytes && machine.channel > 0,
            FORWARDED => self.bytes && machine.channel > 0 && forwards,
            ENDS => self.bytes && machine.byte > machine.channel && forwards,
            HOPS => machine.hop > 0,
            _ => self.bytes && machine.rearrangement > 0,
        };
        self.at_least.iter().copied().filter(charges).collect()
    }

    fn of(problem: &Problem) -> Self {
        Self { ranks: problem.ranks(), bytes: problem.has_bytes(), ..Self::default() }
    }

    /// What it costs on a machine, with blocks of so many bytes.
    #[must_use]
    pub fn price(&self, machine: &Machine, block_bytes: u64) -> Price {
        let block_bytes = if self.bytes { block_bytes } else { 0 };
        let times = |count: u64, price: u64| u128::from(count) * u128::from(price);
        let moved = |blocks: Volume, price: u64| blocks.bytes(block_bytes).saturating_mul(price.into());
        let hops = times(self.hops, machine.hop);
        let further = times(self.handled.saturating_sub(self.startups.saturating_mul(2)), machine.message);
        let slower = machine.byte.saturating_sub(machine.channel);
        // One message alone, through the ports at its ends; what others take before it through its port and over its channel.
        let alone = moved(self.largest, machine.byte.max(machine.channel));
        let through_port = moved(self.port.without(self.largest), machine.byte);
        let over_channel = moved(self.channel.without(self.largest), machine.channel);
        let last = match machine.switching {
            Switching::CutThrough => alone,
            Switching::StoreAndForward => {
                moved(self.forwarded, machine.channel).saturating_add(moved(self.ends, slower)).max(alone)
            }
        };
        // A message that comes from far comes to a busy channel late: its way is over before that is free. Where a rank has several
        // in a round, what is stored on its way may have waited before.
        let several = self.handled > self.startups.saturating_mul(2);
        let contending = match machine.switching {
            Switching::StoreAndForward if !several => over_channel.saturating_add(alone).max(last.saturating_add(hops)),
            _ => over_channel.max(hops).saturating_add(last),
        };
        // While a processor is at the further messages of a round, those before are on their way: all while it takes in as
        // many, the last one while it takes in those before.
        let last_of_several = through_port.max(further.div_ceil(2)).saturating_add(last).saturating_add(hops);
        let under_way = contending.max(last_of_several).saturating_sub(further);
        let propagation = hops.min(under_way);
        let price = Price {
            total: 0,
            startup: times(self.startups, machine.startup).saturating_add(times(self.handled, machine.message)),
            transmission: under_way - propagation,
            propagation,
            rearrangement: moved(self.rearranged, machine.rearrangement),
            synchronisation: times(self.startups.saturating_sub(1), machine.barrier(self.ranks)),
        };
        Price { total: price.charged().fold(0, |sum, (_, term)| sum.saturating_add(term)), ..price }
    }
}

const STARTUPS: &str = "start-ups";
const HANDLED: &str = "messages handled";
const PORT: &str = "transmission by port";
const CHANNEL: &str = "transmission by channel";
const FORWARDED: &str = "transmission forwarded";
const ENDS: &str = "transmission at the ends";
const HOPS: &str = "hops";
const REARRANGEMENTS: &str = "rearrangements";

/// The name of the term that is not part of the total.
const SYNCHRONISATION: &str = "synchronisation";

/// What is claimed, or what it is at least.
fn least<T>(missing: &mut Vec<&'static str>, name: &'static str, claimed: Option<T>, bound: impl FnOnce() -> T) -> T {
    claimed.unwrap_or_else(|| {
        missing.push(name);
        bound()
    })
}

/// How many blocks a rank has at most, before or after.
pub(crate) fn own_blocks(problem: &Problem) -> Volume {
    if let Collective::Custom(custom) = problem.collective() {
        let most = custom.pre.iter().chain(&custom.post).map(Vec::len).max();
        return Volume::from(most.unwrap_or(0) as u64);
    }
    let (before, after) = problem.collective().buffers();
    let ranks = problem.ranks() as u64;
    Volume::from(before.most(ranks).max(after.most(ranks)))
}

impl Price {
    /// Returns the name and the time of each term, in picoseconds.
    ///
    /// The last is `synchronisation`, which is not part of the total.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&'static str, u128)> + use<> {
        let Self { startup, transmission, propagation, rearrangement, synchronisation, .. } = *self;
        [
            ("startup", startup),
            ("transmission", transmission),
            ("propagation", propagation),
            ("rearrangement", rearrangement),
            (SYNCHRONISATION, synchronisation),
        ]
        .into_iter()
    }

    /// Returns the terms that make up the total.
    fn charged(&self) -> impl Iterator<Item = (&'static str, u128)> + use<> {
        self.terms().filter(|(name, _)| *name != SYNCHRONISATION)
    }
}

/// The total in microseconds, and the terms that are not 0; behind them what barriers would add.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |picoseconds: u128| picoseconds as f64 / 1e6;
        write!(f, "{:.2} us", microseconds(self.total))?;
        let mut separator = " =";
        for (name, term) in self.charged().filter(|(_, term)| *term > 0) {
            write!(f, "{separator} {name} {:.2}", microseconds(term))?;
            separator = " +";
        }
        match self.synchronisation {
            0 => Ok(()),
            barriers => write!(f, ", without {SYNCHRONISATION} {:.2}", microseconds(barriers)),
        }
    }
}

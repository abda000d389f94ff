//! Prices: what a schedule costs on a machine.
//!
//! A [`Demand`] is the resources that a schedule needs: [counted](Demand::counted) by verification,
//! or from the [formulas](Demand::claimed) that its algorithm claims. A [`Machine`] has a price for
//! each resource. A [`Price`] is the products, term by term, in picoseconds.
//!
//! | term | demand | price |
//! |---|---|---|
//! | start-up | rounds with at least one transfer | [`startup`](Machine::startup) |
//! | | messages that a processor handles one after the other | [`message`](Machine::message) |
//! | transmission | see below | [`byte`](Machine::byte), [`channel`](Machine::channel) |
//! | | sum over rounds of the most that leaves or enters one host, where hosts are known | [`host`](Machine::host) |
//! | propagation | channels on the longest route of each round | [`hop`](Machine::hop) |
//! | rearrangement | all blocks of a rank, for each change of phase | [`rearrangement`](Machine::rearrangement) |
//! | combination | sum over rounds of the most that a rank combines in a reduction | [`combination`](Machine::combination) |
//! | cores | see below | [`cores`](Machine::cores) |
//! | synchronisation | barriers between rounds | [`synchronisation`](Machine::synchronisation), [`doubling`](Machine::doubling) |
//!
//! The papers put a barrier between any two rounds. This crate executes and
//! [simulates](crate::simulate) schedules without barriers: a rank continues when its own transfers
//! are done. So the total is the sum of the other terms, and [`select`](crate::select) compares
//! totals. Synchronisation is shown beside the total: the time that barriers would add.
//!
//! # Transmission
//!
//! In each round, the transmission is the volume through the busiest port at the price of a byte,
//! or the volume over the busiest channel at the price of a channel, whichever is larger. If only
//! receivers move bytes ([`one_sided`](Machine::one_sided)), the busiest port is that of the rank
//! that receives the most. Under store-and-forward switching a message is paid for again on each
//! channel of its route; the first and the last channel are as slow as the ports at the ends.
//!
//! This is the papers' model, `t_s + m t_c + h t_l` for a round (Suh & Shin 2001, 2;
//! store-and-forward: Grama et al., 2.5.1). It is exact if there is no contention, each rank sends
//! and receives one message in a round, and all messages of a round have the same size and
//! distance. For other rounds, which the papers leave open, these rules apply:
//!
//! - If a rank has several messages in a round, the bytes of one move while its processor handles
//!   the next one: only the longer of the two counts. The last message starts when the others have
//!   left.
//! - If messages wait for a channel, the last of them takes its own time after the others. A
//!   message from farther away waits less: the longer counts, its route or the time of the others.
//! - If each rank keeps the same destination in all rounds, as on a ring, ranks do not wait for
//!   the longest route of every round. Hops then count along the
//!   [longest chain](Figures::chained_hops) of messages that depend on each other.
//! - If ranks share cores, the cores also do what all ranks of a host do, one after the other: the
//!   [`Work`] of the host at the same prices, divided by the cores. Where this takes longer than
//!   the other terms, the term `cores` is the difference.
//!
//! In these cases the price is an estimate, since ranks overlap what is added up here.
//! [`simulate`](crate::simulate) plays the schedule out, and `necklace sweep` compares the choices
//! by price with the fastest algorithms.
//!
//! # Example
//!
//! ```
//! use necklace::cost::Demand;
//! use necklace::collective::Collective;
//! use necklace::machine::Machine;
//! use necklace::schedule::Problem;
//! use necklace::topology::parse;
//!
//! // Suh & Shin's exchange of blocks of 64 bytes on 16 x 16 nodes of a Paragon, by formula.
//! let problem = Problem::new(parse("torus:16x16").unwrap(), Collective::Alltoall)?;
//! let exchange = necklace::algorithm::find(problem.collective(), "torus-exchange")?;
//! let price = Demand::claimed(&*exchange, &problem)?.price(&Machine::PARAGON, 64);
//! assert_eq!(price.startup, 10 * 75_000_000);
//! assert_eq!(price.transmission, 1280 * 64 * 11_000);
//! # Ok::<(), necklace::error::BuildError>(())
//! ```

mod at_hosts;

use std::fmt;

use crate::algorithm::{Algorithm, Claims, scheduled};
use crate::block::Volume;
use crate::bounds::Search;
use crate::machine::{Machine, Switching};
use crate::schedule::Figures;
use crate::vocabulary::{BuildError, Ports, Problem, Work};

/// The resources that a schedule needs. Volumes are in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demand {
    /// Rounds with at least one transfer.
    pub startups: u64,
    /// Sum over rounds of the most messages that one rank sends plus the most that one rank
    /// receives.
    pub handled: u64,
    /// Sum over rounds of the volume through the busiest port.
    pub port: Volume,
    /// Sum over rounds of the most volume that one rank receives.
    pub received: Volume,
    /// Sum over rounds of the volume over the busiest channel.
    pub channel: Volume,
    /// Sum over rounds of the largest transfer.
    pub largest: Volume,
    /// Sum over rounds of the largest product of a transfer's size and its hops, or less:
    /// [`Figures::chained_forwarded`].
    pub forwarded: Volume,
    /// Sum over rounds of the volume of that transfer at its two ends:
    /// [`Figures::end_transmission`].
    pub ends: Volume,
    /// Sum over rounds of the longest route, or less: [`Figures::chained_hops`].
    pub hops: u64,
    /// Sum over rounds of the largest volume that leaves or enters one host, if the problem knows
    /// its hosts. If it is not claimed, [`claimed`](Self::claimed) counts it for up to 128 ranks.
    pub host: Volume,
    /// The work of the ranks of one host together, if the problem knows its hosts. If it is not
    /// claimed, [`claimed`](Self::claimed) counts it for up to 128 ranks.
    pub work: Work,
    /// Blocks of a rank that are rearranged between phases.
    pub rearranged: Volume,
    /// Sum over rounds of the largest volume that one rank combines.
    pub combined: Volume,
    /// The number of ranks.
    pub ranks: usize,
    /// Whether blocks have bytes. The blocks of a barrier have none.
    pub bytes: bool,
    /// The names of the demands that the algorithm does not claim. Their values are lower bounds.
    pub at_least: Vec<&'static str>,
}

/// The price of a schedule, term by term, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Price {
    /// The sum of the other terms without synchronisation: the estimated time of an execution.
    pub total: u128,
    /// Start-ups of rounds, and the processor's time to send and receive messages.
    pub startup: u128,
    /// Bytes through ports and over channels, except those that move while processors send and
    /// receive.
    pub transmission: u128,
    /// Channels that messages cross.
    pub propagation: u128,
    /// Blocks that are rearranged between phases.
    pub rearrangement: u128,
    /// Contributions to reductions that are combined.
    pub combination: u128,
    /// The time that the ranks of a host wait for cores that they share.
    pub cores: u128,
    /// Barriers between rounds. Not part of the total, since schedules are executed without
    /// barriers.
    pub synchronisation: u128,
}

impl Demand {
    /// Returns the demand of a schedule with these figures.
    #[must_use]
    pub fn counted(figures: &Figures, problem: &Problem) -> Self {
        // The busiest rank forwards at least the mean of all ranks.
        let mean =
            if figures.keeps(Ports::One) { figures.link_blocks.part(problem.ranks() as u64) } else { Volume::ZERO };
        let forwarded = figures.chained_forwarded.max(mean);
        Self {
            startups: figures.startups,
            handled: figures.handled,
            port: figures.port_transmission,
            received: figures.received,
            channel: figures.channel_transmission,
            largest: figures.transmission,
            forwarded,
            ends: figures.end_transmission,
            hops: figures.chained_hops,
            host: figures.host_transmission,
            work: figures.work,
            rearranged: blocks_per_rank(problem) * figures.rearrangements,
            combined: figures.combined,
            ..Self::of(problem)
        }
    }

    /// Returns the demand of an algorithm's schedule by the algorithm's claims, without building
    /// the schedule.
    ///
    /// A demand that is not claimed is the least that follows from the claims and from the [lower
    /// bounds](crate::bounds) of the problem, which are computed only if needed; see
    /// [`at_least`](Self::at_least).
    ///
    /// # Errors
    ///
    /// [`BuildError::Unfit`] if the algorithm does not fit the problem; [`BuildError::Unscheduled`]
    /// if the algorithm has no schedule.
    pub fn claimed(algorithm: &dyn Algorithm, problem: &Problem) -> Result<Self, BuildError> {
        Ok(Self::claimed_within(algorithm, &Search::of(problem))?.with_hosts(algorithm, problem, MOST_COUNTED))
    }

    /// Counts what leaves and enters hosts, and what their ranks do together, unless it is claimed.
    /// Both remain lower bounds for more than `most` ranks.
    pub(crate) fn with_hosts(mut self, algorithm: &dyn Algorithm, problem: &Problem, most: usize) -> Self {
        if self.at_least.contains(&WORK)
            && let Some((host, work)) = at_hosts::count(algorithm, problem, most)
        {
            self.at_least.retain(|name| ![HOST, WORK].contains(name));
            return Self { host, work, ..self };
        }
        self
    }

    /// Like [`claimed`](Self::claimed), for several algorithms of a problem that share its bounds,
    /// and without counting what leaves and enters hosts.
    pub(crate) fn claimed_within(algorithm: &dyn Algorithm, search: &Search) -> Result<Self, BuildError> {
        let problem = search.problem();
        scheduled(algorithm, problem)?;
        let ports = algorithm.ports(problem);
        let mut claims = algorithm.claims(problem).completed(ports);
        if !problem.collective().is_reduction() {
            claims.combined = claims.combined.or(Some(Volume::ZERO));
        }
        let at_hosts = claims.at_hosts;
        let mut demand =
            Self::by_claims(&claims, Self::of(problem), blocks_per_rank(problem), || Self::least(search, ports));
        match at_hosts {
            Some((host, work)) => Ok(Self { host, work, ..demand }),
            None => {
                demand.at_least.extend([HOST, WORK]);
                Ok(demand)
            }
        }
    }

    /// Returns the demand that follows from claims. `of` has the number of ranks and whether blocks
    /// have bytes, `own` is the number of blocks of a rank, and `bound` the demand where nothing is
    /// claimed.
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
        let received = least(&mut at_least, RECEIVED, claims.received, || bound.received.max(transmission));
        let channel = least(&mut at_least, CHANNEL, claims.channel_transmission, || bound.channel.max(transmission));
        let forwarded = claims.chained_forwarded.or(claims.forwarded_transmission);
        let forwarded = least(&mut at_least, FORWARDED, forwarded, || bound.forwarded.max(transmission));
        let ends = least(&mut at_least, ENDS, claims.end_transmission, || bound.ends);
        let hops = claims.chained_hops.or(claims.hops);
        let hops = least(&mut at_least, HOPS, hops, || bound.hops);
        let rearrangements = least(&mut at_least, REARRANGEMENTS, claims.rearrangements, || 0);
        let rearranged = own * rearrangements;
        let combined = least(&mut at_least, COMBINED, claims.combined, || bound.combined);
        Self {
            startups,
            handled,
            port,
            received,
            channel,
            largest: transmission,
            forwarded,
            ends,
            hops,
            rearranged,
            combined,
            at_least,
            ..of
        }
    }

    /// Returns the least demand of any schedule of a problem under a port model, by the problem's
    /// bounds. Its price is a lower bound on the price of such schedules.
    #[must_use]
    pub fn least(search: &Search, ports: Ports) -> Self {
        let bounds = search.bounds();
        let with_one = |volume| if ports == Ports::One { volume } else { Volume::ZERO };
        Self {
            startups: bounds.startups(ports),
            handled: bounds.handled(ports),
            port: bounds.port,
            received: bounds.received,
            channel: bounds.channel(),
            largest: with_one(bounds.port),
            forwarded: with_one(bounds.forwarded),
            hops: bounds.hops(ports),
            combined: bounds.combined,
            ..Self::of(search.problem())
        }
    }

    /// Returns the demands that are not claimed and that the machine charges for. If there are any,
    /// the price is a lower bound.
    #[must_use]
    pub fn uncertain(&self, machine: &Machine) -> Vec<&'static str> {
        let forwards = machine.switching == Switching::StoreAndForward;
        let charges = |name: &&str| match *name {
            STARTUPS => machine.startup > 0,
            HANDLED => machine.message > 0,
            PORT => self.bytes && machine.byte > 0 && !machine.one_sided,
            RECEIVED => self.bytes && machine.byte > 0 && machine.one_sided,
            CHANNEL => self.bytes && machine.channel > 0,
            FORWARDED => self.bytes && machine.channel > 0 && forwards,
            ENDS => self.bytes && machine.byte > machine.channel && forwards,
            HOPS => machine.hop > 0,
            COMBINED => self.bytes && machine.added_by_combination() > 0,
            HOST => self.bytes && machine.host > 0,
            WORK => machine.cores > 0,
            _ => self.bytes && machine.rearrangement > 0,
        };
        self.at_least.iter().copied().filter(charges).collect()
    }

    fn of(problem: &Problem) -> Self {
        Self { ranks: problem.ranks(), bytes: problem.has_bytes(), ..Self::default() }
    }

    /// Returns the price on a machine with blocks of `block_bytes` bytes.
    #[must_use]
    pub fn price(&self, machine: &Machine, block_bytes: u64) -> Price {
        let block_bytes = if self.bytes { block_bytes } else { 0 };
        let times = |count: u64, price: u64| u128::from(count) * u128::from(price);
        let moved = |blocks: Volume, price: u64| blocks.bytes(block_bytes).saturating_mul(price.into());
        let hops = times(self.hops, machine.hop);
        let further = times(self.handled.saturating_sub(self.startups.saturating_mul(2)), machine.message);
        let slower = machine.byte.saturating_sub(machine.channel);
        // The time of one message alone, and the times of others before it through its port and
        // over its channel.
        let alone = moved(self.largest, machine.byte.max(machine.channel));
        let port = if machine.one_sided { self.received } else { self.port };
        let through_port = moved(port.without(self.largest), machine.byte);
        let over_channel = moved(self.channel.without(self.largest), machine.channel);
        let last = match machine.switching {
            Switching::CutThrough => alone,
            Switching::StoreAndForward => {
                moved(self.forwarded, machine.channel).saturating_add(moved(self.ends, slower)).max(alone)
            }
        };
        // A message from far away reaches a busy channel late: it has crossed its route before the
        // channel is free. If a rank has several messages in a round, a message may have waited
        // before it is stored.
        let several = self.handled > self.startups.saturating_mul(2);
        let contending = match machine.switching {
            Switching::StoreAndForward if !several => over_channel.saturating_add(alone).max(last.saturating_add(hops)),
            _ => over_channel.max(hops).saturating_add(last),
        };
        // While a processor handles the further messages of a round, the earlier ones move: all of
        // them while it receives as many, the last one while it receives those before it.
        let last_of_several = through_port.max(further.div_ceil(2)).saturating_add(last).saturating_add(hops);
        let under_way = contending.max(last_of_several).saturating_sub(further);
        let propagation = hops.min(under_way);
        let price = Price {
            total: 0,
            startup: times(self.startups, machine.startup).saturating_add(times(self.handled, machine.message)),
            transmission: (under_way - propagation).saturating_add(moved(self.host, machine.host)),
            propagation,
            rearrangement: moved(self.rearranged, machine.rearrangement),
            combination: moved(self.combined, machine.added_by_combination()),
            cores: 0,
            synchronisation: times(self.startups.saturating_sub(1), machine.barrier(self.ranks)),
        };
        let total = |price: Price| price.charged().fold(0, |sum: u128, (_, term)| sum.saturating_add(term));
        let price = Price { cores: self.on_cores(machine, block_bytes).saturating_sub(total(price)), ..price };
        Price { total: total(price), ..price }
    }

    /// Returns the time that the cores of a host take for the work of its ranks; 0 if each rank has
    /// a core.
    fn on_cores(&self, machine: &Machine, block_bytes: u64) -> u128 {
        let Work { waits, handled, received, combined } = self.work;
        let terms = [
            u128::from(waits).saturating_mul(machine.startup.into()),
            u128::from(handled).saturating_mul(machine.message.into()),
            received.bytes(block_bytes).saturating_mul(machine.byte.into()),
            combined.bytes(block_bytes).saturating_mul(machine.added_by_combination().into()),
        ];
        let all = terms.into_iter().fold(0, u128::saturating_add);
        all.checked_div(machine.cores.into()).unwrap_or(0)
    }
}

const STARTUPS: &str = "start-ups";
const HANDLED: &str = "messages handled";
const PORT: &str = "transmission by port";
const RECEIVED: &str = "transmission received";
const CHANNEL: &str = "transmission by channel";
const FORWARDED: &str = "transmission forwarded";
const ENDS: &str = "transmission at the ends";
const HOPS: &str = "hops";
const REARRANGEMENTS: &str = "rearrangements";
const COMBINED: &str = "volume combined";
const HOST: &str = "transmission by host";
const WORK: &str = "work of a host";

/// The most ranks whose messages are counted.
pub(crate) const MOST_COUNTED: usize = 1 << 7;

/// The name of the term that is not part of the total.
const SYNCHRONISATION: &str = "synchronisation";

/// Returns the claim, or the bound if nothing is claimed, and records the latter.
fn least<T>(missing: &mut Vec<&'static str>, name: &'static str, claimed: Option<T>, bound: impl FnOnce() -> T) -> T {
    claimed.unwrap_or_else(|| {
        missing.push(name);
        bound()
    })
}

/// Returns the most blocks that a rank holds, at the beginning or at the end.
pub(crate) fn blocks_per_rank(problem: &Problem) -> Volume {
    Volume::from(problem.collective().most(problem.ranks() as u64))
}

impl Price {
    /// Returns the name and the time of each term, in picoseconds.
    ///
    /// The last is `synchronisation`, which is not part of the total.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&'static str, u128)> + use<> {
        let Self { startup, transmission, propagation, rearrangement, combination, cores, synchronisation, .. } = *self;
        [
            ("startup", startup),
            ("transmission", transmission),
            ("propagation", propagation),
            ("rearrangement", rearrangement),
            ("combination", combination),
            ("cores", cores),
            (SYNCHRONISATION, synchronisation),
        ]
        .into_iter()
    }

    /// Returns the terms that make up the total.
    fn charged(&self) -> impl Iterator<Item = (&'static str, u128)> + use<> {
        self.terms().filter(|(name, _)| *name != SYNCHRONISATION)
    }
}

/// Writes the total in microseconds, the terms that are not 0, and the time that barriers would
/// add.
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

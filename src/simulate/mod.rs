//! Plays a schedule out on a machine, with contention, without barriers.
//!
//! [`cost`](crate::cost) adds up what rounds cost when all ranks take them together. Here every rank goes at its own pace: it
//! starts its next round when its own transfers of the last one are done, and messages wait for each other where they
//! want the same port or channel.
//!
//! # The model
//!
//! - A rank's **processor** does one thing at a time, in this order of need: [`startup`](Machine::startup) when it enters a
//!   round in which it sends, [`message`](Machine::message) for each message that it sends or takes in,
//!   [`rearrangement`](Machine::rearrangement) of all its blocks when a new phase begins. A message of a round that
//!   the rank has not reached yet is taken in when it has.
//! - A rank has one **port** out and one in, each with a queue, at [`byte`](Machine::byte). The next message is prepared once the
//!   port has begun the last.
//! - A **channel** takes [`channel`](Machine::channel) for each byte that it carries. Messages get it in the order in which
//!   their heads reach it (of equal times, in the order in which the simulation got to know of them, which is the same in every
//!   run). Where a head waits, the rest of the message gathers there: buffers never fill. A message whose bytes come more slowly
//!   than the channel carries them, through a slower port, leaves the rest of the channel's time to others. So a channel
//!   that costs nothing is never waited for, and neither is a port.
//! - A head takes [`hop`](Machine::hop) a channel. With [cut-through](crate::machine::Switching::CutThrough) it goes on
//!   at once; with [store-and-forward](crate::machine::Switching::StoreAndForward) when all of the message is there.
//! - A send is done when the message has left the sender's node; a receive when the processor has taken it in.
//! - There are no barriers between rounds, as there are none when a schedule is executed. So
//!   [`synchronisation`](Machine::synchronisation) is not charged here, nor is it part of the [total](crate::cost::Price::total)
//!   of a price.
//!
//! So a message of m bytes over h free channels takes `startup + message + m max(byte, channel) + h hop + message`; by
//! store-and-forward, instead of the third term, `m max(byte, channel)` over the first channel and again over the last, if
//! that is another, and `m channel` over each between them. Where nothing contends, each rank sends and receives a message
//! a round, and all messages of a round are of one size and go equally far, the simulated time is the
//! [price](crate::cost::Price) exactly. Wormhole routers with small buffers, which hold channels while a
//! head waits, are slower than this under contention.
//!
//! # Cost
//!
//! An event for each channel of each message's way and two for its ends; 56 bytes for each message under way, and the sends
//! of the round that each rank is in (4 bytes each where all have one size). Ranks' shares are advanced one by one, by
//! [amounts](Algorithm::amounts): the exchanges that combine messages do not name blocks for it, so that the time is in proportion to
//! messages and channels. What a channel has carried takes 16 bytes; where a network has many channels for each node, such as a
//! complete one, and the schedule uses few of them, only for those in use, of up to 60 bytes. `torus-exchange` on 65,536 nodes, 8.5 million messages for 2.8e11 blocks, takes half a minute of one core and 100 MB.
//!
//! ```
//! use necklace::collective::Collective;
//! use necklace::cost::Demand;
//! use necklace::machine::Machine;
//! use necklace::schedule::Problem;
//! use necklace::topology::parse;
//!
//! let problem = Problem::new(parse("torus:8x8").unwrap(), Collective::Alltoall)?;
//! let exchange = necklace::algorithm::find(problem.collective(), "torus-exchange")?;
//! let played = necklace::simulate::Simulation::new(&Machine::PARAGON, 64).play(&*exchange, &problem).unwrap();
//! let price = Demand::claimed(&*exchange, &problem)?.price(&Machine::PARAGON, 64);
//! assert_eq!(u128::from(played.time), price.total);
//! # Ok::<(), necklace::error::BuildError>(())
//! ```

mod channels;
mod engine;
mod network;
mod played;
mod queue;
mod sends;

pub use played::{Played, SimulateError};

use std::fmt;

use channels::{Channels, used, used_by};
use engine::Engine;
use network::Network;

use crate::algorithm::{Algorithm, scheduled};
use crate::bounds::Search;
use crate::machine::Machine;
use crate::vocabulary::{Amounts, Ports, Problem, RankAmounts, RankRound, Schedule, Share};

/// A simulation: a machine, a block size and a callback for progress.
///
/// ```
/// # use necklace::{collective::Collective, machine::Machine, schedule::Problem, simulate::Simulation};
/// let problem = Problem::new(necklace::topology::parse("ring:8")?, Collective::Alltoall)?;
/// let ring = necklace::algorithm::find(problem.collective(), "ring")?;
/// let mut messages = 0;
/// let simulation = Simulation::new(&Machine::TCP, 1024).with_progress(|arrived| messages = arrived);
/// assert_eq!(simulation.play(&*ring, &problem)?.messages, 8 * 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<'a> {
    machine: &'a Machine,
    block_bytes: u64,
    progress: Box<dyn FnMut(u64) + 'a>,
}

impl<'a> Simulation<'a> {
    /// Returns a simulation on a machine with blocks of `block_bytes` bytes.
    #[must_use]
    pub fn new(machine: &'a Machine, block_bytes: u64) -> Self {
        Self { machine, block_bytes, progress: Box::new(|_| ()) }
    }

    /// Sets a callback, which is told now and then how many messages have arrived.
    #[must_use]
    pub fn with_progress(self, progress: impl FnMut(u64) + 'a) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Simulates the schedule that an algorithm makes for a problem.
    ///
    /// Takes time in proportion to the messages and the channels that they cross, whatever their number
    /// of blocks, if the algorithm implements [`amounts`](Algorithm::amounts).
    ///
    /// # Errors
    ///
    /// [`SimulateError`].
    pub fn play(self, algorithm: &dyn Algorithm, problem: &Problem) -> Result<Played, SimulateError> {
        scheduled(algorithm, problem)?;
        let network = Network::new(problem)?;
        let channels = Channels::new(&network, problem, || Some(used(algorithm, problem, &network)))?;
        let shares = problem.all().map(|rank| algorithm.amounts(problem, rank)).collect();
        self.run(shares, problem, (network, channels))
    }

    /// Simulates a schedule that is in memory.
    ///
    /// # Errors
    ///
    /// [`SimulateError`].
    pub fn play_schedule(self, schedule: &Schedule) -> Result<Played, SimulateError> {
        let problem = &schedule.outline.problem;
        let network = Network::new(problem)?;
        let channels = Channels::new(&network, problem, || Some(used_by(schedule, &network)))?;
        let shares = shares_of(schedule).into_iter().map(Vec::into_iter).map(amounts).collect();
        self.run(shares, problem, (network, channels))
    }

    /// Simulates the shares of all ranks of a problem, in the order of the ranks.
    ///
    /// # Errors
    ///
    /// [`SimulateError`].
    pub fn play_shares(self, shares: Vec<Share>, problem: &Problem) -> Result<Played, SimulateError> {
        let network = Network::new(problem)?;
        let channels = Channels::new(&network, problem, || None)?;
        self.run(shares.into_iter().map(amounts).collect(), problem, (network, channels))
    }

    fn run(
        self,
        shares: Vec<Amounts>,
        problem: &Problem,
        network: (Network, Channels),
    ) -> Result<Played, SimulateError> {
        Engine::new(shares, problem, network, self.machine, self.block_bytes).play(self.progress)
    }
}

impl fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, block_bytes, .. } = self;
        f.debug_struct("Simulation").field("machine", machine).field("block_bytes", block_bytes).finish_non_exhaustive()
    }
}

fn amounts(share: impl Iterator<Item = RankRound> + Send + 'static) -> Amounts {
    Box::new(share.map(RankAmounts::from))
}

/// Returns the rounds of each rank. Transfers of ranks that do not exist are left out.
fn shares_of(schedule: &Schedule) -> Vec<Vec<RankRound>> {
    let ranks = schedule.outline.problem.ranks();
    let mut shares: Vec<Vec<RankRound>> = vec![Vec::with_capacity(schedule.rounds.len()); ranks];
    for round in &schedule.rounds {
        for share in &mut shares {
            share.push(RankRound { phase: round.phase, ..RankRound::default() });
        }
        for transfer in &round.transfers {
            let end = |peer| crate::schedule::End {
                peer,
                blocks: transfer.blocks.clone(),
                combine: transfer.combine,
                route: transfer.route.clone(),
            };
            let ends = [(transfer.source, transfer.destination, true), (transfer.destination, transfer.source, false)];
            for (rank, peer, sends) in ends {
                if let Some(round) = shares.get_mut(rank.index()).and_then(|share| share.last_mut()) {
                    if sends { round.sends.push(end(peer)) } else { round.receives.push(end(peer)) }
                }
            }
        }
    }
    shares
}

/// How long every schedule of a problem that keeps to these ports takes at least, in picoseconds, by its
/// bounds.
///
/// Ranks that go at their own pace do several things at the same time, so this is less than the [price](crate::cost) of what
/// none can do without: the longest of its parts. Before the first byte a rank sets out and prepares a message, which
/// crosses a channel and is taken in when all is done. Between that lies the longest of these: what the busiest port
/// passes, what the busiest channel carries, the further start-ups and messages that follow upon each other until all
/// know, the further channels to the farthest.
#[must_use]
pub fn least(search: &Search, ports: Ports, machine: &Machine, block_bytes: u64) -> u128 {
    let (problem, bounds) = (search.problem(), search.bounds());
    let (startups, messages) = (bounds.startups_in_a_row(ports), bounds.startups(Ports::One));
    if startups == 0 {
        return 0;
    }
    let block_bytes = if problem.has_bytes() { block_bytes } else { 0 };
    let times = |count: u64, price: u64| u128::from(count) * u128::from(price);
    let between = [
        bounds.port.bytes(block_bytes).saturating_mul(machine.byte.into()),
        bounds.channel().bytes(block_bytes).saturating_mul(machine.channel.into()),
        times(startups - 1, machine.startup),
        times(messages.saturating_sub(1), machine.message),
        times(bounds.distance.saturating_sub(1), machine.hop),
    ];
    let ends = times(1, machine.startup) + times(2, machine.message) + times(1, machine.hop);
    between.into_iter().fold(0, u128::max).saturating_add(ends)
}

//! Simulation: plays a schedule out on a machine, with contention and without barriers.
//!
//! [`cost`](crate::cost) adds up rounds that all ranks take together. In a [`Simulation`] every
//! rank proceeds at its own pace: it starts its next round when its own transfers of the last one
//! are done, and messages wait for each other at ports and channels.
//!
//! # The model
//!
//! - A rank's **processor** does one thing at a time. It takes [`startup`](Machine::startup) when
//!   the rank enters a round with a send, [`message`](Machine::message) for each message that it
//!   sends or receives, and [`rearrangement`](Machine::rearrangement) for all blocks of the rank
//!   when a new phase begins. When all messages of a round have come, it takes
//!   [`combination`](Machine::combination) for each byte that it combines. A message of a later
//!   round is received when the rank has entered that round.
//! - A rank has one **port** out and one in. Each has a queue and takes [`byte`](Machine::byte) for
//!   each byte; if only receivers move bytes, the port out takes no time. The processor prepares
//!   the next message when the port has begun the last one.
//! - A **channel** takes [`channel`](Machine::channel) for each byte that it carries. It serves
//!   messages in the order in which their heads reach it (at equal times in a fixed order, the same
//!   in every run). Where a head waits, the rest of the message gathers: buffers never fill. If the
//!   bytes of a message arrive more slowly than the channel carries them, because of a slower port,
//!   other messages use the time between them. So no message waits for a channel or a port whose
//!   price is 0.
//! - A head takes [`hop`](Machine::hop) for each channel. Under
//!   [cut-through](crate::machine::Switching::CutThrough) switching it continues at once; under
//!   [store-and-forward](crate::machine::Switching::StoreAndForward) switching when the whole
//!   message has arrived.
//! - A send is done when the message has left the sender's node; a receive is done when the
//!   processor has handled the message.
//! - There are no barriers between rounds, as in executions. So
//!   [`synchronisation`](Machine::synchronisation) is not charged here, and it is not part of the
//!   [total](crate::cost::Price::total) of a price. Nor do [`host`](Machine::host) and
//!   [`cores`](Machine::cores) count here: the simulated network knows nodes, not hosts.
//!
//! So a message of m bytes over h free channels takes
//! `startup + message + m max(byte, channel) + h hop + message`. Under store-and-forward switching,
//! the third term is `m max(byte, channel)` for the first channel and again for the last, if that
//! is another one, and `m channel` for each channel between them.
//!
//! The simulated time equals the [price](crate::cost::Price) if there is no contention, each rank
//! sends and receives one message in a round, and all messages of a round have the same size and
//! distance. Wormhole routers with small buffers hold channels while a head waits; under contention
//! they are slower than this model.
//!
//! # Cost
//!
//! Time: one event for each channel on the route of each message, and two for its ends. Shares are
//! read as [amounts](Algorithm::amounts), and the algorithms that combine messages do not name
//! blocks for that, so the time does not depend on the number of blocks.
//!
//! Memory: 56 bytes for each message in flight, 4 bytes for each send of the current round of each
//! rank (more if sizes differ), and 16 bytes for each channel. If a network has many channels for
//! each node, as complete networks do, and the schedule uses few of them, only the channels in use
//! are kept, at up to 60 bytes each.
//!
//! `torus-exchange` on 65,536 nodes, with 8.5 million messages of 2.8e11 blocks, takes half a
//! minute on one core and 100 MB.
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

    /// Sets a callback that is called at intervals with the number of messages that have arrived.
    #[must_use]
    pub fn with_progress(self, progress: impl FnMut(u64) + 'a) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Simulates the schedule that an algorithm makes for a problem.
    ///
    /// Takes time in proportion to the messages and the channels that they cross, whatever their
    /// number of blocks, if the algorithm implements [`amounts`](Algorithm::amounts).
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

/// Returns a lower bound on the simulated time of all schedules of a problem under a port model, in
/// picoseconds.
///
/// It follows from the problem's [bounds](crate::bounds). Ranks overlap their work, so the longest
/// term counts and not the sum, as in the [price](crate::cost) of the bounds. To the start-up,
/// send, hop and receive of one message it adds the longest of these: the time of the busiest port,
/// of the busiest channel, of the further start-ups and messages that must follow each other, of
/// the further channels to the farthest rank, and of the combinations by the rank that combines the
/// most. A rank combines only after it has received a message.
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
        if machine.one_sided { bounds.received } else { bounds.port }
            .bytes(block_bytes)
            .saturating_mul(machine.byte.into()),
        bounds.channel().bytes(block_bytes).saturating_mul(machine.channel.into()),
        times(startups - 1, machine.startup),
        times(messages.saturating_sub(1), machine.message),
        times(bounds.distance.saturating_sub(1), machine.hop),
        bounds.combined.bytes(block_bytes).saturating_mul(machine.added_by_combination().into()),
    ];
    let ends = times(1, machine.startup) + times(2, machine.message) + times(1, machine.hop);
    between.into_iter().fold(0, u128::max).saturating_add(ends)
}

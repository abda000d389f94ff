//! The events of a simulation, and their effects.

use super::channels::Channels;
use super::network::Network;
use super::queue::Queue;
use super::sends::{Sends, Sent, length};
use super::{Played, SimulateError};
use crate::cost::blocks_per_rank;
use crate::ids::{Node, Rank};
use crate::machine::{Machine, Switching};
use crate::vocabulary::{Amounts, Problem};

/// The number of a message's route that stands for the default route.
const DEFAULT: u32 = u32::MAX;

enum Event {
    /// A rank enters its next round.
    Enter(u32),
    /// A rank's processor prepares its next message.
    Prepare(u32),
    /// A rank's port begins to send the prepared message.
    Begin(u32),
    /// The head of a message reaches a node.
    Head(Head),
    /// A whole message of a round has arrived at a rank.
    Arrived { rank: u32, round: u32 },
}

/// A message in flight.
struct Head {
    at: u32,
    /// The destination.
    to: u32,
    /// The number of its stored route, and its position on it.
    route: u32,
    step: u32,
    round: u32,
    bytes: u64,
    /// The earliest time when the whole message is here.
    tail: u64,
}

struct Member {
    share: Amounts,
    /// The number of rounds so far, including the current one.
    rounds: u32,
    phase: Option<usize>,
    sends: Sends,
    prepared: Option<Sent>,
    /// The times when the processor and the two ports are free.
    processor: u64,
    out: u64,
    into: u64,
    /// The time when all messages of the round that were begun have left.
    left: u64,
    taken_in: u64,
    awaited: u64,
    /// The time to combine what the round has to.
    combining: u64,
    /// Messages that arrived early: their round and their number.
    early: Vec<(u32, u64)>,
    /// Whether the rank is between two rounds, or done.
    idle: bool,
}

pub(super) struct Engine<'m> {
    problem: &'m Problem,
    machine: &'m Machine,
    block_bytes: u64,
    /// The time to rearrange the blocks of a rank.
    rearranging: u64,
    network: Network,
    queue: Queue<Event>,
    members: Vec<Member>,
    channels: Channels,
    routes: Vec<Box<[Node]>>,
    unused: Vec<u32>,
    played: Played,
}

impl<'m> Engine<'m> {
    pub(super) fn new(
        shares: Vec<Amounts>,
        problem: &'m Problem,
        (network, channels): (Network, Channels),
        machine: &'m Machine,
        block_bytes: u64,
    ) -> Self {
        let topology = problem.topology();
        let block_bytes = if problem.has_bytes() { block_bytes } else { 0 };
        let member = |share| Member {
            share,
            rounds: 0,
            phase: None,
            sends: Sends::default(),
            prepared: None,
            processor: 0,
            out: 0,
            into: 0,
            left: 0,
            taken_in: 0,
            awaited: 0,
            combining: 0,
            early: Vec::new(),
            idle: true,
        };
        let mut queue = Queue::new();
        (0..shares.len() as u32).for_each(|rank| queue.push(0, Event::Enter(rank)));
        Self {
            problem,
            machine,
            block_bytes,
            rearranging: length(blocks_per_rank(problem), block_bytes).saturating_mul(machine.rearrangement),
            network,
            channels,
            queue,
            played: Played { ranks: vec![0; shares.len()], channels: topology.channels() as u64, ..Played::default() },
            members: shares.into_iter().map(member).collect(),
            routes: Vec::new(),
            unused: Vec::new(),
        }
    }

    pub(super) fn play(mut self, mut progress: impl FnMut(u64)) -> Result<Played, SimulateError> {
        let mut arrived = 0_u64;
        while let Some((now, event)) = self.queue.pop() {
            match event {
                Event::Enter(rank) => self.enter(rank, now)?,
                Event::Prepare(rank) => self.prepare(rank, now),
                Event::Begin(rank) => self.begin(rank, now)?,
                Event::Head(head) => {
                    self.head(head, now);
                }
                Event::Arrived { rank, round } => {
                    arrived += 1;
                    if arrived.is_multiple_of(1 << 14) {
                        progress(arrived);
                        self.channels.fit(self.problem)?;
                    }
                    self.arrived(rank, round, now);
                }
            }
        }
        if let Some((rank, stuck)) = self.members.iter().enumerate().find(|(_, member)| !member.idle) {
            return Err(SimulateError::Stuck {
                rank: Rank::new(rank),
                round: stuck.rounds.saturating_sub(1) as usize,
                missing: stuck.awaited.saturating_sub(stuck.taken_in),
                awaited: stuck.awaited,
            });
        }
        self.played.time = self.played.ranks.iter().copied().max().unwrap_or(0);
        if self.played.time == u64::MAX {
            return Err(SimulateError::TooLong { block_bytes: self.block_bytes });
        }
        self.played.busiest_channel = self.channels.carrying().max().unwrap_or(0);
        self.played.carrying = self.channels.carrying().map(u128::from).sum();
        Ok(self.played)
    }

    /// Enters the next round of the rank that has any transfers.
    fn enter(&mut self, rank: u32, now: u64) -> Result<(), SimulateError> {
        let limit = self.problem.max_rounds();
        let member = &mut self.members[rank as usize];
        member.idle = true;
        loop {
            let Some(round) = member.share.next() else {
                self.played.ranks[rank as usize] = now.max(member.processor);
                return Ok(());
            };
            if member.rounds as usize == limit {
                return Err(SimulateError::Rounds { rank: Rank::new(rank as usize), limit });
            }
            member.rounds += 1;
            member.combining =
                length(round.combined, self.block_bytes).saturating_mul(self.machine.added_by_combination());
            if round.sends.is_empty() && round.receives == 0 {
                if member.combining > 0 {
                    member.processor = member.processor.max(now).saturating_add(member.combining);
                }
                continue;
            }
            member.processor = member.processor.max(now);
            if member.phase.replace(round.phase).is_some_and(|last| last != round.phase) {
                member.processor = member.processor.saturating_add(self.rearranging);
            }
            (member.awaited, member.taken_in, member.left) = (round.receives as u64, 0, now);
            member.sends = Sends::new(round.sends, self.block_bytes);
            self.played.messages += member.sends.len() as u64;
            member.idle = false;
            break;
        }
        let round = member.rounds - 1;
        if !member.sends.is_empty() {
            member.processor = member.processor.saturating_add(self.machine.startup);
            self.queue.push(member.processor, Event::Prepare(rank));
        }
        if let Some(at) = member.early.iter().position(|(early, _)| *early == round) {
            let (_, many) = member.early.swap_remove(at);
            (0..many).for_each(|_| self.queue.push(member.processor, Event::Arrived { rank, round }));
        }
        Ok(())
    }

    fn prepare(&mut self, rank: u32, now: u64) {
        let member = &mut self.members[rank as usize];
        member.prepared = member.sends.next();
        member.processor = member.processor.max(now).saturating_add(self.machine.message);
        self.queue.push(member.processor.max(member.out), Event::Begin(rank));
    }

    fn begin(&mut self, rank: u32, now: u64) -> Result<(), SimulateError> {
        let member = &mut self.members[rank as usize];
        let Some(Sent { peer, bytes, route }) = member.prepared.take() else { return Ok(()) };
        let round = member.rounds - 1;
        let byte = if self.machine.one_sided { 0 } else { self.machine.byte };
        member.out = now.saturating_add(bytes.saturating_mul(byte));
        let placement = self.problem.placement();
        let (from, to) = (placement.node(Rank::new(rank as usize)), placement.node(peer));
        let mut head = Head {
            at: from.index() as u32,
            to: to.index() as u32,
            route: DEFAULT,
            step: 0,
            round,
            bytes,
            tail: member.out,
        };
        if !member.sends.is_empty() {
            self.queue.push(now, Event::Prepare(rank));
        }
        if let Some(route) = route.or_else(|| self.network.route(from, to)) {
            let hops = || route.windows(2).all(|hop| self.network.channel(hop[0], hop[1]).is_some());
            if route.first() != Some(&from) || route.last() != Some(&to) || !hops() {
                return Err(SimulateError::Route { rank: Rank::new(rank as usize), round: round as usize, peer });
            }
            head.route = self.keep(route);
        }
        let left = self.head(head, now);
        let member = &mut self.members[rank as usize];
        member.left = member.left.max(left);
        self.finish(rank);
        Ok(())
    }

    /// Moves a head over its next channel, or into the rank at its destination. Returns the time
    /// when the whole message has left the node.
    fn head(&mut self, head: Head, now: u64) -> u64 {
        if self.at_end(&head) { self.land(head, now) } else { self.cross(head, now) }
    }

    /// Returns whether a head is at its destination. A given route may pass the destination's node
    /// earlier.
    fn at_end(&self, head: &Head) -> bool {
        let way = (head.route != DEFAULT).then(|| &self.routes[head.route as usize]);
        way.map_or(head.at == head.to, |way| head.step as usize + 1 >= way.len())
    }

    /// Moves a head over its next channel. Returns the time when the whole message has left the
    /// node.
    fn cross(&mut self, mut head: Head, now: u64) -> u64 {
        let Some((next, channel)) = self.next(&mut head) else { return now };
        let used = self.channels.at(channel);
        let start = used.free.max(now);
        let carrying = head.bytes.saturating_mul(self.machine.channel);
        // If bytes arrive more slowly than the channel carries them, other messages use the time
        // between them.
        used.free = start.saturating_add(carrying);
        let left = used.free.max(head.tail);
        used.carrying = used.carrying.saturating_add(carrying);
        self.played.hops += 1;
        self.waited(start - now);
        let hop = self.machine.hop;
        head.tail = left.saturating_add(hop);
        head.at = next;
        // A message enters a rank as its bytes arrive.
        let whole = self.machine.switching == Switching::StoreAndForward && !self.at_end(&head);
        let there = if whole { head.tail } else { start.saturating_add(hop) };
        self.queue.push(there, Event::Head(head));
        left
    }

    /// Returns the next node and channel of a head.
    fn next(&self, head: &mut Head) -> Option<(u32, usize)> {
        if head.route == DEFAULT {
            return self.network.next(head.at, head.to);
        }
        let route = &self.routes[head.route as usize];
        let (from, to) = (*route.get(head.step as usize)?, *route.get(head.step as usize + 1)?);
        head.step += 1;
        Some((to.index() as u32, self.network.channel(from, to)?))
    }

    /// Passes a message through the port into its rank. Returns the time when that is done.
    fn land(&mut self, head: Head, now: u64) -> u64 {
        if head.route != DEFAULT {
            self.routes[head.route as usize] = Box::default();
            self.unused.push(head.route);
        }
        let Some(rank) = self.problem.placement().rank(Node::new(head.to as usize)) else { return now };
        let member = &mut self.members[rank.index()];
        let start = member.into.max(now);
        member.into = start.saturating_add(head.bytes.saturating_mul(self.machine.byte));
        let through = member.into.max(head.tail);
        self.waited(start - now);
        self.queue.push(through, Event::Arrived { rank: rank.index() as u32, round: head.round });
        through
    }

    fn arrived(&mut self, rank: u32, round: u32, now: u64) {
        let member = &mut self.members[rank as usize];
        if member.idle || member.rounds != round + 1 {
            match member.early.iter_mut().find(|(early, _)| *early == round) {
                Some((_, many)) => *many += 1,
                None => member.early.push((round, 1)),
            }
            return;
        }
        member.processor = member.processor.max(now).saturating_add(self.machine.message);
        member.taken_in += 1;
        self.finish(rank);
    }

    /// Schedules the next round of a rank if the current one is done.
    fn finish(&mut self, rank: u32) {
        let member = &mut self.members[rank as usize];
        let all_left = member.sends.is_empty() && member.prepared.is_none();
        if all_left && member.taken_in >= member.awaited && !member.idle {
            member.idle = true;
            if member.combining > 0 {
                member.processor = member.processor.saturating_add(member.combining);
            }
            self.queue.push(member.left.max(member.processor), Event::Enter(rank));
        }
    }

    fn keep(&mut self, route: Box<[Node]>) -> u32 {
        match self.unused.pop() {
            Some(number) => {
                self.routes[number as usize] = route;
                number
            }
            None => {
                self.routes.push(route);
                self.routes.len() as u32 - 1
            }
        }
    }

    fn waited(&mut self, time: u64) {
        self.played.waiting += u128::from(time);
        self.played.longest_wait = self.played.longest_wait.max(time);
    }
}

//! Alltoall on networks that look the same from every node, in the fewest start-ups and with all
//! channels busy in each of them.
//!
//! Source: own work, by equitable edge colouring (see `src/algorithm/colouring.rs`).
//! [`NecklaceExchange`](super::NecklaceExchange) is the closed form on cubes. Needs: a product of
//! rings, complete networks and windows that wrap round, with rank i on node i. Model: all-port.
//!
//! On N ranks, with default parameters:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the diameter, the least from neighbour to neighbour |
//! | blocks over a channel | on rings and tori N fl(k^2/4) / 2k for the longest extent k, on generalized hypercubes N/k for the shortest, on windows about N fl(p^2/4) / (p w (w + 1)): the lower bounds, rounded up |
//! | hops | the diameter |
//!
//! That is counted on rings of up to 40 nodes, tori of up to 24 x 24 and 6 x 6 x 7, cubes of up to
//! 1024 nodes, and generalized hypercubes. Where an extent k is even and N/k is odd, half of what
//! goes to the opposite nodes can take either way only in an even number of chunks.
//! With chunks, windows that wrap round take at most 1.08 times the bound, and 1.042 times with up to
//! 19 nodes: counted for all of up to 64 nodes in one dimension, and some of up to 256; in two, for
//! all of 5 to 14 nodes a row. In the longer rows that were tried, of up to 4096 nodes, it is at most
//! 1.09 times. With `batches=b`, messages are smaller, there are up to b start-ups,
//! and jumps of all lengths may come nearer to the bound.
//!
//! A rank takes time and memory in proportion to the blocks that it sends, N times the mean
//! distance. The ranks of a process share a table of 12 bytes a block, which the first one makes:
//! in 2 ms for a torus of 32 x 32 nodes, 0.2 s for 128 x 128.
//!
//! # Idea
//!
//! Every node treats a relative address as node 0 does, so a schedule for node 0 is one for all: if
//! the addresses that take a step over a channel in a round are at most s, then every channel of
//! that kind in the network carries at most s blocks. The steps to an address may be taken in any
//! order, but one a round. That is a colouring of the edges between addresses and channels.

use std::sync::Arc;

use crate::algorithm::colouring::{Walk, coloured};
use crate::algorithm::group::Group;
use crate::algorithm::kept::Kept;
use crate::algorithm::translated_tree::lacks_rounds;
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

use super::walks::{is_cheap, least_load, walks};

/// An exchange in which each address takes its steps in an order that keeps all channels busy.
///
/// On a torus of 4 x 4 nodes, where every channel carries two blocks in each of four rounds:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/cayley-exchange.svg"))]
#[derive(Clone, Debug, Default)]
pub struct CayleyExchange(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "cayley-exchange",
    summary: "blocks for the same relative address take the same steps, in an order that keeps all channels busy in every round",
    source: "own work, by equitable edge colouring",
    needs: "a product of rings, complete networks and windows that wrap round, of at most 65536 nodes, not complete, with rank i on node i",
    claims: "the diameter in start-ups; N fl(k^2/4) / 2k blocks rounded up on tori with the longest extent k, in an even number of chunks if k is even and N/k odd, N/k on generalized hypercubes with the shortest, about N fl(p^2/4) / (p w (w + 1)) on windows; contention-free; with batches=b, up to b start-ups",
    ports: Ports::All,
};

static PARAMETERS: [Parameter; 2] = [BATCHES, CHUNKS];

const BATCHES: Parameter = Parameter {
    key: "batches",
    summary: "the most rounds, at least the diameter, which 0 takes; more rounds, up to the chunks over the busiest channel, send smaller messages",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "the number of chunks of every block, each of which takes its own steps; 0 takes the best by price of 1 and those that load channels more alike, without prices 1",
    values: Values::Number { least: 0, most: 16 },
    default: 0,
};

/// The most steps of all chunks from one node, and the most for numbers of chunks that are
/// compared.
const MOST: (u128, u128) = (1 << 20, 1 << 18);

/// The most nodes.
const MAX_NODES: usize = 1 << 16;

/// The steps of all rounds.
struct Exchange {
    group: Group,
    chunks: usize,
    rounds: Vec<Vec<Message>>,
}

/// What every node sends over one of its channels in a round.
struct Message {
    /// The address of the receiver, from the sender.
    to: usize,
    pieces: Vec<Piece>,
}

/// A chunk of what every node has for an address, and how far it has come.
#[derive(Clone, Copy)]
struct Piece {
    address: u32,
    come: u32,
    chunk: u32,
}

impl Exchange {
    fn of(problem: &Problem, batches: usize, chunks: usize) -> Option<Arc<Self>> {
        static MADE: Kept<(Group, usize, usize), Option<Arc<Exchange>>> = Kept::new(8);
        let group = Group::of(problem)?;
        MADE.get((group.clone(), batches, chunks), || Some(Arc::new(Self::new(group, batches, chunks))))
    }

    fn new(group: Group, batches: usize, chunks: usize) -> Self {
        let walks: Vec<Walk> = walks(&group, chunks, batches);
        let to: Vec<usize> = group.all_steps();
        let mut come = vec![0_u32; walks.len()];
        let coloured = coloured(walks, to.len(), batches.max(group.diameter()));
        let round = |pairs: Vec<(usize, usize)>| {
            let mut messages: Vec<Message> = vec![];
            for (entry, channel) in pairs {
                let to = to[channel];
                if messages.last().is_none_or(|message| message.to != to) {
                    messages.push(Message { to, pieces: vec![] });
                }
                let piece =
                    Piece { address: (entry / chunks) as u32, come: come[entry], chunk: (entry % chunks) as u32 };
                if let Some(message) = messages.last_mut() {
                    message.pieces.push(piece);
                }
                come[entry] = group.add(come[entry] as usize, to) as u32;
            }
            messages
        };
        let rounds = coloured.into_iter().map(round).collect();
        Self { group, chunks, rounds }
    }

    fn blocks(&self, sender: usize, pieces: &[Piece]) -> Vec<Block> {
        let ends = |piece: &Piece| {
            let source = self.group.subtract(sender, piece.come as usize);
            (self.group.add(source, piece.address as usize), source, piece.chunk)
        };
        let mut all: Vec<(usize, usize, u32)> = pieces.iter().map(ends).collect();
        all.sort_unstable();
        let block = |(destination, source, chunk)| {
            let block = Block::new(Rank::new(source), Rank::new(destination));
            block.chunks(chunk, self.chunks as u32, 1).unwrap_or(block)
        };
        all.into_iter().map(block).collect()
    }

    fn round(&self, rank: Rank, round: usize) -> RankRound {
        let me = rank.index();
        let send =
            |message: &Message| End::new(Rank::new(self.group.add(me, message.to)), self.blocks(me, &message.pieces));
        let receive = |message: &Message| {
            let from = self.group.subtract(me, message.to);
            End::new(Rank::new(from), self.blocks(from, &message.pieces))
        };
        let messages = &self.rounds[round];
        RankRound::new(messages.iter().map(send).collect(), messages.iter().map(receive).collect())
    }

    fn amounts(&self, rank: Rank, round: usize) -> RankAmounts {
        let amount = |message: &Message| {
            Amount::new(Rank::new(self.group.add(rank.index(), message.to)), self.volume(message.pieces.len()))
        };
        let sends: Vec<Amount> = self.rounds[round].iter().map(amount).collect();
        RankAmounts { receives: sends.len(), sends, ..RankAmounts::default() }
    }

    fn volume(&self, pieces: usize) -> Volume {
        Volume::ratio(pieces as u128, self.chunks as u128)
    }

    fn claims(&self) -> Claims {
        let (mut longest, mut pieces, mut messages) = (0, 0, 0);
        for round in &self.rounds {
            let lengths = round.iter().map(|message| message.pieces.len());
            longest += lengths.clone().max().unwrap_or_default();
            pieces += lengths.sum::<usize>();
            messages += round.len() as u64;
        }
        let rounds = self.rounds.len() as u64;
        let volume = Some(self.volume(pieces));
        Claims {
            transmission: Some(self.volume(longest)),
            port_transmission: volume,
            handled: Some(2 * messages),
            messages: Some(messages),
            volume,
            ..Claims::of_single_blocks(rounds, true)
        }
    }
}

impl CayleyExchange {
    fn exchange(&self, problem: &Problem) -> Option<Arc<Exchange>> {
        Exchange::of(problem, self.0.of(&BATCHES), self.0.of(&CHUNKS).max(1))
    }

    fn in_chunks(&self, chunks: usize) -> Self {
        Self(self.0.clone().with(&CHUNKS, chunks))
    }

    /// Returns this algorithm with more chunks, as long as that loads channels more alike by 2 % or
    /// more. A channel carries whole chunks, so that few numbers can do so.
    fn in_more_chunks(&self, problem: &Problem) -> Vec<Self> {
        let load = |one: &Self| one.exchange(problem).and_then(|exchange| exchange.claims().transmission);
        let Some((group, mut best)) = Group::of(problem).zip(load(self)) else { return vec![] };
        let (least, steps) = (least_load(&group), steps(&group));
        let mut better = vec![];
        for chunks in 2..=16 {
            if best * 100 <= least * 102 || steps * u128::from(chunks) > MOST.1 {
                break;
            }
            if Volume::ratio(least.bytes(chunks), chunks.into()) * 100 > best * 98 {
                continue;
            }
            let with = self.in_chunks(chunks as usize);
            if let Some(load) = load(&with).filter(|load| *load * 100 <= best * 98) {
                best = load;
                better.push(with);
            }
        }
        better
    }
}

impl Algorithm for CayleyExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        if self.lacks(problem).is_some() {
            return vec![];
        }
        self.in_more_chunks(problem).into_iter().map(|one| Arc::new(one) as Arc<dyn Algorithm>).collect()
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let variants = if self.0.of(&CHUNKS) > 0 { vec![] } else { self.variants(problem) };
        if variants.is_empty() {
            return variants;
        }
        let one: Arc<dyn Algorithm> = Arc::new(self.in_chunks(1));
        [one].into_iter().chain(variants).collect()
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let text = || problem.topology().text();
        let Some(group) = Group::of(problem) else {
            return Some(format!("it needs {}; this is {}", ABOUT.needs, text()));
        };
        if group.rows.len() == 1 && group.rows[0].is_complete() {
            return Some(format!("{} is a complete network; use direct", text()));
        }
        let nodes = problem.ranks();
        if nodes > MAX_NODES {
            return Some(format!("it needs at most {MAX_NODES} nodes; there are {nodes}"));
        }
        if !is_cheap(&group) {
            return Some(format!("the windows of {} are too long and wide; use direct", text()));
        }
        let (batches, chunks) = (self.0.of(&BATCHES), self.0.of(&CHUNKS).max(1) as u128);
        let steps = steps(&group);
        lacks_rounds(&BATCHES, batches, || group.diameter()).or_else(|| match MOST.0 / steps.max(1) {
            0 => Some(format!("it needs at most {} steps from a node to all others; there are {steps}", MOST.0)),
            most if chunks > most => Some(format!("chunks={chunks}: it needs at most {most} on {}", text())),
            _ => None,
        })
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.exchange(problem).map_or_else(Claims::default, |exchange| exchange.claims())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let exchange = self.exchange(problem);
        let rounds = exchange.as_ref().map_or(0, |exchange| exchange.rounds.len());
        Box::new((0..rounds).filter_map(move |round| Some(exchange.as_ref()?.round(rank, round))))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let exchange = self.exchange(problem);
        let rounds = exchange.as_ref().map_or(0, |exchange| exchange.rounds.len());
        Box::new((0..rounds).filter_map(move |round| Some(exchange.as_ref()?.amounts(rank, round))))
    }
}

/// Returns the distances of all nodes from one, added up.
fn steps(group: &Group) -> u128 {
    let nodes: u128 = group.rows.iter().map(|row| row.extent as u128).product();
    let along = |row: &WindowRow| (0..row.extent).map(|to| row.distance(to) as u128).sum::<u128>();
    group.rows.iter().map(|row| nodes / row.extent as u128 * along(row)).sum()
}

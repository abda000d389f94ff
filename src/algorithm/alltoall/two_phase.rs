//! Alltoall in two phases, for blocks of very different lengths: parts of each block go through all
//! ranks.
//!
//! Source: Valiant and Brebner, "Universal schemes for parallel communication", STOC 1981, where each
//! packet goes to a random node and from there to its destination. Here each block is split over all
//! ranks instead. Needs: at most 128 ranks, and what the exchange `within` a phase needs. Model:
//! that of this exchange.
//!
//! With N ranks, twice what the exchange takes for blocks of (N - 1)/N of the length:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups, messages, hops | twice those of the exchange |
//! | blocks | 2 (N - 1)/N of those of the exchange |
//! | rearrangements | one more than twice those of the exchange |
//!
//! `within` is `half-rings`, `cayley-exchange`, `window-exchange:load=1`, `balanced-routes:load=1` or
//! `direct`. The default is `direct` on complete networks, and elsewhere the first of these that fits.
//! With more than 64 ranks it skips `window-exchange` and `balanced-routes`, because every process
//! makes their schedules for the whole network.
//!
//! For equal blocks that is twice the work. The algorithm is for
//! [`alltoallv`](crate::Communicator::alltoallv) with long blocks whose routes share channels. It
//! spreads what each rank sends, and what each rank receives, evenly over all ranks, whatever the
//! lengths of the blocks are. If all ranks send and receive about equally much, the channels carry
//! about equally much. The table gives the sum over rounds of the load of the busiest channel, in
//! blocks, if each rank has a long block for one rank; in parentheses, the same for
//! [`direct`](super::Direct):
//!
//! | the other rank | 8 x 8 torus | 8 x 8 mesh | 6-cube |
//! |---|---|---|---|
//! | across the diagonal | 1.88 (4) | 3.75 (7) | 1 (4) |
//! | 31 ranks on | 2 (4) | 4 (4) | 1 (1) |
//! | mirrored at the centre | 2 (2) | 4 (4) | 1 (1) |
//!
//! The table leaves out the work of the relays; with `direct`, no rank forwards a block.
//!
//! A rank takes N times the time and memory for its plan that the exchange takes. A proof for 64 ranks
//! takes some seconds. In the exchange of counts, each chunk carries the count of its block: about
//! 1 MB from each rank of an 8 x 8 torus. A persistent plan
//! ([`alltoallv_init`](crate::Communicator::alltoallv_init)) exchanges counts once.
//!
//! # Idea
//!
//! Each block is cut in N parts, one for each relay. The exchange of a phase moves bundles of N - 1
//! parts as it moves blocks, and cuts them as it cuts blocks: in the first phase the bundle of source
//! and relay, with a part for each destination; in the second that of relay and destination, with a
//! part of each source. A source is also a relay of its blocks, and so is their destination: these
//! parts travel in one phase only.
//!
//! The part of source i for destination j that goes through relay k is number k - i - j (modulo N).
//! So blocks of less than N elements, of which some parts are empty, also go through different relays.
//!
//! # Why it is correct
//!
//! 1. For a source and a destination, each part belongs to one relay.
//! 2. A relay has the bundles that it sends: its own parts from the start, and those of others after
//!    the first phase, since the exchange delivers them.

use std::sync::Arc;

use super::{BalancedRoutes, CayleyExchange, Direct, HalfRings, WindowExchange};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

/// An exchange in two phases, for blocks of very different lengths.
#[derive(Clone, Debug, Default)]
pub struct TwoPhase(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "two-phase",
    summary: "parts of each block go through all ranks, by another exchange: for alltoallv with long blocks whose routes share channels",
    source: "Valiant and Brebner, STOC 1981; each block is split over all ranks instead of going through a random one",
    needs: "at most 128 ranks, and what the exchange of a phase needs",
    claims: "twice those of the exchange for blocks of (N - 1)/N of the length",
    ports: Ports::Unlimited,
};

static WITHIN: Parameter = Parameter {
    key: "within",
    summary: "the exchange of a phase; by default the first that fits, window-exchange and balanced-routes on up to 64 ranks",
    values: Values::Words(&["kind", "half-rings", "cayley-exchange", "window-exchange", "balanced-routes", "direct"]),
    default: 0,
};

/// The most ranks, and the most for which `kind` takes an exchange whose schedule every process makes
/// for the whole network.
const MOST: usize = 1 << 7;
const MOST_BY_KIND: usize = 1 << 6;

impl TwoPhase {
    /// Returns the exchange of a phase.
    fn exchange(&self, problem: &Problem) -> Arc<dyn Algorithm> {
        let mut balanced = balanced().into_iter();
        let found = match self.0.of(&WITHIN) {
            0 => {
                let tried = match problem.ranks() {
                    _ if is_complete(problem) => 0,
                    0..=MOST_BY_KIND => balanced.len(),
                    _ => 2,
                };
                balanced.take(tried).find(|one| one.lacks(problem).is_none())
            }
            word => balanced.nth(word - 1),
        };
        found.unwrap_or_else(|| Arc::new(Direct))
    }
}

/// Returns the exchanges that load all channels alike, in the order of their words. None of them has
/// local steps.
fn balanced() -> [Arc<dyn Algorithm>; 4] {
    [
        Arc::new(HalfRings),
        Arc::new(CayleyExchange::default()),
        Arc::new(WindowExchange::default()),
        Arc::new(BalancedRoutes::default()),
    ]
}

impl Algorithm for TwoPhase {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        std::slice::from_ref(&WITHIN)
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let ranks = problem.ranks();
        if ranks > MOST {
            return Some(format!("it needs at most {MOST} ranks; there are {ranks}; use direct"));
        }
        let exchange = self.exchange(problem);
        exchange.lacks(problem).map(|needs| format!("within={}: {needs}", exchange.name()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        twice(self.exchange(problem).claims(problem), problem.ranks())
    }

    fn ports(&self, problem: &Problem) -> Ports {
        self.exchange(problem).ports(problem)
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        let within = self.exchange(problem).phases(problem).len();
        let named = |phase| {
            let ends = if phase <= within { "relays" } else { "destinations" };
            format!("phase {phase} of {}, to the {ends}", 2 * within)
        };
        (1..=2 * within).map(named).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let exchange = self.exchange(problem);
        let (ranks, phases) = (problem.ranks(), exchange.phases(problem).len());
        let bundled = |parts: fn(usize, Block) -> Vec<Block>, first: usize| {
            exchange.rounds(problem, rank).map(move |round| {
                let bundle = |end: End| {
                    let blocks = end.blocks.iter().flat_map(|&block| parts(ranks, block)).collect();
                    End { blocks, ..end }
                };
                RankRound {
                    phase: first + round.phase,
                    sends: round.sends.into_iter().map(bundle).collect(),
                    receives: round.receives.into_iter().map(bundle).collect(),
                    ..round
                }
            })
        };
        Box::new(bundled(to_relay, 0).chain(bundled(to_destination, phases)))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let exchange = self.exchange(problem);
        let (ranks, phases) = (problem.ranks(), exchange.phases(problem).len());
        let bundled = |first: usize| {
            exchange.amounts(problem, rank).map(move |round| {
                let scaled = |amount: Amount| Amount { volume: bundles(ranks, amount.volume), ..amount };
                RankAmounts {
                    phase: first + round.phase,
                    sends: round.sends.into_iter().map(scaled).collect(),
                    ..round
                }
            })
        };
        Box::new(bundled(0).chain(bundled(phases)))
    }
}

/// Returns the parts in a bundle from a source to a relay, or in a chunk of it.
fn to_relay(ranks: usize, bundle: Block) -> Vec<Block> {
    let (source, relay) = ends(bundle);
    others(ranks, source).map(|destination| part(ranks, bundle, (source, relay, destination))).collect()
}

/// Returns the parts in a bundle from a relay to a destination, or in a chunk of it.
fn to_destination(ranks: usize, bundle: Block) -> Vec<Block> {
    let (relay, destination) = ends(bundle);
    others(ranks, destination).map(|source| part(ranks, bundle, (source, relay, destination))).collect()
}

fn ends(block: Block) -> (usize, usize) {
    (block.source() as usize, block.destination() as usize)
}

fn others(ranks: usize, rank: usize) -> impl Iterator<Item = usize> {
    (0..ranks).filter(move |&other| other != rank)
}

/// Returns the part of a block that goes through a relay, cut as the bundle is.
fn part(ranks: usize, bundle: Block, (source, relay, destination): (usize, usize, usize)) -> Block {
    let chunk = (relay + 2 * ranks - source - destination) % ranks;
    let block = Block::new(Rank::new(source), Rank::new(destination));
    let (of, each) = (ranks as u32 * bundle.of(), chunk as u32 * bundle.of());
    block.chunks(each + bundle.first(), of, bundle.count()).unwrap_or(block)
}

/// Returns what bundles have, as many as these blocks.
fn bundles(ranks: usize, blocks: Volume) -> Volume {
    (blocks * (ranks as u64 - 1)).part(ranks as u64)
}

/// Returns the claims of an exchange of bundles in both phases.
fn twice(one: Claims, ranks: usize) -> Claims {
    let number = |number: Option<u64>| number.map(|number| 2 * number);
    let volume = |volume: Option<Volume>| volume.map(|volume| bundles(ranks, volume) * 2);
    let changes = |changes: u64| if one.startups == Some(0) { 0 } else { 2 * changes + 1 };
    Claims {
        startups: number(one.startups),
        transmission: volume(one.transmission),
        port_transmission: volume(one.port_transmission),
        received: volume(one.received),
        channel_transmission: volume(one.channel_transmission),
        forwarded_transmission: volume(one.forwarded_transmission),
        end_transmission: volume(one.end_transmission),
        hops: number(one.hops),
        rearrangements: one.startups.and(one.rearrangements).map(changes),
        handled: number(one.handled),
        messages: number(one.messages),
        volume: volume(one.volume),
        contention_free: one.contention_free,
        ..Claims::default()
    }
}

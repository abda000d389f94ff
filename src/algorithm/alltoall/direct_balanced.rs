//! Direct alltoall in windows, over routes that use links of all lengths alike.
//!
//! Source: own work; the routes are those of [`LengthBalanced`]. Needs: `how:P,W,N` or
//! `how-wrap:P,W,N` with a window of 2 or more, not complete, at most 2^23 hops from a node to all
//! others, with rank i on node i. Where windows wrap round, p <= 65536 and p w^2 <= 2^24; otherwise
//! p <= 8192, and p w <= 2^20 if p > 4096.
//! Model: unlimited; transfers share channels and the network queues them.
//!
//! | term | p nodes in a dimension, window w, n dimensions, N ranks |
//! |---|---|
//! | startups | 1 |
//! | blocks sent | 1 / `chunks`, the largest transfer |
//! | messages a rank | `chunks` (N - 1) |
//! | blocks of the busiest channel | N / p times the largest of [`LengthBalanced::loads`], in chunks |
//! | hops | at most twice the diameter, and 2 more for each dimension of more than 256 nodes |
//!
//! In one dimension that is near the cut bound: in regular rows of 20 to 128 nodes 1.02 times or less
//! if p >= 16 w, and where windows wrap round the bound, rounded up, or one more. Wider windows have
//! few blocks for a channel, so in rows of more than 256 nodes `auto` also compares chunks, each with a
//! route of its own: 64 of them for p < 3 w, 48 for p < 4 w, 24 for p < 6 w, 16 for p < 8 w, 12 for
//! p < 12 w, 8 for p < 24 w, 4 for p < 48 w, and 2 for p < 96 w, or fewer, so that p^2 times their
//! number is at most 2^28. Default routes load the busiest channel about (w + 1) / 2 times as much.
//!
//! As [`Direct`](super::Direct), it costs N - 1 messages a rank for each chunk, and no memory for the
//! blocks of others. A process chooses the routes once: in some 10 ms for 100 nodes, in up to ten
//! seconds for 1500 nodes in chunks, and up to a minute for 4096. Apart from that, a rank takes time
//! and memory in proportion to the hops of its messages.

use std::iter;
use std::ops::RangeFrom;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values, pairs};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::{Factor, LengthBalanced, OverlappingWindows};
use crate::vocabulary::{End, Ports, Problem, RankRound, Route, Share};

/// The direct exchange over routes that use links of all lengths alike.
#[derive(Clone, Debug, Default)]
pub struct DirectBalanced(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct-balanced",
    summary: "each block goes directly to its destination, all in one round, over routes that use links of all lengths alike",
    source: "own work",
    needs: "how:P,W,N or how-wrap:P,W,N with a window of 2 or more, not complete, P at most 65536 and P W^2 at most 2^24 where windows wrap round, otherwise P at most 8192, and P W at most 2^20 if P is above 4096, at most 2^23 hops from a node to all others, with rank i on node i",
    claims: "1 start-up, N - 1 blocks a rank, each in one message or in chunks; over the busiest channel, where windows wrap round in one dimension, at most one block more than fl(p^2/4) / (w (w + 1)), rounded up",
    ports: Ports::Unlimited,
};

static PARAMETERS: [Parameter; 1] = [CHUNKS];

const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "the number of chunks of a block, each sent over a route of its own",
    values: Values::Number { least: 1, most: 64 },
    default: 1,
};

/// The most hops from a node to all others.
const MOST: usize = 1 << 23;

/// The rows in which `auto` considers chunks: longer than those where it considers
/// [`WindowExchange`](super::WindowExchange), which is as near the bound without waiting messages. And
/// the largest product of the square of the length and the chunks.
const CUT: (RangeFrom<usize>, usize) = (257.., 1 << 28);

/// The number of chunks in rows that are shorter than so many windows.
const CHUNKS_BELOW: [(usize, usize); 8] = [(3, 64), (4, 48), (6, 24), (8, 16), (12, 12), (24, 8), (48, 4), (96, 2)];

/// The routes of a network, and what is claimed of them.
struct Routes {
    routes: LengthBalanced,
    /// The blocks of the busiest channel, in one dimension.
    load: usize,
    /// The hops of the longest route, in one dimension.
    longest: usize,
}

/// Returns the network, if it is one of windows with rank i on node i.
fn network(problem: &Problem) -> Option<OverlappingWindows> {
    let factors = factors_in_order(problem)?;
    let &Factor::Windows { extent, window, wraps } = factors.first()? else { return None };
    if factors.iter().any(|factor| *factor != factors[0]) {
        return None;
    }
    let make = if wraps { OverlappingWindows::wrapping } else { OverlappingWindows::new };
    make(extent, window, factors.len()).ok()
}

/// Returns the routes, or what they need.
fn routes(problem: &Problem, chunks: usize) -> Result<Arc<Routes>, String> {
    static MADE: Kept<(OverlappingWindows, usize), Result<Arc<Routes>, String>> = Kept::new(4);
    let text = || problem.topology().text();
    let network = network(problem).ok_or_else(|| format!("it needs {}; this is {}", ABOUT.needs, text()))?;
    MADE.get((network.clone(), chunks), || {
        let routes = LengthBalanced::in_chunks(&network, chunks).map_err(|error| error.to_string())?;
        let extent = network.extent();
        let all = || (1..extent).flat_map(|displacement| (0..chunks).map(move |chunk| (displacement, chunk)));
        let hops = || all().map(|(displacement, chunk)| routes.hops(displacement, chunk));
        let total = hops().sum::<usize>() * if network.wraps() { 2 } else { 1 };
        let total = total * network.dimensions() * (problem.ranks() / extent);
        if total > MOST {
            return Err(format!("it needs at most {MOST} hops from a node to all others; {} has {total}", text()));
        }
        let load = routes.loads().into_iter().max().unwrap_or_default();
        Ok(Arc::new(Routes { load, longest: hops().max().unwrap_or_default(), routes }))
    })
}

/// Returns the number of chunks that is compared beside whole blocks. The fewer blocks there are for a
/// channel, the more: to load channels alike, and because each hop of a chunk takes its time.
fn compared_chunks(problem: &Problem) -> Option<usize> {
    let network = network(problem).filter(|network| !network.wraps() && CUT.0.contains(&network.extent()))?;
    let (extent, window) = (network.extent(), network.window());
    let (_, chunks) = CHUNKS_BELOW.into_iter().find(|(windows, _)| extent < windows * window)?;
    Some(chunks.min(CUT.1 / extent.pow(2)))
}

impl DirectBalanced {
    fn chunks(&self) -> usize {
        self.0.of(&CHUNKS)
    }

    fn routes(&self, problem: &Problem) -> Result<Arc<Routes>, String> {
        routes(problem, self.chunks())
    }
}

impl Algorithm for DirectBalanced {
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
        let with = |chunks| -> Arc<dyn Algorithm> { Arc::new(Self(Settings::default().with(&CHUNKS, chunks))) };
        compared_chunks(problem).into_iter().map(with).collect()
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        self.routes(problem).err()
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Ok(routes) = self.routes(problem) else { return Claims::default() };
        let network = routes.routes.network();
        let chunks = self.chunks();
        let load = routes.load * (problem.ranks() / network.extent());
        let hops = (routes.longest * network.dimensions()) as u64;
        let of_whole = pairs::claims(problem, 1, 1);
        Claims {
            transmission: Some(Volume::new(1, chunks as u64)),
            channel_transmission: Some(Volume::new(load as u64, chunks as u64)),
            forwarded_transmission: Some(Volume::new(hops, chunks as u64)),
            end_transmission: Some(Volume::new(hops.min(2), chunks as u64)),
            hops: Some(hops),
            handled: of_whole.handled.map(|messages| messages * chunks as u64),
            messages: of_whole.messages.map(|messages| messages * chunks as u64),
            ..of_whole
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let Ok(routes) = self.routes(problem) else { return Box::new(iter::empty()) };
        let chunks = self.chunks();
        let node = |rank: Rank| Node::new(rank.index());
        let cut = move |chunk: usize, end: &End| {
            let blocks = end.blocks.iter().map(|block| block.chunks(chunk as u32, chunks as u32, 1).unwrap_or(*block));
            End::new(end.peer, blocks.collect())
        };
        let over_routes = move |round: RankRound| {
            let all = |ends: &[End]| -> Vec<End> {
                ends.iter().flat_map(|end| (0..chunks).map(move |chunk| cut(chunk, end))).collect()
            };
            let (mut sends, receives) = (all(&round.sends), all(&round.receives));
            for (index, end) in sends.iter_mut().enumerate() {
                let route = routes.routes.route(node(rank), node(end.peer), index % chunks);
                if route.len() > 2 {
                    end.route = Route::Via(route);
                }
            }
            RankRound::new(sends, receives)
        };
        let round =
            pairs::round(problem.ranks(), rank, move |to| Block::new(rank, to), move |from| Block::new(from, rank));
        Box::new(round.map(over_routes))
    }
}

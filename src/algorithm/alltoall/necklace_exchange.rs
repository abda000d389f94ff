//! Alltoall on a binary cube with every channel busy in every round.
//!
//! Source: Johnsson & Ho, TR-16-92, §3 (Algorithms 1 to 4), §5 (blocking), §6 (wide channels).
//! Differs from the paper: nothing is aligned, see below; for the other differences see
//! [`cube`](crate::algorithm::cube). Needs: 2^d ranks, those whose numbers differ in one bit on
//! neighbouring nodes. Model: all-port.
//!
//! On N = K = 2^d ranks, with default parameters (Algorithm 4 in blocks):
//!
//! | term | whole schedule | paper |
//! |---|---|---|
//! | startups | d | §5, Lemma 4 |
//! | blocks over a channel | N/2, the all-port lower bound | §3.5, Theorem 1 |
//! | largest block transfer | ceil(N/2d) | §5, Lemma 4 |
//! | messages a rank | d^2 | |
//! | blocks sent by a rank | d N/2 | |
//! | hops | d | |
//!
//! `scheme=1`, `2`, `3` are the other algorithms: d ceil(N/2d) blocks over a channel in d rounds,
//! N/2 in N/2, and N/2 in d + N/2 mod d. With `width=b` no message has more than b blocks, as for
//! channels that carry b elements at a time. `width=1` gives the paper's schedules of single
//! elements, N/2 rounds for Algorithm 4. With a width b below N/2d Algorithm 4 takes ceil(N/2b)
//! rounds.
//!
//! A rank takes time and memory in proportion to the d N/2 blocks that it sends; shares that exist
//! at the same time share a table of 8 bytes per block. Contention-free: all messages are between
//! neighbours.
//!
//! # Idea
//!
//! The path of a block depends on its relative address, source xor destination, alone.
//! [`cube`](crate::algorithm::cube) schedules relative addresses and shows why every channel is
//! busy. The paper aligns the data before and after, so that all processors use the same memory
//! address at a time. Here a block is named by its source and destination, and the plan knows where
//! it lies: nothing is aligned.

use std::sync::Arc;

use crate::algorithm::cube::{Scheme, Within, apart};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values, no_power_of_two};
use crate::block::Volume;
use crate::ids::{MAX_NODES, Rank};
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// Johnsson & Ho's exchange on cubes, by necklaces of relative addresses.
///
/// On a cube of three dimensions, where each rank sends one or two blocks over each of its three
/// channels in each round:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/necklace-exchange.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct NecklaceExchange {
    scheme: Scheme,
    /// The most blocks of a message; 0 for no limit.
    width: usize,
}

const SCHEME: Parameter = Parameter {
    key: "scheme",
    summary: "number of the algorithm in the paper",
    values: Values::Number { least: 1, most: 4 },
    default: 4,
};

const WIDTH: Parameter = Parameter {
    key: "width",
    summary: "maximum number of blocks of a message; 0 for the fewest rounds",
    values: Values::Number { least: 0, most: MAX_NODES },
    default: 0,
};

static ABOUT: About = About {
    collective: "alltoall",
    name: "necklace-exchange",
    summary: "blocks cross the dimensions of a cube in an order given by the necklaces of source xor destination; all channels are busy",
    source: "Johnsson & Ho, TR-16-92, 3, 5 and 6",
    needs: "a number of ranks that is a power of two; ranks that differ in one bit on neighbouring nodes",
    claims: "d = log N: d start-ups, N/2 blocks, d hops, d^2 messages a rank; contention-free; with width=b, b up to N/2d, ceil(N/2b) start-ups",
    ports: Ports::All,
};

impl Default for NecklaceExchange {
    fn default() -> Self {
        Self { scheme: Scheme::Necklaces, width: 0 }
    }
}

impl Algorithm for NecklaceExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[SCHEME, WIDTH]
    }

    fn settings(&self) -> Settings {
        let scheme = Scheme::all().position(|scheme| scheme == self.scheme).map_or(SCHEME.default, |i| i + 1);
        Settings::default().with(&SCHEME, scheme).with(&WIDTH, self.width)
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let scheme = Scheme::all().nth(settings.of(&SCHEME).checked_sub(1)?)?;
        Some(Arc::new(Self { scheme, width: settings.of(&WIDTH) }))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let ranks = problem.ranks();
        no_power_of_two(problem).or_else(|| {
            let apart = apart(&**problem.topology(), problem.placement(), &(0..ranks.ilog2() as usize).collect::<Vec<_>>());
            apart.map(|(one, other)| {
                format!(
                    "it needs ranks whose numbers differ in one bit on neighbouring nodes, but ranks {one} and {other} are not on neighbours"
                )
            })
        })
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let d = u64::from(ranks.ilog2());
        if d == 0 {
            return Claims::of_single_blocks(0, true);
        }
        let (pairs, width) = (ranks / 2, self.width as u64);
        let odd = pairs % d;
        let (rows, steps) = match self.scheme {
            Scheme::Pairs => (d, pairs.next_multiple_of(d)),
            Scheme::Wrapped => (pairs, pairs),
            Scheme::Mixed => (d + odd, pairs),
            Scheme::Necklaces => (d, pairs),
        };
        let in_rows = width == 0 || width >= steps.div_ceil(rows);
        let rounds = if in_rows { rows } else { steps.div_ceil(width) };
        // With single elements, the left-over pairs use only some channels.
        let idle = if width == 1 && self.scheme == Scheme::Pairs && odd > 0 { d * (d - odd) } else { 0 };
        let messages = d * rounds - idle;
        let volume = Some(Volume::from(pairs) * d);
        Claims {
            transmission: Some(steps.into()),
            port_transmission: volume,
            handled: Some(2 * messages),
            messages: Some(messages),
            volume,
            ..Claims::of_single_blocks(rounds, true)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let d = problem.ranks().ilog2() as usize;
        Within { scheme: self.scheme, width: self.width, bits: (0..d).collect() }.share(rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let d = problem.ranks().ilog2() as usize;
        Within { scheme: self.scheme, width: self.width, bits: (0..d).collect() }.amounts(rank)
    }
}

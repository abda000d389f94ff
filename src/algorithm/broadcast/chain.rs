//! Broadcast along a chain of ranks, in segments: while a rank forwards one segment, it receives the
//! next.
//!
//! Source: the pipeline of Grama et al., §4.7.1 (splitting messages), along a chain; "chain" in MPI
//! libraries. Needs: nothing; made for rings and lines. Model: one-port.
//!
//! With s segments:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 2 + s |
//! | blocks sent | (N - 2 + s) / s: 1 in the limit, the lower bound |
//!
//! A rank takes time and memory in proportion to N + s.

use std::sync::Arc;

use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A pipelined chain, from the root up through the ranks.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    segments: u32,
}

const SEGMENTS: Parameter = Parameter {
    key: "segments",
    summary: "the number of segments of a block",
    values: Values::Number { least: 1, most: 1 << 16 },
    default: 8,
};

static ABOUT: About = About {
    collective: "broadcast",
    name: "chain",
    summary: "each rank forwards the segments of the block to the next rank (modulo N), one after the other",
    source: "Grama et al., 4.7.1",
    needs: "nothing; made for rings and lines",
    claims: "with s segments N - 2 + s start-ups, (N - 2 + s) / s blocks; contention-free on complete networks",
    ports: Ports::One,
};

impl Default for Chain {
    fn default() -> Self {
        Self { segments: SEGMENTS.default as u32 }
    }
}

impl Chain {
    /// Returns the number of rounds among `size` ranks.
    fn steps(self, size: usize) -> u64 {
        if size > 1 { size as u64 - 2 + u64::from(self.segments) } else { 0 }
    }
}

impl Algorithm for Chain {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[SEGMENTS]
    }

    fn settings(&self) -> Settings {
        Settings::default().with(&SEGMENTS, self.segments as usize)
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self { segments: u32::try_from(settings.of(&SEGMENTS)).ok()? }))
    }

    /// Powers of 4, up to 1,024.
    fn variants(&self, _: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let others = (1..=5).map(|power| 1 << (2 * power)).filter(|segments| *segments != self.segments);
        others.map(|segments| Arc::new(Self { segments }) as Arc<dyn Algorithm>).collect()
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (steps, segments) = (self.steps(problem.ranks()), u64::from(self.segments));
        let sends = if steps == 0 { 0 } else { segments };
        Claims {
            transmission: Some(Volume::new(steps, segments)),
            messages: Some(sends),
            volume: Some(Volume::new(sends, segments)),
            // Of two ranks, only the root sends, and it does not wait for its own messages.
            chained_hops: (problem.ranks() == 2 && is_complete(problem)).then_some(1),
            ..Claims::of_single_blocks(steps, is_complete(problem))
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, segments) = (problem.ranks(), self.segments);
        let root = problem.collective().root().unwrap_or_default();
        let place = (rank.index() + size - root.index()) % size;
        let at = move |place: usize| Rank::new((place + root.index()) % size);
        // Segment i leaves the k-th rank of the chain in round k + i.
        let end = move |sender: usize, peer: usize, round: u64| {
            let segment =
                u32::try_from(round.checked_sub(sender as u64)?).ok().filter(|segment| *segment < segments)?;
            Some(End::new(at(peer), vec![Block::from(root).chunks(segment, segments, 1)?]))
        };
        Box::new((0..self.steps(size)).map(move |round| {
            let send = if place + 1 < size { end(place, place + 1, round) } else { None };
            let receive = place.checked_sub(1).and_then(|before| end(before, before, round));
            RankRound::new(send.into_iter().collect(), receive.into_iter().collect())
        }))
    }
}

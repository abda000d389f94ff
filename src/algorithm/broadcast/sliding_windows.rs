//! Broadcast along rows, window by window.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, 1999, sections 5.2 and 6.2. Needs: a product of windows, lines, rings
//! and complete networks of at most 4096 nodes each, not complete, with rank i on node i. Model:
//! several ports with the same value (the source's model-2 and model-3), or one-port (its model-1)
//! with `ports=one`.
//!
//! In each round, the outermost nodes with the block send it to all beyond them in their windows.
//! With one port, the nodes with the block double in number, until a round adds a window.
//!
//! | term | a row of p nodes with window w, from its end | where windows wrap round |
//! |---|---|---|
//! | startups | ceil((p - 1) / w) | ceil((p - 1) / 2w) |
//! | startups, one port | s + ceil((p - 2^s) / w), s = ceil(log(w + 1)) | about log(2w) + p / 2w |
//! | blocks over a channel, hops | as many as start-ups | as many |
//!
//! All terms add up over dimensions.
//!
//! Differs from the source: a root that is not at the end of its row sends both ways, and s is not
//! doubled where windows wrap round (errata 5.9).
//!
//! A rank takes time and memory in proportion to the nodes of a row of each dimension.

use std::sync::Arc;

use super::along_rows::{AlongRows, NEEDS, lacks};
use super::spread::Spread;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A broadcast window by window.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlidingWindows {
    one_port: bool,
}

static ABOUT: About = About {
    collective: "broadcast",
    name: "sliding-windows",
    summary: "along each dimension, the outermost nodes with the block send it to all beyond them in their windows",
    source: "Wang 1999, 5.2 and 6.2",
    needs: NEEDS,
    claims: "the root's distance to the farthest node in start-ups, blocks over a channel and hops; contention-free",
    ports: Ports::SameValue,
};

static PARAMETERS: [Parameter; 1] = [PORTS];

const PORTS: Parameter = Parameter {
    key: "ports",
    summary: "the port model: with one port, the nodes with the block double in number until a round adds a window",
    values: Values::Words(&["same-value", "one"]),
    default: 0,
};

impl SlidingWindows {
    fn along_rows(self, problem: &Problem) -> AlongRows {
        AlongRows::of(problem, if self.one_port { Spread::WindowFirst } else { Spread::Flood })
    }
}

impl Algorithm for SlidingWindows {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        Settings::default().with(&PORTS, usize::from(self.one_port))
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self { one_port: settings.of(&PORTS) == 1 }))
    }

    fn ports(&self, _: &Problem) -> Ports {
        if self.one_port { Ports::One } else { Ports::SameValue }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.along_rows(problem).claims()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.along_rows(problem).share(problem, rank)
    }
}

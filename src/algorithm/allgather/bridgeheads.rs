//! Allgather from bridgeheads.
//!
//! Source: Juurlink, Sibeyn & Rao (1998): `circgos` is CIRCGOS (section 4.2) on rings and lines;
//! `high-dim-gos` is HIGH-DIM-GOS (section 4.3), CIRCGOS along one dimension after the other;
//! `torgos` is TORGOS (section 5.2) on squares and `cubgos` is CUBGOS (section 6.2) on cubes of three
//! or more dimensions, whose bridgeheads lie on generalized diagonals. Model: all-port.
//!
//! With `a` bridgeheads in a row of n nodes, the steps are:
//!
//! 1. Each bridgehead collects the blocks of its arc of the row, in log_3(n / a) steps.
//! 2. The bridgeheads of a row pass these on in both directions, in a / 2 steps. On diagonals they
//!    then do the same along the other axes.
//! 3. In rounds, a - 1 new bridgeheads between two old ones get all that these have, in `b` steps: in
//!    order from one side, in reverse order from the other, 2b - a + 2 parts. On diagonals, a / 2
//!    steps along each other axis follow.
//!
//! `a=n` is Approach 1 (all nodes are bridgeheads from the beginning), `a=1` is Approach 2 (one node
//! collects all, and the number of bridgeheads grows threefold). On diagonals, a divides n; where
//! the rest of n has no factor up to a, the last rounds have its smallest one, and b grows with it.
//! On lines, the ends hear from one side only, which takes more steps.
//!
//! By default all axes are used at once, by as many colours: parts of every block that go through
//! the axes in turned order (HIGH-DIM-GOS', CUBGOS'). `colours=one` uses one axis at a time.
//!
//! Each rank takes time in proportion to its blocks, and to the extents of the network for each
//! round. The claims are counted, in time in proportion to all messages.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{A, B, COLOURS, Choice, Order, Plan, extents};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// Gossiping from bridgeheads on rings and lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct CircGos(Choice);

/// Gossiping from bridgeheads along one dimension after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighDimGos(Choice);

/// Gossiping from bridgeheads on the diagonals of squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct TorGos(Choice);

/// Gossiping from bridgeheads on the diagonals of cubes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CubGos(Choice);

const fn about(name: &'static str, summary: &'static str, source: &'static str) -> About {
    About::new("allgather", name, Ports::All).summary(summary).source(source)
}

static CIRC_GOS: About = about(
    "circgos",
    "from bridgeheads on a ring or a line, which collect, exchange at growing distance, and spread",
    "Juurlink, Sibeyn & Rao 1998, section 4",
)
.needs("a ring or a line, with rank i on node i")
.claims("about log_3(n / a) + a / 2 + b log_a(n / a) start-ups; contention-free");

static HIGH_DIM_GOS: About = about(
    "high-dim-gos",
    "circgos along one dimension after the other, all dimensions at once by parts of every block",
    "Juurlink, Sibeyn & Rao 1998, section 4.3",
)
.needs("a product of two or more rings or lines, with rank i on node i")
.claims("the start-ups of circgos along each dimension; contention-free");

static TOR_GOS: About =
    about("torgos", "from bridgeheads on the diagonals of squares", "Juurlink, Sibeyn & Rao 1998, section 5.2")
        .needs("a product of two rings or lines of the same extent, with rank i on node i")
        .claims("about log_3(n / a) + a (log_a n + 1) / 2 + b log_a(n / a) start-ups; contention-free");

static CUB_GOS: About = about(
    "cubgos",
    "from bridgeheads on the generalized diagonals of cubes",
    "Juurlink, Sibeyn & Rao 1998, section 6.2",
)
.needs("a product of three or more rings or lines of the same extent, with rank i on node i")
.claims("about log_3(n / a) + a ((d - 1) log_a n + 1) / 2 + b log_a(n / a) start-ups; contention-free");

/// Returns what a network lacks whose extents are wrong. What is no product of rings and lines is told
/// by [`Choice::lacks`].
fn lacks(problem: &Problem, right: fn(&[usize]) -> bool, needs: &str) -> Option<String> {
    let extents = extents(problem).filter(|extents| !right(extents))?;
    let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
    Some(format!(
        "it needs {needs}; the extents are {}",
        if extents.is_empty() { "1".into() } else { extents.join("x") }
    ))
}

/// Returns whether all extents are equal.
fn equal(extents: &[usize]) -> bool {
    extents.windows(2).all(|pair| pair[0] == pair[1])
}

macro_rules! gossip {
    ($algorithm:ty, $about:ident, $order:expr, $right:expr, $needs:expr) => {
        impl Algorithm for $algorithm {
            fn about(&self) -> &About {
                &$about
            }

            fn parameters(&self) -> &'static [Parameter] {
                &[A, B, COLOURS]
            }

            fn settings(&self) -> Settings {
                self.0.settings()
            }

            fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
                Some(Arc::new(Self(Choice::of(settings))))
            }

            fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                Choice::variants(problem, $order, |choice| Arc::new(Self(choice)))
            }

            fn lacks(&self, problem: &Problem) -> Option<String> {
                lacks(problem, $right, $needs).or_else(|| self.0.lacks(problem, $order))
            }

            fn claims(&self, problem: &Problem) -> Claims {
                Plan::claims(problem, $order, self.0)
            }

            fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
                Plan::new(problem, $order, self.0).share(rank)
            }

            fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
                Plan::new(problem, $order, self.0).amounts(rank)
            }
        }
    };
}

gossip!(CircGos, CIRC_GOS, Order::ByAxis, |extents| extents.len() < 2, "a ring or a line");
gossip!(
    HighDimGos,
    HIGH_DIM_GOS,
    Order::ByAxis,
    |extents| extents.len() > 1,
    "a product of two or more rings or lines"
);
gossip!(
    TorGos,
    TOR_GOS,
    Order::Diagonals,
    |extents| extents.len() == 2 && equal(extents),
    "two rings or lines of the same extent"
);
gossip!(
    CubGos,
    CUB_GOS,
    Order::Diagonals,
    |extents| extents.len() > 2 && equal(extents),
    "three or more rings or lines of the same extent"
);

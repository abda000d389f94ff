//! Allgather from bridgeheads.
//!
//! Source: Juurlink, Sibeyn & Rao (1998): `circgos` is CIRCGOS (section 4.2) on rings and lines;
//! `high-dim-gos` is HIGH-DIM-GOS (section 4.3), CIRCGOS along one dimension after the other;
//! `torgos` is TORGOS (section 5.2) on squares and `cubgos` is CUBGOS (section 6.2) on cubes of
//! three or more dimensions, whose bridgeheads lie on generalized diagonals. Model: all-port, or
//! one-port with `ports=one` (section 7.2).
//!
//! With `a` bridgeheads in a row of n nodes, the steps are:
//!
//! 1. Each bridgehead collects the blocks of its arc of the row, in log_3(n / a) steps.
//! 2. The bridgeheads of a row pass these on in both directions, in a / 2 steps. On diagonals they
//!    then do the same along the other axes.
//! 3. In rounds, a - 1 new bridgeheads between two old ones get all blocks of these in `b` steps, as
//!    2b - a + 2 parts: in order from one side, in reverse order from the other. On diagonals,
//!    a / 2 steps along each other axis follow.
//!
//! In a row of n nodes, with halves rounded down, about (Lemma 5):
//!
//! | step | start-ups | blocks over the busiest channel |
//! |---|---|---|
//! | collect | log_3(n / a) | n / (2a) |
//! | pass on | a / 2 | n / 2 |
//! | each of log_a(n / a) rounds | b | b n / (2b - a + 2) |
//!
//! In the phases of `high-dim-gos` after the first, these blocks are those of whole rows. Colours
//! divide all blocks by the number of axes. For diagonals see Lemmas 7 and 9 of the paper.
//!
//! `a=n` is Approach 1 (all nodes are bridgeheads from the beginning). `a=1` is Approach 2 (one
//! node collects all, and the number of bridgeheads grows threefold). Rows of fewer than `a` nodes
//! have only bridgeheads; in rows of four, `a=3` means four. In a round of another factor f, the
//! number of steps is b - a / 2 + f / 2, with halves rounded down, and f replaces a in the number
//! of parts. By axis this is the last round. On lines, the ends hear from one side only, which takes
//! more steps.
//!
//! On diagonals, bridgeheads are s = n / a nodes apart, rounded down, so more than half of n means
//! n. A row has n / s of them, rounded down or up. Divisors f of s replace a in the rounds: the
//! largest up to a, or else the smallest. If s does not divide n, the last bridgehead of a row and
//! the first are further apart on rings, by up to n mod s nodes, and what is said of factors holds
//! for the bridgeheads between these two. Along the other axes the exchange of a later round stays
//! within the row, since the blocks of bridgeheads do not repeat evenly past its end: it takes f - 1
//! steps instead of f / 2.
//!
//! `high-dim-gos` has a phase for each axis. Blocks of whole rows are sent in the phases after the
//! first, where more bridgeheads pay. `a2` and `b2` are the parameters of these phases, `a3` and `b3`
//! of those after the second; without them, a phase has those of the one before. On a torus of 27 x
//! 27 nodes, `a=1,b=1,a2=27` is Approach 2-1 of section 5.1, and `a=27` is Approach 1-1. On one of
//! 27 x 27 x 27, `a=1,b=1,a3=27` is Approach 2-2-1.
//!
//! More bridgeheads take more start-ups and less transmission. A choice by name that leaves `a` or
//! `b` open, as `circgos` does, takes the cheapest of those that it considers, for the length of a
//! block and the machine. `colours` and `ports` stay as given: short blocks are often cheaper with
//! `colours=one`, which `auto` compares too. It considers all numbers up to 32, about every
//! thirtieth above, and n, on diagonals the largest of each distance s. It finds the best of each
//! phase by itself. Among 64 ranks and more it leaves out those with nearly the transmission of
//! another, at 1024 ranks up to a quarter more, unless they are the best for some price of a
//! start-up; and those with more than 2^18 bridgeheads in all rows, except n. If `growth` is 0, it
//! considers other factors than `a` too, with all `a` and `b` up to 8 and about every eighth above.
//!
//! With `ports=one`, on rings and their products, a rank sends one message and receives one in each
//! round, along one axis at a time. The steps are log_2(n / a) to collect, a - 1 to pass on, and b
//! for rounds in which new bridgeheads get b - a + 2 parts, from one side. `a=n` takes n - 1
//! start-ups on a ring and `a=1` twice the logarithm; the paper's times are those of nodes that do
//! not send and receive at once.
//!
//! The algorithms of Fig. 6, on a torus of 8 x 8 nodes:
//!
//! | paper | here | start-ups |
//! |---|---|---|
//! | Approach 1-1 | `high-dim-gos:a=8,ports=one` | 14 |
//! | Approach 2-2 | `high-dim-gos:a=1,b=1,ports=one` | 12 |
//! | Approach 2-1 | `high-dim-gos:a=1,b=1,a2=8,ports=one` | 13 |
//! | TORGOS(2, 2, 1) | `torgos:a=2,b=1,ports=one` | 8 |
//! | Approach 1-1 with black and white packets | [`black-white`](super::BlackWhite) | 8 |
//!
//! With one port, blocks go round a ring in one direction, so that each node sends to one neighbour
//! while it receives from the other (section 7.2). On a line they have to go both ways, so lines
//! and meshes are left out; the paper's own machine is a mesh that counts as a torus (section 7.1).
//! On diagonals a divides n, since exchanges along the other axes go round past the end of a row,
//! where only equally spaced bridgeheads repeat evenly.
//!
//! `growth` is the factor of the rounds, if it is not `a` (section 7.2). The paper's CIRCGOS(a1, a2,
//! k), whose best settings are (a1, 2, 1), is `a=a1,growth=a2,b=k+a2-2,ports=one`.
//!
//! By default all axes are used at once, by as many colours: parts of every block that go through
//! the axes in turned order (HIGH-DIM-GOS', CUBGOS'). `colours=one` uses one axis at a time, and so
//! does `ports=one`.
//!
//! Each rank takes time in proportion to its blocks, and to the extents of the network for each
//! round. The claims are counted, in time in proportion to ranks times rounds.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    CIRC_GOS, CUB_GOS, Choice, HIGH_DIM_GOS, Plan, Subject, TOR_GOS, about, best, claims, few, gossip,
};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

gossip!(
    /// Gossiping from bridgeheads on rings and lines.
    CircGos,
    "allgather",
    CIRC_GOS,
    Course::Down,
    "from bridgeheads on a ring or a line, which collect, exchange at growing distance, and spread"
);

gossip!(
    /// Gossiping from bridgeheads along one dimension after the other.
    HighDimGos,
    "allgather",
    HIGH_DIM_GOS,
    Course::Down,
    "circgos along one dimension after the other, all dimensions at once by parts of every block"
);

gossip!(
    /// Gossiping from bridgeheads on the diagonals of squares.
    ///
    /// On a torus of 8 x 8 nodes, along one axis at a time; each arrow is a message, and no channel
    /// carries two at a time. Coloured nodes send: from the third round on they are bridgeheads, and
    /// where arrows end at other nodes, these are the new ones:
    ///
    #[cfg_attr(doc, doc = include_str!("../../../doc/torgos.svg"))]
    TorGos,
    "allgather",
    TOR_GOS,
    Course::Down,
    "from bridgeheads on the diagonals of squares"
);

gossip!(
    /// Gossiping from bridgeheads on the diagonals of cubes.
    ///
    /// On a torus of 4 x 4 x 4 nodes, along one axis at a time:
    ///
    #[cfg_attr(doc, doc = include_str!("../../../doc/cubgos.svg"))]
    CubGos,
    "allgather",
    CUB_GOS,
    Course::Down,
    "from bridgeheads on the generalized diagonals of cubes"
);

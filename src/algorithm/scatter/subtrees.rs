//! Scatter along balanced subtrees of shortest paths, one for each channel of the root: the
//! farthest first, and forwarded at once.
//!
//! Source: own work; the order of messages is that of Q. Wang's dissertation, 1999, sections 5.4
//! and 6.4. Needs: a rank on every node of a connected network that is not complete, of at most
//! 4096 nodes. Model: all-port, or one-port with `ports=one` (Wang's model-1 and model-2, in which
//! nodes also receive one block a round).
//!
//! With N ranks, d channels of the root, and M nodes in the largest subtree:
//!
//! | term | `ports=all,load=1` | `ports=one` |
//! |---|---|---|
//! | startups | M, at least (N - 1) / d rounded up | N - 1 |
//! | blocks over a channel | M | N - 1 |
//! | blocks sent by the root | N - 1 | N - 1 |
//! | hops | M | N - 1 |
//!
//! With `load=l` a channel of the root carries up to l blocks in a round. Then startups fall to the
//! height of the tree, and not every message is as long as the longest. `auto` compares some loads.
//!
//! Every process grows the tree, from the network and the root alone, in milliseconds; the ranks of
//! a process share it. Apart from that, a rank takes time in proportion to N, and to the blocks that
//! pass through it times their hops, and memory in proportion to these blocks.

use std::sync::Arc;

use crate::algorithm::spanning_trees::{CLAIMS, Kind, NEEDS, PARAMETERS, Pace, TreeRounds, Way, along_tree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

along_tree!(
    /// A subtree of shortest paths for each channel of the root.
    Subtrees,
    Kind::Subtrees,
    Way::Down,
    &PARAMETERS,
    About {
        collective: "scatter",
        name: "subtrees",
        summary: "each channel of the root serves one of as many subtrees of equal size, as far as shortest paths allow, farthest nodes first",
        source: "own work, after Wang 1999, 5.4 and 6.4",
        needs: NEEDS,
        claims: CLAIMS,
        ports: Ports::All,
    }
);

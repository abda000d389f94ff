//! What each collective means: which rank holds which block before, and which rank shall hold what after.
//!
//! This is the specification that [`verify`](crate::schedule::verify) holds a schedule against.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::block::Block;
use crate::ids::Rank;

/// A collective operation.
///
/// | collective | before: rank i holds | after: rank i has |
/// |---|---|---|
/// | `alltoall` | `[i, j]` for every j | `[j, i]` for every j |
/// | `scatter` | root: `[root, j]` for every j | `[root, i]` |
/// | `gather` | `[i, root]` | root: `[j, root]` for every j |
/// | `allgather` | `[i, -1]` | `[j, -1]` for every j |
/// | `broadcast` | root: `[root, -1]` | `[root, -1]` |
/// | `reduce` | `[-1, root]` | root: `[-1, root]` of all |
/// | `reduce_scatter` | `[-1, j]` for every j | `[-1, i]` of all |
/// | `allreduce` | `[-1, -1]` | `[-1, -1]` of all |
/// | `scan` | `[-1, i]` | `[-1, i]` of ranks `0..=i` |
/// | `exscan` | `[-1, i]` | `[-1, i]` of ranks `0..i` (rank 0: nothing) |
/// | `barrier` | `[i, -1]`, of no bytes | `[j, -1]` for every j: it has heard of everybody |
/// | `custom` | as given | as given |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collective {
    /// Everyone has a block for everyone.
    Alltoall,
    /// The root has a block for everyone.
    Scatter {
        /// Who has the blocks.
        root: Rank,
    },
    /// Everyone has a block for the root.
    Gather {
        /// Who gets the blocks.
        root: Rank,
    },
    /// Everyone has a block that all shall have.
    Allgather,
    /// The root has a block that all shall have.
    Broadcast {
        /// Who has the block.
        root: Rank,
    },
    /// Everyone contributes to a result that the root shall have.
    Reduce {
        /// Who gets the result.
        root: Rank,
    },
    /// Everyone contributes to every block; each rank shall have the result of its own.
    ReduceScatter,
    /// Everyone contributes to a result that all shall have.
    Allreduce,
    /// Rank i shall have the combination of ranks 0 to i.
    Scan,
    /// Rank i shall have the combination of the ranks before it.
    Exscan,
    /// Nobody leaves before everybody has come.
    Barrier,
    /// Anything else, by what is held before and after.
    Custom(Arc<Custom>),
}

/// Blocks of one rank, each with the ranks that contributed to it, in order.
pub type Holding = Vec<(Block, Vec<Rank>)>;

/// A collective by its pre- and postcondition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custom {
    /// For each rank, what it holds before.
    pub pre: Vec<Holding>,
    /// For each rank, what it shall hold after.
    pub post: Vec<Holding>,
}

impl Custom {
    /// How many blocks of all ranks together the library lists of a collective of its own making: some 3 GB.
    pub const MOST_BLOCKS: u64 = 1 << 24;
}

impl Collective {
    /// The name that users type and that JSON carries.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Alltoall => "alltoall",
            Self::Scatter { .. } => "scatter",
            Self::Gather { .. } => "gather",
            Self::Allgather => "allgather",
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::Allreduce => "allreduce",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
            Self::Barrier => "barrier",
            Self::Custom(_) => "custom",
        }
    }

    /// The names of all collectives but `custom`.
    pub const NAMES: [&'static str; 11] = [
        "alltoall",
        "scatter",
        "gather",
        "allgather",
        "broadcast",
        "reduce",
        "reduce_scatter",
        "allreduce",
        "scan",
        "exscan",
        "barrier",
    ];

    /// The collective of that name, with that root where it has one. `None` for an unknown name and for `custom`.
    #[must_use]
    pub fn named(name: &str, root: Rank) -> Option<Self> {
        Some(match name {
            "alltoall" => Self::Alltoall,
            "scatter" => Self::Scatter { root },
            "gather" => Self::Gather { root },
            "allgather" => Self::Allgather,
            "broadcast" => Self::Broadcast { root },
            "reduce" => Self::Reduce { root },
            "reduce_scatter" => Self::ReduceScatter,
            "allreduce" => Self::Allreduce,
            "scan" => Self::Scan,
            "exscan" => Self::Exscan,
            "barrier" => Self::Barrier,
            _ => return None,
        })
    }

    /// The root, for a collective that has one.
    #[must_use]
    pub fn root(&self) -> Option<Rank> {
        match *self {
            Self::Scatter { root } | Self::Gather { root } | Self::Broadcast { root } | Self::Reduce { root } => {
                Some(root)
            }
            _ => None,
        }
    }

    /// What `rank` of `size` holds before. A block of a reduction is its contributor's alone.
    #[must_use]
    pub fn before(&self, size: usize, rank: Rank) -> Holding {
        let all = || (0..size).map(Rank::new);
        let own = |block| (block, vec![rank]);
        match self {
            Self::Alltoall => all().map(|j| own(Block::new(rank, j))).collect(),
            Self::Scatter { root } if rank == *root => all().map(|j| own(Block::new(rank, j))).collect(),
            Self::Broadcast { root } if rank == *root => vec![own(Block::from(rank))],
            Self::Scatter { .. } | Self::Broadcast { .. } => vec![],
            Self::Gather { root } => vec![own(Block::new(rank, *root))],
            Self::Allgather | Self::Barrier => vec![own(Block::from(rank))],
            Self::Reduce { root } => vec![own(Block::result(*root))],
            Self::ReduceScatter => all().map(|j| own(Block::result(j))).collect(),
            Self::Allreduce => vec![own(Block::RESULT)],
            Self::Scan | Self::Exscan => vec![own(Block::result(rank))],
            Self::Custom(custom) => custom.pre.get(rank.index()).cloned().unwrap_or_default(),
        }
    }

    /// What `rank` of `size` shall hold after.
    #[must_use]
    pub fn after(&self, size: usize, rank: Rank) -> Holding {
        if let Some((block, contributors)) = self.result(size, rank) {
            return vec![(block, contributors.map(Rank::new).collect())];
        }
        let each = |block: fn(Rank, Rank) -> Block, to: Rank| {
            (0..size).map(Rank::new).map(|j| (block(j, to), vec![j])).collect()
        };
        match self {
            Self::Alltoall => each(Block::new, rank),
            Self::Scatter { root } => vec![(Block::new(*root, rank), vec![*root])],
            Self::Gather { root } if rank == *root => each(Block::new, rank),
            Self::Allgather | Self::Barrier => each(|j, _| Block::from(j), rank),
            Self::Broadcast { root } => vec![(Block::from(*root), vec![*root])],
            Self::Gather { .. } | Self::Reduce { .. } | Self::ReduceScatter => vec![],
            Self::Allreduce | Self::Scan | Self::Exscan => vec![],
            Self::Custom(custom) => custom.post.get(rank.index()).cloned().unwrap_or_default(),
        }
    }

    /// The result that a reduction leaves at `rank` of `size`, and whose contributions it is of. `None` where there is
    /// none.
    pub(crate) fn result(&self, size: usize, rank: Rank) -> Option<(Block, Range<usize>)> {
        Some(match self {
            Self::Reduce { root } if rank == *root => (Block::result(rank), 0..size),
            Self::ReduceScatter => (Block::result(rank), 0..size),
            Self::Allreduce => (Block::RESULT, 0..size),
            Self::Scan => (Block::result(rank), 0..size.min(rank.index() + 1)),
            Self::Exscan if rank.index() > 0 => (Block::result(rank), 0..size.min(rank.index())),
            _ => return None,
        })
    }

    /// Whether contributions are combined, so that their order may matter: true of reduce, reduce_scatter, allreduce, scan
    /// and exscan, and of a custom collective that wants a block of several contributors.
    #[must_use]
    pub fn is_reduction(&self) -> bool {
        match self {
            Self::Reduce { .. } | Self::ReduceScatter | Self::Allreduce | Self::Scan | Self::Exscan => true,
            Self::Custom(custom) => custom.post.iter().flatten().any(|(_, contributors)| contributors.len() > 1),
            _ => false,
        }
    }

    /// Whether each block has one source and one destination, and so is in one place at a time: sending it gives it
    /// up. True of alltoall, scatter and gather, and of a custom collective whose blocks are each with one rank before and with
    /// one after.
    #[must_use]
    pub fn is_personalised(&self) -> bool {
        match self {
            Self::Alltoall | Self::Scatter { .. } | Self::Gather { .. } => true,
            Self::Custom(custom) => {
                let once = |side: &[Holding]| {
                    let all = || side.iter().flatten().map(|(block, _)| *block);
                    let different: HashSet<Block> = all().collect();
                    (different.len() == all().count()).then_some(different)
                };
                let before = once(&custom.pre);
                before.is_some() && before == once(&custom.post)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.root().map_or(Ok(()), |root| write!(f, " from root {root}"))
    }
}

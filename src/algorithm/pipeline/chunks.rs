//! The number of chunks of a pipeline.

use std::iter::successors;

use crate::algorithm::parameters::spaced;
use crate::algorithm::{Parameter, Values};
use crate::vocabulary::Problem;

/// The number of chunks where none is given and no price is known.
const DEFAULT_CHUNKS: usize = 16;

pub(in crate::algorithm) const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "number of chunks that the block is cut into; 0 takes nearly the best by price, without prices 16",
    values: Values::Number { least: 0, most: MAX_CHUNKS },
    default: 0,
};

/// The most chunks of a block.
const MAX_CHUNKS: usize = 1 << 16;

/// Returns the number of chunks for a value of the parameter.
pub(in crate::algorithm) fn number(chunks: usize) -> usize {
    if chunks == 0 { DEFAULT_CHUNKS } else { chunks }
}

/// How long a pipeline takes to fill.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithm) struct Filling {
    /// The number of rounds in which any edge carries its first chunk.
    pub(in crate::algorithm) depth: usize,
    /// The number of rounds from one chunk to the next.
    pub(in crate::algorithm) period: usize,
}

impl Filling {
    /// Returns the time to fill a chain of all ranks.
    pub(in crate::algorithm) fn of_chain(problem: &Problem) -> Self {
        Self { depth: problem.ranks() - 1, period: 1 }
    }

    /// Returns a few numbers of chunks, each four times the one before.
    ///
    /// With the best number, start-ups and transmission of the chunks cost the same; half or twice
    /// that number costs a quarter more. With k chunks, the transmission of a long block is up to
    /// 1 + depth / (k period) times the least. So with k = 8 depth / period, more chunks save an
    /// eighth at most.
    pub(in crate::algorithm) fn few(self, problem: &Problem) -> impl Iterator<Item = usize> {
        // Two ranks have nothing to forward.
        let (first, enough) = match problem.ranks() {
            0..=2 => (DEFAULT_CHUNKS, 1),
            _ => (1, self.times(8).max(64)),
        };
        successors(Some(first), |chunks| Some(4 * chunks))
            .take_while(move |chunks| *chunks == first || chunks / 4 < enough)
    }

    /// Returns the numbers of chunks of which the cheapest is taken, each up to a sixth more than
    /// the one before.
    ///
    /// One of them costs at most a third of a percent more than the best number up to the last.
    /// With the last, the transmission of a long block is 1 + 1/64 times the least, unless the
    /// pipeline takes more than 1024 times [`period`](Self::period) rounds to fill.
    pub(in crate::algorithm) fn all(self) -> impl Iterator<Item = usize> {
        spaced(1, self.times(64), 6).into_iter()
    }

    fn times(self, factor: usize) -> usize {
        (factor * self.depth).div_ceil(self.period).clamp(1, MAX_CHUNKS)
    }
}

/// Implements the methods of [`Algorithm`](super::Algorithm) about parameters, for an algorithm
/// whose only field is `chunks`. The expression is the pipeline's [`Filling`] for the problem, or
/// `None` if the algorithm does not fit it.
macro_rules! with_chunks {
    ($problem:ident => $filling:expr) => {
        crate::algorithm::parameters::one_parameter!(chunks, CHUNKS);

        fn variants(&self, $problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
            let filling: Option<Filling> = $filling;
            let few = filling.into_iter().flat_map(|filling| filling.few($problem));
            few.map(|chunks| Arc::new(Self { chunks }) as Arc<dyn Algorithm>).collect()
        }

        fn alternatives(&self, $problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
            let filling = if self.chunks == 0 { $filling } else { None };
            let all = filling.into_iter().flat_map(Filling::all);
            all.map(|chunks| Arc::new(Self { chunks }) as Arc<dyn Algorithm>).collect()
        }
    };
}

pub(in crate::algorithm) use with_chunks;

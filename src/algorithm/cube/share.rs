//! A rank's share of an exchange within its cube or sub-cube.
//!
//! 1. Before a round, a block of relative address r has crossed the dimensions `done`, a subset of
//!    the bits of r: it is at source xor `done`. So at rank u it has the source u xor `done`, and
//!    the destination u xor `done` xor r.
//! 2. An address crosses each of its bits once, so it arrives.
//! 3. No address crosses twice in a round, so a rank holds every block that it sends.
//!
//! Only u differs between ranks. So the shares of all ranks read one table, [`Relative`], which
//! lives as long as any of them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

use super::{Crossing, Exchange, Scheme};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, RankAmounts, RankRound, Route, Share};

/// An exchange within sub-cubes: among ranks whose numbers agree in all bits except some.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Within {
    /// The scheme.
    pub(crate) scheme: Scheme,
    /// The elements that a channel carries in a round; 0 for no limit.
    pub(crate) width: usize,
    /// The bits in which the ranks of a sub-cube differ. Dimension k of the exchange is bit
    /// `bits[k]`.
    pub(crate) bits: Vec<usize>,
}

impl Within {
    /// Returns a rank's rounds, with one block per source and destination.
    pub(crate) fn share(self, rank: Rank) -> Share {
        self.share_of(rank, |(source, destination), into| into.push(Block::new(source, destination)))
    }

    /// Returns a rank's rounds. `has` lists the blocks that a source has for a destination.
    ///
    /// The first share makes the table that all shares of this exchange read while they exist, in
    /// time and memory proportional to the elements that a rank sends, 8 bytes each.
    pub(crate) fn share_of(self, rank: Rank, has: impl Fn((Rank, Rank), &mut Vec<Block>) + Send + 'static) -> Share {
        let table = self.table();
        let rounds = table.get_or_init(|| Relative::of(&self)).rounds.len();
        Box::new((0..rounds).map(move |number| {
            let messages = table.get().map_or(&[][..], |table| &table.rounds[number]);
            round(rank, messages, &has)
        }))
    }

    /// Returns a rank's rounds by message sizes, with one block per source and destination.
    pub(crate) fn amounts(self, rank: Rank) -> Amounts {
        let table = self.table();
        let rounds = table.get_or_init(|| Relative::of(&self)).rounds.len();
        Box::new((0..rounds).map(move |number| {
            let messages = table.get().map_or(&[][..], |table| &table.rounds[number]);
            let amount = |(bit, elements): &(u32, Box<[Ends]>)| Amount {
                peer: Rank::new(rank.index() ^ *bit as usize),
                volume: (elements.len() as u64).into(),
                route: Route::Default,
            };
            RankAmounts {
                phase: 0,
                sends: messages.iter().map(amount).collect(),
                receives: messages.len(),
                ..RankAmounts::default()
            }
        }))
    }

    /// Returns the table of this exchange, shared with its other shares.
    fn table(&self) -> Arc<OnceLock<Relative>> {
        type Tables = HashMap<Within, Weak<OnceLock<Relative>>>;
        static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(self).and_then(Weak::upgrade) {
            return table;
        }
        tables.retain(|_, table| table.strong_count() > 0);
        let table = Arc::default();
        tables.insert(self.clone(), Arc::downgrade(&table));
        table
    }
}

/// The messages of a rank, by rank numbers relative to its own.
#[derive(Debug)]
struct Relative {
    /// For each round and each bit that is crossed, the elements that cross it.
    rounds: Vec<Vec<(u32, Box<[Ends]>)>>,
}

/// The source and destination of an element, relative to the rank that holds it.
#[derive(Clone, Copy, Debug)]
struct Ends {
    source: u32,
    destination: u32,
}

impl Relative {
    fn of(Within { scheme, width, bits }: &Within) -> Self {
        let exchange = Exchange::new(*scheme, bits.len());
        let steps = exchange.map_or_else(Vec::new, |exchange| exchange.wide(*width));
        let spread = |word: usize| bits.iter().enumerate().fold(0, |sum, (k, bit)| sum | (word as u32 >> k & 1) << bit);
        // The dimensions that each relative address has crossed.
        let mut done = vec![0; 1 << bits.len()];
        let round = |crossings: Vec<Crossing>| {
            let mut by_dimension: Vec<Vec<Ends>> = vec![vec![]; bits.len()];
            for Crossing { address, dimension } in crossings {
                let source = spread(done[address]);
                by_dimension[dimension].push(Ends { source, destination: source ^ spread(address) });
                done[address] |= 1 << dimension;
            }
            let used = bits.iter().zip(by_dimension).filter(|(_, elements)| !elements.is_empty());
            used.map(|(&bit, elements)| (1 << bit, elements.into())).collect()
        };
        Self { rounds: steps.into_iter().map(round).collect() }
    }
}

fn round(rank: Rank, messages: &[(u32, Box<[Ends]>)], has: &impl Fn((Rank, Rank), &mut Vec<Block>)) -> RankRound {
    let peer = |bit: u32| Rank::new(rank.index() ^ bit as usize);
    let blocks = |from: Rank, elements: &[Ends]| {
        let mut blocks = Vec::with_capacity(elements.len());
        for (destination, source) in sent(from, elements) {
            has((Rank::new(source), Rank::new(destination)), &mut blocks);
        }
        blocks
    };
    let ends = |sends: bool| {
        let end = |(bit, elements): &(u32, Box<[Ends]>)| {
            let from = if sends { rank } else { peer(*bit) };
            End::new(peer(*bit), blocks(from, elements))
        };
        messages.iter().map(end).collect()
    };
    RankRound { sends: ends(true), receives: ends(false), ..RankRound::default() }
}

/// Returns the blocks that a rank sends of these elements, sorted by destination, then by source,
/// so that neighbours in memory are neighbours in the message.
fn sent(from: Rank, elements: &[Ends]) -> Vec<(usize, usize)> {
    let of = |ends: &Ends| (from.index() ^ ends.destination as usize, from.index() ^ ends.source as usize);
    let mut all: Vec<(usize, usize)> = elements.iter().map(of).collect();
    all.sort_unstable();
    all
}

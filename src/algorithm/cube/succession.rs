//! Exchanges in succession, along one axis of a cube after the other, pipelined.
//!
//! Source: Johnsson & Ho, TR-16-92, §2.3 and §4.1. Differs from the paper: errata 2.11, and see below. The ranks' numbers are s axes
//! of d bits each, (c_s .. c_1); the places within a rank are (v, i), of which i has d bits. Exchanged with one axis after the other, i
//! goes to c_1, each c to the next, and c_s to the places: a generalized shuffle, a [rotation](crate::permutation::BitMap) of these
//! axes. Model: all-port.
//!
//! With K = 2^m elements a rank:
//!
//! | term | whole schedule | paper |
//! |---|---|---|
//! | startups | K/2 + (s - 1) d | Corollary 2 |
//! | elements over a channel | as many, one a step | Corollary 2 |
//! | hops | as many | |
//!
//! A rank's own time and memory are in proportion to the s d K/2 elements that it sends. Contention-free.
//!
//! # Idea
//!
//! The elements of all axes are aligned at once, before: that at (c_s .. c_1 | i) is at location a, the sum modulo 2 of all of these, and
//! stays at that location of whatever rank it comes to. When it crosses axis x it has the relative address a xor X, where X is the sum
//! of the other axes of that rank. (Nothing is moved for the alignment: it only names elements.)
//!
//! While one group of locations crosses the second axis the next one crosses the first, and so on. The paper does so with Algorithm 4.
//! But a location's relative address differs from axis to axis, and locations that are a necklace for one X are none for another: a
//! group that was through with the first axis would not be a group of the second. Complement pairs stay complement pairs. So the groups
//! are d pairs, as in Algorithm 1, each for d steps an axis. Where d does not divide the K/2 pairs the last group is d pairs and
//! what is left over, in as many steps, with every element in a window of d steps (see `windows.rs`): then all channels of
//! an axis are busy for K/2 steps, and those of the next d steps later.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::windows;
use crate::algorithm::{About, Algorithm, Claims};
use crate::collective::{Collective, Custom};
use crate::error::BuildError;
use crate::ids::Rank;
use crate::schedule::{Block, End, Placement, Ports, Problem, RankRound, Share, Volume};
use crate::topology::{Hypercube, Topology};

/// Exchanges of the places with s axes, of d bits each, one after the other.
#[derive(Clone, Debug)]
pub struct Succession {
    axes: usize,
    d: usize,
    /// The bits of a place.
    places: usize,
    topology: Arc<dyn Topology>,
    rows: Vec<Row>,
}

/// Pairs that cross together.
#[derive(Clone, Debug)]
struct Row {
    /// Of each pair an element, by its location, and its v.
    pairs: Vec<(usize, usize)>,
    /// When it begins with the first axis. It begins with the next one d steps later.
    start: usize,
}

static ABOUT: About = About {
    collective: "custom",
    name: "succession",
    summary: "the places are exchanged with one axis of a cube after the other, pipelined",
    source: "Johnsson & Ho, TR-16-92, 4.1",
    needs: "a cube; places of as many bits as an axis at least",
    claims: "K/2 + (s - 1) d start-ups of single elements for s axes of d bits; contention-free",
    ports: Ports::All,
};

impl Succession {
    /// Of that many axes of d bits each, with 2^`places` elements a rank. `None` without axes or bits, for fewer places than
    /// an axis has numbers, for more than 15 bits an axis that do not divide K/2, and for more ranks than [`Hypercube`] has, or as many elements in a rank.
    #[must_use]
    pub fn pipelined(axes: usize, d: usize, places: usize) -> Option<Self> {
        let topology = Hypercube::new(axes.checked_mul(d)?)?;
        if axes == 0 || d == 0 || places < d || places > Hypercube::MAX_DIMENSIONS {
            return None;
        }
        let copies = 1 << (places - d);
        let pairs = copies << (d - 1);
        let odd = pairs % d;
        // Beyond these it is not known that there are windows for all.
        let last = if odd > 0 { windows::early(d, odd).filter(|_| d <= windows::TESTED)? } else { vec![] };
        let opposite = (1 << d) - 1;
        let taken: BTreeSet<(usize, usize)> =
            last.iter().map(|&(address, copy)| (address.min(address ^ opposite), copy)).collect();
        let all = (0..copies).flat_map(|copy| (0..1 << (d - 1)).map(move |pair| (pair, copy)));
        let others: Vec<(usize, usize)> = all.filter(|pair| !taken.contains(pair)).collect();
        let mut rows: Vec<Row> =
            others.chunks(d).enumerate().map(|(i, pairs)| Row { pairs: pairs.to_vec(), start: i * d }).collect();
        if !last.is_empty() {
            rows.push(Row { pairs: last, start: rows.len() * d });
        }
        Some(Self { axes, d, places, topology: Arc::new(topology), rows })
    }

    /// The steps of all.
    #[must_use]
    pub fn steps(&self) -> usize {
        let end = |row: &Row| row.start + row.pairs.len() + (self.axes - 1) * self.d;
        self.rows.iter().map(end).max().unwrap_or(0)
    }

    /// What is held before and after: block [s, t, v, ..] is the element with that v that rank s has for rank t.
    ///
    /// # Errors
    ///
    /// None.
    pub fn problem(&self) -> Result<Problem, BuildError> {
        let ranks = self.topology.nodes();
        let elements = || (0..1 << self.d).flat_map(|i| (0..self.copies()).map(move |copy| (i, copy)));
        let held = |rank: usize| elements().map(move |(i, copy)| (self.block(rank, i, copy), vec![Rank::new(rank)]));
        let mut post = vec![vec![]; ranks];
        for (block, of) in (0..ranks).flat_map(held) {
            post[block.destination().unsigned_abs() as usize].push((block, of));
        }
        let pre = (0..ranks).map(|rank| held(rank).collect()).collect();
        let collective = Collective::Custom(Arc::new(Custom { pre, post }));
        Problem::placed(Arc::clone(&self.topology), Placement::identity(ranks), collective)
    }

    fn copies(&self) -> usize {
        1 << (self.places - self.d)
    }

    /// The element of a rank at a place.
    fn block(&self, source: usize, i: usize, copy: usize) -> Block {
        let ranks = self.topology.nodes();
        let destination = (source << self.d | i) % ranks;
        let whole = Block::new(Rank::new(source), Rank::new(destination));
        whole.chunks(copy as u32, self.copies() as u32, 1).unwrap_or(whole)
    }

    fn axis(&self, rank: usize, x: usize) -> usize {
        rank >> (x * self.d) & ((1 << self.d) - 1)
    }

    /// The sum of all axes but one.
    fn others(&self, rank: usize, x: usize) -> usize {
        (0..self.axes).filter(|&other| other != x).fold(0, |sum, other| sum ^ self.axis(rank, other))
    }

    /// The steps of a row on an axis whose other axes sum up to `others`: by dimension, what crosses.
    fn leg(&self, row: &Row, others: usize) -> Vec<Vec<Crossed>> {
        let (d, opposite) = (self.d, (1 << self.d) - 1);
        let addresses: Vec<usize> = row.pairs.iter().map(|(location, _)| location ^ others).collect();
        let windows = if addresses.len() > d { windows::schedule(d, &addresses) } else { None };
        let mut done = vec![[0; 2]; addresses.len()];
        let mut step = |t: usize| -> Vec<Crossed> {
            let crossing = |dimension: usize| {
                let pair = match &windows {
                    Some(steps) => steps[t][dimension] % addresses.len(),
                    None => (dimension + d - t % d) % d,
                };
                // That of the pair which has the bit.
                let is_second = addresses[pair] >> dimension & 1 == 0;
                let address = if is_second { addresses[pair] ^ opposite } else { addresses[pair] };
                let done = &mut done[pair][usize::from(is_second)];
                let before = std::mem::replace(done, *done | 1 << dimension);
                Crossed { address, before, copy: row.pairs[pair].1 }
            };
            (0..d).map(crossing).collect()
        };
        (0..addresses.len()).map(&mut step).collect()
    }

    /// What a rank sends when that crosses an axis: where the element comes from, and was there.
    fn sent(&self, rank: usize, x: usize, crossed: Crossed) -> Block {
        let Crossed { address, before, copy } = crossed;
        // This axis had `old`, and gets what the axis below had, or the places. Those below have theirs already.
        let old = self.axis(rank, x) ^ before;
        let new = old ^ address;
        let low = (rank & ((1 << (x * self.d)) - 1)) | new << (x * self.d);
        let (i, lower) = (low & ((1 << self.d) - 1), low >> self.d);
        let upper = rank >> ((x + 1) * self.d) << self.d | old;
        self.block(upper << (x * self.d) | lower, i, copy)
    }

    /// What a rank does in a step, if its legs are these: of each axis the one under way, and which of its steps.
    fn round(&self, rank: usize, legs: &[Option<Leg>]) -> RankRound {
        let mut round = RankRound::default();
        for (x, leg) in legs.iter().enumerate() {
            let Some(Leg { steps, now }) = leg else { continue };
            for (dimension, &crossed) in steps[*now].iter().enumerate() {
                let peer = rank ^ 1 << (x * self.d + dimension);
                let end = |from: usize| End::new(Rank::new(peer), vec![self.sent(from, x, crossed)]);
                round.sends.push(end(rank));
                round.receives.push(end(peer));
            }
        }
        round
    }
}

/// A row on its way along an axis, and the step that is now.
#[derive(Clone, Debug)]
struct Leg {
    steps: Vec<Vec<Crossed>>,
    now: usize,
}

/// A relative address crosses, having crossed some of its bits before.
#[derive(Clone, Copy, Debug)]
struct Crossed {
    address: usize,
    before: usize,
    copy: usize,
}

impl Algorithm for Succession {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn name(&self) -> String {
        format!("succession of {} exchanges of {} bits, of 2^{} elements", self.axes, self.d, self.places)
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let own = self.problem().is_ok_and(|own| {
            own.collective() == problem.collective()
                && own.placement() == problem.placement()
                && own.topology().text() == problem.topology().text()
        });
        (!own).then(|| "it is for its own problem".to_owned())
    }

    fn claims(&self, _: &Problem) -> Claims {
        let (steps, copies) = (self.steps() as u64, self.copies() as u64);
        let sent = (self.axes * self.d) as u64 * (1 << (self.places - 1));
        let volume = Some(Volume::new(sent, copies));
        Claims {
            transmission: Some(Volume::new(steps, copies)),
            port_transmission: volume,
            handled: Some(2 * sent),
            messages: Some(sent),
            volume,
            ..Claims::of_single_blocks(steps, true)
        }
    }

    fn rounds(&self, _: &Problem, rank: Rank) -> Share {
        let this = self.clone();
        let mut legs: Vec<Option<Leg>> = vec![None; this.axes];
        Box::new((0..this.steps()).map(move |t| {
            for (x, leg) in legs.iter_mut().enumerate() {
                let row = t
                    .checked_sub(x * this.d)
                    .and_then(|begin| this.rows.get(begin / this.d).filter(|row| row.start == begin));
                *leg = match (row, leg.take()) {
                    (Some(row), _) => Some(Leg { steps: this.leg(row, this.others(rank.index(), x)), now: 0 }),
                    (None, Some(leg)) if leg.now + 1 < leg.steps.len() => Some(Leg { now: leg.now + 1, ..leg }),
                    _ => None,
                };
            }
            this.round(rank.index(), &legs)
        }))
    }
}

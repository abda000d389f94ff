//! Trees of all ranks on networks that look the same from every node: one tree, translated.
//!
//! Source: the balanced spanning trees of C.-T. Ho & S. L. Johnsson, *Distributed routing
//! algorithms for broadcasting and personalized communication in hypercubes*, ICPP 1986, on all
//! products of rings, complete networks and windows that wrap round.
//!
//! Nodes of such a network are the elements of an abelian group: vectors of coordinates, added
//! modulo the extents. The channels of every node are the same steps. So a tree of shortest paths
//! from node 0 gives one from every node, by addition. If a round moves at most s addresses over
//! each step, then no channel of the network carries more than s blocks in that round, whatever the
//! node. All N trees together load each channel with as many blocks as there are addresses whose
//! last step it is: in a balanced tree, (N - 1) / D rounded up, for D steps. Where D does not
//! divide N - 1, blocks in several parts, each with a tree of its own, load the channels alike.
//! On 2x5 no tree of shortest paths is balanced; there one path is a channel longer.
//!
//! The trees are found with the axes in descending order of their extents, which loads channels
//! more alike than other orders. So they are the same trees for all orders.
//!
//! Every rank computes the trees: 5 ms for a torus of 900 nodes. Ranks of one process share those
//! that were made last.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use super::course::Course;
use super::group::{Group, Step};
use super::hop_rounds::{Hop, Waiting, loads, transmission};
use super::kept::Kept;
use super::{Algorithm, Claims, Parameter, Settings, Values};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, Combine, End, Problem, RankAmounts, RankRound, Share};

/// The unmet requirement of algorithms that translate trees.
pub(super) const NEEDS: &str =
    "a product of rings, complete networks and windows that wrap round, with rank i on node i";

/// The claims of an algorithm that translates trees and takes them once.
pub(super) const CLAIMS: &str = "the diameter in start-ups, (N - 1) / D blocks rounded up over each of the D channels of a node, or 1 or 2 blocks more on some products of unequal extents, such as 2x2x11 and 2x3x3x3; with rounds=k up to k start-ups, and for k = (N - 1) / D rounded up no more blocks; with parts=p (N - 1) / D blocks, not rounded, if D divides p (N - 1), or half a block more on some products, such as 4x5x5; contention-free";

/// The number of rounds.
const ROUNDS: Parameter = Parameter {
    key: "rounds",
    summary: "most rounds, at least the diameter, which 0 takes; more rounds send smaller messages",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

/// The number of parts of a block.
const PARTS: Parameter = Parameter {
    key: "parts",
    summary: "number of parts of every block, each of which takes a tree of its own; 0 takes the best by price of 1 and the fewest that load all channels alike, up to 16, without prices 1",
    values: Values::Number { least: 0, most: 64 },
    default: 0,
};

/// The most parts of a block that `auto` considers.
const MAX_PARTS: usize = 16;

/// The most ranks for which a tree is made.
pub(super) const MAX_RANKS: usize = 1 << 14;

/// The most entries of all trees, one for each address of each part.
const MAX_ENTRIES: usize = 1 << 17;

/// The parameters of algorithms that translate trees.
pub(super) const PARAMETERS: [Parameter; 2] = [ROUNDS, PARTS];

/// The values of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    rounds: usize,
    /// The number of parts, or 0 for one unless prices say otherwise.
    parts: usize,
}

impl Default for Division {
    fn default() -> Self {
        Self { rounds: ROUNDS.default, parts: PARTS.default }
    }
}

impl Division {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { rounds: settings.of(&ROUNDS), parts: settings.of(&PARTS) }
    }

    pub(super) fn settings(self) -> Settings {
        Settings::default().with(&ROUNDS, self.rounds).with(&PARTS, self.parts)
    }

    /// Returns the variants for `auto`, if the busiest channel carries more than (N - 1) / D blocks
    /// by default: one with more rounds if there may be a whole block too many, and one with blocks
    /// in parts.
    pub(super) fn variants(problem: &Problem, with: impl Fn(Self) -> Arc<dyn Algorithm>) -> Vec<Arc<dyn Algorithm>> {
        if with(Self::default()).lacks(problem).is_some() {
            return vec![];
        }
        let trees = TranslatedTree::of(problem, Self::default());
        let (fewest, least) = (trees.transmission(), (problem.ranks() - 1).div_ceil(trees.steps.max(1)));
        let rounds = Some(least).filter(|&rounds| fewest > least && rounds > trees.rounds.len());
        let single = rounds.map(|rounds| Self { rounds, parts: 0 });
        let divided = trees.even_parts(problem.ranks()).map(|parts| Self { rounds: 0, parts });
        [single, divided].into_iter().flatten().map(with).collect()
    }

    /// Returns the algorithm with one part and with as many as load all channels alike, if the
    /// number of parts is open and these differ.
    pub(super) fn alternatives(
        self,
        problem: &Problem,
        with: impl Fn(Self) -> Arc<dyn Algorithm>,
    ) -> Vec<Arc<dyn Algorithm>> {
        if self.parts > 0 || with(self).lacks(problem).is_some() {
            return vec![];
        }
        let even = TranslatedTree::of(problem, Self::default()).even_parts(problem.ranks());
        let divided = even.map(|parts| Self { parts, ..self }).filter(|one| one.lacks(problem).is_none());
        divided.map_or_else(Vec::new, |divided| [self, divided].map(with).into())
    }

    /// Returns what a problem lacks for these parameters.
    pub(super) fn lacks(self, problem: &Problem) -> Option<String> {
        let most = MAX_ENTRIES / problem.ranks().max(1);
        let parts = self.parts;
        let diameter = || Group::of(problem).map_or(0, |group| group.diameter());
        lacks(problem).or_else(|| lacks_rounds(&ROUNDS, self.rounds, diameter)).or_else(|| {
            (parts > most).then(|| format!("parts={parts}: it needs at most {most} for {} ranks", problem.ranks()))
        })
    }

    /// Returns what a problem lacks if contributions are combined along the trees.
    pub(super) fn lacks_to_combine(self, problem: &Problem) -> Option<String> {
        self.lacks(problem).or_else(|| Course::Up.lacks_order(problem))
    }
}

/// Returns what a problem lacks for a translated tree.
pub(super) fn lacks(problem: &Problem) -> Option<String> {
    let ranks = problem.ranks();
    match Group::of(problem) {
        None => Some(format!("it needs {NEEDS}; on other networks of up to 1024 nodes use tree-packing")),
        Some(_) if ranks > MAX_RANKS => Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}")),
        Some(_) => None,
    }
}

/// Returns what a parameter for the number of rounds lacks on a network of some diameter. With 0,
/// there are as many as the diameter.
pub(super) fn lacks_rounds(parameter: &Parameter, rounds: usize, diameter: impl FnOnce() -> usize) -> Option<String> {
    let diameter = if rounds == 0 { 0 } else { diameter() };
    let key = parameter.key;
    (rounds < diameter).then(|| format!("{key}={rounds}: it needs at least {diameter}, the diameter"))
}

/// A tree from node 0 to all others for each part of a block, and the rounds in which their hops
/// are taken.
#[derive(Debug)]
pub(super) struct TranslatedTree {
    group: Group,
    steps: usize,
    parts: usize,
    /// The hops of each round, by step.
    rounds: Vec<Vec<Hop>>,
}

/// Which steps lead to the addresses of each part, one part after the other: the choice among the
/// last steps of all shortest paths.
struct Balance {
    options: Vec<Vec<Step>>,
    chosen: Vec<Step>,
}

impl Balance {
    /// Moves addresses from one step to another, each to one of its other options, so that of these
    /// addresses no step has two more than another that it could give them to. `total` are the
    /// addresses of each step in all; those of few are preferred.
    fn level(&mut self, addresses: &[usize], steps: usize, total: &mut [i64]) {
        if addresses.iter().all(|&address| self.options[address].len() < 2) {
            return;
        }
        loop {
            let mut held = vec![vec![]; steps];
            for &address in addresses {
                held[self.chosen[address].index].push(address);
            }
            let load: Vec<usize> = held.iter().map(Vec::len).collect();
            let mut order: Vec<usize> = (0..steps).filter(|&step| load[step] > 0).collect();
            order.sort_by_key(|&step| Reverse((load[step], total[step])));
            let better = |from: usize, to: usize, load: &[usize], total: &[i64]| {
                load[from] > load[to] + 1 || load[from] == load[to] + 1 && total[from] > total[to] + 1
            };
            let path = order.into_iter().find_map(|from| {
                let path = self.path(&held, from, |to| better(from, to, &load, total));
                (!path.is_empty()).then_some((from, path))
            });
            let Some((from, path)) = path else { return };
            let mut to = from;
            for (address, step) in path {
                self.chosen[address] = step;
                to = step.index;
            }
            total[from] -= 1;
            total[to] += 1;
        }
    }

    /// Finds a shortest chain of moves from a step to one that will do.
    fn path(&self, held: &[Vec<usize>], from: usize, will_do: impl Fn(usize) -> bool) -> Vec<(usize, Step)> {
        let mut came: Vec<Option<(usize, Step, usize)>> = vec![None; held.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &address in &held[at] {
                for &step in &self.options[address] {
                    if step.index == from || came[step.index].is_some() {
                        continue;
                    }
                    came[step.index] = Some((address, step, at));
                    if will_do(step.index) {
                        let (mut path, mut back) = (vec![], step.index);
                        while let Some((address, step, before)) = came[back] {
                            path.push((address, step));
                            back = before;
                        }
                        path.reverse();
                        return path;
                    }
                    queue.push_back(step.index);
                }
            }
        }
        vec![]
    }
}

/// The distance in the tree, and the last step, by the address that it leads to from node 0, of
/// each address of a ring of 5 times 2 nodes. The path to address 6 is a step longer than the
/// shortest.
const ON_5_BY_2: [(usize, usize); 10] =
    [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (3, 8), (1, 8), (2, 8)];

fn is_5_by_2(group: &Group) -> bool {
    group.rows.iter().map(|row| (row.extent, row.steps())).eq([(5, 2), (2, 1)])
}

impl TranslatedTree {
    /// Returns balanced trees, taken in at most the given number of rounds, or in as few as the
    /// diameter.
    ///
    /// The problem [lacks](lacks) nothing.
    pub(super) fn of(problem: &Problem, division: Division) -> Arc<Self> {
        static MADE: Kept<(Group, Division), Arc<TranslatedTree>> = Kept::new(6);
        let division = Division { parts: division.parts.max(1), ..division };
        let group = Group::of(problem).unwrap_or(Group { rows: vec![] });
        MADE.get((group.clone(), division), || Arc::new(Self::new(group, problem.ranks(), division)))
    }

    fn new(group: Group, nodes: usize, Division { rounds: least, parts }: Division) -> Self {
        let steps = group.steps();
        let (sorted, place) = group.sorted();
        // An entry is an address of a part.
        let entries = nodes * parts;
        let is_root = |entry: usize| entry.is_multiple_of(nodes);
        let (distances, options): (Vec<usize>, Vec<Vec<Step>>) = match parts {
            1 if is_5_by_2(&sorted) => {
                ON_5_BY_2.map(|(distance, step)| (distance, sorted.paths(step).1)).into_iter().unzip()
            }
            _ => (0..entries).map(|entry| sorted.paths(entry % nodes)).unzip(),
        };
        let diameter = distances.iter().copied().max().unwrap_or(0);
        let mut levels = vec![vec![]; diameter + 1];
        for (entry, &distance) in distances.iter().enumerate() {
            levels[distance].push(entry);
        }
        let levels = &levels[1..];
        let none = Step { index: 0, to: 0 };
        let mut balance = Balance { options, chosen: vec![none; entries] };
        let mut total = vec![0_i64; steps];
        for level in levels {
            let mut load = vec![0_usize; steps];
            for &entry in level {
                let least =
                    balance.options[entry].iter().copied().min_by_key(|step| (load[step.index], total[step.index]));
                let step = least.unwrap_or(none);
                balance.chosen[entry] = step;
                load[step.index] += 1;
                total[step.index] += 1;
            }
            balance.level(level, steps, &mut total);
        }
        let all: Vec<usize> = levels.iter().flatten().copied().collect();
        balance.level(&all, steps, &mut vec![0; steps]);
        let hop = |entry: usize| {
            let (step, to) = (balance.chosen[entry], entry % nodes);
            Hop { step, part: entry / nodes, to, from: sorted.subtract(to, step.to) }
        };
        let hops: Vec<Hop> = (0..entries).map(hop).collect();
        let above = |hop: &Hop| hop.part * nodes + hop.from;
        // The hops below each entry, one after the other.
        let mut height = vec![0_usize; entries];
        for &entry in all.iter().rev() {
            let above = above(&hops[entry]);
            height[above] = height[above].max(height[entry] + 1);
        }
        let (roots, others): (Vec<usize>, Vec<usize>) = (0..entries).partition(|&entry| is_root(entry));
        let mut below: Vec<Vec<usize>> = vec![vec![]; entries];
        others.iter().for_each(|&entry| below[above(&hops[entry])].push(entry));
        let waiting = Waiting { hops: &hops, below: &below, height: &height, steps };
        let mut rounds = waiting.in_fewest_blocks(&roots, least.max(diameter));
        for Hop { step, to, from, .. } in rounds.iter_mut().flatten() {
            (step.to, *to, *from) = (place[step.to], place[*to], place[*from]);
        }
        Self { group, steps, parts, rounds }
    }

    /// Returns the rounds of a rank in which the block of every rank goes down the rank's tree.
    ///
    /// `piece` returns a part of a rank's block, by the part and the number of parts.
    pub(super) fn down(
        self: Arc<Self>,
        rank: Rank,
        piece: impl Fn(Rank, u32, u32) -> Option<Block> + Send + 'static,
    ) -> Share {
        let me = rank.index();
        Box::new((0..self.rounds.len()).map(move |round| {
            let Self { group, steps, parts, .. } = &*self;
            let (mut sends, mut receives) = (Parcel::all(*steps), Parcel::all(*steps));
            for &Hop { step, part, to, from } in &self.rounds[round] {
                let of = |address| piece(Rank::new(group.subtract(me, address)), part as u32, *parts as u32);
                sends[step.index].extend(group.add(me, step.to), of(from), Combine::Replace);
                receives[step.index].extend(group.subtract(me, step.to), of(to), Combine::Replace);
            }
            RankRound::new(Parcel::ends(sends), Parcel::ends(receives))
        }))
    }

    /// Returns the rounds of a rank in which contributions go up the tree of every rank: those of
    /// [`down`](Self::down) in reverse.
    pub(super) fn up(
        self: Arc<Self>,
        rank: Rank,
        piece: impl Fn(Rank, u32, u32) -> Option<Block> + Send + 'static,
    ) -> Share {
        let me = rank.index();
        Box::new((0..self.rounds.len()).rev().map(move |round| {
            let Self { group, steps, parts, .. } = &*self;
            let (mut sends, mut receives) = (Parcel::all(*steps), Parcel::all(*steps));
            for &Hop { step, part, to, from } in &self.rounds[round] {
                let of = |address| piece(Rank::new(group.subtract(me, address)), part as u32, *parts as u32);
                let (above, below) = (group.subtract(me, step.to), group.add(me, step.to));
                sends[step.index].extend(above, of(to), Combine::in_rank_order(me, above));
                receives[step.index].extend(below, of(from), Combine::in_rank_order(below, me));
            }
            RankRound::new(Parcel::ends(sends), Parcel::ends(receives))
        }))
    }

    /// Returns the number of parts by which the busiest channel carries (N - 1) / D blocks of
    /// `nodes` = N, if these trees load it with more and there are few.
    fn even_parts(&self, nodes: usize) -> Option<usize> {
        let (steps, others) = (self.steps.max(1), nodes - 1);
        let even = (1..=MAX_PARTS).find(|parts| (parts * others).is_multiple_of(steps));
        let parts = even.map(|parts| if parts == 1 { steps.min(MAX_PARTS) } else { parts });
        parts.filter(|parts| self.transmission() * steps > others && nodes * parts <= MAX_RANKS)
    }

    /// Returns the parts of blocks over the busiest channel of each round, added up.
    fn transmission(&self) -> usize {
        transmission(&self.rounds, self.steps)
    }

    /// Returns the size of a part, if the trees carry blocks of which this many make up one of the
    /// problem: 1, or N where a vector is cut into a block for each rank.
    fn piece(&self, blocks: usize) -> Volume {
        Volume::new(1, (blocks * self.parts) as u64)
    }

    /// Returns the rounds of [`down`](Self::down) by message sizes.
    pub(super) fn amounts_down(self: Arc<Self>, rank: Rank, blocks: usize) -> Amounts {
        let size = self.piece(blocks);
        Box::new((0..self.rounds.len()).map(move |round| self.amounts(round, rank, size, true)))
    }

    /// Returns the rounds of [`up`](Self::up) by message sizes.
    pub(super) fn amounts_up(self: Arc<Self>, rank: Rank, blocks: usize) -> Amounts {
        let size = self.piece(blocks);
        Box::new((0..self.rounds.len()).rev().map(move |round| {
            let combined = size * self.rounds[round].len() as u64;
            RankAmounts { combined, ..self.amounts(round, rank, size, false) }
        }))
    }

    fn amounts(&self, round: usize, rank: Rank, size: Volume, down: bool) -> RankAmounts {
        let mut loads = vec![(0, 0); self.steps];
        for Hop { step, .. } in &self.rounds[round] {
            loads[step.index] = (step.to, loads[step.index].1 + 1);
        }
        let me = rank.index();
        let peer = |to| Rank::new(if down { self.group.add(me, to) } else { self.group.subtract(me, to) });
        let busy = loads.into_iter().filter(|(_, load)| *load > 0);
        let sends: Vec<Amount> = busy.map(|(to, load)| Amount::new(peer(to), size * load)).collect();
        RankAmounts { receives: sends.len(), sends, ..RankAmounts::default() }
    }

    /// Returns the claims of `times` passages through these rounds.
    pub(super) fn claims(&self, times: u64, blocks: usize) -> Claims {
        let size = self.piece(blocks);
        let counts: Vec<(u64, u64, u64)> = self.rounds.iter().map(|hops| self.counts(hops)).collect();
        let sum = |of: fn(&(u64, u64, u64)) -> u64| times * counts.iter().map(of).sum::<u64>();
        let (longest, blocks, messages) = (sum(|count| count.0), sum(|count| count.1), sum(|count| count.2));
        let rounds = times * counts.len() as u64;
        Claims {
            startups: Some(rounds),
            transmission: Some(size * longest),
            port_transmission: Some(size * blocks),
            hops: Some(rounds),
            rearrangements: Some(0),
            handled: Some(2 * messages),
            messages: Some(messages),
            volume: Some(size * blocks),
            contention_free: true,
            ..Claims::default()
        }
    }

    /// Returns the most blocks over a channel, those that a rank sends, and its messages.
    fn counts(&self, hops: &[Hop]) -> (u64, u64, u64) {
        let load = loads(hops, self.steps);
        let busy = load.iter().filter(|load| **load > 0).count();
        (load.into_iter().max().unwrap_or(0) as u64, hops.len() as u64, busy as u64)
    }
}

/// A message over one step.
#[derive(Clone, Default)]
struct Parcel {
    peer: usize,
    blocks: Vec<Block>,
    combine: Combine,
}

impl Parcel {
    /// Returns an empty message for each step.
    fn all(steps: usize) -> Vec<Self> {
        vec![Self::default(); steps]
    }

    /// Returns the ends of the messages that have blocks.
    fn ends(all: Vec<Self>) -> Vec<End> {
        let sent = all.into_iter().filter(|parcel| !parcel.blocks.is_empty());
        sent.map(|Self { peer, blocks, combine }| End::new(Rank::new(peer), blocks).combined(combine)).collect()
    }

    fn extend(&mut self, peer: usize, blocks: Option<Block>, combine: Combine) {
        self.blocks.extend(blocks);
        (self.peer, self.combine) = (peer, combine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Collective;
    use crate::topology::parse;

    /// Rings, tori of two and three dimensions with the axes in all orders, cubes, generalized
    /// hypercubes and other products.
    fn networks() -> Vec<String> {
        let rings = (2..=30).map(|n| format!("ring:{n}"));
        let planes = (2..=30).flat_map(|a| (2..=30).map(move |b| format!("torus:{a}x{b}")));
        let spaces =
            (2..=6).flat_map(|a| (2..=6).flat_map(move |b| (2..=6).map(move |c| format!("torus:{a}x{b}x{c}"))));
        let cubes = (1..=10).map(|d| format!("hypercube:{d}"));
        let others = [
            "torus:3x2x3x3",
            "torus:2x7x2",
            "torus:9x2x2",
            "torus:97x17",
            "ghc:4,2",
            "ghc:5,3",
            "ghc:3,4",
            "ghc:2x3x4",
            "complete:17",
            "how-wrap:16,3,1",
            "how-wrap:40,3,1",
            "how-wrap:64,4,1",
            "how-wrap:13,5,1",
            "how-wrap:8,3,2",
            "how-wrap:9,2,2",
            "how-wrap:6,2,3",
        ];
        rings.chain(planes).chain(spaces).chain(cubes).chain(others.map(str::to_owned)).collect()
    }

    fn problem(text: &str) -> Problem {
        Problem::new(parse(text).unwrap(), Collective::Allgather).unwrap()
    }

    fn diameter(problem: &Problem) -> u64 {
        Group::of(problem).unwrap().diameter() as u64
    }

    /// Returns how many blocks the trees send above the bound, (N - 1) / D rounded up, if the number
    /// of rounds is the diameter. With as many rounds as blocks they reach the bound.
    fn above_least(text: &str) -> u64 {
        let mut extents: Vec<usize> = Group::of(&problem(text)).unwrap().rows.iter().map(|row| row.extent).collect();
        extents.sort_unstable();
        match extents[..] {
            [2, 2, 5 | 7 | 9] => 1,
            [2, 3, 3, 3] => 2,
            _ => 0,
        }
    }

    #[test]
    fn trees_take_the_diameter_and_the_least_transmission() {
        for text in networks() {
            let problem = problem(&text);
            let diameter = diameter(&problem);
            let trees = |rounds: usize| TranslatedTree::of(&problem, Division { rounds, parts: 1 });
            let least = (problem.ranks() as u64 - 1).div_ceil(trees(0).steps as u64);
            let [fewest, more] = [0, least as usize].map(|rounds| trees(rounds).claims(1, 1));
            let found = [fewest.transmission, more.transmission];
            let blocks = [least + above_least(&text), least];
            assert_eq!(found, blocks.map(|blocks| Some(blocks.into())), "{text}");
            assert_eq!(fewest.startups, Some(diameter), "{text}");
            assert!((diameter..=least.max(diameter)).contains(&more.startups.unwrap()), "{text}");
        }
    }

    /// (N - 1) / D, if it is no whole number either, with the diameter in start-ups.
    #[test]
    fn blocks_in_parts_load_all_channels_alike() {
        for text in networks().iter().filter(|text| !["complete:17", "torus:97x17"].contains(&&***text)) {
            let problem = problem(text);
            let steps = TranslatedTree::of(&problem, Division::default()).steps;
            let others = problem.ranks() - 1;
            let parts = (1..=steps).find(|parts| (parts * others).is_multiple_of(steps)).unwrap();
            let parts = if above_least(text) > 0 { parts.max(steps) } else { parts };
            let claims = TranslatedTree::of(&problem, Division { rounds: 0, parts }).claims(1, 1);
            assert_eq!(claims.startups, Some(diameter(&problem)), "{text}");
            assert_eq!(claims.transmission, Some(Volume::new(others as u64, steps as u64)), "{text}");
        }
    }

    #[test]
    fn too_many_rounds_are_as_many_as_there_are_blocks() {
        let claims = TranslatedTree::of(&problem("torus:4x4"), Division { rounds: 1000, parts: 1 }).claims(1, 1);
        assert_eq!((claims.startups, claims.transmission), (Some(4), Some(Volume::from(4))));
    }
}

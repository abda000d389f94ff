//! Bounds by breadth-first search, for any network and any placement.

use super::Bounds;
use super::need::{Distances, Need};
use crate::block::Volume;
use crate::ids::{Node, Rank};
use crate::topology::Neighbours;
use crate::vocabulary::Problem;

/// The maximum number of nodes and channels that are visited.
const BUDGET: usize = 1 << 26;

pub(super) fn bounds(problem: &Problem, need: &Need) -> Bounds {
    let topology = problem.topology();
    let (nodes, channels, ranks) = (topology.nodes(), topology.channels(), problem.ranks());
    let size = nodes.saturating_add(channels);
    if size > BUDGET {
        return Bounds { spread: (ranks as u64, nodes as u64), ..Bounds::default() };
    }
    let place = |rank: usize| problem.placement().node(Rank::new(rank)).index();
    let mut search = Search {
        // A topology that breaks its contract may name nodes that it does not have.
        ends: (0..nodes)
            .map(|node| topology.neighbours(Node::new(node)).into_iter().filter(|end| end.index() < nodes).collect())
            .collect(),
        sits: (0..nodes).map(|node| problem.placement().rank(Node::new(node)).is_some()).collect(),
        centre: need.centre().map(place),
        distance: vec![],
        need,
    };
    let roots = (BUDGET / size).clamp(1, ranks);
    let seen = (0..roots).map(|i| search.around(place(i * ranks / roots))).fold(Around::default(), Around::joined);
    let centre = search.centre.map(|centre| search.around(centre));
    // Pairs that were not visited are at least one channel apart.
    let unseen = (ranks - roots) as u128 * (ranks as u128 - 1);
    let total = match need.distances() {
        Distances::Pairs => seen.far + unseen,
        Distances::Root => centre.map_or(0, |centre| centre.far),
        Distances::Blocks(blocks) => blocks,
    };
    Bounds {
        average: Volume::ratio(total, channels as u128),
        cut: centre.map_or(seen.cut, |centre| centre.cut.max(seen.cut)).max(search.in_order()),
        forwarded: Volume::ratio(total, ranks as u128),
        distance: centre.map_or(seen.farthest, |centre| centre.farthest),
        spread: (ranks as u64, search.ends.iter().map(|ends| ends.len() as u64).max().unwrap_or(0)),
        ..Bounds::default()
    }
}

struct Search<'n> {
    ends: Vec<Neighbours>,
    /// Whether a rank sits on a node.
    sits: Vec<bool>,
    centre: Option<usize>,
    /// The distance of each node in the last search.
    distance: Vec<Option<usize>>,
    need: &'n Need,
}

/// The result of a search from one node.
#[derive(Clone, Copy, Default)]
struct Around {
    /// The sum of the distances of all ranks.
    far: u128,
    farthest: u64,
    /// The best cut between the nodes up to some distance and the others.
    cut: Volume,
}

impl Around {
    fn joined(self, other: Self) -> Self {
        Self { far: self.far + other.far, farthest: self.farthest.max(other.farthest), cut: self.cut.max(other.cut) }
    }
}

impl Search<'_> {
    /// Returns the best cut between the nodes below some number and the others: that in the middle
    /// of a dimension if nodes are numbered row by row.
    fn in_order(&self) -> Volume {
        let (mut best, mut ranks, mut onward) = (Volume::ZERO, 0, 0_u128);
        for (node, ends) in self.ends.iter().enumerate() {
            let back = ends.iter().filter(|end| end.index() < node).count() as u128;
            ranks += u64::from(self.sits[node]);
            onward = (onward + ends.len() as u128).saturating_sub(2 * back);
            if onward > 0 {
                let root_inside = self.centre.is_some_and(|centre| centre <= node);
                best = best.max(Volume::ratio(self.need.across(ranks, root_inside), onward));
            }
        }
        best
    }

    fn around(&mut self, node: usize) -> Around {
        self.distance.clear();
        self.distance.resize(self.ends.len(), None);
        self.distance[node] = Some(0);
        let (mut found, mut inside, mut level) = (Around::default(), 0, vec![node]);
        for far in 0.. {
            let ranks = level.iter().filter(|&&node| self.sits[node]).count();
            inside += ranks as u64;
            found.far += far as u128 * ranks as u128;
            if ranks > 0 {
                found.farthest = far as u64;
            }
            let (mut onward, mut next) = (0_u128, vec![]);
            for end in level.iter().flat_map(|&node| &self.ends[node]) {
                match &mut self.distance[end.index()] {
                    Some(at) => onward += u128::from(*at > far),
                    at @ None => {
                        *at = Some(far + 1);
                        onward += 1;
                        next.push(end.index());
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            let root_inside = self.centre.is_some_and(|centre| self.distance[centre].is_some_and(|at| at <= far));
            found.cut = found.cut.max(Volume::ratio(self.need.across(inside, root_inside), onward));
            level = next;
        }
        found
    }
}

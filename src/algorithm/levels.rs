//! Two levels of ranks: those of each host with a leader, and the leaders of all hosts.
//!
//! The leader of a host is the root on the root's host, and elsewhere the host's first rank. In a
//! round, all hosts are at the same level, so a smaller host idles while a larger one still works.

use super::loads::with_counted;
use super::tree::{Merge, Ranges, at, below, broadcast, from_root, gathered};
use super::{Claims, doublings, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Hosts, Problem, RankRound, Share};

/// The properties of a problem that the algorithms on two levels need.
pub(super) const NEEDS: &str = "two hosts or more, one of them with two or more ranks";

/// Returns the unmet requirement, if there is one.
pub(super) fn lacks(problem: &Problem) -> Option<String> {
    let Some(hosts) = problem.hosts() else {
        return Some(format!("it needs {NEEDS}; the hosts of these ranks are unknown"));
    };
    let (ranks, count) = (hosts.ranks(), hosts.count());
    (count < 2 || count == ranks).then(|| {
        format!("it needs {NEEDS}; there are {ranks} ranks on {count} host{}", if count == 1 { "" } else { "s" })
    })
}

/// Returns the unmet requirement of a reduction, if there is one: ranks combine within hosts first.
pub(super) fn lacks_for_reduction(problem: &Problem) -> Option<String> {
    let needs = "it needs an operation that commutes, since the ranks of a host are not consecutive".to_owned();
    let in_order = problem.commutative() || problem.hosts().is_none_or(Hosts::are_consecutive);
    lacks(problem).or((!in_order).then_some(needs))
}

/// The two levels of a problem.
#[derive(Clone)]
pub(super) struct Levels {
    hosts: Hosts,
    root: Rank,
}

impl Levels {
    /// Without known hosts, all ranks are on one.
    pub(super) fn of(problem: &Problem) -> Self {
        let one = || Hosts::of_consecutive(problem.ranks(), problem.ranks());
        let hosts = problem.hosts().cloned().unwrap_or_else(one);
        Self { hosts, root: problem.collective().root().unwrap_or_default() }
    }

    /// Returns the number of hosts.
    pub(super) fn count(&self) -> usize {
        self.hosts.count()
    }

    /// Returns the host of the root.
    pub(super) fn host_of_root(&self) -> usize {
        self.host_of(self.root)
    }

    fn host_of(&self, rank: Rank) -> usize {
        self.hosts.host(rank).unwrap_or_default()
    }

    /// Returns the number of ranks on each host.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count()).map(|host| self.hosts.ranks_on(host).len())
    }

    /// Returns the number of rounds of a tree within hosts: that of the largest host.
    pub(super) fn within(&self) -> u32 {
        self.sizes().map(doublings).max().unwrap_or(0)
    }

    /// Returns the number of rounds of a tree among the leaders.
    pub(super) fn among(&self) -> u32 {
        doublings(self.count())
    }

    fn leader(&self, host: usize) -> Rank {
        if host == self.host_of_root() {
            return self.root;
        }
        self.hosts.ranks_on(host).first().copied().unwrap_or_default()
    }

    /// Returns the ranks of a rank's host.
    pub(super) fn host(&self, rank: Rank) -> LeaderGroup {
        let host = self.host_of(rank);
        let ranks = self.hosts.ranks_on(host).to_vec();
        let place = |rank: Rank| ranks.binary_search(&rank).unwrap_or(0);
        LeaderGroup { leader: place(self.leader(host)), me: place(rank), ranks }
    }

    /// Returns the leaders of all hosts, for a leader.
    pub(super) fn leaders(&self, rank: Rank) -> Option<LeaderGroup> {
        let host = self.host_of(rank);
        let ranks = || (0..self.count()).map(|host| self.leader(host)).collect();
        (self.leader(host) == rank).then(|| LeaderGroup { ranks: ranks(), leader: self.host_of_root(), me: host })
    }

    /// Returns the blocks of all ranks of a host.
    pub(super) fn blocks_on(&self, host: usize, block: impl Fn(Rank) -> Block) -> Vec<Block> {
        self.hosts.ranks_on(host).iter().copied().map(block).collect()
    }

    /// Returns the blocks of the hosts that a leader has before round k of an allgather among the
    /// leaders: its own, and those of as many hosts after it as it sends on.
    fn blocks_from(&self, host: usize, k: u32) -> Vec<Block> {
        let count = self.count();
        (0..known(count, k)).flat_map(|i| self.blocks_on((host + i) % count, Block::from)).collect()
    }

    /// Returns a rank's rounds of an allgather: up the trees within hosts, by doubling among the
    /// leaders, and down the same trees.
    pub(super) fn allgather(&self, rank: Rank) -> Share {
        let (levels, host, leaders) = (self.clone(), self.host(rank), self.leaders(rank));
        let (within, among, count) = (self.within(), self.among(), self.count());
        let (up, down) = (host.clone(), host);
        let own = move |group: &LeaderGroup, index: usize| vec![Block::from(group.ranks[index])];
        let gathering = (0..within).map(move |k| up.gather(k, |index| own(&up, index)));
        let doubling = (0..among).map(move |k| {
            let Some(leaders) = &leaders else { return RankRound::default() };
            let (to, from) = ((leaders.me + count - (1 << k)) % count, (leaders.me + (1 << k)) % count);
            let end = |peer: usize, of| vec![End::new(leaders.ranks[peer], levels.blocks_from(of, k))];
            RankRound::new(end(to, leaders.me), end(from, from))
        });
        let ranks = self.hosts.ranks();
        let handing = (0..within).rev().map(move |k| down.complete(k, ranks));
        Box::new(gathering.chain(doubling).chain(handing))
    }

    /// Returns a rank's rounds of a gather of the block of each rank: within hosts, then among the
    /// leaders.
    pub(super) fn gather(&self, rank: Rank, block: impl Fn(Rank) -> Block + Copy + Send + 'static) -> Share {
        let (levels, host, leaders) = (self.clone(), self.host(rank), self.leaders(rank));
        let up = (0..self.within()).map(move |k| host.gather(k, |index| vec![block(host.ranks[index])]));
        let among = (0..self.among()).map(move |k| {
            let round = |leaders: &LeaderGroup| leaders.gather(k, |host| levels.blocks_on(host, block));
            leaders.as_ref().map(round).unwrap_or_default()
        });
        Box::new(up.chain(among))
    }

    /// Returns a rank's rounds of a scatter of the block of each rank: the reverse of a
    /// [`gather`](Self::gather).
    pub(super) fn scatter(&self, rank: Rank, block: impl Fn(Rank) -> Block + Copy + Send + 'static) -> Share {
        let (levels, host, leaders) = (self.clone(), self.host(rank), self.leaders(rank));
        let among = (0..self.among()).rev().map(move |k| {
            let round = |leaders: &LeaderGroup| leaders.scatter(k, |host| levels.blocks_on(host, block));
            leaders.as_ref().map(round).unwrap_or_default()
        });
        let down = (0..self.within()).rev().map(move |k| host.scatter(k, |index| vec![block(host.ranks[index])]));
        Box::new(among.chain(down))
    }

    /// Returns the largest message of each round of a [`gather`](Self::gather), in blocks.
    pub(super) fn gathered(&self) -> impl Iterator<Item = u64> + '_ {
        let (sizes, root, count): (Vec<usize>, _, _) = (self.sizes().collect(), self.host_of_root(), self.count());
        let on = move |place: usize| sizes[at(place, root, count)] as u64;
        let among = (0..self.among()).map(move |k| {
            let children = (1 << k..count).step_by(2 << k);
            children.map(|child| below(child, k, count).map(&on).sum()).max().unwrap_or(0)
        });
        (0..self.within()).map(|k| self.largest_below(k)).chain(among)
    }

    /// Returns the most ranks of a host below a child in round k of a tree.
    fn largest_below(&self, k: u32) -> u64 {
        let larger = self.sizes().filter(|&size| size > 1 << k);
        larger.map(|size| below(1 << k, k, size).len() as u64).max().unwrap_or(0)
    }

    /// Returns the claims of an [`allgather`](Self::allgather).
    pub(super) fn allgather_claims(&self, problem: &Problem) -> Claims {
        let (ranks, count) = (problem.ranks() as u64, self.count());
        let sizes: Vec<u64> = self.sizes().map(|size| size as u64).collect();
        let (within, among) = (self.within(), self.among());
        // The number of blocks that a leader sends in a round among the leaders.
        let sent = |host: usize, k: u32| (0..known(count, k)).map(|i| sizes[(host + i) % count]).sum::<u64>();
        let larger = |k: u32| self.sizes().filter(move |&size| size > 1 << k);
        let up = |k: u32| Some(self.largest_below(k));
        // The last place that receives may have the smallest part of the tree below it.
        let last = |size: usize, k: u32| (1 << k) + ((size - 1 - (1 << k)) >> (k + 1) << (k + 1));
        let down = |k: u32| larger(k).map(|size| ranks - below(last(size, k), k, size).len() as u64).max();
        let doubling = |k: u32| (0..count).map(|host| sent(host, k)).max();
        let largest = (0..within).map(up).chain((0..among).map(doubling)).chain((0..within).map(down));
        let transmission = largest.flatten().map(Volume::from).sum::<Volume>();
        let by_leader = |host: usize| {
            let below = u64::from(doublings(sizes[host] as usize)) * ranks - (sizes[host] - 1);
            below + (0..among).map(|k| sent(host, k)).sum::<u64>()
        };
        let claims = Claims {
            transmission: Some(transmission),
            messages: Some(u64::from(among + within)),
            volume: (0..count).map(by_leader).max().map(Volume::from),
            ..Claims::of_single_blocks(u64::from(2 * within + among), is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.allgather(rank))
    }

    /// Returns the most messages of any leader that is the root of a tree on its host, given its
    /// messages among the leaders.
    pub(super) fn most_sends(&self, among: impl Fn(usize) -> u64) -> u64 {
        let sends = |(host, size)| among(host) + u64::from(doublings(size));
        self.sizes().enumerate().map(sends).max().unwrap_or(0)
    }
}

/// Returns the number of hosts whose blocks a leader sends on in round k.
fn known(count: usize, k: u32) -> usize {
    (1 << k).min(count - (1 << k))
}

/// A group of ranks with a leader, as seen by a member: the ranks of a host, or all leaders.
#[derive(Clone)]
pub(super) struct LeaderGroup {
    pub(super) ranks: Vec<Rank>,
    /// The index of the leader among the ranks.
    leader: usize,
    /// The index of this member.
    pub(super) me: usize,
}

impl LeaderGroup {
    /// Returns the rank at a place relative to the leader.
    fn at(&self, place: usize) -> Rank {
        self.ranks[at(place, self.leader, self.ranks.len())]
    }

    /// Returns round k of a broadcast by the leader.
    pub(super) fn broadcast(&self, k: u32, block: Block) -> RankRound {
        let (to, from) = broadcast(self.me, self.leader, self.ranks.len(), k);
        let end = |peer: usize| End::new(self.ranks[peer], vec![block]);
        RankRound::new(to.map(end).into_iter().collect(), from.map(end).into_iter().collect())
    }

    /// Returns round k of a reduction to the leader, in the order of the group.
    pub(super) fn reduce(&self, k: u32, block: Block) -> RankRound {
        let ranges = Ranges { size: self.ranks.len(), root: self.leader };
        let Some(Merge { from, to, combine }) = ranges.merge(self.me, k) else { return RankRound::default() };
        let end = |peer: usize| vec![End::new(self.ranks[peer], vec![block]).combined(combine)];
        match self.me {
            me if me == from => RankRound::new(end(to), vec![]),
            me if me == to => RankRound::new(vec![], end(from)),
            _ => RankRound::default(),
        }
    }

    /// Returns round k of a gather to the leader. The closure returns the blocks of a member, by
    /// its index.
    pub(super) fn gather(&self, k: u32, blocks: impl Fn(usize) -> Vec<Block>) -> RankRound {
        self.along_edge(k, self.below(k, blocks), true)
    }

    /// Returns round k of a scatter by the leader, as the reverse of that of a
    /// [gather](Self::gather).
    fn scatter(&self, k: u32, blocks: impl Fn(usize) -> Vec<Block>) -> RankRound {
        self.along_edge(k, self.below(k, blocks), false)
    }

    /// Returns a function from a place to the blocks of the members below it, in round k.
    fn below(&self, k: u32, blocks: impl Fn(usize) -> Vec<Block>) -> impl Fn(usize) -> Vec<Block> {
        let (size, leader) = (self.ranks.len(), self.leader);
        move |place| below(place, k, size).flat_map(|place| blocks(at(place, leader, size))).collect()
    }

    /// Returns round k of the way down after a gather: each member gets the blocks of all `ranks`
    /// ranks, except those that it has sent up.
    fn complete(&self, k: u32, ranks: usize) -> RankRound {
        let of = |child| {
            let mut own: Vec<Rank> = below(child, k, self.ranks.len()).map(|place| self.at(place)).collect();
            own.sort_unstable();
            let others = (0..ranks).map(Rank::new).filter(|rank| own.binary_search(rank).is_err());
            others.map(Block::from).collect()
        };
        self.along_edge(k, of, false)
    }

    /// Returns the round in which blocks go along an edge of the tree, to the leader or from it.
    /// The closure returns the blocks, by the place of the end that is farther from the leader.
    fn along_edge(&self, k: u32, blocks: impl Fn(usize) -> Vec<Block>, up: bool) -> RankRound {
        let size = self.ranks.len();
        let me = from_root(self.me, self.leader, size);
        let Some((child, parent)) = gathered(me, size, k) else { return RankRound::default() };
        let peer = self.at(if me == child { parent } else { child });
        let end = vec![End::new(peer, blocks(child))];
        if up == (me == child) { RankRound::new(end, vec![]) } else { RankRound::new(vec![], end) }
    }
}

/// Changes the members of a group, by their index, into ranks.
pub(super) fn among(leaders: Option<&LeaderGroup>, round: impl FnOnce(Rank) -> RankRound) -> RankRound {
    let Some(leaders) = leaders else { return RankRound::default() };
    let mut round = round(Rank::new(leaders.me));
    for end in round.sends.iter_mut().chain(&mut round.receives) {
        end.peer = leaders.ranks[end.peer.index()];
    }
    round
}

/// Returns the number of messages that a member sends in a scatter.
pub(super) fn scatter_sends(member: usize, root: usize, size: usize) -> u64 {
    let place = from_root(member, root, size);
    let sends = |k: &u32| gathered(place, size, *k).is_some_and(|(_, parent)| parent == place);
    (0..doublings(size)).filter(sends).count() as u64
}

/// Returns the number of messages that a member sends in a broadcast.
pub(super) fn broadcast_sends(member: usize, root: usize, size: usize) -> u64 {
    (0..doublings(size)).filter(|&k| broadcast(member, root, size, k).0.is_some()).count() as u64
}

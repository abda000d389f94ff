//! Hosts: which ranks share one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::BuildError;
use crate::block::Volume;
use crate::ids::Rank;

/// The partition of ranks by the host that they run on. Hosts are numbered from 0, by their first
/// rank.
///
/// ```
/// use necklace::Rank;
/// use necklace::schedule::Hosts;
///
/// let hosts = Hosts::of_names(["node7", "node3", "node7"]);
/// assert_eq!((hosts.count(), hosts.host(Rank::new(2))), (2, Some(0)));
/// assert_eq!(hosts.ranks_on(0), [Rank::new(0), Rank::new(2)]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Hosts(Arc<Table>);

#[derive(PartialEq, Eq)]
struct Table {
    /// The host of each rank.
    host: Vec<usize>,
    /// The ranks of each host, in ascending order.
    ranks: Vec<Vec<Rank>>,
}

impl Hosts {
    /// Returns the partition in which ranks share a host if they have equal names: one name for
    /// each rank, in order.
    pub fn of_names<T: Eq + Hash>(names: impl IntoIterator<Item = T>) -> Self {
        let mut numbers = HashMap::new();
        let (mut host, mut ranks) = (Vec::new(), Vec::<Vec<Rank>>::new());
        for (rank, name) in names.into_iter().enumerate() {
            let number = *numbers.entry(name).or_insert(ranks.len());
            if number == ranks.len() {
                ranks.push(Vec::new());
            }
            ranks[number].push(Rank::new(rank));
            host.push(number);
        }
        Self(Arc::new(Table { host, ranks }))
    }

    /// Returns the partition of `ranks` ranks with `each` consecutive ranks on a host, fewer on the
    /// last one. With `each` 0, all share one host.
    #[must_use]
    pub fn of_consecutive(ranks: usize, each: usize) -> Self {
        Self::of_names((0..ranks).map(|rank| rank.checked_div(each).unwrap_or(0)))
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.0.host.len()
    }

    /// Returns the number of hosts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.ranks.len()
    }

    /// Returns the host of a rank. `None` for a rank out of range.
    #[must_use]
    pub fn host(&self, rank: Rank) -> Option<usize> {
        self.0.host.get(rank.index()).copied()
    }

    /// Returns the ranks of a host, in ascending order. Empty for a host out of range.
    #[must_use]
    pub fn ranks_on(&self, host: usize) -> &[Rank] {
        self.0.ranks.get(host).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the ranks of each host are consecutive.
    #[must_use]
    pub fn are_consecutive(&self) -> bool {
        self.0.host.is_sorted()
    }

    /// Returns the partition of some of these ranks, in this order. Ranks out of range share no
    /// host with others.
    #[must_use]
    pub fn part(&self, ranks: impl IntoIterator<Item = Rank>) -> Self {
        Self::of_names(ranks.into_iter().map(|rank| self.host(rank).ok_or(rank)))
    }

    /// Checks that the partition is one of `ranks` ranks.
    pub(crate) fn check(&self, ranks: usize) -> Result<(), BuildError> {
        let found = self.ranks();
        if found == ranks { Ok(()) } else { Err(BuildError::Hosts { found, ranks }) }
    }
}

/// Writes the host of each rank.
impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.host.fmt(f)
    }
}

/// The volume that leaves and enters each host in a round.
pub(crate) struct HostLoads {
    hosts: Hosts,
    loads: Vec<[Volume; 2]>,
}

impl HostLoads {
    pub(crate) fn new(hosts: &Hosts) -> Self {
        Self { hosts: hosts.clone(), loads: vec![[Volume::ZERO; 2]; hosts.count()] }
    }

    /// Adds a message. It counts if its ends are on different hosts.
    pub(crate) fn add(&mut self, from: Rank, to: Rank, volume: Volume) {
        if let (Some(from), Some(to)) = (self.hosts.host(from), self.hosts.host(to))
            && from != to
        {
            self.loads[from][0] += volume;
            self.loads[to][1] += volume;
        }
    }

    /// Ends the round. Returns the largest volume that has left or entered a host.
    pub(crate) fn end_of_round(&mut self) -> Volume {
        let busiest = self.loads.iter().flatten().copied().max().unwrap_or_default();
        self.loads.fill([Volume::ZERO; 2]);
        busiest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(numbers: &[usize]) -> Vec<Rank> {
        numbers.iter().copied().map(Rank::new).collect()
    }

    #[test]
    fn hosts_are_numbered_by_their_first_rank() {
        let hosts = Hosts::of_names(["c", "a", "c", "b", "a"]);
        assert_eq!(format!("{hosts:?}"), "[0, 1, 0, 2, 1]");
        assert_eq!((hosts.ranks(), hosts.count()), (5, 3));
        assert_eq!([0, 1, 2].map(|host| hosts.ranks_on(host).to_vec()), [&[0, 2][..], &[1, 4], &[3]].map(ranks));
        assert_eq!(hosts, Hosts::of_names([9, 7, 9, 0, 7]));
        assert_eq!((hosts.host(Rank::new(5)), hosts.ranks_on(3)), (None, &[][..]));
        assert!(!hosts.are_consecutive());
    }

    #[test]
    fn consecutive_ranks_share_a_host() {
        for (each, of) in
            [(0, "[0, 0, 0, 0, 0]"), (1, "[0, 1, 2, 3, 4]"), (2, "[0, 0, 1, 1, 2]"), (9, "[0, 0, 0, 0, 0]")]
        {
            let hosts = Hosts::of_consecutive(5, each);
            assert_eq!(format!("{hosts:?}"), of);
            assert!(hosts.are_consecutive());
        }
        assert_eq!(Hosts::of_consecutive(0, 2).count(), 0);
    }

    #[test]
    fn parts_number_their_hosts_anew() {
        let hosts = Hosts::of_consecutive(6, 2);
        let part = |numbers: &[usize]| format!("{:?}", hosts.part(ranks(numbers)));
        assert_eq!(part(&[5, 0, 4, 3]), "[0, 1, 0, 2]");
        assert_eq!(part(&[2, 3]), "[0, 0]");
        assert_eq!(part(&[1, 8, 9]), "[0, 1, 2]");
        assert_eq!(part(&[]), "[]");
    }

    #[test]
    fn busiest_host_is_that_of_most_volume_in_one_direction() {
        let mut loads = HostLoads::new(&Hosts::of_names([0, 0, 1, 2]));
        for (from, to, volume) in [(0, 1, 50), (0, 2, 3), (1, 3, 4), (2, 0, 5), (3, 9, 50)] {
            loads.add(Rank::new(from), Rank::new(to), Volume::from(volume));
        }
        assert_eq!([loads.end_of_round(), loads.end_of_round()], [Volume::from(7), Volume::ZERO]);
    }

    #[test]
    fn hosts_of_another_number_of_ranks_are_refused() {
        assert!(Hosts::of_consecutive(4, 2).check(4).is_ok());
        let error = Hosts::of_consecutive(4, 2).check(5).unwrap_err();
        assert_eq!(error.to_string(), "hosts are given for 4 ranks; expected 5");
    }
}

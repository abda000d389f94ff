//! The information that the processes of a job exchange at the start.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

/// The information that a process gives the others at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessInfo {
    /// A hash of the host.
    host: u64,
    /// A hash of the set of cores on which the process may run.
    core_set: u64,
    /// The number of these cores.
    cores: u64,
    /// Whether the process can lend its memory to MPI.
    pub(crate) lends: bool,
    /// Whether it knows which processes share memory.
    pub(crate) knows_groups: bool,
    /// A hash of the name that the user has given to the host.
    pub(crate) host_name: Option<u64>,
}

fn hash(what: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl ProcessInfo {
    /// Returns that of this process, on the host of that name.
    pub(crate) fn own(host: &[u8], lends: bool, named: Option<&str>, knows_groups: bool) -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let cores = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or_default();
        let count = thread::available_parallelism().map_or(1, usize::from);
        Self {
            host: hash(host),
            core_set: hash(cores.as_bytes()),
            cores: count as u64,
            lends,
            knows_groups,
            host_name: named.map(|name| hash(name.as_bytes())),
        }
    }

    /// Returns the words that are sent.
    pub(crate) fn words(&self) -> [u64; 7] {
        let Self { host, core_set, cores, lends, knows_groups, host_name } = *self;
        let (named, name) = (host_name.is_some().into(), host_name.unwrap_or(0));
        [host, core_set, cores, lends.into(), knows_groups.into(), named, name]
    }

    /// Returns the information of such words.
    pub(crate) fn of_words([host, core_set, cores, lends, knows_groups, named, name]: [u64; 7]) -> Self {
        let (lends, knows_groups) = (lends == 1, knows_groups == 1);
        Self { host, core_set, cores, lends, knows_groups, host_name: (named == 1).then_some(name) }
    }
}

/// Returns the number of cores that the ranks of this host share, or 0 if each rank has a core.
/// Ranks with different sets of cores are assumed to share no core.
pub(crate) fn shared_cores(own: &ProcessInfo, all: &[ProcessInfo]) -> u64 {
    let neighbours: Vec<_> = all.iter().filter(|info| info.host == own.host).collect();
    let core_sets: BTreeMap<u64, u64> = neighbours.iter().map(|info| (info.core_set, info.cores)).collect();
    let cores = core_sets.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    if neighbours.len() as u64 <= cores { 0 } else { cores }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_cores_unless_there_are_as_many() {
        let (here, there) = (1, 2);
        let cases: [(&[[u64; 3]], u64); 7] = [
            (&[[here, 10, 2], [here, 10, 2]], 0),
            (&[[here, 10, 2], [here, 10, 2], [here, 10, 2]], 2),
            // Each is bound to its own core.
            (&[[here, 11, 1], [here, 12, 1], [here, 13, 1]], 0),
            // Two are bound to the same core.
            (&[[here, 11, 1], [here, 11, 1]], 1),
            (&[[here, 11, 1], [here, 11, 1], [here, 12, 1]], 2),
            (&[[here, 10, 2], [there, 10, 2], [there, 10, 2], [there, 10, 2]], 0),
            (&[[here, 10, 1]], 0),
        ];
        for (places, shared) in cases {
            let info = |&[host, set, cores]: &[u64; 3]| ProcessInfo::of_words([host, set, cores, 1, 0, 1, 7]);
            let infos: Vec<_> = places.iter().map(info).collect();
            assert_eq!(shared_cores(&infos[0], &infos), shared, "{infos:?}");
        }
    }

    #[test]
    fn process_info_round_trips() {
        for words in [[1, 2, 3, 1, 0, 1, 7], [4, 5, 6, 0, 1, 0, 0]] {
            assert_eq!(ProcessInfo::of_words(words).words(), words);
        }
    }
}

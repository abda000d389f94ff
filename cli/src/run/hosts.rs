//! Reads lists of hosts from the command line, from a file, or from Slurm, and assigns ranks to
//! them.

mod ranges;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::env;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use super::agent::legible;
use crate::options::bounded;
use crate::output::Failure;

/// A host of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    /// Number of consecutive ranks on this host; 1 unless given.
    slots: Option<usize>,
}

/// A list of hosts.
pub(super) type Hosts = Vec<Host>;

impl Host {
    /// Returns this machine, with one slot.
    pub(super) fn here() -> Self {
        Self::called(&own_name())
    }

    /// Returns the host with a name; `localhost` if the name cannot stand in a list of hosts.
    fn called(name: &str) -> Self {
        let own = hosts(name).ok().filter(|hosts| matches!(&hosts[..], [host] if host.name == name));
        let name = if own.is_some() { name } else { "localhost" };
        Self { name: name.to_owned(), slots: None }
    }
}

/// Maximum size of a file of hosts, in bytes.
const LARGEST: u64 = 4 << 20;

/// Parses `HOST[:SLOTS],..`. A name with ranges, such as `node[01-04,7]`, stands for several hosts.
pub(super) fn list(text: &str) -> Result<Hosts, String> {
    gather(ranges::items(text).map(hosts))
}

/// Reads a file with one host per line: `HOST`, `HOST slots=N` or `HOST:N`, with comments after
/// `#`.
pub(super) fn file(path: &Path) -> Result<Hosts, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--hostfile {}: {why}", path.display()));
    let text = bounded(path, LARGEST).map_err(wrong)?;
    let lines = text.lines().zip(1..);
    let hosts = gather(lines.map(|(text, number)| line(text).map_err(|why| format!("line {number}: {why}"))));
    let hosts = hosts.map_err(wrong)?;
    if hosts.is_empty() { Err(wrong("no line names a host".to_owned())) } else { Ok(hosts) }
}

/// Returns the hosts of the Slurm allocation around this process; none outside of an allocation.
pub(super) fn allocated() -> Result<Hosts, Failure> {
    let value = |name| match env::var_os(name) {
        Some(value) => {
            value.into_string().map_err(|value| Failure::Usage(format!("{name} is {value:?}; expected text")))
        }
        None => Ok(String::new()),
    };
    allocation(&value("SLURM_JOB_NODELIST")?, &value("SLURM_TASKS_PER_NODE")?)
}

/// Returns the hosts of an allocation from Slurm's two variables. An unset variable is empty.
fn allocation(nodes: &str, tasks: &str) -> Result<Hosts, Failure> {
    if nodes.is_empty() {
        return Ok(Hosts::new());
    }
    let wrong = |name: &str, why: String| {
        Failure::Usage(format!(
            "{name}: {why}; --hosts and --hostfile override Slurm, and --hosts localhost stays here"
        ))
    };
    let mut hosts = list(nodes).map_err(|why| wrong("SLURM_JOB_NODELIST", why))?;
    if tasks.is_empty() {
        return Ok(hosts);
    }
    let tasks = ranges::tasks(tasks).map_err(|why| wrong("SLURM_TASKS_PER_NODE", why))?;
    if tasks.len() != hosts.len() {
        let why = format!("{} nodes, but SLURM_JOB_NODELIST has {}", tasks.len(), hosts.len());
        return Err(wrong("SLURM_TASKS_PER_NODE", why));
    }
    for (host, tasks) in hosts.iter_mut().zip(tasks) {
        host.slots = Some(tasks);
    }
    Ok(hosts)
}

/// Joins lists of hosts. Fails if there are too many hosts.
fn gather(lists: impl Iterator<Item = Result<Hosts, String>>) -> Result<Hosts, String> {
    let mut all = Hosts::new();
    for hosts in lists {
        all.extend(hosts?);
        if all.len() > MOST {
            return Err(format!("more than {MOST} hosts"));
        }
    }
    Ok(all)
}

/// Parses a line of a file, which may name one host, several hosts by ranges, or no host.
fn line(text: &str) -> Result<Hosts, String> {
    let text = text.split('#').next().unwrap_or_default();
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Ok(Hosts::new()),
        [host] => hosts(host),
        [host, slots] if slots.starts_with("slots=") => {
            let mut hosts = hosts(host)?;
            if hosts.iter().any(|host| host.slots.is_some()) {
                return Err(format!("{} has slots twice", legible(host)));
            }
            let slots = Some(number(host, &slots["slots=".len()..])?);
            hosts.iter_mut().for_each(|host| host.slots = slots);
            Ok(hosts)
        }
        _ => Err(format!("expected HOST, HOST slots=N or HOST:N, found {}", legible(text.trim()))),
    }
}

/// Parses the name or the address of one host.
pub(super) fn name(text: &str) -> Result<String, String> {
    match &hosts(text)?[..] {
        [Host { name, slots: None }] => Ok(name.clone()),
        _ => Err("expected the name or the address of one host, without a port".to_owned()),
    }
}

/// Parses `HOST` or `HOST:SLOTS`. A name may have ranges. An IPv6 address needs brackets if slots
/// follow.
fn hosts(text: &str) -> Result<Hosts, String> {
    // An interface may follow the address after `%`.
    let is_address = |text: &str| text.split('%').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    let (name, slots) = match text.rsplit_once(':') {
        Some((name, slots)) if !is_address(text) && !text.ends_with(']') => (name, Some(slots)),
        _ => (text, None),
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).filter(|name| is_address(name));
    let names = match address {
        Some(address) => vec![address.to_owned()],
        None => ranges::expand(name)?,
    };
    let is_odd = |c: char| c == ',' || c.is_whitespace() || c.is_control();
    let is_odd_name = |name: &String| name.contains(is_odd) || name.contains(':') && !is_address(name);
    if name.is_empty() || name.starts_with('-') || names.iter().any(is_odd_name) {
        return Err(format!("{:?}: expected HOST or HOST:SLOTS, such as node[01-04,7]:2", legible(text)));
    }
    let slots = slots.map(|slots| number(name, slots)).transpose()?;
    Ok(names.into_iter().map(|name| Host { name, slots }).collect())
}

/// Parses the number of slots of a host.
fn number(host: &str, slots: &str) -> Result<usize, String> {
    let number = slots.parse().ok().filter(|slots| (1..=MOST).contains(slots));
    number
        .ok_or_else(|| format!("the slots of {} are a number from 1 to {MOST}, not {}", legible(host), legible(slots)))
}

/// Maximum number of ranks of a job, which is the library's.
pub(super) const MOST: usize = 1 << 16;

/// Returns the total number of slots, if every host states its own.
pub(super) fn slots(hosts: &[Host]) -> Option<usize> {
    if hosts.is_empty() { None } else { hosts.iter().map(|host| host.slots).sum() }
}

/// Assigns ranks to hosts. Ranks fill the slots in the order of the list, and start over when all
/// slots are taken. Repeated names are one host. Hosts without ranks are left out. The first host
/// has rank 0.
pub(super) fn spread(hosts: &[Host], ranks: usize) -> Vec<(String, Vec<usize>)> {
    let mut places: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known: HashMap<&String, usize> = HashMap::new();
    let turns = hosts.iter().cycle().flat_map(|host| std::iter::repeat_n(&host.name, host.slots.unwrap_or(1)));
    for (rank, name) in (0..ranks).zip(turns) {
        match known.entry(name) {
            Entry::Occupied(place) => places[*place.get()].1.push(rank),
            Entry::Vacant(place) => {
                place.insert(places.len());
                places.push((name.clone(), vec![rank]));
            }
        }
    }
    places
}

/// Returns the name of this machine.
pub(super) fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns whether a name means the machine that uses it.
pub(super) fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns whether a name means this machine.
pub(super) fn is_here(name: &str) -> bool {
    is_loopback(name) || name == own_name()
}

/// Returns the address by which ranks reach a host: its name without the user, an IPv6 address in
/// brackets.
pub(super) fn reachable(name: &str) -> String {
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(text: &str, ranks: usize) -> Vec<(String, Vec<usize>)> {
        spread(&list(text).unwrap(), ranks)
    }

    fn places(places: &[(&str, &[usize])]) -> Vec<(String, Vec<usize>)> {
        places.iter().map(|(name, ranks)| ((*name).to_owned(), ranks.to_vec())).collect()
    }

    fn told(hosts: &[Host]) -> Vec<(&str, Option<usize>)> {
        hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect()
    }

    #[test]
    fn ranks_fill_slots_in_order_and_wrap_around() {
        assert_eq!(spread_of("a,b,c", 2), places(&[("a", &[0]), ("b", &[1])]));
        assert_eq!(spread_of("a,b", 5), places(&[("a", &[0, 2, 4]), ("b", &[1, 3])]));
        assert_eq!(spread_of("a:2,b", 5), places(&[("a", &[0, 1, 3, 4]), ("b", &[2])]));
        assert_eq!(spread_of("a,b,a", 4), places(&[("a", &[0, 2, 3]), ("b", &[1])]));
        assert_eq!(spread_of("a[1-2]:2", 4), places(&[("a1", &[0, 1]), ("a2", &[2, 3])]));
    }

    #[test]
    fn odd_machine_name_becomes_localhost() {
        assert_eq!(Host::called("vm").name, "vm");
        for odd in ["", "a b", "-x", "a:b", "node:4", "[x]", "x[1]", "a,b", "a\nb"] {
            assert_eq!(told(&[Host::called(odd)]), [("localhost", None)], "{odd:?}");
        }
    }

    #[test]
    fn host_lists_accept_names_addresses_and_ranges() {
        for (text, expected) in [
            ("me@node:4", &[("me@node", Some(4))][..]),
            ("fe80::1", &[("fe80::1", None)]),
            ("[fe80::1]:3", &[("fe80::1", Some(3))]),
            ("[::1]", &[("::1", None)]),
            ("fe80::1%eth0", &[("fe80::1%eth0", None)]),
            ("a,b:2", &[("a", None), ("b", Some(2))]),
            (
                "node[01-02,7]:3,[::1]:2",
                &[("node01", Some(3)), ("node02", Some(3)), ("node7", Some(3)), ("::1", Some(2))],
            ),
        ] {
            assert_eq!(list(text).as_deref().map(told), Ok(expected.to_vec()), "{text}");
        }
        for (text, expected) in
            [("node", Some("node")), ("[fe80::1%eth0]", Some("fe80::1%eth0")), ("10.0.0.1", Some("10.0.0.1"))]
                .into_iter()
                .chain(["10.0.0.1:5000", "node:1", "[::1]:5", "n[1-2]", "a,b", "a b", ""].map(|wrong| (wrong, None)))
        {
            assert_eq!(super::name(text).ok().as_deref(), expected, "{text}");
        }
        for (wrong, reason) in [
            ("", "\"\": expected HOST or HOST:SLOTS"),
            (":3", "\":3\": expected HOST"),
            ("a,,b", "\"\": expected HOST"),
            ("a:0", "the slots of a are a number from 1 to 65536, not 0"),
            ("a:b", "the slots of a are a number"),
            ("-oProxyCommand=x", "expected HOST"),
            ("a b", "expected HOST"),
            ("a:9999999999", "not 9999999999"),
            ("b,node[1-", "node[1-: brackets do not match"),
            ("a[1-65536],b", "more than 65536 hosts"),
        ] {
            let message = list(wrong).unwrap_err();
            assert!(message.contains(reason), "{wrong}: {message}");
        }
        assert_eq!(["me@node", "::1", "10.0.0.1"].map(reachable), ["node", "[::1]", "10.0.0.1"]);
        let all = |text: &str| slots(&list(text).unwrap());
        assert_eq!((all("a:2,b:3"), all("a:2,b"), slots(&[])), (Some(5), None, None));
    }

    #[test]
    fn hostfile_lines_of_open_mpi_and_mpich_are_read() {
        for (text, expected) in [
            ("", &[][..]),
            ("  \t", &[]),
            ("# node", &[]),
            ("node", &[("node", None)]),
            ("  node # the first", &[("node", None)]),
            ("node slots=4", &[("node", Some(4))]),
            ("node\tslots=4\r", &[("node", Some(4))]),
            ("me@node:4#x", &[("me@node", Some(4))]),
            ("[::1]:2", &[("::1", Some(2))]),
            ("::1 slots=2", &[("::1", Some(2))]),
            ("n[1-2] slots=3", &[("n1", Some(3)), ("n2", Some(3))]),
        ] {
            assert_eq!(line(text).as_deref().map(told), Ok(expected.to_vec()), "{text:?}");
        }
        for (wrong, reason) in [
            ("a b", "expected HOST, HOST slots=N or HOST:N, found a b"),
            ("a slots=2 max_slots=4", "found a slots=2 max_slots=4"),
            ("a slots = 2", "found a slots = 2"),
            ("a Slots=2", "found a Slots=2"),
            ("a slots=", "the slots of a are a number from 1 to 65536, not "),
            ("a slots=0", "not 0"),
            ("a slots=65537", "not 65537"),
            ("a:2 slots=2", "a:2 has slots twice"),
            ("a,b", "\"a,b\": expected HOST or HOST:SLOTS"),
            ("-x", "\"-x\": expected HOST"),
            ("n[2-1]", "[2-1] counts down; expected [1-2]"),
        ] {
            let message = line(wrong).unwrap_err();
            assert!(message.contains(reason), "{wrong}: {message}");
        }
    }

    #[test]
    fn slurm_variables_name_nodes_and_slots() {
        for (nodes, tasks, expected) in [
            ("", "", &[][..]),
            ("", "2", &[]),
            ("node7", "2", &[("node7", Some(2))]),
            (
                "node[01-03],big",
                "2(x2),1,8",
                &[("node01", Some(2)), ("node02", Some(2)), ("node03", Some(1)), ("big", Some(8))],
            ),
            ("a[1-2]", "", &[("a1", None), ("a2", None)]),
        ] {
            let hosts = allocation(nodes, tasks).unwrap();
            assert_eq!(told(&hosts), expected, "{nodes} {tasks}");
        }
        for (nodes, tasks, reason) in [
            ("a[1", "2", "SLURM_JOB_NODELIST: a[1: brackets do not match"),
            ("a[1-2]", "2(x3)", "SLURM_TASKS_PER_NODE: 3 nodes, but SLURM_JOB_NODELIST has 2"),
            ("a", "many", "SLURM_TASKS_PER_NODE: expected numbers of tasks such as 2(x3),1, found many"),
        ] {
            let Err(Failure::Usage(message)) = allocation(nodes, tasks) else { panic!("{nodes} {tasks}") };
            assert!(message.starts_with(reason) && message.contains("--hosts localhost"), "{message}");
        }
    }
}

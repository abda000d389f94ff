//! Where the ranks run.

use std::net::{IpAddr, Ipv6Addr};

/// A host as `--hosts` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    /// How many ranks in a row it takes.
    slots: usize,
    has_slots: bool,
}

impl Host {
    /// This machine, with one slot.
    pub(super) fn here() -> Self {
        Self::called(&own_name())
    }

    /// That machine; this one may be called what no list could name.
    fn called(name: &str) -> Self {
        let own = host(name).ok().filter(|host| host.name == name);
        own.unwrap_or_else(|| Self { name: "localhost".to_owned(), slots: 1, has_slots: false })
    }
}

/// Reads the name or the address of a host.
pub(super) fn name(text: &str) -> Result<String, String> {
    match host(text) {
        Ok(host) if !host.has_slots => Ok(host.name),
        _ => Err("expected the name or the address of a host, without a port".to_owned()),
    }
}

/// Reads `HOST` or `HOST:SLOTS`; an IPv6 address in brackets, where slots follow.
pub(super) fn host(text: &str) -> Result<Host, String> {
    // What follows % is the interface.
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    let is_address = address.parse::<Ipv6Addr>().is_ok();
    let (name, slots) = match text.rsplit_once(':') {
        Some((name, slots)) if !is_address && !text.ends_with(']') => (name, Some(slots)),
        _ => (text, None),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if name.len() > LONGEST {
        return Err(format!("expected the name of a host of at most {LONGEST} bytes"));
    }
    if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("expected HOST or HOST:SLOTS".to_owned());
    }
    let number = slots.map(|slots| slots.parse().ok().filter(|slots| *slots > 0 && *slots <= MOST));
    match number {
        Some(None) => Err(format!("the slots of {name} are a number from 1 to {MOST}")),
        Some(Some(slots)) => Ok(Host { name: name.to_owned(), slots, has_slots: true }),
        None => Ok(Host { name: name.to_owned(), slots: 1, has_slots: false }),
    }
}

/// The name of a host, at most, with the user's: more than any that can be looked up.
const LONGEST: usize = 400;

/// The ranks of a job, at most: as many as the library takes.
pub(super) const MOST: usize = 1 << 16;

/// All slots, if every host says how many it has.
pub(super) fn slots(hosts: &[Host]) -> Option<usize> {
    let all = !hosts.is_empty() && hosts.iter().all(|host| host.has_slots);
    all.then(|| hosts.iter().map(|host| host.slots).sum())
}

/// The ranks of each host: in the order of the list, as many in a row as it has slots; when all are taken, round again.
/// Hosts named twice are one; those that have nothing to do are left out. The first has rank 0.
pub(super) fn spread(hosts: &[Host], ranks: usize) -> Vec<(String, Vec<usize>)> {
    let mut places: Vec<(String, Vec<usize>)> = Vec::new();
    let turns = hosts.iter().cycle().flat_map(|host| std::iter::repeat_n(&host.name, host.slots));
    for (rank, name) in (0..ranks).zip(turns) {
        match places.iter_mut().find(|(place, _)| place == name) {
            Some((_, ranks)) => ranks.push(rank),
            None => places.push((name.clone(), vec![rank])),
        }
    }
    places
}

/// The name of this machine.
pub(super) fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether others would look for themselves under that name.
pub(super) fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether that is the machine that this runs on.
pub(super) fn is_here(name: &str) -> bool {
    is_loopback(name) || name == own_name()
}

/// How ranks reach a host: its name without the user's, an IPv6 address in brackets.
pub(super) fn reachable(name: &str) -> String {
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(text: &str, ranks: usize) -> Vec<(String, Vec<usize>)> {
        spread(&text.split(',').map(|text| host(text).unwrap()).collect::<Vec<_>>(), ranks)
    }

    fn places(places: &[(&str, &[usize])]) -> Vec<(String, Vec<usize>)> {
        places.iter().map(|(name, ranks)| ((*name).to_owned(), ranks.to_vec())).collect()
    }

    #[test]
    fn ranks_fill_slots_in_order_and_go_round() {
        assert_eq!(spread_of("a,b,c", 2), places(&[("a", &[0]), ("b", &[1])]));
        assert_eq!(spread_of("a,b", 5), places(&[("a", &[0, 2, 4]), ("b", &[1, 3])]));
        assert_eq!(spread_of("a:2,b", 5), places(&[("a", &[0, 1, 3, 4]), ("b", &[2])]));
        assert_eq!(spread_of("a,b,a", 4), places(&[("a", &[0, 2, 3]), ("b", &[1])]));
    }

    #[test]
    fn a_machine_may_have_any_name() {
        assert_eq!(Host::called("vm").name, "vm");
        for odd in ["", "a b", "-x", "a:b", "node:4", "[x]", "a\nb"] {
            assert_eq!((Host::called(odd).name.as_str(), Host::called(odd).slots), ("localhost", 1), "{odd:?}");
        }
    }

    #[test]
    fn hosts_are_names_and_addresses() {
        let name = |text| host(text).map(|host| (host.name, host.slots, host.has_slots));
        assert_eq!(name("me@node:4"), Ok(("me@node".into(), 4, true)));
        assert_eq!(name("fe80::1"), Ok(("fe80::1".into(), 1, false)));
        assert_eq!(name("[fe80::1]:3"), Ok(("fe80::1".into(), 3, true)));
        assert_eq!(name("[::1]"), Ok(("::1".into(), 1, false)));
        assert_eq!(name("fe80::1%eth0"), Ok(("fe80::1%eth0".into(), 1, false)));
        for (text, expected) in
            [("node", Some("node")), ("[fe80::1%eth0]", Some("fe80::1%eth0")), ("10.0.0.1", Some("10.0.0.1"))]
                .into_iter()
                .chain(["10.0.0.1:5000", "node:1", "[::1]:5", "a b", ""].map(|wrong| (wrong, None)))
        {
            assert_eq!(super::name(text).ok().as_deref(), expected, "{text}");
        }
        for wrong in ["", ":3", "a:0", "a:b", "-oProxyCommand=x", "a b", "a:9999999999"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
        assert_eq!(["me@node", "::1", "10.0.0.1"].map(reachable), ["node", "[::1]", "10.0.0.1"]);
        let all = |text: &str| slots(&text.split(',').map(|text| host(text).unwrap()).collect::<Vec<_>>());
        assert_eq!((all("a:2,b:3"), all("a:2,b"), slots(&[])), (Some(5), None, None));
    }
}

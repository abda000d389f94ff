//! The network: namespaces, devices, rates, routes, counters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use necklace::topology::Topology;

use crate::node::Node;
use crate::{Counts, LabError, Link, Loads, Router, counters, while_doing};

/// How fast links are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bits a second, of each direction of each link.
    pub rate: u64,
    /// The largest piece of a message, in bytes, that crosses a link as one: a link that is free passes it at once, and is busy
    /// for as long as it should have taken. Small ones are closer to wires and cost the machine time. From 2048 to 65536.
    pub piece: u64,
}

impl Settings {
    /// So many megabits a second, in pieces of two segments of TCP.
    #[must_use]
    pub fn mbit(rate: u64) -> Self {
        Self { rate: rate.saturating_mul(1_000_000), piece: 3 << 10 }
    }

    /// The same in pieces of so many bytes.
    #[must_use]
    pub fn pieces(self, piece: u64) -> Self {
        Self { piece, ..self }
    }
}

/// Bytes that may wait for a link: more than TCP ever has under way here, so that nothing is lost.
const QUEUE: u64 = 4 << 20;
/// The nodes that a lab may have: more take minutes.
const MOST: usize = 1024;
/// The table of routes for packets from sources of the other class.
const OTHER_CLASS: u32 = 77;
/// How long links must carry nothing to be quiet. Acknowledgements are put off by up to 40 ms.
const QUIET: Duration = Duration::from_millis(250);

/// A network of namespaces. It ends when this is dropped, or the process that holds it ends, however it does.
#[derive(Debug)]
pub struct Lab {
    router: Router,
    nodes: Vec<Node>,
}

impl Lab {
    /// Builds the network.
    ///
    /// # Errors
    ///
    /// [`LabError::Unavailable`] where the machine does not allow it, [`LabError::Network`] for more than 1024 nodes;
    /// [`LabError::Node`] with the words of `ip` or `tc`.
    pub fn build(topology: Arc<dyn Topology>, settings: Settings) -> Result<Self, LabError> {
        let count = topology.nodes();
        if count > MOST {
            let why = format!("{count} nodes, a lab may have {MOST}");
            return Err(LabError::Network { topology: topology.text(), why });
        }
        let router = Router::new(topology);
        let nodes = (0..count).map(Node::start).collect::<Result<Vec<_>, _>>()?;
        let mut lab = Self { router, nodes };
        lab.all(|_, _| kernel_settings()).map_err(|error| LabError::Unavailable(error.to_string()))?;
        lab.link()?;
        lab.all(|router, node| {
            let (ip, tc) = (addresses_and_routes(router, node, settings), rates(router, node, settings));
            format!("ip -batch - <<'END' && tc -batch - <<'END'\n{ip}END\n{tc}END")
        })?;
        Ok(lab)
    }

    /// Its routes.
    #[must_use]
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// How many nodes it has.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, node: usize) -> Ipv4Addr {
        self.router.address(necklace::Node::new(node))
    }

    /// A command that runs a program in a node. The program is killed when the thread that started it ends.
    ///
    /// # Errors
    ///
    /// [`LabError::Node`] where there is no such node.
    pub fn command(&self, node: usize, program: &str) -> Result<Command, LabError> {
        let missing = || LabError::Node { node, why: format!("there are {}", self.nodes()) };
        let process = self.nodes.get(node).ok_or_else(missing)?.process();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net")).args(["setpriv", "--pdeathsig", "KILL", "--"]);
        // Should this process have ended before the kernel was asked for that, nobody would end the program.
        command.args(["sh", "-c", &format!("[ $PPID = {} ] && exec \"$@\"", std::process::id()), "sh", program]);
        Ok(command)
    }

    /// Cuts a node off from the others. What is sent to it, and what it sends, vanishes; nobody is told.
    ///
    /// # Errors
    ///
    /// [`LabError::Node`] with the words of `ip`, or where there is no such node.
    pub fn cut(&self, node: usize) -> Result<(), LabError> {
        let next = self.router.topology().neighbours(necklace::Node::new(node));
        for (at, to) in next.into_iter().flat_map(|next| [(node, next.index()), (next.index(), node)]) {
            let mut ip = self.command(at, "ip")?;
            // To a device that is not there.
            let (address, device) = (self.address(to).to_string(), format!("to{to}"));
            ip.args(["neigh", "replace", &address, "lladdr", "02:4e:ff:ff:ff:ff", "dev", &device, "nud", "permanent"]);
            let output = ip.output().map_err(while_doing("ip"))?;
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(LabError::Node { node: at, why });
            }
        }
        Ok(())
    }

    /// What each directed link carried since the lab was built.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] where a node is gone.
    pub fn counters(&self) -> Result<BTreeMap<Link, Counts>, LabError> {
        let mut found = BTreeMap::new();
        for (node, shell) in self.nodes.iter().enumerate() {
            let path = format!("/proc/{}/net/dev", shell.process());
            let text = fs::read_to_string(path).map_err(while_doing("counting"))?;
            let devices = counters::sent(&text);
            let links =
                devices.filter_map(|(name, counts)| Some(((node, name.strip_prefix("to")?.parse().ok()?), counts)));
            found.extend(links);
        }
        Ok(found)
    }

    /// The same, as soon as all links were quiet for a while.
    ///
    /// # Errors
    ///
    /// As [`counters`](Self::counters), and where links do not come to rest within a minute.
    pub fn settled(&self) -> Result<BTreeMap<Link, Counts>, LabError> {
        let end = Instant::now() + Duration::from_secs(60);
        let mut last = (self.counters()?, Instant::now());
        while last.1.elapsed() < QUIET {
            thread::sleep(Duration::from_millis(20));
            let now = self.counters()?;
            if now != last.0 {
                last = (now, Instant::now());
            }
            if Instant::now() > end {
                let why = "its links do not come to rest".to_owned();
                return Err(LabError::Network { topology: self.router.topology().text(), why });
            }
        }
        Ok(last.0)
    }

    /// Does something, and counts the bytes that this put on each directed link, headers and acknowledgements included.
    ///
    /// # Errors
    ///
    /// As [`settled`](Self::settled); that of what was done; [`LabError::Lost`] where frames were lost, and so sent again.
    pub fn counted<T>(&self, work: impl FnOnce() -> Result<T, LabError>) -> Result<(T, Loads), LabError> {
        let (before, lost) = (self.settled()?, lost()?);
        let done = work()?;
        let (after, lost) = (self.settled()?, self::lost()?.saturating_sub(lost));
        if lost > 0 {
            return Err(LabError::Lost(lost));
        }
        let earlier = |link: &Link| before.get(link).map_or(0, |counts| counts.bytes);
        Ok((done, after.iter().map(|(link, counts)| (*link, counts.bytes - earlier(link))).collect()))
    }

    /// A script for each node, in all of them at once.
    fn all(&mut self, script: impl Fn(&Router, usize) -> String) -> Result<(), LabError> {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.begin(&script(&self.router, number))?;
        }
        self.nodes.iter_mut().try_for_each(|node| node.result().map(drop))
    }

    /// The pairs of devices, each end in its node. Addresses of hardware are chosen, so that nobody has to ask for them.
    fn link(&self) -> Result<(), LabError> {
        let mut batch = String::new();
        for (u, v) in self.router.topology().edges() {
            let (u, v) = (u.index(), v.index());
            let end = |at: usize, to: usize| {
                format!("name to{to} address {} netns {}", hardware(at, to), self.nodes[at].process())
            };
            let _ = writeln!(batch, "link add {} type veth peer {}", end(u, v), end(v, u));
        }
        let (failed, pipe) = (while_doing("ip -batch"), Stdio::piped);
        let mut ip = Command::new("ip").args(["-batch", "-"]).stdin(pipe()).stderr(pipe()).spawn().map_err(&failed)?;
        if let Some(mut input) = ip.stdin.take() {
            // Where `ip` stops early it says why.
            let _ = input.write_all(batch.as_bytes());
        }
        let output = ip.wait_with_output().map_err(&failed)?;
        if output.status.success() {
            return Ok(());
        }
        Err(LabError::Unavailable(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// The frames that the machine lost since it was started.
fn lost() -> Result<u64, LabError> {
    let text = fs::read_to_string("/proc/net/softnet_stat").map_err(while_doing("counting lost frames"))?;
    Ok(counters::dropped(&text))
}

fn hardware(at: usize, to: usize) -> String {
    format!("02:4e:{:02x}:{:02x}:{:02x}:{:02x}", at >> 8, at & 255, to >> 8, to & 255)
}

/// Settings of the kernel for one namespace. Nodes forward, and do not tell senders of shorter ways; nothing speaks unasked, so
/// that counters hold what was sent. TCP: the same on every machine; what it learned of one connection it does not apply
/// to the next; probes for lost tails would be sent where a queue is merely long.
fn kernel_settings() -> String {
    let settings = [
        ("ipv4/ip_forward", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv4/conf/all/send_redirects", "0"),
        ("ipv4/conf/default/send_redirects", "0"),
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_slow_start_after_idle", "0"),
        ("ipv4/tcp_early_retrans", "0"),
        ("ipv4/tcp_wmem", "4096 65536 524288"),
    ];
    // What some kernels do not have is no loss, but forwarding is.
    let write =
        |(name, value): (&str, &str)| format!("[ ! -e /proc/sys/net/{name} ] || echo '{value}' > /proc/sys/net/{name}");
    let all: Vec<String> = settings.into_iter().map(write).collect();
    format!("[ -e /proc/sys/net/ipv4/ip_forward ] && {}", all.join(" && "))
}

/// Input of `ip -batch`: devices up, this node's address, who the neighbours are, and the ways to all others.
fn addresses_and_routes(router: &Router, node: usize, settings: Settings) -> String {
    let at = necklace::Node::new(node);
    let own = router.address(at);
    let piece = settings.piece.clamp(2048, 65536);
    // The time that all of a full queue takes, lest what merely waits is sent again.
    let patience = (QUEUE * 8000 / settings.rate.max(1)).clamp(200, 4000);
    let mut batch = format!("link set lo up\naddr add {own}/32 dev lo\n");
    for next in router.topology().neighbours(at) {
        let (device, address) = (format!("to{next}"), router.address(next));
        let _ = writeln!(batch, "link set {device} gso_max_size {piece} up");
        let _ = writeln!(
            batch,
            "neigh replace {address} lladdr {} dev {device} nud permanent",
            hardware(next.index(), node)
        );
    }
    let up = router.goes_up(at);
    let mut other = false;
    for to in (0..router.topology().nodes()).map(necklace::Node::new) {
        let mut route = |next: necklace::Node, table: &str| {
            let (to, via) = (router.address(to), router.address(next));
            let _ = writeln!(
                batch,
                "route add {to}/32 via {via} dev to{next} onlink src {own} rto_min {patience}ms{table}"
            );
        };
        let (Some(next), Some(for_others)) = (router.next(up, at, to), router.next(!up, at, to)) else { continue };
        route(next, "");
        if for_others != next {
            other = true;
            route(for_others, &format!(" table {OTHER_CLASS}"));
        }
    }
    if other {
        let _ = writeln!(batch, "rule add from {} lookup {OTHER_CLASS} priority 100", Router::addresses(!up));
    }
    batch
}

/// Input of `tc -batch`: the rate of each link from this node. In order of arrival; where several inputs want one link, that
/// is unfair to the node's own traffic.
///
/// A token bucket proper lets a link that was idle pass a bucketful for nothing, at least a packet of the largest size: of
/// exchanges of short messages that is all. The bucket here is all but empty, yet goes into debt for the piece that it passes.
fn rates(router: &Router, node: usize, Settings { rate, .. }: Settings) -> String {
    let limit = |next: necklace::Node| {
        format!(
            "qdisc add dev to{next} root handle 1: htb default 1\n\
             class add dev to{next} parent 1: classid 1:1 htb rate {rate}bit burst 64 cburst 64 quantum 4000\n\
             qdisc add dev to{next} parent 1:1 bfifo limit {QUEUE}\n"
        )
    };
    router.topology().neighbours(necklace::Node::new(node)).into_iter().map(limit).collect()
}

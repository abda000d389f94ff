//! Builds the network of a lab: namespaces, devices, rates, routes, counters.

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

/// The speed of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bits per second, for each direction of each link.
    pub rate: u64,
    /// Maximum bytes that cross a link in one piece, from 2048 to 65536. A free link passes a piece
    /// at once, and is then busy for the time that the piece takes. Small pieces are closer to real
    /// links and cost more processor time.
    pub piece: u64,
}

impl Settings {
    /// Returns a speed in megabits per second, with pieces of two TCP segments.
    #[must_use]
    pub fn mbit(rate: u64) -> Self {
        Self { rate: rate.saturating_mul(1_000_000), piece: 3 << 10 }
    }

    /// Sets the size of pieces in bytes.
    #[must_use]
    pub fn pieces(self, piece: u64) -> Self {
        Self { piece, ..self }
    }
}

/// Length of a link's queue in bytes: more than TCP has in flight here, so that nothing is lost.
const QUEUE: u64 = 4 << 20;
/// Maximum number of nodes. Larger labs take minutes to build.
const MOST: usize = 1024;
/// Number of the routing table for packets from sources of the other class.
const OTHER_CLASS: u32 = 77;
/// Time without traffic after which links are quiet. Acknowledgements may be delayed by 40 ms.
const QUIET: Duration = Duration::from_millis(250);

/// A network of namespaces. It ends when this is dropped, or when its process ends for any reason.
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
    /// [`LabError::Unavailable`] if the machine does not allow it, [`LabError::Network`] for more
    /// than 1024 nodes, [`LabError::Node`] with the message of `ip` or `tc`.
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

    /// Returns its routes.
    #[must_use]
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the address of a node.
    #[must_use]
    pub fn address(&self, node: usize) -> Ipv4Addr {
        self.router.address(necklace::Node::new(node))
    }

    /// Returns a command that runs a program in a node. The program is killed when the thread that
    /// started it ends.
    ///
    /// # Errors
    ///
    /// [`LabError::Node`] if there is no such node.
    pub fn command(&self, node: usize, program: &str) -> Result<Command, LabError> {
        let missing = || LabError::Node { node, why: format!("there are {}", self.nodes()) };
        let process = self.nodes.get(node).ok_or_else(missing)?.process();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net")).args(["setpriv", "--pdeathsig", "KILL", "--"]);
        // If this process ends before the request for the signal, the program must end itself.
        command.args(["sh", "-c", &format!("[ $PPID = {} ] && exec \"$@\"", std::process::id()), "sh", program]);
        Ok(command)
    }

    /// Cuts a node off from the others. Packets to and from it are dropped silently.
    ///
    /// # Errors
    ///
    /// [`LabError::Node`] with the message of `ip`, or if there is no such node.
    pub fn cut(&self, node: usize) -> Result<(), LabError> {
        let next = self.router.topology().neighbours(necklace::Node::new(node));
        for (at, to) in next.into_iter().flat_map(|next| [(node, next.index()), (next.index(), node)]) {
            let mut ip = self.command(at, "ip")?;
            // Route packets to a missing device.
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

    /// Returns the traffic of each directed link since the lab was built.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if a node has ended.
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

    /// Waits until all links are quiet, then returns the traffic of each directed link.
    ///
    /// # Errors
    ///
    /// As [`counters`](Self::counters), and if links are not quiet within a minute.
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

    /// Runs a function, and counts its bytes on each directed link, including headers and
    /// acknowledgements.
    ///
    /// # Errors
    ///
    /// As [`settled`](Self::settled); the error of the function; [`LabError::Lost`] if frames were
    /// lost and sent again.
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

    /// Runs a script in each node, in all nodes at once.
    fn all(&mut self, script: impl Fn(&Router, usize) -> String) -> Result<(), LabError> {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.begin(&script(&self.router, number))?;
        }
        self.nodes.iter_mut().try_for_each(|node| node.result().map(drop))
    }

    /// Creates the pairs of devices, each end in its node. Fixed hardware addresses avoid address
    /// resolution.
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
            // If `ip` stops early, it prints the reason.
            let _ = input.write_all(batch.as_bytes());
        }
        let output = ip.wait_with_output().map_err(&failed)?;
        if output.status.success() {
            return Ok(());
        }
        Err(LabError::Unavailable(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// Returns the frames that the machine has lost since its start.
fn lost() -> Result<u64, LabError> {
    let text = fs::read_to_string("/proc/net/softnet_stat").map_err(while_doing("counting lost frames"))?;
    Ok(counters::dropped(&text))
}

fn hardware(at: usize, to: usize) -> String {
    format!("02:4e:{:02x}:{:02x}:{:02x}:{:02x}", at >> 8, at & 255, to >> 8, to & 255)
}

/// Returns the kernel settings of a namespace. Nodes forward packets, and send no redirects or
/// other unrequested packets, so that counters hold only the traffic of the job. TCP has the same
/// settings on every machine, keeps no metrics of earlier connections, and sends no tail loss
/// probes, which a long queue would trigger.
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
    // Some kernels lack some settings, but forwarding is required.
    let write =
        |(name, value): (&str, &str)| format!("[ ! -e /proc/sys/net/{name} ] || echo '{value}' > /proc/sys/net/{name}");
    let all: Vec<String> = settings.into_iter().map(write).collect();
    format!("[ -e /proc/sys/net/ipv4/ip_forward ] && {}", all.join(" && "))
}

/// Returns the input of `ip -batch`: enabled devices, this node's address, its neighbours, and the
/// routes to all others.
fn addresses_and_routes(router: &Router, node: usize, settings: Settings) -> String {
    let at = necklace::Node::new(node);
    let own = router.address(at);
    let piece = settings.piece.clamp(2048, 65536);
    // The time of a full queue, so that waiting packets are not sent again.
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

/// Returns the input of `tc -batch`: the rate of each link from this node. Packets leave in the
/// order of arrival. If several inputs use one link, this is unfair to the node's own traffic.
///
/// A normal token bucket lets an idle link pass a full bucket at once, which is at least a packet
/// of maximum size: all of an exchange of short messages. This bucket is almost empty, and goes
/// into debt for each piece that it passes.
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

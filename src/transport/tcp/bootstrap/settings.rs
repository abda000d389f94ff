//! The settings with which a rank joins its job.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Key;

/// The rendezvous address of a job, or a file that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// Rank 0 listens here: `host:port`, such as `node0:5000`, `10.0.0.1:5000` or `[::1]:5000`.
    Address(String),
    /// Rank 0 chooses an address and writes it into this file, which all ranks can read: one line,
    /// `host:port`. The file exists during the bootstrap. A file of an earlier job does no harm. If
    /// rank 0 cannot listen on its address, it writes another, at which it tells the others why.
    File(PathBuf),
}

/// A process that joins a job: its rank, and how it finds the others.
///
/// ```no_run
/// use necklace::transport::tcp::{Join, Key, Root};
///
/// let key = Key::read("/run/user/1000/job.key".as_ref())?;
/// let endpoint = Join::new(3, 16, Root::Address("node0:5000".to_owned())).key(key).endpoint()?;
/// assert_eq!((endpoint.rank().index(), endpoint.size()), (3, 16));
/// # Ok::<(), necklace::transport::tcp::JoinError>(())
/// ```
///
/// # Bootstrap
///
/// 1. Every other rank connects to rank 0, which may come last. It listens on the interface by
///    which it has reached rank 0, and reports that address to the others and to the log (crate
///    `log`, level info).
/// 2. When all have come, rank 0 sends every rank the addresses of the others. Each rank connects
///    to those with lower numbers.
/// 3. When all are connected to all, rank 0 tells them to go on. From then on a rank has a
///    descriptor for each other rank, and no rank listens. A job of one opens no socket.
///
/// If something is wrong, every rank that came returns an error as soon as it is known; see
/// [`JoinError`](super::JoinError). (A rank that ends after it is connected to all others is found
/// when the job has started: calls that need it fail.)
///
/// If rank 0 cannot serve the others (it may have too few descriptors, for example), it listens
/// nevertheless and tells them why. It waits for them for a quarter of the timeout, 2 to 20 seconds,
/// and then ends. It cannot tell them in three cases: it never starts, it fails before it uses this
/// type (its key cannot be read, for example), or it cannot listen on the [`Root::Address`] to which
/// they connect. Then the others try for their whole timeout, and fail with
/// [`JoinError::Unreachable`](super::JoinError::Unreachable), which has the system's last error.
/// With [`Root::File`], rank 0 can tell them from any address.
///
/// # Security
///
/// Ranks authenticate each other with the job's [`Key`]. Every connection opens with a mutual
/// proof: HMAC-SHA256 over nonces that both sides have just drawn, and over ranks, size, job,
/// version and purpose. A process that does not hold the key cannot join and cannot act as rank 0.
/// A proof is valid for its own connection only, and does not reveal the key.
///
/// **A flood of connections delays the bootstrap, and can prevent it.** Unauthenticated connections
/// have a bounded number of descriptors and threads, and end after 10 seconds. When there are too
/// many, one that has had 50 milliseconds makes room for each new one: first those that do not
/// speak this protocol, then one drawn at random. But if more connections come than a rank accepts,
/// the system drops the rest, connections of ranks among them. A rank tries again about once a
/// second. If only a small part is accepted, or the flood takes the processors of this host, it may
/// not get through before the timeout. If other machines can reach the ranks in such numbers, keep
/// them out by a firewall or a separate network.
///
/// **Data is neither encrypted nor authenticated after the handshake.** Anyone that can read the
/// network's packets can read the data. Anyone that can change them, or take over a connection, can
/// change the data. If that matters, use a private network or a tunnel.
///
/// **Without a key, any process that reaches a rank can join during the bootstrap.** Ranks then
/// listen on the loopback interface only, which every user of the machine can reach, unless
/// [`insecure`](Self::insecure) is set.
#[derive(Clone, Debug)]
pub struct Join {
    pub(in crate::transport::tcp) rank: usize,
    pub(in crate::transport::tcp) size: usize,
    pub(in crate::transport::tcp) root: Root,
    pub(in crate::transport::tcp) key: Option<Key>,
    pub(in crate::transport::tcp) address: Option<IpAddr>,
    pub(in crate::transport::tcp) timeout: Duration,
    pub(in crate::transport::tcp) insecure: bool,
    pub(in crate::transport::tcp) held: bool,
    pub(in crate::transport::tcp) advice: Option<String>,
    pub(in crate::transport::tcp) host: Option<String>,
    pub(in crate::transport::tcp) watch: Option<Watch>,
}

/// Returns a rank that will not come, and the reason, as soon as one is known.
#[derive(Clone)]
pub(in crate::transport::tcp) struct Watch(pub(in crate::transport::tcp) Arc<FindLost>);

type FindLost = dyn Fn() -> Option<(usize, String)> + Send + Sync;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch(..)")
    }
}

impl Join {
    /// Makes the settings of a rank in a job of that size.
    #[must_use]
    pub fn new(rank: usize, size: usize, root: Root) -> Self {
        Self {
            rank,
            size,
            root,
            key: None,
            address: None,
            timeout: Duration::from_secs(300),
            insecure: false,
            held: false,
            advice: None,
            host: None,
            watch: None,
        }
    }

    /// Sets the job's key. Without one, ranks listen on the loopback interface only.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sets the address of this host on which the rank listens and to which the others connect.
    /// Unless set, it is that of the interface by which rank 0 is reached. With an unspecified
    /// address (`0.0.0.0`, `::`), the rank listens on all interfaces and announces the address that
    /// it would announce otherwise. Rank 0 listens on this address instead of the rendezvous
    /// address.
    #[must_use]
    pub fn address(self, address: IpAddr) -> Self {
        Self { address: Some(address), ..self }
    }

    /// Sets the maximum time to wait for the others. 5 minutes unless set. Rank 0 counts from the
    /// moment it listens. Another rank waits that long for rank 0 to come, and as long again, and a
    /// little more, for its messages.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets whether a job without a key may listen where other machines can reach it. Then any
    /// process that connects can become a rank. Not unless set.
    #[must_use]
    pub fn insecure(self, insecure: bool) -> Self {
        Self { insecure, ..self }
    }

    /// Sets whether a launcher of this user holds the port of rank 0, bound with `SO_REUSEPORT` and
    /// not listening. Two processes that both are rank 0 then share the port, and neither notices
    /// the other. Not unless set.
    #[must_use]
    pub fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }

    /// Sets the name of the host that this rank counts as: ranks with equal names share a host, for
    /// [`Communicator::hosts`](crate::Communicator::hosts). Unless set, ranks share a host if they
    /// run under the same boot of a kernel, as containers of one machine do.
    #[must_use]
    pub fn host(self, name: impl Into<String>) -> Self {
        Self { host: Some(name.into()), ..self }
    }

    /// Sets the advice of the error for a rendezvous address that is in use.
    #[must_use]
    pub(crate) fn advice(self, advice: Option<String>) -> Self {
        Self { advice, ..self }
    }

    /// Sets a function that rank 0 calls at intervals while it waits for the others. It returns a
    /// rank that will not come, and the reason.
    #[cfg(unix)]
    #[must_use]
    pub(crate) fn watch(self, find_lost: Arc<FindLost>) -> Self {
        Self { watch: Some(Watch(find_lost)), ..self }
    }

    /// Whether the rank may listen where other machines can reach it.
    pub(in crate::transport::tcp) fn may_listen_publicly(&self) -> bool {
        self.key.is_some() || self.insecure
    }
}

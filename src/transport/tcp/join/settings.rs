//! Who joins, and where.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Key;

/// Where the ranks of a job meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// Rank 0 listens here: `host:port`, such as `node0:5000`, `10.0.0.1:5000` or `[::1]:5000`.
    Address(String),
    /// Rank 0 listens anywhere, and writes where into this file, which all ranks can read: one
    /// line, `host:port`. The file is there while the ranks meet; one of an earlier job does no
    /// harm. If rank 0 cannot listen where it should, it writes where it tells the others why.
    File(PathBuf),
}

/// A process that joins a job: who it is, and how it finds the others.
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
/// # How they meet
///
/// Rank 0 is the meeting point; it may come last. Every other rank connects to it, listens on the
/// interface by which it has reached it, and says where (to the others, and in the log, crate
/// `log`, level info). When all are there, rank 0 tells everybody where the others are, each rank
/// connects to those with lower numbers, and when all are connected to all, rank 0 lets them go. A
/// rank has a descriptor for each other rank from then on, and nobody listens any more. A job of
/// one opens no socket.
///
/// Where something is wrong, every rank that came says what, as soon as it is known; see
/// [`JoinError`](super::JoinError). If rank 0 cannot host the others (it may have too few
/// descriptors, for example), it listens all the same and tells them why: it waits for them for a
/// quarter of the timeout, 2 to 20 seconds, and then ends. It cannot tell them if it never starts,
/// if it fails before it calls this type (its key cannot be read, for example), or if it cannot
/// listen at the [`Root::Address`] where they look for it. Then the others try for their whole
/// timeout, and fail with [`JoinError::Unreachable`](super::JoinError::Unreachable), which says
/// what the system answered last. With [`Root::File`] rank 0 can tell them from any address.
///
/// # Who can join, and what is not protected
///
/// Every connection opens with a mutual proof that both sides hold the job's [`Key`]: HMAC-SHA256
/// over numbers that both have just drawn, and over ranks, size, job, version and purpose. A
/// process that does not hold the key cannot join and cannot pass for the meeting point. An old
/// proof is worth nothing, and none says what the key is.
///
/// **A flood of connections delays the meeting, and can prevent it.** Connections that have proved
/// nothing take bounded memory and descriptors, end after 10 seconds, and make room for others:
/// first those that do not even speak this protocol, then one drawn by lot. But if more connections
/// come than a rank accepts, the system drops the others unseen, and those of ranks among them. A
/// rank tries again two to four times a second, so it gets through sooner or later; if only a small
/// part is accepted, or the flood takes the processors of this very host, that may be later than
/// the timeout. Where strangers can reach the ranks in such numbers, keep them out by a firewall or
/// a network of its own.
///
/// **What is said after that is neither secret nor sealed.** Who can read the network's packets
/// reads the data; who can change them, or take over a connection, changes the data. Where that
/// matters, use a network that others are kept out of, or a tunnel. Without a key everybody who
/// reaches a rank can join while the job meets; ranks then listen on the loopback interface only,
/// where every user of the machine is, unless told that this is [meant](Self::insecure).
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
}

impl Join {
    /// As that rank of so many, which meet there.
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
        }
    }

    /// With the job's key. Without one, ranks listen on the loopback interface only.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Listens on this address of this host, and has the others connect to it, in place of the one
    /// by which the meeting point is reached. An unspecified one (`0.0.0.0`, `::`): listens on all,
    /// announces what it would otherwise. Rank 0 listens here in place of the address by which the
    /// others find it.
    #[must_use]
    pub fn address(self, address: IpAddr) -> Self {
        Self { address: Some(address), ..self }
    }

    /// How long to wait for the others to come. 5 minutes unless set. Rank 0's time counts once it
    /// waits; another rank waits as long for rank 0 to come, and then for what that has to say.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Whether a job without a key may listen where other machines can reach it, and so take
    /// whoever comes for a rank. Not unless set.
    #[must_use]
    pub fn insecure(self, insecure: bool) -> Self {
        Self { insecure, ..self }
    }

    /// Whether a launcher of this user holds rank 0's port for it, bound with `SO_REUSEPORT` and
    /// not listening: two processes that both are rank 0 then share the port, and do not find each
    /// other out. Not unless set.
    #[must_use]
    pub fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }

    /// What to say of an address of the meeting point that is in use.
    #[must_use]
    pub(crate) fn advice(self, advice: Option<String>) -> Self {
        Self { advice, ..self }
    }

    /// Whether it may listen where other machines can reach it.
    pub(in crate::transport::tcp) fn open(&self) -> bool {
        self.key.is_some() || self.insecure
    }
}

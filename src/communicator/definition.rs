//! What a communicator is.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Options;
use super::agreement::Agreed;
use super::cache::{Cache, Kept};
use super::element::Element;
use super::how::How;
use super::motion::Planned;
use super::prepared::{Key, Prepared, native_manner};
use super::wire::Wire;
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{BuildError, Error};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::permutation::BitMap;
use crate::plan::{Buffers, Layout, Plan, compile};
use crate::select::Field;
use crate::topology::{Topology, parse};
use crate::transport::{ContextId, Endpoint, History, Signature};
use crate::vocabulary::{Placement, Problem};

impl Kept for Field {
    fn bytes(&self) -> usize {
        0
    }
}

/// A group of ranks that call collectives together, on a network that they know.
///
/// Every member calls the same collectives in the same order, as in MPI. A call returns when this
/// rank's part is done; only [`barrier`](Self::barrier) waits for the others. One thread at a time
/// drives a communicator; to use several threads, [`split`](Self::split) off a communicator for each.
///
/// If the backend has [collectives of its own](crate::transport::native), as MPI does, `auto` uses them
/// unless another algorithm is cheaper. Members then compare what they call before the first call of
/// each kind, algorithm, size, root and operation (and again now and then, if there are hundreds), not
/// in every message. If they later make two different calls of these, the library decides what
/// happens, until a [deadline](crate::guide::failures#the-two-deadlines) passes.
///
/// # Errors
///
/// Errors number the calls of a communicator from 1, its user's first; `split` and `close` count, and an
/// `alltoallv` whose counts have to be exchanged first counts twice.
///
/// Mistakes in arguments are found before anything moves, and leave the communicator as it was. If a
/// call fails under way (a member is missing, gone, or calls something else), every member gets the
/// same [`Error::Failed`], at the latest after the [timeout](Options::timeout) or, if it waits for a rank
/// that computes, the [arrival timeout](Options::arrival_timeout); a member that had done its part gets
/// it in its next call. After that, calls fail with [`Error::Dead`]. Nothing panics. Calls in which
/// ranks only send, such as broadcasts from different roots, do not show that they differ; members find
/// out in a later call, by [`close`](Self::close), or when they leave.
#[derive(Debug)]
pub struct Communicator {
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) wire: Wire,
    pub(super) topology: Arc<dyn Topology>,
    pub(super) placement: Placement,
    /// By collective; `auto` where there is none.
    pub(super) algorithms: HashMap<&'static str, How>,
    /// What goes before them for calls that are made [so](Self::using).
    pub(super) using: Option<How>,
    /// By the call, and what it was made to use.
    pub(super) cache: Cache<(Key, Option<How>), Prepared>,
    /// What there is to choose from, for collectives whose operation commutes or does not.
    pub(super) fields: Cache<(Collective, bool), Field>,
    pub(super) permutations: Cache<(BitMap, Element, usize, Option<How>), Planned>,
    pub(super) splits: u64,
    /// In which members agree on native calls, once there is one.
    pub(super) barrier: Option<Arc<Plan>>,
    /// By which it chooses: the same on every member.
    pub(super) machine: Machine,
    pub(super) options: Options,
}

/// The number of a user's first call in the context.
pub(super) const FIRST_CALL: u64 = 1;

/// For how many collectives, each of another root if it has one, it is kept what there is to choose from.
const FIELDS: usize = 16;

impl Communicator {
    /// Makes the communicator of all processes of a job, with rank i on node i of the network.
    ///
    /// Collective: the ranks check that they agree on the network.
    ///
    /// # Errors
    ///
    /// [`BuildError::Ranks`] unless the network has as many nodes as the job has processes;
    /// [`Error::Failed`] as for any call.
    pub fn new(endpoint: Arc<dyn Endpoint>, topology: Arc<dyn Topology>) -> Result<Self, Error> {
        Self::with_options(endpoint, topology, Options::default())
    }

    /// Makes the communicator of all processes of a job, as [`new`](Self::new), with options.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`BuildError::Ranks`] if the placement is for another number of
    /// ranks.
    pub fn with_options(
        endpoint: Arc<dyn Endpoint>,
        topology: Arc<dyn Topology>,
        options: Options,
    ) -> Result<Self, Error> {
        let (ranks, nodes) = (endpoint.size(), topology.nodes());
        let placement = options.placement.clone().unwrap_or_else(|| Placement::identity(ranks));
        if ranks != nodes || placement.ranks() != ranks {
            let ranks = if ranks == nodes { placement.ranks() } else { ranks };
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes }.into());
        }
        let members = (0..ranks).map(Rank::new).collect();
        let mut all = Self::open(endpoint, ContextId::WORLD, members, topology, placement, options)?;
        all.wire.history = History::default();
        all.agree()?;
        Ok(all)
    }

    pub(super) fn open(
        endpoint: Arc<dyn Endpoint>,
        context: ContextId,
        members: Arc<[Rank]>,
        topology: Arc<dyn Topology>,
        placement: Placement,
        options: Options,
    ) -> Result<Self, Error> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let identity = MADE.fetch_add(1, Ordering::Relaxed);
        let mut transport = endpoint.open(context, &members)?;
        let native = transport.native().is_some();
        let machine = options.machine.unwrap_or_else(|| endpoint.machine());
        Ok(Self {
            wire: Wire {
                transport,
                context,
                identity,
                members,
                // Call 0 makes the communicator; users count from 1.
                history: History { calls: FIRST_CALL, ..History::default() },
                native,
                agreed: Agreed::default(),
                timeouts: options.timeouts,
                told: false,
            },
            endpoint,
            topology,
            placement,
            algorithms: HashMap::new(),
            using: None,
            cache: Cache::new(options.plans, options.plan_bytes),
            fields: Cache::new(FIELDS, usize::MAX),
            permutations: Cache::new(options.plans, options.plan_bytes),
            splits: 0,
            barrier: None,
            machine,
            options,
        })
    }

    /// Compares network and placement among the ranks, and takes the machine of rank 0, so that `auto`
    /// decides alike everywhere: call 0 of the context.
    ///
    /// Every rank needs something of every other for the result, so none gets on before all have
    /// compared.
    fn agree(&mut self) -> Result<(), Error> {
        // Nothing that may differ decides before it is known not to differ.
        self.algorithms.extend([("allreduce", "recursive-doubling".into())]);
        let mut prices = self.machine.words();
        let own = prices;
        let nodes: Vec<usize> = (0..self.size()).map(|rank| self.placement.node(Rank::new(rank)).index()).collect();
        let links = nameless(&*self.topology).map_or(String::new(), |links| format!(", links {links:016x}"));
        let placed = if self.placement.is_identity() { String::new() } else { format!(", placed on {nodes:?}") };
        let native = if self.wire.native { ", collectives of the backend's own" } else { "" };
        let purpose = format!("start{native}{links}{placed}");
        self.allreduce_for(&own, &mut prices, purpose, |first, _| first)?;
        self.machine = Machine::of_words(prices);
        self.algorithms.clear();
        self.cache.clear();
        Ok(())
    }

    /// Returns the rank of this process.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.wire.transport.rank().index()
    }

    /// Returns the number of members.
    #[must_use]
    pub fn size(&self) -> usize {
        self.wire.members.len()
    }

    /// Returns the network of the members.
    #[must_use]
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// Returns the placement: which node each member sits on.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Ends the communicator. Collective, as `MPI_Comm_free`.
    ///
    /// Returns when all members have called it and have made the same calls until then. It covers this
    /// communicator alone: those made from it by [`split`](Self::split) have calls of their own.
    ///
    /// Dropping a communicator is not a call and waits for no rank. Members that leave later compare what
    /// was called; [`launch`](crate::launch()) and `local::run` return what they find. Nothing compares the
    /// calls of a communicator that is forgotten, of a process that calls `std::process::exit`, or of a
    /// communicator that [`connect`](crate::connect()) made and that is only dropped.
    ///
    /// # Errors
    ///
    /// See [`Communicator`]. [`Cause::Disagree`](crate::transport::Cause::Disagree) if members have made
    /// different calls and no message had shown it: for example, if two ranks each took themselves for the
    /// root of one broadcast.
    pub fn close(mut self) -> Result<(), Error> {
        self.wire.alive()?;
        let History { calls, digest } = self.wire.history;
        let calls = calls - FIRST_CALL;
        let plan = self.barrier_of_agreement()?;
        let signature = self.planned(format!("close after {calls} calls ({digest:016x})"));
        self.wire.run(&plan, Buffers { input: &[], output: &mut [], scratch: &mut [] }, &signature, None)
    }

    /// Of an operation that commutes, if there is one.
    pub(super) fn problem(&self, collective: Collective) -> Result<Problem, BuildError> {
        Problem::placed(Arc::clone(&self.topology), self.placement.clone(), collective)
    }

    pub(super) fn problem_of(&self, Key { collective, commutes, .. }: &Key) -> Result<Problem, BuildError> {
        let problem = self.problem(collective.clone())?;
        Ok(if *commutes { problem } else { problem.ordered() })
    }

    /// The plan for a regular collective, from the cache if it is there, and the wire to execute it on.
    #[inline]
    pub(super) fn prepared(&mut self, key: &Key) -> Result<(&mut Wire, &mut Prepared), Error> {
        let using = self.using.as_ref().filter(|_| !key.is_own());
        if !self.cache.find_by(|(known, used)| known == key && used.as_ref() == using) {
            let kept = (key.clone(), using.cloned());
            let prepared = self.compile(key)?;
            self.cache.insert(kept, prepared);
        }
        let lost = || Error::Argument("a plan just made is not in the cache".to_owned());
        Ok((&mut self.wire, self.cache.last().ok_or_else(lost)?))
    }

    pub(super) fn compile(&mut self, key: &Key) -> Result<Prepared, Error> {
        let Key { collective, element, elements, in_place, purpose, commutes, .. } = key;
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let problem = self.problem_of(key)?;
        let blocks =
            |holding: crate::collective::Holding| holding.into_iter().map(|(block, _)| block).collect::<Vec<_>>();
        let (before, after) = (blocks(collective.before(size, rank)), blocks(collective.after(size, rank)));
        let mut layout = Layout::consecutive(element.size, *elements, &before, &after)?;
        if *in_place {
            // Alltoall: what goes to j lies where what comes from j will.
            let back = |block: Block| Block::raw(block.destination(), block.source());
            layout = layout.in_place(back);
        }
        let topology = self.topology.text();
        let what = if purpose.is_empty() { String::new() } else { format!(" ({purpose})") };
        let Element { size: bytes, name, .. } = element;
        let order = if *commutes { "" } else { ", in rank order" };
        let words = |algorithm: &str| {
            let what = format!("{collective}{what} of blocks of {elements} x {bytes} bytes ({name}){order}");
            format!("{what} among {size} ranks by {algorithm} on {topology}")
        };
        if let Some(own) = self.how(collective.name(), key.is_own()).and_then(How::own) {
            let name = own.certified(&problem)?;
            let plan = compile(own.algorithm.share(&problem, rank)?, &layout)?;
            return Prepared::new(plan, self.planned(words(&name)));
        }
        let block_bytes = layout.element * *elements as u64;
        let mut choice = self.select_again(key, false, block_bytes)?;
        if let (Some(_), Some(call)) = (choice.algorithm.priced_as(), key.native()) {
            if self.offers(&call) {
                let words = words(&(choice.algorithm.name() + native_manner(&call)));
                return self.prepare_native(call, self.planned(words));
            }
            if choice.named {
                return Err(self.not_offered(collective, &call));
            }
            choice = self.select_again(key, true, block_bytes)?;
        }
        let plan = compile(choice.algorithm.share(&problem, rank)?, &layout)?;
        Prepared::new(plan, self.planned(words(&choice.algorithm.name())))
    }

    /// What members compare of a call that is planned so, in words. They are logged.
    pub(super) fn planned(&self, words: String) -> Signature {
        log::debug!("rank {} of {} in communicator {}: planned {words}", self.rank(), self.size(), self.wire.context);
        if self.options.fingerprints {
            Signature { fingerprint: fingerprint(&words), words: words.into() }
        } else {
            Signature { fingerprint: 0, words: (words + ", without a fingerprint").into() }
        }
    }
}

/// A hash of the links of a network whose text does not say what they are, or names a file that may differ from rank to
/// rank.
fn nameless(topology: &dyn Topology) -> Option<u64> {
    let text = topology.text();
    let says_all = parse(&text).is_ok();
    let links = || topology.edges().iter().map(|(u, v)| format!("{u}-{v} ")).collect::<String>();
    (!says_all).then(|| fingerprint(&links()))
}

/// FNV-1a, finished with a multiplication and a shift so that all bits count. It tells calls apart, it protects nothing.
fn fingerprint(words: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = words.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

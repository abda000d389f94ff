//! The communicator: its state, how it is made and ended, and how it plans calls.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Options;
use super::agreement::Agreed;
use super::cache::{Cache, Footprint};
use super::call_context::CallContext;
use super::element::Element;
use super::how::How;
use super::local_parts::LocalParts;
use super::neighbour_key::NeighbourKey;
use super::permute_report::PlannedPermutation;
use super::planned_call::{CombinedResult, PlanKey, PlannedCall, native_qualifier};
use super::varying_key::VaryingKey;
use super::worker::Worker;
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{ArgumentError, BuildError, CallError, Error};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::permutation::BitMap;
use crate::plan::{Buffers, Layout, Plan, compile, even_range};
use crate::quote::cut;
use crate::select::Field;
use crate::topology::{Topology, parse};
use crate::transport::{Cause, ContextId, Endpoint, Failure, History, OpenError, Signature};
use crate::vocabulary::{Hosts, Placement, Problem};

impl Footprint for Arc<Field> {
    fn footprint(&self) -> usize {
        0
    }
}

/// A group of ranks that call collectives together, on a network that they know.
///
/// Every member calls the same collectives in the same order, as in MPI. A call returns when this
/// rank's part is done. It may wait for other members until then, but only
/// [`barrier`](Self::barrier) and [`close`](Self::close) promise that all have called. One thread
/// at a time drives a communicator; to use several threads, [`dup`](Self::dup) the communicator for
/// each.
///
/// If the backend has [collectives of its own](crate::transport::native), as MPI does, `auto` uses
/// them unless another algorithm is cheaper. Members then do not compare calls in every message.
/// They compare before the first call of each kind, algorithm, size, root and operation, and
/// repeat that now and then if there are hundreds of kinds. If members make two different calls
/// that they have compared before, the library decides what happens, until a
/// [deadline](crate::guide::failures#the-two-deadlines) passes.
///
/// # Errors
///
/// Errors give the number of the call on its communicator. The program's first call is number 1.
/// `split`, `dup` and `close` count as calls. A call that first exchanges its counts counts as two,
/// a `gatherv` or `scatterv` by `native` as three.
///
/// Mistakes in arguments are found before anything moves, and leave the communicator as it was. The
/// other members wait until this rank repeats the call, aborts or leaves.
///
/// Lengths, roots and operations are part of a call. If members pass different ones, the call fails
/// with [`Cause::Disagree`](crate::transport::Cause::Disagree) on all of them. To find it, calls on
/// blocks of 0 elements send empty messages. Where counts say that two ranks have nothing for each
/// other, no message travels between them.
///
/// If a call fails under way (a member is missing, gone, or calls something else), every member
/// gets the same [`Error::Failed`], at the latest after the [timeout](Options::timeout) or, if it
/// waits for a rank that computes, the [arrival timeout](Options::arrival_timeout). A member that
/// had done its part gets it in its next call. After that, calls fail with [`Error::Dead`].
///
/// Calls in which ranks only send, such as broadcasts from different roots, may not show that they
/// differ. Members find out in a later call, by [`close`](Self::close), or when they leave.
pub struct Communicator {
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) context: CallContext,
    pub(super) topology: Arc<dyn Topology>,
    pub(super) placement: Placement,
    /// The partition of members by host, if it is known.
    pub(super) hosts: Option<Hosts>,
    /// The chosen algorithms by collective; `auto` for those that are missing.
    pub(super) algorithms: HashMap<&'static str, How>,
    /// The choice for single calls ([`using`](Self::using)), which overrides `algorithms`.
    pub(super) using: Option<How>,
    /// The plans, by call and choice for single calls.
    pub(super) cache: Cache<(PlanKey, Option<How>), PlannedCall>,
    /// The plans of calls with blocks of different lengths, by the algorithms of `choose`.
    pub(super) varying: Cache<VaryingKey, PlannedCall>,
    /// Plans of exchanges with neighbours.
    pub(super) neighbour_calls: Cache<NeighbourKey, PlannedCall>,
    /// The candidates, by collective and whether its operation commutes.
    pub(super) fields: Cache<(Collective, bool), Arc<Field>>,
    pub(super) permutations: Cache<(BitMap, Element, usize, Option<How>), PlannedPermutation>,
    /// The calls so far that made communicators from this one.
    pub(super) splits: u64,
    pub(super) local_parts: LocalParts,
    /// The barrier in which members agree on native calls, once it is planned.
    pub(super) barrier: Option<Arc<Plan>>,
    /// The prices by which `auto` chooses, the same on every member.
    pub(super) machine: Machine,
    pub(super) options: Options,
    /// Whether it makes the started calls of another communicator.
    pub(super) makes_started_calls: bool,
    /// The thread that makes started calls, once there is one. It is dropped after the context, so
    /// that members that wait for this rank there do not wait for its started calls.
    pub(super) started: Option<Worker<Self>>,
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("topology", &self.topology.text())
            .finish_non_exhaustive()
    }
}

/// The number of a user's first call in the context.
pub(super) const FIRST_CALL: u64 = 1;

/// The number of collectives, told apart by their roots, whose candidates are kept.
const FIELDS: usize = 16;

/// The most characters of the reason of an abort.
const REASON: usize = 1000;

/// The purpose of the call that makes the communicator of the job.
const START: &str = "start";

impl Communicator {
    /// Makes the communicator of all processes of a job, with rank i on node i of the network.
    ///
    /// Collective. The ranks check that they agree on the network.
    ///
    /// # Errors
    ///
    /// [`BuildError::Ranks`] unless the network has as many nodes as the job has processes;
    /// [`Error::Failed`] as for any call.
    #[track_caller]
    pub fn new(endpoint: Arc<dyn Endpoint>, topology: Arc<dyn Topology>) -> Result<Self, Error> {
        Self::of_job(endpoint, topology, Options::default()).map_err(CallError::of("Communicator::new"))
    }

    /// Makes the communicator of all processes of a job, as [`new`](Self::new), with options.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`BuildError::Ranks`] if the placement is for another
    /// number of ranks.
    #[track_caller]
    pub fn with_options(
        endpoint: Arc<dyn Endpoint>,
        topology: Arc<dyn Topology>,
        options: Options,
    ) -> Result<Self, Error> {
        Self::of_job(endpoint, topology, options).map_err(CallError::of("Communicator::with_options"))
    }

    pub(crate) fn of_job(
        endpoint: Arc<dyn Endpoint>,
        topology: Arc<dyn Topology>,
        options: Options,
    ) -> Result<Self, CallError> {
        let (ranks, nodes) = (endpoint.size(), topology.ranks());
        let placement = match &options.placement {
            Some(placement) => placement.clone(),
            None => Placement::of(&*topology)?,
        };
        if ranks != nodes || placement.ranks() != ranks {
            let ranks = if ranks == nodes { placement.ranks() } else { ranks };
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes }.into());
        }
        let members = (0..ranks).map(Rank::new).collect();
        let hosts = endpoint.hosts();
        hosts.iter().try_for_each(|hosts| hosts.check(ranks))?;
        let mut all = Self::open(endpoint, ContextId::WORLD, members, (topology, placement, hosts), options)?;
        all.context.history = History::default();
        all.agree()?;
        Ok(all)
    }

    /// Opens a context and makes its communicator. Local.
    pub(super) fn open(
        endpoint: Arc<dyn Endpoint>,
        context: ContextId,
        members: Arc<[Rank]>,
        (topology, placement, hosts): (Arc<dyn Topology>, Placement, Option<Hosts>),
        options: Options,
    ) -> Result<Self, OpenError> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let identity = MADE.fetch_add(1, Ordering::Relaxed);
        let mut transport = endpoint.open(context, &members)?;
        let native = transport.native().is_some();
        let machine = options.machine.unwrap_or_else(|| endpoint.machine());
        Ok(Self {
            context: CallContext {
                transport,
                id: context,
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
            hosts,
            algorithms: HashMap::new(),
            using: None,
            cache: Cache::new(options.plans, options.plan_bytes),
            varying: Cache::new(options.plans, options.plan_bytes),
            neighbour_calls: Cache::new(options.plans, options.plan_bytes),
            fields: Cache::new(FIELDS, usize::MAX),
            permutations: Cache::new(options.plans, options.plan_bytes),
            splits: 0,
            local_parts: LocalParts::default(),
            barrier: None,
            machine,
            options,
            makes_started_calls: false,
            started: None,
        })
    }

    /// Compares network, placement and hosts among the ranks, and takes the machine of rank 0, so
    /// that `auto` decides alike everywhere: call 0 of the context.
    ///
    /// Every rank needs something of every other for the result, so none continues before all have
    /// compared.
    fn agree(&mut self) -> Result<(), CallError> {
        // Machines and networks may still differ, so they must not decide which algorithm runs.
        self.algorithms.extend([("allreduce", "recursive-doubling".into())]);
        let mut prices = self.machine.words();
        let own = prices;
        let nodes: Vec<usize> = (0..self.size()).map(|rank| self.placement.node(Rank::new(rank)).index()).collect();
        let links = nameless(&*self.topology).map_or(String::new(), |links| format!(", links {links:016x}"));
        let placed = if self.placement.is_identity() { String::new() } else { format!(", placed on {nodes:?}") };
        let native = if self.context.native { ", collectives of the backend's own" } else { "" };
        let hosts = self.hosts.as_ref().map_or(String::new(), on_hosts);
        let purpose = format!("{START}{native}{links}{placed}{hosts}");
        match self.allreduce_for(&own, &mut prices, purpose, |first, _| first) {
            Ok(()) => self.machine = Machine::of_words(prices),
            // Another member has finished call 0, so all have compared and agree, and has failed in
            // a later call. That failure belongs to the program, which learns it in its own call.
            Err(CallError::Other(error)) if error.failure().is_some_and(|failure| failure.call >= FIRST_CALL) => {
                self.context.history.calls = FIRST_CALL;
                self.context.told = false;
            }
            Err(error) => return Err(error),
        }
        self.algorithms.clear();
        self.cache.clear();
        Ok(())
    }

    /// Returns the rank of this process.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.context.transport.rank().index()
    }

    /// Returns the number of members.
    #[must_use]
    pub fn size(&self) -> usize {
        self.context.members.len()
    }

    /// Returns the indices of this rank's elements if `elements` elements are divided among the
    /// members, in rank order: as equally as possible, the longer ranges first.
    ///
    /// [`Strided::slabs`](crate::Strided::slabs) divides an axis of an array in the same way.
    ///
    /// ```
    /// let ranges = necklace::local::run(3, |comm| comm.range_of(8));
    /// assert_eq!(ranges.unwrap(), [0..3, 3..6, 6..8]);
    /// ```
    #[must_use]
    pub fn range_of(&self, elements: usize) -> Range<usize> {
        even_range(elements, self.size(), self.rank())
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

    /// Returns which members share a host, if the backend knows.
    ///
    /// Threads all share one. Over TCP, ranks share a host if they run under the same boot of a
    /// kernel, or have the same `NECKLACE_HOST`. Over MPI, they do if they can share memory.
    ///
    /// ```
    /// let counts = necklace::local::run(3, |comm| comm.hosts().map(|hosts| hosts.count()));
    /// assert_eq!(counts.unwrap(), [Some(1); 3]);
    /// ```
    #[must_use]
    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// Ends the communicator. Collective, as `MPI_Comm_free`.
    ///
    /// Returns when all members have called it, and checks that all have made the same calls. It
    /// covers this communicator alone: communicators made from it by [`split`](Self::split) have
    /// calls of their own.
    ///
    /// Dropping a communicator is not a call. It waits for no rank, unless it is the last handle of
    /// a process (see [`connect`](crate::connect())). Members that leave later
    /// compare calls; [`launch`](crate::launch()) and `local::run` return the disagreements that
    /// they find. No rank compares the calls of a communicator that is leaked, of a process that
    /// calls `std::process::exit`, or of a communicator that [`connect`](crate::connect()) made and
    /// that is only dropped.
    ///
    /// # Errors
    ///
    /// See [`Communicator`]. [`Cause::Disagree`](crate::transport::Cause::Disagree) if members have
    /// made different calls and no message has shown it: for example, if two ranks each broadcast
    /// as the root.
    #[track_caller]
    pub fn close(mut self) -> Result<(), Error> {
        self.started = None;
        self.context.alive()?;
        let History { calls, digest } = self.context.history;
        let calls = calls - FIRST_CALL;
        let plan = self.barrier_of_agreement().map_err(self.context.error_of("close"))?;
        let signature =
            self.signature(format!("close after {calls} call{} ({digest:016x})", if calls == 1 { "" } else { "s" }));
        self.context.run(&plan, Buffers { input: &[], output: &mut [], scratch: &mut [] }, &signature, None)
    }

    /// Fails the communicator on all members, with a reason.
    ///
    /// Use it for an error in the program, such as input that one rank cannot read. The others get
    /// the error at once, instead of waiting for a deadline.
    ///
    /// Local. Unlike `MPI_Abort`, it ends no process: it corresponds to `MPIX_Comm_revoke` (ULFM),
    /// with a reason. Each member gets an [`Error::Failed`] with [`Cause::Aborted`]: this rank in
    /// its next call, the others in their current or next one. A communicator that has failed
    /// before keeps its first failure. A reason of more than 1000 characters is cut in the middle.
    ///
    /// ```
    /// let ends = necklace::local::run(2, |mut comm| {
    ///     if comm.rank() == 0 {
    ///         comm.abort("input.csv has no header");
    ///     }
    ///     comm.barrier().unwrap_err().to_string()
    /// })?;
    /// assert!(ends[1].contains("rank 0 gave up: input.csv has no header"), "{}", ends[1]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    pub fn abort(&mut self, reason: &str) {
        let (call, rank) = (self.context.history.calls, Rank::new(self.rank()));
        let cause = Cause::Aborted { rank, reason: cut(reason, REASON).as_ref().into() };
        let description = "abort".into();
        self.context.transport.abort(Failure {
            call,
            description,
            round: 0,
            observer: rank,
            culprit: Some(rank),
            cause,
        });
        if let Some(started) = &self.started {
            let reason = reason.to_owned();
            started.queue().push(Arc::new(move |comm: &mut Self| comm.abort(&reason)));
        }
    }

    /// Returns the failure of the communicator, if this rank knows of one. Local.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.context.transport.failure()
    }

    /// Makes the problem of a collective. The operation of a reduction commutes.
    pub(super) fn problem(&self, collective: Collective) -> Result<Problem, BuildError> {
        let problem = Problem::placed(Arc::clone(&self.topology), self.placement.clone(), collective)?;
        match &self.hosts {
            Some(hosts) => problem.on_hosts(hosts.clone()),
            None => Ok(problem),
        }
    }

    /// Makes the problem of a call.
    pub(super) fn problem_of(&self, PlanKey { collective, commutes, .. }: &PlanKey) -> Result<Problem, BuildError> {
        self.problem_with(collective, *commutes)
    }

    /// Makes the problem of a collective whose operation commutes or not.
    pub(super) fn problem_with(&self, collective: &Collective, commutes: bool) -> Result<Problem, BuildError> {
        let problem = self.problem(collective.clone())?;
        Ok(if commutes { problem } else { problem.ordered() })
    }

    /// Plans a regular collective, unless its plan is cached, and makes the plan the one used last.
    // The usual case is inlined, so that the key is compared without being stored first.
    #[inline(always)]
    pub(super) fn plan_cached(&mut self, key: &PlanKey) -> Result<(), CallError> {
        if self.using.is_none() && self.cache.is_last(|(known, used)| used.is_none() && known == key) {
            return Ok(());
        }
        self.find_or_plan(key)
    }

    fn find_or_plan(&mut self, key: &PlanKey) -> Result<(), CallError> {
        let using = self.using.as_ref().filter(|_| !key.is_internal());
        if !self.cache.find_by(|(known, used)| known == key && used.as_ref() == using) {
            self.plan_into_cache(key)?;
        }
        Ok(())
    }

    #[cold]
    fn plan_into_cache(&mut self, key: &PlanKey) -> Result<(), CallError> {
        let using = self.using.clone().filter(|_| !key.is_internal());
        let key = PlanKey { elements: self.elements(key)?, ..key.clone() };
        let planned = self.compile(&key)?;
        self.cache.insert((key, using), planned);
        Ok(())
    }

    /// Plans a regular collective.
    pub(super) fn compile(&mut self, key: &PlanKey) -> Result<PlannedCall, CallError> {
        let result = key.collective.result(self.size(), Rank::new(self.rank()));
        let combined = |(_, of): (Block, Range<usize>)| CombinedResult {
            contributions: of.len(),
            bytes: key.elements * key.element.size,
        };
        // Planned first, so that the product is known not to overflow.
        let planned = self.plan_regular(key)?;
        Ok(PlannedCall { result: result.map(combined), ..planned })
    }

    fn plan_regular(&mut self, key: &PlanKey) -> Result<PlannedCall, CallError> {
        let PlanKey { collective, element, elements, in_place, purpose, commutes, .. } = key;
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let problem = self.problem_of(key)?;
        // A block in parts, of which a rank holds all, lies in its buffer as the whole.
        let name = |block: Block| if block.count() == block.of() { block.whole() } else { block };
        let blocks =
            |holding: crate::collective::Holding| holding.into_iter().map(|(block, _)| name(block)).collect::<Vec<_>>();
        let (before, after) = (blocks(collective.before(size, rank)), blocks(collective.after(size, rank)));
        let mut layout = Layout::consecutive(element.size, *elements, &before, &after)?;
        if *in_place && before.len() > after.len() {
            // Scattered blocks do not change, so the root's own may stay. A result goes to the
            // start.
            layout = layout.in_place_of_input(!collective.is_reduction());
        } else if *in_place {
            // In alltoall, the block to rank j lies where the block from rank j goes. In a shift,
            // one block replaces another.
            let back = |block: Block| match after[..] {
                [only] if before.len() == 1 => only,
                _ => Block::raw(block.destination(), block.source()),
            };
            layout = layout.in_place(back);
        }
        let topology = self.topology.text();
        let what = if purpose.is_empty() { String::new() } else { format!(" ({purpose})") };
        let Element { size: bytes, name, .. } = element;
        let order = if *commutes { "" } else { ", in rank order" };
        let description = |algorithm: &str| {
            if let Some(more) = purpose.strip_prefix(START) {
                return format!("start of {size} ranks on {topology}{more}");
            }
            let blocks = match collective.has_bytes() {
                true => format!(" of blocks of {elements} x {bytes} bytes ({name}){order}"),
                false => String::new(),
            };
            format!("{collective}{what}{blocks} among {size} ranks by {algorithm} on {topology}")
        };
        if let Some(user) = self.how(collective.name(), key.is_internal()).and_then(How::as_user) {
            let name = user.certified(&problem)?;
            let plan = compile(user.rounds(&problem, rank)?, &layout).map_err(ArgumentError::from)?;
            return Ok(PlannedCall::new(plan, self.signature(description(&name)))?.named(user.algorithm.name()));
        }
        let block_bytes = layout.element * *elements as u64;
        let (mut algorithm, named) = self.algorithm_of(key, false, block_bytes)?;
        if let (Some(_), Some(call)) = (algorithm.priced_as(), key.native()) {
            if self.offers(&call) {
                let description = description(&(algorithm.name() + native_qualifier(&call)));
                return Ok(self.plan_library_call(call, self.signature(description))?.named(algorithm.name()));
            }
            if named {
                return Err(self.not_offered(collective, &call).into());
            }
            (algorithm, _) = self.algorithm_of(key, true, block_bytes)?;
        }
        let plan = compile(algorithm.share(&problem, rank)?, &layout)?;
        let name = algorithm.name();
        Ok(PlannedCall::new(plan, self.signature(description(&name)))?.named(name))
    }

    /// Makes the signature of a call from its description, by which members compare it. Logs it.
    pub(super) fn signature(&self, mut description: String) -> Signature {
        if self.makes_started_calls {
            description += ", started";
        }
        let (rank, size, context) = (self.rank(), self.size(), self.context.id);
        log::debug!("rank {rank} of {size} in communicator {context}: planned {description}");
        if self.options.fingerprints {
            Signature::new(fingerprint(&description), description)
        } else {
            Signature::new(0, description + ", without a fingerprint")
        }
    }
}

/// Returns a hash of a network's links, unless its text defines them. A text that names a file does
/// not, since the file may differ from rank to rank. With a guest, the hash also covers the paths
/// of its links, unless the embedding has a name.
fn nameless(topology: &dyn Topology) -> Option<u64> {
    if let Some(embedding) = topology.embedding() {
        let (guest, host) = (embedding.guest(), embedding.host());
        let path = |(from, to)| format!("{:?} ", embedding.path(from, to));
        let paths = || guest.edges().into_iter().map(path).collect::<String>();
        let paths = embedding.name().is_none().then(|| fingerprint(&paths()));
        let hashes = [nameless(&**guest), nameless(&**host), paths];
        return hashes.iter().any(Option::is_some).then(|| fingerprint(&format!("{hashes:?}")));
    }
    let text = topology.text();
    let is_defined = parse(&text).is_ok();
    let links = || topology.edges().iter().map(|(u, v)| format!("{u}-{v} ")).collect::<String>();
    (!is_defined).then(|| fingerprint(&links()))
}

/// Describes which ranks share a host: by the host of each rank if there are few ranks, otherwise
/// by a hash of that.
fn on_hosts(hosts: &Hosts) -> String {
    const MOST_LISTED: usize = 16;
    match hosts.count() {
        1 => ", on one host".to_owned(),
        _ if hosts.ranks() <= MOST_LISTED => format!(", on hosts {hosts:?}"),
        count => format!(", on {count} hosts {:016x}", fingerprint(&format!("{hosts:?}"))),
    }
}

/// Hashes a description: FNV-1a, finished with a multiplication and a shift so that all bits count.
/// The hash distinguishes calls; it is not cryptographic.
pub(super) fn fingerprint(description: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = description.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

//! Starts the ranks of a program, as its environment says.

mod claim;
mod environment;
#[cfg(all(unix, feature = "tcp"))]
mod launcher;
mod network;

use std::env;
use std::fmt;
#[cfg(feature = "local")]
use std::num::NonZeroUsize;
#[cfg(any(feature = "mpi", feature = "tcp"))]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
#[cfg(feature = "local")]
use std::thread;
use std::time::Duration;

use crate::communicator::{Communicator, How, Options};
#[cfg(any(feature = "mpi", feature = "tcp"))]
use crate::error::panic_words;
use crate::error::{BuildError, Error};
#[cfg(any(feature = "mpi", feature = "tcp"))]
use crate::ids::Rank;
#[cfg(feature = "local")]
use crate::local::Job;
use crate::quote::quoted;
use crate::topology::{Complete, Topology};
#[cfg(any(feature = "mpi", feature = "tcp"))]
use crate::transport::Endpoint;
#[cfg(any(feature = "mpi", feature = "tcp"))]
use crate::transport::engine::Supervisor;
#[cfg(feature = "mpi")]
use crate::transport::mpi;
#[cfg(feature = "tcp")]
use crate::transport::tcp::{Join, Key, Root};
use claim::Started;
use environment::{Built, Said, Seat};
pub use network::Network;

/// Runs the closure on every rank of this process, as the environment says, and returns their results.
///
/// If a launcher has started this process as a rank of a job, there is one result, of this rank.
/// Otherwise there is one for each of `NECKLACE_RANKS` threads.
///
/// | variable | says |
/// |---|---|
/// | `NECKLACE_BACKEND` | `local`: threads of this process, whatever else is set ([`connect`] refuses it); `tcp`: a rank over TCP; `mpi`: a rank of MPI |
/// | `NECKLACE_TOPOLOGY` | the network, such as `torus:4x4`; complete unless set |
/// | `NECKLACE_ALGORITHM` | the algorithm of alltoall, or several as `alltoall=ring,allgather=ring`; parts made by [`split`](Communicator::split) inherit those that fit them. [The log](crate::communicator#what-is-logged) says what runs |
/// | `NECKLACE_TIMEOUT` | the maximum time in seconds without progress in a call while a process does not answer or messages are under way, and until all ranks have joined, or `off`; 300 unless set |
/// | `NECKLACE_ARRIVAL_TIMEOUT` | how many seconds a call waits for a rank that answers but has not called, or `off`; 1800 unless set |
/// | threads | |
/// | `NECKLACE_RANKS` | the number of ranks; unless set, the number of nodes of the topology, or of cores |
/// | processes | |
/// | `NECKLACE_RANK`, `NECKLACE_SIZE` | which rank this is, of how many |
/// | `NECKLACE_ROOT` | the rendezvous address, where rank 0 listens: `host:port` |
/// | `NECKLACE_RENDEZVOUS` | instead of it, `file:PATH`: rank 0 writes into that file where it listens |
/// | `NECKLACE_KEY_FILE` | a file that holds the job's key, 16 to 4096 bytes, which no other user may read |
/// | `NECKLACE_ADDRESS` | the address on which this rank listens; unless set, that of the interface by which it reaches rank 0 |
/// | `NECKLACE_INSECURE` | `1`: a job without a key may listen where other machines reach it, and accepts any process |
///
/// Unless `NECKLACE_BACKEND` is set, a process is a rank where a launcher has said so. Without a key, ranks listen on
/// the loopback interface only.
///
/// `necklace run` sets all that is needed; a rank that it has started ends when its launcher on that host
/// is killed. Rank and size may also come from torchrun (`RANK`, `WORLD_SIZE`, and the meeting point from `MASTER_ADDR`,
/// `MASTER_PORT`), Slurm (`SLURM_PROCID`, `SLURM_NTASKS`), Open MPI (`OMPI_COMM_WORLD_RANK`, `_SIZE`), PMI (`PMI_RANK`,
/// `PMI_SIZE`) or MVAPICH (`MV2_COMM_WORLD_RANK`, `_SIZE`). The last four start programs of MPI. If one of
/// them has started a program that has the feature `mpi`, its ranks are those of MPI. Otherwise the ranks
/// meet over TCP; for all but torchrun, set `NECKLACE_ROOT` or `NECKLACE_RENDEZVOUS`. A launcher that says
/// that the size is 1 is ignored, except by [`connect`]. What Slurm says of a batch script gives way to a
/// launcher that was started in it. `NECKLACE_*` overrides them all.
///
/// A process returns when the other ranks have read what it has sent them; they do so whatever they are
/// doing. It waits for a rank that is stopped or unreachable as long as the longest deadline was, at most
/// half a minute.
///
/// # Errors
///
/// [`Error::Environment`] for an invalid variable, for a missing one, for launchers that disagree, and
/// for a backend that this program was built without; it never runs as a job of one rank where several
/// were started. `Error::Join`, over MPI `Error::Mpi`, if a rank cannot join. [`Error::Failed`], on at
/// least one of the ranks concerned, if ranks have dropped their communicators after different calls and no
/// message had shown it. [`Error::Rank`] if the closure panics; the other ranks get an error in their
/// calls. Otherwise as `local::run`.
pub fn launch<R: Send>(body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    Launch::default().run(body)
}

/// Joins the job that a launcher has started this process for, and returns its communicator.
///
/// The environment is that of [`launch`]. Dropping the last handle of the job waits until the others have
/// read what was sent, as there. A drop cannot report that ranks have made different calls;
/// [`close`](Communicator::close) does.
///
/// # Errors
///
/// [`Error::Environment`] if no launcher has started this process; otherwise those of [`launch`].
pub fn connect() -> Result<Communicator, Error> {
    Launch::default().connect()
}

/// A launch with defaults of the program. The environment overrides them.
#[derive(Clone, Default)]
pub struct Launch {
    #[cfg_attr(not(feature = "local"), allow(dead_code))]
    ranks: Option<usize>,
    topology: Option<Network>,
    topology_for: Option<NetworkFor>,
    algorithms: Vec<(String, How)>,
    options: Options,
}

/// The network for a number of ranks.
type NetworkFor = Arc<dyn Fn(usize) -> Network + Send + Sync>;

impl Launch {
    /// Sets the number of ranks.
    #[must_use]
    pub fn ranks(self, ranks: usize) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// Sets the network: a text such as `torus:4x4`, or a topology, which may be one of your own.
    ///
    /// Ranks compare it when they meet. If its text does not say what it is, they compare its links.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::{launch::Launch, topology::Graph};
    ///
    /// // Two triangles with a bridge.
    /// let network = Graph::from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)])?;
    /// let nodes = Launch::default().topology(Arc::new(network)).run(|comm| comm.topology().nodes())?;
    /// assert_eq!(nodes, [6; 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn topology(self, network: impl Into<Network>) -> Self {
        Self { topology: Some(network.into()), ..self }
    }

    /// Sets a function that returns the network for a number of ranks, used if no network is named.
    ///
    /// Without it, that network is complete.
    ///
    /// ```
    /// let launch = necklace::launch::Launch::default().ranks(6).topology_for(|ranks| format!("ring:{ranks}"));
    /// let networks = launch.run(|comm| comm.topology().text())?;
    /// assert_eq!(networks, ["ring:6"; 6]);
    /// # Ok::<(), necklace::Error>(())
    /// ```
    #[must_use]
    pub fn topology_for<N: Into<Network>>(self, network: impl Fn(usize) -> N + Send + Sync + 'static) -> Self {
        Self { topology_for: Some(Arc::new(move |ranks| network(ranks).into())), ..self }
    }

    /// Chooses an algorithm for a collective, as [`Communicator::choose`] does: by name, an algorithm of
    /// your own, or a schedule.
    #[must_use]
    pub fn choose(mut self, collective: &str, how: impl Into<How>) -> Self {
        self.algorithms.push((collective.to_owned(), how.into()));
        self
    }

    /// Sets the options of every communicator.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Runs the closure on every rank of this process and returns their results.
    ///
    /// # Errors
    ///
    /// Those of [`launch`].
    pub fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        match environment::read(&system, false, BUILT)? {
            Said::Threads => self.run_threads(body),
            Said::Process(seat) => self.run_process(&seat, body),
            Said::Mpi(started) => self.run_mpi(&started, body),
        }
    }

    /// Joins the job and returns the communicator of this process.
    ///
    /// # Errors
    ///
    /// Those of [`connect`].
    pub fn connect(self) -> Result<Communicator, Error> {
        match environment::read(&system, true, BUILT)? {
            Said::Process(seat) => self.join(&seat, system),
            Said::Mpi(started) => self.join_mpi(&started, system),
            Said::Threads => Err(Error::Environment(format!(
                "no launcher has started this process as a rank of a job: {}",
                start_words(BUILT)
            ))),
        }
    }

    #[cfg(feature = "local")]
    fn run_threads<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        self.job(system)?.run(body)
    }

    #[cfg(not(feature = "local"))]
    fn run_threads<R: Send>(self, _: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        Err(Error::Environment(format!(
            "no launcher has started this process as one of several ranks, and for ranks that are threads this program would have \
             to be built with the feature `local` of necklace: {}",
            start_words(BUILT)
        )))
    }

    /// The job of threads that these defaults and that environment ask for.
    #[cfg(feature = "local")]
    fn job(self, variable: impl Fn(&str) -> Option<String>) -> Result<Job, Error> {
        let ranks = number(&variable, "NECKLACE_RANKS")?.or(self.ranks);
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let asked = self.asked(ranks, cores, &variable)?;
        let job = Job::on(asked.topology).options(asked.options);
        Ok(asked.algorithms.iter().fold(job, |job, (collective, how)| job.choose(collective, how)))
    }

    #[cfg(feature = "tcp")]
    fn run_process<R>(self, seat: &Seat, body: impl Fn(Communicator) -> R) -> Result<Vec<R>, Error> {
        let (asked, join) = self.seated(seat, system)?;
        let (supervisor, endpoint) = join.supervised()?;
        run_rank(asked.communicator(endpoint)?, body, supervisor)
    }

    #[cfg(not(feature = "tcp"))]
    fn run_process<R>(self, _: &Seat, _: impl Fn(Communicator) -> R) -> Result<Vec<R>, Error> {
        Err(without("tcp"))
    }

    /// The communicator of that rank.
    #[cfg(feature = "tcp")]
    fn join(self, seat: &Seat, variable: impl Fn(&str) -> Option<String>) -> Result<Communicator, Error> {
        let (asked, join) = self.seated(seat, variable)?;
        asked.communicator(join.endpoint()?)
    }

    #[cfg(not(feature = "tcp"))]
    fn join(self, _: &Seat, _: impl Fn(&str) -> Option<String>) -> Result<Communicator, Error> {
        Err(without("tcp"))
    }

    /// What that rank was asked for, and how it joins its job.
    #[cfg(feature = "tcp")]
    fn seated(self, seat: &Seat, variable: impl Fn(&str) -> Option<String>) -> Result<(Asked, Join), Error> {
        if let Some(ranks) = number(&variable, "NECKLACE_RANKS")?.filter(|&ranks| ranks != seat.size) {
            return Err(Error::Environment(format!("NECKLACE_RANKS is {ranks}, but {}", seat.words)));
        }
        let asked = self.asked(Some(seat.size), || 1, &variable)?;
        let join = seating(seat)?.timeout(asked.options.join_timeout());
        Ok((asked, join))
    }

    #[cfg(feature = "mpi")]
    fn run_mpi<R>(self, started: &Started, body: impl Fn(Communicator) -> R) -> Result<Vec<R>, Error> {
        let (asked, join) = self.started(started, system)?;
        let (supervisor, endpoint) = join.supervised()?;
        run_rank(asked?.communicator(endpoint)?, body, supervisor)
    }

    #[cfg(not(feature = "mpi"))]
    fn run_mpi<R>(self, _: &Started, _: impl Fn(Communicator) -> R) -> Result<Vec<R>, Error> {
        Err(without("mpi"))
    }

    /// The communicator of a rank of MPI's.
    #[cfg(feature = "mpi")]
    fn join_mpi(self, started: &Started, variable: impl Fn(&str) -> Option<String>) -> Result<Communicator, Error> {
        let (asked, join) = self.started(started, variable)?;
        let endpoint = join.endpoint()?;
        asked?.communicator(endpoint)
    }

    #[cfg(not(feature = "mpi"))]
    fn join_mpi(self, _: &Started, _: impl Fn(&str) -> Option<String>) -> Result<Communicator, Error> {
        Err(without("mpi"))
    }

    /// What a rank of MPI's was asked for, and how it joins its job. One that is asked for what makes no sense joins it all the
    /// same: where the others are asked for something else, they hear that it has left, and do not wait for it.
    #[cfg(feature = "mpi")]
    fn started(
        self,
        started: &Started,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(Result<Asked, Error>, mpi::Join<'static>), Error> {
        let join = mpi::Join::world_within(timed(&self.options, &variable)?.join_timeout())?;
        let size = join.size()?;
        if let Some(words) = started.several.as_ref().filter(|_| size == 1) {
            return Err(Error::Environment(format!(
                "{words}, but for MPI this process is the only one: start it by the launcher of that MPI library which it is built \
                 with (`srun --mpi=list` names what Slurm has), or over TCP with NECKLACE_ROOT=host:port, where rank 0 is to listen"
            )));
        }
        let asked = match number(&variable, "NECKLACE_RANKS") {
            Ok(Some(ranks)) if ranks != size => {
                Err(Error::Environment(format!("NECKLACE_RANKS is {ranks}, but MPI has started {size}")))
            }
            Ok(_) => self.asked(Some(size), || 1, &variable),
            Err(error) => Err(error),
        };
        Ok((asked, join))
    }

    /// What these defaults and that environment ask for, of whatever kind the ranks are.
    fn asked(
        self,
        ranks: Option<usize>,
        unless: impl Fn() -> usize,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Asked, Error> {
        let topology = match variable("NECKLACE_TOPOLOGY").map(Network::from).or(self.topology) {
            Some(network) => network.load().map_err(BuildError::from)?,
            None => {
                let ranks = ranks.unwrap_or_else(unless);
                match (self.topology_for, Complete::new(ranks)) {
                    (_, None) => return Err(Error::Argument(format!("a job of {ranks} ranks"))),
                    (Some(network), Some(_)) => network(ranks).load().map_err(BuildError::from)?,
                    (None, Some(complete)) => Arc::new(complete),
                }
            }
        };
        if let Some(ranks) = ranks.filter(|&ranks| ranks != topology.nodes()) {
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes: topology.nodes() }.into());
        }
        let options = timed(&self.options, &variable)?;
        let chosen = variable("NECKLACE_ALGORITHM");
        chosen.iter().for_each(|text| log::debug!("NECKLACE_ALGORITHM is {}", quoted(text)));
        let chosen = chosen.iter().flat_map(|text| text.split(',')).map(|part| match part.split_once('=') {
            // A name may have parameters: `bruck:radix=4` is not of a collective called `bruck:radix`.
            Some((collective, name)) if !collective.contains(':') => (collective.to_owned(), name.into()),
            _ => ("alltoall".to_owned(), part.into()),
        });
        let algorithms = self.algorithms.into_iter().chain(chosen).collect();
        Ok(Asked { topology, options, algorithms })
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, topology, algorithms, options, .. } = self;
        let mut launch = f.debug_struct("Launch");
        launch.field("ranks", ranks).field("topology", topology).field("algorithms", algorithms);
        launch.field("options", options).finish_non_exhaustive()
    }
}

/// Returns the options with the timeouts of the environment.
fn timed(options: &Options, variable: impl Fn(&str) -> Option<String>) -> Result<Options, Error> {
    let mut options = options.clone();
    if let Some(timeout) = timeout(&variable, "NECKLACE_TIMEOUT")? {
        options = options.timeout(timeout);
    }
    if let Some(timeout) = timeout(&variable, "NECKLACE_ARRIVAL_TIMEOUT")? {
        options = options.arrival_timeout(timeout);
    }
    Ok(options)
}

/// Reads a timeout: `Some(None)` if it is off.
fn timeout(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<Option<Duration>>, Error> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(Some(Some(Duration::from_secs(seconds)))),
        _ if text == "off" => Ok(Some(None)),
        _ => Err(Error::Environment(format!(
            "{name} is {}, it must be a number of seconds of at least 1, or off",
            quoted(&text)
        ))),
    }
}

/// What was asked for.
struct Asked {
    topology: Arc<dyn Topology>,
    options: Options,
    algorithms: Vec<(String, How)>,
}

#[cfg(any(feature = "mpi", feature = "tcp"))]
impl Asked {
    fn communicator(self, endpoint: Arc<dyn Endpoint>) -> Result<Communicator, Error> {
        let mut comm = Communicator::with_options(endpoint, self.topology, self.options)?;
        for (collective, how) in &self.algorithms {
            comm.choose(collective, how)?;
        }
        Ok(comm)
    }
}

/// Runs the closure on a process's communicator. If it panics, the others are told. What ranks have called is compared at the end,
/// where the closure has let go of all communicators.
#[cfg(any(feature = "mpi", feature = "tcp"))]
fn run_rank<R>(comm: Communicator, body: impl Fn(Communicator) -> R, supervisor: Supervisor) -> Result<Vec<R>, Error> {
    let rank = Rank::new(comm.rank());
    match catch_unwind(AssertUnwindSafe(|| body(comm))) {
        Ok(result) => supervisor.end().map_or_else(|| Ok(vec![result]), |discord| Err(discord.into())),
        Err(payload) => {
            let message = panic_words(&*payload);
            supervisor.panicked(message);
            Err(Error::Rank { rank, how: format!("panicked: {message}") })
        }
    }
}

/// How that rank joins its job.
#[cfg(feature = "tcp")]
fn seating(seat: &Seat) -> Result<Join, Error> {
    let (root, advice) = match seat.point.clone() {
        Some(environment::Point::Address(address, advice)) => (Root::Address(address), advice),
        Some(environment::Point::File(path)) => (Root::File(path), None),
        // One rank goes nowhere.
        None => (Root::Address(String::new()), None),
    };
    let mut join = Join::new(seat.rank, seat.size, root).insecure(seat.insecure).held(seat.held).advice(advice);
    if let Some(path) = &seat.key {
        join = join.key(Key::read(path)?);
        #[cfg(unix)]
        if seat.locked {
            launcher::end_with_launcher(path);
        }
    }
    if let Some(address) = seat.address {
        join = join.address(address);
    }
    Ok(join)
}

/// What this program has been built with.
const BUILT: Built = Built { local: cfg!(feature = "local"), tcp: cfg!(feature = "tcp"), mpi: cfg!(feature = "mpi") };

/// How to start what has been built as a rank.
fn start_words(built: Built) -> &'static str {
    match (built.tcp, built.mpi) {
        (true, true) => {
            "start it with `necklace run -n N -- PROGRAM`, or, as ranks of MPI's, with `mpirun -n N PROGRAM` \
             (NECKLACE_BACKEND=mpi also for one rank); or set NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT"
        }
        (true, false) => {
            "start it with `necklace run -n N -- PROGRAM`, or set NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT; for \
             `mpirun -n N PROGRAM` it would have to be built with the feature `mpi` of necklace"
        }
        (false, true) => {
            "start it with `mpirun -n N PROGRAM` (NECKLACE_BACKEND=mpi also for one rank); for `necklace run` it would have to \
             be built with the feature `tcp` of necklace"
        }
        (false, false) => {
            "build this program with the feature `tcp` of necklace, or `mpi`, for ranks that are processes"
        }
    }
}

/// Not met: reading the environment refuses it before.
#[cfg(not(all(feature = "mpi", feature = "tcp")))]
fn without(feature: &str) -> Error {
    Error::Environment(format!("this program was built without the feature `{feature}` of necklace"))
}

/// A variable of this process. What is no Unicode becomes what no variable may be, and is refused as such.
fn system(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// A number of at least 1.
fn number(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>, Error> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(Error::Environment(format!("{name} is {}, it must be a number of at least 1", quoted(&text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::JoinError;

    fn job(launch: Launch, environment: &[(&str, &str)]) -> Result<Job, Error> {
        launch.job(|name| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    fn ranks(launch: Launch, environment: &[(&str, &str)]) -> Vec<String> {
        job(launch, environment).unwrap().run(|comm| comm.topology().text()).unwrap()
    }

    #[test]
    fn the_environment_overrides_the_program() {
        let program = Launch::default().topology("ring:4").choose("alltoall", "ring");
        assert_eq!(ranks(program.clone(), &[]), ["ring:4"; 4]);
        assert_eq!(ranks(program, &[("NECKLACE_TOPOLOGY", "torus:2x3")]), ["torus:2x3"; 6]);
        assert_eq!(ranks(Launch::default().ranks(5), &[("NECKLACE_RANKS", "3")]), ["complete:3"; 3]);
    }

    #[test]
    fn a_network_for_any_number_of_ranks_gives_way_to_one_that_is_named() {
        let program = Launch::default().ranks(5).topology_for(|ranks| format!("ring:{ranks}"));
        assert_eq!(ranks(program.clone(), &[]), ["ring:5"; 5]);
        assert_eq!(ranks(program.clone(), &[("NECKLACE_RANKS", "3")]), ["ring:3"; 3]);
        assert_eq!(ranks(program.clone().topology("line:5"), &[]), ["line:5"; 5]);
        assert_eq!(ranks(program, &[("NECKLACE_TOPOLOGY", "complete:5")]), ["complete:5"; 5]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let refused = [("NECKLACE_RANKS", "0"), ("NECKLACE_RANKS", "many")];
        let timeouts = ["NECKLACE_TIMEOUT", "NECKLACE_ARRIVAL_TIMEOUT"];
        let values = ["-1", "0", "1.5", "soon", "OFF", " off", "99999999999999999999"];
        let refused_timeouts = timeouts.iter().flat_map(|name| values.map(|value| (*name, value)));
        for (name, value) in refused.into_iter().chain(refused_timeouts) {
            let message = job(Launch::default(), &[(name, value)]).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(value), "{message}");
        }
        let message = job(Launch::default().ranks(3), &[("NECKLACE_TOPOLOGY", "ring:4")]).unwrap_err().to_string();
        assert!(message.contains("3 ranks on ring:4"), "{message}");
        assert!(message.contains("use 4 ranks") && message.contains("NECKLACE_TOPOLOGY=complete:3"), "{message}");
    }

    #[test]
    fn a_process_that_nobody_has_started_is_told_what_this_program_is_built_for() {
        let (run, mpirun, tcp, mpi) = ("`necklace run", "`mpirun", "feature `tcp`", "feature `mpi`");
        let started = |tcp, mpi| start_words(Built { local: true, tcp, mpi });
        let says = |words: &str, all: &[&str]| assert!(all.iter().all(|one| words.contains(one)), "{words}");
        says(started(true, true), &[run, mpirun, "NECKLACE_BACKEND=mpi", "NECKLACE_ROOT"]);
        says(started(true, false), &[run, mpirun, mpi, "NECKLACE_ROOT"]);
        says(started(false, true), &[mpirun, "NECKLACE_BACKEND=mpi", tcp]);
        says(started(false, false), &[tcp, "`mpi`"]);
        assert!(![started(true, true), started(true, false)].iter().any(|words| words.contains(tcp)));
        assert!(![started(true, true), started(false, true)].iter().any(|words| words.contains(mpi)));
    }

    fn joined(launch: Launch, environment: &[(&str, &str)]) -> Result<Communicator, Error> {
        let variable = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        match environment::read(&variable, false, BUILT)? {
            Said::Process(seat) => launch.join(&seat, variable),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_rank_that_asks_for_what_cannot_be_does_not_join() {
        let rank = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "4"), ("NECKLACE_ROOT", "127.0.0.1:1")];
        let refused = |launch, name, value, words: &[&str]| {
            let message = joined(launch, &[&rank[..], &[(name, value)]].concat()).unwrap_err().to_string();
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        };
        refused(Launch::default(), "NECKLACE_TOPOLOGY", "ring:5", &["4 ranks on ring:5"]);
        refused(Launch::default().topology("torus:4x4"), "NECKLACE_INSECURE", "0", &["4 ranks on torus:4x4"]);
        refused(Launch::default(), "NECKLACE_RANKS", "5", &["NECKLACE_RANKS is 5", "NECKLACE_SIZE is 4"]);
        refused(Launch::default(), "NECKLACE_TIMEOUT", "0", &["NECKLACE_TIMEOUT"]);
        refused(Launch::default(), "NECKLACE_KEY_FILE", "/no/such/file", &["/no/such/file"]);
    }

    #[test]
    fn environment_sets_timeouts_and_turns_them_off() {
        let program = Options::default().timeout(Duration::from_secs(3)).arrival_timeout(Duration::from_secs(4));
        let timeouts = |variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).into());
            let options = timed(&program, variable).unwrap();
            (options.join_timeout(), format!("{options:?}"))
        };
        let (silence, arrival) = ("NECKLACE_TIMEOUT", "NECKLACE_ARRIVAL_TIMEOUT");
        let off = format!("{:?}", Duration::MAX);
        for (variables, expected) in [
            (&[][..], ("3s", "4s")),
            (&[(silence, "5")], ("5s", "4s")),
            (&[(arrival, "6")], ("3s", "6s")),
            (&[(silence, "off")], (&off, "4s")),
            (&[(silence, "7"), (arrival, "off")], ("7s", &off)),
        ] {
            let (join, options) = timeouts(variables);
            let words = format!("silence: {}, arrival: {}", expected.0, expected.1);
            assert!(options.contains(&words), "{variables:?}: {options}");
            assert_eq!(format!("{join:?}"), expected.0);
        }
    }

    #[test]
    fn the_wait_for_rank_0_ends_with_the_timeout() {
        let rank = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "2"), ("NECKLACE_ROOT", "127.0.0.1:1")];
        let error = joined(Launch::default(), &[&rank[..], &[("NECKLACE_TIMEOUT", "1")]].concat()).unwrap_err();
        let Error::Join(JoinError::Unreachable { waited, .. }) = &error else { panic!("{error}") };
        assert_eq!(*waited, Duration::from_secs(1));
        let quick = Launch::default().options(Options::default().timeout(Duration::from_millis(100)));
        let error = joined(quick, &rank).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1") && error.to_string().contains("100ms"), "{error}");
    }

    #[test]
    fn algorithms_are_named_for_alltoall_or_by_collective() {
        let chosen = |text| {
            let job = job(Launch::default().ranks(4), &[("NECKLACE_ALGORITHM", text)]).unwrap();
            job.run(|comm| {
                let name = |c| comm.explain(&c, 8).unwrap().algorithm.name();
                (name(crate::collective::Collective::Alltoall), name(crate::collective::Collective::Allgather))
            })
        };
        assert_eq!(chosen("ring").unwrap()[0].0, "ring");
        assert_eq!(chosen("alltoall=direct-xor,allgather=ring").unwrap()[1], ("direct-xor".into(), "ring".into()));
        assert!(chosen("brick").unwrap_err().to_string().contains("direct-rotated"));
    }
}

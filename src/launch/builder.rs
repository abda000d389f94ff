//! The builder of a launch: the defaults of a program.

use std::fmt;
use std::sync::Arc;

#[cfg(all(unix, feature = "tcp"))]
use super::backend::tcp::{Processes, of_others};
use super::backend::{Environment, JoinedJob, Row, THREADS};
use super::network::Network;
use super::request::{ChosenAlgorithm, Defaults, JobRequest, NetworkFor, SettingOrigin};
use super::run::run;
use super::variable::{self, Variable, no_launcher};
use crate::communicator::{Communicator, How, Options};
use crate::error::{JobCause, JobError};
use crate::transport::Endpoint;

/// Starts or joins a job, with defaults of the program.
///
/// [`Launch::from_env`] reads the environment, which also overrides the defaults.
/// [`Launch::threads`] runs threads of this process, whatever the environment says, and
/// `Launch::processes` starts this program as processes.
///
/// ```
/// use necklace::launch::Launch;
///
/// let launch = Launch::threads().topology("ring:4").choose("allgather", "ring");
/// let results = launch.run(|mut comm| {
///     let mut all = [0; 4];
///     comm.allgather(&[comm.rank()], &mut all).map(|()| all)
/// })?;
/// assert_eq!(results[2].as_ref().unwrap(), &[0, 1, 2, 3]);
/// # Ok::<(), necklace::JobError>(())
/// ```
#[derive(Clone, Default)]
pub struct Launch {
    kind: Kind,
    defaults: Defaults,
}

/// The ranks of a launch.
#[derive(Clone, Debug, Default)]
enum Kind {
    /// As the environment says.
    #[default]
    FromEnvironment,
    #[cfg_attr(not(feature = "local"), allow(dead_code))]
    Threads,
    #[cfg(all(unix, feature = "tcp"))]
    Processes(Processes),
}

impl Launch {
    /// Makes a launch that reads the environment, as [`launch`](crate::launch()) does. This is the
    /// default.
    #[must_use]
    pub fn from_env() -> Self {
        Self::default()
    }

    /// Makes a launch whose ranks are threads of this process. It reads no variable of the
    /// environment. Needs the feature `local`.
    #[cfg(feature = "local")]
    #[must_use]
    pub fn threads() -> Self {
        Self { kind: Kind::Threads, ..Self::default() }
    }

    /// Makes a launch whose ranks are processes: this one is rank 0, and [`run`](Self::run) starts
    /// the others, which communicate with it over TCP. Needs the feature `tcp`, on Unix.
    ///
    /// They are the same program with the same arguments, in the working directory and with the
    /// environment of this moment. Each runs it from the beginning to this launch, takes part as
    /// one rank, gets its own result, and goes on. A rank's panic is an error in its own process,
    /// which has to end with it, as by `unwrap`. In a `#[test]` they run that test alone, also under
    /// `cargo nextest`, if the test program lies where Cargo has put it. So `cargo test` tests an
    /// application with real processes:
    ///
    /// ```no_run
    /// # #[cfg(all(unix, feature = "tcp"))]
    /// #[test]
    /// fn every_process_has_the_sum() {
    ///     let sums = necklace::launch::Launch::processes(3).topology("ring:3").run(|mut comm| {
    ///         let mut sum = [0];
    ///         comm.allreduce(&[comm.rank()], &mut sum, necklace::op::Sum).unwrap();
    ///         sum[0]
    ///     });
    ///     // One result in each process.
    ///     assert_eq!(sums.unwrap(), [3]);
    /// }
    /// ```
    ///
    /// `run` returns in this process when all others have ended, however long they go on after the
    /// job. It fails as soon as one has failed: with a status other than 0, by a signal, or before
    /// it has joined the job. The others then have a second to report that, and are killed. If a
    /// call has failed, they have the [timeout](Options::timeout) to end.
    ///
    /// The output of a test's processes is captured: the error has the last 8 KiB of the process
    /// that failed. A program's processes share its output. Their standard input is empty. If this
    /// process is killed, those that have joined the job end at once, others when they reach this
    /// launch.
    ///
    /// A program, or a test, can start processes once, and has to call `run` on the thread that the
    /// test harness has named after the test. What it does before, such as a
    /// [launch](crate::launch()) of threads, each process does as well. A `#[should_panic]` test
    /// has to panic in all of them.
    ///
    /// Options and variables are those of [`launch`](crate::launch()), also `NECKLACE_RANKS`. If a
    /// launcher has started this process as a rank, it joins that launcher's job instead, of any
    /// number of ranks. With `NECKLACE_BACKEND=local`, the ranks are threads.
    ///
    /// # Errors of `run`
    ///
    /// Beside those of [`launch`](crate::launch()): [`JobCause::Start`] if the processes cannot be
    /// started, or were before; [`JobCause::Process`] with the rank whose process has failed.
    #[cfg(all(unix, feature = "tcp"))]
    #[must_use]
    #[track_caller]
    pub fn processes(ranks: usize) -> Self {
        let origin = SettingOrigin::method("Launch::processes");
        let kind = Kind::Processes(Processes::new(origin));
        Self { kind, ..Self::default() }.ranks_from(ranks, origin)
    }

    /// Sets the number of ranks, where they are threads. Unless it is set, there is a rank for each
    /// node of the network, or, without a network, for each core.
    #[must_use]
    #[track_caller]
    pub fn ranks(self, ranks: usize) -> Self {
        self.ranks_from(ranks, SettingOrigin::method("Launch::ranks"))
    }

    pub(crate) fn ranks_from(mut self, ranks: usize, origin: SettingOrigin) -> Self {
        self.defaults.ranks = Some((ranks, origin));
        self
    }

    /// Sets the network: a text such as `torus:4x4`, or a topology, which may be one of your own.
    ///
    /// Ranks compare their networks at the start: by the text, or, if the text does not describe a
    /// network, by its links.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::{launch::Launch, topology::Graph};
    ///
    /// // Two triangles with a bridge.
    /// let network = Graph::from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)])?;
    /// let nodes = Launch::from_env().topology(Arc::new(network)).run(|comm| comm.topology().nodes())?;
    /// assert_eq!(nodes, [6; 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn topology(self, network: impl Into<Network>) -> Self {
        self.topology_from(network.into(), SettingOrigin::method("Launch::topology"))
    }

    pub(crate) fn topology_from(mut self, network: Network, origin: SettingOrigin) -> Self {
        self.defaults.topology = Some((network, origin));
        self
    }

    /// Sets a function that returns the network for a number of ranks, used if no network is named.
    ///
    /// Without it, that network is complete.
    ///
    /// ```
    /// let launch = necklace::launch::Launch::from_env().ranks(6).topology_for(|ranks| format!("ring:{ranks}"));
    /// let networks = launch.run(|comm| comm.topology().text())?;
    /// assert_eq!(networks, ["ring:6"; 6]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn topology_for<N: Into<Network>>(mut self, network: impl Fn(usize) -> N + Send + Sync + 'static) -> Self {
        let network: NetworkFor = Arc::new(move |ranks| network(ranks).into());
        self.defaults.topology_for = Some((network, SettingOrigin::method("Launch::topology_for")));
        self
    }

    /// Chooses an algorithm for a collective on every communicator, as [`Communicator::choose`]
    /// does: by name, an algorithm of your own, or a schedule, which is verified once for all ranks
    /// of a process.
    #[must_use]
    #[track_caller]
    pub fn choose(mut self, collective: &str, how: impl Into<How>) -> Self {
        let origin = SettingOrigin::method("Launch::choose");
        self.defaults.algorithms.push(ChosenAlgorithm { collective: collective.to_owned(), how: how.into(), origin });
        self
    }

    /// Sets the options of every communicator.
    #[must_use]
    #[track_caller]
    pub fn options(mut self, options: Options) -> Self {
        self.defaults.options_origin = SettingOrigin::method("Launch::options");
        self.defaults.options = options;
        self
    }

    /// Wraps the endpoint of each rank of this process, over any backend: in a
    /// [trace](crate::transport::trace), in [faults](crate::transport::fault), or in a wrapper of
    /// your own.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::launch::Launch;
    /// use necklace::transport::trace::Tracing;
    ///
    /// let tracing = Tracing::new();
    /// let log = tracing.clone();
    /// let launch = Launch::from_env().ranks(2).wrap(move |endpoint| Arc::new(log.wrap(endpoint)));
    /// launch.run(|mut comm| comm.barrier())?;
    /// assert!(!tracing.events().is_empty());
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    #[must_use]
    pub fn wrap(mut self, wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync + 'static) -> Self {
        self.defaults.wrap = Some(Arc::new(wrap));
        self
    }

    /// Runs the closure on every rank of this process and returns the results by rank. If the
    /// closure returns an `Err`, that is a result too.
    ///
    /// # Errors
    ///
    /// Those of [`launch`](crate::launch()).
    pub fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
        self.check_spelling()?;
        let (row, joined, request) = self.start(&variable::of_process, false)?;
        run(joined, row.threads, |endpoint| request.communicator(endpoint), body)
    }

    /// Joins the job and returns the communicator of this process.
    ///
    /// # Errors
    ///
    /// [`JobCause::NotProcesses`] for a launch of [`threads`](Self::threads); otherwise those of
    /// [`connect`](crate::connect()). It starts no processes.
    pub fn connect(self) -> Result<Communicator, JobError> {
        self.check_spelling()?;
        self.connect_by(&variable::of_process)
    }

    /// Refuses misspelt variables, if the launch reads the environment.
    fn check_spelling(&self) -> Result<(), JobError> {
        if matches!(self.kind, Kind::Threads) { Ok(()) } else { variable::check_spelling() }
    }

    pub(super) fn connect_by(self, variable: Variable<'_>) -> Result<Communicator, JobError> {
        if matches!(self.kind, Kind::Threads) {
            return Err(JobCause::NotProcesses.into());
        }
        let (_, JoinedJob { endpoints, .. }, request) = self.start(variable, true)?;
        let none = || no_launcher("");
        let endpoint = endpoints.into_iter().next().ok_or_else(none)?;
        request.communicator(endpoint)
    }

    /// Starts or joins the job that the defaults and the environment request.
    pub(super) fn start(
        self,
        variable: Variable<'_>,
        connects: bool,
    ) -> Result<(&'static Row, JoinedJob, JobRequest), JobError> {
        let Self { kind, defaults } = self;
        let built = |row: &Row| row.built;
        #[cfg(all(unix, feature = "tcp"))]
        let masked = |name: &str| of_others(variable, name);
        let variable: Variable<'_> = match kind {
            Kind::Threads => &variable::none,
            #[cfg(all(unix, feature = "tcp"))]
            Kind::FromEnvironment => &masked,
            #[cfg(all(unix, feature = "tcp"))]
            Kind::Processes(_) if connects => &masked,
            _ => variable,
        };
        let environment = Environment::new(variable, connects, &built)?;
        let timeout = defaults.options(variable)?.join_timeout();
        let own = match kind {
            #[cfg(all(unix, feature = "tcp"))]
            Kind::Processes(processes) if !connects => processes.enter(&environment, timeout)?,
            _ => None,
        };
        let (row, entry) = match own {
            Some(own) => own,
            None => {
                let (row, claim) = match kind {
                    Kind::Threads => (THREADS, None),
                    _ => environment.backend()?,
                };
                let enter = row.enter.ok_or_else(|| row.not_built(String::new()))?;
                (row, enter(row, &environment, claim, timeout)?)
            }
        };
        let request = match defaults.request(entry.size(), entry.most(), variable) {
            Ok(request) => request,
            Err(error) => {
                entry.decline()?;
                return Err(error);
            }
        };
        let joined = entry.join(request.topology.ranks(), !connects)?;
        if let Some(endpoint) = joined.endpoints.first() {
            let (here, all) = (joined.endpoints.len(), request.topology.ranks());
            log::debug!("{here} of {all}: {}, at the prices {}", row.ranks, endpoint.machine());
        }
        Ok((row, joined, request))
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, defaults: Defaults { ranks, topology, algorithms, options, .. } } = self;
        let mut launch = f.debug_struct("Launch");
        launch.field("kind", kind).field("ranks", ranks).field("topology", topology);
        launch.field("algorithms", algorithms).field("options", options).finish_non_exhaustive()
    }
}

//! The job that a launch requests: the program's defaults, overridden by the environment.

use std::fmt;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::sync::Arc;
use std::thread;

use super::backend::Size;
use super::network::Network;
use super::variable::{Variable, contradiction, invalid, number, timeout};
use crate::communicator::{Communicator, How, Options, can_be_chosen, check_names};
use crate::error::{BuildError, JobCause, JobError};
use crate::load::load_machine;
use crate::quote::quoted;
use crate::topology::{Complete, Topology};
use crate::transport::Endpoint;

/// The defaults of a program.
#[derive(Clone, Default)]
pub(super) struct Defaults {
    pub(super) ranks: Option<(usize, SettingOrigin)>,
    pub(super) topology: Option<(Network, SettingOrigin)>,
    pub(super) topology_for: Option<(NetworkFor, SettingOrigin)>,
    pub(super) algorithms: Vec<ChosenAlgorithm>,
    pub(super) options: Options,
    pub(super) options_origin: SettingOrigin,
    pub(super) wrap: Option<Wrap>,
}

/// An algorithm chosen for a collective.
#[derive(Clone, Debug)]
pub(super) struct ChosenAlgorithm {
    pub(super) collective: String,
    pub(super) how: How,
    pub(super) origin: SettingOrigin,
}

/// The place where a value is set, as errors name it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum SettingOrigin {
    /// The value is the default.
    #[default]
    Default,
    /// An environment variable of that name.
    Variable(&'static str),
    /// A method or a function, called at that place in the program.
    Method(&'static str, &'static Location<'static>),
}

impl SettingOrigin {
    /// Returns the words for errors, unless the value is the default.
    fn place(self) -> Option<String> {
        (!matches!(self, Self::Default)).then(|| self.to_string())
    }

    /// Returns the origin of the caller of a method.
    #[track_caller]
    pub(crate) fn method(name: &'static str) -> Self {
        Self::Method(name, Location::caller())
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default options"),
            Self::Variable(name) => f.write_str(name),
            Self::Method(name, at) => write!(f, "{name} ({at})"),
        }
    }
}

/// Returns the network for a number of ranks.
pub(super) type NetworkFor = Arc<dyn Fn(usize) -> Network + Send + Sync>;

/// Wraps the endpoint of a rank.
pub(super) type Wrap = Arc<dyn Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync>;

impl Defaults {
    /// Returns the options, with the timeouts and the machine that the environment sets.
    pub(super) fn options(&self, variable: Variable<'_>) -> Result<Options, JobError> {
        let mut options = self.options.clone();
        if let Some(timeout) = timeout(variable, "NECKLACE_TIMEOUT")? {
            options = options.timeout(timeout);
        }
        if let Some(timeout) = timeout(variable, "NECKLACE_ARRIVAL_TIMEOUT")? {
            options = options.arrival_timeout(timeout);
        }
        if let Some(text) = variable(MACHINE) {
            let machine =
                load_machine(&text).map_err(|source| JobCause::Machine { place: MACHINE.to_owned(), source })?;
            options = options.machine(machine);
        }
        Ok(options)
    }

    /// Returns the request for a job. The launcher may have set the number of ranks, of which the
    /// backend allows `most`.
    pub(super) fn request(
        self,
        size: Option<Size>,
        most: usize,
        variable: Variable<'_>,
    ) -> Result<JobRequest, JobError> {
        let options = self.options(variable)?;
        let said = number(variable, "NECKLACE_RANKS")?;
        let ranks = match (size, said) {
            (Some(Size { ranks, source }), Some(said)) if said != ranks => {
                return Err(contradiction(format!("NECKLACE_RANKS is {said}"), source, "unset NECKLACE_RANKS"));
            }
            (Some(size), _) => Some((size.ranks, SettingOrigin::Default)),
            (None, Some(said)) => Some((said, SettingOrigin::Variable("NECKLACE_RANKS"))),
            (None, None) => self.ranks,
        };
        let not_allowed = |ranks, origin: SettingOrigin| JobCause::Ranks { place: origin.place(), ranks, most };
        let said = variable(TOPOLOGY).map(|text| (Network::from(text), SettingOrigin::Variable(TOPOLOGY)));
        let (topology, origin) = match said.or(self.topology) {
            Some((network, origin)) => (load(network, origin)?, origin),
            None => {
                let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
                let (ranks, set_by) = ranks.unwrap_or_else(|| (cores(), SettingOrigin::Default));
                match (self.topology_for, Complete::new(ranks).ok().filter(|_| ranks <= most)) {
                    (_, None) => return Err(not_allowed(ranks, set_by).into()),
                    (Some((network, origin)), Some(_)) => (load(network(ranks), origin)?, origin),
                    (None, Some(complete)) => (Arc::new(complete) as Arc<dyn Topology>, set_by),
                }
            }
        };
        if topology.ranks() > most {
            return Err(not_allowed(topology.ranks(), origin).into());
        }
        if let Some((ranks, _)) = ranks.filter(|&(ranks, _)| ranks != topology.ranks()) {
            let error = BuildError::Ranks { ranks, topology: topology.text(), nodes: topology.ranks() };
            return Err(unusable(error, origin));
        }
        let algorithms = self.algorithms.into_iter().chain(algorithms(variable)?).collect();
        Ok(JobRequest { topology, options, options_origin: self.options_origin, algorithms, wrap: self.wrap })
    }
}

/// Checks the settings that do not depend on the job: `NECKLACE_ALGORITHM`, `NECKLACE_MACHINE`,
/// `NECKLACE_TIMEOUT` and `NECKLACE_ARRIVAL_TIMEOUT`. For launchers, which can refuse them before
/// they start ranks.
///
/// `variable` looks a variable up. Whether an algorithm fits the network is not checked.
///
/// ```
/// use necklace::launch::check_settings;
/// let set = |name: &str| (name == "NECKLACE_ALGORITHM").then(|| "allgather=rung".to_owned());
/// let error = check_settings(&set).unwrap_err().to_string();
/// assert!(error.starts_with("NECKLACE_ALGORITHM: unknown algorithm \"rung\" for allgather; expected one of auto, "));
/// ```
///
/// # Errors
///
/// [`JobCause::Variable`], [`JobCause::Argument`] and [`JobCause::Machine`], as those of
/// [`launch`](super::launch()).
pub fn check_settings(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), JobError> {
    Defaults::default().options(variable)?;
    for ChosenAlgorithm { collective, how, origin } in algorithms(variable)? {
        check_names(&collective, &how.name())
            .map_err(|source| JobCause::Argument { place: origin.to_string(), source })?;
    }
    Ok(())
}

const TOPOLOGY: &str = "NECKLACE_TOPOLOGY";
const MACHINE: &str = "NECKLACE_MACHINE";

fn load(network: Network, origin: SettingOrigin) -> Result<Arc<dyn Topology>, JobError> {
    network.load().map_err(|error| unusable(error.into(), origin))
}

/// Returns the error for a network that cannot be that of the job.
fn unusable(source: BuildError, origin: SettingOrigin) -> JobError {
    JobCause::Network { place: Some(origin.to_string()), source }.into()
}

/// Returns the algorithms that the environment names, by collective.
fn algorithms(variable: Variable<'_>) -> Result<Vec<ChosenAlgorithm>, JobError> {
    const NAME: &str = "NECKLACE_ALGORITHM";
    let Some(text) = variable(NAME) else { return Ok(Vec::new()) };
    log::debug!("{NAME} is {}", quoted(&text));
    let mut chosen: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        // A name may have parameters: in `bruck:radix=4`, `bruck:radix` is not a collective.
        let setting = part.split_once('=').filter(|(key, _)| !key.contains(':'));
        match (setting, chosen.last_mut()) {
            // In `bruck:radix=4,ports=all`, `ports` is not one either.
            (Some((key, _)), Some((_, name))) if name.contains(':') && !can_be_chosen().any(|known| known == key) => {
                *name += ",";
                *name += part;
            }
            (Some((collective, name)), _) => chosen.push((collective, name.to_owned())),
            (None, _) => chosen.push(("alltoall", part.to_owned())),
        }
    }
    let twice = |(at, (collective, _)): (usize, &(&str, _))| chosen[..at].iter().any(|(other, _)| other == collective);
    if let Some((_, (collective, _))) = chosen.iter().enumerate().find(|found| twice(*found)) {
        return Err(invalid(NAME, &text, format!("one algorithm for {}", quoted(collective))));
    }
    let origin = SettingOrigin::Variable(NAME);
    let chosen = chosen.into_iter().map(|(collective, how)| ChosenAlgorithm {
        collective: collective.to_owned(),
        how: how.into(),
        origin,
    });
    Ok(chosen.collect())
}

/// The network and the options of a job.
pub(super) struct JobRequest {
    pub(super) topology: Arc<dyn Topology>,
    options: Options,
    options_origin: SettingOrigin,
    algorithms: Vec<ChosenAlgorithm>,
    wrap: Option<Wrap>,
}

impl JobRequest {
    /// Makes the communicator of a rank.
    pub(super) fn communicator(&self, endpoint: Arc<dyn Endpoint>) -> Result<Communicator, JobError> {
        let rank = endpoint.rank();
        let endpoint = match &self.wrap {
            Some(wrap) => wrap(endpoint),
            None => endpoint,
        };
        let mut comm = Communicator::of_job(endpoint, Arc::clone(&self.topology), self.options.clone())
            .map_err(|error| JobError::communicator(rank, &self.options_origin, error))?;
        for ChosenAlgorithm { collective, how, origin } in &self.algorithms {
            comm.choose_how(collective, how.clone())
                .map_err(|error| JobError::communicator(rank, origin, error.into()))?;
        }
        Ok(comm)
    }
}

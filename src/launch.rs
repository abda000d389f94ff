//! Starts the ranks of a program: as its environment says.

use std::env;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::communicator::{Communicator, Options};
use crate::error::{BuildError, Error};
use crate::local::Job;
use crate::topology::{Complete, Topology, parse};

/// Runs the closure on every rank of this process, as the environment says, and returns their results.
///
/// | variable | says |
/// |---|---|
/// | `NECKLACE_BACKEND` | `local`: threads of this process. So far the only one there is, and what is meant if unset. |
/// | `NECKLACE_RANKS` | how many threads; unless set, as many as the topology has nodes, or the machine cores |
/// | `NECKLACE_TOPOLOGY` | the network, such as `torus:4x4`; complete unless set |
/// | `NECKLACE_ALGORITHM` | the algorithm of alltoall, or several as `alltoall=ring,allgather=ring` |
/// | `NECKLACE_TIMEOUT` | seconds without progress after which a call fails; 300 unless set |
///
/// # Errors
///
/// [`Error::Environment`] for a variable that makes no sense, and where a launcher has started this process as one of
/// several: there are no backends for processes yet, and several jobs of one process each are not what was asked for.
/// Else as [`local::run`](crate::local::run).
pub fn launch<R: Send>(body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    Launch::default().run(body)
}

/// A launch with defaults of the program's own; the environment overrides them.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    ranks: Option<usize>,
    topology: Option<String>,
    algorithms: Vec<(String, String)>,
    options: Options,
}

impl Launch {
    /// With so many ranks.
    #[must_use]
    pub fn ranks(self, ranks: usize) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// On that network.
    #[must_use]
    pub fn topology(self, text: &str) -> Self {
        Self { topology: Some(text.to_owned()), ..self }
    }

    /// With an algorithm for a collective, as by [`Communicator::choose`].
    #[must_use]
    pub fn choose(mut self, collective: &str, algorithm: &str) -> Self {
        self.algorithms.push((collective.to_owned(), algorithm.to_owned()));
        self
    }

    /// With options for every communicator.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Runs the closure on every rank of this process and returns their results.
    ///
    /// # Errors
    ///
    /// As [`launch`].
    pub fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        // What is no Unicode becomes what no variable may be, and is refused as such.
        self.job(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))?.run(body)
    }

    /// The job that these defaults and that environment ask for.
    fn job(self, variable: impl Fn(&str) -> Option<String>) -> Result<Job, Error> {
        alone(&variable)?;
        let ranks = number(&variable, "NECKLACE_RANKS")?.or(self.ranks);
        let topology = match (variable("NECKLACE_TOPOLOGY").or(self.topology), ranks) {
            (Some(text), _) => parse(&text).map_err(BuildError::from)?,
            (None, ranks) => {
                let ranks = ranks.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
                let complete = Complete::new(ranks);
                std::sync::Arc::new(complete.ok_or_else(|| Error::Argument(format!("a job of {ranks} ranks")))?)
            }
        };
        if let Some(ranks) = ranks.filter(|&ranks| ranks != topology.nodes()) {
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes: topology.nodes() }.into());
        }
        let options = match number(&variable, "NECKLACE_TIMEOUT")? {
            Some(seconds) => self.options.timeout(Duration::from_secs(seconds as u64)),
            None => self.options,
        };
        let mut job = Job::on(topology).options(options);
        let chosen = variable("NECKLACE_ALGORITHM");
        let chosen = chosen.iter().flat_map(|text| text.split(',')).map(|part| match part.split_once('=') {
            // A name may have parameters: `bruck:radix=4` is not of a collective called `bruck:radix`.
            Some((collective, name)) if !collective.contains(':') => (collective.to_owned(), name.to_owned()),
            _ => ("alltoall".to_owned(), part.to_owned()),
        });
        for (collective, algorithm) in self.algorithms.into_iter().chain(chosen) {
            job = job.choose(&collective, &algorithm);
        }
        Ok(job)
    }
}

/// A number of at least 1.
fn number(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>, Error> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(Error::Environment(format!("{name} is {text:?}, it must be a number of at least 1"))),
    }
}

/// That no launcher has started this process as one of several. `NECKLACE_BACKEND=local` says that this is meant.
fn alone(variable: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    match variable("NECKLACE_BACKEND").as_deref() {
        Some("local") => return Ok(()),
        Some(backend @ ("tcp" | "mpi")) => {
            return Err(Error::Environment(format!(
                "NECKLACE_BACKEND is {backend:?}, which this version does not have"
            )));
        }
        Some(other) => {
            return Err(Error::Environment(format!("NECKLACE_BACKEND is {other:?}, it must be \"local\"")));
        }
        None => {}
    }
    let sizes = ["NECKLACE_SIZE", "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
    let several = sizes.into_iter().find_map(|name| variable(name).filter(|size| size != "1").map(|size| (name, size)));
    several.map_or(Ok(()), |(name, size)| {
        let why = "this version runs ranks as threads of one process only";
        Err(Error::Environment(format!(
            "{name} is {size}: a launcher has started several processes, but {why}; NECKLACE_BACKEND=local starts a job of \
             threads in each"
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_makes_no_sense_is_refused_by_name() {
        let refused = [
            ("NECKLACE_RANKS", "0"),
            ("NECKLACE_RANKS", "many"),
            ("NECKLACE_TIMEOUT", "-1"),
            ("NECKLACE_BACKEND", "carrier-pigeon"),
            ("NECKLACE_BACKEND", "tcp"),
            ("WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
        ];
        for (name, value) in refused {
            let message = job(Launch::default(), &[(name, value)]).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(value), "{message}");
        }
        let message = job(Launch::default().ranks(3), &[("NECKLACE_TOPOLOGY", "ring:4")]).unwrap_err().to_string();
        assert!(message.contains("3 ranks on ring:4"), "{message}");
    }

    #[test]
    fn a_launcher_of_one_is_no_launcher_and_several_may_be_meant() {
        assert_eq!(ranks(Launch::default().ranks(2), &[("WORLD_SIZE", "1")]).len(), 2);
        let meant = [("WORLD_SIZE", "4"), ("NECKLACE_BACKEND", "local"), ("NECKLACE_RANKS", "2")];
        assert_eq!(ranks(Launch::default(), &meant).len(), 2);
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

//! Selection of an algorithm by price.
//!
//! [`select`](select()) compares the prices of all algorithms that fit a [`Problem`], as
//! [`cost`](crate::cost) computes them from the algorithms' claims. All ranks must select the same
//! algorithm. So the choice depends only on inputs that are equal on all ranks: the problem and the
//! [`Terms`]. Prices are integers.

use std::fmt;
use std::iter;
use std::sync::Arc;

use crate::algorithm::{About, Algorithm, Settings, Values, candidates, find};
use crate::bounds::Search;
use crate::collective::Collective;
use crate::cost::{Demand, MOST_COUNTED, Price};
use crate::machine::Machine;
use crate::vocabulary::{BuildError, Ports, Problem};

/// The selected algorithm and the candidates. Its text explains the choice.
#[derive(Clone)]
#[non_exhaustive]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// Whether the user named the algorithm.
    pub named: bool,
    /// All candidates in the registry's order: each algorithm, and its variants that fit. If the
    /// chosen algorithm is not among them, such as your own algorithm or schedule, or one whose
    /// parameters were searched, it comes last.
    pub candidates: Vec<Candidate>,
    problem: String,
    block_bytes: u64,
    machine: Machine,
}

/// An algorithm and its price, or the reason why it does not fit.
#[derive(Clone)]
#[non_exhaustive]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// The price, or the reason why the algorithm does not fit.
    pub price: Result<Price, String>,
    /// The demands that the algorithm does not claim and that the machine charges for. If there
    /// are any, the price is a lower bound. This happens on networks of hundreds of nodes, if there
    /// is no formula for the network or the placement. On smaller ones the built-in algorithms count
    /// their messages.
    pub at_least: Vec<&'static str>,
    /// The algorithm whose price this is, for [`native`](crate::algorithm::Native): the cheapest of
    /// those that libraries are known to have, or the cheapest of all if the machine charges
    /// nothing for channels and hops and has cut-through switching.
    pub priced_as: Option<String>,
}

impl Candidate {
    /// Returns the key of the selection, the least of which wins: the price, then whether it is
    /// only a lower bound.
    fn key(&self) -> Option<(u128, bool)> {
        Some((self.price.as_ref().ok()?.total, !self.at_least.is_empty()))
    }
}

/// The inputs of a choice besides the problem. They must be equal on all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    block_bytes: u64,
    machine: Machine,
    ports: Ports,
    native: bool,
}

impl Terms {
    /// Returns terms with blocks of `block_bytes` bytes and the prices of `machine`, any port
    /// model, and a backend without native collectives.
    #[must_use]
    pub fn new(block_bytes: u64, machine: &Machine) -> Self {
        Self { block_bytes, machine: *machine, ports: Ports::Unlimited, native: false }
    }

    /// Restricts the choice to algorithms that [promise](Algorithm::keeps) to keep to a port model.
    #[must_use]
    pub fn keeping(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// Sets whether the backend offers [native](crate::algorithm::Native) collectives. Otherwise
    /// `native` does not fit.
    #[must_use]
    pub fn over_native(self, native: bool) -> Self {
        Self { native, ..self }
    }
}

/// Selects an algorithm by name, or the cheapest one that fits if the name is `auto`.
///
/// If the name leaves parameters [open](Algorithm::alternatives), as `circgos` does, the cheapest
/// are selected. `auto` compares a few [variants](Algorithm::variants) of each algorithm, and then
/// all parameters that the cheapest of them leaves open. Among equal prices it prefers a price that
/// is not only a lower bound, and then the registry's order. Takes microseconds to milliseconds, the
/// latter if messages must be counted; on networks of hundreds of nodes, up to seconds.
///
/// # Errors
///
/// [`BuildError::Unknown`] for an unknown name; [`BuildError::Parameters`] for invalid parameters;
/// [`BuildError::Unfit`] if the named algorithm does not fit, or none does.
pub fn select(problem: &Problem, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
    Field::of(problem, &terms.machine).select(name, terms)
}

/// Returns the algorithm of a name, or an error with the names that a choice accepts: also `auto`,
/// and `native` only if the backend offers it.
pub(crate) fn find_named(collective: &Collective, name: &str, native: bool) -> Result<Arc<dyn Algorithm>, BuildError> {
    find(collective, name).map_err(|error| match error {
        BuildError::Unknown { name, collective, known } => {
            let known = known.into_iter().filter(|known| native || known != "native");
            BuildError::Unknown { name, collective, known: iter::once("auto".to_owned()).chain(known).collect() }
        }
        error => error,
    })
}

/// Returns the algorithm of a name, if it fits the problem and the terms. If the name leaves
/// parameters [open](Algorithm::alternatives), they are the cheapest.
pub(crate) fn find_cheapest(problem: &Problem, name: &str, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
    Ok(cheapest_alternative(problem, find_fitting(problem, name, terms)?, terms))
}

/// Returns the cheapest of an algorithm's [alternatives](Algorithm::alternatives), or the algorithm
/// itself if it leaves nothing open.
fn cheapest_alternative(problem: &Problem, algorithm: Arc<dyn Algorithm>, terms: &Terms) -> Arc<dyn Algorithm> {
    let alternatives = algorithm.alternatives(problem);
    if alternatives.is_empty() {
        return algorithm;
    }
    let search = Search::of(problem);
    let fitting =
        alternatives.into_iter().filter(|one| one.fits(problem).is_ok() && breaks(&**one, problem, terms).is_none());
    let total = |demand: Demand| demand.price(&terms.machine, terms.block_bytes).total;
    // What the ranks of a host do is counted, which takes long, and only adds to a price.
    let bound = |one: &Arc<dyn Algorithm>| Demand::claimed_within(&**one, &search).ok().map(total);
    let mut bounded: Vec<_> = fitting.filter_map(|one| Some((bound(&one)?, one))).enumerate().collect();
    bounded.sort_by_key(|(_, (bound, _))| *bound);
    let mut cheapest: Option<((u128, usize), Arc<dyn Algorithm>)> = None;
    for (index, (bound, one)) in bounded {
        if cheapest.as_ref().is_some_and(|((least, _), _)| bound > *least) {
            break;
        }
        let key = demand(&*one, &search, &terms.machine).ok().map(|demand| (total(demand), index));
        let Some(key) = key.filter(|key| cheapest.as_ref().is_none_or(|(least, _)| key < least)) else { continue };
        cheapest = Some((key, one));
    }
    cheapest.map_or(algorithm, |(_, one)| one)
}

/// Returns the algorithm with the same words as parameters, and its numbers
/// [open](Algorithm::alternatives), if it has any and fits.
fn with_open_numbers(problem: &Problem, algorithm: &dyn Algorithm, terms: &Terms) -> Option<Arc<dyn Algorithm>> {
    let words = algorithm.parameters().iter().filter(|parameter| matches!(parameter.values, Values::Words(_)));
    let given = algorithm.settings();
    let settings = words.fold(Settings::default(), |settings, word| settings.with(word, given.of(word)));
    let open = algorithm.with(&settings).filter(|open| !open.alternatives(problem).is_empty())?;
    (open.fits(problem).is_ok() && breaks(&*open, problem, terms).is_none()).then_some(open)
}

/// Returns the algorithm of a name, if it fits the problem and the terms.
pub(crate) fn find_fitting(problem: &Problem, name: &str, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
    let algorithm = find_named(problem.collective(), name, terms.native)?;
    if algorithm.priced_as().is_none() {
        algorithm.fits(problem)?;
    }
    match breaks(&*algorithm, problem, terms) {
        Some(needs) => Err(unfit(problem, algorithm.name(), needs)),
        None => Ok(algorithm),
    }
}

fn unfit(problem: &Problem, algorithm: String, needs: String) -> BuildError {
    let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
    BuildError::Unfit { algorithm, collective, topology, needs }
}

/// The most ranks whose work is counted where they share cores. All of them count it on these
/// cores, so that the time grows with the cube of their number: 20 ms for 32 threads on two cores.
const MOST_ON_CORES: usize = 1 << 5;

/// Returns an algorithm's demand, or why it has none.
fn demand(algorithm: &dyn Algorithm, search: &Search, machine: &Machine) -> Result<Demand, String> {
    let most = if machine.host > 0 { MOST_COUNTED } else { MOST_ON_CORES };
    match Demand::claimed_within(algorithm, search) {
        Ok(demand) if machine.host > 0 || machine.cores > 0 => Ok(demand.with_hosts(algorithm, search.problem(), most)),
        Ok(demand) => Ok(demand),
        Err(BuildError::Unfit { needs, .. }) => Err(needs),
        Err(other) => Err(other.to_string()),
    }
}

/// The algorithms for a problem and their demands, which do not depend on the block size. What
/// leaves and enters hosts, and what their ranks do together, is counted only for a machine on
/// which it counts. Finding the demands is the slow part of a selection: it takes milliseconds if
/// the messages of placed ranks are counted.
pub(crate) struct Field {
    problem: Problem,
    /// Algorithms in the registry's order, with their demand or the reason why there is none.
    entrants: Vec<(Arc<dyn Algorithm>, Result<Demand, String>)>,
}

impl Field {
    pub(crate) fn of(problem: &Problem, machine: &Machine) -> Self {
        let search = Search::of(problem);
        let entrants = candidates(problem).into_iter().map(|algorithm| {
            let demand = demand(&*algorithm, &search, machine);
            (algorithm, demand)
        });
        Self { entrants: entrants.collect(), problem: problem.clone() }
    }

    /// Chooses this algorithm, which need not be in the registry, and lists those of the registry
    /// beside it.
    pub(crate) fn choose(mut self, algorithm: &Arc<dyn Algorithm>, terms: &Terms) -> Result<Choice, BuildError> {
        algorithm.fits(&self.problem)?;
        let demand = Demand::claimed(&**algorithm, &self.problem).map_err(|error| error.to_string());
        self.entrants.push((Arc::clone(algorithm), demand));
        Ok(self.choice(Arc::clone(algorithm), true, self.candidates(terms), terms))
    }

    /// Like [`select`].
    pub(crate) fn select(&self, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
        let problem = &self.problem;
        let named = name != "auto";
        let mut candidates = self.candidates(terms);
        if named {
            let algorithm = find_cheapest(problem, name, terms)?;
            self.add(&algorithm, &mut candidates, terms);
            return Ok(self.choice(algorithm, true, candidates, terms));
        }
        let of = |candidates: &[Candidate]| {
            let keeping = match terms.ports {
                Ports::Unlimited => String::new(),
                ports => format!(" that promises ports {ports}"),
            };
            let needs = || unfit(problem, name.to_owned(), format!("there is no algorithm for it{keeping}"));
            cheapest(candidates).map(|one| Arc::clone(&one.algorithm)).ok_or_else(needs)
        };
        let best = of(&candidates)?;
        // The variants of an algorithm are few. It may have cheaper parameters.
        if let Some(open) = with_open_numbers(problem, &*best, terms) {
            self.add(&cheapest_alternative(problem, open, terms), &mut candidates, terms);
        }
        Ok(self.choice(of(&candidates)?, false, candidates, terms))
    }

    /// Adds an algorithm to the candidates, unless it is one of them.
    fn add(&self, algorithm: &Arc<dyn Algorithm>, candidates: &mut Vec<Candidate>, terms: &Terms) {
        if candidates.iter().all(|candidate| candidate.algorithm.name() != algorithm.name()) {
            let demand = demand(&**algorithm, &Search::of(&self.problem), &terms.machine);
            candidates.push(priced(&(Arc::clone(algorithm), demand), terms));
        }
    }

    fn choice(&self, algorithm: Arc<dyn Algorithm>, named: bool, candidates: Vec<Candidate>, terms: &Terms) -> Choice {
        let problem = format!("{} on {}", self.problem.collective(), self.problem.topology().text());
        let Terms { block_bytes, machine, .. } = *terms;
        Choice { algorithm, named, candidates, problem, block_bytes, machine }
    }

    fn candidates(&self, terms: &Terms) -> Vec<Candidate> {
        (0..self.entrants.len()).map(|entrant| self.candidate(entrant, terms)).collect()
    }

    fn candidate(&self, entrant: usize, terms: &Terms) -> Candidate {
        let entrant = &self.entrants[entrant];
        let (algorithm, _) = entrant;
        if let Some(needs) = breaks(&**algorithm, &self.problem, terms) {
            return Candidate {
                algorithm: Arc::clone(algorithm),
                price: Err(needs),
                at_least: vec![],
                priced_as: None,
            };
        }
        if let Some(names) = algorithm.priced_as() {
            // If prices do not depend on the network, a library may have any algorithm.
            let all = !terms.machine.charges_for_network();
            let known = self
                .entrants
                .iter()
                .filter(|(one, _)| one.priced_as().is_none() && (all || names.contains(&one.about().name)));
            let known: Vec<Candidate> = known.map(|entrant| priced(entrant, terms)).collect();
            if let Some(Candidate { algorithm: like, price, at_least, .. }) = cheapest(&known) {
                let (price, at_least, priced_as) = (price.clone(), at_least.clone(), Some(like.name()));
                return Candidate { algorithm: Arc::clone(algorithm), price, at_least, priced_as };
            }
        }
        priced(entrant, terms)
    }
}

fn priced(entrant: &(Arc<dyn Algorithm>, Result<Demand, String>), terms: &Terms) -> Candidate {
    let (algorithm, demand) = entrant;
    let (price, at_least) = match demand {
        Ok(demand) => (Ok(demand.price(&terms.machine, terms.block_bytes)), demand.uncertain(&terms.machine)),
        Err(why) => (Err(why.clone()), vec![]),
    };
    Candidate { algorithm: Arc::clone(algorithm), price, at_least, priced_as: None }
}

/// Returns the first candidate with the least key.
fn cheapest(candidates: &[Candidate]) -> Option<&Candidate> {
    candidates.iter().filter(|candidate| candidate.price.is_ok()).min_by_key(|candidate| candidate.key())
}

/// Returns the requirement of the terms that an algorithm does not meet.
fn breaks(algorithm: &dyn Algorithm, problem: &Problem, terms: &Terms) -> Option<String> {
    let Terms { ports, native, .. } = *terms;
    let About { ports: own, needs, .. } = algorithm.about();
    let is_native = algorithm.priced_as().is_some();
    if is_native && !native {
        return Some(format!("it needs {needs}"));
    }
    let fits = is_native || algorithm.fits(problem).is_ok();
    let other = || keeping(algorithm, problem, ports).map_or(String::new(), |name| format!("; use {name}"));
    (fits && !algorithm.keeps(problem, ports)).then(|| format!("it promises ports {own}, not {ports}{}", other()))
}

/// Returns the name of the same algorithm with a parameter `ports` by which it keeps to a port
/// model, and with the same other parameters if these fit.
fn keeping(algorithm: &dyn Algorithm, problem: &Problem, ports: Ports) -> Option<String> {
    let parameter = algorithm.parameters().iter().find(|parameter| parameter.key == "ports")?;
    let Values::Words(words) = parameter.values else { return None };
    let settings = [algorithm.settings(), Settings::default()].into_iter();
    let mut others = settings
        .flat_map(|settings| (0..words.len()).map(move |value| settings.clone().with(parameter, value)))
        .filter_map(|settings| algorithm.with(&settings));
    others.find(|other| other.fits(problem).is_ok() && other.keeps(problem, ports)).map(|other| other.name())
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("problem", &self.problem).finish_non_exhaustive()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, named, candidates, problem, block_bytes, machine } = self;
        write!(f, "{problem}, {block_bytes} bytes a block: {}, ", algorithm.name())?;
        match named {
            true => f.write_str("as asked for")?,
            false => write!(f, "the cheapest by the prices of {machine}")?,
        }
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.algorithm.name()).collect();
        // A width has at most 16 bits.
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(80);
        for (name, Candidate { price, at_least, priced_as, .. }) in names.iter().zip(candidates) {
            match price {
                Ok(price) => write!(
                    f,
                    "
  {name:width$} {price}"
                )?,
                Err(needs) => write!(
                    f,
                    "
  {name:width$} does not fit: {needs}"
                )?,
            }
            if !at_least.is_empty() {
                write!(f, " (at least: nothing claimed of {})", at_least.join(", "))?;
            }
            if let Some(like) = priced_as {
                write!(f, " (the backend's own; priced as {like}, and goes first where prices are equal)")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

//! Selection of an algorithm by price.
//!
//! [`select`](select()) compares the prices of all algorithms that fit a [`Problem`], as
//! [`cost`](crate::cost) computes them from the algorithms' claims. All ranks must select the same
//! algorithm. So the choice depends only on inputs that are equal on all ranks: the problem and the
//! [`Terms`]. Prices are integers.

use std::fmt;
use std::iter;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::algorithm::kept::Kept;
use crate::algorithm::{About, Algorithm, Settings, Values, candidates, find, registry};
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
    /// The demands that the algorithm does not claim and that the machine charges for. If there are
    /// any, the price is a lower bound. This happens on networks of hundreds of nodes, if there is
    /// no formula for the network or the placement. On smaller ones the built-in algorithms count
    /// their messages.
    pub at_least: Vec<&'static str>,
    /// The algorithm whose price this is, for [`native`](crate::algorithm::Native): the cheapest of
    /// those that libraries are known to have, or the cheapest of all if the machine charges
    /// nothing for channels and hops and has cut-through switching.
    pub priced_as: Option<String>,
    /// The time that calls took, if [`Communicator::explain`](crate::Communicator::explain) knows of
    /// any.
    pub measured: Option<Measured>,
}

/// The measured time of the calls by one algorithm, on one rank. A rank that comes late makes a call
/// longer on the others, so the shortest is the one to compare with a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// The time of the shortest call, from its start to its end on this rank.
    pub shortest: Duration,
    /// The number of calls that were timed: the first ones, then a few.
    pub calls: u64,
}

impl Measured {
    /// Joins the times of other calls to these.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { shortest: self.shortest.min(other.shortest), calls: self.calls + other.calls }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (microseconds, calls) = (self.shortest.as_secs_f64() * 1e6, self.calls);
        write!(f, "{microseconds:.2} us measured, the shortest of {calls} timed calls on this rank")
    }
}

impl Choice {
    /// Adds the measured times of calls, each by the name of its algorithm.
    pub(crate) fn with_measured<'a>(mut self, measured: impl Iterator<Item = (&'a str, Measured)>) -> Self {
        for (name, more) in measured {
            if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.algorithm.name() == name) {
                candidate.measured = Some(candidate.measured.map_or(more, |before| before.with(more)));
            }
        }
        self
    }
}

/// The inputs of a choice besides the problem. They must be equal on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
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

    pub(crate) fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the price of a demand.
    fn total(&self, demand: &Demand) -> u128 {
        demand.price(&self.machine, self.block_bytes).total
    }
}

/// Selects an algorithm by name, or the cheapest one that fits if the name is `auto`.
///
/// If the name leaves parameters [open](Algorithm::alternatives), as `circgos` and `chain` do, the
/// cheapest are selected. `auto` compares a few [variants](Algorithm::variants) of each algorithm,
/// and then all parameters that the cheapest of them, and others of up to twice its price, leave
/// open. A price that is only a lower bound counts twice, so that an algorithm of unknown price is
/// taken only if it may save half. Among equal prices an exact one comes first, then the registry's
/// order decides. Takes microseconds to milliseconds, the latter if messages must be counted; on
/// networks of hundreds of nodes, up to seconds.
///
/// # Errors
///
/// [`BuildError::Unknown`] for an unknown name; [`BuildError::Parameters`] for invalid parameters;
/// [`BuildError::Unfit`] if the named algorithm does not fit, or none does.
pub fn select(problem: &Problem, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
    Field::of(problem).select(name, terms)
}

/// Returns the algorithm of a name, or an error with the names that a choice accepts: also `auto`,
/// and `native` only if the backend offers it.
pub(crate) fn find_named(collective: &Collective, name: &str, native: bool) -> Result<Arc<dyn Algorithm>, BuildError> {
    if let Some(found) = name.strip_prefix("auto:") {
        let (found, expected) = (found.to_owned(), "no parameters".to_owned());
        return Err(BuildError::Parameters { algorithm: "auto".to_owned(), found, expected });
    }
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
fn find_cheapest(problem: &Problem, name: &str, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
    Ok(cheapest_alternative(problem, find_fitting(problem, name, terms)?, terms))
}

/// Returns the cheapest of an algorithm's [alternatives](Algorithm::alternatives), or the algorithm
/// itself if it leaves nothing open.
fn cheapest_alternative(problem: &Problem, algorithm: Arc<dyn Algorithm>, terms: &Terms) -> Arc<dyn Algorithm> {
    keyed_alternative(problem, &*algorithm, terms).map_or(algorithm, |(_, one)| one)
}

/// Returns the cheapest of an algorithm's alternatives with its key, or `None` if it leaves nothing
/// open.
fn keyed_alternative(problem: &Problem, algorithm: &dyn Algorithm, terms: &Terms) -> Option<(Key, Arc<dyn Algorithm>)> {
    let alternatives = algorithm.alternatives(problem);
    if alternatives.is_empty() {
        return None;
    }
    let search = Search::of(problem);
    let fitting =
        alternatives.into_iter().filter(|one| one.fits(problem).is_ok() && breaks(&**one, problem, terms).is_none());
    let entrants: Vec<Entrant> = fitting.map(|one| Entrant::of(one, &search)).collect();
    let ((key, _), one) = cheapest(entrants.iter().enumerate(), problem, terms)?;
    Some((key, Arc::clone(&one.algorithm)))
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
        Some(needs) => {
            let has_ports = with_ports(&*algorithm, problem, terms.ports).is_some();
            let others = if has_ports { None } else { keepers(problem, terms.ports) };
            let needs = others.map_or(needs.clone(), |others| format!("{needs}; use {others}"));
            Err(unfit(problem, algorithm.name(), needs))
        }
        None => Ok(algorithm),
    }
}

fn unfit(problem: &Problem, algorithm: String, needs: String) -> BuildError {
    let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
    BuildError::Unfit { algorithm, collective, topology, needs }
}

/// The most ranks whose work is counted where they share cores. All of them count it on these
/// cores, so that the time grows with the cube of their number: up to 14 ms a call of 32 threads on
/// two cores.
const MOST_ON_CORES: usize = 1 << 5;

/// An algorithm and its demand, which does not depend on the block size.
struct Entrant {
    algorithm: Arc<dyn Algorithm>,
    /// The claimed demand, or the reason why the algorithm has no schedule. Few algorithms claim
    /// the demand at hosts and their cores; others leave it out.
    claimed: Result<Demand, String>,
    /// The demand that includes hosts and their cores, once it is counted.
    counted: OnceLock<Demand>,
}

impl Entrant {
    fn of(algorithm: Arc<dyn Algorithm>, search: &Search) -> Self {
        let claimed = Demand::claimed_within(&*algorithm, search).map_err(|error| match error {
            BuildError::Unfit { needs, .. } => needs,
            other => other.to_string(),
        });
        Self { algorithm, claimed, counted: OnceLock::new() }
    }

    /// Returns the demand. What leaves and enters hosts, and what their ranks do together, is
    /// counted if the machine charges for it and it is not claimed, which takes milliseconds.
    fn demand(&self, problem: &Problem, machine: &Machine) -> Result<&Demand, &str> {
        let claimed = self.claimed.as_ref().map_err(String::as_str)?;
        let most = match machine {
            Machine { host: 1.., .. } => MOST_COUNTED,
            Machine { cores: 1.., .. } => MOST_ON_CORES,
            _ => return Ok(claimed),
        };
        Ok(self.counted.get_or_init(|| claimed.clone().with_hosts(&*self.algorithm, problem, most)))
    }

    /// Returns whether a library may have the algorithm: one of these names, or any if prices do
    /// not depend on the network.
    fn is_known(&self, names: &[&str], terms: &Terms) -> bool {
        let all = !terms.machine.charges_for_network();
        self.algorithm.priced_as().is_none() && (all || names.contains(&self.algorithm.about().name))
    }

    /// Returns the key of the selection.
    fn key(&self, problem: &Problem, terms: &Terms) -> Option<Key> {
        let demand = self.demand(problem, &terms.machine).ok()?;
        let is_bound = !demand.uncertain(&terms.machine).is_empty();
        Some((terms.total(demand).saturating_mul(if is_bound { 2 } else { 1 }), is_bound))
    }

    fn candidate(&self, problem: &Problem, terms: &Terms) -> Candidate {
        let (price, at_least) = match self.demand(problem, &terms.machine) {
            Ok(demand) => (Ok(demand.price(&terms.machine, terms.block_bytes)), demand.uncertain(&terms.machine)),
            Err(why) => (Err(why.to_owned()), vec![]),
        };
        Candidate { algorithm: Arc::clone(&self.algorithm), price, at_least, priced_as: None, measured: None }
    }
}

/// The key of the selection, the least of which wins: the price, or twice the price if it is only a
/// lower bound, then whether it is.
type Key = (u128, bool);

/// Returns the first entrant with the least key. Each comes with its place.
///
/// What is counted at hosts only adds to a price. So it is counted in the order of the prices
/// without it, for those that may still be the cheapest.
fn cheapest<'a>(
    entrants: impl IntoIterator<Item = (usize, &'a Entrant)>,
    problem: &Problem,
    terms: &Terms,
) -> Option<((Key, usize), &'a Entrant)> {
    let bounded = entrants.into_iter().filter_map(|(place, entrant)| {
        let bound = terms.total(entrant.claimed.as_ref().ok()?);
        Some((bound, place, entrant))
    });
    let mut bounded: Vec<_> = bounded.collect();
    bounded.sort_unstable_by_key(|(bound, place, _)| (*bound, *place));
    let mut cheapest: Option<((Key, usize), &Entrant)> = None;
    for (bound, place, entrant) in bounded {
        if cheapest.is_some_and(|(((least, _), _), _)| bound > least) {
            break;
        }
        let Some(key) = entrant.key(problem, terms).map(|key| (key, place)) else { continue };
        if cheapest.is_none_or(|(least, _)| key < least) {
            cheapest = Some((key, entrant));
        }
    }
    cheapest
}

/// The algorithms for a problem, in the registry's order, and those that were chosen among them.
///
/// To price all of them takes up to seconds, so the ranks of a process share them.
pub(crate) struct Field {
    problem: Problem,
    entrants: OnceLock<Vec<Entrant>>,
    /// The algorithms by name, or `auto`, and terms that were asked for last.
    chosen: Kept<(String, Terms), Result<Arc<dyn Algorithm>, BuildError>>,
}

impl Field {
    pub(crate) fn of(problem: &Problem) -> Self {
        Self { problem: problem.clone(), entrants: OnceLock::new(), chosen: Kept::new(16) }
    }

    /// Returns the field of a problem. It is shared as long as any rank of the process keeps it, by
    /// the ranks with the same network in memory, as those of threads have.
    pub(crate) fn shared(problem: &Problem) -> Arc<Self> {
        static SHARED: Mutex<Vec<Weak<Field>>> = Mutex::new(vec![]);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|field| field.strong_count() > 0);
        let known = shared.iter().filter_map(Weak::upgrade).find(|field| field.problem.is_same_in_memory(problem));
        known.unwrap_or_else(|| {
            let field = Arc::new(Self::of(problem));
            shared.push(Arc::downgrade(&field));
            field
        })
    }

    fn entrants(&self) -> &[Entrant] {
        self.entrants.get_or_init(|| {
            let search = Search::of(&self.problem);
            candidates(&self.problem).into_iter().map(|algorithm| Entrant::of(algorithm, &search)).collect()
        })
    }

    /// Returns the algorithm of a name, or the cheapest for `auto`. See [`select`].
    pub(crate) fn find(&self, name: &str, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
        self.chosen.get((name.to_owned(), *terms), || match name {
            "auto" => self.cheapest(terms),
            _ => find_cheapest(&self.problem, name, terms),
        })
    }

    /// Chooses this algorithm, which need not be in the registry, and lists those of the registry
    /// beside it.
    pub(crate) fn choose(self, algorithm: &Arc<dyn Algorithm>, terms: &Terms) -> Result<Choice, BuildError> {
        algorithm.fits(&self.problem)?;
        let mut candidates = self.candidates(terms);
        candidates.push(Entrant::of(Arc::clone(algorithm), &Search::of(&self.problem)).candidate(&self.problem, terms));
        Ok(self.choice(Arc::clone(algorithm), true, candidates, terms))
    }

    /// Like [`select`].
    pub(crate) fn select(&self, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
        let named = name != "auto";
        let algorithm = self.find(name, terms)?;
        let mut candidates = self.candidates(terms);
        if candidates.iter().all(|candidate| candidate.algorithm.name() != algorithm.name()) {
            let entrant = Entrant::of(Arc::clone(&algorithm), &Search::of(&self.problem));
            candidates.push(entrant.candidate(&self.problem, terms));
        }
        Ok(self.choice(algorithm, named, candidates, terms))
    }

    /// Returns the algorithm that [`select`] takes for `auto`.
    fn cheapest(&self, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
        let problem = &self.problem;
        let keeping =
            self.entrants().iter().enumerate().filter(|(_, one)| breaks(&*one.algorithm, problem, terms).is_none());
        let (native, scheduled): (Vec<_>, Vec<_>) = keeping.partition(|(_, one)| one.algorithm.priced_as().is_some());
        let native = native.into_iter().filter_map(|(place, one)| {
            let names = one.algorithm.priced_as()?;
            let ((key, _), _) = cheapest(self.known_to_libraries(names, terms), problem, terms)?;
            Some(((key, place), one))
        });
        let best = native.chain(cheapest(scheduled, problem, terms)).min_by_key(|(key, _)| *key);
        let Some(((key, _), best)) = best else {
            let keeping = match terms.ports {
                Ports::Unlimited => String::new(),
                ports => format!(" that promises ports {ports}"),
            };
            return Err(unfit(problem, "auto".to_owned(), format!("there is no algorithm for it{keeping}")));
        };
        // The variants of an algorithm are few, some with half the transmission of the next. So
        // other parameters may save up to a half. What a library has of it may have them too.
        let in_library = |one: &Entrant| best.algorithm.priced_as().is_some_and(|names| one.is_known(names, terms));
        let near = self.entrants().iter().filter(|one| !in_library(one)).filter(|one| {
            let bound = one.claimed.as_ref().map(|demand| terms.total(demand));
            bound.is_ok_and(|bound| bound <= key.0.saturating_mul(2))
        });
        let mut open: Vec<_> = near.filter_map(|one| with_open_numbers(problem, &*one.algorithm, terms)).collect();
        open.dedup_by_key(|one| one.name());
        let keyed = open.iter().filter_map(|open| keyed_alternative(problem, &**open, terms));
        let cheapest = keyed.min_by_key(|(key, _)| *key).filter(|(other, _)| *other < key);
        Ok(cheapest.map_or_else(|| Arc::clone(&best.algorithm), |(_, algorithm)| algorithm))
    }

    /// Returns the algorithms that a library [may have](Entrant::is_known), with their places.
    fn known_to_libraries(&self, names: &[&str], terms: &Terms) -> impl Iterator<Item = (usize, &Entrant)> {
        self.entrants().iter().enumerate().filter(move |(_, one)| one.is_known(names, terms))
    }

    fn choice(&self, algorithm: Arc<dyn Algorithm>, named: bool, candidates: Vec<Candidate>, terms: &Terms) -> Choice {
        let problem = format!("{} on {}", self.problem.collective(), self.problem.topology().text());
        let Terms { block_bytes, machine, .. } = *terms;
        Choice { algorithm, named, candidates, problem, block_bytes, machine }
    }

    fn candidates(&self, terms: &Terms) -> Vec<Candidate> {
        self.entrants().iter().map(|entrant| self.candidate(entrant, terms)).collect()
    }

    fn candidate(&self, entrant: &Entrant, terms: &Terms) -> Candidate {
        let algorithm = Arc::clone(&entrant.algorithm);
        if let Some(needs) = breaks(&*algorithm, &self.problem, terms) {
            return Candidate { algorithm, price: Err(needs), at_least: vec![], priced_as: None, measured: None };
        }
        let names = algorithm.priced_as();
        let like = names.and_then(|names| cheapest(self.known_to_libraries(names, terms), &self.problem, terms));
        match like {
            Some((_, like)) => {
                let priced_as = Some(like.algorithm.name());
                Candidate { algorithm, priced_as, ..like.candidate(&self.problem, terms) }
            }
            None => entrant.candidate(&self.problem, terms),
        }
    }
}

/// Returns the requirement of the terms that an algorithm does not meet.
fn breaks(algorithm: &dyn Algorithm, problem: &Problem, terms: &Terms) -> Option<String> {
    let Terms { ports, native, .. } = *terms;
    let About { needs, .. } = algorithm.about();
    let is_native = algorithm.priced_as().is_some();
    if is_native && !native {
        return Some(format!("it needs {needs}"));
    }
    let fits = is_native || algorithm.fits(problem).is_ok();
    let remedy = || with_ports(algorithm, problem, ports).or_else(|| lacks_ports(algorithm, problem, ports));
    let other = || remedy().map_or(String::new(), |remedy| format!("; {remedy}"));
    (fits && !algorithm.keeps(problem, ports))
        .then(|| format!("it promises ports {}, not {ports}{}", algorithm.ports(problem), other()))
}

/// Returns the algorithm with each word of its parameter `ports`, with the same other parameters
/// and then with none.
fn by_ports(algorithm: &dyn Algorithm) -> Vec<Arc<dyn Algorithm>> {
    let parameter = algorithm.parameters().iter().find(|parameter| parameter.key == "ports");
    let words = parameter.and_then(|parameter| match parameter.values {
        Values::Words(words) => Some((parameter, words.len())),
        Values::Number { .. } => None,
    });
    let Some((parameter, words)) = words else { return vec![] };
    let settings = [algorithm.settings(), Settings::default()].into_iter();
    settings
        .flat_map(|settings| (0..words).map(move |value| settings.clone().with(parameter, value)))
        .filter_map(|settings| algorithm.with(&settings))
        .collect()
}

/// Says to use the same algorithm with a parameter `ports` by which it keeps to a port model, and
/// with the same other parameters if these fit, or else why they do not.
fn with_ports(algorithm: &dyn Algorithm, problem: &Problem, ports: Ports) -> Option<String> {
    let others = by_ports(algorithm);
    let fits = others.iter().find(|other| other.fits(problem).is_ok() && other.keeps(problem, ports))?;
    let dropped = others.iter().take(others.len() / 2).find(|same| same.about().ports.implies(ports));
    let why = dropped.and_then(|same| Some(format!(" ({} does not fit: {})", same.name(), same.lacks(problem)?)));
    Some(format!("use {}{}", fits.name(), why.unwrap_or_default()))
}

/// Says what the problem lacks for the parameter `ports` by which the algorithm would keep to a
/// port model.
fn lacks_ports(algorithm: &dyn Algorithm, problem: &Problem, ports: Ports) -> Option<String> {
    by_ports(algorithm).iter().find(|other| other.about().ports.implies(ports))?.lacks(problem)
}

/// Returns the first few algorithms of the registry that keep to a port model by default.
fn keepers(problem: &Problem, ports: Ports) -> Option<String> {
    let keeps = |one: &&Arc<dyn Algorithm>| {
        one.priced_as().is_none() && one.fits(problem).is_ok() && one.ports(problem).implies(ports)
    };
    let names: Vec<&str> = registry().iter().filter(keeps).map(|one| one.about().name).take(3).collect();
    let (last, before) = names.split_last()?;
    Some(if before.is_empty() { (*last).to_owned() } else { format!("{} or {last}", before.join(", ")) })
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
        for (name, Candidate { price, at_least, priced_as, measured, .. }) in names.iter().zip(candidates) {
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
            if let Some(measured) = measured {
                write!(f, "; {measured}")?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::topology::{Topology, parse};

    #[test]
    fn field_is_shared_by_equal_problems_on_one_network_in_memory() {
        let problem = |ring: &Arc<dyn Topology>| Problem::new(Arc::clone(ring), Collective::Allreduce).unwrap();
        let ring = parse("ring:5").unwrap();
        let field = Field::shared(&problem(&ring));
        assert!(Arc::ptr_eq(&field, &Field::shared(&problem(&ring))));
        let others = [problem(&parse("ring:5").unwrap()), problem(&ring).ordered()];
        assert!(others.iter().all(|other| !Arc::ptr_eq(&field, &Field::shared(other))));
        drop((field, others));
        assert_eq!(Arc::strong_count(&ring), 1, "a network is kept with its field only");
    }

    #[test]
    fn field_finds_what_is_selected_for_every_name_and_length() {
        let problem = Problem::new(parse("torus:4x4").unwrap(), Collective::Broadcast { root: Rank::new(3) }).unwrap();
        let field = Field::of(&problem);
        let machine = Machine { byte: 1, startup: 1000, ..Machine::default() };
        for _ in 0..2 {
            for (name, bytes) in
                ["auto", "chain", "scatter-allgather"].iter().flat_map(|name| [(name, 1), (name, 1 << 20)])
            {
                let terms = Terms::new(bytes, &machine);
                let found = field.find(name, &terms).unwrap().name();
                assert_eq!(found, select(&problem, name, &terms).unwrap().algorithm.name(), "{name}, {bytes} bytes");
            }
            assert!(field.find("no-such-name", &Terms::new(1, &machine)).is_err());
        }
        let of = |bytes| field.find("chain", &Terms::new(bytes, &machine)).unwrap().name();
        assert_ne!(of(1), of(1 << 20));
    }
}

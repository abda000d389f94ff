//! Picks an algorithm for a problem, and says why.
//!
//! Every rank must pick the same, so nothing decides but what is equal on all of them: the problem, the bytes of a block
//! and one machine. Prices are integers; they are those of [`cost`](crate::cost), by formula.

use std::fmt;
use std::sync::Arc;

use crate::algorithm::{About, Algorithm, candidates, find};
use crate::bounds::Search;
use crate::cost::{Demand, Price};
use crate::machine::Machine;
use crate::vocabulary::{BuildError, Ports, Problem};

/// What was picked, and what it was picked from.
#[derive(Clone)]
#[non_exhaustive]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// Whether the user chose it.
    pub named: bool,
    /// What there was to pick from, in the registry's order: each algorithm, and its variants that fit. An algorithm or a
    /// schedule of the user's own, if one is chosen, comes last.
    pub candidates: Vec<Candidate>,
    problem: String,
    block_bytes: u64,
    machine: Machine,
}

/// An algorithm that might have been picked.
#[derive(Clone)]
#[non_exhaustive]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// Its price, or why it cannot be.
    pub price: Result<Price, String>,
    /// The demands of which it claims nothing and for which the machine charges, so that the price is the least that it
    /// may be. That is so on large networks that are no products of lines, rings and complete networks, or where ranks are
    /// placed; small ones are [counted](crate::cost::Demand::claimed).
    pub at_least: Vec<&'static str>,
    /// Whose price it is, where the backend's library does it [in its own way](crate::algorithm::Native): the cheapest
    /// algorithm of those that libraries are known to have, or of all, where the machine
    /// [charges nothing for the network](Machine::charges_for_network).
    pub priced_as: Option<String>,
}

impl Candidate {
    /// By which it is picked: the least, of those that fit; of equals one whose price is certain.
    fn key(&self) -> Option<(u128, bool)> {
        Some((self.price.as_ref().ok()?.total, !self.at_least.is_empty()))
    }
}

/// What a choice depends on besides the problem. Equal on all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    block_bytes: u64,
    machine: Machine,
    ports: Ports,
    native: bool,
}

impl Terms {
    /// Blocks of so many bytes and this machine's prices; whatever the ports, over a backend that has no collectives of its own.
    #[must_use]
    pub fn new(block_bytes: u64, machine: &Machine) -> Self {
        Self { block_bytes, machine: *machine, ports: Ports::Unlimited, native: false }
    }

    /// The same, of algorithms that [promise](Algorithm::keeps) to keep to a port model: others do not fit.
    #[must_use]
    pub fn keeping(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// The same over a backend that has collectives [of its own](crate::algorithm::Native), or that has none: then `native` does not
    /// fit.
    #[must_use]
    pub fn over_native(self, native: bool) -> Self {
        Self { native, ..self }
    }
}

/// Picks by name, or, for `auto`, the cheapest that fits; of equals one whose price is certain, and of those the first in the
/// registry.
///
/// # Errors
///
/// [`BuildError::Unknown`] for a name that is none; [`BuildError::Parameters`] for parameters that are none;
/// [`BuildError::Unfit`] for an algorithm that does not fit, or where none does.
pub fn select(problem: &Problem, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
    Field::of(problem).select(name, terms)
}

/// The algorithm of that name, if it fits the problem and the terms.
pub(crate) fn named_so(problem: &Problem, name: &str, terms: &Terms) -> Result<Arc<dyn Algorithm>, BuildError> {
    let algorithm = find(problem.collective(), name)?;
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

/// The algorithms for a problem and what each demands, which depends neither on the size of a block nor on the machine. To find
/// it is what takes long in picking one: milliseconds where messages of placed ranks are counted.
pub(crate) struct Field {
    problem: Problem,
    /// In the registry's order; in place of a demand, why there is none.
    entrants: Vec<(Arc<dyn Algorithm>, Result<Demand, String>)>,
}

impl Field {
    pub(crate) fn of(problem: &Problem) -> Self {
        let search = Search::of(problem);
        let demand = |algorithm: &dyn Algorithm| match Demand::claimed_within(algorithm, &search) {
            Ok(demand) => Ok(demand),
            Err(BuildError::Unfit { needs, .. }) => Err(needs),
            Err(other) => Err(other.to_string()),
        };
        let entrants = candidates(problem).into_iter().map(|algorithm| {
            let demand = demand(&*algorithm);
            (algorithm, demand)
        });
        Self { entrants: entrants.collect(), problem: problem.clone() }
    }

    /// This algorithm, which need not be in the registry, beside all that are.
    pub(crate) fn choose(mut self, algorithm: &Arc<dyn Algorithm>, terms: &Terms) -> Result<Choice, BuildError> {
        algorithm.fits(&self.problem)?;
        let demand = Demand::claimed(&**algorithm, &self.problem).map_err(|error| error.to_string());
        self.entrants.push((Arc::clone(algorithm), demand));
        Ok(self.choice(Arc::clone(algorithm), true, self.candidates(terms), terms))
    }

    /// As [`select`].
    pub(crate) fn select(&self, name: &str, terms: &Terms) -> Result<Choice, BuildError> {
        let problem = &self.problem;
        let named = name != "auto";
        let candidates = self.candidates(terms);
        let algorithm = if named {
            named_so(problem, name, terms)?
        } else {
            let cheapest = cheapest(&candidates).map(|candidate| Arc::clone(&candidate.algorithm));
            let keeping = match terms.ports {
                Ports::Unlimited => String::new(),
                ports => format!(" that promises ports {ports}"),
            };
            cheapest.ok_or_else(|| unfit(problem, name.to_owned(), format!("there is no algorithm for it{keeping}")))?
        };
        Ok(self.choice(algorithm, named, candidates, terms))
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
            // What owes nothing to the network a library may have as well.
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

/// The first of those with the least key.
fn cheapest(candidates: &[Candidate]) -> Option<&Candidate> {
    candidates.iter().filter(|candidate| candidate.price.is_ok()).min_by_key(|candidate| candidate.key())
}

/// What the terms ask that an algorithm which fits cannot do.
fn breaks(algorithm: &dyn Algorithm, problem: &Problem, terms: &Terms) -> Option<String> {
    let Terms { ports, native, .. } = *terms;
    let About { ports: own, needs, .. } = algorithm.about();
    let is_native = algorithm.priced_as().is_some();
    if is_native && !native {
        return Some(format!("it needs {needs}"));
    }
    let fits = is_native || algorithm.fits(problem).is_ok();
    (fits && !algorithm.keeps(problem, ports)).then(|| format!("it promises ports {own}, not {ports}"))
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
        let width = names.iter().map(String::len).max().unwrap_or(0);
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

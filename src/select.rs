//! Picks an algorithm for a problem, and says why.
//!
//! Every rank must pick the same, so nothing decides but what is equal on all of them: the problem, the bytes of a block
//! and one machine. Prices are integers.

use std::fmt;
use std::sync::Arc;

use crate::algorithm::{Algorithm, Claims, find};
use crate::error::BuildError;
use crate::machine::Machine;
use crate::schedule::{Problem, Volume};

/// What was picked, and what it was picked from.
#[derive(Clone)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// Whether the user named it.
    pub named: bool,
    /// What there was to pick from, in the registry's order: each algorithm, and its variants that fit.
    pub candidates: Vec<Candidate>,
    problem: String,
    block_bytes: u64,
}

/// An algorithm that might have been picked.
#[derive(Clone)]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Arc<dyn Algorithm>,
    /// Its price in picoseconds, or why it cannot be.
    pub price: Result<u128, String>,
}

/// Picks by name, or, for `auto`, the cheapest that fits; of equals the first in the registry.
///
/// # Errors
///
/// [`BuildError::Unknown`] for a name that is none; [`BuildError::Parameters`] for parameters that are none; [`BuildError::Unfit`] for an algorithm that does not fit, or where
/// none does.
pub fn select(problem: &Problem, name: &str, block_bytes: u64, machine: &Machine) -> Result<Choice, BuildError> {
    let named = name != "auto";
    let candidates = candidates(problem, block_bytes, machine);
    let algorithm = if named {
        let algorithm = find(problem.collective(), name)?;
        algorithm.fits(problem)?;
        algorithm
    } else {
        let priced = candidates.iter().filter_map(|c| Some((c.price.as_ref().ok()?, &c.algorithm)));
        let cheapest = priced.min_by_key(|(price, _)| **price).map(|(_, algorithm)| Arc::clone(algorithm));
        cheapest.ok_or_else(|| BuildError::Unfit {
            algorithm: name.to_owned(),
            collective: problem.collective().to_string(),
            topology: problem.topology().text(),
            needs: "there is no algorithm for it".to_owned(),
        })?
    };
    let problem = format!("{} on {}", problem.collective(), problem.topology().text());
    Ok(Choice { algorithm, named, candidates, problem, block_bytes })
}

fn candidates(problem: &Problem, block_bytes: u64, machine: &Machine) -> Vec<Candidate> {
    let priced = |algorithm: Arc<dyn Algorithm>| {
        let price = match algorithm.fits(problem) {
            Ok(()) => Ok(price(&algorithm.claims(problem), problem, block_bytes, machine)),
            Err(BuildError::Unfit { needs, .. }) => Err(needs),
            Err(other) => Err(other.to_string()),
        };
        Candidate { algorithm, price }
    };
    crate::algorithm::candidates(problem).into_iter().map(priced).collect()
}

/// What a schedule with these claims costs on that machine, in picoseconds: the sum of the machine's terms. A term
/// without a claim is left out.
#[must_use]
pub fn price(claims: &Claims, problem: &Problem, block_bytes: u64, machine: &Machine) -> u128 {
    let term = |count: Option<u64>, price: u64| u128::from(count.unwrap_or(0)).saturating_mul(price.into());
    let volume = claims.volume.unwrap_or(Volume::ZERO).bytes(block_bytes);
    let moved = (problem.ranks() as u64).saturating_mul(block_bytes).saturating_mul(claims.rearrangements.unwrap_or(0));
    let terms = [
        term(claims.startups, machine.startup),
        term(claims.messages, machine.message),
        term(Some(volume), machine.byte),
        term(claims.hops, machine.hop),
        term(Some(moved), machine.rearrangement),
    ];
    terms.into_iter().fold(0, u128::saturating_add)
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, named, candidates, problem, block_bytes } = self;
        let why = if *named { "as asked for" } else { "the cheapest by this machine's prices" };
        write!(f, "{problem}, {block_bytes} bytes a block: {}, {why}", algorithm.name())?;
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.algorithm.name()).collect();
        let width = names.iter().map(String::len).max().unwrap_or(0);
        for (name, Candidate { price, .. }) in names.iter().zip(candidates) {
            match price {
                Ok(price) => write!(f, "\n  {name:width$} {:.2} us", *price as f64 / 1e6)?,
                Err(needs) => write!(f, "\n  {name:width$} does not fit: {needs}")?,
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

//! `necklace plan --list`: lists the algorithms.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{About, Algorithm, registry};
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::schedule::Problem;
use necklace::topology::Topology;

use crate::figures::promises;
use crate::problem::{on_hosts, problem};

/// Lists the algorithms of one collective or of all. With a topology, also tells which ones fit it.
pub(crate) fn text(
    only: Option<&Collective>,
    topology: Option<&Arc<dyn Topology>>,
    root: Rank,
    commutative: bool,
    hosts_of: Option<u32>,
) -> Result<String, BuildError> {
    let mut groups: Vec<&str> = Vec::new();
    for algorithm in registry() {
        let name = algorithm.about().collective;
        if !groups.contains(&name) && only.is_none_or(|only| only.name() == name) {
            groups.push(name);
        }
    }
    let mut text = String::new();
    for group in groups {
        let named = only.map_or_else(|| group.to_owned(), Collective::text);
        let collective = Collective::named(&named, root);
        let place = match (topology, collective) {
            (Some(topology), Some(collective)) => {
                Some(on_hosts(problem(Arc::clone(topology), collective, commutative)?, hosts_of)?)
            }
            _ => None,
        };
        let on = place.as_ref().map_or(String::new(), |place| format!(" on {}", place.topology().text()));
        text += &format!("{group}{on}\n");
        for algorithm in registry().iter().filter(|algorithm| algorithm.about().collective == group) {
            text += &entry(algorithm.as_ref(), place.as_ref());
        }
        text.push('\n');
    }
    text += match topology {
        None => {
            "Formulas hold for two or more ranks and for extents above 1; a single rank sends nothing.\n\
             With --topology T, the list shows which algorithms fit T, and their figures on it.\n"
        }
        Some(_) => "Transmission and volume in blocks; messages and volume are those of the busiest rank.\n",
    };
    Ok(text)
}

fn entry(algorithm: &dyn Algorithm, place: Option<&Problem>) -> String {
    let About { summary, source, needs, claims, ports, .. } = algorithm.about();
    let mut text = format!("  {:<25} {summary}\n", algorithm.name());
    let mut line = |name: &str, value: &str| text += &format!("    {name:18}{value}\n");
    line("source", source);
    line("needs", needs);
    line("ports", ports.name());
    line("claims", claims);
    for parameter in algorithm.parameters() {
        let (summary, default) = (parameter.summary, parameter.text(parameter.default));
        line("parameter", &format!("{parameter}: {summary}; {default} unless given"));
    }
    let Some(problem) = place else { return text };
    match algorithm.fits(problem) {
        Ok(()) => line("here", &promises(&algorithm.claims(problem))),
        Err(BuildError::Unfit { needs, .. }) => line("does not fit", &needs),
        Err(other) => line("does not fit", &other.to_string()),
    }
    for variant in algorithm.variants(problem).iter().filter(|variant| variant.fits(problem).is_ok()) {
        line("variant", &format!("{}: {}", variant.name(), promises(&variant.claims(problem))));
    }
    text
}

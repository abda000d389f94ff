//! The list of constructions, and the choice among them.

use std::sync::Arc;

use super::{EmbeddingError, Measures, cube, grid, search, snake, tree};
use crate::ids::Node;
use crate::topology::{Embedding, Topology};

/// An embedding by formula.
struct Construction {
    name: &'static str,
    /// Returns the host's node of each node of the guest, or `None` if the construction is for
    /// other networks. The guest has at most as many nodes as the host.
    map: fn(&dyn Topology, &dyn Topology) -> Option<Vec<Node>>,
}

/// One row per construction. Where two are equally good, the first is the better one.
const ROWS: [Construction; 10] = [
    Construction { name: "natural", map: cube::natural },
    Construction { name: "straight", map: grid::straight },
    Construction { name: "fold", map: fold },
    Construction { name: "express", map: grid::express },
    Construction { name: "diagonals", map: grid::diagonals },
    Construction { name: "snake", map: snake::snake },
    Construction { name: "gray", map: gray },
    Construction { name: "inorder", map: tree::inorder },
    Construction { name: "blocks", map: blocks },
    Construction { name: IDENTITY, map: identity },
];

/// The most nodes of a guest for which constructions are compared with a search.
const MOST_COMPARED: usize = 1 << 10;

const IDENTITY: &str = "identity";
const SEARCH: &str = "search";

fn fold(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    grid::fold(guest, host).or_else(|| snake::fold(guest, host))
}

fn gray(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    cube::gray(guest, host).or_else(|| cube::squares(guest, host))
}

fn blocks(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    tree::blocks(guest, host).or_else(|| cube::blocks(guest, host))
}

/// Puts each node on the one of the same number.
fn identity(guest: &dyn Topology, _: &dyn Topology) -> Option<Vec<Node>> {
    Some((0..guest.nodes()).map(Node::new).collect())
}

fn check(guest: &dyn Topology, host: &dyn Topology) -> Result<(), EmbeddingError> {
    let (nodes, most) = (guest.nodes(), host.nodes());
    if nodes > most {
        return Err(EmbeddingError::Unfit { guest: guest.text(), nodes, host: host.text(), most });
    }
    EmbeddingError::check_sizes(guest, host)
}

/// Returns the embedding of a construction for networks that were checked.
fn constructed(guest: &Arc<dyn Topology>, host: &Arc<dyn Topology>, row: &Construction) -> Option<Embedding> {
    let embedding = Embedding::new(Arc::clone(guest), Arc::clone(host), (row.map)(&**guest, &**host)?).ok()?;
    Some(Embedding { name: Some(row.name.to_owned()), ..embedding })
}

pub(super) fn named(
    guest: Arc<dyn Topology>,
    host: Arc<dyn Topology>,
    name: &str,
) -> Result<Embedding, EmbeddingError> {
    check(&*guest, &*host)?;
    if let Some(seed) = seed(name) {
        return searched(guest, host, seed);
    }
    let row = ROWS.iter().find(|row| row.name == name);
    row.and_then(|row| constructed(&guest, &host, row)).ok_or_else(|| EmbeddingError::Unknown {
        name: name.to_owned(),
        guest: guest.text(),
        host: host.text(),
        known: fitting(&*guest, &*host),
    })
}

/// Returns the seed of `search` or `search:SEED`.
fn seed(name: &str) -> Option<u64> {
    match name.strip_prefix(SEARCH)? {
        "" => Some(0),
        seed => seed.strip_prefix(':')?.parse().ok().filter(|number: &u64| seed[1..] == number.to_string()),
    }
}

/// Returns the names that fit a guest and a host.
fn fitting(guest: &dyn Topology, host: &dyn Topology) -> Vec<String> {
    let rows = ROWS.iter().filter(|row| (row.map)(guest, host).is_some()).map(|row| row.name.to_owned());
    rows.chain([SEARCH.to_owned(), format!("{SEARCH}:SEED")]).collect()
}

pub(super) fn best(guest: Arc<dyn Topology>, host: Arc<dyn Topology>) -> Result<Embedding, EmbeddingError> {
    check(&*guest, &*host)?;
    let all = ROWS.iter().filter_map(|row| constructed(&guest, &host, row));
    let best = all.min_by_key(|embedding| {
        let measures = embedding.measures();
        (measures.dilation, measures.congestion, measures.length)
    });
    let Some(best) = best else { return searched(guest, host, 0) };
    let (name, dilation) = (best.name(), best.measures().dilation);
    let is_made = name != Some(IDENTITY) && guest.nodes() > MOST_COMPARED;
    if is_made || dilation <= Measures::at_least(&*guest, &*host).0 {
        return Ok(best);
    }
    let found = searched(guest, host, 0)?;
    Ok(if found.measures().dilation < dilation { found } else { best })
}

pub(super) fn searched(
    guest: Arc<dyn Topology>,
    host: Arc<dyn Topology>,
    seed: u64,
) -> Result<Embedding, EmbeddingError> {
    check(&*guest, &*host)?;
    let nodes = search::search(&*guest, &*host, seed);
    let name = if seed == 0 { SEARCH.to_owned() } else { format!("{SEARCH}:{seed}") };
    Ok(Embedding { name: Some(name), ..Embedding::new(guest, host, nodes)? })
}

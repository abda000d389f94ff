//! Reading of schedules.

use std::fmt;
use std::io::{BufReader, Read};
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::FORMAT;
use super::bounded::{Bounded, List, MAX_STRING, Object, Strings};
use super::error::{JsonError, rejected};
use crate::block::Block;
use crate::collective::{Collective, Custom, Holding};
use crate::ids::{MAX_NODES, Node, Rank};
use crate::quote::{quoted, shortened};
use crate::topology::{Graph, Named, Topology, parse_or_file};
use crate::vocabulary::{
    BuildError, Combine, LocalStep, Outline, Placement, Ports, Problem, Round, Route, Schedule, Transfer,
};

/// The maximum number of chunks of a block in a document, so that code which lists chunks is safe.
const MAX_CHUNKS: u32 = 1 << 20;

/// The maximum number of bytes that [`read_json`] reads. The schedule takes several times as much
/// memory. Needs the feature `json`.
pub(super) const MAX_DOCUMENT: u64 = 256 << 20;

/// The maximum number of bytes of a name: messages about a schedule contain the names of its
/// network, algorithm and phases.
const MAX_NAME: usize = 4096;

/// The maximum number of phases: their names take many times the memory of the text.
const MAX_PHASES: usize = 1 << 16;

/// The maximum number of rounds, of ranks and of links.
const MAX_LISTED: usize = 1 << 22;

/// Reads a schedule from a JSON text. Needs the feature `json`.
///
/// # Errors
///
/// [`JsonError`] with the position in the text, what was found and what is expected.
pub fn from_json(text: &str) -> Result<Schedule, JsonError> {
    if !Strings::default().are_short(text.as_bytes()) {
        return Err(JsonError::LongString { limit: MAX_STRING });
    }
    let Object(document) = serde_json::from_str(text).map_err(rejected)?;
    schedule(document)
}

/// Reads a schedule from a JSON document. Needs the feature `json`.
///
/// # Errors
///
/// As [`from_json`]; [`JsonError::Io`] if reading fails; [`JsonError::TooLong`] for more than
/// 256 MiB.
pub fn read_json(from: impl Read) -> Result<Schedule, JsonError> {
    read_bounded(from, MAX_DOCUMENT)
}

fn read_bounded(from: impl Read, limit: u64) -> Result<Schedule, JsonError> {
    let mut bounded = Bounded::new(from, limit);
    let document = serde_json::from_reader(BufReader::new(&mut bounded));
    if bounded.exceeded {
        return Err(JsonError::TooLong { limit });
    }
    if bounded.long_string {
        return Err(JsonError::LongString { limit: MAX_STRING });
    }
    let Object(document) = document.map_err(rejected)?;
    schedule(document)
}

#[derive(serde::Deserialize)]
struct Document {
    format: String,
    topology: String,
    nodes: usize,
    collective: String,
    root: Option<RankIn>,
    algorithm: Option<String>,
    ports: Option<String>,
    commutative: Option<bool>,
    name: Option<String>,
    contention_free: Option<bool>,
    phases: Option<List<String, MAX_PHASES>>,
    placement: Option<List<NodeIn, MAX_LISTED>>,
    edges: Option<List<(usize, usize), MAX_LISTED>>,
    pre: Option<Sides>,
    post: Option<Sides>,
    rounds: List<RoundIn, MAX_LISTED>,
}

type Sides = List<List<(BlockIn, List<RankIn>)>, MAX_LISTED>;

fn schedule(document: Document) -> Result<Schedule, JsonError> {
    if document.format != FORMAT {
        return Err(member("format", quoted(&document.format).to_string(), format!("{FORMAT:?}")));
    }
    let names = [("topology", Some(&document.topology)), ("algorithm", document.algorithm.as_ref())];
    let names = names.into_iter().filter_map(|(member, name)| Some((member, name?)));
    let phases = document.phases.iter().flat_map(|List(names)| names).map(|name| ("phases", name));
    if let Some((which, name)) = names.chain(phases).find(|(_, name)| name.len() > MAX_NAME) {
        return Err(member(which, quoted(name).to_string(), format!("at most {MAX_NAME} bytes")));
    }
    let topology = topology(&document)?;
    let nodes = topology.nodes();
    if document.nodes != nodes {
        let expected = format!("{nodes}, which {} has", shortened(&topology.text()));
        return Err(member("nodes", document.nodes.to_string(), expected));
    }
    let Document { collective, root, name, pre, post, .. } = document;
    let stated = Stated { collective, root, name, pre, post };
    let Document { algorithm, ports, commutative, contention_free, phases, placement, rounds, .. } = document;
    let placement = match placement {
        None => Placement::identity(nodes),
        Some(List(list)) => Placement::new(list.into_iter().map(|NodeIn(node)| node).collect(), nodes)?,
    };
    let collective = stated.collective(placement.ranks())?;
    let ports = ports.map_or(Ok(Ports::Unlimited), |name| {
        let known = || format!("one of {}", Ports::all().map(Ports::name).collect::<Vec<_>>().join(", "));
        Ports::named(&name).ok_or_else(|| member("ports", quoted(&name).to_string(), known()))
    })?;
    let problem = Problem::placed(topology, placement, collective)?;
    let problem = if commutative == Some(false) { problem.ordered() } else { problem };
    let mut rounds: Vec<Round> = rounds.0.into_iter().map(|RoundIn(round)| round).collect();
    for transfer in rounds.iter_mut().flat_map(|round| &mut round.transfers) {
        unless_default(transfer, &problem);
    }
    let algorithm = algorithm.unwrap_or_default();
    let phases = phases.map_or_else(|| vec![algorithm.clone()], |List(names)| names);
    let contention_free = contention_free.unwrap_or(false);
    Ok(Schedule { outline: Outline { problem, algorithm, ports, contention_free, phases }, rounds })
}

fn member(member: &'static str, found: String, expected: String) -> JsonError {
    JsonError::Member { member, found, expected }
}

/// Returns the network. If its text is that of no network, the links are those of the document. A
/// file that it names is not read.
fn topology(document: &Document) -> Result<Arc<dyn Topology>, JsonError> {
    let text = &document.topology;
    let path = match (parse_or_file(text), &document.edges) {
        (Ok(Named::Network(topology)), _) => return Ok(topology),
        (Ok(Named::File { path, .. }), _) => Some(path),
        (Err(error), None) => return Err(BuildError::from(error).into()),
        (Err(_), Some(_)) => None,
    };
    let Some(List(edges)) = &document.edges else {
        return Err(member("edges", "nothing".to_owned(), format!("the links of {}", quoted(text))));
    };
    let graph = Graph::new(document.nodes, edges.iter().copied()).map_err(|fault| {
        let links = format!("{} links of {} nodes: {fault}", edges.len(), document.nodes);
        member("edges", links, "the links of a connected network".to_owned())
    })?;
    Ok(Arc::new(match path {
        Some(path) => graph.with_path(path),
        None => graph,
    }))
}

/// The members of a document that define the collective.
struct Stated {
    collective: String,
    root: Option<RankIn>,
    name: Option<String>,
    pre: Option<Sides>,
    post: Option<Sides>,
}

impl Stated {
    fn collective(self, ranks: usize) -> Result<Collective, JsonError> {
        let Self { collective: text, root, name, pre, post } = self;
        let text = text.as_str();
        if text != "custom" {
            let known = || format!("one of {}, custom", Collective::names().collect::<Vec<_>>().join(", "));
            let at = root.as_ref().map_or(Rank::new(0), |&RankIn(root)| root);
            let collective =
                Collective::named(text, at).ok_or_else(|| member("collective", quoted(text).to_string(), known()))?;
            if collective.root().is_some() && root.is_none() {
                return Err(member("root", "nothing".to_owned(), format!("a rank, 0 to {}", ranks.saturating_sub(1))));
            }
            return Ok(collective);
        }
        let side = |which, side: Option<Sides>| {
            let side = side.map_or(Vec::new(), |List(side)| side);
            if side.len() != ranks {
                return Err(member(
                    which,
                    format!("a list of {}", side.len()),
                    format!("a list for each of {ranks} ranks"),
                ));
            }
            let ranks = |who: Vec<RankIn>| who.into_iter().map(|RankIn(rank)| rank).collect();
            let holding = |List(holding): List<_>| -> Holding {
                holding.into_iter().map(|(BlockIn(block), List(who))| (block, ranks(who))).collect()
            };
            Ok(side.into_iter().map(holding).collect::<Vec<Holding>>())
        };
        let custom = Custom { pre: side("pre", pre)?, post: side("post", post)? };
        let named = name.and_then(|name| Collective::named(&name, Rank::new(0)));
        match named.filter(|collective| !collective.is_known_by_name()) {
            Some(collective) if is_of(&collective, &custom, ranks) => Ok(collective),
            Some(collective) => {
                let found = format!("{:?} with other \"pre\" and \"post\" than it has", collective.name());
                Err(member("name", found, format!("what ranks hold before and after a {collective}")))
            }
            None => Ok(Collective::Custom(Arc::new(custom))),
        }
    }
}

/// Returns whether `custom` has the conditions of a collective.
fn is_of(collective: &Collective, custom: &Custom, ranks: usize) -> bool {
    let (before, after) = collective.buffers();
    custom.pre.iter().zip(&custom.post).enumerate().all(|(rank, (pre, post))| {
        let rank = Rank::new(rank);
        let role = collective.role(ranks, rank);
        // The lengths are compared first, so that nothing longer than the document is built.
        (pre.len(), post.len()) == (before.at(role), after.at(role))
            && *pre == collective.before(ranks, rank)
            && *post == collective.after(ranks, rank)
    })
}

/// Replaces a route that is the default one by `Default`, so that equal schedules compare equal.
fn unless_default(transfer: &mut Transfer, problem: &Problem) {
    let Route::Via(nodes) = &transfer.route else { return };
    if transfer.source.max(transfer.destination).index() >= problem.ranks() {
        return;
    }
    let [from, to] = [transfer.source, transfer.destination].map(|rank| problem.placement().node(rank));
    let topology = problem.topology();
    // A default route may be longer than the document: so the lengths are compared first.
    let ends = nodes.first() == Some(&from) && nodes.last() == Some(&to);
    if ends && topology.distance(from, to) + 1 == nodes.len() && topology.route(from, to) == *nodes {
        transfer.route = Route::Default;
    }
}

struct RankIn(Rank);
struct NodeIn(Node);
struct BlockIn(Block);
struct RoundIn(Round);
struct CombineIn(Combine);

#[derive(serde::Deserialize)]
struct RawRound {
    #[serde(default)]
    phase: usize,
    transfers: List<Object<RawTransfer>>,
    local: Option<List<Object<RawStep>>>,
}

#[derive(serde::Deserialize)]
struct RawTransfer {
    src: RankIn,
    dst: RankIn,
    route: Option<List<NodeIn>>,
    reduce: Option<CombineIn>,
    blocks: List<BlockIn>,
}

#[derive(serde::Deserialize)]
struct RawStep {
    rank: RankIn,
    from: BlockIn,
    into: BlockIn,
    reduce: Option<CombineIn>,
}

// Each round is converted as soon as it is read, so that no second copy of all rounds exists.
impl<'de> Deserialize<'de> for RoundIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(RawRound { phase, transfers, local }) = Object::deserialize(deserializer)?;
        let combine = |reduce: Option<CombineIn>| reduce.map_or(Combine::Replace, |CombineIn(combine)| combine);
        let transfer = |Object(raw): Object<RawTransfer>| Transfer {
            source: raw.src.0,
            destination: raw.dst.0,
            blocks: raw.blocks.0.into_iter().map(|BlockIn(block)| block).collect(),
            combine: combine(raw.reduce),
            route: match raw.route {
                Some(List(nodes)) if !nodes.is_empty() => {
                    Route::Via(nodes.into_iter().map(|NodeIn(node)| node).collect())
                }
                _ => Route::Default,
            },
        };
        let step = |Object(raw): Object<RawStep>| {
            (raw.rank.0, LocalStep { from: raw.from.0, into: raw.into.0, combine: combine(raw.reduce) })
        };
        let transfers = transfers.0.into_iter().map(transfer).collect();
        let local = local.map_or(Vec::new(), |List(steps)| steps.into_iter().map(step).collect());
        Ok(Self(Round { phase, transfers, local }))
    }
}

impl<'de> Deserialize<'de> for RankIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Index("rank")).map(|index| Self(Rank::new(index)))
    }
}

impl<'de> Deserialize<'de> for NodeIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Index("node")).map(|index| Self(Node::new(index)))
    }
}

/// The number of a rank or node. [`verify`](crate::schedule::verify) checks whether it exists.
struct Index(&'static str);

impl Visitor<'_> for Index {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}, 0 to {}", self.0, MAX_NODES - 1)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<usize, E> {
        let index = usize::try_from(value).ok().filter(|&index| index < MAX_NODES);
        index.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }
}

impl<'de> Deserialize<'de> for CombineIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct How;

        impl Visitor<'_> for How {
            type Value = Combine;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false, \"left\" or \"right\"")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Combine, E> {
                if value { Err(E::invalid_value(de::Unexpected::Bool(value), &self)) } else { Ok(Combine::Replace) }
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Combine, E> {
                match value {
                    "left" => Ok(Combine::Left),
                    "right" => Ok(Combine::Right),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(How).map(Self)
    }
}

impl<'de> Deserialize<'de> for BlockIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;

        impl<'de> Visitor<'de> for Numbers {
            type Value = Block;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a block: [source, destination], [source, destination, i, k] or [source, destination, i, k, c]",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Block, A::Error> {
                let mut numbers = [0_i64, 0, 0, 1, 1];
                let mut length = 0;
                while let Some(number) = list.next_element::<i64>()? {
                    let place = numbers.get_mut(length);
                    *place.ok_or_else(|| de::Error::invalid_length(length + 1, &self))? = number;
                    length += 1;
                }
                if !matches!(length, 2 | 4 | 5) {
                    return Err(de::Error::invalid_length(length, &self));
                }
                block(numbers).ok_or_else(|| {
                    let found = &numbers[..length];
                    let (low, high) = (i32::MIN, MAX_NODES - 1);
                    de::Error::custom(format_args!(
                        "block {found:?}: expected source and destination from {low} to {high}, k from 1 to \
                         {MAX_CHUNKS}, c at least 1 and i + c at most k"
                    ))
                })
            }
        }

        fn block([source, destination, first, of, count]: [i64; 5]) -> Option<Block> {
            let end = |number: i64| i32::try_from(number).ok().filter(|&number| number < MAX_NODES as i32);
            let chunks = |number: i64| u32::try_from(number).ok().filter(|&number| number <= MAX_CHUNKS);
            Block::raw(end(source)?, end(destination)?).chunks(chunks(first)?, chunks(of)?, chunks(count)?)
        }

        deserializer.deserialize_seq(Numbers).map(Self)
    }
}

#[cfg(test)]
mod tests;

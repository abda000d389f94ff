//! Writing of schedules.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::FORMAT;
use super::error::JsonError;
use crate::block::Block;
use crate::collective::{Collective, Holding};
use crate::ids::{Node, Rank};
use crate::topology::{Graph, Named, is_damaged, parse_or_file};
use crate::vocabulary::{Combine, LocalStep, Outline, Problem, Round, Route, Schedule, Shares, Transfer};

/// Default routes longer than this are not written. A reader takes the default for them.
const MAX_HOPS: usize = 1 << 20;

/// Returns a schedule as a JSON text. Needs the feature `json`.
#[must_use]
pub fn to_json(schedule: &Schedule) -> String {
    let text = write_json(schedule, Vec::new()).expect("writing to memory does not fail");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Writes a schedule as JSON, and returns the writer. Needs the feature `json`.
///
/// # Errors
///
/// Errors of the writer.
pub fn write_json<W: Write>(schedule: &Schedule, out: W) -> io::Result<W> {
    let mut writer = JsonWriter::new(&schedule.outline, out)?;
    for round in &schedule.rounds {
        writer.round(round)?;
    }
    writer.finish()
}

/// Writes the ranks' shares of a schedule as JSON, with one round in memory at a time, and returns
/// the writer. Needs the feature `json`.
///
/// # Errors
///
/// [`JsonError::Io`] if writing fails; [`JsonError::Build`] with the errors of [`Shares::collect`].
pub fn share_json<W: Write>(shares: Shares, out: W) -> Result<W, JsonError> {
    let outline = shares.outline().clone();
    let mut writer = JsonWriter::new(&outline, out)?;
    for round in shares.matched() {
        writer.round(&round?)?;
    }
    Ok(writer.finish()?)
}

/// Writes a schedule as JSON, round by round. Needs the feature `json`.
///
/// The document is complete when [`finish`](Self::finish) returns. Makes many small writes: use a
/// buffered writer.
pub struct JsonWriter<W> {
    problem: Problem,
    out: W,
    first: bool,
}

impl<W: Write> JsonWriter<W> {
    /// Starts a document, with all members before the rounds.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn new(outline: &Outline, mut out: W) -> io::Result<Self> {
        let problem = outline.problem.clone();
        // A reader need not know embeddings: ranks are placed on the host, and routes are in it.
        let topology = problem.topology();
        let topology = topology.embedding().map_or(topology, |embedding| embedding.host());
        let collective = problem.collective();
        let text = topology.text();
        let named = parse_or_file(&text);
        // A reader need not know damage either: what is left is a graph.
        let damaged = is_damaged(&text);
        let graph = damaged || !matches!(named, Ok(Named::Network(_)));
        // A text of the program's own, which no parser knows.
        let own = damaged || named.is_err() && text != Graph::NAME;
        let text = if own { format!("{}:{text}", Graph::NAME) } else { text };
        // A reader need not know a barrier or a shift, which are not collectives of the format.
        // They are written with their conditions.
        let conditions = !collective.is_known_by_name();

        write!(out, "{{\"format\":\"{FORMAT}\"")?;
        member(&mut out, "topology", &text)?;
        member(&mut out, "nodes", &topology.nodes())?;
        member(&mut out, "collective", if conditions { "custom" } else { collective.name() })?;
        if conditions && !matches!(collective, Collective::Custom(_)) {
            member(&mut out, "name", &collective.text())?;
        }
        member(&mut out, "root", &collective.root().map(Rank::index))?;
        member(&mut out, "algorithm", &outline.algorithm)?;
        member(&mut out, "ports", outline.ports.name())?;
        member(&mut out, "commutative", &problem.commutative())?;
        member(&mut out, "contention_free", &outline.contention_free)?;
        member(&mut out, "phases", &outline.phases)?;
        if !problem.placement().is_identity() || problem.ranks() != topology.nodes() {
            let nodes = || problem.all().map(|rank| problem.placement().node(rank).index());
            member(&mut out, "placement", &List(nodes))?;
        }
        if graph {
            let edges = topology.edges();
            member(&mut out, "edges", &List(|| edges.iter().map(|(u, v)| (u.index(), v.index()))))?;
        }
        if conditions {
            let size = problem.ranks();
            member(&mut out, "pre", &List(|| problem.all().map(|rank| HoldingOut(collective.before(size, rank)))))?;
            member(&mut out, "post", &List(|| problem.all().map(|rank| HoldingOut(collective.after(size, rank)))))?;
        }
        out.write_all(b",\n\"rounds\":[")?;
        Ok(Self { problem, out, first: true })
    }

    /// Writes the next round.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn round(&mut self, round: &Round) -> io::Result<()> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        Ok(serde_json::to_writer(&mut self.out, &RoundOut(round, &self.problem))?)
    }

    /// Ends the document, and returns the writer.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn member<T: Serialize + ?Sized>(out: &mut impl Write, name: &str, value: &T) -> io::Result<()> {
    write!(out, ",\"{name}\":")?;
    Ok(serde_json::to_writer(out, value)?)
}

/// The items of an iterator as a list, which is never in memory.
struct List<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

struct HoldingOut(Holding);

impl Serialize for HoldingOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let indices = |who: &[Rank]| who.iter().map(|rank| rank.index()).collect::<Vec<_>>();
        serializer.collect_seq(self.0.iter().map(|(block, who)| (BlockOut(*block), indices(who))))
    }
}

struct BlockOut(Block);

impl Serialize for BlockOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let block = self.0;
        let numbers = match (block.of(), block.count()) {
            (1, _) => 2,
            (_, 1) => 4,
            _ => 5,
        };
        let mut list = serializer.serialize_seq(Some(numbers))?;
        list.serialize_element(&block.source())?;
        list.serialize_element(&block.destination())?;
        for number in [block.first(), block.of(), block.count()].iter().take(numbers - 2) {
            list.serialize_element(number)?;
        }
        list.end()
    }
}

struct CombineOut(Combine);

impl Serialize for CombineOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Combine::Replace => serializer.serialize_bool(false),
            Combine::Left => serializer.serialize_str("left"),
            Combine::Right => serializer.serialize_str("right"),
        }
    }
}

struct RoundOut<'a>(&'a Round, &'a Problem);

impl Serialize for RoundOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(round, problem) = *self;
        let mut map = serializer.serialize_map(None)?;
        if round.phase != 0 {
            map.serialize_entry("phase", &round.phase)?;
        }
        map.serialize_entry("transfers", &List(|| round.transfers.iter().map(|t| TransferOut(t, problem))))?;
        if !round.local.is_empty() {
            map.serialize_entry("local", &List(|| round.local.iter().map(|(rank, step)| StepOut(*rank, *step))))?;
        }
        map.end()
    }
}

struct TransferOut<'a>(&'a Transfer, &'a Problem);

impl Serialize for TransferOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(transfer, problem) = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("src", &transfer.source.index())?;
        map.serialize_entry("dst", &transfer.destination.index())?;
        if let Some(route) = route(transfer, problem) {
            map.serialize_entry("route", &List(|| route.iter().map(|node| node.index())))?;
        }
        map.serialize_entry("reduce", &CombineOut(transfer.combine))?;
        map.serialize_entry("blocks", &List(|| transfer.blocks.iter().copied().map(BlockOut)))?;
        map.end()
    }
}

/// Returns the route. `None` if it is too long, or a rank does not exist.
fn route<'a>(transfer: &'a Transfer, problem: &Problem) -> Option<Cow<'a, [Node]>> {
    match &transfer.route {
        Route::Via(nodes) => Some(Cow::Borrowed(nodes)),
        Route::Default => {
            let exists = transfer.source.max(transfer.destination).index() < problem.ranks();
            let [from, to] = [transfer.source, transfer.destination].map(|rank| problem.placement().node(rank));
            let topology = problem.topology();
            let short = exists && (topology.nodes() <= MAX_HOPS || topology.distance(from, to) <= MAX_HOPS);
            short.then(|| Cow::Owned(topology.route(from, to)))
        }
    }
}

struct StepOut(Rank, LocalStep);

impl Serialize for StepOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rank, LocalStep { from, into, combine }) = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rank", &rank.index())?;
        map.serialize_entry("from", &BlockOut(from))?;
        map.serialize_entry("into", &BlockOut(into))?;
        map.serialize_entry("reduce", &CombineOut(combine))?;
        map.end()
    }
}

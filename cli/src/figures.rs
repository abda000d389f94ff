//! Prints the figures of a schedule: counted, claimed and bounded.

use necklace::algorithm::Claims;
use necklace::bounds::Bounds;
use necklace::schedule::{Figures, Ports, Violations, Volume};

use crate::table::align;

/// The name of the row that only reductions have.
const COMBINED: &str = "combined, blocks";

/// A figure of a schedule.
struct Row {
    /// The name in a line of claims.
    name: &'static str,
    /// The name in a table.
    long: &'static str,
    /// Whether the figure is an amount of blocks.
    blocks: bool,
    claimed: Option<Volume>,
    /// The lower bound.
    bound: Option<Volume>,
    counted: fn(&Figures) -> Volume,
}

/// Returns the rows for some claims. Lower bounds are included if the bounds and the figures of a
/// schedule are given.
fn rows(claims: &Claims, bounds: Option<(&Bounds, &Figures)>) -> [Row; 13] {
    let row = |name, long, blocks, claimed, counted| Row { name, long, blocks, claimed, bound: None, counted };
    let number = |name, long, claimed: Option<u64>, counted| row(name, long, false, claimed.map(Volume::from), counted);
    let blocks = |name, long, claimed, counted| row(name, long, true, claimed, counted);
    let mut rows = [
        number("start-ups", "start-ups", claims.startups, |f| f.startups.into()),
        blocks("transmission", "transmission, blocks", claims.transmission, |f| f.transmission),
        blocks("by port", "transmission by port, blocks", claims.port_transmission, |f| f.port_transmission),
        blocks("by channel", "transmission by channel, blocks", claims.channel_transmission, |f| {
            f.channel_transmission
        }),
        blocks("forwarded", "transmission forwarded, blocks", claims.forwarded_transmission, |f| {
            f.forwarded_transmission
        }),
        blocks("at the ends", "transmission at the ends, blocks", claims.end_transmission, |f| f.end_transmission),
        number("hops", "hops", claims.hops, |f| f.hops.into()),
        number("rearrangements", "rearrangements", claims.rearrangements, |f| f.rearrangements.into()),
        number("handled", "messages handled", claims.handled, |f| f.handled.into()),
        number("messages", "messages of the busiest rank", claims.messages, |f| f.messages.into()),
        blocks("volume", "volume of the busiest rank, blocks", claims.volume, |f| f.volume),
        blocks("combined", COMBINED, claims.combined, |f| f.combined),
        blocks("received", "transmission received, blocks", claims.received, |f| f.received),
    ];
    if let Some((bounds, figures)) = bounds {
        let ports = figures.ports();
        let to_neighbours = is_to_neighbours(figures);
        let transmission = bounds.transmission(ports, figures.contention_free, to_neighbours);
        let far = if to_neighbours { bounds.distance } else { 0 };
        rows[0].bound = Some(bounds.startups(ports).max(far).into());
        rows[1].bound = Some(transmission).filter(|&bound| bound > Volume::ZERO);
        rows[2].bound = Some(bounds.port);
        rows[12].bound = Some(bounds.received);
        rows[3].bound = Some(bounds.channel());
        rows[4].bound = Some(bounds.forwarded).filter(|_| ports == Ports::One);
        rows[6].bound = Some(bounds.hops(ports).into());
        rows[8].bound = Some(bounds.handled(ports).into());
        rows[11].bound = Some(bounds.combined);
    }
    rows
}

/// Formats the claims of an algorithm for a problem as one line.
pub(crate) fn promises(claims: &Claims) -> String {
    let promised = rows(claims, None).into_iter().filter_map(|row| Some(format!("{} {}", row.name, row.claimed?)));
    let free = claims.contention_free.then(|| "contention-free".to_owned());
    let parts: Vec<String> = promised.chain(free).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// Formats the figures of a schedule as a table: counted, by formula, and the lower bound. With the
/// size of a block, adds amounts in bytes.
pub(crate) fn side_by_side(
    figures: &Figures,
    claims: &Claims,
    bounds: &Bounds,
    ports: Ports,
    block_bytes: Option<u64>,
) -> String {
    let text = |volume: Option<Volume>| volume.map_or("-".to_owned(), |volume| volume.to_string());
    let bytes = |volume: Volume| block_bytes.map(|bytes| volume.bytes(bytes).to_string());
    let mut lines = vec![["", "counted", "formula", "bound", "ratio"].map(str::to_owned).to_vec()];
    lines[0].extend(block_bytes.map(|_| "bytes".to_owned()));
    let mut add = |name: &str, counted: String, formula: String, bound: Option<Volume>, found: Volume, blocks: bool| {
        let ratio = bound.filter(|bound| *bound > Volume::ZERO).map(|bound| found.as_f64() / bound.as_f64());
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let mut line = vec![name.to_owned(), counted, formula, text(bound), ratio];
        line.extend(blocks.then(|| bytes(found)).flatten());
        lines.push(line);
    };
    let dash = || "-".to_owned();
    add("rounds", figures.rounds.to_string(), dash(), None, figures.rounds.into(), false);
    for Row { long, blocks, claimed, bound, counted, .. } in rows(&claims.completed(ports), Some((bounds, figures))) {
        let found = counted(figures);
        // Only reductions combine.
        if long == COMBINED && found == Volume::ZERO {
            continue;
        }
        add(long, found.to_string(), text(claimed), bound, found, blocks);
    }
    for (name, found) in
        [("busiest channel, blocks", figures.busiest_channel_total), ("all channels, blocks", figures.link_blocks)]
    {
        add(name, found.to_string(), dash(), None, found, true);
    }
    let free = |free: bool| if free { "yes" } else { "no" }.to_owned();
    let promised = if claims.contention_free { free(true) } else { dash() };
    let shared = figures.max_transfers_on_a_channel;
    add("transfers on a channel in a round", shared.to_string(), dash(), None, shared.into(), false);
    add("contention-free", free(figures.contention_free), promised, None, Volume::ZERO, false);
    add("ports", figures.ports().to_string(), ports.to_string(), None, Volume::ZERO, false);
    let mut text = align(&lines);
    if *bounds != Bounds::default() {
        let near = if is_to_neighbours(figures) { ", from neighbour to neighbour" } else { "" };
        let free = if figures.contention_free { ", without contention" } else { "" };
        text += &format!("bound: a lower bound for any schedule with ports {}{near}{free}\n", figures.ports());
    }
    text
}

/// Returns whether a schedule sends only between neighbours, judged by its figures.
fn is_to_neighbours(figures: &Figures) -> bool {
    figures.hops == figures.startups
}

/// Formats the lower bounds of a problem; empty if none are known.
pub(crate) fn bounded(bounds: &Bounds) -> String {
    if *bounds == Bounds::default() { String::new() } else { format!("{bounds}\n") }
}

/// Lists the first violations and their number.
pub(crate) fn listed(violations: &Violations) -> String {
    const SHOWN: usize = 100;
    let mut text = format!("{}\n", number(violations));
    for violation in violations.all().iter().take(SHOWN) {
        text += &format!("  {violation}\n");
    }
    match violations.count().saturating_sub(SHOWN as u64) {
        0 => text,
        more => text + &format!("  and {more} more\n"),
    }
}

/// Returns the number of violations and the first one.
pub(crate) fn in_short(violations: &Violations) -> String {
    match violations.all() {
        [] => number(violations),
        [one] => format!("1 violation: {one}"),
        [first, ..] => format!("{}, the first: {first}", number(violations)),
    }
}

fn number(violations: &Violations) -> String {
    let count = violations.count();
    format!("{count} violation{}", if count == 1 { "" } else { "s" })
}

//! Figures for people: what is claimed beside what was counted.

use necklace::algorithm::Claims;
use necklace::schedule::{Figures, Ports, Violations, Volume};

use crate::table::align;

/// What a figure is called, whether it is an amount of blocks, what is claimed, and how to count it.
struct Row {
    name: &'static str,
    blocks: bool,
    claimed: Option<Volume>,
    counted: fn(&Figures) -> Volume,
}

fn rows(claims: &Claims) -> [Row; 6] {
    let number =
        |name, claimed: Option<u64>, counted| Row { name, blocks: false, claimed: claimed.map(Volume::from), counted };
    let blocks = |name, claimed, counted| Row { name, blocks: true, claimed, counted };
    [
        number("start-ups", claims.startups, |f| f.startups.into()),
        blocks("transmission", claims.transmission, |f| f.transmission),
        number("hops", claims.hops, |f| f.hops.into()),
        number("rearrangements", claims.rearrangements, |f| f.rearrangements.into()),
        number("messages", claims.messages, |f| f.messages.into()),
        blocks("volume", claims.volume, |f| f.volume),
    ]
}

/// What an algorithm promises for a problem, in a line.
pub(crate) fn promises(claims: &Claims) -> String {
    let promised = rows(claims).into_iter().filter_map(|row| Some(format!("{} {}", row.name, row.claimed?)));
    let free = claims.contention_free.then(|| "contention-free".to_owned());
    let parts: Vec<String> = promised.chain(free).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// The figures of a schedule, counted and by formula; with the size of a block, amounts in bytes too.
pub(crate) fn side_by_side(figures: &Figures, claims: &Claims, ports: Ports, block_bytes: Option<u64>) -> String {
    let text = |volume: Option<Volume>| volume.map_or("-".to_owned(), |volume| volume.to_string());
    let bytes = |volume: Volume| block_bytes.map(|bytes| volume.bytes(bytes).to_string());
    let mut lines = vec![vec![String::new(), "counted".to_owned(), "formula".to_owned()]];
    lines[0].extend(block_bytes.map(|_| "bytes".to_owned()));
    lines.push(vec!["rounds".to_owned(), figures.rounds.to_string(), "-".to_owned()]);
    for Row { name, blocks, claimed, counted } in rows(claims) {
        let counted = counted(figures);
        let name = match name {
            "messages" => "messages of the busiest rank",
            "volume" => "volume of the busiest rank, blocks",
            "transmission" => "transmission, blocks",
            other => other,
        };
        let mut line = vec![name.to_owned(), counted.to_string(), text(claimed)];
        line.extend(blocks.then(|| bytes(counted)).flatten());
        lines.push(line);
    }
    let counted_only = [
        ("transmission by channel, blocks", figures.channel_transmission),
        ("busiest channel, blocks", figures.busiest_channel_total),
        ("all channels, blocks", figures.link_blocks),
    ];
    for (name, counted) in counted_only {
        let mut line = vec![name.to_owned(), counted.to_string(), "-".to_owned()];
        line.extend(bytes(counted));
        lines.push(line);
    }
    let free = |free: bool| if free { "yes" } else { "no" }.to_owned();
    let promised = if claims.contention_free { free(true) } else { "-".to_owned() };
    let shared = figures.max_transfers_on_a_channel.to_string();
    lines.push(vec!["transfers on a channel in a round".to_owned(), shared, "-".to_owned()]);
    lines.push(vec!["contention-free".to_owned(), free(figures.contention_free), promised]);
    lines.push(vec!["ports".to_owned(), figures.ports().to_string(), ports.to_string()]);
    align(&lines)
}

/// The first violations, and how many there are.
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

/// How many violations there are, and the first.
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

//! Counts the traffic of links.

use std::collections::BTreeMap;

/// A directed link: from a node to a neighbour.
pub type Link = (usize, usize);

/// Bytes on each directed link.
pub type Loads = BTreeMap<Link, u64>;

/// The traffic of a link during some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes, headers of all layers included.
    pub bytes: u64,
    /// Packets, or larger segments that crossed in one piece.
    pub packets: u64,
}

/// Parses the devices of a network namespace from `/proc/PID/net/dev`: sent bytes and packets, by
/// name.
pub(crate) fn sent(text: &str) -> impl Iterator<Item = (&str, Counts)> {
    text.lines().filter_map(|line| {
        let (name, figures) = line.split_once(':')?;
        // Eight columns of received traffic come first.
        let mut sent = figures.split_whitespace().skip(8).map(str::parse);
        let (bytes, packets) = (sent.next()?.ok()?, sent.next()?.ok()?);
        Some((name.trim(), Counts { bytes, packets }))
    })
}

/// Returns the frames that the machine has dropped because a queue between devices was full: the
/// second column of `/proc/net/softnet_stat`, which has a line per processor.
pub(crate) fn dropped(text: &str) -> u64 {
    let column = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    text.lines().filter_map(column).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_bytes_and_packets_are_columns_9_and_10() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes packets|bytes packets\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  \
                    to12:0 0 0 0 0 0 0 0 1234567890123 77 0 0 0 0 0 0\n";
        let found: Vec<_> = sent(text).collect();
        let counts = |bytes, packets| Counts { bytes, packets };
        assert_eq!(found, [("lo", counts(9, 10)), ("to12", counts(1_234_567_890_123, 77))]);
    }

    #[test]
    fn dropped_frames_are_hexadecimal_and_of_all_processors() {
        assert_eq!(dropped("0000a1b2 00000010 00000000\n00000001 00000002 00000000\n"), 18);
    }
}

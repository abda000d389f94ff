//! Formulas of one source for the time of collectives, to compare with verified schedules.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, New Jersey Institute of Technology, 1999, chapters 8 and 9:
//! overlapping windows of two dimensions and generalized hypercubes, where a node may send
//! different messages over all its channels at once (model 3), and binary hypercubes, where it
//! sends one message at a time. Schedules do better, for alltoall by far: see
//! `doc/notes/how-comparison.md`.
//!
//! Times are in messages of m words that follow each other over a channel (m t_w). The
//! dissertation charges one start-up for a whole operation, and t_c = 0.

use necklace::collective::Collective;
use necklace::cost::Price;
use necklace::machine::Machine;
use necklace::topology::Topology;

/// The name of the formulas in place of that of an algorithm.
pub(crate) const NAME: &str = "wang-1999";
/// The source of these prices in tables.
pub(crate) const SOURCE: &str = "thesis";

/// A network of the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// `HOW(sqrt(p), w, 2)` with the extent sqrt(p) and the window w.
    Windows { extent: u64, window: u64 },
    /// `GH(sqrt(p), 2)` with the extent sqrt(p).
    Generalized { extent: u64 },
    /// The hypercube of this dimension, log p.
    Binary { dimension: u32 },
}

impl Network {
    /// Returns the network that a topology is, if the formulas have it: `how:P,W,2`, `ghc:P,2` or
    /// `hypercube:D`.
    fn of(topology: &dyn Topology) -> Option<Self> {
        let text = topology.text();
        let (kind, numbers) = text.split_once(':')?;
        let numbers: Option<Vec<u64>> = numbers.split([',', 'x']).map(|number| number.parse().ok()).collect();
        match (kind, &numbers?[..]) {
            ("how", &[extent, window, 2]) => Some(Self::Windows { extent, window }),
            ("ghc", &[extent, other]) if text.contains('x') => {
                (extent == other).then_some(Self::Generalized { extent })
            }
            ("ghc", &[extent, 2]) => Some(Self::Generalized { extent }),
            ("hypercube", &[dimension]) => Some(Self::Binary { dimension: dimension as u32 }),
            _ => None,
        }
    }

    /// Returns the messages that follow each other over a channel.
    fn messages(self, collective: &Collective) -> Option<u64> {
        let [broadcast, allgather, scatter, alltoall] = match self {
            Self::Windows { extent, window } => {
                let steps = (extent - 1).div_ceil(window);
                [2 * steps, (1 + extent) * steps, 2 * steps * (extent - 1), 2 * extent * extent * steps]
            }
            Self::Generalized { extent } => [2, 1 + extent, extent, extent * extent - 1],
            Self::Binary { dimension } => {
                let (nodes, log) = (1 << dimension, u64::from(dimension));
                [log, nodes - 1, nodes - 1, log * (nodes / 2)]
            }
        };
        match collective {
            Collective::Broadcast { .. } => Some(broadcast),
            Collective::Allgather => Some(allgather),
            Collective::Scatter { .. } => Some(scatter),
            Collective::Alltoall => Some(alltoall),
            _ => None,
        }
    }
}

/// Returns the price by the formulas, if there is one for this network and collective. A word takes
/// the time of its bytes over a channel or through a port, whichever is longer; hops, messages and
/// memory are free.
pub(crate) fn price(
    topology: &dyn Topology,
    collective: &Collective,
    machine: &Machine,
    block_bytes: u64,
) -> Option<Price> {
    let messages = Network::of(topology)?.messages(collective)?;
    let mut price = Price::default();
    price.startup = machine.startup.into();
    let bytes = u128::from(messages).saturating_mul(block_bytes.into());
    price.transmission = bytes.saturating_mul(machine.channel.max(machine.byte).into());
    price.total = price.startup.saturating_add(price.transmission);
    Some(price)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str, collective: &str) -> Option<u64> {
        let topology = necklace::topology::parse(text).unwrap();
        let collective = Collective::named(collective, necklace::Rank::default()).unwrap();
        Network::of(&*topology)?.messages(&collective)
    }

    const COLLECTIVES: [&str; 4] = ["broadcast", "allgather", "scatter", "alltoall"];

    #[test]
    fn formulas_are_those_of_chapters_8_and_9() {
        let all = |text| COLLECTIVES.map(|collective| messages(text, collective).unwrap());
        // ceil((8 - 1) / 3) = 3.
        assert_eq!(all("how:8,3,2"), [6, 27, 42, 384]);
        assert_eq!(all("how:16,15,2"), [2, 17, 30, 512]);
        assert_eq!(all("ghc:8,2"), [2, 9, 8, 63]);
        assert_eq!(all("ghc:8x8"), all("ghc:8,2"));
        assert_eq!(all("hypercube:6"), [6, 63, 63, 192]);
        assert_eq!(all("hypercube:0"), [0, 0, 0, 0]);
    }

    #[test]
    fn other_networks_and_collectives_have_no_formula() {
        for text in ["how:8,3,1", "how:4,3,3", "how-wrap:8,3,2", "ghc:8,3", "ghc:4x8", "torus:4x4", "ring:8"] {
            assert_eq!(messages(text, "alltoall"), None, "{text}");
        }
        assert_eq!(messages("torus:4x4@how:4,2,2", "alltoall"), None);
        assert_eq!(messages("how:8,3,2", "gather"), None);
    }

    #[test]
    fn price_charges_one_startup_and_the_words() {
        let machine: Machine = "free:startup=1us,channel=1ns".parse().unwrap();
        let how = necklace::topology::parse("how:8,3,2").unwrap();
        let price = price(&*how, &Collective::Alltoall, &machine, 2000).unwrap();
        assert_eq!((price.startup, price.transmission, price.total), (1_000_000, 768_000_000, 769_000_000));
    }
}

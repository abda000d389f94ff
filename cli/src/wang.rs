//! Formulas of one source for the time of collectives, to compare with verified schedules.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, New Jersey Institute of Technology, 1999, chapters 5 to 9: overlapping
//! windows of one and two dimensions, fully connected rows, generalized and binary hypercubes.
//! Misprints are corrected: the stages of an all-to-all broadcast that take two steps, the broadcast
//! in windows that wrap round, the exchange round an even ring, the number of exchanges along rows and
//! columns, and four formulas that contradict others beside them, such as that of section 6.4.1 for
//! wormhole routing in fully connected rows, which is above the one for store-and-forward. Claims that
//! no schedule can meet stay as printed. Schedules do better, for alltoall by far: see
//! `doc/notes/how-comparison.md`.
//!
//! Times are in messages of m words that follow each other over a channel (m t_w). As in chapters 8
//! and 9, t_c = 0; chapters 5 and 6 have a term t_c in each step. Differs from the source: it charges
//! one start-up t_s for a whole operation, here each transfer step has one. With wormhole routing a broadcast is a pipeline: its message is sent once, and its head
//! crosses as many channels as there are steps. All other operations keep every channel of their
//! routes busy and take the same time as with store-and-forward.

use necklace::collective::Collective;
use necklace::cost::Price;
use necklace::machine::{Machine, Switching};
use necklace::schedule::Ports;
use necklace::topology::{Factor, Topology};

/// The name of the formulas in place of that of an algorithm, for the model of all ports.
const NAME: &str = "wang-1999";
/// The source of these prices in tables.
pub(crate) const SOURCE: &str = "thesis";

/// A port model of the dissertation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Model {
    /// One output port at a time (model 1).
    OneSend,
    /// All output ports with the same message (model 2).
    SameValue,
    /// All output ports (model 3).
    All,
}

impl Model {
    /// Returns the model that allows the most of what a port model allows.
    pub(crate) fn of(ports: Ports) -> Self {
        match ports {
            Ports::One | Ports::OneSend => Self::OneSend,
            Ports::SameValue => Self::SameValue,
            _ => Self::All,
        }
    }

    /// Returns the name of the formulas for this model.
    pub(crate) fn name(self) -> String {
        match self {
            Self::OneSend => format!("{NAME}:model=1"),
            Self::SameValue => format!("{NAME}:model=2"),
            Self::All => NAME.to_owned(),
        }
    }
}

/// A network of the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// `HOW(p, w, 1)`, regular.
    Row { extent: u64, window: u64 },
    /// `HOW(p, w, 1)` that wraps round.
    Ring { extent: u64, window: u64 },
    /// A row in which all nodes are neighbours.
    Complete { extent: u64 },
    /// `HOW(sqrt(p), w, 2)` with the extent sqrt(p) and the window w.
    Windows { extent: u64, window: u64 },
    /// `GH(sqrt(p), 2)` with the extent sqrt(p).
    Generalized { extent: u64 },
    /// The hypercube of this dimension, log p.
    Binary { dimension: u32 },
}

/// Returns the binary logarithm, rounded up.
fn log(nodes: u64) -> u64 {
    nodes.next_power_of_two().ilog2().into()
}

/// Returns the window of a row, and whether it wraps round. Lines and rings have a window of 1.
fn windows(row: Factor) -> Option<(u64, bool)> {
    match row {
        Factor::Line(_) => Some((1, false)),
        Factor::Ring(_) => Some((1, true)),
        Factor::Windows { window, wraps, .. } => Some((window as u64, wraps)),
        _ => None,
    }
}

impl Network {
    /// Returns the network that a topology is, if the formulas have it. Of a host, they do not know the
    /// guest.
    fn of(topology: &dyn Topology) -> Option<Self> {
        let mut rows = topology.factors().filter(|_| topology.embedding().is_none())?;
        rows.retain(|row| row.extent() > 1);
        let extent = |row: &Factor| row.extent() as u64;
        match &rows[..] {
            [] => Some(Self::Complete { extent: 1 }),
            [row] if row.is_complete() => Some(Self::Complete { extent: extent(row) }),
            [row, other] if row.is_complete() && row == other => Some(Self::Generalized { extent: extent(row) }),
            _ if rows.iter().all(|row| row.extent() == 2) => Some(Self::Binary { dimension: rows.len() as u32 }),
            [row] => {
                let (window, wraps) = windows(*row)?;
                let extent = extent(row);
                Some(if wraps { Self::Ring { extent, window } } else { Self::Row { extent, window } })
            }
            [row, other] if row == other => {
                let (window, wraps) = windows(*row)?;
                (!wraps).then(|| Self::Windows { extent: extent(row), window })
            }
            _ => None,
        }
    }

    /// Returns the steps of a broadcast.
    fn broadcast(self, model: Model) -> u64 {
        let one = model == Model::OneSend;
        match self {
            Self::Row { extent, window } if one => {
                let first = log(window + 1);
                first + extent.saturating_sub(1 << first).div_ceil(window)
            }
            Self::Row { extent, window } => (extent - 1).div_ceil(window),
            Self::Ring { extent, window } if one => {
                let reach = 2 * window + 1;
                log(reach) + extent.saturating_sub(reach).div_ceil(2 * window)
            }
            Self::Ring { extent, window } => (extent - 1).div_ceil(2 * window),
            Self::Complete { extent } if one => log(extent),
            Self::Complete { extent } => u64::from(extent > 1),
            Self::Windows { extent, window } => 2 * Self::Row { extent, window }.broadcast(model),
            Self::Generalized { extent } if one => 2 * log(extent),
            Self::Generalized { .. } => 2,
            Self::Binary { dimension } => dimension.into(),
        }
    }

    /// Returns the messages that follow each other over a channel in an allgather.
    fn allgather(self, model: Model) -> u64 {
        let along = |extent: u64, window: u64| {
            let twice = if model == Model::SameValue { (extent - 1) / (2 * window) } else { 0 };
            (extent - 1).div_ceil(window) + twice
        };
        match (self, model) {
            (Self::Row { extent, .. } | Self::Ring { extent, .. } | Self::Complete { extent }, Model::OneSend) => {
                extent - 1
            }
            (Self::Row { extent, window }, _) => along(extent, window),
            (Self::Ring { extent, window }, Model::SameValue) => (extent - 1).div_ceil(window),
            (Self::Ring { extent, window }, _) => (extent - 1).div_ceil(2 * window),
            (Self::Complete { extent }, _) => u64::from(extent > 1),
            (Self::Windows { extent, .. } | Self::Generalized { extent }, Model::OneSend) => extent * extent - 1,
            (Self::Windows { extent, window }, _) => (1 + extent) * along(extent, window),
            (Self::Generalized { extent }, _) => 1 + extent,
            (Self::Binary { dimension }, _) => (1 << dimension) - 1,
        }
    }

    /// Returns the messages that follow each other over a channel of the root in a scatter.
    fn scatter(self, model: Model) -> Option<u64> {
        let all = model == Model::All;
        Some(match self {
            Self::Ring { .. } => return None,
            Self::Row { extent, window } if all => (extent - 1).div_ceil(window),
            Self::Complete { extent } if all => u64::from(extent > 1),
            Self::Row { extent, .. } | Self::Complete { extent } => extent - 1,
            Self::Windows { extent, window } if all => 2 * (extent - 1).div_ceil(window) * (extent - 1),
            Self::Generalized { extent } if all => extent,
            Self::Windows { extent, .. } | Self::Generalized { extent } => extent * extent - 1,
            Self::Binary { dimension } => (1 << dimension) - 1,
        })
    }

    /// Returns the messages that follow each other over a channel in an alltoall.
    fn alltoall(self, model: Model) -> Option<u64> {
        let all = model == Model::All;
        Some(match self {
            Self::Ring { .. } => return None,
            Self::Row { extent, window } if all => 2 * (extent - 1).div_ceil(window),
            // Round a ring, both ways in turn.
            Self::Row { extent, .. } => extent * extent / 4,
            Self::Complete { extent } if all => u64::from(extent > 1),
            Self::Complete { extent } => extent - 1,
            Self::Windows { extent, window } if all => 2 * extent * extent * (extent - 1).div_ceil(window),
            Self::Windows { extent, .. } => 2 * extent * (extent * extent / 4),
            Self::Generalized { extent } if all => extent * extent - 1,
            Self::Generalized { extent } => 2 * extent * (extent - 1),
            Self::Binary { dimension } => u64::from(dimension) * ((1 << dimension) / 2),
        })
    }

    /// Returns the transfer steps. Where several messages go together, they are fewer than the
    /// [messages](Self::messages) that follow each other.
    fn steps(self, collective: &Collective, model: Model) -> Option<u64> {
        let all = model == Model::All;
        let messages = self.messages(collective, model)?;
        Some(match (collective, self) {
            (Collective::Allgather | Collective::Scatter { .. } | Collective::Alltoall, Self::Binary { dimension }) => {
                dimension.into()
            }
            // The messages of a row go together along the columns.
            (Collective::Allgather, Self::Windows { extent, .. } | Self::Generalized { extent }) => {
                2 * (messages / (extent + 1))
            }
            (Collective::Scatter { .. }, Self::Windows { extent, window }) if all => 2 * (extent - 1).div_ceil(window),
            (Collective::Scatter { .. }, Self::Generalized { extent }) if all => messages.min(extent.min(2)),
            _ => messages,
        })
    }

    /// Returns the messages that follow each other over a channel, with store-and-forward.
    fn messages(self, collective: &Collective, model: Model) -> Option<u64> {
        match collective {
            Collective::Broadcast { .. } => Some(self.broadcast(model)),
            Collective::Allgather => Some(self.allgather(model)),
            Collective::Scatter { .. } => self.scatter(model),
            Collective::Alltoall => self.alltoall(model),
            _ => None,
        }
    }
}

/// Returns the price by the formulas, if there is one for this network and collective: those for
/// store-and-forward, or, if the machine's switching is cut-through, those for wormhole routing. A
/// word takes the time of its bytes over a channel or through a port, whichever is longer. In a
/// broadcast with wormhole routing, the head takes the time of a hop over each channel; otherwise
/// hops, messages and memory are free.
pub(crate) fn price(
    topology: &dyn Topology,
    collective: &Collective,
    model: Model,
    machine: &Machine,
    block_bytes: u64,
) -> Option<Price> {
    let network = Network::of(topology)?;
    let (steps, messages) = (network.steps(collective, model)?, network.messages(collective, model)?);
    let is_pipeline = matches!(collective, Collective::Broadcast { .. }) && machine.switching == Switching::CutThrough;
    let (messages, hops) = if is_pipeline { (messages.min(1), steps) } else { (messages, 0) };
    let mut price = Price::default();
    price.startup = u128::from(steps).saturating_mul(machine.startup.into());
    let bytes = u128::from(messages).saturating_mul(block_bytes.into());
    price.transmission = bytes.saturating_mul(machine.channel.max(machine.byte).into());
    price.propagation = u128::from(hops).saturating_mul(machine.hop.into());
    price.total = price.startup.saturating_add(price.transmission).saturating_add(price.propagation);
    Some(price)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str, collective: &str, model: Model) -> Option<u64> {
        let topology = necklace::topology::parse(text).unwrap();
        let collective = Collective::named(collective, necklace::Rank::default()).unwrap();
        Network::of(&*topology)?.messages(&collective, model)
    }

    const COLLECTIVES: [&str; 4] = ["broadcast", "allgather", "scatter", "alltoall"];
    const MODELS: [Model; 3] = [Model::OneSend, Model::SameValue, Model::All];

    fn all(text: &str, model: Model) -> [Option<u64>; 4] {
        COLLECTIVES.map(|collective| messages(text, collective, model))
    }

    #[test]
    fn formulas_are_those_of_chapters_8_and_9() {
        let of = |text| all(text, Model::All).map(Option::unwrap);
        // ceil((8 - 1) / 3) = 3.
        assert_eq!(of("how:8,3,2"), [6, 27, 42, 384]);
        assert_eq!(of("how:16,15,2"), of("ghc:16,2"));
        assert_eq!(of("how:16,14,2"), [4, 34, 60, 1024]);
        assert_eq!(of("ghc:8,2"), [2, 9, 8, 63]);
        assert_eq!(of("ghc:8x8"), of("ghc:8,2"));
        assert_eq!(of("mesh:8x8"), of("how:8,1,2"));
        assert_eq!(MODELS.map(|model| all("hypercube:6", model).map(Option::unwrap)), [[6, 63, 63, 192]; 3]);
        assert_eq!(of("hypercube:0"), [0, 0, 0, 0]);
    }

    /// The examples of chapter 5 have 12 processors and windows of 3 (figures 5.3, 5.4 and 5.6,
    /// tables 5.2 and 5.7), windows that wrap round 16 and 17 (tables 5.3 to 5.6).
    #[test]
    fn formulas_are_those_of_chapter_5() {
        let of = |text| MODELS.map(|model| all(text, model));
        assert_eq!(
            of("how:12,3,1"),
            [
                [Some(5), Some(11), Some(11), Some(36)],
                [Some(4), Some(5), Some(11), Some(36)],
                [Some(4), Some(4), Some(4), Some(8)]
            ]
        );
        // 2 ceil(log2 4) and 16 nodes in a window of 3 are impossible: seven nodes are in reach.
        let wrapped = |broadcast, allgather| [Some(broadcast), Some(allgather), None, None];
        assert_eq!(of("how-wrap:16,3,1"), [wrapped(5, 15), wrapped(3, 5), wrapped(3, 3)]);
        assert_eq!(of("how-wrap:17,3,1"), [wrapped(5, 16), wrapped(3, 6), wrapped(3, 3)]);
        for text in ["complete:10", "how:10,9,1", "how-wrap:10,5,1"] {
            assert_eq!(of(text)[..2], [[4, 9, 9, 9].map(Some), [1, 1, 9, 9].map(Some)], "{text}");
            assert_eq!(of(text)[2], [Some(1); 4], "{text}");
        }
        // Both ways round a ring of 10, erratum 5.12.
        assert_eq!(messages("how:10,3,1", "alltoall", Model::OneSend), Some(25));
    }

    #[test]
    fn formulas_are_those_of_chapter_6() {
        let of = |text| MODELS.map(|model| all(text, model).map(Option::unwrap));
        // s1 + s2 = 2 + 1 along each dimension; ceil(4 / 3) = 2, and no stage takes two steps.
        assert_eq!(of("how:5,3,2"), [[6, 24, 24, 60], [4, 12, 24, 60], [4, 12, 16, 100]]);
        assert_eq!(of("ghc:5,2"), [[6, 24, 24, 40], [2, 6, 24, 40], [2, 6, 5, 24]]);
        // 11 / 6 is 1: a stage takes two steps.
        assert_eq!(messages("how:12,3,2", "allgather", Model::SameValue), Some(13 * 5));
    }

    #[test]
    fn other_networks_and_collectives_have_no_formula() {
        for text in ["how:4,3,3", "how-wrap:8,3,2", "ghc:8,3", "ghc:4x8", "torus:4x4", "ring:8", "torus:4x4@how:4,2,2"]
        {
            assert_eq!(messages(text, "alltoall", Model::All), None, "{text}");
        }
        assert_eq!(messages("how:8,3,2", "gather", Model::All), None);
    }

    /// Sections 6.2 to 6.5 and 7: along rows, and then along columns; erratum 5.8.
    #[test]
    fn steps_have_a_startup_each() {
        let steps = |text: &str, model| {
            let topology = necklace::topology::parse(text).unwrap();
            let network = Network::of(&*topology).unwrap();
            let collective = |name| Collective::named(name, necklace::Rank::default()).unwrap();
            COLLECTIVES.map(|name| network.steps(&collective(name), model).unwrap())
        };
        assert_eq!(MODELS.map(|model| steps("how:5,3,2", model)), [[6, 8, 24, 60], [4, 4, 24, 60], [4, 4, 4, 100]]);
        assert_eq!(MODELS.map(|model| steps("ghc:5,2", model)), [[6, 8, 24, 40], [2, 2, 24, 40], [2, 2, 2, 24]]);
        assert_eq!(MODELS.map(|model| steps("how:12,3,1", model)), [[5, 11, 11, 36], [4, 5, 11, 36], [4, 4, 4, 8]]);
        assert_eq!(MODELS.map(|model| steps("hypercube:6", model)), [[6; 4]; 3]);
    }

    #[test]
    fn price_charges_a_startup_for_each_step_and_the_words() {
        let machine: Machine = "free:startup=1us,channel=1ns,switching=store-and-forward".parse().unwrap();
        let how = necklace::topology::parse("how:8,3,2").unwrap();
        let price = price(&*how, &Collective::Alltoall, Model::All, &machine, 2000).unwrap();
        assert_eq!((price.startup, price.transmission, price.total), (384_000_000, 768_000_000, 1_152_000_000));
    }

    /// Section 5.2: m t_w (s1 + s2), and with wormhole routing t_w (s1 + s2) + (m - 1) t_w for a head of
    /// one word, beside the start-ups.
    #[test]
    fn broadcast_with_wormhole_routing_is_a_pipeline() {
        let how = necklace::topology::parse("how:12,3,1").unwrap();
        let total = |switching: &str, collective: &Collective| {
            let machine: Machine =
                format!("free:startup=1us,channel=1ns,hop=5ns,switching={switching}").parse().unwrap();
            price(&*how, collective, Model::OneSend, &machine, 1000).unwrap().total
        };
        let broadcast = Collective::named("broadcast", necklace::Rank::default()).unwrap();
        assert_eq!(["store-and-forward", "cut-through"].map(|way| total(way, &broadcast)), [10_000_000, 6_025_000]);
        let exchange = &Collective::Alltoall;
        assert_eq!(["store-and-forward", "cut-through"].map(|way| total(way, exchange)), [72_000_000; 2]);
    }
}

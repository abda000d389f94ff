//! How much a rank sends and receives at a time.

use std::fmt;

/// How many transfers a rank may have in one round.
///
/// | model | sends | receives |
/// |---|---|---|
/// | `one` | one | one |
/// | `one-send` | one | any (Wang's model-1) |
/// | `same-value` | any, over distinct first channels, all of the same blocks | any (his model-2) |
/// | `all` | one transfer a channel | one transfer a channel (his model-3, Johnsson-Ho) |
/// | `unlimited` | any | any: transfers share channels, the network queues them |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ports {
    /// One send and one receive.
    One,
    /// One send, receives free.
    OneSend,
    /// Sends of the same blocks over distinct channels, receives free.
    SameValue,
    /// One transfer a channel.
    All,
    /// No limit.
    Unlimited,
}

impl Ports {
    /// All of them.
    pub const EVERY: [Self; 5] = [Self::One, Self::OneSend, Self::SameValue, Self::All, Self::Unlimited];

    /// Whether whatever keeps to this model keeps to the other, on any network.
    #[must_use]
    pub fn implies(self, other: Self) -> bool {
        let stricter = |ports| match ports {
            Self::One => 0,
            Self::OneSend => 1,
            Self::SameValue => 2,
            Self::All | Self::Unlimited => 3,
        };
        self == other || other == Self::Unlimited || other != Self::All && stricter(self) < stricter(other)
    }

    /// The name that users type and that JSON carries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::OneSend => "one-send",
            Self::SameValue => "same-value",
            Self::All => "all",
            Self::Unlimited => "unlimited",
        }
    }

    /// The model of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|ports| ports.name() == name)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

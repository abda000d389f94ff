//! Port models: how many transfers a rank takes part in at a time.

use std::fmt;

/// A port model: how many transfers a rank may send and receive in one round.
///
/// | model | sends | receives | elsewhere |
/// |---|---|---|---|
/// | `one` | one | one | |
/// | `one-send` | one | any number | Wang's model-1 |
/// | `same-value` | any number of the same blocks, over distinct first channels | any number | Wang's model-2 |
/// | `all` | one per channel | one per channel | Wang's model-3, Johnsson & Ho |
/// | `unlimited` | any number | any number | |
///
/// With `unlimited`, transfers may share a channel; the network queues them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ports {
    /// One send and one receive.
    One,
    /// One send, any number of receives.
    OneSend,
    /// Sends of the same blocks over distinct channels, any number of receives.
    SameValue,
    /// One transfer per channel.
    All,
    /// No limit.
    Unlimited,
}

impl Ports {
    /// Returns all port models, the strictest first.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        [Self::One, Self::OneSend, Self::SameValue, Self::All, Self::Unlimited].into_iter()
    }

    /// Returns whether every schedule that keeps to this model keeps to `other`, on any network.
    #[must_use]
    pub(crate) fn implies(self, other: Self) -> bool {
        let stricter = |ports| match ports {
            Self::One => 0,
            Self::OneSend => 1,
            Self::SameValue => 2,
            Self::All | Self::Unlimited => 3,
        };
        self == other || other == Self::Unlimited || other != Self::All && stricter(self) < stricter(other)
    }

    /// Returns the model's name in commands and JSON.
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

    /// Returns the model with this name, or `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|ports| ports.name() == name)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

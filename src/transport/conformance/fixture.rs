//! The backend under test.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::transport::Endpoint;

/// Makes jobs of the backend under test.
pub trait Fixture: fmt::Debug + Send + Sync {
    /// The endpoints of a fresh job, by rank.
    ///
    /// # Errors
    ///
    /// Why there is none, in words; the check fails with them.
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String>;

    /// What the backend can do beyond what each must.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The timeout of rounds that must end well: long. A check that takes twice as long has hung.
    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// The timeout of rounds that must end by it: as short as the backend keeps it.
    fn deadline(&self) -> Duration {
        Duration::from_millis(300)
    }
}

/// What a backend may lack; it then says so in its own documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// A deadline names the rank at the end of the chain of who waits for whom, and spares one that
    /// gets on.
    pub follows_chains: bool,
    /// A rank may drop its endpoint without having opened a context, and those who wait for it
    /// there hear of it.
    pub knows_who_never_opened: bool,
    /// The largest job it can make.
    pub most_ranks: usize,
}

impl Default for Abilities {
    /// All of them.
    fn default() -> Self {
        Self { follows_chains: true, knows_who_never_opened: true, most_ranks: usize::MAX }
    }
}

//! Barrier: no rank returns before all ranks have called.

use super::allgather::Allgather;
use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};

/// An allgather of empty blocks: a rank that holds all of them has heard from all ranks.
pub(super) struct Barrier;

impl CollectiveRow for Barrier {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn before(&self, role: Role) -> Holding {
        Allgather.before(role)
    }

    fn after(&self, role: Role) -> Holding {
        Allgather.after(role)
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        Allgather.buffers()
    }

    fn traffic(&self) -> Traffic {
        Allgather.traffic()
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "dissemination"]
    }

    fn has_bytes(&self) -> bool {
        false
    }

    #[cfg(feature = "json")]
    fn is_known_by_name(&self) -> bool {
        false
    }
}

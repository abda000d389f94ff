//! Native collectives, executed by the backend's own library, without a schedule.
//!
//! Source: the library, such as MPI. Needs: a backend with [native
//! collectives](crate::transport::native). Model: unknown.
//!
//! The library's algorithm is unknown here, and the library does not know the network. So native
//! collectives claim nothing, and have no schedule to share, verify or simulate. Their price is
//! that of the cheapest of the registry's algorithms that libraries are known to have. On a machine
//! that charges nothing for the network it is that
//! of the cheapest of all algorithms, since knowing the network is no advantage there. They come
//! first in the registry: at equal prices `native` is chosen, since it has less overhead.
//!
//! Each collective's definition names what libraries are known to do: alltoall all at once, in
//! pairs by rotation or exclusive or, by Bruck's of any radix for short blocks; broadcast along a
//! binomial tree; and so on. MPICH's `src/mpi/coll/coll_algorithms.txt` lists these and more, which
//! will count once the registry has them.

use crate::algorithm::{About, Algorithm, Claims};
use crate::collective::Collective;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A collective that the backend's own library executes.
#[derive(Clone, Debug)]
pub struct Native {
    about: About,
    priced_as: &'static [&'static str],
}

impl Native {
    /// Returns one for each collective that libraries have.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let known = |collective: Collective| (collective.name(), collective.in_libraries());
        let in_libraries = Collective::all(Rank::default()).map(known).filter(|(_, names)| !names.is_empty());
        in_libraries.map(|(collective, priced_as)| Self::new(collective, priced_as))
    }

    fn new(collective: &'static str, priced_as: &'static [&'static str]) -> Self {
        let about = About {
            collective,
            name: "native",
            summary: "executed by the backend's own library",
            source: "the library, such as MPI",
            needs: "a backend that has collectives of its own, such as MPI",
            claims: "nothing; priced as the cheapest of the algorithms that libraries are known to have",
            ports: Ports::Unlimited,
        };
        Self { about, priced_as }
    }
}

impl Algorithm for Native {
    fn about(&self) -> &About {
        &self.about
    }

    /// A problem does not name the backend; the [choice](crate::select) does.
    fn lacks(&self, _: &Problem) -> Option<String> {
        Some(format!("it needs {}", self.about.needs))
    }

    fn priced_as(&self) -> Option<&'static [&'static str]> {
        Some(self.priced_as)
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims::default()
    }

    /// A native collective has no rounds.
    fn rounds(&self, _: &Problem, _: Rank) -> Share {
        Box::new(std::iter::empty())
    }
}

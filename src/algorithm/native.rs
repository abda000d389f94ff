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
//! | collective | what libraries are known to do |
//! |---|---|
//! | alltoall | all at once, in pairs by rotation or exclusive or, Bruck's of any radix for short blocks |
//! | allgather | round a ring, by recursive doubling |
//! | allreduce, scan | by recursive doubling |
//! | broadcast | down a binomial tree |
//! | barrier | by dissemination |
//! | scatter, gather | all at once, along a binomial tree |
//! | reduce_scatter | in pairs by rotation, by recursive halving |
//!
//! (MPICH's `src/mpi/coll/coll_algorithms.txt` lists all of these. It has more, for long messages;
//! they will count here once the registry has them.)

use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A collective that the backend's own library executes.
#[derive(Clone, Debug)]
pub struct Native {
    about: About,
    priced_as: &'static [&'static str],
}

impl Native {
    /// One per collective that a backend may have.
    pub(super) const ALL: [Self; 9] = [
        Self::new(
            "alltoall",
            "nothing; priced as the cheapest of direct, direct-rotated, direct-xor and bruck of any radix",
            &["direct", "direct-rotated", "direct-xor", "bruck"],
        ),
        Self::new(
            "allgather",
            "nothing; priced as the cheaper of ring and recursive-doubling",
            &["ring", "recursive-doubling"],
        ),
        Self::new("allreduce", "nothing; priced as recursive-doubling", &["recursive-doubling"]),
        Self::new("scan", "nothing; priced as recursive-doubling", &["recursive-doubling"]),
        Self::new("broadcast", "nothing; priced as binomial", &["binomial"]),
        Self::new("barrier", "nothing; priced as dissemination", &["dissemination"]),
        Self::new("scatter", "nothing; priced as the cheaper of direct and binomial", &["direct", "binomial"]),
        Self::new("gather", "nothing; priced as the cheaper of direct and binomial", &["direct", "binomial"]),
        Self::new(
            "reduce_scatter",
            "nothing; priced as the cheaper of pairwise and recursive-halving",
            &["pairwise", "recursive-halving"],
        ),
    ];

    const fn new(collective: &'static str, claims: &'static str, priced_as: &'static [&'static str]) -> Self {
        let about = About {
            collective,
            name: "native",
            summary: "executed by the backend's own library",
            source: "the library, such as MPI",
            needs: "a backend that has collectives of its own, such as MPI",
            claims,
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

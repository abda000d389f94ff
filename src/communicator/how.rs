//! What can be chosen for a collective: a name, an algorithm of the user's own, a schedule.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::certificate::{Certificate, certify};
use crate::algorithm::{Algorithm, Fixed};
use crate::collective::Collective;
use crate::topology::same;
use crate::vocabulary::{Problem, Schedule};

/// How a collective is done: what [`choose`](super::Communicator::choose) and
/// [`using`](super::Communicator::using) take.
///
/// | made from | means |
/// |---|---|
/// | `"bruck:radix=4"`, text | the algorithm of that name in the [registry](crate::algorithm::registry), `auto` or `native` |
/// | `Arc<dyn Algorithm>`, `Arc<A>` | an algorithm of your own, by the trait [`Algorithm`] |
/// | [`Schedule`] | that schedule: made by hand, or read from JSON by `schedule::from_json` |
///
/// # What is proved
///
/// Names stand for algorithms that the tests verify. What you bring is verified before it runs for
/// the first time: once for each collective and network, and then remembered by this value and its
/// clones. Make it once and use `&how`, or a clone, in every call; of an `Arc` that is passed each
/// time the plans are found again, but not the proofs.
///
/// - A schedule is verified as a whole, by [every rule](crate::schedule::Verifier), and for
///   contributions in rank order unless the operation [commutes](crate::op::Op::is_commutative):
///   everything is delivered, nothing is sent that is not held, and its promised ports and absence
///   of contention are kept.
/// - An algorithm is verified in the same way where this takes at most 64 MiB by
///   [`memory_to_verify`](crate::schedule::memory_to_verify), as an alltoall among 500 ranks does.
///   Beyond that each rank proves of its own share that it holds what it sends and ends with what
///   it must have, if the others send what they should; [`prove`](super::Communicator::prove) still
///   proves it all, where there is memory.
///
/// All ranks must choose the same. A digest of the schedule is part of what the ranks compare in
/// every message, beside the name: so two schedules of one name are two different calls, which fail
/// on every rank with both digests. The digest is of all ranks' rounds where these are verified,
/// otherwise of the rounds of four ranks and of what is claimed.
///
/// # Cost
///
/// Verification takes the time and memory of [`prove`](super::Communicator::prove) on every
/// process; ranks that are threads and share one value verify it once. Making one from a
/// [`Schedule`] takes time and memory in proportion to its transfers; cloning, comparing and
/// dropping one are cheap.
///
/// ```
/// use necklace::communicator::How;
/// use necklace::schedule::{from_json, to_json, Problem};
/// # use necklace::{algorithm, collective::Collective, topology};
/// # let problem = Problem::new(topology::parse("ring:4")?, Collective::Alltoall)?;
/// # let text = to_json(&algorithm::find(&Collective::Alltoall, "ring")?.shares(&problem)?.collect()?);
/// // As `necklace plan --topology ring:4 --collective alltoall --json -` prints it.
/// let how = How::from(from_json(&text)?);
/// let columns = necklace::local::run_on("ring:4", |mut comm| {
///     let row: Vec<usize> = (0..4).map(|to| 10 * comm.rank() + to).collect();
///     let mut column = vec![0; 4];
///     comm.using(&how).alltoall(&row, &mut column).map(|()| column)
/// })?;
/// assert_eq!(columns[1].as_ref().unwrap(), &[1, 11, 21, 31]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct How(Kind);

#[derive(Clone)]
enum Kind {
    Named(Arc<str>),
    Own(Arc<Own>),
}

/// An algorithm that is not in the registry.
pub(super) struct Own {
    pub(super) algorithm: Arc<dyn Algorithm>,
    /// Of which collective, with its root, it is a schedule, if it is one.
    schedule: Option<Collective>,
    /// For the problems it was last used for, the name by which ranks compare it, or what is wrong.
    certificates: Mutex<Vec<(Problem, Certificate)>>,
}

impl How {
    /// The name of the algorithm, with its parameters.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Named(name) => name.to_string(),
            Kind::Own(own) => own.algorithm.name(),
        }
    }

    /// The name, if it is nothing but a name.
    pub(super) fn named(&self) -> Option<&str> {
        match &self.0 {
            Kind::Named(name) => Some(name),
            Kind::Own(_) => None,
        }
    }

    pub(super) fn own(&self) -> Option<&Arc<Own>> {
        match &self.0 {
            Kind::Named(_) => None,
            Kind::Own(own) => Some(own),
        }
    }

    fn of(algorithm: Arc<dyn Algorithm>, schedule: Option<Collective>) -> Self {
        // What the backend does itself has nothing to run but its name.
        if algorithm.priced_as().is_some() {
            return algorithm.name().into();
        }
        Self(Kind::Own(Arc::new(Own { algorithm, schedule, certificates: Mutex::default() })))
    }
}

impl Own {
    /// How many problems it is remembered for.
    const PROBLEMS: usize = 64;

    /// The collective for which it can be found out whether it fits: that of a schedule with the
    /// schedule's root.
    pub(super) fn collective(&self, kind: Collective) -> Collective {
        self.schedule.clone().filter(|own| own.name() == kind.name()).unwrap_or(kind)
    }

    /// Verifies it for a problem, unless that has been done; returns its name with the digest of
    /// its schedule, by which ranks find that theirs differ.
    pub(super) fn certified(&self, problem: &Problem) -> Certificate {
        // Held while it is verified: other threads wait for the outcome, and do not verify it too.
        let mut known = self.certificates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = known.iter().find(|(of, _)| is_same(of, problem)) {
            return outcome.clone();
        }
        let outcome = certify(&*self.algorithm, problem, self.schedule.is_some());
        if known.len() == Self::PROBLEMS {
            drop(known.remove(0));
        }
        known.push((problem.clone(), outcome.clone()));
        outcome
    }
}

fn is_same(one: &Problem, other: &Problem) -> bool {
    one.collective() == other.collective()
        && one.placement() == other.placement()
        && one.commutative() == other.commutative()
        && same(one.topology(), other.topology())
}

impl From<&str> for How {
    fn from(name: &str) -> Self {
        Self(Kind::Named(name.into()))
    }
}

impl From<String> for How {
    fn from(name: String) -> Self {
        Self(Kind::Named(name.into()))
    }
}

impl From<&String> for How {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<Arc<dyn Algorithm>> for How {
    fn from(algorithm: Arc<dyn Algorithm>) -> Self {
        Self::of(algorithm, None)
    }
}

impl<A: Algorithm + 'static> From<Arc<A>> for How {
    fn from(algorithm: Arc<A>) -> Self {
        Self::of(algorithm, None)
    }
}

impl From<Schedule> for How {
    fn from(schedule: Schedule) -> Self {
        let collective = schedule.outline.problem.collective().clone();
        Self::of(Arc::new(Fixed::new(schedule)), Some(collective))
    }
}

impl From<&How> for How {
    fn from(how: &How) -> Self {
        how.clone()
    }
}

/// Names are compared; algorithms and schedules of one's own are equal only to themselves.
impl PartialEq for How {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Named(one), Kind::Named(other)) => one == other,
            (Kind::Own(one), Kind::Own(other)) => Arc::ptr_eq(&one.algorithm, &other.algorithm),
            _ => false,
        }
    }
}

impl Eq for How {}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "How({self})")
    }
}

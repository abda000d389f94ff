//! The choices for a collective: a name, an algorithm of the user's own, or a schedule.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::certificate::{Certificate, certify, read};
use crate::algorithm::{Algorithm, Fixed, registry};
use crate::collective::Collective;
use crate::ids::Rank;
use crate::topology::same;
use crate::vocabulary::{BuildError, Problem, RankRound, Schedule};

/// The way to execute a collective: the argument of [`choose`](super::Communicator::choose) and
/// [`using`](super::Communicator::using).
///
/// | made from | means |
/// |---|---|
/// | `"bruck:radix=4"`, text | the algorithm of that name in the [registry](crate::algorithm::registry), `auto` or `native` |
/// | `Arc<dyn Algorithm>`, `Arc<A>` | an algorithm of your own, an implementor of [`Algorithm`] |
/// | [`Schedule`] | that schedule: made by hand, or read from JSON by `schedule::from_json` |
///
/// # What is proved
///
/// The crate's tests verify the algorithms of the registry. Your own algorithm or schedule is
/// verified before it runs for the first time, once for each collective and network. This value and
/// its clones remember the proof. So make the value once, and pass `&how` or a clone to every call:
/// if you pass an `Arc` each time, its plans are found again, but its proofs are not.
///
/// - A schedule is verified as a whole, by [every rule](crate::schedule::Verifier): everything is
///   delivered, nothing is sent that is not held, and the promised ports and absence of contention
///   are kept. Contributions must combine in rank order, unless the operation
///   [commutes](crate::op::Op::is_commutative).
/// - An algorithm is verified in the same way if that takes at most 64 MiB by
///   [`memory_to_verify`](crate::schedule::memory_to_verify), as for an alltoall among 500 ranks.
///   For larger problems each rank verifies its own share: that it holds what it sends, and ends
///   with what it must have if the others send what they should. To verify the whole schedule then,
///   call [`prove`](super::Communicator::prove), where there is memory.
///
/// The share of a rank must end. If it has more rounds than
/// [`Problem::max_rounds`](crate::schedule::Problem::max_rounds), the call fails before anything
/// moves.
///
/// All ranks must choose the same. The ranks compare the name and a digest of the schedule in every
/// message. So two schedules of one name are two different calls, which fail on every rank with
/// both digests. The digest covers the rounds of all ranks where these are verified, otherwise the
/// rounds of four ranks and the claims.
///
/// # Cost
///
/// Verification takes the time and memory of [`prove`](super::Communicator::prove) on every
/// process. Ranks that are threads and share one value verify it once. Making a value from a
/// [`Schedule`] takes time and memory in proportion to its transfers. Cloning, comparing and
/// dropping a value are cheap.
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
pub struct How(Chosen);

#[derive(Clone)]
enum Chosen {
    Name(Arc<str>),
    User(Arc<UserAlgorithm>),
}

/// An algorithm that is not in the registry.
pub(super) struct UserAlgorithm {
    pub(super) algorithm: Arc<dyn Algorithm>,
    /// If it is a schedule: the collective that it was made for, with its root.
    schedule: Option<Collective>,
    /// The certificates for the problems that it was last used for.
    certificates: Mutex<Vec<(Problem, Certificate)>>,
}

impl How {
    /// Returns the name of the algorithm, with its parameters.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            Chosen::Name(name) => name.to_string(),
            Chosen::User(user) => user.algorithm.name(),
        }
    }

    /// Returns the name, if this is a name and no algorithm.
    pub(super) fn as_name(&self) -> Option<&str> {
        match &self.0 {
            Chosen::Name(name) => Some(name),
            Chosen::User(_) => None,
        }
    }

    /// Returns the algorithm or schedule that the user brought, if it is one.
    pub(super) fn as_user(&self) -> Option<&Arc<UserAlgorithm>> {
        match &self.0 {
            Chosen::Name(_) => None,
            Chosen::User(user) => Some(user),
        }
    }

    fn of(algorithm: Arc<dyn Algorithm>, schedule: Option<Collective>) -> Self {
        // `native` has no rounds: its name suffices.
        let is_built_in = registry().iter().any(|row| Arc::ptr_eq(row, &algorithm));
        if is_built_in && algorithm.priced_as().is_some() {
            return algorithm.name().into();
        }
        Self(Chosen::User(Arc::new(UserAlgorithm { algorithm, schedule, certificates: Mutex::default() })))
    }
}

impl UserAlgorithm {
    /// The number of problems for which certificates are kept.
    const PROBLEMS: usize = 64;

    /// Returns the collective for which to check that it fits: for a schedule, the one with the
    /// schedule's root.
    pub(super) fn collective(&self, kind: Collective) -> Collective {
        self.schedule.clone().filter(|own| own.name() == kind.name()).unwrap_or(kind)
    }

    /// Returns a rank's rounds. The whole schedule may be too large to be verified, so its shares
    /// may never end.
    ///
    /// # Errors
    ///
    /// As [`read`].
    pub(super) fn rounds(&self, problem: &Problem, rank: Rank) -> Result<Vec<RankRound>, BuildError> {
        let mut rounds = Vec::new();
        read(&*self.algorithm, problem, rank, |round| rounds.push(round))?;
        Ok(rounds)
    }

    /// Verifies the algorithm for a problem, unless that has been done. Returns the certificate by
    /// which ranks find out that theirs differ.
    pub(super) fn certified(&self, problem: &Problem) -> Certificate {
        // The lock is held during the verification, so other threads wait for the outcome.
        let mut known = self.certificates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) =
            known.iter().find(|(of, _)| of.is_same_besides_network(problem) && same(of.topology(), problem.topology()))
        {
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

impl From<&str> for How {
    fn from(name: &str) -> Self {
        Self(Chosen::Name(name.into()))
    }
}

impl From<String> for How {
    fn from(name: String) -> Self {
        Self(Chosen::Name(name.into()))
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

/// Names compare as text. Algorithms and schedules of your own are equal only if they share an
/// `Arc`.
impl PartialEq for How {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Chosen::Name(one), Chosen::Name(other)) => one == other,
            (Chosen::User(one), Chosen::User(other)) => Arc::ptr_eq(&one.algorithm, &other.algorithm),
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

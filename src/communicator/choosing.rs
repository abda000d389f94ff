//! The choice of the algorithm for a collective: for all calls, for some calls, or by price.

use std::sync::Arc;

use super::Communicator;
use super::how::How;
use super::planned_call::PlanKey;
use super::using::Using;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::error::{ArgumentError, BuildError, CallError, Error};
use crate::ids::Rank;
use crate::schedule::{Proof, verify_shares};
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
use crate::select::find_named;
use crate::select::{Choice, Field, Measured, Terms, find_fitting};

/// The name by which the method of [`permute`](Communicator::permute) is chosen.
pub(super) const PERMUTE: &str = "permute";
/// The methods.
pub(super) const METHODS: [&str; 3] = ["auto", EXCHANGE, STRAIGHT];
pub(super) const EXCHANGE: &str = "exchange";
pub(super) const STRAIGHT: &str = "straight";

/// Returns the method of permute that has this name.
pub(super) fn method(name: &str) -> Result<&'static str, BuildError> {
    METHODS.into_iter().find(|method| *method == name).ok_or_else(|| BuildError::Unknown {
        name: name.to_owned(),
        collective: PERMUTE.to_owned(),
        known: METHODS.map(str::to_owned).to_vec(),
    })
}

/// Returns the names of the calls for which an algorithm can be chosen.
pub(crate) fn can_be_chosen() -> impl Iterator<Item = &'static str> {
    Collective::names().chain(Collective::varying().map(|(name, _)| name)).chain([PERMUTE])
}

/// Returns the collective whose algorithms can be chosen under that name, and the name under which
/// the choice is kept.
fn kind_of(collective: &str) -> Result<(Collective, &'static str), ArgumentError> {
    if let Some((name, kind)) = Collective::varying().find(|(name, _)| *name == collective) {
        return Ok((kind, name));
    }
    let kind = Collective::named(collective, Rank::new(0));
    let kind = kind
        .ok_or_else(|| ArgumentError::Collective { name: collective.to_owned(), known: can_be_chosen().collect() })?;
    let name = kind.name();
    Ok((kind, name))
}

/// Fails unless a collective can be executed by the algorithm of a name on some network.
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) fn check_names(collective: &str, algorithm: &str) -> Result<(), ArgumentError> {
    if collective == PERMUTE {
        method(algorithm)?;
        return Ok(());
    }
    let (kind, _) = kind_of(collective)?;
    if algorithm != "auto" {
        find_named(&kind, algorithm, true)?;
    }
    Ok(())
}

impl Communicator {
    /// Sets the algorithm for a collective, from now on. Every member chooses the same one.
    ///
    /// The algorithm is one of these:
    ///
    /// - a name of the registry, followed by `:key=value,..` if it takes parameters. Some names
    ///   without parameters take the [cheapest](crate::algorithm::Algorithm::alternatives) for the
    ///   length of a block, as `circgos` and `chain` do;
    /// - [an algorithm of your own, or a schedule](How);
    /// - `native`, the collective of the backend's own library, if it [has
    ///   one](crate::transport::native), as MPI does;
    /// - `auto`, the default: the cheapest algorithm.
    ///
    /// `alltoallv` (which includes `alltoallw`), `gatherv`, `scatterv`, `allgatherv` and
    /// `reduce_scatterv` have choices of their own among the algorithms of alltoall, gather and so
    /// on. For the first three, `auto` is `direct`; for persistent plans, `auto` is `native` if the
    /// backend offers that. For the other two, `auto` is the cheapest algorithm for blocks of the
    /// average length. [`permute`](Self::permute) has the methods `exchange` (if map and
    /// network permit it), `straight`, and `auto`.
    ///
    /// To choose for a single call, see [`using`](Self::using). Communicators that
    /// [`split`](Self::split) makes later inherit the choices that fit them.
    ///
    /// Local. Drops the cached plans of the collective, unless the choice is the same as before.
    /// The next call plans anew, and [verifies](How#what-is-proved) an algorithm or schedule of
    /// your own before anything moves.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::algorithm::alltoall::Bruck;
    ///
    /// let done = necklace::local::run(5, |mut comm| {
    ///     comm.choose("alltoall", "bruck:radix=4")?;
    ///     // Any type that implements `Algorithm` may stand here.
    ///     comm.choose("alltoall", Arc::new(Bruck::default()))?;
    ///     comm.alltoall(&[0; 5], &mut [0; 5])
    /// })?;
    /// done.into_iter().collect::<Result<(), _>>()?;
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Collective`] for an unknown collective, [`BuildError::Unknown`] for an
    /// unknown algorithm, [`BuildError::Parameters`] for parameters that it does not take,
    /// [`BuildError::Unfit`] if the algorithm does not fit the network or the schedule is for
    /// another problem. After an error, the earlier choice stays.
    ///
    /// Calls by an algorithm or a schedule of your own fail with
    /// [`ArgumentError::InvalidSchedule`] if it violates a rule, and with [`BuildError::Unfit`] if
    /// it does not fit the call's root. Nothing has moved then.
    #[track_caller]
    pub fn choose(&mut self, collective: &str, how: impl Into<How>) -> Result<(), Error> {
        self.choose_how(collective, how.into()).map_err(self.context.error_of("choose"))
    }

    pub(crate) fn choose_how(&mut self, collective: &str, how: How) -> Result<(), ArgumentError> {
        if self.algorithms.get(collective) == Some(&how) {
            return Ok(());
        }
        let name = self.accept(collective, &how)?;
        log::debug!(
            "rank {} of {} in communicator {}: {name} by {how} from now on",
            self.rank(),
            self.size(),
            self.context.id
        );
        self.cache.retain(|(key, using)| using.is_some() || key.collective.name() != name);
        self.varying.clear();
        if name == PERMUTE {
            self.permutations.retain(|(_, _, _, using)| using.is_some());
        }
        if let Some(started) = &self.started {
            let how = how.clone();
            started.queue().push(Arc::new(move |comm: &mut Self| {
                // It fits: the network is the same.
                let _ = comm.choose_how(name, how.clone());
            }));
        }
        self.algorithms.insert(name, how);
        Ok(())
    }

    /// Returns the name under which a choice is kept. Fails if it cannot be chosen for the
    /// collective.
    fn accept(&self, collective: &str, how: &How) -> Result<&'static str, ArgumentError> {
        if collective == PERMUTE {
            self.permute_method(Some(how))?;
            return Ok(PERMUTE);
        }
        let (kind, name) = kind_of(collective)?;
        self.fits(kind, how)?;
        Ok(name)
    }

    /// Fails if a choice does not fit the communicator's network.
    fn fits(&self, kind: Collective, how: &How) -> Result<(), BuildError> {
        match (how.as_user(), how.as_name()) {
            (Some(user), _) => user.algorithm.fits(&self.problem(user.collective(kind))?),
            (None, Some("auto") | None) => Ok(()),
            (None, Some(name)) => find_fitting(&self.problem(kind)?, name, &self.terms(0)).map(drop),
        }
    }

    /// Takes over the choices of the communicator that this one was made from, as far as they fit.
    pub(super) fn inherit(&mut self, parent: &Self) {
        for (collective, how) in &parent.algorithms {
            if let Err(error) = self.choose_how(collective, how.clone()) {
                let (rank, size, context) = (self.rank(), self.size(), self.context.id);
                log::debug!(
                    "rank {rank} of {size} in communicator {context}: {collective} does not inherit {how}: {error}"
                );
            }
        }
    }

    /// Returns a handle to this communicator whose calls use the given algorithm instead of the
    /// [chosen](Self::choose) one: a name, an algorithm of your own, or a schedule. Every member
    /// does the same.
    ///
    /// It applies to the calls made through the returned value, to plans made through it
    /// (`*_init`), to [`explain`](Self::explain) and to [`prove`](Self::prove). Afterwards the
    /// earlier choice holds again, also if a call has failed. The cache keeps the plans of both,
    /// except those of calls with blocks of different lengths, which plan each call anew.
    ///
    /// Local. An algorithm or schedule of your own is [verified](How#what-is-proved) before it
    /// runs. For many calls, make a [`How`] once and pass it to each, so that its plans and proofs
    /// are found again.
    ///
    /// ```
    /// use necklace::communicator::How;
    /// let done = necklace::local::run_on("torus:4x4", |mut comm| {
    ///     let (send, mut receive) = ([1; 16], [0; 16]);
    ///     comm.using("bruck:radix=4").alltoall(&send, &mut receive)?;
    ///     let how = How::from("torus-exchange");
    ///     for _ in 0..10 {
    ///         comm.using(&how).alltoall(&send, &mut receive)?;
    ///     }
    ///     // The earlier choice holds again: by price.
    ///     comm.alltoall(&send, &mut receive)
    /// })?;
    /// done.into_iter().collect::<Result<(), _>>()?;
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None here. The calls fail as [`choose`](Self::choose) and calls after it would, before
    /// anything moves. The name or algorithm must be one of the collective that is called:
    /// `using("torus-exchange").barrier()` fails.
    pub fn using(&mut self, how: impl Into<How>) -> Using<'_> {
        Using::new(self, how.into())
    }

    /// Returns the algorithm that a collective of blocks of `block_bytes` bytes would use, and why.
    ///
    /// The result prints as a table of all candidates and their prices. It assumes that the
    /// operation of a reduction [commutes](crate::op::Op::is_commutative). It prices an algorithm
    /// or schedule of your own by its claims, beside the others, and does not verify it.
    ///
    /// After calls with blocks of that length, the price of their algorithm is followed by the
    /// [measured](crate::select::Candidate::measured) time on this rank. The calls of persistent plans
    /// are not among them, nor those whose plan the [cache](crate::Options::cache) has dropped.
    ///
    /// If the result is `native` and the backend does not offer a call, such as one with an
    /// operation of your own, `auto` uses the cheapest of the others for that call.
    ///
    /// Local.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if no algorithm fits.
    #[track_caller]
    pub fn explain(&self, collective: &Collective, block_bytes: usize) -> Result<Choice, Error> {
        let choice = self.select(collective, block_bytes as u64).map_err(self.context.error_of("explain"))?;
        Ok(choice.with_measured(self.measured(collective, block_bytes)))
    }

    /// Returns the measured times of the calls that are cached, by the names of their algorithms.
    fn measured(&self, collective: &Collective, block_bytes: usize) -> impl Iterator<Item = (&str, Measured)> {
        let has_bytes = move |key: &PlanKey| key.elements * key.element.size == block_bytes || !collective.has_bytes();
        let is_meant = move |key: &PlanKey| key.collective == *collective && has_bytes(key) && !key.is_internal();
        let calls = self.cache.iter().filter(move |((key, _), _)| is_meant(key));
        calls.filter_map(|(_, planned)| Some((planned.algorithm.as_deref()?, planned.timing.measured()?)))
    }

    /// Verifies the schedule that a collective of blocks of `block_bytes` bytes uses, also one of
    /// your own, and returns the proof.
    ///
    /// The proof says that everything is delivered, within the ports and channels that the
    /// algorithm promises. It assumes that the operation of a reduction
    /// [commutes](crate::op::Op::is_commutative).
    ///
    /// Local. The proof covers the shares of all ranks, so its time and memory are in proportion to
    /// the whole schedule.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if there is no schedule ([`BuildError::Unscheduled`] for `native`),
    /// [`ArgumentError::InvalidSchedule`] with all violations if the schedule violates a rule.
    #[track_caller]
    pub fn prove(&self, collective: &Collective, block_bytes: usize) -> Result<Proof, Error> {
        self.proof(collective, block_bytes as u64).map_err(self.context.error_of("prove"))
    }

    fn proof(&self, collective: &Collective, block_bytes: u64) -> Result<Proof, ArgumentError> {
        let problem = self.problem(collective.clone())?;
        let algorithm = match self.how(collective.name(), false).and_then(How::as_user) {
            Some(user) => Arc::clone(&user.algorithm),
            None => self.select(collective, block_bytes)?.algorithm,
        };
        verify_shares(algorithm.shares(&problem)?).map_err(|violations| ArgumentError::InvalidSchedule {
            algorithm: algorithm.name(),
            collective: collective.to_string(),
            topology: self.topology.text(),
            violations: violations.into(),
        })
    }

    /// Returns the choice for a collective, if there is one. Internal calls ignore
    /// [`using`](Self::using).
    #[inline]
    pub(super) fn how(&self, collective: &str, internal: bool) -> Option<&How> {
        self.using.as_ref().filter(|_| !internal).or_else(|| self.algorithms.get(collective))
    }

    /// Selects the algorithm that `explain` reports.
    fn select(&self, collective: &Collective, block_bytes: u64) -> Result<Choice, BuildError> {
        let (problem, terms) = (self.problem(collective.clone())?, self.terms(block_bytes));
        let how = self.how(collective.name(), false);
        Ok(match how.and_then(How::as_user) {
            Some(user) => Field::of(&problem).choose(&user.algorithm, &terms)?,
            None => Field::shared(&problem).select(how.and_then(How::as_name).unwrap_or("auto"), &terms)?,
        })
    }

    pub(super) fn terms(&self, block_bytes: u64) -> Terms {
        Terms::new(block_bytes, &self.machine).over_native(self.context.native)
    }

    /// Returns the algorithm that is chosen by name, or else the cheapest one, and whether it is
    /// chosen. Only prices need candidates, which are found once for all sizes of blocks. Returns
    /// one with a schedule if `scheduled` is set or the call is internal.
    pub(super) fn algorithm_of(
        &mut self,
        key: &PlanKey,
        scheduled: bool,
        block_bytes: u64,
    ) -> Result<(Arc<dyn Algorithm>, bool), CallError> {
        let PlanKey { collective, commutes, .. } = key;
        let scheduled = scheduled || key.is_internal();
        let terms = self.terms(block_bytes).over_native(self.context.native && !scheduled);
        let named = self.how(collective.name(), key.is_internal()).and_then(How::as_name);
        let named = named.filter(|name| *name != "auto" && !(scheduled && *name == "native")).map(str::to_owned);
        let field = self.field(collective, *commutes)?;
        Ok((field.find(named.as_deref().unwrap_or("auto"), &terms)?, named.is_some()))
    }

    /// Returns the algorithms for a collective. They are priced once for all calls.
    pub(super) fn field(&mut self, collective: &Collective, commutes: bool) -> Result<Arc<Field>, BuildError> {
        if self.fields.find_by(|(known, commuting)| known == collective && *commuting == commutes)
            && let Some(field) = self.fields.last()
        {
            return Ok(Arc::clone(field));
        }
        let field = Field::shared(&self.problem_with(collective, commutes)?);
        self.fields.insert((collective.clone(), commutes), Arc::clone(&field));
        Ok(field)
    }
}

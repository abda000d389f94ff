//! Which algorithm a collective goes by: chosen from now on, for some calls, or by price.

use super::Communicator;
use super::how::How;
use super::prepared::Key;
use super::using::Using;
use crate::collective::Collective;
use crate::error::{BuildError, Error};
use crate::ids::Rank;
use crate::quote::quoted;
use crate::schedule::{Proof, verify_shares};
use crate::select::{Choice, Field, Terms, named_so, select};

/// By that name the way to [`permute`](Communicator::permute) is chosen.
pub(super) const PERMUTE: &str = "permute";

/// For [`alltoallv`](Communicator::alltoallv) and [`alltoallw`](Communicator::alltoallw) algorithms are chosen by this name.
pub(super) const VARYING: &str = "alltoallv";

impl Communicator {
    /// Sets the algorithm for a collective, from now on. Every member chooses the same one.
    ///
    /// The algorithm is a name of the registry, followed by `:key=value,..` if it takes parameters; [an
    /// algorithm of your own, or a schedule](How); or `auto`, which takes the cheapest. `native` stands for
    /// the collective of the backend's own library, if it [has one](crate::transport::native), such as MPI.
    ///
    /// `alltoallv` (which includes `alltoallw`) has a choice of its own among the algorithms of alltoall;
    /// `auto` is `direct` for it, and `native` for its persistent plans if the backend offers that.
    /// [`permute`](Self::permute) has `exchange` (if map and network permit it), `straight`, and `auto`. To
    /// choose for a single call, see [`using`](Self::using). Communicators that [`split`](Self::split) makes
    /// later inherit what fits them.
    ///
    /// Local. The plans of the collective are made anew when they are next needed, unless the same was chosen before; what you
    /// bring yourself is then [verified](How#what-is-proved), before anything moves.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::algorithm::alltoall::Bruck;
    ///
    /// necklace::local::run(5, |mut comm| {
    ///     comm.choose("alltoall", "bruck:radix=4")?;
    ///     // Any type that implements `Algorithm` may stand here.
    ///     comm.choose("alltoall", Arc::new(Bruck::default()))?;
    ///     comm.alltoall(&[0; 5], &mut [0; 5])
    /// })?;
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown collective, [`BuildError::Unknown`] for an unknown algorithm,
    /// [`BuildError::Parameters`] for parameters that it does not take, [`BuildError::Unfit`] for one that does not fit the
    /// network, and for a schedule of something else. What was chosen before then stays. Calls that go by an algorithm or a
    /// schedule of your own fail with [`BuildError::Wrong`] where that is wrong, and with [`BuildError::Unfit`] where it does
    /// not fit the call's root; nothing has moved then.
    pub fn choose(&mut self, collective: &str, how: impl Into<How>) -> Result<(), Error> {
        self.choose_how(collective, how.into())
    }

    pub(super) fn choose_how(&mut self, collective: &str, how: How) -> Result<(), Error> {
        if self.algorithms.get(collective) == Some(&how) {
            return Ok(());
        }
        let name = self.accept(collective, &how)?;
        log::debug!(
            "rank {} of {} in communicator {}: {name} by {how} from now on",
            self.rank(),
            self.size(),
            self.wire.context
        );
        self.cache.retain(|(key, using)| using.is_some() || key.collective.name() != name);
        if name == PERMUTE {
            self.permutations.retain(|(_, _, _, using)| using.is_some());
        }
        self.algorithms.insert(name, how);
        Ok(())
    }

    /// The name of a collective for which this can be chosen here.
    fn accept(&self, collective: &str, how: &How) -> Result<&'static str, Error> {
        if collective == PERMUTE {
            self.way(Some(how))?;
            return Ok(PERMUTE);
        }
        let kind = if collective == VARYING { "alltoall" } else { collective };
        let Some(kind) = Collective::named(kind, Rank::new(0)) else {
            let known = Collective::names().collect::<Vec<_>>().join(", ");
            return Err(Error::Argument(format!(
                "no collective {}; there are: {known}, {VARYING}, {PERMUTE}",
                quoted(collective)
            )));
        };
        let name = if collective == VARYING { VARYING } else { kind.name() };
        self.fits(kind, how)?;
        Ok(name)
    }

    fn fits(&self, kind: Collective, how: &How) -> Result<(), BuildError> {
        match (how.own(), how.named()) {
            (Some(own), _) => own.algorithm.fits(&self.problem(own.collective(kind))?),
            (None, Some("auto") | None) => Ok(()),
            (None, Some(name)) => named_so(&self.problem(kind)?, name, &self.terms(0)).map(drop),
        }
    }

    /// Takes what the whole has chosen, as far as it fits here.
    pub(super) fn inherit(&mut self, whole: &Self) {
        for (collective, how) in &whole.algorithms {
            if let Err(error) = self.choose_how(collective, how.clone()) {
                let (rank, size, context) = (self.rank(), self.size(), self.wire.context);
                log::debug!("rank {rank} of {size} in communicator {context}: {collective} not by {how}: {error}");
            }
        }
    }

    /// Returns this communicator for calls by another algorithm than the [chosen](Self::choose) one: a name,
    /// an algorithm of your own, or a schedule. Every member does the same.
    ///
    /// It applies to the calls made through the returned value, to plans made through it (`*_init`), to
    /// [`explain`](Self::explain) and to [`prove`](Self::prove). Afterwards the earlier choice holds again,
    /// also if a call has failed. The cache keeps the plans of both.
    ///
    /// Local. What you bring yourself is [verified](How#what-is-proved) before it runs. To call often by the same, make a
    /// [`How`] once, and use that: its plans and its proofs are found again.
    ///
    /// ```
    /// use necklace::communicator::How;
    /// necklace::local::run_on("torus:4x4", |mut comm| {
    ///     let (send, mut receive) = ([1; 16], [0; 16]);
    ///     comm.using("bruck:radix=4").alltoall(&send, &mut receive)?;
    ///     let how = How::from("torus-exchange");
    ///     for _ in 0..10 {
    ///         comm.using(&how).alltoall(&send, &mut receive)?;
    ///     }
    ///     // As chosen before: by price.
    ///     comm.alltoall(&send, &mut receive)
    /// })?;
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None here. The calls fail as [`choose`](Self::choose) and calls after it would, before anything moves. A name, or an
    /// algorithm, is one of the collective that is called: `using("torus-exchange").barrier()` is refused.
    pub fn using(&mut self, how: impl Into<How>) -> Using<'_> {
        Using::new(self, how.into())
    }

    /// Returns the algorithm that a collective of blocks of `block_bytes` bytes would use, and why.
    ///
    /// The result prints as a table of all candidates and their prices. (If it is `native` and the backend
    /// does not offer the call at hand, such as one by an operation of your own, `auto` takes the cheapest
    /// of the others.) An algorithm or a schedule of your own is priced beside the others, by its claims,
    /// and not verified. The operation of a reduction is taken to
    /// [commute](crate::op::Op::is_commutative).
    ///
    /// # Errors
    ///
    /// [`BuildError`] if no algorithm fits.
    pub fn explain(&self, collective: &Collective, block_bytes: usize) -> Result<Choice, Error> {
        self.select(collective, block_bytes as u64)
    }

    /// Proves the schedule that a collective of blocks of `block_bytes` bytes uses, also one of your own.
    ///
    /// The proof says that everything is delivered, within the ports and channels that the algorithm
    /// promises. Local, but it covers the shares of all ranks: time and memory are in proportion to the
    /// whole schedule. The operation of a reduction is taken to [commute](crate::op::Op::is_commutative).
    ///
    /// # Errors
    ///
    /// [`BuildError`] where there is no schedule ([`Unscheduled`](BuildError::Unscheduled) where the backend does it in its own
    /// way), [`Error::Argument`] with all violations where it is wrong.
    pub fn prove(&self, collective: &Collective, block_bytes: usize) -> Result<Proof, Error> {
        let problem = self.problem(collective.clone())?;
        let shares = match self.how(collective.name(), false).and_then(How::own) {
            Some(own) => own.algorithm.shares(&problem)?,
            None => self.select(collective, block_bytes as u64)?.algorithm.shares(&problem)?,
        };
        verify_shares(shares).map_err(|violations| Error::Argument(violations.to_string()))
    }

    /// What is chosen for a collective, if anything is. Calls of the communicator's own are none that are made `using` something.
    #[inline]
    pub(super) fn how(&self, collective: &str, own: bool) -> Option<&How> {
        self.using.as_ref().filter(|_| !own).or_else(|| self.algorithms.get(collective))
    }

    fn select(&self, collective: &Collective, block_bytes: u64) -> Result<Choice, Error> {
        let (problem, terms) = (self.problem(collective.clone())?, self.terms(block_bytes));
        let how = self.how(collective.name(), false);
        Ok(match how.and_then(How::own) {
            Some(own) => Field::of(&problem).choose(&own.algorithm, &terms)?,
            None => select(&problem, how.and_then(How::named).unwrap_or("auto"), &terms)?,
        })
    }

    fn terms(&self, block_bytes: u64) -> Terms {
        Terms::new(block_bytes, &self.machine).over_native(self.wire.native)
    }

    /// Selects by name or price, for all sizes of blocks from what has been found out once; if so asked, of those with a
    /// schedule, as calls of the communicator's own are.
    pub(super) fn select_again(&mut self, key: &Key, scheduled: bool, block_bytes: u64) -> Result<Choice, Error> {
        let Key { collective, commutes, .. } = key;
        let own = key.is_own();
        if !self.fields.find_by(|(known, commuting)| known == collective && commuting == commutes) {
            self.fields.insert((collective.clone(), *commutes), Field::of(&self.problem_of(key)?));
        }
        let scheduled = scheduled || own;
        let terms = self.terms(block_bytes).over_native(self.wire.native && !scheduled);
        let name = self.how(collective.name(), own).and_then(How::named);
        let name = name.filter(|name| !scheduled || *name != "native").unwrap_or("auto").to_owned();
        let field = self.fields.last().ok_or_else(|| Error::Argument("what was just found is not kept".to_owned()))?;
        Ok(field.select(&name, &terms)?)
    }
}

//! The families of launchers, and the rank and the number of ranks that each gives to this process.

use super::variable::{Variable, contradiction, incomplete, invalid};
use crate::error::JobError;

/// A family of launchers that set the same variables.
#[derive(Debug)]
struct Family {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
    /// The remedy if only one of the two is set.
    remedy: &'static str,
    starts: Starts,
}

/// The kind of processes that a family starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starts {
    /// Processes that do not use MPI.
    Others,
    /// Processes that may use MPI.
    Any,
    /// Processes of an MPI library.
    Mpi,
}

const OWN: Family = Family {
    name: "necklace run",
    rank: "NECKLACE_RANK",
    size: "NECKLACE_SIZE",
    remedy: "start this program with `necklace run`, which sets both",
    starts: Starts::Others,
};

const TORCHRUN: Family = Family {
    name: "torchrun",
    rank: "RANK",
    size: "WORLD_SIZE",
    remedy: "start this program with torchrun",
    starts: Starts::Others,
};

const OTHERS: [Family; 6] = [
    TORCHRUN,
    Family {
        name: "Slurm",
        rank: "SLURM_PROCID",
        size: "SLURM_NTASKS",
        remedy: "start this program with srun, which sets both",
        starts: Starts::Any,
    },
    Family {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        remedy: "start this program with mpirun",
        starts: Starts::Mpi,
    },
    Family {
        name: "PMI",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        remedy: "start this program with mpiexec",
        starts: Starts::Mpi,
    },
    Family {
        name: "MVAPICH",
        rank: "MV2_COMM_WORLD_RANK",
        size: "MV2_COMM_WORLD_SIZE",
        remedy: "start this program with mpirun_rsh",
        starts: Starts::Mpi,
    },
    // It does not tell its processes the size. But it has started them, and another family may tell
    // the size.
    Family {
        name: "PMIx",
        rank: "PMIX_RANK",
        size: "PMIX_SIZE",
        remedy: "start this program with mpirun or srun",
        starts: Starts::Mpi,
    },
];

/// The remedy if a variable was set for another purpose.
const ALTERNATIVES: &str = "or set NECKLACE_RANK and NECKLACE_SIZE, or NECKLACE_BACKEND=local, where `launch` runs a job of threads in each process";

/// The rank and the size that a family gives to this process, if they are set.
#[derive(Debug)]
pub(super) struct Claim {
    family: &'static Family,
    pub(super) rank: Option<usize>,
    pub(super) size: Option<usize>,
}

impl Claim {
    /// Describes the variables, with their values and the family.
    pub(super) fn description(&self) -> String {
        format!("{} ({})", self.values(), self.family.name)
    }

    fn values(&self) -> String {
        let said = |name, value: Option<usize>| value.map(|value| format!("{name} is {value}"));
        let parts = [said(self.family.rank, self.rank), said(self.family.size, self.size)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Whether it comes from `NECKLACE_*`: from `necklace run`, or from a user that numbers the
    /// ranks.
    #[cfg(feature = "tcp")]
    pub(super) fn is_own(&self) -> bool {
        self.family.rank == OWN.rank
    }

    pub(super) fn is_torchrun(&self) -> bool {
        self.family.rank == TORCHRUN.rank
    }

    /// Whether the process may be a rank of MPI.
    pub(super) fn may_be_mpi(&self) -> bool {
        self.family.starts != Starts::Others
    }

    /// Whether the launcher belongs to an MPI library.
    fn is_library(&self) -> bool {
        self.family.starts == Starts::Mpi
    }

    /// Whether both claims can be true.
    fn agrees(&self, other: &Self) -> bool {
        let alike = |one: Option<usize>, other: Option<usize>| one.zip(other).is_none_or(|(one, other)| one == other);
        alike(self.rank, other.rank) && alike(self.size, other.size)
    }

    /// Returns rank and size. Fails if either is not set.
    pub(super) fn complete(&self) -> Result<(usize, usize), JobError> {
        if let (Some(rank), Some(size)) = (self.rank, self.size) {
            return Ok((rank, size));
        }
        let Family { name, rank, size, remedy, .. } = self.family;
        let missing = if self.rank.is_none() { rank } else { size };
        Err(incomplete(self.values(), format!("{missing} is not set ({name})"), format!("{remedy}, {ALTERNATIVES}")))
    }
}

/// Returns the claim that counts among those of all families, or `None` if no launcher has started
/// this process as one of several. A job of one process counts only if it is `meant`, or if the
/// program `connects` and a launcher says that this is the only process.
pub(super) fn effective(variable: Variable<'_>, meant: bool, connects: bool) -> Result<Option<Claim>, JobError> {
    if let Some(own) = claim_of(variable, &OWN)? {
        return Ok(Some(own));
    }
    let mut several: Vec<Claim> = Vec::new();
    let mut alone: Option<Claim> = None;
    for family in &OTHERS {
        match claim_of(variable, family)? {
            // The first claim with rank and size counts.
            Some(claim) if claim.size == Some(1) => {
                alone = alone.filter(|said| said.rank.is_some() || claim.rank.is_none()).or(Some(claim));
            }
            Some(claim) => several.push(claim),
            None => {}
        }
    }
    if alone.as_ref().is_some_and(|said| said.rank.is_some() && !said.is_torchrun()) {
        // If a launcher says that this is the only process, rank 0 of an unknown number is that
        // process.
        several.retain(|claim| claim.size.is_some() || claim.rank != Some(0));
    }
    // A launcher that runs within a job of a scheduler, as in a batch script, numbers its ranks
    // itself. Its ranks inherit the scheduler's variables, which describe the script.
    if several.iter().any(|claim| claim.is_library() && claim.size.is_some() && claim.rank.is_some()) {
        several.retain(|claim| claim.family.starts != Starts::Any);
    }
    for (i, one) in several.iter().enumerate() {
        if let Some(other) = several[i + 1..].iter().find(|other| !one.agrees(other)) {
            let advice = format!("unset the variables that do not apply, {ALTERNATIVES}");
            return Err(contradiction(one.description(), other.description(), advice));
        }
    }
    // If all agree, a complete claim stands for the incomplete ones.
    let best = several.iter().position(|claim| claim.complete().is_ok()).unwrap_or(0);
    if several.is_empty() {
        let alone = alone.filter(|claim| meant || connects && claim.rank.is_some());
        return Ok(alone.map(|claim| Claim { rank: Some(0), ..claim }));
    }
    Ok(Some(several.swap_remove(best)))
}

fn claim_of(variable: Variable<'_>, family: &'static Family) -> Result<Option<Claim>, JobError> {
    let number = |name: &str, least: usize| match variable(name) {
        None => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) if number >= least && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(number)),
            _ => Err(invalid(name, &text, format!("a number of at least {least}"))),
        },
    };
    let claim = Claim { family, rank: number(family.rank, 0)?, size: number(family.size, 1)? };
    if let (Some(rank), Some(size)) = (claim.rank, claim.size)
        && rank >= size
    {
        let expected = format!("a number less than {size}, the value of {}", family.size);
        return Err(invalid(family.rank, &rank.to_string(), expected));
    }
    Ok((claim.rank.is_some() || claim.size.is_some()).then_some(claim))
}

/// Describes the claim of a launcher that has started several processes, unless a launcher of an
/// MPI library says that it has started one. Invalid claims do not count.
#[cfg(any(test, feature = "mpi"))]
pub(super) fn several(variable: Variable<'_>) -> Option<String> {
    let claims: Vec<Claim> = OTHERS.iter().filter_map(|family| claim_of(variable, family).ok().flatten()).collect();
    // A launcher of MPI may start one rank within a job of a scheduler or of another library. That
    // variables of a library are set is not enough: this program may be built with another library.
    let alone = claims.iter().any(|claim| claim.is_library() && claim.size == Some(1));
    let several = claims.iter().find(|claim| claim.size.or(claim.rank.map(|rank| rank + 1)) > Some(1));
    several.filter(|_| !alone).map(Claim::description)
}
